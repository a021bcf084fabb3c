//! The registry's decision about a claim: a pure function of what is held, the policy, and what is asked for.

use crate::claim::{
    AddressRecord, AddressRequest, ClaimSpec, ClaimStatus, Read, RecordState, Reference, free_but_refused,
    read,
};
use crate::prefix::overlaps;
use crate::ranges::RangeSet;
use crate::space::{Holder, Holding, Overlap, Policy, Space, Tenant};
use ipnet::IpNet;
use jiff::Timestamp;

/// Decides about a claim. Prefixes that `before` says the claim holds already stay as they are while a request still
/// asks for them; `space` must not contain them. What is new is allocated whole or not at all.
///
/// The spec must have passed [`validate`](crate::claim::validate); a request that can't be read is refused.
pub fn allocate(
    space: &Space,
    policy: &Policy,
    (tenant, claim): (Tenant, &str),
    spec: &ClaimSpec,
    before: &ClaimStatus,
    now: Timestamp,
) -> ClaimStatus {
    let requests: Vec<_> = spec.address_space.iter().enumerate().map(|(i, r)| read(r, i)).collect();
    let mut held: Vec<(IpNet, &AddressRecord)> = before.allocated().collect();
    let mut work = Draft { space, policy, tenant, taken: Vec::new() };
    let mut outcome: Vec<Option<Outcome>> = requests.iter().map(|_| None).collect();
    // What is kept goes first, so that no new request takes its place; then exact prefixes, then any that fit.
    for (i, request) in requests.iter().enumerate() {
        let Ok(request) = request else { continue };
        let kept = held.iter().position(|(p, _)| request.accepts(p));
        if let Some((prefix, record)) = kept.map(|k| held.swap_remove(k)) {
            outcome[i] = Some(Outcome::Kept(prefix, record.date));
        }
    }
    for kept in outcome.iter().flatten() {
        if let Outcome::Kept(prefix, _) = kept {
            work.take(*prefix, claim, now);
        }
    }
    for exact in [true, false] {
        for (i, request) in requests.iter().enumerate() {
            if outcome[i].is_some() {
                continue;
            }
            outcome[i] = match request {
                Ok(r) if r.prefix.is_some() == exact => Some(work.decide(r, claim, now)),
                Ok(_) => None,
                Err(errors) => Some(Outcome::Refused(
                    None,
                    errors.first().map_or_else(String::new, ToString::to_string),
                    None,
                )),
            };
        }
    }
    let is_refused = |o: &Option<Outcome>| matches!(o, Some(Outcome::Refused(..)));
    let refused = outcome.iter().position(is_refused).map(|at| cause(&spec.address_space[at], at));
    let records = spec.address_space.iter().zip(outcome).enumerate();
    let records = records.map(|(at, (request, outcome))| {
        let record = outcome
            .map_or_else(|| record(request, None, now), |o| o.into_record(request, refused.as_deref(), now));
        let same = refusal_before(before, at, request).filter(|_| record.status == RecordState::Unavailable);
        AddressRecord { date: same.map_or(record.date, |r| r.date), ..record }
    });
    let mut status = ClaimStatus { address_space: records.collect(), since: None };
    let is_same = !before.address_space.is_empty() && before.is_allocated() == status.is_allocated();
    status.since = before.known_since().filter(|_| is_same).or(Some(now));
    status
}

/// A request in a few words, as what its claim is refused for.
fn cause(request: &AddressRequest, at: usize) -> String {
    match (&request.prefix, &request.from, request.prefix_length) {
        (Some(prefix), ..) => prefix.clone(),
        (None, Some(from), Some(len)) => format!("the /{len} from {from}"),
        _ => format!("spec.addressSpace[{at}]"),
    }
}

/// The record that refused the same request before: since then it is unavailable.
fn refusal_before<'a>(
    before: &'a ClaimStatus,
    at: usize,
    request: &AddressRequest,
) -> Option<&'a AddressRecord> {
    let is_refused = |r: &&AddressRecord| r.status == RecordState::Unavailable;
    if request.prefix.is_some() {
        return before.address_space.iter().filter(is_refused).find(|r| r.prefix == request.prefix);
    }
    // A record does not name the block: the one in the same place stands for the same request.
    let from: IpNet = request.from.as_deref()?.parse().ok()?;
    let inside = |r: &&AddressRecord| {
        r.prefix.as_deref().and_then(|p| p.parse::<IpNet>().ok()).is_none_or(|p| from.contains(&p))
    };
    before.address_space.get(at).filter(is_refused).filter(inside)
}

