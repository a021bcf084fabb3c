//! The unit of the cache: the result of one lookup of a name and type, with a common TTL and its DNSSEC status (RFC 2181
//! section 5.2, RFC 2308, RFC 9520).

use crate::cache::CacheValue;
use crate::codes::{ExtendedError, extended, rcode};
use dns::wire::{Data, Name, Rr, Rtype};
use jiff::Timestamp;

/// Cap on TTLs: one day, in seconds.
const MAX_TTL: u32 = 86_400;
/// Cap on negative TTLs: three hours (RFC 2308 section 5 advises one to three).
const MAX_NEGATIVE_TTL: u32 = 10_800;
/// Seconds for which a failure is cached. RFC 9520 section 3.2 requires at least one; a longer time would delay
/// operators who are repairing their servers.
pub(crate) const FAILURE: u32 = 5;
/// Seconds for which a failure is cached while a stale answer is served (RFC 8767 section 5).
pub(crate) const RECHECK: u32 = 30;
/// Seconds for which bogus data is cached.
pub(crate) const BOGUS: u32 = 30;

/// DNSSEC status of an entry (RFC 4035 section 4.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Security {
    /// A chain of trust leads to it from a trust anchor.
    Secure,
    /// It is proved, or follows from the trust anchors, that there is no chain of trust.
    Insecure,
    /// There should be a chain of trust and it does not validate; the reason.
    Bogus(String),
    /// There should be a chain of trust and it was not followed to its end; the reason. Answered like bogus data.
    Indeterminate(String),
}

/// The result of one lookup.
#[derive(Debug, Clone)]
pub struct Entry {
    /// RCODE of the lookup.
    pub rcode: u16,
    /// Records of the queried type, or the CNAME record, with their signatures.
    pub answers: Vec<Rr>,
    /// SOA record and denial proofs of a negative answer.
    pub authority: Vec<Rr>,
    /// DNSSEC status.
    pub security: Security,
    /// Target of the CNAME record, if it has not been looked up.
    pub next: Option<Name>,
    /// Extended error: why the lookup failed or the data is bogus.
    pub explained: Option<ExtendedError>,
    /// TTL in seconds.
    pub ttl: u32,
    /// When the lookup was made.
    pub since: Timestamp,
    /// Queries that were sent to name servers for it.
    pub questions: u32,
}

impl Entry {
    /// A failed lookup, with the extended error `code`.
    pub fn failure(now: Timestamp, code: u16, why: impl Into<String>) -> Self {
        Entry {
            rcode: rcode::SERVFAIL,
            answers: Vec::new(),
            authority: Vec::new(),
            security: Security::Insecure,
            next: None,
            explained: Some((code, why.into())),
            ttl: FAILURE,
            since: now,
            questions: 0,
        }
    }

    /// A positive answer; all its records get the smallest TTL.
    pub(crate) fn found(now: Timestamp, mut answers: Vec<Rr>, mut authority: Vec<Rr>) -> Self {
        let ttl = answers.iter().map(|rr| rr.ttl).min().unwrap_or(0).min(MAX_TTL);
        for rr in &mut answers {
            rr.ttl = ttl;
        }
        for rr in &mut authority {
            rr.ttl = rr.ttl.min(ttl);
        }
        Entry {
            rcode: rcode::NOERROR,
            answers,
            authority,
            security: Security::Insecure,
            next: None,
            explained: None,
            ttl,
            since: now,
            questions: 0,
        }
    }

    /// A negative answer. Its TTL is that of RFC 2308 section 5, or 0 without an SOA record.
    pub(crate) fn denial(now: Timestamp, rcode: u16, mut authority: Vec<Rr>) -> Self {
        let ttl = denial_ttl(&authority).unwrap_or(0);
        for rr in &mut authority {
            rr.ttl = rr.ttl.min(ttl);
        }
        Entry {
            rcode,
            answers: Vec::new(),
            authority,
            security: Security::Insecure,
            next: None,
            explained: None,
            ttl,
            since: now,
            questions: 0,
        }
    }

    /// A complete answer of another resolver, CNAME records included.
    pub(crate) fn relayed(now: Timestamp, rcode: u16, mut answers: Vec<Rr>, authority: Vec<Rr>) -> Self {
        for rr in &mut answers {
            rr.ttl = rr.ttl.min(MAX_TTL);
        }
        let shortest = answers.iter().map(|rr| rr.ttl).min();
        let denied = denial_ttl(&authority);
        let ttl = match (shortest, denied) {
            (Some(a), Some(b)) => a.min(b),
            (Some(a), None) => a,
            (None, b) => b.unwrap_or(0),
        };
        let mut entry = Entry::denial(now, rcode, authority);
        entry.answers = answers;
        entry.ttl = ttl;
        entry
    }

    /// Caps the TTL of the entry and of each of its records, by which clients cache them.
    pub(crate) fn cap_ttl(&mut self, seconds: u32) {
        self.ttl = self.ttl.min(seconds);
        for rr in self.answers.iter_mut().chain(&mut self.authority) {
            rr.ttl = rr.ttl.min(seconds);
        }
    }

    /// Returns whether it denies the name itself (NXDOMAIN without a CNAME record).
    pub(crate) fn is_name_error(&self) -> bool {
        self.rcode == rcode::NXDOMAIN && self.answers.is_empty() && self.next.is_none()
    }

    /// Returns whether the lookup failed, as opposed to a positive or negative answer.
    pub(crate) fn is_failure(&self) -> bool {
        !matches!(self.rcode, rcode::NOERROR | rcode::NXDOMAIN)
    }

    /// Returns whether it is bogus only because the servers of its keys were unreachable.
    pub(crate) fn lacks_keys(&self) -> bool {
        let code = self.explained.as_ref().map(|(code, _)| *code);
        matches!(self.security, Security::Bogus(_)) && code == Some(extended::NO_REACHABLE_AUTHORITY)
    }

    /// Returns seconds since the lookup; 0 if the clock was set back.
    pub(crate) fn age(&self, now: Timestamp) -> u32 {
        u32::try_from(now.as_second().saturating_sub(self.since.as_second()).max(0)).unwrap_or(u32::MAX)
    }

    /// Returns whether it may be served stale: a positive or negative answer that was validated as far as it had to be
    /// and expired less than `max_stale` seconds ago (RFC 8767 section 4).
    pub(crate) fn may_be_served_stale(&self, now: Timestamp, max_stale: u32) -> bool {
        let good =
            !self.is_failure() && !matches!(self.security, Security::Bogus(_) | Security::Indeterminate(_));
        good && self.age(now) < self.ttl.saturating_add(max_stale)
    }
}

impl CacheValue for Entry {
    fn weight(&self) -> usize {
        let of = |rr: &Rr| 160 + 2 * rr.raw.len() + 40 * rr.name.labels().len() + rr.name.wire_len();
        256 + self.answers.iter().chain(&self.authority).map(of).sum::<usize>()
    }

    fn is_fresh(&self, now: Timestamp) -> bool {
        self.age(now) < self.ttl
    }
}

/// Returns min(TTL of the SOA record, SOA MINIMUM) (RFC 2308 section 5).
fn denial_ttl(authority: &[Rr]) -> Option<u32> {
    authority.iter().find_map(|rr| match &rr.data {
        Data::Soa(soa) if rr.rtype == Rtype::SOA => Some(rr.ttl.min(soa.minimum).min(MAX_NEGATIVE_TTL)),
        _ => None,
    })
}
