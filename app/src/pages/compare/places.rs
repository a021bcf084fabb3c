//! What the authoritative servers say from each point of presence, beside this server, and what resolvers have cached there.

use crate::resource::json_resource;
use crate::server_fns;
use leptos::prelude::*;
use model::places::{CachesView, PlaceVerdict, PlaceView, PlacesView, SLOW_MS};

/// Resolvers that are named at a place.
const DIFFERENT_MAX: usize = 6;

/// The card; nothing where there is no point of presence.
#[component]
pub(super) fn FromPlaces(name: String, rtype: String) -> impl IntoView {
    let data = json_resource(move || (name.clone(), rtype.clone()), |(n, t)| server_fns::ask_places(n, t));
    view! {
        <Suspense>
            {move || data.get().map(|d| match d {
                Ok(view) if !view.places.is_empty() => card(view),
                // The page shows the same failure for the comparison itself.
                _ => ().into_any(),
            })}
        </Suspense>
    }
    .into_any()
}

fn card(view: PlacesView) -> AnyView {
    let PlacesView { sentence, places } = view;
    let rows: Vec<_> = places.iter().enumerate().flat_map(|(i, p)| rows(p, i == 0)).collect();
    view! {
        <section class="card tbl-wrap" id="places">
            <div class="card-head"><h2>"From each place"</h2><span class="text-muted">{places.len()}</span><div class="aside">"authoritative servers, uncached"</div></div>
            <p class="px-4 py-2 border-b text-sm">{sentence}</p>
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Answers from each place">
                <table class="tbl tbl-tight">
                    <thead><tr><th scope="col">"From"</th><th scope="col">"Server"</th><th scope="col" class="num">"Answer time"</th><th scope="col">"Answer"</th></tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            {caches(&places)}
        </section>
    }
    .into_any()
}

/// What the resolvers have cached at each place; nothing where none was asked there.
fn caches(places: &[PlaceView]) -> Option<AnyView> {
    let rows: Vec<_> = places.iter().filter_map(|p| Some(at_place(p, p.caches.as_ref()?))).collect();
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

fn at_place(p: &PlaceView, caches: &CachesView) -> AnyView {
    let (answered, failed) = caches.answered;
    let agree = answered - caches.differ.len().min(answered);
    let words = match (answered, failed) {
        (0, _) => "none answered".to_string(),
        (n, 0) => format!("{agree} of {n} have the same"),
        (n, f) => format!("{agree} of {n} have the same, {f} gave no answer"),
    };
    let shown = caches.differ.iter().take(DIFFERENT_MAX).map(|(name, has, short)| {
        let short = (!short.is_empty()).then(|| format!(" ({short})"));
        view! { <div>{name.clone()}": "<span class="mono wrap">{has.clone()}</span>{short}</div> }
    });
    let more = caches.differ.len().saturating_sub(DIFFERENT_MAX);
    let more = (more > 0).then(|| view! { <div class="text-muted">{format!("and {more} more")}</div> });
    let none = caches.differ.is_empty().then(|| view! { <span class="text-muted">"none"</span> });
    let class = if caches.differ.is_empty() { "" } else { "text-warn" };
    view! {
        <tr><th scope="row" class="mono">{place_label(p)}</th><td>{words}</td><td class=class>{shown.collect::<Vec<_>>()}{more}{none}</td></tr>
    }
    .into_any()
}

fn place_label(p: &PlaceView) -> String {
    if p.region.is_empty() { p.label.clone() } else { format!("{} · {}", p.label, p.region) }
}

fn rows(p: &PlaceView, is_first: bool) -> Vec<AnyView> {
    let place = place_label(p);
    let (class, verdict) = match p.verdict {
        PlaceVerdict::Different => ("text-warn", format!("different: {}", p.data.join(", "))),
        PlaceVerdict::None => ("text-critical", p.error.clone().unwrap_or_else(|| "no answer".into())),
        PlaceVerdict::Same if is_first => ("", p.data.join(", ")),
        PlaceVerdict::Same => ("", "same".to_string()),
    };
    let one = |server: String, id: Option<String>, time: Option<f64>| {
        let (place, verdict) = (place.clone(), verdict.clone());
        let id = id.map(|id| view! { <small>{id}</small> });
        let class_of = if time.is_some_and(|ms| ms >= SLOW_MS) { "num text-warn" } else { "num" };
        let time = time.map_or_else(|| "–".to_string(), |ms| format!("{ms:.0} ms"));
        view! {
            <tr><th scope="row" class="mono">{place}</th><td class="mono text-muted"><span class="two"><span>{server}</span>{id}</span></td><td class=class_of>{time}</td><td class=class>{verdict}</td></tr>
        }
        .into_any()
    };
    if p.times.is_empty() {
        return vec![one("–".into(), None, None)];
    }
    p.times.iter().map(|(server, id, ms)| one(server.clone(), id.clone(), Some(*ms))).collect()
}
