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

pub(crate) use row::dns_badge;

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
use service::ApiError;
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
        anchor: StoredValue::new(None),
        total: RwSignal::new(0),
        last: StoredValue::new(None),
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
                Err(f) => unread(inv, &f),
            })}
        </Transition>
        <bulk::BulkBar inv=inv/>
        <add::AddDialog/>
        <keys::Shortcuts/>
    }
    .into_any()
}

/// The list could not be read: why, and the rows read last where they are of the same list.
fn unread(inv: InventoryState, f: &ApiError) -> AnyView {
    banner::set_status(f);
    let retry = banner::is_passing(f).then(|| {
        let again = move |e: leptos::ev::MouseEvent| {
            e.prevent_default();
            inv.data.refetch();
        };
        view! { <a class="btn btn-sm end" href="" rel="external" on:click=again>{icon("refresh")}"Retry"</a> }
    });
    let kept = inv.last_read();
    let what = if kept.is_some() {
        "The inventory could not be updated; the last version is shown"
    } else {
        "The inventory could not be read"
    };
    view! { {banner::failure_with(what, f, retry)}{kept.map(|d| table::list(inv, &d))} }.into_any()
}

/// Seconds after which a list that could not be read is asked for again.
const RETRY: std::time::Duration = std::time::Duration::from_secs(3);

/// Keeps the rows as they are on the server: a scan that ends updates its row without a reload.
fn follow(inv: InventoryState) {
    let calm = live::Debounce::new(250);
    let is_lost = move || inv.data.with_untracked(|d| matches!(d, Some(Err(f)) if banner::is_passing(f)));
    Effect::new(move |_| match inv.data.get() {
        Some(Ok(d)) => {
            if let Some(bus) = use_context::<live::LiveBus>() {
                bus.seen(d.page.rv);
            }
            inv.last.set_value(Some((inv.query.get_untracked(), d)));
        }
        Some(Err(f)) if banner::is_passing(&f) => set_timeout(
            move || {
                if inv.last.try_get_value().is_some() && is_lost() {
                    inv.data.refetch();
                }
            },
            RETRY,
        ),
        _ => {}
    });
    live::on_open(move || {
        if is_lost() {
            inv.data.refetch();
        }
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
