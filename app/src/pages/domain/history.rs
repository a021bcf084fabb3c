//! The History tab: states over time, any two of them side by side, and the raw answers.

use super::state::DomainState;
use super::timeline;
use crate::components::banner::failure;
use crate::components::copy::copy_button;
use crate::components::icon;
use crate::components::time::{day, instant};
use crate::query;
use crate::resource::json_resource;
use crate::server_fns;
use crate::server_fns::{History, raw_title};
use leptos::prelude::*;
use leptos_router::hooks::use_location;
use model::detail::{RawAnswer, SnapshotMeta};
use model::fields::FieldDiff;
use model::lines::{DiffLine, laid_out};
use model::scan::Live;

/// What of two snapshots is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Show {
    Differences,
    AllFields,
    Raw,
}

impl Show {
    fn from_word(word: Option<&str>) -> Show {
        match word {
            Some("all") => Show::AllFields,
            Some("raw") => Show::Raw,
            _ => Show::Differences,
        }
    }
}

/// The tab.
#[component]
pub(crate) fn HistoryTab() -> impl IntoView {
    let dom = expect_context::<DomainState>();
    let search = use_location().search;
    let pair = Memo::new(move |_| {
        let s = search.get();
        let id = |key| query::value(&s, key).and_then(|v| v.parse::<i64>().ok());
        (id("from"), id("to"), Show::from_word(query::value(&s, "show").as_deref()))
    });
    let data = json_resource(
        move || (dom.name.get(), pair.get()),
        |(name, (from, to, show))| server_fns::history(name, from, to, Some(show == Show::Raw)),
    );
    let calm = crate::live::Debounce::new(400);
    crate::live::listen(move |l| {
        let concerns = match l {
            Live::Changed(e) => e.name == dom.name.get_untracked(),
            Live::Reset { .. } => true,
            Live::Scan(_) => false,
        };
        if concerns {
            calm.call(move || data.refetch());
        }
    });
    view! {
        <Transition fallback=super::states::skeleton>
            {move || data.get().map(|h| match h {
                Ok(h) => history(&dom.name.get(), &h, pair.get().2),
                // The header explains that the domain is not in the inventory.
                Err(e) if e.kind == service::ErrorKind::NotFound => ().into_any(),
                Err(f) => failure("The history could not be read", &f),
            })}
        </Transition>
    }
    .into_any()
}

fn history(name: &str, h: &History, show: Show) -> AnyView {
    if h.snapshots.is_empty() {
        return view! {
            <section class="card empty">
                {icon::icon_in("clock", "i i-lg")}
                <h2>"No snapshots yet"</h2>
                <p>"The first scan is the baseline; every scan that finds a change adds a snapshot."</p>
            </section>
        }
        .into_any();
    }
    let marks: Vec<_> = [("from", h.from.as_ref()), ("to", h.to.as_ref())]
        .into_iter()
        .filter_map(|(w, m)| m.map(|m| (w, m.at)))
        .collect();
    let marks = if h.from.is_some() { marks } else { Vec::new() };
    view! {
        {timeline::timeline(&h.lanes, &marks, h.now)}
        <div class="grid grid-cols-[minmax(0,1.15fr)_minmax(0,2.4fr)] items-start gap-4 max-xl:grid-cols-1">{snapshots(name, h)}{differs(name, h, show)}</div>
    }
    .into_any()
}

fn id(m: Option<&SnapshotMeta>) -> String {
    m.map(|m| m.id.0.to_string()).unwrap_or_default()
}

