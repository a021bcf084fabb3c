//! An answer, assembled from one entry for each CNAME record and one for the final name: sections, flags, freshness
//! (RFC 2181, RFC 8484 section 5.1, RFC 8767 section 4).

use crate::codes::{ExtendedError, extended, rcode};
use crate::entry::{Entry, Security};
use crate::message::{RecordWithTtl, Source};
use dns::wire::{Name, Rr, Rtype};
use jiff::Timestamp;
use std::sync::Arc;

/// TTL of stale records (RFC 8767 section 4).
const STALE_TTL: u32 = 30;

/// The entry of one name of the chain.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    entry: Arc<Entry>,
    /// Age in seconds; `None` for a stale entry.
    age: Option<u32>,
    source: Source,
    /// Why a stale entry was not refreshed.
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

    /// A failed lookup, replaced by the stale entry if there is one.
    pub(crate) fn failed(failure: Arc<Entry>, old: Option<Arc<Entry>>, now: Timestamp, cached: bool) -> Self {
        match old {
            Some(old) => Step::stale(old, failure.explained.clone().map_or_else(String::new, |(_, why)| why)),
            None => Step::fresh(failure, now, cached),
        }
    }

    /// Returns the number of queries sent to name servers for this step.
    pub(crate) fn queries(&self) -> u32 {
        if self.source == Source::Lookup { self.entry.questions } else { 0 }
    }

    /// Returns what is left of a TTL.
    fn left(&self, ttl: u32) -> u32 {
        self.age.map_or(STALE_TTL, |age| ttl.saturating_sub(age))
    }
}

/// The answer to a query.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub rcode: u16,
    steps: Vec<Step>,
    /// Every step is secure (AD).
    pub secure: bool,
    pub explained: Option<ExtendedError>,
    pub source: Source,
    /// When it was assembled.
    pub made: Timestamp,
}

fn for_validators(rr: &Rr) -> bool {
    [Rtype::RRSIG, Rtype::NSEC, Rtype::NSEC3].contains(&rr.rtype)
}

impl Answer {
    /// An answer without steps.
    pub(crate) fn new(made: Timestamp) -> Self {
        Answer {
            rcode: rcode::NOERROR,
            steps: Vec::new(),
            secure: true,
            explained: None,
            source: Source::Cache,
            made,
        }
    }

    /// Adds a step. Returns the CNAME target to continue with, unless the step failed or is bogus.
    pub(crate) fn add(&mut self, step: Step, unchecked: bool) -> Option<Name> {
        let entry = step.entry.clone();
        self.rcode = entry.rcode;
        self.source = self.source.max(step.source);
        // Stale signatures may have expired.
        self.secure &= entry.security == Security::Secure && step.age.is_some();
        if step.age.is_none() {
            let code =
                if entry.rcode == rcode::NXDOMAIN { extended::STALE_NXDOMAIN } else { extended::STALE };
            self.explained = Some((code, format!("stale answer: {}", step.why)));
        }
        self.steps.push(step);
        let wrong = match &entry.security {
            Security::Bogus(why) | Security::Indeterminate(why) if !unchecked => {
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
    ) -> impl Iterator<Item = RecordWithTtl<'a>> {
        self.steps.iter().flat_map(move |step| {
            // The closure borrows from the entry that `self` holds.
            let entry: &'a Entry = &step.entry;
            let wanted = move |rr: &&Rr| dnssec_ok || rr.rtype == rtype || !for_validators(rr);
            let records: &'a [Rr] = pick(entry);
            records.iter().filter(wanted).map(move |rr| (rr, step.left(rr.ttl)))
        })
    }

    /// Returns the answer section.
    pub(crate) fn answers(&self, dnssec_ok: bool, rtype: Rtype) -> Vec<RecordWithTtl<'_>> {
        if self.rcode == rcode::SERVFAIL {
            return Vec::new();
        }
        self.lines(|entry| &entry.answers, dnssec_ok, rtype).collect()
    }

    /// Returns the authority section.
    pub(crate) fn authority(&self, dnssec_ok: bool) -> Vec<RecordWithTtl<'_>> {
        if self.rcode == rcode::SERVFAIL {
            return Vec::new();
        }
        self.lines(|entry| &entry.authority, dnssec_ok, Rtype::SOA).collect()
    }

    /// Returns the freshness lifetime for HTTP, the smallest remaining TTL (RFC 8484 section 5.1); 0 for failures.
    pub(crate) fn lifetime(&self) -> u32 {
        if self.rcode == rcode::SERVFAIL {
            return 0;
        }
        self.steps.iter().map(|step| step.left(step.entry.ttl)).min().unwrap_or(0)
    }

    fn fail(&mut self, why: ExtendedError) {
        self.rcode = rcode::SERVFAIL;
        self.secure = false;
        self.explained = Some(why);
    }

    /// Turns it into a failure.
    pub(crate) fn into_failure(mut self, why: ExtendedError) -> Self {
        self.fail(why);
        self
    }
}
