//! The addresses that a domain points to, each with the claim that covers it.

use crate::components::icon;
use crate::components::time::Ago;
use crate::resource::json_resource;
use crate::server_fns;
use leptos::prelude::*;
use model::Timestamp;
use model::inventory::percent;
use service::addresses::{Place, PlacedAddress, component};

/// The card; nothing while the organisation claims no address space.
#[component]
pub(crate) fn AddressCard(name: String, now: Timestamp) -> impl IntoView {
    let data = json_resource(move || name.clone(), server_fns::addresses);
    view! {
        <Suspense>
            {move || data.get().and_then(Result::ok).filter(|rows| !rows.is_empty()).map(|rows| card(&rows, now))}
        </Suspense>
    }
    .into_any()
}

fn card(rows: &[PlacedAddress], now: Timestamp) -> AnyView {
    let rows: Vec<_> = rows.iter().map(|r| row(r, now)).collect();
    view! {
        <section class="card tbl-wrap">
            <div class="card-head"><h2>"Addresses"</h2><span class="text-muted">"and the claims that cover them"</span></div>
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Addresses, table">
                <table class="tbl tbl-tight">
                    <thead><tr><th scope="col">"Name"</th><th scope="col">"Type"</th><th scope="col">"Address"</th><th scope="col">"Claim"</th></tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </section>
    }
    .into_any()
}

fn row(r: &PlacedAddress, now: Timestamp) -> AnyView {
    let link = |prefix: String| {
        let href = format!("/networks?block={}", percent(&prefix));
        view! { <a class="mono" href=href>{prefix}</a> }
    };
    let claim = match (r.place, &r.cover, &r.block) {
        (Place::Claimed, Some(c), _) => {
            let words = format!("{} · {}", c.claim, component(&c.reference));
            view! { <span>{icon("ok")}" "{words}" · "{link(c.prefix.to_string())}</span> }.into_any()
        }
        (Place::Released, Some(c), _) => {
            let at = c.released_at.map(|at| view! { <Ago at=at now=now/> });
            view! {
                <span class="text-warn">{icon("warning")}" "{format!("Points into space that {} released ", c.claim)}{at}" · "{link(c.prefix.to_string())}</span>
            }
            .into_any()
        }
        (Place::Unclaimed, _, Some(block)) => view! {
            <span class="text-warn">{icon("warning")}" Points into space that no claim covers · "{link(block.to_string())}</span>
        }
        .into_any(),
        _ => view! { <span class="text-muted">"Outside of the registered address space"</span> }.into_any(),
    };
    view! {
        <tr>
            <th scope="row" class="mono">{r.name.clone()}</th>
            <td><span class="rtype">{r.rtype.clone()}</span></td>
            <td class="mono">{r.address.to_string()}</td>
            <td class="wrap">{claim}</td>
        </tr>
    }
    .into_any()
}
