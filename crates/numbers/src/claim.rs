//! Claims: what a component asks for, and the registry's decision. A claim is allocated whole, or its refused records
//! say why.

use crate::prefix::{is_v4, overlaps, parse};
use crate::ranges::RangeSet;
use crate::space::{Holder, Holding, Overlap, Policy, Space, Tenant};
use ipnet::IpNet;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Longest description, in characters.
pub const DESCRIPTION_MAX: usize = 255;
/// Most requests of one claim.
pub const REQUESTS_MAX: usize = 256;
/// Longest group or resource of a reference, in characters.
pub const REFERENCE_MAX: usize = 253;

/// The component that uses a prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Reference {
    /// API group or system, such as `apps` or `kube-apiserver`.
    pub group: String,
    /// Resource in it, such as `services`.
    pub resource: String,
}

/// One prefix that is asked for: an exact `prefix`, or any of `prefix_length` bits out of the block `from`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AddressRequest {
    /// An exact prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// The block to take it from. With `prefix`, the prefix must lie inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The length wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix_length: Option<u8>,
    /// The component that uses it.
    pub reference: Reference,
    /// What it is for; at most [`DESCRIPTION_MAX`] characters.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// What a claim asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimSpec {
    /// The prefixes, all or none of which are allocated.
    pub address_space: Vec<AddressRequest>,
}

/// Whether a record's prefix is the claim's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordState {
    /// It is.
    Allocated,
    /// It is not; the record says why.
    Unavailable,
}

/// The decision about one request, in the order of the requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddressRecord {
    /// The prefix; absent when a block had none of the length wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// The component that uses it.
    pub reference: Reference,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// When it was allocated or refused.
    pub date: Timestamp,
    /// Allocated or not.
    pub status: RecordState,
    /// Why not, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The claim of the same organisation that holds the addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<String>,
    /// What that claim holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_prefix: Option<String>,
}

/// The registry's decision about a claim.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimStatus {
    /// One record for each request.
    pub address_space: Vec<AddressRecord>,
}

impl ClaimStatus {
    /// True when every record is allocated. A claim that asks for nothing is.
    pub fn is_allocated(&self) -> bool {
        self.address_space.iter().all(|r| r.status == RecordState::Allocated)
    }

    /// Prefixes that the claim holds.
    pub fn allocated(&self) -> impl Iterator<Item = (IpNet, &AddressRecord)> {
        let allocated = self.address_space.iter().filter(|r| r.status == RecordState::Allocated);
        allocated.filter_map(|r| Some((r.prefix.as_deref()?.parse().ok()?, r)))
    }

    /// Prefixes that the claim holds for a component: the services ranges of `kube-apiserver`, for instance.
    pub fn held_for(&self, reference: &Reference) -> impl Iterator<Item = IpNet> {
        self.allocated().filter(move |(_, r)| r.reference == *reference).map(|(p, _)| p)
    }
}

/// A field of a claim that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {rule}")]
pub struct SpecError {
    /// Path of the field.
    pub field: String,
    /// The value, shortened.
    pub value: String,
    /// The rule it breaks.
    pub rule: String,
}

/// A request whose texts were read.
struct Read {
    prefix: Option<IpNet>,
    from: Option<IpNet>,
    len: Option<u8>,
}

