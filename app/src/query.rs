//! Queries of addresses, read and written. The router's own map decodes twice, so `%2541` would not survive it.

use model::Timestamp;
use model::account::AuditQuery;
use model::event::EventQuery;
use model::inventory::{ListQuery, percent};
use service::ApiError;

/// The pairs of a query, with or without its question mark (the application/x-www-form-urlencoded parser of the
/// URL standard).
pub(crate) fn pairs(search: &str) -> Vec<(String, String)> {
    search
        .trim_start_matches('?')
        .split('&')
        .filter(|p| !p.is_empty())
        .map(|p| p.split_once('=').unwrap_or((p, "")))
        .map(|(k, v)| (decode(k), decode(v)))
        .collect()
}

/// The first value of a key.
pub(crate) fn value(search: &str, key: &str) -> Option<String> {
    pairs(search).into_iter().find(|(k, _)| k == key).map(|(_, v)| v)
}

/// The list a query asks for.
pub(crate) fn list_query(search: &str) -> ListQuery {
    let pairs = pairs(search);
    ListQuery::from_pairs(pairs.iter().map(|(k, v)| (k.as_str(), v.as_str())))
}

/// The domain and the service a query describes.
///
/// # Errors
/// A sentence that names what is missing or wrong.
#[cfg(feature = "ssr")]
pub(crate) fn service(search: &str) -> Result<(String, model::configure::ServiceSpec), String> {
    use model::configure::{ServiceKind, ServiceSpec};
    let pairs = pairs(search);
    let value = |key: &str| pairs.iter().find(|(k, _)| k == key).map_or("", |(_, v)| v.as_str());
    let kind = ServiceKind::from_word(value("service")).ok_or("Choose a service.")?;
    let fields = pairs.iter().filter(|(key, _)| kind.fields().iter().any(|f| f.key == key));
    let spec = ServiceSpec::new(kind, value("host"), fields.map(|(k, v)| (k, v)))?;
    Ok((value("domain").to_string(), spec))
}

/// Reads the query of an address; what is not understood is left out.
pub(crate) fn event_query(search: &str) -> EventQuery {
    let pairs = pairs(search);
    EventQuery::from_pairs(pairs.iter().map(|(k, v)| (k.as_str(), v.as_str())))
}

/// Entries of the audit log a page.
const AUDIT_PER_PAGE: u32 = 100;

/// The part of the audit log that an address asks for: `q`, `about`, the days `from` and `to`, `before`.
///
/// # Errors
/// Names the day that is none.
pub fn audit_query(search: &str) -> Result<AuditQuery, ApiError> {
    let mut q = AuditQuery { limit: AUDIT_PER_PAGE, ..AuditQuery::default() };
    for (key, value) in pairs(search) {
        let value = value.trim();
        match key.as_str() {
            "q" => q.text = value.chars().take(200).collect(),
            "about" => q.subject = value.chars().take(40).collect(),
            "from" if !value.is_empty() => q.since = Some(midnight(value, 0)?),
            // The last day belongs to the range.
            "to" if !value.is_empty() => q.until = Some(midnight(value, 1)?),
            "before" => q.before = value.parse().ok(),
            _ => {}
        }
    }
    Ok(q)
}

/// The start (UTC) of a day, or of the day so many days later.
fn midnight(text: &str, later: i64) -> Result<Timestamp, ApiError> {
    let wrong = || ApiError::invalid(format!("“{text}” is not a day; write it as 2027-03-01."));
    let day: jiff::civil::Date = text.parse().map_err(|_| wrong())?;
    let start: Timestamp = format!("{day}T00:00:00Z").parse().map_err(|_| wrong())?;
    start.checked_add(jiff::SignedDuration::from_hours(24 * later)).map_err(|_| wrong())
}

/// The query of an address (with its question mark) for a part of the audit log.
pub(crate) fn audit_search(q: &AuditQuery) -> String {
    let day = |at: Timestamp| model::time::StatedTime::utc(at).date().to_string();
    let mut out = Vec::new();
    if !q.text.is_empty() {
        out.push(format!("q={}", percent(&q.text)));
    }
    if !q.subject.is_empty() {
        out.push(format!("about={}", percent(&q.subject)));
    }
    out.extend(q.since.map(|at| format!("from={}", day(at))));
    out.extend(q.until.map(|at| format!("to={}", day(at - jiff::SignedDuration::from_hours(24)))));
    out.extend(q.before.map(|id| format!("before={id}")));
    if out.is_empty() { String::new() } else { format!("?{}", out.join("&")) }
}

fn decode(s: &str) -> String {
    let b = s.as_bytes();
    let mut out = Vec::with_capacity(b.len());
    let mut i = 0;
    while i < b.len() {
        let hex = |at: usize| b.get(at).and_then(|c| char::from(*c).to_digit(16));
        match (b[i], hex(i + 1), hex(i + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                i += 2;
            }
            (b'+', ..) => out.push(b' '),
            (c, ..) => out.push(c),
        }
        i += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_and_links_decode_once() {
        assert_eq!(value("?q=a+b%26c&q=x", "q").as_deref(), Some("a b&c"));
        assert_eq!(value("q=%2541%", "q").as_deref(), Some("%41%"));
        assert_eq!(value("q=b%C3%BCcher", "q").as_deref(), Some("bücher"));
        assert_eq!(value("", "q"), None);
    }

    #[test]
    fn a_list_survives_its_own_address() {
        let q = list_query("registrar=A+%26+B&status=critical&sort=-change");
        let url = q.to_url();
        assert_eq!(list_query(url.trim_start_matches("/domains")), q);
        assert_eq!(q.registrar, ["A & B"]);
    }

    #[test]
    fn an_event_list_survives_its_address() {
        let q = event_query("?kind=renewed,nonsense,registrar_changed&severity=warning&open=1&page=3");
        assert_eq!(q.kinds.len(), 2);
        assert_eq!(event_query(&q.to_search()), q);
        assert_eq!(event_query("").to_search(), "");
        assert!(event_query("?open=true").unacknowledged && event_query("?open=1").unacknowledged);
    }
    #[test]
    fn a_part_of_the_audit_log_survives_its_address() {
        let q = audit_query("?q=a+b&about=member&from=2026-11-01&to=2026-11-22&before=7").unwrap();
        assert_eq!(q.until.unwrap().to_string(), "2026-11-23T00:00:00Z");
        assert_eq!(audit_search(&q), "?q=a%20b&about=member&from=2026-11-01&to=2026-11-22&before=7");
        assert_eq!(audit_query(&audit_search(&q)).unwrap(), q);
        assert!(audit_query("?from=yesterday").unwrap_err().detail.contains("yesterday"));
        assert_eq!(audit_search(&audit_query("?from=&to=").unwrap()), "");
    }
}
