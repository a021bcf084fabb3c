//! What the authoritative servers say from each point of presence, beside this server.

use crate::resource::json_resource;
use crate::server_fns;
use leptos::prelude::*;
use model::compare::Judged;
use model::places::{PlaceAnswer, PlaceVerdict, caches_at, place_verdict, places_sentence, server_times};

/// Resolvers that are named at a place.
const DIFFERENT_MAX: usize = 6;

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
            {caches(places)}
            <div class="card-foot text-xs">{places_sentence(places)}</div>
        </section>
    }
    .into_any()
}

/// What the resolvers have cached at each place; nothing where none was asked there.
fn caches(places: &[PlaceAnswer]) -> Option<AnyView> {
    let rows: Vec<_> = places.iter().filter_map(|p| Some(at_place(p, caches_at(p)?))).collect();
    (!rows.is_empty()).then(|| {
        view! {
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Caches at each place">
                <table class="tbl tbl-tight">
                    <thead><tr><th scope="col">"From"</th><th scope="col">"Resolvers asked there"</th><th scope="col">"Another answer"</th></tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        }
        .into_any()
    })
}

fn at_place(p: &PlaceAnswer, (answered, differ): (usize, Vec<&Judged>)) -> AnyView {
    let agree = answered - differ.len();
    let failed = p.caches.as_ref().map_or(0, Vec::len) - answered;
    let words = match (answered, failed) {
        (0, _) => "none answered".to_string(),
        (n, 0) => format!("{agree} of {n} have the same"),
        (n, f) => format!("{agree} of {n} have the same, {f} gave no answer"),
    };
    let shown = differ.iter().take(DIFFERENT_MAX).map(|j| {
        let short = (!j.short.is_empty()).then(|| format!(" ({})", j.short));
        view! { <div>{j.resolver.name.clone()}": "<span class="mono wrap">{j.shows.clone()}</span>{short}</div> }
    });
    let more = differ.len().saturating_sub(DIFFERENT_MAX);
    let more = (more > 0).then(|| view! { <div class="text-muted">{format!("and {more} more")}</div> });
    let none = differ.is_empty().then(|| view! { <span class="text-muted">"none"</span> });
    let class = if differ.is_empty() { "" } else { "text-warn" };
    view! {
        <tr><th scope="row" class="mono">{place_label(p)}</th><td>{words}</td><td class=class>{shown.collect::<Vec<_>>()}{more}{none}</td></tr>
    }
    .into_any()
}

fn place_label(p: &PlaceAnswer) -> String {
    if p.region.is_empty() { p.label.clone() } else { format!("{} · {}", p.label, p.region) }
}

fn rows(places: &[PlaceAnswer], p: &PlaceAnswer) -> Vec<AnyView> {
    let place = place_label(p);
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