fn snapshots(name: &str, h: &History) -> AnyView {
    let n = h.snapshots.len().to_string();
    let (from, to) = (h.from.as_ref().map(|m| m.id), h.to.as_ref().map(|m| m.id));
    let items: Vec<_> = h
        .snapshots
        .iter()
        .map(|m| {
            let (is_from, is_to) = (from == Some(m.id), to == Some(m.id));
            let words = if m.summary.is_empty() { vec!["First snapshot".to_string()] } else { m.summary.clone() };
            let title = words[0].clone();
            let picture = change_icon(&title);
            let more = match words.len() {
                1 => None,
                2 => Some(words[1].clone()),
                n => Some(format!("{}, and {} more", words[1], n - 2)),
            };
            let key = m.id.0;
            let as_to = format!("/domains/{name}/history?from={}&to={key}", id(h.from.as_ref()));
            let as_from = format!("/domains/{name}/history?from={key}&to={}", id(h.to.as_ref()));
            let at = m.at;
            let tag = match (is_from, is_to) {
                (true, _) => Some("from"),
                (_, true) => Some("to"),
                _ => None,
            };
            let tag = tag.map(|t| view! { <span class="tag">{t}</span> });
            let pick = (!is_from && !is_to).then(|| view! {
                <a class="text-xs" href=as_from.clone() data-noscroll="true" aria-label=format!("Compare from the snapshot of {}", model::time::human_instant(at))>"from"</a>
                <a class="text-xs" href=as_to.clone() data-noscroll="true" aria-label=format!("Compare to the snapshot of {}", model::time::human_instant(at))>"to"</a>
            });
            view! {
                <li class:on=is_from || is_to>
                    <div class="grid grid-cols-[1.25rem_minmax(0,1fr)] gap-y-0 gap-x-3 py-2.5 px-4 text-inherit hover:bg-hover hover:no-underline [&_.i]:relative [&_.i]:z-10 [&_.i]:bg-surface [&_.i]:rounded-full [&_.i]:mt-0.5 [&_.i]:text-muted [&_.i]:w-4.5 [&_.i]:h-4.5 [&_.i]:p-px">
                        {icon(picture)}
                        <div class="flex-1 min-w-0">
                            <div class="flex items-center gap-2 justify-between top"><span class="wrap" class:font-semibold=is_from || is_to>{title}</span><span class="text-muted text-xs whitespace-nowrap">{day(at)}</span></div>
                            <div class="flex items-center gap-2 justify-between top"><span class="text-muted text-xs wrap">{more}</span><span class="flex items-center gap-2">{pick}{tag}</span></div>
                        </div>
                    </div>
                </li>
            }
        })
        .collect();
    view! {
        <section class="card">
            <div class="card-head"><h2>"Snapshots"</h2><span class="min-w-0 truncate text-muted">{n}</span>
                <div class="aside">{format!("kept {} days", h.keep_days)}</div></div>
            <ol class="tl py-1 max-h-160 overflow-y-auto">{items}</ol>
        </section>
    }
    .into_any()
}

fn differs(name: &str, h: &History, show: Show) -> AnyView {
    let (Some(from), Some(to)) = (&h.from, &h.to) else {
        return view! {
            <section class="card tbl-wrap">
                <div class="card-head"><h2>"What differs"</h2></div>
                <div class="card-body"><p class="text-muted">"There is one snapshot so far. The next is taken when a scan finds a change."</p></div>
                {raws(&h.raw)}
            </section>
        }
        .into_any();
    };
    let different = h.fields.iter().filter(|f| f.differs).count();
    let count = match show {
        Show::Raw => format!(
            "{} of {} answers",
            h.raw_diffs.iter().filter(|r| r.diff.differs()).count(),
            h.raw_diffs.len()
        ),
        _ => format!("{different} of {} fields", h.fields.len()),
    };
    let url = |show: &str| format!("/domains/{name}/history?from={}&to={}{show}", from.id.0, to.id.0);
    let tab = |label: &'static str, show: &str, on: bool| {
        view! { <a href=url(show) class:on=on aria-current=on.then_some("true") data-noscroll="true">{label}</a> }
    };
    let words: Vec<_> = to.summary.iter().map(|s| view! { <li>{s.clone()}</li> }).collect();
    let words = (!words.is_empty()).then(|| {
        view! { <div class="card-foot"><span class="font-semibold text-text">"Changes in the newer snapshot"</span><ul class="pt-2 pl-5 list-disc [&_li]:[overflow-wrap:anywhere]">{words}</ul></div> }
    });
    view! {
        <section class="card tbl-wrap">
            <div class="card-head"><h2>"What differs"</h2><span class="min-w-0 truncate text-muted">{count}</span>
                <div class="aside"><span class="seg" role="group" aria-label="Show">
                    {tab("Differences", "", show == Show::Differences)}{tab("All fields", "&show=all", show == Show::AllFields)}{tab("Raw", "&show=raw", show == Show::Raw)}
                </span></div></div>
            {match show {
                Show::Raw => raw_lines(h),
                _ => table(h, from, to, show == Show::AllFields),
            }}
            {words}{(show != Show::Raw).then(|| raws(&h.raw))}
        </section>
    }
    .into_any()
}

