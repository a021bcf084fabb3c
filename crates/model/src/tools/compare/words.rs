//! A verdict in words: what a tile shows, what stands beside it, and a sentence. Times are UTC clock times.

use super::{Authority, AuthorityOutcome, Cause, ResolverAnswer, Verdict};
use crate::base::time::human_seconds;
use crate::base::time::{clock, clock_utc};
use crate::dns::Record;
use crate::tools::resolvers::{Filtering, PublicResolver};
use jiff::Timestamp;

pub(super) struct Words {
    pub shows: String,
    pub short: String,
    pub sentence: String,
}

pub(super) fn of(
    authority: &Authority,
    row: &PublicResolver,
    answer: Option<&ResolverAnswer>,
    verdict: &Verdict,
    now: Timestamp,
) -> Words {
    let shows = answer.map_or_else(String::new, |a| shows(a, &authority.rtype));
    let short = short(authority, row, answer, verdict, now);
    let sentence = sentence(authority, row, answer, verdict, now);
    Words { shows, short, sentence }
}

/// The data of a type, at most two and how many more.
pub(super) fn data(records: &[Record], rtype: &str) -> String {
    let mut all: Vec<&str> =
        records.iter().filter(|r| r.rtype.eq_ignore_ascii_case(rtype)).map(|r| r.data.as_str()).collect();
    all.sort_unstable();
    let more = all.len().saturating_sub(2);
    let first = all.iter().take(2).copied().collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{first} + {more} more") } else { first }
}

fn shows(a: &ResolverAnswer, rtype: &str) -> String {
    let records = data(&a.records, rtype);
    match a.rcode.as_deref() {
        None => a.error.clone().unwrap_or_else(|| "no answer".into()),
        Some("NOERROR") if records.is_empty() => format!("no {rtype} record"),
        Some("NOERROR") => records,
        Some(other) => other.to_string(),
    }
}

fn short(
    authority: &Authority,
    row: &PublicResolver,
    answer: Option<&ResolverAnswer>,
    verdict: &Verdict,
    now: Timestamp,
) -> String {
    let ttl = answer.and_then(|a| a.ttl);
    match verdict {
        Verdict::Pending => String::new(),
        Verdict::Same => match ttl {
            Some(t) if authority.ttl.is_some_and(|most| t > most) => format!("TTL {t}, raised"),
            Some(t) => format!("TTL {t}"),
            None => "agrees".into(),
        },
        Verdict::Stale { until } => format!("expires {}", clock(*until, now)),
        Verdict::Different { cause: Cause::Location, .. } => "by location".into(),
        Verdict::Different { cause: Cause::Disagreement, .. } => "as one server says".into(),
        Verdict::Different { cause: Cause::OldOrLocation, until } => match until {
            Some(t) => format!("old until {}, or by location", clock(*t, now)),
            None => "old, or by location".into(),
        },
        Verdict::NegativeCached { until: Some(t) } => format!("gone by {}", clock(*t, now)),
        Verdict::NegativeCached { until: None } => "until unknown".into(),
        Verdict::Filtered if row.filtering == Filtering::None => "blocked".into(),
        Verdict::Filtered => "expected".into(),
        Verdict::Failing => "no usable answer".into(),
    }
}

