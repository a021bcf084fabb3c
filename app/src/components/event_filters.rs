//! Filters of a list of events: a search form, chips with counts, and menus of links. All of it is in the address.

use crate::components::icon;
use crate::components::pager::grouped;
use crate::server_fns::EventLog;
use leptos::prelude::*;
use model::event::{EventKind, EventQuery, Severity};
use model::item::Ownership;
use model::time::{StatedTime, human_date};

/// Days before now that the menu *Period* offers.
const PERIODS: [(u16, &str); 4] =
    [(1, "Last 24 hours"), (7, "Last 7 days"), (30, "Last 30 days"), (90, "Last 90 days")];

/// The search field. It shows what the address says, and stays as it is when events arrive.
pub(super) fn search(base: &str, q: &EventQuery) -> AnyView {
    let rest = hidden(&EventQuery { search: String::new(), ..q.filters() });
    view! {
        <form method="get" action=base.to_string()>
            <label class="search"><span class="sr-only">"Search events by domain or value"</span>{icon("search")}
                <input class="input" type="search" name="q" value=q.search.clone() placeholder="Domain or value" maxlength="100" autocomplete="off" spellcheck="false"/></label>
            {rest}
        </form>
    }
    .into_any()
}

fn hidden(q: &EventQuery) -> Vec<AnyView> {
    let field = |(key, value): (&'static str, String)| {
        view! { <input type="hidden" name=key value=value/> }.into_any()
    };
    q.to_pairs().into_iter().map(field).collect()
}

/// The address of a list with other filters: its first page.
fn to(base: &str, q: &EventQuery) -> String {
    format!("{base}{}", EventQuery { page: 1, ..q.clone() }.to_search())
}

/// Chips and menus with the counts of what each would show.
pub(super) fn chips(base: &str, q: &EventQuery, l: &EventLog, every_domain: bool) -> AnyView {
    let count = |q: &EventQuery| l.page.counts.as_ref().map(|c| c.matching(q));
    let chip = |label: String,
                picture: Option<(&'static str, &'static str)>,
                on: bool,
                q: EventQuery,
                n: Option<u64>| {
        let mark = picture.map(|(i, class)| icon::icon_in(i, class));
        let n = n.map(|n| view! { <span class="n">{grouped(n)}</span> });
        view! {
            <a class="chip" class:on=on href=to(base, &q) aria-current=on.then_some("true") data-noscroll="true">{mark}{label}{n}</a>
        }
    };
    let severities = [
        (Severity::Critical, "critical", "i text-critical"),
        (Severity::Warning, "warning", "i text-warn"),
        (Severity::Notice, "info", "i text-info"),
    ];
    let severities = severities.map(|(s, picture, class)| {
        let on = q.at_least == Some(s);
        let words =
            if s == Severity::Critical { s.label().to_string() } else { format!("{} or more", s.label()) };
        let n = count(&EventQuery { at_least: Some(s), ..q.clone() });
        chip(words, Some((picture, class)), on, EventQuery { at_least: (!on).then_some(s), ..q.clone() }, n)
    });
    let open = EventQuery { unacknowledged: !q.unacknowledged, ..q.clone() };
    let open_count = count(&EventQuery { unacknowledged: true, ..q.clone() });
    let failed = EventQuery { failed_delivery: !q.failed_delivery, ..q.clone() };
    view! {
        {chip("All".into(), None, !q.is_filtered(), EventQuery { per_page: q.per_page, ..EventQuery::default() }, None)}
        {chip("Not acknowledged".into(), None, q.unacknowledged, open, open_count)}
        {severities.into_iter().collect_view()}
        {chip("Delivery failed".into(), Some(("mail", "i")), q.failed_delivery, failed, None)}
        {chosen(base, q)}
        {kinds(base, q, &count)}
        {period(base, q)}
        {(!l.tags.is_empty() || !q.tags.is_empty()).then(|| tags(base, q, l))}
        {every_domain.then(|| owners(base, q))}
    }
    .into_any()
}

/// Chips of the filters that menus set; each removes its own.
fn chosen(base: &str, q: &EventQuery) -> Vec<AnyView> {
    let mut out = Vec::new();
    let mut chip = |label: String, without: EventQuery| {
        let remove = format!("{label}. Remove filter");
        out.push(view! { <a class="chip on" href=to(base, &without) aria-label=remove data-noscroll="true">{label}{icon("x")}</a> }.into_any());
    };
    if !q.search.is_empty() {
        chip(format!("“{}”", q.search), EventQuery { search: String::new(), ..q.clone() });
    }
    for k in &q.kinds {
        chip(k.label().to_string(), EventQuery { kinds: without(&q.kinds, k), ..q.clone() });
    }
    if let Some(days) = q.last_days {
        let label = PERIODS.iter().find(|(n, _)| *n == days).map(|(_, label)| (*label).to_string());
        let label = label.unwrap_or_else(|| format!("Last {days} days"));
        chip(label, EventQuery { last_days: None, ..q.clone() });
    }
    if q.since.is_some() || q.until.is_some() {
        let day = |at: model::Timestamp| human_date(StatedTime::utc(at).date());
        let label = match (q.since, q.until.and_then(last_moment)) {
            (Some(since), Some(last)) => format!("{} to {}", day(since), day(last)),
            (Some(since), None) => format!("Since {}", day(since)),
            (None, Some(last)) => format!("Until {}", day(last)),
            (None, None) => "Period".into(),
        };
        chip(label, EventQuery { since: None, until: None, ..q.clone() });
    }
    for tag in &q.tags {
        chip(format!("Tag {tag}"), EventQuery { tags: without(&q.tags, tag), ..q.clone() });
    }
    if let Some(o) = q.ownership {
        let label = if o == Ownership::Owned { "Owned" } else { "Watched" };
        chip(label.into(), EventQuery { ownership: None, ..q.clone() });
    }
    out
}

