//! What the tools' pages share: a form that asks again without a reload, the wait, figures in words.

use crate::browser;
use crate::query;
use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_location;

/// Types people ask for; others can be put into the address.
pub(crate) const TYPES: [&str; 10] = ["A", "AAAA", "CNAME", "MX", "NS", "SOA", "TXT", "CAA", "HTTPS", "DS"];

/// Submits a GET form by going to its address inside the application. Asking the same once more bumps `again`.
/// Without script the browser sends the form itself.
pub(crate) fn ask(path: &'static str, again: RwSignal<u32>) -> impl Fn(SubmitEvent) + Clone + 'static {
    let go = browser::use_go();
    let location = use_location();
    move |e: SubmitEvent| {
        let Some(query) = browser::form_query(&e) else { return };
        e.prevent_default();
        let here = location.search.get_untracked();
        if query::pairs(&here) == query::pairs(&query) {
            again.update(|n| *n += 1);
        } else {
            go.to(&format!("{path}?{query}"), NavigateOptions::default());
        }
    }
}

/// What is shown while servers are asked.
pub(crate) fn waiting(words: &'static str) -> AnyView {
    view! { <div class="card card-body row" role="status"><span class="spin"></span>{words}</div> }.into_any()
}

/// `640 ms`, `1.2 s`.
pub(crate) fn elapsed(ms: f64) -> String {
    if ms < 1000.0 { format!("{ms:.0} ms") } else { format!("{:.1} s", ms / 1000.0) }
}

/// `1 error`, `3 errors`.
pub(crate) fn counted(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}
