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
use crate::server_fns::History;
use leptos::prelude::*;
use leptos_router::hooks::use_location;
use model::detail::{RawAnswer, SnapshotMeta};
use model::fields::FieldDiff;
use model::registration::Party;
use model::scan::Live;

/// The tab.
#[component]
pub(crate) fn HistoryTab() -> impl IntoView {
    let dom = expect_context::<DomainState>();
    let search = use_location().search;
    let pair = Memo::new(move |_| {
        let s = search.get();
        let id = |key| query::value(&s, key).and_then(|v| v.parse::<i64>().ok());
        (id("from"), id("to"), query::value(&s, "show").as_deref() == Some("all"))
    });
    let data = json_resource(
        move || (dom.name.get(), pair.get()),
        |(name, (from, to, _))| server_fns::history(name, from, to),
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

fn history(name: &str, h: &History, all: bool) -> AnyView {
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
        <div class="grid grid-cols-[minmax(0,1.15fr)_minmax(0,2.4fr)] items-start gap-4 max-xl:grid-cols-1">{snapshots(name, h)}{differs(name, h, all)}</div>
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
                        {icon("clock")}
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
            <div class="card-head"><h2>"Snapshots"</h2><span class="min-w-0 truncate text-muted">{n}</span></div>
            <ol class="tl py-1 max-h-160 overflow-y-auto">{items}</ol>
        </section>
    }
    .into_any()
}

fn differs(name: &str, h: &History, all: bool) -> AnyView {
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
    let count = format!("{different} of {} fields", h.fields.len());
    let rows: Vec<_> = h.fields.iter().filter(|f| all || f.differs).map(field).collect();
    let none = rows.is_empty().then(|| view! {
        <div class="card-body"><p class="text-muted">"The two snapshots are equal in every field that both contain."</p></div>
    });
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
                    {tab("Differences", "", !all)}{tab("All fields", "&show=all", all)}
                </span></div></div>
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
            {none}{words}{raws(&h.raw)}
        </section>
    }
    .into_any()
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
            let party = match r.party {
                Party::Registry => "registry",
                Party::Registrar => "registrar",
            };
            let head = format!("Raw {} of the {party}", r.protocol.label());
            #[allow(clippy::cast_precision_loss)]
            let size = format!(
                "from {}, {:.1} KB, {}",
                r.server,
                r.body.len() as f64 / 1000.0,
                model::time::human_instant(r.at)
            );
            let body = pretty(&r.body);
            let copy = copy_button(&format!("the raw answer of the {party}"), r.body.clone());
            view! {
                <details class="more"><summary>{head}" "<span class="text-muted text-xs wrap">{size}</span></summary>
                    <div class="flex h-0 justify-end px-4 [&_.copy]:relative [&_.copy]:z-10 [&_.copy]:bg-surface">{copy}</div><pre class="mono text-xs m-0 pb-3.5 px-4 overflow-auto max-h-128 text-muted" tabindex="0">{body}</pre></details>
            }
            .into_any()
        })
        .collect()
}

/// JSON set out in lines; anything else as it came.
fn pretty(body: &str) -> String {
    serde_json::from_slice::<serde_json::Value>(body.as_bytes())
        .ok()
        .and_then(|v| serde_json::to_string_pretty(&v).ok())
        .unwrap_or_else(|| body.to_string())
}