/// The moment before the end of a period: its day is the last one.
fn last_moment(end: model::Timestamp) -> Option<model::Timestamp> {
    end.checked_sub(jiff::SignedDuration::from_secs(1)).ok()
}

fn without<T: PartialEq + Clone>(list: &[T], value: &T) -> Vec<T> {
    list.iter().filter(|v| *v != value).cloned().collect()
}

/// The list without the value, or with it.
fn toggled<T: PartialEq + Clone>(list: &[T], value: &T) -> Vec<T> {
    let mut out = without(list, value);
    if out.len() == list.len() {
        out.push(value.clone());
    }
    out
}

fn menu(label: &'static str, lines: Vec<AnyView>) -> AnyView {
    view! {
        <details class="menu"><summary class="chip">{label}{icon("down")}</summary>
            <div class="menu-list" role="group" aria-label=label>{lines}</div></details>
    }
    .into_any()
}

fn line(label: String, on: bool, url: String, n: Option<u64>) -> AnyView {
    let mark = on.then(|| icon("check"));
    let n = n.map(|n| view! { <span class="n">{grouped(n)}</span> });
    view! {
        <a class="menu-item" class:on=on href=url aria-current=on.then_some("true") data-noscroll="true">
            <span class="w-3.5 flex-none">{mark}</span><span class="min-w-0 truncate">{label}</span>{n}</a>
    }
    .into_any()
}

fn kinds(base: &str, q: &EventQuery, count: &impl Fn(&EventQuery) -> Option<u64>) -> AnyView {
    let lines = EventKind::ALL.map(|k| {
        let url = to(base, &EventQuery { kinds: toggled(&q.kinds, &k), ..q.clone() });
        let n = count(&EventQuery { kinds: vec![k], ..q.clone() });
        line(k.label().to_string(), q.kinds.contains(&k), url, n)
    });
    menu("Kind", lines.into())
}

fn tags(base: &str, q: &EventQuery, l: &EventLog) -> AnyView {
    let named = l.tags.iter().map(|t| t.value.clone()).filter(|t| !t.is_empty());
    let gone = q.tags.iter().filter(|t| l.tags.iter().all(|f| f.value != **t)).cloned();
    let lines = gone.chain(named).map(|tag| {
        let url = to(base, &EventQuery { tags: toggled(&q.tags, &tag), ..q.clone() });
        line(tag.clone(), q.tags.contains(&tag), url, None)
    });
    menu("Tag", lines.collect())
}

fn owners(base: &str, q: &EventQuery) -> AnyView {
    let lines = [(Ownership::Owned, "Owned"), (Ownership::Watched, "Watched")].map(|(o, label)| {
        let on = q.ownership == Some(o);
        let url = to(base, &EventQuery { ownership: (!on).then_some(o), ..q.clone() });
        line(label.into(), on, url, None)
    });
    menu("Ownership", lines.into())
}

/// Days before now as links, and a form for two days.
fn period(base: &str, q: &EventQuery) -> AnyView {
    let any = EventQuery { last_days: None, since: None, until: None, ..q.clone() };
    let lines = PERIODS.map(|(days, label)| {
        let on = q.last_days == Some(days);
        let url = to(base, &EventQuery { last_days: (!on).then_some(days), ..any.clone() });
        line(label.into(), on, url, None)
    });
    let day = |at: Option<model::Timestamp>| {
        at.map(|at| StatedTime::utc(at).date().to_string()).unwrap_or_default()
    };
    view! {
        <details class="menu"><summary class="chip">"Period"{icon("down")}</summary>
            <div class="menu-list" role="group" aria-label="Period">
                {lines.into_iter().collect_view()}
                <form class="menu-form" method="get" action=base.to_string()>
                    {hidden(&any.filters())}
                    <label class="field"><span class="label">"From (UTC)"</span><input class="input" type="date" name="from" value=day(q.since)/></label>
                    <label class="field"><span class="label">"to"</span><input class="input" type="date" name="to" value=day(q.until.and_then(last_moment))/></label>
                    <button class="btn btn-sm" type="submit">"Show"</button>
                </form>
            </div></details>
    }
    .into_any()
}
