//! A list of events with its filters: of one domain, or of all. In: the address. Out: typed events, old and new,
//! the source, who acknowledged it.

use crate::components::banner::failure;
use crate::components::event_filters;
use crate::components::frame::FrameResource;
use crate::components::icon;
use crate::components::pager::{Place, grouped, pager};
use crate::components::status::severity_pill;
use crate::components::time::{Ago, instant};
use crate::components::toast::use_toaster;
use crate::live;
use crate::query::event_query;
use crate::resource::{JsonResource, json_resource};
use crate::server_fns;
use crate::server_fns::EventLog;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::hooks::use_location;
use model::event::{Event, EventQuery};
use model::notify::DeliveryState;
use model::scan::Live;
use model::time::human_instant;
use service::{ApiError, DeliveryView, ErrorKind};

/// Events that are acknowledged in one call at most.
const ACKNOWLEDGED_MAX: u64 = 10_000;

/// What acknowledging needs.
#[derive(Clone, Copy)]
struct Log {
    data: JsonResource<Result<EventLog, ApiError>>,
    base: Memo<String>,
    every_domain: bool,
}

impl Log {
    fn acknowledge(self, ids: Vec<i64>) {
        let toaster = use_toaster();
        let frame = use_context::<FrameResource>();
        spawn_local(async move {
            match server_fns::acknowledge(ids).await {
                Ok(n) => {
                    let words = crate::components::message::done_words("acknowledged", n).unwrap_or_default();
                    toaster.say("check", words);
                    self.data.refetch();
                    if let Some(f) = frame {
                        f.refetch();
                    }
                }
                Err(f) => toaster.failed(&f),
            }
        });
    }
}

/// The list with its filters.
#[component]
pub(crate) fn EventLogView(
    /// Only events of this domain.
    domain: Option<Memo<String>>,
) -> impl IntoView {
    let search = use_location().search;
    let query = Memo::new(move |_| event_query(&search.get()));
    let base = Memo::new(move |_| {
        domain.map_or_else(|| "/events".to_string(), |d| format!("/domains/{}/events", d.get()))
    });
    let data = json_resource(
        move || (query.get().to_search(), domain.map(|d| d.get())),
        |(search, domain)| server_fns::events(search, domain),
    );
    let log = Log { data, base, every_domain: domain.is_none() };
    let calm = live::Debounce::new(400);
    live::listen(move |l| {
        if matches!(l, Live::Changed(e) if e.kind == "event") || matches!(l, Live::Reset { .. }) {
            calm.call(move || data.refetch());
        }
    });
    view! {
        <div class="toolbar" role="search" aria-label="Filter events">
            {move || event_filters::search(&base.get(), &query.get())}
            <Transition><div class="chips-scroll">
                {move || data.get().and_then(Result::ok).map(|l| event_filters::chips(&base.get(), &query.get(), &l, domain.is_none()))}
            </div></Transition>
        </div>
        <Transition fallback=crate::components::skeleton::list>
            {move || data.get().map(|answer| match answer {
                Ok(l) => list(log, &query.get(), &l),
                Err(e) if e.kind == ErrorKind::NotFound => ().into_any(),
                Err(f) => failure("The events could not be read", &f),
            })}
        </Transition>
    }
    .into_any()
}

fn list(log: Log, q: &EventQuery, l: &EventLog) -> AnyView {
    if l.page.events.is_empty() {
        let (title, text) = if q.is_filtered() {
            ("No event matches these filters", "Try removing a filter.")
        } else {
            ("No events yet", "The first scan is the baseline. Changes found by later scans are listed here.")
        };
        return view! { <section class="card empty">{icon::icon_in("pulse", "i i-lg")}<h2>{title}</h2><p>{text}</p></section> }
            .into_any();
    }
    let place = Place { page: l.page.page, per_page: l.page.per_page, total: l.page.total };
    let base = log.base.get_untracked();
    let query = q.clone();
    let pages = pager(place, "Pages", move |page| {
        format!("{base}{}", EventQuery { page, ..query.clone() }.to_search())
    });
    let open: Vec<i64> = l.page.events.iter().filter(|e| e.acknowledged.is_none()).map(|e| e.id.0).collect();
    let rows: Vec<_> = l.page.events.iter().map(|e| event(log, e, l)).collect();
    let n =
        if l.page.total == 1 { "1 event".to_string() } else { format!("{} events", grouped(l.page.total)) };
    let matching =
        matching(q, l, open.len(), if log.every_domain { "" } else { l.page.events[0].domain.as_str() });
    view! {
        <section class="card tbl-wrap">
            <div class="card-head"><h2>{n}</h2><div class="aside flex items-center gap-2 flex-wrap">{(!open.is_empty()).then(|| all(log, open))}{matching}</div></div>
            <ol>{rows}</ol>
            <div class="tbl-foot"><span class="text-xs">{place.words()}</span><div class="end">{pages}</div></div>
        </section>
    }
    .into_any()
}

