//! Whether the web server of a host is ready, from this server and each point of presence.

use crate::components::tool::waiting;
use crate::resource::json_resource;
use crate::server_fns;
use leptos::prelude::*;
use model::certificate::HttpObservation;
use model::web_places::{Readiness, WebPlace, readiness, web_sentence};

/// The card.
#[component]
pub(super) fn FromPlaces(name: String) -> impl IntoView {
    let data = json_resource(move || name.clone(), |name| server_fns::ask_web(name, "/".into()));
    view! {
        <Suspense fallback=|| waiting("Asking the web server from each place…")>
            {move || data.get().map(|d| match d {
                Ok(places) => card(&places),
                // Roles that may not ask, and the limits of tools: the analysis itself is complete.
                Err(_) => ().into_any(),
            })}
        </Suspense>
    }
    .into_any()
}

fn card(places: &[WebPlace]) -> AnyView {
    let rows: Vec<_> = places.iter().map(row).collect();
    view! {
        <section class="card tbl-wrap">
            <div class="card-head"><h2>"Web server from each place"</h2><span class="text-muted">{places.len()}</span><div class="aside">"HTTPS and HTTP, redirects followed"</div></div>
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Responses of the web server from each place">
                <table class="tbl tbl-tight">
                    <thead><tr><th scope="col">"From"</th><th scope="col">"HTTPS"</th><th scope="col">"HTTP"</th><th scope="col" class="num">"Time"</th><th scope="col">"Ends at"</th></tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            <div class="card-foot text-xs">{web_sentence(places)}</div>
        </section>
    }
    .into_any()
}

fn row(p: &WebPlace) -> AnyView {
    let place = if p.region.is_empty() { p.label.clone() } else { format!("{} · {}", p.label, p.region) };
    let Some(seen) = &p.seen else {
        let why = p.error.clone().unwrap_or_else(|| "no answer".into());
        return view! { <tr><th scope="row" class="mono">{place}</th><td class="text-muted" colspan="4">{why}</td></tr> }
            .into_any();
    };
    let time = seen.latency_ms.map_or_else(|| "–".to_string(), |ms| format!("{ms:.0} ms"));
    let end = seen.https.hops.last().filter(|h| h.status.is_some()).map_or("–", |h| h.url.as_str());
    view! {
        <tr><th scope="row" class="mono">{place}</th>{cell(&seen.https)}{cell(&seen.http)}<td class="num">{time}</td><td class="mono text-muted wrap">{end.to_string()}</td></tr>
    }
    .into_any()
}

fn cell(seen: &HttpObservation) -> AnyView {
    let (state, words) = readiness(seen);
    let (class, words) = match state {
        Readiness::Ready => ("", format!("{words} ready")),
        Readiness::NotReady => ("text-warn", format!("{words} not ready")),
        Readiness::Unreachable => ("text-critical", words),
    };
    view! { <td class=class>{words}</td> }.into_any()
}
