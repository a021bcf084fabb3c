//! What is shown in place of an empty table: the first start, and filters without a match.

use super::add::AddForm;
use crate::components::icon;
use leptos::prelude::*;
use model::inventory::{ListQuery, percent};

/// Nothing was added yet: the work starts here.
pub(crate) fn first_start() -> AnyView {
    view! {
        <section class="card">
            <div class="empty empty-tight">
                {icon::icon_in("scope", "i i-lg")}
                <h2>"Add your domains"</h2>
                <p>"The first scan takes a few seconds and reads registration, delegation, records and DNSSEC. It changes nothing."</p>
            </div>
            <div class="first-form"><AddForm id="first"/></div>
            <div class="choices choices-two">
                <a href="/tools/scan">
                    <span class="row strong">{icon("scan")}"Scan without adding"</span>
                    <span class="muted xs">"scan any name once; nothing is stored"</span>
                </a>
                <a href="/tools/trace">
                    <span class="row strong">{icon("route")}"Trace a name"</span>
                    <span class="muted xs">"from the root servers down, uncached"</span>
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
            <div class="row row-wrap"><a class="btn btn-primary" href="/domains">"Clear all filters"</a>{add}</div>
        </section>
    }
    .into_any()
}