/// Acknowledges all that match, after a question, where these are more than the page shows.
fn matching(q: &EventQuery, l: &EventLog, on_page: usize, domain: &str) -> Option<AnyView> {
    let open = EventQuery { unacknowledged: true, ..q.clone() };
    let known = match &l.page.counts {
        Some(counts) => Some(counts.matching(&open)),
        None if q.unacknowledged => Some(l.page.total),
        None => None,
    };
    if known.is_some_and(|n| n <= on_page as u64) {
        return None;
    }
    let up_to = l.page.newest?;
    let all = known.map_or_else(|| "all".to_string(), |n| format!("all {}", grouped(n)));
    let hint = match known {
        Some(n) if n <= ACKNOWLEDGED_MAX => {
            format!("{} events that match the filters are acknowledged, on all pages.", grouped(n))
        }
        _ => format!(
            "The newest {} events that match the filters are acknowledged.",
            grouped(ACKNOWLEDGED_MAX)
        ),
    };
    let fields =
        [("query", q.filters().to_search()), ("domain", domain.to_string()), ("up_to", up_to.0.to_string())]
            .map(|(name, value)| view! { <input type="hidden" name=name value=value/> });
    Some(
        view! {
            <details class="menu">
                <summary class="btn btn-sm btn-ghost">{icon("check")}{format!("Acknowledge {all} that match")}</summary>
                <form class="menu-list menu-right menu-form" method="post" action="/api/fn/acknowledge_matching">
                    {fields.into_iter().collect_view()}
                    <p class="hint">{hint}" Messages about them are not repeated. This can't be undone."</p>
                    <button class="btn btn-sm" type="submit">{format!("Acknowledge {all}")}</button>
                </form>
            </details>
        }
        .into_any(),
    )
}

fn hidden(ids: &[i64]) -> Vec<AnyView> {
    ids.iter().map(|i| view! { <input type="hidden" name="ids[]" value=i.to_string()/> }.into_any()).collect()
}

fn all(log: Log, ids: Vec<i64>) -> impl IntoView {
    let fields = hidden(&ids);
    let submit = move |e: leptos::ev::SubmitEvent| {
        e.prevent_default();
        log.acknowledge(ids.clone());
    };
    view! {
        <form method="post" action="/api/fn/acknowledge" on:submit=submit>{fields}
            <button class="btn btn-sm" type="submit">{icon("check")}"Acknowledge this page"</button></form>
    }
    .into_any()
}

