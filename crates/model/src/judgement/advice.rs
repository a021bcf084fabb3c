//! Advice in words, with a domain's own numbers and clock times: how long a missing name may stay missing
//! (RFC 2308). In: what was seen, and now. Out: sentences every surface shows as they are.

use crate::base::time::{clock, human_seconds, plus};
use crate::dns::{Delegation, Soa};
use jiff::Timestamp;
use serde::Deserialize;
use std::sync::LazyLock;

/// How long a name that does not exist may be remembered as missing, with clock times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NegativeCaching {
    /// Seconds a resolver may remember the absence of a name.
    pub ttl: u32,
    /// The SOA it follows from.
    pub soa: Soa,
    /// When someone asks too early.
    pub asked_at: Timestamp,
    /// When the memory of that question ends at the latest in resolvers that obey.
    pub until: Timestamp,
    /// Twice that: when to look for another cause.
    pub twice: Timestamp,
    /// `until` as a clock time, with its day when that is not today.
    pub until_words: String,
    /// `twice` as a clock time, with its day when that is not today.
    pub twice_words: String,
    /// What the number is and where it comes from.
    pub rule: String,
    /// The worked example.
    pub example: String,
    /// What common resolvers' own limits do to it.
    pub limits: String,
}

/// The advice for names below (or at) a zone; `None` while no SOA was read.
pub fn negative_caching(d: &Delegation, asked_at: Timestamp) -> Option<NegativeCaching> {
    let soa = d.negative_soa.as_ref().or(d.soa.as_ref())?.clone();
    let name = if d.delegated { format!("new.{}", d.zone) } else { d.zone.clone() };
    Some(of_soa(soa, &name, asked_at))
}

/// The same from an SOA alone, for the name `example`.
pub fn of_soa(soa: Soa, example: &str, asked_at: Timestamp) -> NegativeCaching {
    let ttl = soa.negative_ttl();
    let after = |n: i64| plus(asked_at, i64::from(ttl) * n);
    let (until, twice) = (after(1), after(2));
    let (until_words, twice_words) = (clock(until, asked_at), clock(twice, asked_at));
    let rule = format!(
        "Resolvers cache that a name does not exist for {}: the smaller of the SOA minimum ({} s) and the \
         SOA’s own TTL ({} s) in {}.",
        human_seconds(u64::from(ttl)),
        soa.minimum,
        soa.ttl,
        zone_words(&soa.zone),
    );
    let example = format!(
        "If {example} was asked for just now, before you created it, it can stay missing until {until_words}; \
         wait until {twice_words}, twice that, before you look for another cause."
    );
    NegativeCaching {
        limits: limits_words(ttl),
        ttl,
        soa,
        asked_at,
        until,
        twice,
        until_words,
        twice_words,
        rule,
        example,
    }
}

fn zone_words(zone: &str) -> String {
    if zone == "." { "the root zone".into() } else { format!("the zone {zone}") }
}

/// A resolver's built-in ceiling for negative answers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResolverLimit {
    /// Product.
    pub name: String,
    /// The setting that changes it.
    pub setting: String,
    /// Seconds, as configured out of the box.
    pub seconds: u32,
    /// Where this row comes from.
    pub source: String,
}

#[derive(Deserialize)]
struct Limits {
    resolver: Vec<ResolverLimit>,
}

static LIMITS: LazyLock<Vec<ResolverLimit>> = LazyLock::new(|| {
    serde_json::from_slice::<Limits>(include_bytes!(concat!(env!("OUT_DIR"), "/negative_limits.json")))
        .expect("data/negative_limits.toml is checked by a test")
        .resolver
});

/// The table of common resolvers' ceilings.
pub fn resolver_limits() -> &'static [ResolverLimit] {
    &LIMITS
}

fn limits_words(ttl: u32) -> String {
    let all: Vec<_> =
        LIMITS.iter().map(|l| format!("{} {}", l.name, human_seconds(u64::from(l.seconds)))).collect();
    let all = all.join(", ");
    let span = human_seconds(u64::from(ttl));
    let shorter: Vec<_> = LIMITS.iter().filter(|l| l.seconds < ttl).map(|l| l.name.as_str()).collect();
    if shorter.is_empty() {
        format!(
            "Default ceilings of common resolvers are not below {span}, so they do not shorten it: {all}."
        )
    } else {
        format!(
            "Out of the box {} forget sooner than {span}. Default ceilings: {all}. An operator may have set others.",
            shorter.join(" and ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soa(minimum: u32, ttl: u32) -> Soa {
        Soa {
            zone: "alder.example".into(),
            mname: "ns1.alder.example".into(),
            rname: "hostmaster.alder.example".into(),
            serial: 1,
            refresh: 7200,
            retry: 900,
            expire: 1_209_600,
            minimum,
            ttl,
        }
    }

    #[test]
    fn the_smaller_number_counts_and_clock_times_follow() {
        let now: Timestamp = "2026-11-20T14:05:00Z".parse().unwrap();
        let a = of_soa(soa(3600, 1800), "new.alder.example", now);
        assert_eq!((a.ttl, a.until_words.as_str(), a.twice_words.as_str()), (1800, "14:35", "15:05"));
        assert!(
            a.rule.contains("30 min") && a.rule.contains("3600 s") && a.rule.contains("1800 s"),
            "{}",
            a.rule
        );
        assert!(
            a.example.contains("new.alder.example") && a.example.contains("until 14:35"),
            "{}",
            a.example
        );
        assert!(a.limits.contains("do not shorten"), "{}", a.limits);
    }

    #[test]
    fn past_midnight_the_day_is_said_and_long_times_are_shortened_by_resolvers() {
        let now: Timestamp = "2026-11-20T14:05:00Z".parse().unwrap();
        let a = of_soa(soa(86_400, 86_400), "x.example", now);
        assert_eq!(a.until_words, "14:05 tomorrow");
        assert_eq!(a.twice_words, "Nov 22, 2026, 14:05");
        assert!(a.limits.contains("BIND and Unbound"), "{}", a.limits);
    }

    #[test]
    fn a_ttl_at_the_end_of_time_does_not_panic() {
        let a = of_soa(soa(u32::MAX, u32::MAX), "x.example", Timestamp::MAX);
        assert_eq!(a.until, Timestamp::MAX);
    }

    #[test]
    fn the_table_has_sources() {
        assert!(resolver_limits().len() >= 3);
        assert!(resolver_limits().iter().all(|l| !l.source.is_empty() && l.seconds > 0));
    }
}
