//! The inventory page. In: the address (`ListQuery`). Out: strip, filters, table.

pub(crate) mod add;
mod bulk;
mod calendar;
mod empty;
mod filters;
mod keys;
mod row;
mod state;
mod strip;
mod table;
mod toolbar;

use crate::components::frame::FrameResource;
use crate::components::icon;
use crate::components::pager::grouped;
use crate::components::toast::use_toaster;
use crate::components::{banner, skeleton};
use crate::live;
use crate::query::list_query;
use crate::resource::json_resource;
use crate::server_fns;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_meta::Title;
use leptos_router::hooks::use_location;
use model::inventory::ListQuery;
use model::scan::Live;
use state::InventoryState;
use std::collections::{BTreeMap, BTreeSet};

/// The page.
#[component]
pub(crate) fn InventoryPage() -> impl IntoView {
    let location = use_location();
    let (path, search) = (location.pathname, location.search);
    // While the router leaves the page the address is already another one: the list stays what it was.
    let query = Memo::new(move |before: Option<&ListQuery>| match (path.get() == "/domains", before) {
        (false, Some(q)) => q.clone(),
        _ => list_query(&search.get()),
    });
    let frame = expect_context::<FrameResource>();
    let data = json_resource(
        move || query.get().to_url(),
        |url| server_fns::inventory(url.strip_prefix("/domains").unwrap_or_default().to_string()),
    );
    let inv = InventoryState {
        query,
        data,
        selected: RwSignal::new(BTreeSet::new()),
        scans: RwSignal::new(BTreeMap::new()),
        toaster: use_toaster(),
        frame,
    };
    provide_context(inv);
    follow(inv);
    keys::listen(inv);

    view! {
        <Title text="Domains"/>
        <Head inv=inv/>
        <strip::Strip inv=inv/>
        <toolbar::Toolbar inv=inv/>
        <Transition fallback=skeleton::list>
            {move || data.get().map(|answer| match answer {
                Ok(inventory) => table::list(inv, &inventory),
                Err(f) => {
                    banner::page_failure("The inventory could not be read", &f)
                }
            })}
        </Transition>
        <bulk::BulkBar inv=inv/>
        <add::AddDialog/>
        <keys::Shortcuts/>
    }
    .into_any()
}

/// Keeps the rows as they are on the server: a scan that ends updates its row without a reload.
fn follow(inv: InventoryState) {
    let calm = live::Debounce::new(250);
    Effect::new(move |_| {
        if let (Some(Ok(d)), Some(bus)) = (inv.data.get(), use_context::<live::LiveBus>()) {
            bus.seen(d.page.rv);
        }
    });
    live::on_open(move || {
        if inv.scans.with(|s| s.values().any(|p| !p.finished())) {
            inv.scans.set(BTreeMap::new());
            calm.call(move || inv.data.refetch());
        }
    });
    live::listen(move |l| match l {
        Live::Scan(p) => {
            let name = p.name.as_str().to_string();
            let finished = p.finished();
            let here = inv.rows().iter().any(|r| r.name.as_str() == name);
            if here {
                inv.scans.update(|s| {
                    s.insert(name, p.clone());
                });
            }
            if here && finished {
                calm.call(move || inv.data.refetch());
            }
        }
        Live::Changed(entry) if entry.kind == "item" => {
            calm.call(move || inv.data.refetch());
        }
        Live::Reset { .. } => {
            inv.scans.set(BTreeMap::new());
            calm.call(move || inv.data.refetch());
        }
        Live::Changed(_) => {}
    });
}

#[component]
fn Head(inv: InventoryState) -> impl IntoView {
    let sub = move || {
        inv.frame.get().and_then(Result::ok).map(|f| {
            let s = f.summary;
            if s.total == 0 {
                "none yet".to_string()
            } else {
                format!("{} · {} owned, {} watched", grouped(s.total), grouped(s.owned), grouped(s.watched))
            }
        })
    };
    let query =
        move || inv.query.get().to_url().trim_start_matches("/domains").trim_start_matches('?').to_string();
    let export = move |kind: &str| {
        let q = query();
        if q.is_empty() { format!("/domains.{kind}") } else { format!("/domains.{kind}?{q}") }
    };
    let rescan_all = move |e: leptos::ev::SubmitEvent| {
        e.prevent_default();
        let q = query();
        spawn_local(async move {
            match server_fns::rescan_matching(q).await {
                Ok(n) => inv.toaster.say("refresh", format!("Rescan of {} domains queued", grouped(n))),
                Err(f) => inv.toaster.failed(&f),
            }
        });
    };
    let rescan_label = move || if inv.query.get().is_filtered() { "Rescan these" } else { "Rescan all" };
    let any = move || inv.frame.get().and_then(Result::ok).is_some_and(|f| f.summary.total > 0);
    view! {
        <div class="page-head">
            <h1>"Domains"</h1>
            <Suspense><span class="sub">{sub}</span></Suspense>
            <div class="actions">
                <Suspense>
                    {move || any().then(|| view! {
                        <details class="menu max-sm:hidden">
                            <summary class="btn">{icon("download")}"Export"</summary>
                            <div class="menu-list menu-right">
                                <a class="menu-item" rel="external" download href=move || export("csv")>"CSV, this list"</a>
                                <a class="menu-item" rel="external" download href=move || export("json")>"JSON, this list"</a>
                            </div>
                        </details>
                        <form class="max-sm:hidden" method="post" action="/api/fn/rescan_matching" on:submit=rescan_all>
                            <input type="hidden" name="query" value=query/>
                            <button class="btn" type="submit">{icon("refresh")}{rescan_label}</button>
                        </form>
                    })}
                </Suspense>
                <a class="btn btn-primary" href="/domains/add" on:click=add::open>{icon("plus")}"Add domain"</a>
            </div>
        </div>
    }
    .into_any()
}
