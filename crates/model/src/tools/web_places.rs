//! What a web server answers when asked from several places. In: the answer seen from each place. Out: whether the host is
//! ready there, and a sentence where places differ.

use super::places::Looked;
use crate::certificate::HttpObservation;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Longest path that is asked for, in octets.
const PATH_MAX: usize = 500;

/// What a host answers over HTTPS and HTTP at one place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WebAnswer {
    /// The host, A-labels.
    pub host: String,
    /// The path that was asked for.
    pub path: String,
    /// Over HTTPS, redirects followed.
    pub https: HttpObservation,
    /// Over HTTP, redirects followed.
    pub http: HttpObservation,
    /// The time of the exchange over HTTPS with its redirects, in milliseconds; nothing without an answer.
    pub latency_ms: Option<f64>,
    /// When it was asked.
    pub asked_at: Timestamp,
}

/// What one place sees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WebPlace {
    /// Identity of the place (`local`, an agent's).
    pub id: String,
    /// Name people see.
    pub label: String,
    /// Where it is.
    pub region: String,
    /// What it sees; `None` where it could not look.
    pub seen: Option<WebAnswer>,
    /// Why it could not look.
    pub error: Option<String>,
}

impl Looked<WebPlace> {
    /// Whether the host is ready, and where it is not.
    pub fn sentence(&self) -> String {
        self.and_left_out(web_sentence(&self.places))
    }
}

/// Whether a host serves over one scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// The last answer has a status of 200 to 299.
    Ready,
    /// It answers with another status, or with a redirect that leads nowhere.
    NotReady,
    /// No answer.
    Unreachable,
}

/// What an observation comes to, with the status or the reason in words.
pub fn readiness(seen: &HttpObservation) -> (Readiness, String) {
    let Some(last) = seen.hops.last() else { return (Readiness::Unreachable, "no answer".into()) };
    match (last.status, &last.error) {
        (None, error) => (Readiness::Unreachable, error.clone().unwrap_or_else(|| "no answer".into())),
        (Some(status), Some(error)) => (Readiness::NotReady, format!("{status}, {error}")),
        (Some(status @ 200..=299), None) => (Readiness::Ready, status.to_string()),
        (Some(status), None) => (Readiness::NotReady, status.to_string()),
    }
}

/// Reads a path to ask for: empty is `/`.
///
/// # Errors
/// Which rule it breaks.
pub fn checked_path(text: &str) -> Result<String, String> {
    let path = text.trim();
    if path.is_empty() {
        return Ok("/".into());
    }
    if !path.starts_with('/') || path.starts_with("//") {
        return Err(format!("The path “{path}” must begin with one slash."));
    }
    if path.len() > PATH_MAX {
        return Err(format!("The path has {} octets; the limit is {PATH_MAX}.", path.len()));
    }
    if !path.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'#' | b'\\')) {
        return Err(format!(
            "The path “{path}” must be ASCII without spaces, # and \\; encode others with %."
        ));
    }
    Ok(path.to_string())
}

/// The URL at which the redirects of an observation end.
fn end(seen: &HttpObservation) -> &str {
    seen.hops.last().map_or("", |h| h.url.as_str())
}

/// What the places come to, in a sentence or two.
fn web_sentence(places: &[WebPlace]) -> String {
    let looked: Vec<(&str, &WebAnswer)> =
        places.iter().filter_map(|p| Some((p.label.as_str(), p.seen.as_ref()?))).collect();
    if looked.is_empty() {
        return "No place could look.".into();
    }
    let mut out = scheme_sentence("HTTPS", &looked, |a| &a.https);
    let plain = scheme_sentence("HTTP", &looked, |a| &a.http);
    if differs(&looked, |a| &a.http) {
        out = format!("{out} {plain}");
    }
    let blind: Vec<_> = places.iter().filter(|p| p.seen.is_none()).map(|p| p.label.as_str()).collect();
    if !blind.is_empty() {
        out.push_str(&format!(" {} could not look.", blind.join(", ")));
    }
    out
}

fn differs(looked: &[(&str, &WebAnswer)], part: fn(&WebAnswer) -> &HttpObservation) -> bool {
    let state = |a: &WebAnswer| {
        let seen = part(a);
        // Reasons differ in addresses and times between places that see the same fault.
        (readiness(seen).0, seen.hops.last().and_then(|h| h.status), end(seen).to_string())
    };
    looked.windows(2).any(|w| state(w[0].1) != state(w[1].1))
}

