//! The Configuration tab: the services of the domain, whether they work, and what to do where they do not. The service that
//! is looked at now is in the address (`?service=ID`).

use super::state::DomainState;
use crate::components::banner::failure;
use crate::components::icon::icon_in;
use crate::components::time::Ago;
use crate::components::{icon, icon_sm};
use crate::pages::configure::{
    caches_card, changes_card, expected_card, kind_icon, kinds, servers_card, state_banner, to_do_card,
    warnings_card,
};
use crate::query;
use crate::resource::json_resource;
use crate::server_fns::{self, Services};
use leptos::prelude::*;
use leptos_router::hooks::use_location;
use model::Timestamp;
use model::configure::{ServiceReport, ServiceState, StoredService};
use model::inventory::percent;

/// The tab.
#[component]
pub(crate) fn ConfigurationTab() -> impl IntoView {
    let dom = expect_context::<DomainState>();
    let search = use_location().search;
    let wanted = Memo::new(move |_| query::value(&search.get(), "service"));
    let list = json_resource(
        move || (dom.name.get(), dom.detail.get().and_then(Result::ok).map(|d| d.rv)),
        |(name, _)| server_fns::services(name),
    );
    let report = json_resource(
        move || (dom.name.get(), wanted.get()),
        |(name, wanted)| async move {
            match wanted {
                Some(id) => Some(server_fns::check_service(name, id).await),
                None => None,
            }
        },
    );
    let looking = || view! { <div class="card card-body flex items-center gap-2" role="status"><span class="spin"></span>"Querying every authoritative server…"</div> };
    view! {
        <Transition>
            {move || list.get().map(|answer| match answer {
                Ok(all) => services(&dom.name.get(), &all, wanted.get().as_deref()),
                Err(f) => failure("The services could not be read", &f),
            })}
        </Transition>
        <Suspense fallback=looking>
            {move || report.get().flatten().map(|answer| match answer {
                Ok(r) => one(&r, wanted.get().unwrap_or_default()),
                Err(f) => failure("The service could not be checked", &f),
            })}
        </Suspense>
    }
    .into_any()
}

fn services(name: &str, all: &Services, wanted: Option<&str>) -> AnyView {
    let add = format!("/tools/configure?domain={}", percent(name));
    if all.services.is_empty() {
        return view! {
            <section class="card" aria-labelledby="sv">
                <div class="card-head"><h2 id="sv">"Set up a service"</h2></div>
                <div class="card-body grid grid-cols-1 gap-4 content-start"><p class="max-w-[88ch]">"Choose what this domain is for. Domainscope says which records it needs at this provider, and checks them at every authoritative server."</p>
                    {kinds(name, None)}</div>
            </section>
        }
        .into_any();
    }
    let rows: Vec<_> = all.services.iter().map(|s| row(s, name, wanted, all.now)).collect();
    view! {
        <section class="card tbl-wrap" aria-labelledby="sv">
            <div class="card-head"><h2 id="sv">"Services"</h2><span class="text-muted">{all.services.len().to_string()}</span>
                <div class="aside"><span class="max-sm:hidden">"checked every hour at the authoritative servers"</span><a class="btn btn-sm" href=add>{icon_sm("plus")}"Add service"</a></div></div>
            <table class="tbl tbl-flow" role="table"><thead><tr role="row">
                <th scope="col">"Service"</th><th scope="col">"State"</th><th scope="col">"Records"</th><th scope="col"><span class="sr-only">"Actions"</span></th>
            </tr></thead><tbody>{rows}</tbody></table>
        </section>
    }
    .into_any()
}

fn row(s: &StoredService, name: &str, wanted: Option<&str>, now: Timestamp) -> AnyView {
    let open = format!("/domains/{name}/configuration?service={}", percent(&s.id));
    let current = wanted == Some(s.id.as_str());
    let records = if s.total == 0 {
        "not checked yet".to_string()
    } else {
        format!("{} of {} as expected", s.present, s.total)
    };
    let checked = s.checked_at.map(|at| view! { <small>"checked "<Ago at=at now=now/></small> });
    let error = (!s.error.is_empty())
        .then(|| view! { <small class="text-warn">{format!("Last check failed: {}", s.error)}</small> });
    let worked = s
        .worked_at
        .filter(|_| s.state == ServiceState::Drifted)
        .map(|at| view! { <small>"worked until "<Ago at=at now=now/></small> });
    let place = if s.spec.host.is_empty() {
        s.spec.service.about().to_string()
    } else {
        format!("{}.{name}", s.spec.host)
    };
    view! {
        <tr role="row" class:selected=current aria-current=current.then_some("true")>
            <th scope="row" role="rowheader"><span class="flex items-center gap-3"><span class="mark mark-lg" aria-hidden="true">{icon(kind_icon(s.spec.service))}</span><span class="two"><span class="font-semibold">{s.title.clone()}</span><small>{place}</small></span></span></th>
            <td role="cell" data-l="State">{state_pill(s.state)}</td>
            <td role="cell" data-l="Records"><span class="two"><span>{records}</span>{worked}{checked}{error}</span></td>
            <td class="num" role="cell"><div class="flex items-center gap-2 actions"><a class="btn btn-sm" href=open>"Open"</a>
                <form method="post" action="/api/fn/remove_service">
                    <input type="hidden" name="name" value=name.to_string()/><input type="hidden" name="id" value=s.id.clone()/>
                    <button class="btn btn-ghost btn-icon btn-sm" type="submit" aria-label=format!("Remove {}", s.title) title="Stop checking this service">{icon_sm("trash")}</button>
                </form></div></td>
        </tr>
    }
    .into_any()
}

/// The state as an icon and a word.
fn state_pill(state: ServiceState) -> AnyView {
    let (class, picture) = match state {
        ServiceState::Working => ("pill pill-normal", "ok"),
        ServiceState::Drifted => ("pill pill-critical", "warning"),
        ServiceState::Partial => ("pill pill-warning", "warning"),
        ServiceState::NotSetUp | ServiceState::Unknown => ("pill pill-unknown", "unknown"),
    };
    view! { <span class=class>{icon_in(picture, "i")}<span>{state.label()}</span></span> }.into_any()
}

/// The service that is open: expected and live, and what to do.
fn one(r: &ServiceReport, id: String) -> AnyView {
    view! {
        {state_banner(r)}
        <div class="cols"><div class="grid grid-cols-1 gap-4 content-start">{expected_card(r)}{changes_card(r, String::new())}{to_do_card(r, false)}</div>
            <div class="grid grid-cols-1 gap-4 content-start">{caches_card(r)}{warnings_card(r)}{servers_card(r)}{super::customer_link::card(r.domain.clone(), id)}</div></div>
    }
    .into_any()
}