/// The fields of both snapshots side by side.
fn table(h: &History, from: &SnapshotMeta, to: &SnapshotMeta, all: bool) -> AnyView {
    let rows: Vec<_> = h.fields.iter().filter(|f| all || f.differs).map(field).collect();
    let none = rows.is_empty().then(|| view! {
        <div class="card-body"><p class="text-muted">"The two snapshots are equal in every field that both contain."</p></div>
    });
    view! {
        <div class="tbl-scroll" tabindex="0" role="region" aria-label="Differences, table">
            <table class="tbl tbl-tight tbl-top">
                <thead><tr>
                    <th scope="col">"Field"</th>
                    <th scope="col">{instant(from.at)}" "<span class="tag">"from"</span></th>
                    <th scope="col">{instant(to.at)}" "<span class="tag">"to"</span></th>
                </tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
        {none}
    }
    .into_any()
}

/// The raw answers of both snapshots, line by line.
fn raw_lines(h: &History) -> AnyView {
    if h.raw_diffs.is_empty() {
        return view! { <div class="card-body"><p class="text-muted">"No raw answers of these snapshots are kept."</p></div> }.into_any();
    }
    let answers: Vec<_> = h
        .raw_diffs
        .iter()
        .map(|r| {
            let lines: Vec<_> = r.diff.lines.iter().map(line).collect();
            let equal = (!r.diff.differs()).then_some("The two answers are equal.");
            let cut = r.diff.is_cut.then_some("There are more lines than are shown.");
            view! {
                <div class="card-body grid grid-cols-1 gap-2"><h3 class="font-semibold">{r.title.clone()}</h3>
                    <p class="text-muted text-xs">{equal}</p>
                    <div class="grid justify-items-start gap-0.5 overflow-auto max-h-128" tabindex="0" role="region" aria-label=r.title.clone()>{lines}</div>
                    <p class="text-muted text-xs">{cut}</p></div>
            }
            .into_any()
        })
        .collect();
    view! { <div>{answers}</div> }.into_any()
}

fn line(l: &DiffLine) -> AnyView {
    let marked = |class: &'static str, sign: &'static str, said: &'static str, text: &String| {
        view! { <span class=class><b aria-hidden="true">{sign}</b><span class="whitespace-pre"><span class="sr-only">{said}" "</span>{text.clone()}</span></span> }.into_any()
    };
    match l {
        DiffLine::Removed(text) => marked("diff diff-del", "−", "removed", text),
        DiffLine::Added(text) => marked("diff diff-add", "+", "added", text),
        DiffLine::Same(text) => {
            view! { <span class="text-[.75rem] leading-5 font-mono font-normal text-muted pl-4.5 whitespace-pre">{text.clone()}</span> }.into_any()
        }
        DiffLine::Equal(1) => view! { <span class="text-muted text-xs pl-4.5">"1 equal line"</span> }.into_any(),
        DiffLine::Equal(n) => view! { <span class="text-muted text-xs pl-4.5">{format!("{n} equal lines")}</span> }.into_any(),
    }
}

/// The picture of what a snapshot begins with, by the words that a change of its kind begins with.
fn change_icon(sentence: &str) -> &'static str {
    const BEGINNINGS: [(&str, &str); 14] = [
        ("The name is no longer registered", "unlink"),
        ("The name was registered", "globe"),
        ("Registered again", "globe"),
        ("Renewed until", "calendar"),
        ("Registration end", "calendar"),
        ("Expiration", "calendar"),
        ("Registrar went", "route"),
        ("Nameservers went", "server"),
        ("DNS provider went", "globe"),
        ("DNSSEC", "shield"),
        ("Modified date went", "note"),
        ("The certificate", "key"),
        ("Certificate", "key"),
        ("First snapshot", "clock"),
    ];
    if sentence.starts_with("Status flag") {
        return if sentence.contains(" was removed") { "unlock" } else { "lock" };
    }
    let known = BEGINNINGS.iter().find_map(|(words, icon)| sentence.starts_with(words).then_some(*icon));
    if let Some(picture) = known {
        return picture;
    }
    // A record is named by host and type or by its type, a name server by its host.
    let ends = [" went from ", " was added", " was removed"].iter().filter_map(|w| sentence.find(w)).min();
    match ends.and_then(|end| sentence.get(..end)) {
        Some(field) if field.contains(' ') || !field.contains('.') => "list",
        Some(_) => "pulse",
        None => "clock",
    }
}

