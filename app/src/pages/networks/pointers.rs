//! The names that point into the block that is shown, and whether their PTR records agree. Loaded by itself: reading PTR
//! records takes a moment.

use crate::components::icon;
use crate::components::time::Ago;
use crate::resource::json_resource;
use crate::server_fns;
use leptos::prelude::*;
use model::Timestamp;
use model::inventory::percent;
use service::addresses::{Pointer, Pointers, Ptr};

/// The card of a block: the first names, or those after a place in the list. `here` is the address of the page without it.
#[component]
pub(super) fn PointersCard(block: String, here: String, after: String, now: Timestamp) -> impl IntoView {
    let is_first = after.is_empty();
    let place = (block, after);
    let data = json_resource(move || place.clone(), |(block, after)| server_fns::pointing(block, after));
    view! {
        <Suspense fallback=|| empty("Looking for names, and for their PTR records…")>
            {move || data.get().map(|found| match found {
                Ok(p) if p.pointers.is_empty() && is_first => empty("No name of the inventory points into it."),
                Ok(p) => card(&p, &here, is_first, now),
                Err(e) => empty(&e.to_string()),
            })}
        </Suspense>
    }
    .into_any()
}

/// The card without a list.
fn empty(words: &str) -> AnyView {
    view! {
        <section class="card" id="names">
            <div class="card-head"><h2>"Names that point into it"</h2></div>
            <p class="card-body text-muted">{words.to_string()}</p>
        </section>
    }
    .into_any()
}

fn card(p: &Pointers, here: &str, is_first: bool, now: Timestamp) -> AnyView {
    let rows: Vec<_> = p.pointers.iter().map(|p| row(p, now)).collect();
    let count = match (is_first, &p.next) {
        (true, Some(_)) => format!("first {}", rows.len()),
        (true, None) => rows.len().to_string(),
        (false, Some(_)) => format!("next {}", rows.len()),
        (false, None) => format!("last {}", rows.len()),
    };
    let first =
        (!is_first).then(|| view! { <a class="btn btn-sm" href=format!("{here}#names")>"First names"</a> });
    let more = p.next.as_ref().map(|next| {
        let href = format!("{here}&names={}#names", percent(next));
        view! { <a class="btn btn-sm" href=href>"More names"</a> }
    });
    let pages = (!is_first || p.next.is_some())
        .then(|| view! { <div class="card-body flex items-center gap-2">{first}{more}</div> });
    view! {
        <section class="card tbl-wrap" id="names">
            <div class="card-head"><h2>"Names that point into "<span class="mono">{p.prefix.to_string()}</span></h2><span class="text-muted">{count}</span></div>
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Names, table">
                <table class="tbl tbl-tight">
                    <thead><tr><th scope="col">"Name"</th><th scope="col" class="max-sm:hidden">"Type"</th><th scope="col">"Address"</th><th scope="col">"PTR record"</th><th scope="col" class="max-sm:hidden num">"Seen"</th></tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            {pages}
        </section>
    }
    .into_any()
}

fn row(p: &Pointer, now: Timestamp) -> AnyView {
    let ptr = match &p.ptr {
        Ptr::Agrees => view! { <span>{icon("ok")}" agrees"</span> }.into_any(),
        Ptr::Differs { names } => view! {
            <span class="text-warn">{icon("warning")}" names "<span class="mono">{names.join(", ")}</span></span>
        }
        .into_any(),
        Ptr::Missing => view! { <span class="text-muted">"none"</span> }.into_any(),
        Ptr::NoAnswer => view! { <span class="text-muted">"no answer"</span> }.into_any(),
        Ptr::NotAsked => view! { <span class="text-muted">"not looked up"</span> }.into_any(),
    };
    view! {
        <tr>
            <th scope="row"><a class="mono" href=format!("/domains/{}/dns", p.domain)>{p.name.clone()}</a></th>
            <td class="max-sm:hidden"><span class="rtype">{if p.address.is_ipv4() { "A" } else { "AAAA" }}</span></td>
            <td class="mono">{p.address.to_string()}</td>
            <td class="wrap">{ptr}</td>
            <td class="max-sm:hidden num">{p.seen_at.map(|at| view! { <Ago at=at now=now/> })}</td>
        </tr>
    }
    .into_any()
}
