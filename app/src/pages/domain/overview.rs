//! The Overview tab: what is wrong on top, then the facts, each with its source and age.

use super::confirming::confirming;
use super::state::DomainState;
use super::{attention, certificates, facts, flags, nameservers, settings, soa, states, with_detail};
use leptos::prelude::*;
use model::detail::Detail;
use model::registration::RegistrationState;

/// The tab.
#[component]
pub(crate) fn OverviewTab() -> impl IntoView {
    with_detail(overview)
}

fn overview(dom: DomainState, d: &Detail) -> AnyView {
    let failed = d.observation.as_ref().map(|o| states::failed_parts(o, d.now)).unwrap_or_default();
    let registration = d
        .observation
        .as_ref()
        .and_then(|o| o.registration.value.as_ref())
        .and_then(RegistrationState::registration);
    let observation = d.observation.as_ref();
    let servers = observation.and_then(|o| nameservers::nameservers(&o.delegation, d.now));
    let negative = observation.and_then(|o| soa::soa(&o.delegation, d.now));
    let info = observation.and_then(|o| {
        registration.map(|r| facts::facts(r, &o.registration, o.dnssec.value.as_ref(), Some(&d.row), d.now))
    });
    let status_flags = registration.and_then(|r| flags::flags(r.statuses.as_ref()));
    let signed = observation.and_then(|o| facts::dnssec(&o.dnssec, d.now));
    let certificates = observation.and_then(|o| certificates::certificates(&o.certificates, d.now));
    view! {
        <div class="empty:hidden [&_>_.banner:last-child]:mb-0">{failed}{states::outcome(d)}{confirming(d)}</div>
        {attention::needs(dom, d)}
        <div class="cols">
            <div class="grid grid-cols-1 gap-4 content-start">{servers}{certificates}{negative}{settings::note(dom, &d.item)}</div>
            <div class="grid grid-cols-1 gap-4 content-start">{info}{status_flags}{signed}{settings::renewal(dom, d)}{settings::checks(d)}{settings::mute(d)}</div>
        </div>
    }
    .into_any()
}
