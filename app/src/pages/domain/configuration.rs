//! The Configuration tab: the services of the domain, whether they work, and what to do where they do not.

use super::state::DomainState;
use super::with_detail;
use crate::components::icon_sm;
use crate::pages::configure::kinds;
use leptos::prelude::*;
use model::detail::Detail;
use model::inventory::percent;

/// The tab.
#[component]
pub(crate) fn ConfigurationTab() -> impl IntoView {
    with_detail(services)
}

fn services(_: DomainState, d: &Detail) -> AnyView {
    let name = d.row.name.as_str().to_string();
    let add = format!("/tools/configure?domain={}", percent(&name));
    view! {
        <section class="card" aria-labelledby="sv">
            <div class="card-head"><h2 id="sv">"Set up a service"</h2><div class="aside"><a class="btn btn-sm" href=add>{icon_sm("plus")}"Add service"</a></div></div>
            <div class="card-body stack"><p class="measure">"Choose what this domain is for. Domainscope says which records it needs at this provider, and checks them at every authoritative server."</p>
                {kinds(&name, None)}</div>
        </section>
    }
    .into_any()
}
