//! One domain: header with its scan, tabs as addresses, and what the tabs share.

mod addresses;
mod attention;
mod certificates;
pub(crate) mod configuration;
mod confirming;
mod customer_link;
mod delegation;
pub(crate) mod dns;
pub(crate) mod events;
mod facts;
mod flags;
mod header;
pub(crate) mod history;
mod nameservers;
pub(crate) mod overview;
pub(crate) mod ownership;
mod records;
mod settings;
mod soa;
mod speed;
mod state;
pub(crate) mod states;
mod tabs;
mod timeline;

use crate::components::banner;
use crate::components::frame::crumbs;
use crate::components::toast::use_toaster;
use crate::live;
use crate::resource::json_resource;
use crate::server_fns;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::components::Outlet;
use leptos_router::hooks::use_params_map;
use model::detail::Detail;
use model::scan::Live;
use state::DomainState;

pub(crate) use delegation::picture as delegation_picture;
pub(crate) use facts::{dnssec as dnssec_card, facts as domain_facts};
pub(crate) use flags::flags as status_flags;
pub(crate) use nameservers::nameservers;
pub(crate) use records::records;
#[cfg(feature = "ssr")]
pub(crate) use tabs::links as tab_links;

/// The page around the tabs.
#[component]
pub(crate) fn DomainPage() -> impl IntoView {
    let params = use_params_map();
    // While the router leaves the page the parameter is gone: the name stays what it was.
    let name = Memo::new(move |before: Option<&String>| {
        params.get().get("name").or_else(|| before.cloned()).unwrap_or_default()
    });
    let dom = DomainState {
        name,
        detail: json_resource(move || name.get(), server_fns::detail),
        scan: RwSignal::new(None),
        asked: RwSignal::new(false),
        dismissed: RwSignal::new(None),
        toaster: use_toaster(),
    };
    provide_context(dom);
    follow(dom);
    let shown = move || {
        let title = dom.detail.get().and_then(Result::ok).map(|d| d.row.unicode);
        title.unwrap_or_else(|| name.get())
    };
    view! {
        <Transition fallback=states::skeleton>
            {move || dom.detail.get().map(|answer| match answer {
                Ok(d) => view! {
                    <Title text=tabs::title(d.row.unicode.clone())/>
                    {crumbs(d.row.unicode.clone())}
                    {header::header(dom, &d)}
                }
                .into_any(),
                Err(f) => {
                    banner::set_status(&f);
                    view! { <Title text="Not found"/>{crumbs(shown())}{states::not_here(&name.get(), &f)} }.into_any()
                }
            })}
        </Transition>
        <div role="tabpanel" id="panel" aria-labelledby=tabs::current_id class="grid grid-cols-1 gap-4 content-start" tabindex="-1"><Outlet/></div>
    }
    .into_any()
}

fn follow(dom: DomainState) {
    let calm = live::Debounce::new(250);
    Effect::new(move |before: Option<String>| {
        let name = dom.name.get();
        if before.is_some_and(|b| b != name) {
            dom.scan.set(None);
            dom.asked.set(false);
            dom.dismissed.set(None);
        }
        name
    });
    Effect::new(move |_| {
        if let (Some(Ok(d)), Some(bus)) = (dom.detail.get(), use_context::<live::LiveBus>()) {
            bus.seen(d.rv);
        }
    });
    live::on_open(move || {
        let shown = dom.scan.get().or_else(|| dom.detail.get()?.ok()?.scan);
        if shown.is_some_and(|p| !p.finished()) {
            dom.scan.set(None);
            dom.detail.refetch();
        }
    });
    live::listen(move |l| match l {
        Live::Scan(p) if p.name.as_str() == dom.name.get_untracked() => {
            dom.asked.set(false);
            dom.scan.set(Some(p.clone()));
            if p.finished() {
                calm.call(move || dom.detail.refetch());
            }
        }
        Live::Changed(entry) if entry.kind == "item" && entry.name == dom.name.get_untracked() => {
            calm.call(move || dom.detail.refetch());
        }
        Live::Reset { .. } => {
            dom.scan.set(None);
            calm.call(move || dom.detail.refetch());
        }
        Live::Scan(_) | Live::Changed(_) => {}
    });
}

/// A tab's view of the detail; empty while it loads or when it failed (the header shows that).
pub(crate) fn with_detail(
    view: impl Fn(DomainState, &Detail) -> AnyView + Send + Sync + 'static,
) -> impl IntoView {
    let dom = expect_context::<DomainState>();
    view! { <Transition>{move || dom.detail.get().and_then(Result::ok).map(|d| view(dom, &d))}</Transition> }
        .into_any()
}
