//! The table: its head with sort links, its rows, its foot; and its empty states.

use super::state::InventoryState;
use super::{empty, row};
use crate::components::icon;
use crate::components::pager::{Place, pager};
use crate::server_fns::Inventory;
use leptos::prelude::*;
use model::inventory::{ListQuery, SortKey};

/// The list as read, or what to do when it is empty.
pub(crate) fn list(inv: InventoryState, d: &Inventory) -> AnyView {
    let q = inv.query.get_untracked();
    if d.page.total == 0 {
        return if q.is_filtered() { empty::no_match(&q) } else { empty::first_start() };
    }
    inv.scans.update(|s| {
        // The page was reloaded: its scans are newer than the progress received before.
        s.retain(|_, p| !p.finished());
        s.extend(d.scans.iter().map(|p| (p.name.as_str().to_string(), p.clone())));
    });
    inv.total.set(d.page.total);
    let place = Place { page: d.page.page, per_page: d.page.per_page, total: d.page.total };
    let now = d.now;
    let rows: Vec<_> = d.page.rows.iter().map(|r| row::row(inv, r, now)).collect();
    let names: Vec<String> = d.page.rows.iter().map(|r| r.name.as_str().to_string()).collect();
    let caption = caption(&q);
    let pages = pager(place, "Pages", |page| ListQuery { page, ..q.clone() }.to_url());
    let shortcuts = pages.is_none().then(|| {
        view! {
            <span class="end text-xs max-sm:hidden">
                <span class="kbd">"j"</span><span class="kbd">"k"</span>" move "<span class="kbd">"x"</span>" select "
                <span class="kbd">"r"</span>" rescan "<span class="kbd">"?"</span>" all shortcuts"
            </span>
        }
    });
    view! {
        <div class="card tbl-wrap">
            <table class="tbl tbl-sticky inv" role="table" aria-label=caption>
                <thead role="rowgroup"><tr role="row">
                    <th class="c-check" scope="col" role="columnheader">{select_all(inv, names)}</th>
                    {head(&q, "Domain Name", Some(SortKey::Name), "c-name")}
                    {head(&q, "Expiration", Some(SortKey::Expiration), "c-exp num")}
                    {head(&q, "Registrar", Some(SortKey::Registrar), "c-reg")}
                    {head(&q, "DNS Provider", Some(SortKey::Provider), "c-prov")}
                    {head(&q, "Status", Some(SortKey::Status), "c-status")}
                    {head(&q, "Certificate", Some(SortKey::Certificate), "c-cert num")}
                    {head(&q, "Last Change Detected", Some(SortKey::Change), "c-change num")}
                    {head(&q, "Actions", None, "c-act num")}
                </tr></thead>
                <tbody role="rowgroup">{rows}</tbody>
            </table>
            <div class="tbl-foot">
                <span class="text-xs">{place.words()}</span>{shortcuts}
                <div class="end">{pages}</div>
            </div>
        </div>
    }
    .into_any()
}

/// What the table is, for people who do not see it.
fn caption(q: &ListQuery) -> String {
    let by = match (q.sort, q.descending) {
        (SortKey::Name, false) => "by name",
        (SortKey::Name, true) => "by name, last first",
        (SortKey::Expiration, false) => "soonest expiration first",
        (SortKey::Expiration, true) => "latest expiration first",
        (SortKey::Registrar, _) => "by registrar",
        (SortKey::Provider, _) => "by DNS provider",
        (SortKey::Status, false) => "worst status first",
        (SortKey::Status, true) => "best status first",
        (SortKey::Certificate, false) => "certificate that ends first on top",
        (SortKey::Certificate, true) => "certificate that ends last on top",
        (SortKey::Change, false) => "oldest change first",
        (SortKey::Change, true) => "newest change first",
    };
    let what = if q.is_filtered() { "Domains that match the filters" } else { "Domains" };
    format!("{what}, {by}")
}

fn head(q: &ListQuery, label: &'static str, key: Option<SortKey>, class: &'static str) -> AnyView {
    let Some(key) = key else {
        return view! { <th class=class scope="col" role="columnheader">{label}</th> }.into_any();
    };
    let current = q.sort == key;
    // Changes are looked for newest first, everything else from the beginning.
    let descending = if current { !q.descending } else { key == SortKey::Change };
    let url = ListQuery { sort: key, descending, page: 1, ..q.clone() }.to_url();
    let sorted = current.then_some(if q.descending { "descending" } else { "ascending" });
    let arrow = if current && q.descending { "i rotate-180" } else { "i" };
    view! {
        <th class=class scope="col" role="columnheader" aria-sort=sorted>
            <a class="sort" href=url data-noscroll="true">{label}{icon::icon_in("asc", arrow)}</a>
        </th>
    }
    .into_any()
}

fn select_all(inv: InventoryState, names: Vec<String>) -> impl IntoView {
    let n = names.len();
    let names = StoredValue::new(names);
    let chosen =
        move || inv.selected.with(|s| names.with_value(|n| n.iter().filter(|x| s.contains(*x)).count()));
    let change = move |_| {
        let all = chosen() == n;
        inv.selected.update(|s| {
            names.with_value(|names| {
                for name in names {
                    if all {
                        s.remove(name);
                    } else {
                        s.insert(name.clone());
                    }
                }
            });
        });
    };
    let all = move || n > 0 && chosen() == n;
    view! {
        <input
            class="check" class:some=move || (1..n).contains(&chosen()) type="checkbox"
            aria-label=format!("Select all {n} on this page")
            prop:checked=all
            on:change=change
        />
    }
    .into_any()
}
