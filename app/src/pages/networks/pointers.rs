//! The names that point into a prefix, the block that is shown unless another is asked for, and whether their PTR records
//! agree. The list is loaded by itself: reading PTR records takes a moment.

use super::listing;
use crate::components::icon;
use crate::components::pager::grouped;
use crate::components::time::Ago;
use crate::resource::json_resource;
use crate::server_fns::{self, Named, Networks};
use leptos::prelude::*;
use model::Timestamp;
use model::inventory::percent;
use model::time::human_day;
use service::addresses::{Pointer, Pointers, Ptr};

/// The card of a prefix: who holds it, a field for another one, and the first names, or those after a place in the list.
/// `into` is what the field says.
pub(super) fn card(n: &Networks, named: &Named, (shown, into): (&str, &str), after: String) -> AnyView {
    let listed = listing(shown, &n.search, n.state);
    let here = match into {
        "" => format!("/networks{listed}"),
        into => {
            format!("/networks{listed}{}into={}", if listed.is_empty() { '?' } else { '&' }, percent(into))
        }
    };
    let claimed = match (&named.claim, named.claims) {
        (Some((claim, since)), _) => {
            let href = format!("/networks?q={}", percent(claim));
            let day = human_day(*since);
            view! { "Claimed by "<a class="underline" href=href>{claim.clone()}</a>{format!(", allocated {day}")} }.into_any()
        }
        (None, 0) => "No claim covers it".into_any(),
        (None, 1) => "1 claimed prefix in it".into_any(),
        (None, count) => format!("{} claimed prefixes in it", grouped(count as u64)).into_any(),
    };
    let state = n.state.map(|s| view! { <input type="hidden" name="state" value=s.as_str()/> });
    let search =
        (!n.search.is_empty()).then(|| view! { <input type="hidden" name="q" value=n.search.clone()/> });
    let (prefix, now) = (named.prefix.clone(), n.now);
    view! {
        <section class="card tbl-wrap" id="names">
            <div class="card-head"><h2>"Names that point into "<span class="mono">{named.prefix.clone()}</span></h2></div>
            <div class="toolbar px-4 py-3" role="search" aria-label="Names by prefix or address">
                <form class="flex items-center gap-2" method="get" action="/networks#names">
                    <input type="hidden" name="block" value=shown.to_string()/>{search}{state}
                    <div class="search">{icon("search")}
                        <input class="input mono" type="search" name="into" value=named.prefix.clone() maxlength="60" aria-label="Prefix or address"
                            autocomplete="off" spellcheck="false" autocapitalize="off"/></div>
                    <button class="btn btn-sm" type="submit">"Show names"</button>
                </form>
                <span class="text-xs text-muted">{claimed}</span>
            </div>
            <Names prefix=prefix here=here after=after now=now/>
        </section>
    }
    .into_any()
}

/// The list. `here` is the address of the page without the place in it.
#[component]
fn Names(prefix: String, here: String, after: String, now: Timestamp) -> impl IntoView {
    let is_first = after.is_empty();
    let place = (prefix, after);
    let data = json_resource(move || place.clone(), |(block, after)| server_fns::pointing(block, after));
    view! {
        <Suspense fallback=|| empty("Looking for names, and for their PTR records…")>
            {move || data.get().map(|found| match found {
                Ok(p) if p.pointers.is_empty() && is_first => empty("No name of the inventory points into it."),
                Ok(p) => list(&p, &here, is_first, now),
                Err(e) => empty(&e.to_string()),
            })}
        </Suspense>
    }
    .into_any()
}

fn empty(words: &str) -> AnyView {
    view! { <p class="card-body text-muted">{words.to_string()}</p> }.into_any()
}

fn list(p: &Pointers, here: &str, is_first: bool, now: Timestamp) -> AnyView {
    let rows: Vec<_> = p.pointers.iter().map(|p| row(p, now)).collect();
    let which = match (is_first, &p.next) {
        (true, Some(_)) => "first ",
        (true, None) => "",
        (false, Some(_)) => "next ",
        (false, None) => "last ",
    };
    let count = format!("{which}{} {}", rows.len(), if rows.len() == 1 { "name" } else { "names" });
    let first =
        (!is_first).then(|| view! { <a class="btn btn-sm" href=format!("{here}#names")>"First names"</a> });
    let more = p.next.as_ref().map(|next| {
        let href = format!("{here}&names={}#names", percent(next));
        view! { <a class="btn btn-sm" href=href>"More names"</a> }
    });
    view! {
        <div class="tbl-scroll" tabindex="0" role="region" aria-label="Names, table">
            <table class="tbl tbl-tight">
                <thead><tr><th scope="col">"Name"</th><th scope="col" class="max-sm:hidden">"Type"</th><th scope="col">"Address"</th><th scope="col">"PTR record"</th><th scope="col" class="max-sm:hidden num">"Seen"</th></tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
        <div class="card-body flex items-center gap-2"><span class="text-xs text-muted">{count}</span>{first}{more}</div>
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
        Ptr::Missing => view! { <span class="text-muted">"none set"</span> }.into_any(),
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
