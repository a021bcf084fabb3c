//! RDAP answers (RFC 9083): JSON in, [`RdapReading`] out. Walks the JSON instead of deserialising a fixed shape, since
//! servers differ: trailing dots, upper case, strings for numbers, one object where a list belongs, entities nested
//! anywhere. Status words are mapped by RFC 8056, redaction is read by RFC 9537. Pure: no I/O, no clock.

mod card;
mod clean;
mod entity;
mod secure;

use crate::whois::{host_name, read_date, read_statuses};
use model::registration::{Outcome, Registration};
use model::time::StatedTime;
use serde_json::Value;
use std::collections::BTreeSet;

/// What an RDAP answer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RdapReading {
    /// What asking about the name came to.
    pub outcome: Outcome,
    /// What the answer states; empty unless `outcome` is `Registered`.
    pub registration: Registration,
    /// What was odd, for people.
    pub warnings: Vec<String>,
}

impl RdapReading {
    fn nothing(outcome: Outcome, warning: Option<String>) -> Self {
        RdapReading {
            outcome,
            registration: Registration::default(),
            warnings: warning.into_iter().collect(),
        }
    }
}

/// Reads the body of an RDAP answer about `domain`. An error object (RFC 9083 section 6) is understood as well.
pub fn parse_rdap(domain: &str, body: &[u8]) -> RdapReading {
    if body.len() > crate::whois::MAX_TEXT {
        return RdapReading::nothing(Outcome::Unknown, Some("the answer is larger than 1 MiB".into()));
    }
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    match serde_json::from_slice::<Value>(body) {
        Ok(v) => read_rdap(domain, &v),
        Err(e) => RdapReading::nothing(Outcome::Unknown, Some(format!("the answer is not JSON: {e}"))),
    }
}

/// Reads an RDAP answer that is parsed already.
pub fn read_rdap(domain: &str, answer: &Value) -> RdapReading {
    let cleaned = clean::clean(answer);
    let answer = cleaned.as_ref();
    // Some servers wrap the object in a list of one.
    let answer = match answer.as_array() {
        Some(list) if list.len() == 1 => &list[0],
        _ => answer,
    };
    if let Some(code) = answer.get("errorCode").and_then(number) {
        let code = u16::try_from(code).unwrap_or(0);
        let outcome = if code == 404 { absent(domain, answer) } else { by_http_status(code) };
        return RdapReading::nothing(outcome, text(answer, "title").map(str::to_string));
    }
    let name = text(answer, "ldhName").or_else(|| text(answer, "unicodeName"));
    let class = text(answer, "objectClassName").unwrap_or_default();
    let is_domain = class.eq_ignore_ascii_case("domain") || (class.is_empty() && name.is_some());
    if !is_domain {
        return RdapReading::nothing(Outcome::Unknown, Some("the answer is not about a domain".into()));
    }
    let mut warnings = Vec::new();
    let asked = crate::whois::ascii(domain.trim().trim_matches('.'));
    let stated = name.map(|n| crate::whois::ascii(n.trim().trim_end_matches('.')));
    if let Some(s) = stated.as_ref().filter(|s| **s != asked) {
        warnings.push(format!("the answer names “{}”, not the name asked for", cut(s)));
        let other_name = answer.get("unicodeName").is_none();
        if other_name {
            return RdapReading::nothing(Outcome::Unknown, warnings.pop());
        }
    }
    let statuses = statuses(answer);
    let mut r = Registration {
        name: Some(asked),
        registry_id: text(answer, "handle").map(str::to_string),
        created: event(answer, "registration", &mut warnings),
        updated: event(answer, "last changed", &mut warnings),
        expires: event(answer, "expiration", &mut warnings),
        registrar_expires: event(answer, "registrar expiration", &mut warnings),
        nameservers: nameservers(answer),
        dnssec: secure::dnssec(answer, &mut warnings),
        registrar_rdap: related(answer),
        redacted: redacted(answer).then_some(true),
        statuses,
        ..Registration::default()
    };
    entity::read(answer, &mut r);
    let reserved = r.statuses.iter().flatten().any(|s| s.as_str().eq_ignore_ascii_case("reserved"));
    if reserved && r.created.is_none() && r.registrar.is_empty() {
        return RdapReading { outcome: Outcome::Reserved, registration: Registration::default(), warnings };
    }
    RdapReading { outcome: Outcome::Registered, registration: r, warnings }
}

/// What an HTTP status (or RDAP `errorCode`) says about the name (RFC 7480 section 5).
pub fn by_http_status(status: u16) -> Outcome {
    match status {
        404 => Outcome::Available,
        429 => Outcome::Throttled,
        401 | 403 | 451 => Outcome::Refused,
        _ => Outcome::Unknown,
    }
}