fn scheme_sentence(
    scheme: &str,
    looked: &[(&str, &WebAnswer)],
    part: fn(&WebAnswer) -> &HttpObservation,
) -> String {
    let of = |wanted: Readiness| -> Vec<(&str, String)> {
        let each = looked.iter().map(|(label, a)| (*label, readiness(part(a))));
        each.filter(|(_, (state, _))| *state == wanted).map(|(label, (_, words))| (label, words)).collect()
    };
    let labels = |list: &[(&str, String)]| list.iter().map(|(l, _)| *l).collect::<Vec<_>>().join(", ");
    let (ready, not, gone) = (of(Readiness::Ready), of(Readiness::NotReady), of(Readiness::Unreachable));
    let everywhere = match looked {
        [_] => "from here".to_string(),
        [_, _] => "from both places".to_string(),
        all => format!("from all {} places", all.len()),
    };
    match (ready.is_empty(), not.is_empty(), gone.is_empty()) {
        (false, true, true) => {
            let ends: Vec<_> = looked.iter().map(|(label, a)| (*label, end(part(a)))).collect();
            match ends.iter().find(|(_, url)| *url != ends[0].1) {
                Some((label, url)) => format!(
                    "Ready over {scheme} {everywhere}; redirects of {label} end at {url}, those of {} at {}.",
                    ends[0].0, ends[0].1
                ),
                None => format!("Ready over {scheme} {everywhere}."),
            }
        }
        (true, true, false) => format!("Not reachable over {scheme} {everywhere}: {}.", gone[0].1),
        (true, false, true) => format!("Not ready over {scheme} {everywhere}: {}.", not[0].1),
        _ => {
            let mut parts = Vec::new();
            if !ready.is_empty() {
                parts.push(format!("ready from {}", labels(&ready)));
            }
            if !not.is_empty() {
                parts.push(format!("not ready from {} ({})", labels(&not), not[0].1));
            }
            if !gone.is_empty() {
                parts.push(format!("not reachable from {} ({})", labels(&gone), gone[0].1));
            }
            let advice = match (ready.is_empty(), gone.is_empty()) {
                (false, false) => " Check routes, firewalls and country filters between there and the host.",
                (false, true) => " Places may be served by different machines.",
                _ => "",
            };
            format!("Over {scheme} {}.{advice}", parts.join("; "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate::Hop;

    fn hop(url: &str, status: Option<u16>, error: &str) -> Hop {
        let error = (!error.is_empty()).then(|| error.to_string());
        Hop { url: url.into(), status, location: None, error }
    }

    fn seen(hop: Hop) -> HttpObservation {
        HttpObservation { hops: vec![hop], hsts: None, alt_svc: None }
    }

    fn place(label: &str, https: Hop) -> WebPlace {
        let answer = WebAnswer {
            host: "www.q7.io".into(),
            path: "/".into(),
            https: seen(https),
            http: seen(hop("http://www.q7.io/", Some(200), "")),
            latency_ms: Some(12.0),
            asked_at: Timestamp::UNIX_EPOCH,
        };
        let (label, region) = (label.to_string(), String::new());
        WebPlace { id: label.clone(), label, region, seen: Some(answer), error: None }
    }

    #[test]
    fn places_that_differ_are_named_in_a_sentence() {
        let ok = |label| place(label, hop("https://www.q7.io/", Some(200), ""));
        let down = |label| place(label, hop("https://www.q7.io/", Some(503), ""));
        let gone = |label| place(label, hop("https://www.q7.io/", None, "no route"));
        assert_eq!(web_sentence(&[ok("here")]), "Ready over HTTPS from here.");
        assert_eq!(web_sentence(&[ok("here"), ok("fra-1")]), "Ready over HTTPS from both places.");
        assert_eq!(
            web_sentence(&[gone("here"), gone("fra-1")]),
            "Not reachable over HTTPS from both places: no route."
        );
        assert_eq!(web_sentence(&[down("here")]), "Not ready over HTTPS from here: 503.");
        let mixed = web_sentence(&[ok("here"), gone("fra-1"), down("gru-1")]);
        assert!(
            mixed
                .contains("ready from here; not ready from gru-1 (503); not reachable from fra-1 (no route)"),
            "{mixed}"
        );
        assert!(mixed.contains("firewalls"), "{mixed}");
        let elsewhere = place("gru-1", hop("https://br.q7.io/", Some(200), ""));
        let text = web_sentence(&[ok("here"), elsewhere]);
        assert!(text.contains("redirects of gru-1 end at https://br.q7.io/"), "{text}");
        let blind = WebPlace { seen: None, error: Some("late".into()), ..ok("sin-1") };
        assert!(web_sentence(&[ok("here"), blind.clone()]).ends_with("sin-1 could not look."));
        assert_eq!(web_sentence(&[blind]), "No place could look.");
        let mut plain = ok("gru-1");
        plain.seen.as_mut().unwrap().http = seen(hop("http://www.q7.io/", None, "refused"));
        let text = web_sentence(&[ok("here"), plain]);
        assert!(text.starts_with("Ready over HTTPS from both places. Over HTTP ready from here"), "{text}");
    }

    #[test]
    fn a_path_is_checked_before_it_is_asked_for() {
        assert_eq!(checked_path(" "), Ok("/".into()));
        assert_eq!(checked_path("/healthz?x=1"), Ok("/healthz?x=1".into()));
        for wrong in [
            "healthz",
            "//evil.example/",
            "/a b",
            "/a\r\nHost: x",
            "/ä",
            "/#x",
            &format!("/{}", "a".repeat(500)),
        ] {
            assert!(checked_path(wrong).unwrap_err().starts_with("The path"), "{wrong}");
        }
    }

    #[test]
    fn a_redirect_without_end_is_not_ready() {
        let state = readiness(&seen(hop("https://a/", Some(302), "it redirects in a circle")));
        assert_eq!(state, (Readiness::NotReady, "302, it redirects in a circle".into()));
        let none = HttpObservation { hops: vec![], hsts: None, alt_svc: None };
        assert_eq!(readiness(&none).0, Readiness::Unreachable);
    }
}
