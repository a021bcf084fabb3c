//! Errors of RDAP servers (RFC 9083 section 6, RFC 7480 section 5): what they say about the name. In: a status or an
//! error object; out: an outcome. "Not found" makes a name free only when it is the name that was not found.

use super::{list, number};
use model::registration::Outcome;
use serde_json::Value;

/// What an HTTP status (or RDAP `errorCode`) says about the name (RFC 7480 section 5).
pub fn by_http_status(status: u16) -> Outcome {
    match status {
        404 => Outcome::Available,
        429 => Outcome::Throttled,
        401 | 403 | 451 => Outcome::Refused,
        _ => Outcome::Unknown,
    }
}

/// What an error object says, when this is one.
pub(super) fn error(domain: &str, answer: &Value) -> Option<Outcome> {
    let code = answer.get("errorCode")?;
    let code = number(code).and_then(|c| u16::try_from(c).ok()).unwrap_or_default();
    Some(if code == 404 { absent(domain, answer) } else { by_http_status(code) })
}

/// What the body of a 404 says: an RDAP error, or nothing; `None` for what an RDAP server does not send.
pub(crate) fn not_found(domain: &str, body: &[u8]) -> Option<Outcome> {
    let answer = super::value(body).ok()?.0;
    if let Some(outcome) = error(domain, &answer) {
        return Some(outcome);
    }
    let members = answer.as_object()?;
    // A framework's own page for a path it does not know has none of these.
    let of_rdap = ["rdapConformance", "notices", "title", "description", "lang"];
    let is_error = members.is_empty() || of_rdap.iter().any(|m| members.contains_key(*m));
    is_error.then(|| absent(domain, &answer))
}

/// What was not found, in words: the name, unless they say otherwise.
fn absent(domain: &str, error: &Value) -> Outcome {
    let notices = list(error, "notices").chain(list(error, "remarks"));
    let own: Vec<&str> = texts(error).collect();
    let withheld = |s: &&str| crate::whois::says(domain, s) == Some(Outcome::Reserved);
    if own.iter().any(withheld) || notices.flat_map(texts).any(|s| withheld(&s)) {
        Outcome::Reserved
    } else if own.iter().any(|s| is_about_another_thing(domain, s)) {
        Outcome::Unknown
    } else {
        Outcome::Available
    }
}

fn texts(v: &Value) -> impl Iterator<Item = &str> {
    list(v, "title").chain(list(v, "description")).filter_map(Value::as_str)
}

/// True for "the TLD is not supported", "the path was not found", "not registered with this registrar".
fn is_about_another_thing(domain: &str, said: &str) -> bool {
    if crate::whois::says(domain, said) == Some(Outcome::Unknown) {
        return true;
    }
    let said = said.to_ascii_lowercase();
    let is = |words: &[&str]| words.iter().any(|w| said.contains(w));
    let thing = is(&[
        "tld",
        "top level domain",
        "top-level domain",
        "path",
        "endpoint",
        "route",
        "url",
        "uri",
        "page",
        "zone",
    ]);
    let missing = is(&[
        "not supported",
        "unsupported",
        "not found",
        "not served",
        "unknown",
        "not authoritative",
        "no such",
        "does not exist",
    ]);
    thing && missing || is(&["not authoritative for", "not responsible for"])
}
