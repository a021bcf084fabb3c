//! What is known about one name and type: the unit of the cache. In: records as they came. Out: records with one TTL
//! per set, how long they hold, and whether they are proved (RFC 2181 section 5.2, RFC 2308, RFC 9520).

use crate::backend::extended;
use crate::cache::Kept;
use dns::wire::{Data, Name, Rr, Rtype};
use jiff::Timestamp;

/// Nothing is kept longer, whatever its TTL says.
const LONGEST: u32 = 86_400;
/// Nothing negative is kept longer (RFC 2308 section 5 advises one to three hours).
const LONGEST_DENIAL: u32 = 10_800;
/// How long a failure is kept: long enough to spare the servers, short enough for a person who is mending them
/// (RFC 9520 section 3.2 asks for one second at least).
pub(crate) const FAILURE: u32 = 5;
/// How long a failure is kept where there is something old to answer with (RFC 8767 section 5).
pub(crate) const RECHECK: u32 = 30;
/// How long data that does not validate is kept.
pub(crate) const BOGUS: u32 = 30;

/// RCODEs used here.
pub(crate) mod rcode {
    pub(crate) const NOERROR: u16 = 0;
    pub(crate) const FORMERR: u16 = 1;
    pub(crate) const SERVFAIL: u16 = 2;
    pub(crate) const NXDOMAIN: u16 = 3;
    pub(crate) const NOTIMP: u16 = 4;
    pub(crate) const REFUSED: u16 = 5;
    pub(crate) const BADVERS: u16 = 16;
}

/// What DNSSEC says about an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Security {
    /// A chain of signatures leads to it from a trust anchor.
    Secure,
    /// It is proved, or configured, that no chain leads to it.
    Insecure,
    /// A chain should lead to it and does not; why.
    Bogus(String),
}

/// An extended error: code of RFC 8914 and a sentence.
pub(crate) type Explained = (u16, String);

/// What is known about one name and type.
#[derive(Debug, Clone)]
pub struct Entry {
    /// RCODE of the lookup.
    pub rcode: u16,
    /// Records of the type asked for, or the alias, with their signatures.
    pub answers: Vec<Rr>,
    /// SOA and proofs of a denial.
    pub authority: Vec<Rr>,
    /// What DNSSEC says.
    pub security: Security,
    /// Where the alias leads, when that is still to be looked up.
    pub next: Option<Name>,
    /// Why it failed or is bogus: extended error code and sentence.
    pub explained: Option<Explained>,
    /// Seconds it holds.
    pub ttl: u32,
    /// When it was learned.
    pub since: Timestamp,
}

impl Entry {
    /// A lookup that failed.
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
        }
    }

    /// Records that were found, each set with one TTL.
    pub(crate) fn found(now: Timestamp, mut answers: Vec<Rr>, mut authority: Vec<Rr>) -> Self {
        let ttl = answers.iter().map(|rr| rr.ttl).min().unwrap_or(0).min(LONGEST);
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
        }
    }

    /// A denial: it holds as long as its SOA record says, and is not kept without one.
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
        }
    }

    /// A whole answer of another resolver, aliases included.
    pub(crate) fn relayed(now: Timestamp, rcode: u16, mut answers: Vec<Rr>, authority: Vec<Rr>) -> Self {
        for rr in &mut answers {
            rr.ttl = rr.ttl.min(LONGEST);
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

    /// Holds for so many seconds at most, and so do its records: a client keeps them by their own TTL.
    pub(crate) fn hold_for(&mut self, seconds: u32) {
        self.ttl = self.ttl.min(seconds);
        for rr in self.answers.iter_mut().chain(&mut self.authority) {
            rr.ttl = rr.ttl.min(seconds);
        }
    }

    /// True when it says that the name itself does not exist, and nothing else.
    pub(crate) fn is_absence(&self) -> bool {
        self.rcode == rcode::NXDOMAIN && self.answers.is_empty() && self.next.is_none()
    }

    /// True for answers that say nothing about the name.
    pub(crate) fn is_failure(&self) -> bool {
        !matches!(self.rcode, rcode::NOERROR | rcode::NXDOMAIN)
    }

    /// True when nobody could be asked for what would prove it.
    pub(crate) fn lacks_keys(&self) -> bool {
        let code = self.explained.as_ref().map(|(code, _)| *code);
        matches!(self.security, Security::Bogus(_)) && code == Some(extended::NO_REACHABLE_AUTHORITY)
    }

    /// Seconds since it was learned; a clock that was put back makes nothing younger.
    pub(crate) fn age(&self, now: Timestamp) -> u32 {
        u32::try_from(now.as_second().saturating_sub(self.since.as_second()).max(0)).unwrap_or(u32::MAX)
    }

    /// Good enough to be told when nothing newer can be had: data or a denial, not forged, not longer past its time than
    /// allowed (RFC 8767 section 4).
    pub(crate) fn may_be_stale(&self, now: Timestamp, longest: u32) -> bool {
        let good = !self.is_failure() && !matches!(self.security, Security::Bogus(_));
        good && self.age(now) < self.ttl.saturating_add(longest)
    }
}

impl Kept for Entry {
    fn weight(&self) -> usize {
        let of = |rr: &Rr| 160 + 2 * rr.raw.len() + 40 * rr.name.labels().len() + rr.name.wire_len();
        256 + self.answers.iter().chain(&self.authority).map(of).sum::<usize>()
    }

    fn holds(&self, now: Timestamp) -> bool {
        self.age(now) < self.ttl
    }
}

/// min(TTL of the SOA record, SOA.minimum): RFC 2308 section 5.
fn denial_ttl(authority: &[Rr]) -> Option<u32> {
    authority.iter().find_map(|rr| match &rr.data {
        Data::Soa(soa) if rr.rtype == Rtype::SOA => Some(rr.ttl.min(soa.minimum).min(LONGEST_DENIAL)),
        _ => None,
    })
}
