//! SOA and negative caching of a domain, with its own numbers.

use crate::components::negative::{negative, soa_line};
use crate::components::time::Ago;
use leptos::prelude::*;
use model::Timestamp;
use model::advice::negative_caching;
use model::dns::Delegation;
use model::observation::Part;

/// The card; nothing while no SOA was read.
pub(crate) fn soa(part: &Part<Delegation>, now: Timestamp) -> Option<AnyView> {
    let d = part.value.as_ref()?;
    let advice = negative_caching(d, now)?;
    let from =
        if d.negative_soa.is_some() { "read from a real negative answer" } else { "read from the zone" };
    let asked = part.observed_at.map(|at| view! { <span>{from}", "<Ago at=at now=now/></span> });
    Some(
        view! {
            <section class="card">
                <div class="card-head"><h2>"SOA and negative caching"</h2><div class="aside">{asked}</div></div>
                <div class="card-body grid grid-cols-1 gap-4 content-start">{soa_line(&advice.soa)}{negative(&advice)}</div>
            </section>
        }
        .into_any(),
    )
}
