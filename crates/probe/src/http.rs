//! HTTP requests of a probe: each hop through the guard, at most five redirects, bodies cut off at a cap.

use model::certificate::{Hop, HttpObservation};
use net::{Dialer, REDIRECTS};
use url::Url;

/// Octets of a page that are read: an unclaimed platform says so at the beginning.
const BODY: usize = 64 << 10;
/// Longest header field that is kept, in characters.
const FIELD: usize = 500;

fn hop(url: &str) -> Hop {
    Hop { url: url.to_string(), status: None, location: None, error: None }
}

/// Asks once; a redirect is an answer.
pub(crate) async fn once(dialer: &Dialer, url: &str) -> Hop {
    ask(dialer, url).await.0
}

async fn ask(dialer: &Dialer, url: &str) -> (Hop, Option<net::HttpAnswer>) {
    let mut hop = hop(url);
    let parsed = match Url::parse(url) {
        Ok(parsed) => parsed,
        Err(e) => {
            hop.error = Some(format!("the URL is not usable: {e}"));
            return (hop, None);
        }
    };
    match dialer.http_get_start(&parsed, "text/html, */*;q=0.5", BODY).await {
        Ok(answer) => {
            hop.status = Some(answer.status);
            (hop, Some(answer))
        }
        Err(e) => {
            hop.error = Some(e.to_string());
            (hop, None)
        }
    }
}

/// Asks a URL and follows its redirects; the page of the first answer beside what was observed.
pub(crate) async fn follow(dialer: &Dialer, start: &str) -> (HttpObservation, Option<String>) {
    let mut seen = HttpObservation { hops: Vec::new(), hsts: None, alt_svc: None };
    let (mut page, mut url) = (None, start.to_string());
    loop {
        let (mut hop, answer) = ask(dialer, &url).await;
        let Some(answer) = answer else {
            seen.hops.push(hop);
            return (seen, page);
        };
        if seen.hops.is_empty() {
            let field = |name| answer.header(name).map(|v: &str| v.chars().take(FIELD).collect::<String>());
            (seen.hsts, seen.alt_svc) = (field("strict-transport-security"), field("alt-svc"));
            page = Some(String::from_utf8_lossy(&answer.body).into_owned());
        }
        let (301 | 302 | 303 | 307 | 308, Some(location)) = (answer.status, answer.header("location")) else {
            seen.hops.push(hop);
            return (seen, page);
        };
        let next = answer.final_url.join(location);
        hop.location =
            Some(next.as_ref().map_or_else(|_| location.chars().take(FIELD).collect(), Url::to_string));
        hop.error = match &next {
            Err(e) => Some(format!("the redirect is not a URL: {e}")),
            Ok(to) if answer.final_url.scheme() == "https" && to.scheme() != "https" => {
                Some(format!("it redirects from https to {}", to.scheme()))
            }
            Ok(to) if seen.hops.iter().any(|h| h.url == to.as_str()) || to.as_str() == url => {
                Some("it redirects in a circle".to_string())
            }
            Ok(_) if seen.hops.len() >= REDIRECTS => Some(format!("more than {REDIRECTS} redirects")),
            Ok(_) => None,
        };
        let stop = hop.error.is_some();
        seen.hops.push(hop);
        match next {
            Ok(to) if !stop => url = to.to_string(),
            _ => return (seen, page),
        }
    }
}
