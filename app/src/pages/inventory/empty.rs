//! What is shown in place of an empty table: the first start, and filters without a match.

use super::add::AddForm;
use crate::components::icon;
use leptos::prelude::*;
use model::inventory::{ListQuery, percent};

// classes: grid content-start gap-1 bg-surface px-5 py-4 text-text hover:bg-hover hover:no-underline
const CHOICE: &str =
    "grid content-start gap-1 bg-surface px-5 py-4 text-text hover:bg-hover hover:no-underline";

/// Nothing was added yet: the work starts here.
pub(crate) fn first_start() -> AnyView {
    view! {
        <section class="card">
            <div class="empty pb-6">
                {icon::icon_in("scope", "i i-lg")}
                <h2>"Add your domains"</h2>
                <p>"The first scan takes a few seconds and reads registration, delegation, records and DNSSEC. It changes nothing."</p>
            </div>
            <div class="max-w-168 mx-auto pb-8 px-4"><AddForm id="first"/></div>
            <div class="grid grid-cols-[1fr_1fr] gap-px rounded-b-lg border-t bg-[color:var(--line)] [overflow:clip]">
                <a class=CHOICE href="/tools/scan">
                    <span class="flex items-center gap-2 font-semibold">{icon("scan")}"Scan without adding"</span>
                    <span class="text-muted text-xs">"scan any name once; nothing is stored"</span>
                </a>
                <a class=CHOICE href="/tools/trace">
                    <span class="flex items-center gap-2 font-semibold">{icon("route")}"Trace a name"</span>
                    <span class="text-muted text-xs">"from the root servers down, uncached"</span>
                </a>
            </div>
        </section>
    }
    .into_any()
}

/// The filters match nothing.
pub(crate) fn no_match(q: &ListQuery) -> AnyView {
    let search = q.search.clone();
    let looks_like_a_name = search.contains('.');
    let what = if search.is_empty() {
        "No domain matches these filters".to_string()
    } else {
        format!("No domain matches “{search}”")
    };
    let add = looks_like_a_name.then(|| {
        view! {
            <a class="btn" href=format!("/domains/add?text={}", percent(&search))>{icon("plus")}"Add it"</a>
            <a class="btn" href=format!("/tools/scan?name={}", percent(&search))>{icon("scan")}"Scan without adding"</a>
        }
    });
    view! {
        <section class="card empty">
            {icon::icon_in("search", "i i-lg")}
            <h2>{what}</h2>
            <p>"Try removing a filter."</p>
            <div class="flex items-center gap-2 flex-wrap"><a class="btn btn-primary" href="/domains">"Clear all filters"</a>{add}</div>
        </section>
    }
    .into_any()
}
