//! Address space as version 1 shows it.

use model::Timestamp;
use serde::{Deserialize, Serialize};
use service::addresses::{Place, PlacedAddress, Pointer, Pointers, Ptr, component};
use service::numbers::SpaceView;
use service::numbers::prefix::size;
use service::space::{ClaimedPrefix, ListedBlock, PrefixSpace};
use utoipa::ToSchema;

/// An address of a domain and where it lies.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Address)]
pub struct AddressV1 {
    name: String,
    #[serde(rename = "type")]
    rtype: String,
    address: String,
    /// `claimed`, `released`, `unclaimed` or `elsewhere`.
    #[schema(value_type = String)]
    place: Place,
    sentence: String,
    /// The prefix that a claim holds or released.
    prefix: Option<String>,
    claim: Option<String>,
    /// The component that the claim names: `group/resource`.
    component: Option<String>,
    since: Option<Timestamp>,
    released_at: Option<Timestamp>,
    /// The block of an unclaimed address.
    block: Option<String>,
}

impl From<PlacedAddress> for AddressV1 {
    fn from(p: PlacedAddress) -> Self {
        let cover = p.cover.as_ref();
        AddressV1 {
            sentence: p.sentence(),
            prefix: cover.map(|c| c.prefix.to_string()),
            claim: cover.map(|c| c.claim.clone()),
            component: cover.map(|c| component(&c.reference)),
            since: cover.map(|c| c.since),
            released_at: cover.and_then(|c| c.released_at),
            block: p.block.map(|b| b.to_string()),
            address: p.address.to_string(),
            name: p.name,
            rtype: p.rtype,
            place: p.place,
        }
    }
}

/// The names that point into a prefix.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Pointers)]
pub struct PointersV1 {
    prefix: String,
    names: Vec<PointerV1>,
    /// True when there are more.
    more: bool,
    /// Where the next part begins (`after`); `null` on the last.
    next: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Pointer)]
struct PointerV1 {
    domain: String,
    name: String,
    address: String,
    /// `agrees`, `differs`, `missing`, `no_answer` (none that is usable, in time), or `not_asked` (the caller may not query
    /// servers, there are more than 64 addresses in the part, or time or capacity ran out first).
    ptr: &'static str,
    /// Names of PTR records that differ.
    ptr_names: Vec<String>,
    /// When the zone with the record was read last.
    seen_at: Option<Timestamp>,
}

impl From<Pointer> for PointerV1 {
    fn from(p: Pointer) -> Self {
        let (ptr, ptr_names) = match p.ptr {
            Ptr::Agrees => ("agrees", Vec::new()),
            Ptr::Differs { names } => ("differs", names),
            Ptr::Missing => ("missing", Vec::new()),
            Ptr::NoAnswer => ("no_answer", Vec::new()),
            Ptr::NotAsked => ("not_asked", Vec::new()),
        };
        PointerV1 {
            domain: p.domain,
            name: p.name,
            address: p.address.to_string(),
            ptr,
            ptr_names,
            seen_at: p.seen_at,
        }
    }
}

impl From<Pointers> for PointersV1 {
    fn from(p: Pointers) -> Self {
        let names = p.pointers.into_iter().map(PointerV1::from).collect();
        PointersV1 { prefix: p.prefix.to_string(), names, more: p.next.is_some(), next: p.next }
    }
}

/// A block to list.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockRequest {
    /// The prefix, without host bits.
    #[schema(example = "10.20.0.0/16")]
    pub prefix: String,
    /// What it is for, at most 255 characters.
    #[serde(default)]
    pub description: String,
}

/// A block that the organisation lists by itself.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Block)]
pub struct BlockV1 {
    prefix: String,
    description: String,
    /// When it was listed.
    listed_at: Timestamp,
    /// How many prefixes in it the organisation's claims hold.
    allocated: usize,
    /// Part that is not free, per cent.
    used_percent: f64,
    /// The shortest free prefix.
    largest_free: Option<String>,
    /// True when other organisations hold some of it.
    other_organisations: bool,
}

impl BlockV1 {
    /// A block as the registry knows it.
    pub fn of(block: ListedBlock, view: &SpaceView) -> Self {
        let survey = view.survey(&block.prefix, 0);
        #[allow(clippy::cast_precision_loss)]
        let used_percent = survey.used as f64 / size(&block.prefix) as f64 * 100.0;
        BlockV1 {
            prefix: block.prefix.to_string(),
            description: block.description,
            listed_at: block.created_at,
            allocated: survey.more_held,
            used_percent,
            largest_free: survey.largest_free.map(|p| p.to_string()),
            other_organisations: survey.has_foreign,
        }
    }
}

/// Who holds what of a prefix, and what of it the organisation could claim.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Space)]
pub struct SpaceV1 {
    prefix: String,
    /// What holds it, in words.
    sentence: String,
    /// What contains the prefix and more; a claim that holds it comes first.
    covering: Vec<ClaimedPrefixV1>,
    /// How many more.
    more_covering: usize,
    /// What lies inside the prefix, by address; the prefix itself, too.
    claims: Vec<ClaimedPrefixV1>,
    /// How many more.
    more_claims: usize,
    /// How many prefixes inside are allocated, with those that are not listed.
    allocated: usize,
    /// The fewest prefixes that hold what is free, by address.
    free: Vec<String>,
    /// How many more.
    more_free: u64,
    /// The shortest free prefix.
    largest_free: Option<String>,
    /// Part that is not free, per cent.
    used_percent: f64,
    /// True when other organisations hold some of it.
    other_organisations: bool,
    /// True when there are more refused claims or released prefixes than were compared (1,000 of each).
    partial: bool,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ClaimedPrefix)]
struct ClaimedPrefixV1 {
    prefix: String,
    claim: String,
    /// The component that the claim names: `group/resource`.
    component: String,
    /// `allocated`, `unavailable` or `released`.
    state: &'static str,
    /// When it was allocated or refused.
    since: Timestamp,
    released_at: Option<Timestamp>,
    /// Why it is unavailable.
    message: Option<String>,
}

impl From<ClaimedPrefix> for ClaimedPrefixV1 {
    fn from(c: ClaimedPrefix) -> Self {
        ClaimedPrefixV1 {
            prefix: c.prefix.to_string(),
            component: component(&c.reference),
            state: c.state.as_str(),
            since: c.since,
            released_at: c.released_at,
            claim: c.claim,
            message: c.message,
        }
    }
}

impl From<PrefixSpace> for SpaceV1 {
    fn from(p: PrefixSpace) -> Self {
        SpaceV1 {
            sentence: p.sentence(),
            prefix: p.prefix.to_string(),
            covering: p.covering.into_iter().map(Into::into).collect(),
            more_covering: p.more_covering,
            claims: p.claims.into_iter().map(Into::into).collect(),
            more_claims: p.more_claims,
            allocated: p.allocated,
            free: p.free.iter().map(ToString::to_string).collect(),
            more_free: p.more_free,
            largest_free: p.largest_free.map(|f| f.to_string()),
            used_percent: p.used,
            other_organisations: p.has_foreign,
            partial: p.is_partial,
        }
    }
}
