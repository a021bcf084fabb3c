//! One RDAP question (RFC 9082) and what its answer comes to. In: a URL; out: a reading and the raw answer, or why not.

use crate::client::context::Context;
use crate::client::error::{FailureKind, LookupError};
use crate::client::pace::Turn;
use crate::client::result::Failure;
use crate::rdap::{RdapReading, by_http_status, parse_rdap};
use model::Timestamp;
use model::detail::RawAnswer;
use model::registration::{Outcome, Party, Protocol};
use std::time::{Duration, Instant};
use url::Url;

/// What media types we take, best first (RFC 7480 section 4.2).
const ACCEPT: &str = "application/rdap+json, application/json;q=0.8";

/// An answer that says something about the name.
pub(in crate::client) struct Answer {
    pub reading: RdapReading,
    pub server: String,
    /// True for a 404 without an error object (RFC 9083 section 6): a proxy or a wrong path answers so too, so that it
    /// makes no name free by itself.
    pub is_bare: bool,
}

/// The address of a name at a base URL.
pub(in crate::client) fn address(base: &Url, name: &str) -> Option<Url> {
    base.join(&format!("domain/{name}")).ok()
}

pub(in crate::client) async fn ask(
    context: &Context,
    url: &Url,
    party: Party,
    name: &str,
    turn: Turn,
    raw: &mut Vec<RawAnswer>,
) -> Result<Answer, Failure> {
    let Turn { now, .. } = turn;
    let mut at = url.clone();
    let (answer, permit) = fetch(context, &mut at, turn).await.map_err(|error| Failure {
        protocol: Protocol::Rdap,
        party,
        server: at.to_string(),
        error,
    })?;
    // The registry's answer links to the registrar's server: who chose that may not judge our clock.
    if party == Party::Registry {
        context.dates.note(url, &answer);
    }
    let fail = |error| Failure { protocol: Protocol::Rdap, party, server: at.to_string(), error };
    let host = host_of(&at);
    let (budget, _) = context.settings.limit_of(&host);
    raw.push(RawAnswer {
        protocol: Protocol::Rdap,
        party,
        server: at.to_string(),
        at: now,
        body: String::from_utf8_lossy(&answer.body).into_owned(),
    });
    let retry_after = answer.header("retry-after").and_then(|v| wait_of(v, answer.header("date"), now));
    if answer.status == 429 || (answer.status == 503 && retry_after.is_some()) {
        let wait = context.budgets.back_off(&budget, retry_after, context.settings.back_off).await;
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
            let is_bare = answer.status == 404 && is_bare(&answer.body);
            Ok(Answer { reading, server: url.to_string(), is_bare })
        }
        Outcome::Throttled => {
            let wait = context.budgets.back_off(&budget, retry_after, context.settings.back_off).await;
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

/// True for a body that states nothing: empty, or an object without members.
fn is_bare(body: &[u8]) -> bool {
    let written: Vec<u8> = body.iter().copied().filter(|b| !b.is_ascii_whitespace()).take(3).collect();
    written.is_empty() || written == b"{}"
}

/// A 404 means that the registry has no such name, but only when an RDAP server says so: a web server's page for an
/// unknown path is not evidence (RFC 7480 section 5.3).
fn not_found(name: &str, answer: &net::HttpAnswer) -> RdapReading {
    // What states nothing is checked by WHOIS: `Answer::is_bare`.
    let outcome = if is_bare(&answer.body) {
        Some(Outcome::Available)
    } else {
        crate::rdap::not_found(name, &answer.body)
    };
    let mut reading = parse_rdap(name, b"{\"errorCode\": 404}");
    match outcome {
        Some(outcome) => reading.outcome = outcome,
        None => {
            reading.outcome = Outcome::Unknown;
            reading.warnings.insert(0, "a web page with HTTP status 404, not an RDAP answer".into());
        }
    }
    reading
}

/// `Retry-After`: seconds or a date (RFC 9110 section 10.2.3), at most a day. A date is compared with
/// the server's own clock (its `Date`); one that has passed already says nothing about how long to wait.
fn wait_of(value: &str, date: Option<&str>, now: Timestamp) -> Option<Duration> {
    // A wrong day of the week is a common slip, and says nothing about the date.
    let dates = jiff::fmt::rfc2822::DateTimeParser::new().relaxed_weekday(true);
    let instant = |text: &str| dates.parse_timestamp(text.trim()).ok();
    let value = value.trim();
    let seconds = if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        // More digits than a number has are still "very long".
        value.parse::<u64>().unwrap_or(u64::MAX)
    } else {
        let theirs = date.and_then(instant).unwrap_or(now);
        let left = instant(value)?.as_second().saturating_sub(theirs.as_second());
        u64::try_from(left).ok().filter(|s| *s > 0)?
    };
    Some(Duration::from_secs(seconds.clamp(1, 86_400)))
}

/// Asks, and follows redirects, each under a permit of the host it leads to. Returns the answer and the permit of the
/// host that gave it; `url` becomes the address of that answer. One permit at a time, so that no look-up waits for a
/// host while it holds a place at another.
async fn fetch(
    context: &Context,
    url: &mut Url,
    turn: Turn,
) -> Result<(net::HttpAnswer, net::Permit), LookupError> {
    let (mut budget, limit) = context.settings.limit_of(&host_of(url));
    let mut permit = context.budgets.acquire(&budget, limit, turn.patience).await?;
    let mut left = context.settings.rdap_timeout;
    for hop in 0.. {
        let began = Instant::now();
        let asked = context.dialer.http_get_once(url, ACCEPT, context.settings.cap);
        let answer = tokio::time::timeout(left, asked).await.map_err(|_| net::Error::Timeout {
            host: host_of(url),
            after: context.settings.rdap_timeout,
        })??;
        left = left.saturating_sub(began.elapsed());
        let Some(to) = answer.redirect()? else { return Ok((answer, permit)) };
        if hop >= net::REDIRECTS {
            break;
        }
        *url = to;
        let (next, limit) = context.settings.limit_of(&host_of(url));
        if next == budget {
            permit.once_more(limit).await;
        } else {
            permit.went_well();
            permit = context.budgets.acquire(&next, limit, turn.later).await?;
            budget = next;
        }
    }
    let sentence = format!("{} redirects more than {} times", host_of(url), net::REDIRECTS);
    Err(LookupError::new(FailureKind::Unparsable, sentence))
}

fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
        let wait = |value| wait_of(value, None, now).map(|d| d.as_secs());
        assert_eq!(wait("120"), Some(120));
        assert_eq!(wait("0"), Some(1));
        assert_eq!(wait("Fri, 20 Nov 2026 12:01:00 GMT"), Some(60));
        for long in ["315360000", "99999999999999999999999", "Fri, 20 Nov 2036 12:00:00 GMT"] {
            assert_eq!(wait(long), Some(86_400), "{long}");
        }
        // What has passed is no number of seconds: our own back-off decides.
        for none in
            ["Fri, 20 Nov 2020 12:01:00 GMT", "Fri, 20 Nov 2026 12:00:00 GMT", "soon", "", "-5", "+5", "1.5"]
        {
            assert_eq!(wait(none), None, "{none}");
        }
        // Their clock is ten minutes behind ours.
        let theirs = Some("Fri, 20 Nov 2026 11:50:00 GMT");
        let wait = wait_of("Fri, 20 Nov 2026 11:52:00 GMT", theirs, now);
        assert_eq!(wait, Some(Duration::from_secs(120)));
    }
}