fn sentence(
    authority: &Authority,
    row: &PublicResolver,
    answer: Option<&ResolverAnswer>,
    verdict: &Verdict,
    now: Timestamp,
) -> String {
    let who = &row.name;
    let at = |t: &Timestamp| clock_utc(*t, now);
    let Some(a) = answer else { return format!("{who} is being queried.") };
    let records = data(&a.records, &authority.rtype);
    let missing = if a.rcode.as_deref() == Some("NXDOMAIN") { "the name" } else { "the record" };
    match verdict {
        Verdict::Pending => format!("{who} is being queried."),
        Verdict::Same => same_sentence(authority, who, a),
        Verdict::Stale { until } if authority.outcome.is_denial() => format!(
            "{who} still gives {records}, which the authoritative servers no longer serve; its copy runs out at {}.",
            at(until)
        ),
        Verdict::Stale { until } => {
            format!("{who} still gives {records}, an older answer; its copy runs out at {}.", at(until))
        }
        Verdict::Different { cause: Cause::Location, until: None } => format!(
            "{who} gives {}, and did so again after its copy had run out: it is answered otherwise than we are.",
            if records.is_empty() { "no record" } else { &records }
        ),
        Verdict::Different { cause: Cause::Location, until: Some(t) } => format!(
            "{who} gives {records}: it tells the authoritative servers where its users are, and may be answered by \
             location. An old copy would run out at {}.",
            at(t)
        ),
        Verdict::Different { cause: Cause::Disagreement, .. } => {
            let what = if records.is_empty() { "no record".to_string() } else { records };
            format!(
                "{who} gives {what}, as one of the authoritative servers does: they disagree among themselves."
            )
        }
        Verdict::Different { cause: Cause::OldOrLocation, until } => match until {
            Some(t) => format!(
                "{who} gives {records}: an older answer, then right by {} at the latest, or one by location.",
                at(t)
            ),
            None => format!("{who} gives {records}: an older answer, or one by location."),
        },
        Verdict::NegativeCached { until: Some(t) } => format!(
            "{who} cached that {missing} does not exist before it was created; the entry expires by {}.",
            at(t)
        ),
        Verdict::NegativeCached { until: None } => {
            format!("{who} says that {missing} does not exist, without a negative TTL.")
        }
        Verdict::Filtered => match row.filtering.words() {
            Some(what) => format!("{who} {what} and blocks this name; that it disagrees is expected."),
            None => format!("{who} blocks this name, though it is not known as a filtering resolver."),
        },
        Verdict::Failing => failing(who, a),
    }
}

fn same_sentence(authority: &Authority, who: &str, a: &ResolverAnswer) -> String {
    if authority.outcome != AuthorityOutcome::Serves {
        return format!("{who} says the same: there is no such record.");
    }
    match (a.ttl, authority.ttl) {
        (Some(left), Some(most)) if left > most => format!(
            "{who} gives the same, and keeps it longer than the servers say ({} instead of {}): it raises short TTLs.",
            human_seconds(left.into()),
            human_seconds(most.into())
        ),
        (Some(left), _) => {
            format!("{who} gives the same, from a copy that runs {} more.", human_seconds(left.into()))
        }
        _ => format!("{who} gives the same."),
    }
}

fn failing(who: &str, a: &ResolverAnswer) -> String {
    let extra = a.errors.iter().map(|e| error_words(e.code, &e.text)).collect::<Vec<_>>().join("; ");
    let extra = if extra.is_empty() { String::new() } else { format!(" ({extra})") };
    match a.rcode.as_deref() {
        Some("REFUSED") => format!("{who} refuses the question{extra}: it may limit who asks, or how often."),
        Some("SERVFAIL") if a.errors.iter().any(|e| is_dnssec(e.code)) => {
            format!("{who} refuses to pass the answer on, because DNSSEC does not validate{extra}.")
        }
        Some("SERVFAIL") => format!(
            "{who} could not find an answer (SERVFAIL){extra}: it can’t reach the servers, or DNSSEC does not validate."
        ),
        Some(other) => format!("{who} answers {other}{extra}."),
        None => format!("{who} gave no answer: {}.", a.error.as_deref().unwrap_or("nothing came in time")),
    }
}

/// Whether an extended error says that validation failed (RFC 8914 sections 4.7 to 4.13).
pub(super) fn is_dnssec(code: u16) -> bool {
    matches!(code, 6..=12)
}

/// An extended error in words (RFC 8914 section 4).
fn error_words(code: u16, text: &str) -> String {
    let words = match code {
        1 => "unsupported DNSKEY algorithm",
        2 => "unsupported DS digest",
        3 => "stale answer",
        4 => "forged answer",
        6 => "DNSSEC bogus",
        7 => "signature expired",
        8 => "signature not yet valid",
        9 => "DNSKEY missing",
        10 => "signatures missing",
        11 => "no key with the zone bit",
        12 => "NSEC missing",
        15 => "blocked",
        16 => "censored",
        17 => "filtered",
        18 => "prohibited",
        22 => "no reachable authority",
        23 => "network error",
        _ => "",
    };
    match (words.is_empty(), text.is_empty()) {
        (true, true) => format!("extended error {code}"),
        (true, false) => format!("extended error {code}: {text}"),
        (false, true) => words.to_string(),
        (false, false) => format!("{words}: {text}"),
    }
}