/// What a 404 with this body says: free, unless its words say that the registry withholds the name.
pub(crate) fn not_found(domain: &str, body: &[u8]) -> Outcome {
    serde_json::from_slice::<Value>(body).map_or(Outcome::Available, |v| absent(domain, &v))
}

fn absent(domain: &str, error: &Value) -> Outcome {
    let notices = list(error, "notices").chain(list(error, "remarks"));
    let said: Vec<&str> = std::iter::once(error)
        .chain(notices)
        .flat_map(|v| list(v, "title").chain(list(v, "description")))
        .filter_map(Value::as_str)
        .collect();
    let withheld = said.iter().any(|s| crate::whois::says(domain, s) == Some(Outcome::Reserved));
    if withheld { Outcome::Reserved } else { Outcome::Available }
}

fn cut(s: &str) -> String {
    s.chars().take(80).collect()
}

/// A member that is a text that says something.
fn text<'a>(v: &'a Value, member: &str) -> Option<&'a str> {
    v.get(member).and_then(Value::as_str).and_then(crate::whois::stated)
}

/// A member's elements; one object or text stands for a list of one.
fn list<'a>(v: &'a Value, member: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    let it = match v.get(member) {
        Some(Value::Array(a)) => a.as_slice(),
        Some(Value::Null) | None => &[],
        Some(one) => std::slice::from_ref(one),
    };
    it.iter().take(1000)
}

/// A number, also when written as a text.
fn number(v: &Value) -> Option<u64> {
    v.as_u64().or_else(|| v.as_str().and_then(|s| s.trim().parse().ok()))
}

fn statuses(answer: &Value) -> Option<BTreeSet<model::epp::EppStatus>> {
    answer.get("status").filter(|s| !s.is_null())?;
    let mut set = BTreeSet::new();
    for s in list(answer, "status").filter_map(Value::as_str) {
        set.extend(read_statuses(s));
    }
    Some(set)
}

fn event(answer: &Value, action: &str, warnings: &mut Vec<String>) -> Option<StatedTime> {
    let is = |e: &&Value| {
        e.get("eventAction").and_then(Value::as_str).is_some_and(|a| {
            let plain: String = a.chars().filter(char::is_ascii_alphabetic).collect();
            plain.eq_ignore_ascii_case(&action.replace(' ', ""))
        })
    };
    for e in list(answer, "events").filter(is) {
        let Some(date) = e.get("eventDate").and_then(Value::as_str) else { continue };
        match read_date(date) {
            Some(t) => return Some(t),
            None => warnings.push(format!("“{}” of {action} is not a date", cut(date))),
        }
    }
    None
}

fn nameservers(answer: &Value) -> Option<Vec<String>> {
    answer.get("nameservers").filter(|n| !n.is_null())?;
    let mut hosts: Vec<String> = list(answer, "nameservers")
        .filter_map(|n| n.as_str().or_else(|| text(n, "ldhName")).or_else(|| text(n, "unicodeName")))
        .filter_map(host_name)
        .collect();
    hosts.sort();
    hosts.dedup();
    Some(hosts)
}

/// The registrar's own RDAP address of this name: a `related` link that leads to another server's domain object.
fn related(answer: &Value) -> Option<String> {
    let own = list(answer, "links")
        .find(|l| rel(l).eq_ignore_ascii_case("self"))
        .and_then(|l| text(l, "href"))
        .map(str::to_string);
    list(answer, "links")
        .filter(|l| rel(l).eq_ignore_ascii_case("related"))
        .filter_map(|l| Some((l, text(l, "href")?)))
        .filter(|(l, href)| {
            let media = text(l, "type").unwrap_or_default();
            media.eq_ignore_ascii_case("application/rdap+json")
                || href.to_ascii_lowercase().contains("/domain/")
        })
        .map(|(_, href)| href.to_string())
        .find(|href| href.starts_with("http") && own.as_deref() != Some(href.as_str()))
}

fn rel(link: &Value) -> &str {
    link.get("rel").and_then(Value::as_str).unwrap_or_default()
}

/// RFC 9537, or the remarks that servers used before it.
fn redacted(answer: &Value) -> bool {
    if list(answer, "redacted").next().is_some() {
        return true;
    }
    let remark = |v: &Value| {
        list(v, "remarks").any(|r| {
            let said = |m| text(r, m).unwrap_or_default().to_ascii_lowercase();
            said("title").contains("redacted") || said("type").contains("redacted")
        })
    };
    remark(answer) || list(answer, "entities").any(remark)
}

#[cfg(test)]
mod tests;
