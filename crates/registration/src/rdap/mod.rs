//! RDAP answers (RFC 9083): JSON in, [`RdapReading`] out. Walks the JSON instead of deserialising a fixed shape, since
//! servers differ: trailing dots, upper case, strings for numbers, one object where a list belongs, entities nested
//! anywhere. Status words are mapped by RFC 8056, redaction is read by RFC 9537. Pure: no I/O, no clock.

mod absent;
mod card;
mod clean;
mod entity;
mod events;
mod secure;

pub use absent::by_http_status;
pub(crate) use absent::not_found;

use crate::whois::{host_name, read_statuses};
use events::Action;
use model::registration::{Outcome, Registration};
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
    match value(body) {
        Ok((v, whole)) => {
            let mut reading = read_rdap(domain, &v);
            if !whole {
                reading.warnings.push("something follows the answer's object; it is not read".into());
            }
            reading
        }
        Err(e) => RdapReading::nothing(Outcome::Unknown, Some(format!("the answer is not JSON: {e}"))),
    }
}

/// The JSON value of a body, and whether that is all of it: servers put a mark before it, proxies a comment behind it.
/// Texts in another encoding than UTF-8 lose their letters, not the answer.
fn value(body: &[u8]) -> Result<(Value, bool), serde_json::Error> {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let text = String::from_utf8_lossy(body);
    let mut all = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    let first = all.next().unwrap_or_else(|| serde_json::from_str(""))?;
    let rest = text.get(all.byte_offset()..).unwrap_or_default();
    // What only begins like an answer (`404 page not found`) is none.
    if !first.is_object() && !first.is_array() {
        return serde_json::from_str(&text).map(|v| (v, true));
    }
    Ok((first, rest.trim().is_empty()))
}

/// Reads an RDAP answer that is parsed already.
pub fn read_rdap(domain: &str, answer: &Value) -> RdapReading {
    let cleaned = clean::clean(answer);
    let asked = crate::whois::ascii(domain.trim().trim_matches('.'));
    let answer = unwrapped(cleaned.as_ref(), &asked);
    if let Some(outcome) = absent::error(domain, answer) {
        return RdapReading::nothing(outcome, text(answer, "title").map(str::to_string));
    }
    let name = text(answer, "ldhName").or_else(|| text(answer, "unicodeName"));
    let class = text(answer, "objectClassName").unwrap_or_default();
    let is_domain = class.eq_ignore_ascii_case("domain") || (class.is_empty() && name.is_some());
    if !is_domain {
        return RdapReading::nothing(Outcome::Unknown, Some("the answer is not about a domain".into()));
    }
    let mut warnings = Vec::new();
    if let Some(name) = name.filter(|_| !is_named(answer, &asked)) {
        let odd = format!("the answer names “{}”, not the name asked for", cut(name));
        if !is_registered_variant(answer, &asked) {
            return RdapReading::nothing(Outcome::Unknown, Some(odd));
        }
        warnings.push(format!("{odd}, which is a variant of it"));
    }
    let statuses = statuses(answer);
    let mut r = Registration {
        registry_id: text(answer, "handle").map(str::to_string),
        created: events::date(answer, Action::Registration, &mut warnings),
        updated: events::date(answer, Action::LastChanged, &mut warnings),
        expires: events::date(answer, Action::Expiration, &mut warnings),
        registrar_expires: events::date(answer, Action::RegistrarExpiration, &mut warnings),
        nameservers: nameservers(answer, &mut warnings),
        dnssec: secure::dnssec(answer, &mut warnings),
        registrar_rdap: related(answer),
        redacted: redacted(answer).then_some(true),
        statuses,
        ..Registration::default()
    };
    entity::read(answer, &mut r);
    // A status that says what the name is counts only where no one holds the name.
    let held = r.created.is_some()
        || r.expires.is_some()
        || !r.registrar.is_empty()
        || r.registrant_organization.is_some()
        || r.nameservers.as_ref().is_some_and(|n| !n.is_empty());
    let told = r.statuses.iter().flatten().find_map(|s| crate::whois::status_outcome(s.as_str()));
    if let Some(outcome) = told.filter(|_| !held) {
        return RdapReading { outcome, registration: Registration::default(), warnings };
    }
    if name.is_none() && !held && r.statuses.iter().flatten().next().is_none() {
        return RdapReading::nothing(Outcome::Unknown, Some("the answer states nothing".into()));
    }
    r.name = Some(asked);
    RdapReading { outcome: Outcome::Registered, registration: r, warnings }
}

/// The object itself, where a server wraps it: in a list of one, or among the results of a search.
fn unwrapped<'a>(answer: &'a Value, asked: &str) -> &'a Value {
    if let Some([one]) = answer.as_array().map(Vec::as_slice) {
        return one;
    }
    let results = answer.get("domainSearchResults").and_then(Value::as_array);
    results.and_then(|all| all.iter().take(1000).find(|d| is_named(d, asked))).unwrap_or(answer)
}

/// True when an object states this name.
fn is_named(object: &Value, asked: &str) -> bool {
    let is = |member| {
        let name = text(object, member).map(|n| crate::whois::ascii(n.trim().trim_end_matches('.')));
        name.is_some_and(|n| n == asked)
    };
    is("ldhName") || is("unicodeName")
}

/// True when a domain says that this name is registered as a variant of it (RFC 9083 section 5.3): most of the variants a
/// registry lists are withheld or free.
fn is_registered_variant(answer: &Value, asked: &str) -> bool {
    let names = |group: &Value| list(group, "variantNames").any(|v| is_named(v, asked));
    let mut groups = list(answer, "variants").filter(|g| names(g)).peekable();
    groups.peek().is_some()
        && groups.all(|group| {
            let relations: Vec<String> = list(group, "relation")
                .map(|r| r.as_str().unwrap_or_default().trim().to_ascii_lowercase())
                .collect();
            let says = |word: &str| relations.iter().any(|r| r == word);
            relations.is_empty() || says("registered") && !says("unregistered")
        })
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

fn nameservers(answer: &Value, warnings: &mut Vec<String>) -> Option<Vec<String>> {
    // Older drafts wrote `nameServers`.
    let member =
        ["nameservers", "nameServers"].into_iter().find(|m| answer.get(m).is_some_and(|n| !n.is_null()))?;
    let host = |n: &Value| {
        let names = ["ldhName", "unicodeName", "handle"].into_iter().filter_map(|m| text(n, m));
        // An address may stand behind the name.
        n.as_str().into_iter().chain(names).find_map(|t| host_name(t.split_whitespace().next()?))
    };
    let mut hosts: Vec<String> = list(answer, member).filter_map(host).collect();
    hosts.sort();
    hosts.dedup();
    if hosts.is_empty() && list(answer, member).next().is_some() {
        warnings.push("no name server of the list has a name that can be read".into());
        return None;
    }
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
    remark(answer) || list(answer, "entities").any(|e| remark(e) || entity::is_hidden(e))
}

#[cfg(test)]
mod tests;
