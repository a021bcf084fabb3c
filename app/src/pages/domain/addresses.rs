//! The addresses that a domain points to, each with the claim that covers it.

use crate::components::icon;
use crate::components::time::Ago;
use crate::resource::json_resource;
use crate::server_fns::{self, AddressRow};
use leptos::prelude::*;
use model::Timestamp;
use model::inventory::percent;

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

fn card(rows: &[AddressRow], now: Timestamp) -> AnyView {
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

fn row(r: &AddressRow, now: Timestamp) -> AnyView {
    let block = r.prefix.clone().map(|p| {
        let href = format!("/networks?block={}", percent(&p));
        view! { <a class="mono" href=href>{p}</a> }
    });
    let claim = match (&r.claim, r.released_at) {
        (Some(claim), None) => {
            view! { <span>{icon("ok")}" "{claim.clone()}" · "{r.reference.clone()}" · "{block}</span> }.into_any()
        }
        (Some(claim), Some(at)) => view! {
            <span class="text-warn">{icon("warning")}" "{format!("Points into space that {claim} released ")}<Ago at=at now=now/>" "{block}</span>
        }
        .into_any(),
        (None, _) => view! { <span class="text-muted">"Points into space that is not claimed here"</span> }.into_any(),
    };
    view! {
        <tr>
            <th scope="row" class="mono">{r.name.clone()}</th>
            <td><span class="rtype">{r.rtype.clone()}</span></td>
            <td class="mono">{r.address.clone()}</td>
            <td class="wrap">{claim}</td>
        </tr>
    }
    .into_any()
}
