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
    // A framework's own page for a path it does not know has none of these, or is a "problem" (RFC 9457).
    let of_rdap = ["rdapConformance", "notices", "title", "description", "lang"];
    let of_a_framework = ["status", "detail", "instance", "path", "timestamp"];
    let has = |names: &[&str]| names.iter().any(|m| members.contains_key(*m));
    let is_error = members.is_empty()
        || members.contains_key("rdapConformance")
        || has(&of_rdap) && !has(&of_a_framework);
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
    let said = words(domain, said);
    let is = |words: &[&str]| words.iter().any(|w| said.contains(&format!(" {w} ")));
    let thing = is(&[
        "tld",
        "tlds",
        "top level domain",
        "path",
        "endpoint",
        "route",
        "url",
        "uri",
        "page",
        "zone",
        "zones",
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

/// The words of a text in lower case, a blank around each, without the asked name: that holds words of its own
/// (`zone.example`, `tourism.example`).
fn words(domain: &str, said: &str) -> String {
    let asked = crate::whois::ascii(domain.trim().trim_matches('.'));
    let mut out = String::from(" ");
    let within = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    for token in said.split(|c: char| c.is_ascii() && !within(c) || "“”„«»‘’。".contains(c)) {
        let token = token.trim_matches('.');
        if token.is_empty() || crate::whois::ascii(token) == asked {
            continue;
        }
        for word in token.split(['.', '-', '_']).filter(|w| !w.is_empty()) {
            out.push_str(&word.to_lowercase());
            out.push(' ');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_asked_name_is_no_word_of_the_sentence() {
        let said = |domain: &str, text: &str| {
            error(domain, &json!({"errorCode": 404, "title": "Not Found", "description": [text]}))
        };
        for (domain, text) in [
            ("tourism.example", "Domain tourism.example not found"),
            ("homepage.example", "The domain 'HOMEPAGE.EXAMPLE.' does not exist"),
            ("zone.example", "zone.example: not found"),
            ("url.example", "Object (url.example) not found."),
            ("xn---page-fra.example", "Domain “ä-page.example” not found"),
            ("zone-ä.example", "Domain zone-ä.example not found"),
            ("zone-ä.example", "Domain XN--ZONE--KRA.EXAMPLE not found"),
            ("quarry.example", "The domain was not found in our psychopathology of names"),
        ] {
            assert_eq!(said(domain, text), Some(Outcome::Available), "{domain}: {text}");
        }
        for text in [
            "The page was not found",
            "TLD not supported: zone.example",
            "Unknown top-level domain",
            "The requested URL /domain/zone.example was not found on this server.",
            "No such path: /rdap/domain/zone.example",
            "Zone 'example' not found",
        ] {
            assert_eq!(said("zone.example", text), Some(Outcome::Unknown), "{text}");
        }
    }

    #[test]
    fn a_frameworks_problem_is_no_answer_about_a_name() {
        let problem = json!({"type": "about:blank", "title": "Not Found", "status": 404,
            "detail": "No static resource domain/a.test.", "instance": "/domain/a.test"});
        assert_eq!(not_found("a.test", problem.to_string().as_bytes()), None);
        let rdap = json!({"rdapConformance": ["rdap_level_0"], "title": "Not Found"});
        assert_eq!(not_found("a.test", rdap.to_string().as_bytes()), Some(Outcome::Available));
    }
}
