//! One RDAP question (RFC 9082) and what its answer comes to. In: a URL; out: a reading and the raw answer, or why not.

use super::error::{FailureKind, LookupError};
use super::limits;
use super::{Failure, Inner};
use crate::rdap::{RdapReading, by_http_status, parse_rdap};
use model::Timestamp;
use model::detail::RawAnswer;
use model::registration::{Outcome, Party, Protocol};
use std::time::Duration;
use url::Url;

/// What media types we take, best first (RFC 7480 section 4.2).
const ACCEPT: &str = "application/rdap+json, application/json;q=0.8";

/// An answer that says something about the name.
pub(super) struct Answer {
    pub reading: RdapReading,
    pub server: String,
}

/// The address of a name at a base URL.
pub(super) fn address(base: &Url, name: &str) -> Option<Url> {
    base.join(&format!("domain/{name}")).ok()
}

pub(super) async fn ask(
    inner: &Inner,
    url: &Url,
    party: Party,
    name: &str,
    when: (Timestamp, net::Patience),
    raw: &mut Vec<RawAnswer>,
) -> Result<Answer, Failure> {
    let (now, patience) = when;
    let server = url.to_string();
    let fail = |error| Failure { protocol: Protocol::Rdap, party, server: server.clone(), error };
    let host = url.host_str().unwrap_or_default().to_string();
    let (budget, limit) = limits::of(&host, &inner.settings);
    let permit = inner.budgets.acquire(&budget, limit, patience).await.map_err(|e| fail(e.into()))?;
    let limit = inner.settings.rdap_timeout;
    let answer = tokio::time::timeout(limit, inner.dialer.http_get(url, ACCEPT, inner.settings.cap))
        .await
        .map_err(|_| fail(net::Error::Timeout { host: host.clone(), after: limit }.into()))?
        .map_err(|e| fail(e.into()))?;
    raw.push(RawAnswer {
        protocol: Protocol::Rdap,
        party,
        server: answer.final_url.to_string(),
        at: now,
        body: String::from_utf8_lossy(&answer.body).into_owned(),
    });
    let retry_after = answer.header("retry-after").and_then(|v| wait_of(v, now));
    if answer.status == 429 || (answer.status == 503 && retry_after.is_some()) {
        let wait = inner.budgets.back_off(&budget, retry_after, inner.settings.back_off).await;
        return Err(fail(LookupError::throttled(&host, wait)));
    }
    let reading = match answer.status {
        200..=299 => parse_rdap(name, &answer.body),
        404 => not_found(name, &answer),
        status => {
            let kind = match by_http_status(status) {
                Outcome::Refused => FailureKind::Refused,
                _ if status >= 500 => FailureKind::Unreachable,
                _ => FailureKind::Unparsable,
            };
            return Err(fail(LookupError::new(kind, format!("{host} answered with HTTP status {status}"))));
        }
    };
    match reading.outcome {
        Outcome::Registered | Outcome::Available | Outcome::Reserved => {
            permit.went_well();
            Ok(Answer { reading, server })
        }
        Outcome::Throttled => {
            let wait = inner.budgets.back_off(&budget, retry_after, inner.settings.back_off).await;
            Err(fail(LookupError::throttled(&host, wait)))
        }
        Outcome::Refused => {
            Err(fail(LookupError::new(FailureKind::Refused, format!("{host} refuses to answer us"))))
        }
        Outcome::Unknown => {
            let why = reading.warnings.first().map_or("it says nothing about the name", String::as_str);
            let sentence = format!("{host} sent an answer that can't be read: {why}");
            Err(fail(LookupError::new(FailureKind::Unparsable, sentence)))
        }
    }
}

/// A 404 means that the registry has no such name, but only when an RDAP server says so: a web server's page for an
/// unknown path is not evidence (RFC 7480 section 5.3).
fn not_found(name: &str, answer: &net::HttpAnswer) -> RdapReading {
    let media = answer.header("content-type").unwrap_or_default().to_ascii_lowercase();
    let empty = answer.body.iter().all(u8::is_ascii_whitespace);
    if media.contains("json") || empty {
        let mut reading = parse_rdap(name, b"{\"errorCode\": 404}");
        reading.outcome = crate::rdap::not_found(name, &answer.body);
        return reading;
    }
    let read = parse_rdap(name, &answer.body);
    if matches!(read.outcome, Outcome::Available | Outcome::Reserved) {
        return read;
    }
    let mut reading = read;
    reading.outcome = Outcome::Unknown;
    reading.warnings.insert(0, "a web page with HTTP status 404, not an RDAP answer".into());
    reading
}

/// `Retry-After`: seconds or a date (RFC 9110 section 10.2.3), at most a day.
fn wait_of(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    let seconds = match value.parse::<u64>() {
        Ok(s) => s,
        Err(_) => {
            let at = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(value).ok()?;
            u64::try_from(at.as_second() - now.as_second()).unwrap_or(0)
        }
    };
    Some(Duration::from_secs(seconds.clamp(1, 86_400)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
        assert_eq!(wait_of("120", now), Some(Duration::from_secs(120)));
        assert_eq!(wait_of("Fri, 20 Nov 2026 12:01:00 GMT", now), Some(Duration::from_secs(60)));
        assert_eq!(wait_of("Fri, 20 Nov 2020 12:01:00 GMT", now), Some(Duration::from_secs(1)));
        assert_eq!(wait_of("999999999", now), Some(Duration::from_secs(86_400)));
        assert_eq!(wait_of("soon", now), None);
    }
}
