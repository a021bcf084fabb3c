//! How fast each server of the zone answers from each point of presence, asked when a person wants to know: one place
//! can't tell a slow server from a distant one.

use crate::components::banner::failure;
use crate::components::time::millis;
use leptos::prelude::*;
use model::places::{PlacesView, SLOW_MS};
use service::ApiError;
use std::collections::{BTreeMap, BTreeSet};

/// What a place saw of a server: its identifier, and milliseconds.
type Seen = (Option<String>, f64);

/// The card.
pub(super) fn card(seen: Result<PlacesView, ApiError>) -> AnyView {
    let PlacesView { sentence, places } = match seen {
        Ok(view) => view,
        Err(e) => return failure("The places could not be asked", &e),
    };
    if places.len() < 2 {
        return view! {
            <section class="card card-body" id="places" role="status">
                <p>"There is no point of presence that is online, so the servers can be asked from here only. "<a href="/fleet">"Add one"</a>"."</p>
            </section>
        }
        .into_any();
    }
    let heads = places.iter().map(|p| {
        let region = (!p.region.is_empty()).then(|| view! { <small>{p.region.clone()}</small> });
        view! { <th scope="col" class="num"><span class="two"><span class="mono">{p.label.clone()}</span>{region}</span></th> }
    });
    let mut by_server: BTreeMap<String, BTreeMap<usize, Seen>> = BTreeMap::new();
    for (i, p) in places.iter().enumerate() {
        for (server, nsid, ms) in &p.times {
            by_server.entry(server.clone()).or_default().insert(i, (nsid.clone(), *ms));
        }
    }
    let rows: Vec<_> = by_server.iter().map(|(server, seen)| row(server, seen, places.len())).collect();
    let failed = places.iter().filter_map(|p| Some(format!("{}: {}.", p.label, p.error.as_ref()?)));
    let failed: Vec<_> = failed.map(|words| view! { <p class="text-warn">{words}</p> }).collect();
    view! {
        <section class="card tbl-wrap" id="places">
            <div class="card-head"><h2>"From each place"</h2><span class="text-muted">{places.len()}</span><div class="aside">"SOA, uncached, a moment ago"</div></div>
            <div class="card-body"><p role="status">{sentence}</p>{failed}</div>
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Answer time of each server from each place">
                <table class="tbl tbl-tight">
                    <thead><tr><th scope="col">"Server"</th>{heads.collect::<Vec<_>>()}</tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            <div class="card-foot text-xs">"A server that is fast from one place and slow from another stands in one place only. One that identifies itself differently (NSID, RFC 5001) is several machines: anycast."</div>
        </section>
    }
    .into_any()
}

fn row(server: &str, seen: &BTreeMap<usize, Seen>, places: usize) -> AnyView {
    let ids: BTreeSet<&String> = seen.values().filter_map(|(nsid, _)| nsid.as_ref()).collect();
    let anycast = (ids.len() > 1).then(|| view! { <span class="tag">"anycast"</span> });
    let cells = (0..places).map(|i| match seen.get(&i) {
        Some((nsid, ms)) => {
            let class = if *ms >= SLOW_MS { "num text-warn" } else { "num" };
            let id = nsid.clone().map(|id| view! { <small class="mono">{id}</small> });
            view! { <td class=class><span class="two"><span>{millis(*ms)}</span>{id}</span></td> }.into_any()
        }
        None => view! { <td class="num text-muted">"no answer"</td> }.into_any(),
    });
    view! {
        <tr><th scope="row"><span class="flex items-center gap-2"><span class="mono">{server.to_string()}</span>{anycast}</span></th>{cells.collect::<Vec<_>>()}</tr>
    }
    .into_any()
}
