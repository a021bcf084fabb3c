//! The Overview tab: what is wrong on top, then the facts, each with its source and age.

use super::state::DomainState;
use super::{attention, certificates, facts, flags, nameservers, settings, soa, states, with_detail};
use crate::components::banner::{Tone, banner};
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

/// Changes that wait for a second look, and values that change too often to be reported one by one.
fn confirming(d: &Detail) -> Option<AnyView> {
    let pending = &d.observation.as_ref()?.pending;
    let rotating: Vec<_> = pending
        .iter()
        .filter_map(|p| Some(format!("{} rotates between {} sets", p.field, p.rotation.sets()?)))
        .collect();
    let rotating = (!rotating.is_empty()).then(|| {
        let title = "Rotating records; a change is reported when the record stays the same for a week";
        banner(Tone::Info, title, format!("{}.", rotating.join(". ")))
    });
    let waiting: Vec<_> = pending
        .iter()
        .filter(|p| p.rotation.sets().is_none())
        .filter_map(|p| p.change.as_ref().map(|c| (c.headline(), p.is_flapping())))
        .collect();
    let (flapping, fresh): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|(_, flapping)| *flapping);
    let list =
        |all: Vec<(String, bool)>| all.into_iter().map(|(words, _)| words).collect::<Vec<_>>().join(". ");
    let fresh = (!fresh.is_empty())
        .then(|| banner(Tone::Info, "Being confirmed by a second scan", format!("{}.", list(fresh))));
    let flapping = (!flapping.is_empty()).then(|| {
        let title = "Changes often; reported when it stays the same for a day";
        banner(Tone::Info, title, format!("{}.", list(flapping)))
    });
    let elsewhere = &d.observation.as_ref()?.elsewhere;
    let elsewhere = (!elsewhere.is_empty()).then(|| {
        let words: Vec<_> =
            elsewhere.iter().map(|e| format!("{} answers at {}", e.server, e.place)).collect();
        let words =
            format!("{}. No event is recorded: check the network between here and there.", words.join(". "));
        banner(Tone::Info, "No answer here, but at another place", words)
    });
    Some(view! { {fresh}{flapping}{rotating}{elsewhere} }.into_any())
}
