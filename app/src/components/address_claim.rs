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
