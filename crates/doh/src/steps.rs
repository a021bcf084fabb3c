//! The answer to a question as it is put together: one step for each alias, then what it led to. In: entries, fresh or
//! past their time. Out: sections, flags, how long they hold (RFC 2181, RFC 8484 section 5.1, RFC 8767 section 4).

use crate::backend::extended;
use crate::entry::{Entry, Explained, Security, rcode};
use crate::message::Line;
use dns::wire::{Name, Rr, Rtype};
use jiff::Timestamp;
use std::sync::Arc;

/// TTL of what is past its time (RFC 8767 section 4).
const STALE_TTL: u32 = 30;

/// Where an answer is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// Nothing had to be known: refused, or the same for everybody.
    Nowhere,
    /// All of it was in the cache.
    Cache,
    /// Something had to be looked up.
    Lookup,
    /// Something is past its time.
    Stale,
}

/// What is known about one name of the chain.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    entry: Arc<Entry>,
    /// Seconds since it was learned; `None` when it is past its time.
    age: Option<u32>,
    source: Source,
    /// Why nothing newer can be had.
    why: String,
}

impl Step {
    pub(crate) fn fresh(entry: Arc<Entry>, now: Timestamp, cached: bool) -> Self {
        let source = if cached { Source::Cache } else { Source::Lookup };
        Step { age: Some(entry.age(now)), entry, source, why: String::new() }
    }

    pub(crate) fn stale(entry: Arc<Entry>, why: impl Into<String>) -> Self {
        Step { entry, age: None, source: Source::Stale, why: why.into() }
    }

    /// A lookup that failed: what was known before, if anything was.
    pub(crate) fn failed(failure: Arc<Entry>, old: Option<Arc<Entry>>, now: Timestamp, cached: bool) -> Self {
        match old {
            Some(old) => Step::stale(old, failure.explained.clone().map_or_else(String::new, |(_, why)| why)),
            None => Step::fresh(failure, now, cached),
        }
    }

    /// Seconds that something with this TTL still holds.
    fn left(&self, ttl: u32) -> u32 {
        self.age.map_or(STALE_TTL, |age| ttl.saturating_sub(age))
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub rcode: u16,
    steps: Vec<Step>,
    /// Every step is proved.
    pub secure: bool,
    pub explained: Option<Explained>,
    pub source: Source,
    /// When it was put together.
    pub made: Timestamp,
}

fn for_validators(rr: &Rr) -> bool {
    [Rtype::RRSIG, Rtype::NSEC, Rtype::NSEC3].contains(&rr.rtype)
}

impl Answer {
    /// Nothing yet.
    pub(crate) fn begun(made: Timestamp) -> Self {
        Answer {
            rcode: rcode::NOERROR,
            steps: Vec::new(),
            secure: true,
            explained: None,
            source: Source::Cache,
            made,
        }
    }

    /// Adds a step; where the alias leads, if it is one and nothing is wrong with it.
    pub(crate) fn add(&mut self, step: Step, unchecked: bool) -> Option<Name> {
        let entry = step.entry.clone();
        self.rcode = entry.rcode;
        self.source = self.source.max(step.source);
        // What was proved once may not be provable any more.
        self.secure &= entry.security == Security::Secure && step.age.is_some();
        if step.age.is_none() {
            let code =
                if entry.rcode == rcode::NXDOMAIN { extended::STALE_NXDOMAIN } else { extended::STALE };
            self.explained = Some((code, format!("an old answer: {}", step.why)));
        }
        self.steps.push(step);
        let wrong = match &entry.security {
            Security::Bogus(why) if !unchecked => {
                Some(entry.explained.clone().unwrap_or_else(|| (extended::BOGUS, why.clone())))
            }
            _ => entry.explained.clone().filter(|_| entry.is_failure()),
        };
        if let Some(why) = wrong {
            self.fail(why);
            return None;
        }
        entry.next.clone()
    }

    fn lines<'a>(
        &'a self,
        pick: impl Fn(&Entry) -> &[Rr] + 'a,
        dnssec_ok: bool,
        rtype: Rtype,
    ) -> impl Iterator<Item = Line<'a>> {
        self.steps.iter().flat_map(move |step| {
            // The closure borrows from the entry that `self` holds.
            let entry: &'a Entry = &step.entry;
            let wanted = move |rr: &&Rr| dnssec_ok || rr.rtype == rtype || !for_validators(rr);
            let records: &'a [Rr] = pick(entry);
            records.iter().filter(wanted).map(move |rr| (rr, step.left(rr.ttl)))
        })
    }

    /// The answer section.
    pub(crate) fn answers(&self, dnssec_ok: bool, rtype: Rtype) -> Vec<Line<'_>> {
        if self.rcode == rcode::SERVFAIL {
            return Vec::new();
        }
        self.lines(|entry| &entry.answers, dnssec_ok, rtype).collect()
    }

    /// The authority section.
    pub(crate) fn authority(&self, dnssec_ok: bool) -> Vec<Line<'_>> {
        if self.rcode == rcode::SERVFAIL {
            return Vec::new();
        }
        self.lines(|entry| &entry.authority, dnssec_ok, Rtype::SOA).collect()
    }

    /// Seconds an HTTP cache may keep it: the smallest TTL left (RFC 8484 section 5.1); none for failures.
    pub(crate) fn lifetime(&self) -> u32 {
        if self.rcode == rcode::SERVFAIL {
            return 0;
        }
        self.steps.iter().map(|step| step.left(step.entry.ttl)).min().unwrap_or(0)
    }

    fn fail(&mut self, why: Explained) {
        self.rcode = rcode::SERVFAIL;
        self.secure = false;
        self.explained = Some(why);
    }

    /// The same as a failure.
    pub(crate) fn failed(mut self, why: Explained) -> Self {
        self.fail(why);
        self
    }
}
