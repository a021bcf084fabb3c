//! What the authoritative servers say from each point of presence, beside this server.

use crate::resource::json_resource;
use crate::server_fns;
use leptos::prelude::*;
use model::places::{PlaceAnswer, PlaceVerdict, place_verdict, places_sentence, server_times};

/// The card; nothing where there is no point of presence.
#[component]
pub(super) fn FromPlaces(name: String, rtype: String) -> impl IntoView {
    let data = json_resource(move || (name.clone(), rtype.clone()), |(n, t)| server_fns::ask_places(n, t));
    view! {
        <Suspense>
            {move || data.get().map(|d| match d {
                Ok(places) if !places.is_empty() => card(&places),
                // The page shows the same failure for the comparison itself.
                _ => ().into_any(),
            })}
        </Suspense>
    }
    .into_any()
}

fn card(places: &[PlaceAnswer]) -> AnyView {
    let rows: Vec<_> = places.iter().flat_map(|p| rows(places, p)).collect();
    view! {
        <section class="card tbl-wrap">
            <div class="card-head"><h2>"From each place"</h2><span class="text-muted">{places.len()}</span><div class="aside">"authoritative servers, uncached"</div></div>
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Answers from each place">
                <table class="tbl tbl-tight">
                    <thead><tr><th scope="col">"From"</th><th scope="col">"Server"</th><th scope="col" class="num">"Answer time"</th><th scope="col">"Answer"</th></tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            <div class="card-foot text-xs">{places_sentence(places)}</div>
        </section>
    }
    .into_any()
}

fn rows(places: &[PlaceAnswer], p: &PlaceAnswer) -> Vec<AnyView> {
    let place = if p.region.is_empty() { p.label.clone() } else { format!("{} · {}", p.label, p.region) };
    let (class, verdict) = match places.first().map(|first| place_verdict(first, p)) {
        Some(PlaceVerdict::Different) => {
            let data = p.authority.iter().flat_map(|a| a.records.iter().map(|r| r.data.clone()));
            ("text-warn", format!("different: {}", data.collect::<Vec<_>>().join(", ")))
        }
        Some(PlaceVerdict::None) => ("text-critical", p.error.clone().unwrap_or_else(|| "no answer".into())),
        _ if p.id == "local" => (
            "",
            p.authority
                .iter()
                .flat_map(|a| a.records.iter().map(|r| r.data.clone()))
                .collect::<Vec<_>>()
                .join(", "),
        ),
        _ => ("", "same".to_string()),
    };
    let times = p.authority.as_ref().map(server_times).unwrap_or_default();
    let one = |server: String, time: String| {
        let (place, verdict) = (place.clone(), verdict.clone());
        view! {
            <tr><th scope="row" class="mono">{place}</th><td class="mono text-muted">{server}</td><td class="num">{time}</td><td class=class>{verdict}</td></tr>
        }
        .into_any()
    };
    if times.is_empty() {
        return vec![one("–".into(), "–".into())];
    }
    times.into_iter().map(|(server, _, ms)| one(server, format!("{ms:.0} ms"))).collect()
}