fn read(request: &AddressRequest, at: usize) -> Result<Read, Vec<SpecError>> {
    let mut errors = Vec::new();
    let mut wrong = |field: &str, value: &str, rule: String| {
        let field = format!("spec.addressSpace[{at}]{}{field}", if field.is_empty() { "" } else { "." });
        errors.push(SpecError { field, value: value.chars().take(80).collect(), rule });
    };
    let mut net = |field: &str, text: &Option<String>| {
        let text = text.as_deref()?;
        parse(text).map_err(|e| wrong(field, text, e.to_string())).ok()
    };
    let (prefix, from) = (net("prefix", &request.prefix), net("from", &request.from));
    match (&request.prefix, &request.from, request.prefix_length) {
        (None, None, _) => wrong("", "", "needs prefix, or from and prefixLength".into()),
        (None, Some(_), None) => {
            wrong("prefixLength", "", "required when only the block (from) is given".into());
        }
        (Some(_), _, Some(len)) if prefix.is_some_and(|p| p.prefix_len() != len) => {
            wrong("prefixLength", &len.to_string(), "differs from the length of prefix".into());
        }
        _ => {}
    }
    if let (Some(prefix), Some(from)) = (&prefix, &from) {
        if is_v4(prefix) != is_v4(from) {
            let (p, f) = if is_v4(prefix) { ("IPv4", "IPv6") } else { ("IPv6", "IPv4") };
            wrong("prefix", &prefix.to_string(), format!("is {p}, the block {from} is {f}"));
        } else if !from.contains(prefix) {
            wrong("prefix", &prefix.to_string(), format!("lies outside the block {from}"));
        }
    }
    if let (Some(from), Some(len), None) = (&from, request.prefix_length, &request.prefix)
        && (len < from.prefix_len() || len > from.max_prefix_len())
    {
        let rule =
            format!("must be from {} to {} in the block {from}", from.prefix_len(), from.max_prefix_len());
        wrong("prefixLength", &len.to_string(), rule);
    }
    let characters = request.description.chars().count();
    if characters > DESCRIPTION_MAX {
        wrong(
            "description",
            &request.description,
            format!("has {characters} characters, at most {DESCRIPTION_MAX} are allowed"),
        );
    }
    for (field, text) in
        [("reference.group", &request.reference.group), ("reference.resource", &request.reference.resource)]
    {
        if text.chars().count() > REFERENCE_MAX || text.chars().any(char::is_control) {
            wrong(
                field,
                text,
                format!("must be at most {REFERENCE_MAX} characters without control characters"),
            );
        }
    }
    if request.reference.resource.trim().is_empty() {
        wrong("reference.resource", "", "required: the component that uses the prefix".into());
    }
    if errors.is_empty() { Ok(Read { prefix, from, len: request.prefix_length }) } else { Err(errors) }
}

/// Every rule that a claim breaks by itself, whatever else is allocated.
pub fn validate(spec: &ClaimSpec) -> Vec<SpecError> {
    let whole = |value: usize, rule: &str| SpecError {
        field: "spec.addressSpace".into(),
        value: value.to_string(),
        rule: rule.into(),
    };
    if spec.address_space.is_empty() {
        return vec![whole(0, "needs at least one entry")];
    }
    if spec.address_space.len() > REQUESTS_MAX {
        return vec![whole(spec.address_space.len(), "has more than 256 entries")];
    }
    let mut errors = Vec::new();
    let mut exact: Vec<(usize, IpNet)> = Vec::new();
    for (at, request) in spec.address_space.iter().enumerate() {
        match read(request, at) {
            Err(e) => errors.extend(e),
            Ok(Read { prefix: Some(prefix), .. }) => {
                if let Some((i, other)) = exact.iter().find(|(_, p)| overlaps(p, &prefix)) {
                    errors.push(SpecError {
                        field: format!("spec.addressSpace[{at}].prefix"),
                        value: prefix.to_string(),
                        rule: format!("overlaps {other} of spec.addressSpace[{i}]"),
                    });
                }
                exact.push((at, prefix));
            }
            Ok(_) => {}
        }
    }
    errors
}

/// Decides about a claim. Prefixes that `before` says the claim holds already stay as they are while a request still
/// asks for them; `space` must not contain them. What is new is allocated whole or not at all.
///
/// The spec must have passed [`validate`]; a request that can't be read is refused.
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
    let refused = outcome.iter().flatten().any(|o| matches!(o, Outcome::Refused(..)));
    let records = spec.address_space.iter().zip(outcome);
    let records = records.map(|(request, outcome)| {
        outcome.map_or_else(|| record(request, None, now), |o| o.into_record(request, refused, now))
    });
    ClaimStatus { address_space: records.collect() }
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
    fn into_record(self, request: &AddressRequest, claim_refused: bool, now: Timestamp) -> AddressRecord {
        let allocated = RecordState::Allocated;
        match self {
            Outcome::Kept(prefix, date) => {
                AddressRecord { status: allocated, ..record(request, Some(prefix), date) }
            }
            Outcome::New(prefix) if !claim_refused => {
                AddressRecord { status: allocated, ..record(request, Some(prefix), now) }
            }
            Outcome::New(prefix) => {
                let words = "Free, but a claim is allocated as a whole, and another entry was refused.";
                AddressRecord { message: Some(words.into()), ..record(request, Some(prefix), now) }
            }
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
