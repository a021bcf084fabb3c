//! Search and filters: links and a plain form, so that they work before the browser part has loaded; typing
//! searches once it has.

use super::filters;
use super::state::InventoryState;
use crate::components::pager::grouped;
use crate::components::{icon, status};
use crate::live::Debounce;
use crate::server_fns::Inventory;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use model::inventory::ListQuery;
use model::status::StatusKind;

/// The id of the search field, which `/` focuses.
pub(crate) const SEARCH: &str = "search";

/// The two lines above the table.
#[component]
pub(crate) fn Toolbar(inv: InventoryState) -> impl IntoView {
    let shown = move |view: fn(&ListQuery, &Inventory) -> AnyView| {
        move || {
            let q = inv.query.get();
            inv.data
                .get()
                .and_then(|d| d.ok().or_else(|| inv.last_read()))
                .filter(|d| d.page.total > 0 || q.is_filtered())
                .map(|d| view(&q, &d))
        }
    };
    view! {
        <div class="toolbar" role="search" aria-label="Filter domains">
            <SearchBox inv=inv/>
            <Transition><div class="chips-scroll">{shown(filters::filters)}</div></Transition>
        </div>
        <Transition>{shown(statuses)}</Transition>
    }
    .into_any()
}

#[component]
fn SearchBox(inv: InventoryState) -> impl IntoView {
    let navigate = crate::navigate::use_navigator();
    let calm = Debounce::new(120);
    let field = NodeRef::<leptos::html::Input>::new();
    let go = move |text: String| {
        let q = ListQuery { search: text.trim().to_string(), page: 1, ..inv.query.get_untracked() };
        if q != inv.query.get_untracked() {
            let options = NavigateOptions { replace: true, scroll: false, ..NavigateOptions::default() };
            navigate.to(&q.to_url(), options);
        }
    };
    // The back button and "clear filters" change the text; typing must not be disturbed by its own echo.
    Effect::new(move |_| {
        let wanted = inv.query.get().search;
        if let Some(f) = field.get_untracked()
            && f.value().trim() != wanted
            && document().active_element().as_ref() != Some(f.as_ref())
        {
            f.set_value(&wanted);
        }
    });
    let hidden = move || {
        let q = ListQuery { search: String::new(), page: 1, ..inv.query.get() };
        let each = q.to_pairs().into_iter().map(|(k, v)| view! { <input type="hidden" name=k value=v/> });
        each.collect_view()
    };
    let submit = move |e: leptos::ev::SubmitEvent| {
        e.prevent_default();
        if let Some(f) = field.get_untracked() {
            go(f.value());
        }
    };
    view! {
        <form method="get" action="/domains" on:submit=submit>
            <label class="search">
                <span class="sr-only">"Search by name"</span>
                {icon("search")}
                <input
                    class="input" type="search" name="q" id=SEARCH placeholder="Search by name" autocomplete="off"
                    spellcheck="false" maxlength="253" node_ref=field value=inv.query.get_untracked().search
                    on:input=move |e| { let text = event_target_value(&e); calm.call(move || go(text)) }
                />
                <span class="kbd" aria-hidden="true">"/"</span>
            </label>
            {hidden}
        </form>
    }
    .into_any()
}

/// `1 match`, `3 matches`.
fn matches(n: u64) -> String {
    if n == 1 { "1 match".into() } else { format!("{} matches", grouped(n)) }
}

/// Status chips with counts.
fn statuses(q: &ListQuery, d: &Inventory) -> AnyView {
    let count =
        |k: StatusKind| d.page.facets.status.iter().find(|f| f.value == k.as_str()).map_or(0, |f| f.count);
    let all: u64 = d.page.facets.status.iter().map(|f| f.count).sum();
    let order = [
        StatusKind::Critical,
        StatusKind::Warning,
        StatusKind::Unlocked,
        StatusKind::Secure,
        StatusKind::Normal,
        StatusKind::Unknown,
    ];
    let chips = order.map(|k| {
        let on = q.status.contains(&k);
        let mut status = q.status.clone();
        if on {
            status.retain(|s| *s != k);
        } else {
            status.push(k);
            status.sort();
        }
        let url = ListQuery { status, page: 1, ..q.clone() }.to_url();
        let word = k.label().split(' ').next().unwrap_or_default().to_string();
        view! {
            <a class="chip" class:on=on href=url aria-current=on.then_some("true") data-noscroll="true">
                {icon::icon_in(status::status_icon(k), status::status_icon_class(k))}{word}" "
                <span class="n">{grouped(count(k))}</span>
            </a>
        }
    });
    let plain = ListQuery { status: vec![], page: 1, ..q.clone() };
    let none = q.status.is_empty();
    let of = if q.is_filtered() { matches(d.page.total) } else { String::new() };
    view! {
        <div class="toolbar">
            <div class="chips-scroll" role="group" aria-label="Status">
                <a class="chip" class:on=none href=plain.to_url() aria-current=none.then_some("true") data-noscroll="true">
                    "All "<span class="n">{grouped(all)}</span>
                </a>
                {chips.into_iter().collect_view()}
            </div>
            <span class="end text-muted text-xs max-[1011px]:hidden" role="status">{of}</span>
        </div>
    }
    .into_any()
}
