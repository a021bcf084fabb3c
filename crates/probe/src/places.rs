//! What a host answers over HTTPS and HTTP, as points of presence look at it: nothing but the two requests and their
//! redirects.

use crate::http::follow;
use jiff::Timestamp;
use model::certificate::HttpObservation;
use model::web_places::WebAnswer;
use net::Dialer;
use std::time::Instant;

/// Longest text of an answer that is kept, in characters.
const TEXT: usize = 1_000;

fn clean(text: &mut String) {
    if text.chars().count() > TEXT || text.chars().any(char::is_control) {
        *text = text.chars().filter(|c| !c.is_control()).take(TEXT).collect();
    }
}

fn cleaned(mut seen: HttpObservation) -> HttpObservation {
    for hop in &mut seen.hops {
        clean(&mut hop.url);
        [&mut hop.location, &mut hop.error].into_iter().flatten().for_each(clean);
    }
    [&mut seen.hsts, &mut seen.alt_svc].into_iter().flatten().for_each(clean);
    seen
}

/// What `host` (A-labels, no final dot) answers at a path over HTTPS and HTTP. What fails is part of the result.
pub async fn web_answer(dialer: &Dialer, host: &str, path: &str, now: Timestamp) -> WebAnswer {
    let (secure, plain) = (format!("https://{host}{path}"), format!("http://{host}{path}"));
    let began = Instant::now();
    let timed = async {
        let seen = follow(dialer, &secure).await.0;
        (seen, began.elapsed().as_secs_f64() * 1000.0)
    };
    let ((https, took), (http, _)) = futures::join!(timed, follow(dialer, &plain));
    let has_answer = https.hops.last().is_some_and(|h| h.status.is_some());
    WebAnswer {
        host: host.to_string(),
        path: path.to_string(),
        https: cleaned(https),
        http: cleaned(http),
        latency_ms: has_answer.then_some(took),
        asked_at: now,
    }
}
