//! What the tools' pages share: a form that asks again without a reload, the wait, what stands above a result, figures
//! in words.

use crate::browser;
use crate::components::{icon_sm, visitor};
use crate::query;
use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_location;
use model::inventory::percent;
use std::time::Duration;

/// Types people ask for; others can be put into the address.
pub(crate) const TYPES: [&str; 10] = ["A", "AAAA", "CNAME", "MX", "NS", "SOA", "TXT", "CAA", "HTTPS", "DS"];

/// The title of a tool's page: what it was asked about first, so that tabs of a browser can be told apart.
pub(crate) fn tool_title(tool: &str, about: &str) -> String {
    if about.is_empty() { tool.to_string() } else { format!("{about} · {tool}") }
}

/// Submits a GET form by going to its address inside the application. Asking the same once more bumps `again`.
/// Without script the browser sends the form itself.
pub(crate) fn ask(path: &'static str, again: RwSignal<u32>) -> impl Fn(SubmitEvent) + Clone + 'static {
    let go = crate::navigate::use_navigator();
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

/// What is shown while servers are asked, with the seconds that have passed: a slow server is no hung page.
pub(crate) fn waiting(words: &'static str) -> AnyView {
    let seconds = RwSignal::new(0_u32);
    Effect::new(move |_| {
        let tick = move || {
            seconds.try_update(|n| *n += 1);
        };
        if let Ok(handle) = set_interval_with_handle(tick, Duration::from_secs(1)) {
            on_cleanup(move || handle.clear());
        }
    });
    let passed = move || match seconds.get() {
        0 | 1 => String::new(),
        n => format!("{n} s"),
    };
    view! {
        <div class="card card-body flex items-center gap-2"><span class="spin" aria-hidden="true"></span><span role="status">{words}</span>
            <span class="text-muted text-xs" aria-hidden="true">{passed}</span></div>
    }
    .into_any()
}

/// The tools that can be asked about one name.
pub(crate) use model::open_tools::OpenTool as Tool;

/// How the same query is repeated.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Again {
    /// Inside the page.
    Bump(RwSignal<u32>),
    /// By reloading the page.
    Reload,
    /// By a button of the page's own.
    Own,
}

/// The bar above a result: the same name in the other tools, when it was queried, repeat, copy link. `zone` is given
/// where it is known; only a check needs it.
pub(crate) fn result_bar(
    tool: Tool,
    name: &str,
    zone: Option<&str>,
    figures: impl IntoView + 'static,
    again: Again,
) -> AnyView {
    if visitor::is_embedded() {
        return ().into_any();
    }
    let open = visitor::open_tools();
    let is_open = |tool: Tool| open.is_none_or(|open| open.contains(tool));
    let (p, z) = (percent(name), zone.map(percent));
    let all = [
        (Tool::Scan, Some(format!("/tools/scan?name={p}")), "Scan"),
        (Tool::Check, z.map(|z| format!("/tools/check?zone={z}")), "Check"),
        (Tool::Fqdn, Some(format!("/tools/fqdn?name={p}")), "Analyze"),
        (Tool::Compare, Some(format!("/tools/compare?name={p}")), "Compare with caches"),
        (Tool::Trace, Some(format!("/tools/trace?name={p}")), "Trace from the root"),
    ];
    let others: Vec<_> = all
        .into_iter()
        .filter(|(t, _, _)| *t != tool && is_open(*t))
        .filter_map(|(_, url, label)| {
            let url = url?;
            let rel = crate::browser_dns::is_asking_page(&url).then_some("external");
            Some(view! { <a class="btn btn-sm" href=url rel=rel>{label}</a> })
        })
        .collect();
    view! {
        <div class="flex items-center gap-2 flex-wrap justify-between min-w-0 max-sm:[&_>_*]:min-w-0 max-sm:[&_.btn]:h-8">
            <nav class="flex items-center gap-2 flex-wrap" aria-label="Other tools for this name">{others}</nav>
            <div class="flex items-center gap-2 flex-wrap"><span class="text-muted text-xs empty:hidden">{figures.into_any()}</span>{ask_again(again)}{copy_link()}</div>
        </div>
    }
    .into_any()
}

/// The button that repeats the query.
fn ask_again(again: Again) -> AnyView {
    if matches!(again, Again::Own) {
        return ().into_any();
    }
    let location = use_location();
    let here = move || format!("{}{}", location.pathname.get(), with_mark(&location.search.get()));
    let ask = move |e: leptos::ev::MouseEvent| {
        if let Again::Bump(again) = again {
            e.prevent_default();
            again.update(|n| *n += 1);
        }
    };
    view! { <a class="btn btn-sm" rel="external" href=here on:click=ask>{icon_sm("refresh")}"Run again"</a> }
        .into_any()
}

fn with_mark(search: &str) -> String {
    let bare = search.trim_start_matches('?');
    if bare.is_empty() { String::new() } else { format!("?{bare}") }
}

/// Copies the address of the page, which holds the whole query.
fn copy_link() -> AnyView {
    let toaster = crate::components::toast::use_toaster();
    let copy = move |_| {
        let here = window().location().href().unwrap_or_default();
        crate::components::copy::put(toaster, "link to this result", &here);
    };
    view! { <button type="button" class="btn btn-sm noscript:hidden" on:click=copy>{icon_sm("copy")}"Copy link"</button> }
        .into_any()
}

/// `640 ms`, `1.2 s`.
pub(crate) fn elapsed(ms: f64) -> String {
    if ms < 1000.0 { format!("{ms:.0} ms") } else { format!("{:.1} s", ms / 1000.0) }
}

/// `1 error`, `3 errors`.
pub(crate) fn counted(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}