fn record(request: &AddressRequest, prefix: Option<IpNet>, date: Timestamp) -> AddressRecord {
    AddressRecord {
        prefix: prefix.map(|p| p.to_string()).or_else(|| request.prefix.clone()),
        reference: request.reference.clone(),
        description: request.description.clone(),
        date,
        status: RecordState::Unavailable,
        message: None,
        held_by: None,
        held_prefix: None,
    }
}

impl Read {
    /// True when a prefix that is held already fulfils the request.
    fn accepts(&self, held: &IpNet) -> bool {
        match self {
            Read { prefix: Some(p), .. } => p == held,
            Read { from: Some(from), len, .. } => from.contains(held) && *len == Some(held.prefix_len()),
            Read { .. } => false,
        }
    }
}

/// What becomes of one request.
enum Outcome {
    Kept(IpNet, Timestamp),
    New(IpNet),
    Refused(Option<IpNet>, String, Option<Box<Holding>>),
}

impl Outcome {
    fn into_record(self, request: &AddressRequest, cause: Option<&str>, now: Timestamp) -> AddressRecord {
        let allocated = RecordState::Allocated;
        match self {
            Outcome::Kept(prefix, date) => {
                AddressRecord { status: allocated, ..record(request, Some(prefix), date) }
            }
            Outcome::New(prefix) => match cause {
                None => AddressRecord { status: allocated, ..record(request, Some(prefix), now) },
                Some(cause) => AddressRecord {
                    message: Some(free_but_refused(cause)),
                    ..record(request, Some(prefix), now)
                },
            },
            Outcome::Refused(prefix, message, holding) => AddressRecord {
                message: Some(message),
                held_by: holding.as_ref().map(|h| h.holder.claim.clone()),
                held_prefix: holding.as_ref().map(|h| h.prefix.to_string()),
                ..record(request, prefix, now)
            },
        }
    }
}

/// The space, and what the claim takes besides.
struct Draft<'a> {
    space: &'a Space,
    policy: &'a Policy,
    tenant: Tenant,
    /// What earlier requests of the same claim got, with the name of the claim.
    taken: Vec<Holding>,
}

impl Draft<'_> {
    fn take(&mut self, prefix: IpNet, claim: &str, now: Timestamp) {
        let holder = Holder {
            tenant: self.tenant,
            claim: claim.into(),
            reference: Reference::default(),
            description: String::new(),
            since: now,
        };
        self.taken.push(Holding { prefix, holder });
    }

    fn overlap(&self, prefix: &IpNet) -> Option<Overlap> {
        let taken = self.taken.iter().find(|h| overlaps(&h.prefix, prefix)).cloned().map(Overlap::Own);
        taken.or_else(|| self.space.overlap(self.tenant, prefix, self.policy))
    }

    fn used(&self, block: &IpNet) -> RangeSet {
        let mut used = self.space.used(self.tenant, block, self.policy);
        self.taken.iter().for_each(|h| used.insert(&h.prefix));
        used
    }

    fn smallest_fit(&self, block: &IpNet, len: u8) -> Option<IpNet> {
        if self.taken.iter().any(|h| overlaps(&h.prefix, block)) {
            return self.used(block).smallest_fit(block, len);
        }
        self.space.smallest_fit(self.tenant, block, len, self.policy)
    }

    fn decide(&mut self, request: &Read, claim: &str, now: Timestamp) -> Outcome {
        if let Some(prefix) = request.prefix {
            return match self.overlap(&prefix) {
                None => {
                    self.take(prefix, claim, now);
                    Outcome::New(prefix)
                }
                Some(Overlap::Own(h)) => {
                    let words = format!(
                        "Overlaps {}, held by {} since {}.",
                        h.prefix,
                        h.holder.claim,
                        date(h.holder.since)
                    );
                    Outcome::Refused(Some(prefix), words, Some(Box::new(h)))
                }
                Some(Overlap::Foreign) => {
                    let words = "Overlaps addresses that another organisation holds.".to_string();
                    Outcome::Refused(Some(prefix), words, None)
                }
            };
        }
        let (Some(from), Some(len)) = (request.from, request.len) else {
            return Outcome::Refused(None, "needs prefix, or from and prefixLength".into(), None);
        };
        if let Some(prefix) = self.smallest_fit(&from, len) {
            self.take(prefix, claim, now);
            return Outcome::New(prefix);
        }
        let largest = self.used(&from).largest_free(&from);
        let left =
            largest.map_or_else(|| "the block is full".into(), |p| format!("the largest free prefix is {p}"));
        Outcome::Refused(None, format!("No /{len} is free in {from}: {left}."), None)
    }
}

/// The day of an instant in UTC.
fn date(at: Timestamp) -> String {
    at.to_zoned(jiff::tz::TimeZone::UTC).strftime("%b %-d, %Y").to_string()
}
