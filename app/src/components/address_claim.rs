//! An address with the claim that covers it, as the tools show it.

use crate::components::icon;
use leptos::prelude::*;
use model::address_space::{AddressSpace, Place};
use model::inventory::percent;

/// Where an address lies in the registry of address space.
pub(crate) fn address_claim(s: &AddressSpace) -> AnyView {
    let link = s.prefix.as_ref().map(|p| {
        let href = format!("/networks?block={}", percent(p));
        view! { " · "<a class="mono" href=href>{p.clone()}</a> }
    });
    let claim = s.claim.as_deref().unwrap_or_default();
    let words = match s.place {
        Place::Claimed => format!("{claim} · {}", s.component.as_deref().unwrap_or_default()),
        Place::Released => format!("Points into space that {claim} released"),
        Place::Unclaimed => "Points into space that no claim covers".into(),
        Place::Elsewhere => "Outside of the registered address space".into(),
    };
    let (class, picture) = match s.place {
        Place::Claimed => ("basis-full text-xs", Some(icon("ok"))),
        Place::Elsewhere => ("basis-full text-xs text-muted", None),
        _ => ("basis-full text-xs text-warn", Some(icon("warning"))),
    };
    view! { <span class=class>{picture}" "{words}{link}</span> }.into_any()
}

/// The card of addresses with their claims; nothing where none is placed.
pub(crate) fn address_claims(all: &[AddressSpace]) -> Option<AnyView> {
    let rows: Vec<_> = all
        .iter()
        .map(|s| {
            let rtype = if s.address.is_ipv4() { "A" } else { "AAAA" };
            view! { <li><span class="rtype">{rtype}</span><span class="mono font-semibold wrap">{s.address.to_string()}</span>{address_claim(s)}</li> }
        })
        .collect();
    (!rows.is_empty()).then(|| {
        view! {
            <section class="card"><div class="card-head"><h2>"Addresses"</h2><span class="text-muted">"and the claims that cover them"</span></div>
                <ul class="[&_>_li]:flex [&_>_li]:flex-wrap [&_>_li]:items-baseline [&_>_li]:gap-x-2 [&_>_li]:py-2 [&_>_li]:px-4 [&_>_li]:border-b [&_>_li:last-child]:border-b-0">{rows}</ul></section>
        }
        .into_any()
    })
}