fn field(f: &FieldDiff) -> AnyView {
    view! {
        <tr>
            <th scope="row" class="text-muted wrap">{f.label.clone()}</th>
            <td>{side(f.old.as_deref(), f.new.as_deref(), f.differs, false)}</td>
            <td>{side(f.new.as_deref(), f.old.as_deref(), f.differs, true)}</td>
        </tr>
    }
    .into_any()
}

/// One side: values the other side lacks are marked with a sign and a colour.
fn side(values: Option<&[String]>, other: Option<&[String]>, differs: bool, added: bool) -> AnyView {
    let Some(values) = values else {
        return view! { <div class="grid justify-items-start gap-0.5 py-1"><span class="text-[.75rem] leading-5 font-mono font-normal text-muted pl-4.5">"not known"</span></div> }.into_any();
    };
    if values.is_empty() {
        return view! { <div class="grid justify-items-start gap-0.5 py-1"><span class="text-[.75rem] leading-5 font-mono font-normal text-muted pl-4.5">"none"</span></div> }.into_any();
    }
    let (class, sign, said) =
        if added { ("diff diff-add", "+", "added") } else { ("diff diff-del", "−", "removed") };
    let each: Vec<_> = values
        .iter()
        .map(|v| {
            let only_here = differs && !other.is_some_and(|o| o.contains(v));
            if only_here {
                view! { <span class=class><b aria-hidden="true">{sign}</b><span class="wrap"><span class="sr-only">{said}" "</span>{v.clone()}</span></span> }
                    .into_any()
            } else {
                view! { <span class="text-[.75rem] leading-5 font-mono font-normal text-muted pl-4.5 wrap">{v.clone()}</span> }.into_any()
            }
        })
        .collect();
    view! { <div class="grid justify-items-start gap-0.5 py-1">{each}</div> }.into_any()
}

/// Raw answers as they came.
pub(crate) fn raws(raw: &[RawAnswer]) -> Vec<AnyView> {
    raw.iter()
        .map(|r| {
            let head = raw_title(r);
            #[allow(clippy::cast_precision_loss)]
            let size = format!(
                "from {}, {:.1} KB, {}",
                r.server,
                r.body.len() as f64 / 1000.0,
                model::time::human_instant(r.at)
            );
            let body = laid_out(&r.body);
            let copy = copy_button(&head.replacen("Raw", "the raw", 1), r.body.clone());
            view! {
                <details class="more"><summary>{head}" "<span class="text-muted text-xs wrap">{size}</span></summary>
                    <div class="flex h-0 justify-end px-4 [&_.copy]:relative [&_.copy]:z-10 [&_.copy]:bg-surface">{copy}</div><pre class="mono text-xs m-0 pb-3.5 px-4 overflow-auto max-h-128 text-muted" tabindex="0">{body}</pre></details>
            }
            .into_any()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::change_icon;
    use model::event::{Change, EventKind, Severity};

    #[test]
    fn each_kind_of_change_has_its_picture() {
        for (kind, field, picture) in [
            (EventKind::Registered, "", "globe"),
            (EventKind::Released, "", "unlink"),
            (EventKind::RegistrarChanged, "registrar", "route"),
            (EventKind::ExpirationChanged, "expires", "calendar"),
            (EventKind::ExpirationChanged, "registrar_expires", "calendar"),
            (EventKind::Renewed, "expires", "calendar"),
            (EventKind::StatusAdded, "statuses", "lock"),
            (EventKind::StatusRemoved, "statuses", "unlock"),
            (EventKind::NameserversChanged, "nameservers", "server"),
            (EventKind::DnssecChanged, "dnssec", "shield"),
            (EventKind::DnssecStatusChanged, "dnssec_status", "shield"),
            (EventKind::ProviderChanged, "provider", "globe"),
            (EventKind::ModifiedChanged, "updated", "note"),
            (EventKind::CertificateChanged, "www.q7.io", "key"),
            (EventKind::RecordChanged, "www A", "list"),
            (EventKind::RecordChanged, "MX", "list"),
            (EventKind::DelegationHealthChanged, "ns1.q7.io", "pulse"),
        ] {
            let change = Change {
                kind,
                severity: Severity::Info,
                field: field.into(),
                old: Some("a".into()),
                new: Some("b".into()),
                source: String::new(),
                note: String::new(),
                first_seen_at: None,
                status_before: None,
            };
            assert_eq!(change_icon(&change.sentence()), picture, "{}", change.sentence());
        }
        assert_eq!(change_icon("First snapshot"), "clock");
    }
}
