//! All events of the organisation, and the query of an event list's address.

use crate::components::event_list::EventLogView;
use crate::query;
use leptos::prelude::*;
use leptos_meta::Title;
use model::event::{EventKind, EventQuery, Severity};
use model::inventory::percent;

/// Events a page.
const PER_PAGE: u32 = 50;

/// The page.
#[component]
pub(crate) fn EventsPage() -> impl IntoView {
    view! {
        <Title text="Events"/>
        <div class="page-head"><h1>"Events"</h1><span class="sub">"what changed, newest first"</span></div>
        <EventLogView domain=None/>
    }
    .into_any()
}

/// Reads the query of an address; what is not understood is left out.
pub(crate) fn event_query(search: &str) -> EventQuery {
    let mut q = EventQuery { page: 1, per_page: PER_PAGE, ..EventQuery::default() };
    for (key, value) in query::pairs(search) {
        match key.as_str() {
            "kind" => q.kinds.extend(value.split(',').filter_map(EventKind::from_word)),
            "severity" => q.at_least = Severity::from_word(&value),
            "open" => q.unacknowledged = value == "1",
            "page" => q.page = value.parse().unwrap_or(1).max(1),
            _ => {}
        }
    }
    q.kinds.sort();
    q.kinds.dedup();
    q
}

/// The query of an address (with its question mark), defaults left out.
pub(crate) fn event_search(q: &EventQuery) -> String {
    let mut out = Vec::new();
    if !q.kinds.is_empty() {
        let words: Vec<_> = q.kinds.iter().map(|k| k.as_str()).collect();
        out.push(format!("kind={}", percent(&words.join(","))));
    }
    out.extend(q.at_least.map(|s| format!("severity={}", s.as_str())));
    if q.unacknowledged {
        out.push("open=1".into());
    }
    if q.page > 1 {
        out.push(format!("page={}", q.page));
    }
    if out.is_empty() { String::new() } else { format!("?{}", out.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_list_survives_its_address() {
        let q = event_query("?kind=renewed,nonsense,registrar_changed&severity=warning&open=1&page=3");
        assert_eq!(q.kinds.len(), 2);
        assert_eq!(event_query(&event_search(&q)), q);
        assert_eq!(event_search(&event_query("")), "");
    }
}
