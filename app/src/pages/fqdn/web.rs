//! Whether the web server of a host is ready, from this server and each point of presence.

use crate::components::tool::waiting;
use crate::resource::late;
use crate::server_fns;
use leptos::prelude::*;
use model::certificate::HttpObservation;
use model::places::Looked;
use model::web_places::{Readiness, WebPlace, readiness};

/// The card. It loads after the page: a host that does not answer takes seconds.
#[component]
pub(super) fn FromPlaces(name: String) -> impl IntoView {
    let data = late(move || server_fns::ask_web(name.clone(), "/".into()));
    let answer = move || {
        data.with(|d| match d {
            Some(Ok(looked)) => card(looked),
            // Roles that may not ask, and the limits of tools: the analysis itself is complete.
            Some(Err(_)) => ().into_any(),
            None => waiting("Asking the web server from each place…"),
        })
    };
    view! {
        <div class="empty:hidden noscript:hidden">{answer}</div>
        <noscript><p class="hint">"With JavaScript, this page also asks the web server of the host from each place."</p></noscript>
    }
    .into_any()
}

fn card(looked: &Looked<WebPlace>) -> AnyView {
    let rows: Vec<_> = looked.places.iter().map(row).collect();
    view! {
        <section class="card tbl-wrap">
            <div class="card-head"><h2>"Web server from each place"</h2><span class="text-muted">{looked.places.len()}</span><div class="aside">"HTTPS and HTTP, redirects followed"</div></div>
            <p class="px-4 py-2 border-b text-sm">{looked.sentence()}</p>
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Responses of the web server from each place">
                <table class="tbl tbl-tight">
                    <thead><tr><th scope="col">"From"</th><th scope="col">"HTTPS"</th><th scope="col">"HTTP"</th><th scope="col" class="num">"Time"</th><th scope="col">"Ends at"</th></tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
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

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;
    use model::certificate::Hop;
    use model::web_places::WebAnswer;

    #[test]
    fn each_place_is_a_row_and_the_sentence_says_where_it_differs() {
        let place = |label: &str, status: Option<u16>| {
            let error = status.is_none().then(|| "can't be reached: connection refused".to_string());
            let hop = Hop { url: "https://www.q7.io/".into(), status, location: None, error };
            let seen = HttpObservation { hops: vec![hop], hsts: None, alt_svc: None };
            let answer = WebAnswer {
                host: "www.q7.io".into(),
                path: "/".into(),
                https: seen.clone(),
                http: seen,
                latency_ms: Some(31.0),
                asked_at: "2026-11-20T14:05:00Z".parse().unwrap(),
            };
            let (id, label) = (label.to_string(), label.to_string());
            WebPlace { id, label, region: String::new(), seen: Some(answer), error: None }
        };
        let places = vec![place("This server", Some(200)), place("fra-1", None)];
        let html = Owner::new().with(|| card(&Looked { places, left_out: 0 }).to_html());
        for words in
            ["200 ready", "connection refused", "31 ms", "ready from This server; not reachable from fra-1"]
        {
            assert!(html.contains(words), "{words}: {html}");
        }
    }
}