fn event(log: Log, e: &Event, l: &EventLog) -> AnyView {
    let now = l.now;
    let c = &e.change;
    let sent = deliveries(l.deliveries.iter().filter(|d| d.events.contains(&e.id)));
    let domain = e.domain.as_str().to_string();
    let link = log.every_domain.then(|| {
        view! { <a class="mono text-text" href=format!("/domains/{domain}")>{domain.clone()}</a> }
    });
    let value = |v: &Option<String>, class: &'static str, sign: &'static str, said: &'static str| {
        v.as_ref().map(|v| view! { <span class=class><b aria-hidden="true">{sign}</b><span class="wrap"><span class="sr-only">{said}" "</span>{v.clone()}</span></span> })
    };
    let what = if c.kind.shows_values() {
        view! { <div class="grid justify-items-start gap-0.5 py-1">{value(&c.old, "diff diff-del", "−", "was")}{value(&c.new, "diff diff-add", "+", "is now")}</div> }
            .into_any()
    } else {
        view! { <p class="wrap">{c.headline()}</p> }.into_any()
    };
    let notes: Vec<_> = c.note_sentence().into_iter().chain(c.confirmation_sentence()).collect();
    let note = (!notes.is_empty()).then(|| view! { <p class="hint">{notes.join(" ")}</p> });
    let during = e.maintenance.as_ref().map(|note| {
        delivery(
            "text-muted",
            "clock",
            match note.is_empty() {
                true => "During maintenance".to_string(),
                false => format!("During maintenance: {note}"),
            },
        )
    });
    let id = e.id.0;
    let seen = match &e.acknowledged {
        Some(a) => view! {
            <span class="text-muted text-xs">{format!("Acknowledged by {}", a.by)}", "<Ago at=a.at now=now/></span>
        }
        .into_any(),
        None => {
            let submit = move |ev: leptos::ev::SubmitEvent| {
                ev.prevent_default();
                log.acknowledge(vec![id]);
            };
            view! {
                <form method="post" action="/api/fn/acknowledge" on:submit=submit>{hidden(&[id])}
                    <button class="btn btn-sm btn-ghost" type="submit" aria-label=format!("Acknowledge: {} of {domain}", c.kind.label())>
                        {icon("check")}"Acknowledge"</button></form>
            }
            .into_any()
        }
    };
    view! {
        <li class="event">
            <div class="event-when">{instant(e.at)}<small class="text-muted text-xs"><Ago at=e.at now=now/></small></div>
            <div class="event-what">
                <div class="flex items-center gap-2 flex-wrap">{link}<span class="font-semibold">{c.kind.label()}</span><span class="text-muted text-xs mono wrap">{c.field.clone()}</span></div>
                {what}{note}
                <p class="hint wrap">{format!("Source: {}{}", c.source, seen_by(e))}</p>
                {during}{sent}
            </div>
            <div class="event-side">{severity_pill(c.severity)}{seen}</div>
        </li>
    }
    .into_any()
}

/// Which installation saw it.
fn seen_by(e: &Event) -> String {
    match (&e.cluster, &e.clusterset) {
        (None, _) => String::new(),
        (Some(id), None) => format!(" · seen by {id}"),
        (Some(id), Some(set)) => format!(" · seen by {id} ({set})"),
    }
}

/// How the messages about an event stand: those that arrived in one line, each of the others in its own.
fn deliveries<'a>(all: impl Iterator<Item = &'a DeliveryView>) -> Vec<AnyView> {
    let (mut arrived, mut at, mut out) = (Vec::new(), None, Vec::new());
    for d in all {
        let (class, picture, words) = match &d.state {
            DeliveryState::Delivered { at: when, .. } => {
                arrived.push(d.channel.clone());
                at = at.max(Some(*when));
                continue;
            }
            DeliveryState::Skipped { reason, .. } if d.channel.is_empty() => {
                ("text-muted", "check", format!("Not sent: {}", lower_first(reason)))
            }
            DeliveryState::Waiting { due_at, error, .. } if d.channel.is_empty() => {
                let why = error.as_deref().unwrap_or("Held");
                let until = human_instant(*due_at);
                ("text-muted", "clock", format!("{why} until {until}; problems that remain then are sent"))
            }
            DeliveryState::Skipped { reason, .. } => {
                ("text-muted", "check", format!("Not sent to {}: {reason}", d.channel))
            }
            DeliveryState::Waiting { attempts: 0, due_at, error } => {
                let why = error.as_ref().map(|why| format!(". {why}")).unwrap_or_default();
                ("text-muted", "clock", format!("To {} at {}{why}", d.channel, human_instant(*due_at)))
            }
            DeliveryState::Waiting { due_at, error, .. } => {
                let why = error.clone().unwrap_or_default();
                (
                    "text-warn",
                    "clock",
                    format!("{}: next attempt {}. {why}", d.channel, human_instant(*due_at)),
                )
            }
            DeliveryState::Failed { error, .. } => {
                ("text-critical", "critical", format!("Not sent to {}: {error}", d.channel))
            }
        };
        out.push(delivery(class, picture, words));
    }
    if let Some(at) = at {
        arrived.sort();
        let words = format!("Sent to {}, {}", arrived.join(", "), human_instant(at));
        out.insert(0, delivery("text-ok", "ok", words));
    }
    out
}

/// A sentence inside another.
fn lower_first(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars.next().map_or_else(String::new, |c| c.to_lowercase().chain(chars).collect())
}

fn delivery(class: &'static str, picture: &'static str, words: String) -> AnyView {
    view! { <p class=format!("flex items-center gap-2 text-xs {class}")>{icon::icon_sm(picture)}<span class="wrap">{words}</span></p> }
        .into_any()
}
