//! Address space as version 1 shows it.

use model::Timestamp;
use serde::Serialize;
use service::addresses::{Place, PlacedAddress, Pointer, Pointers, Ptr, component};
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
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Pointer)]
struct PointerV1 {
    domain: String,
    name: String,
    address: String,
    /// `agrees`, `differs`, `missing`, or `unknown`: not looked up, or no usable answer.
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
            Ptr::Unknown => ("unknown", Vec::new()),
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
        PointersV1 { prefix: p.prefix.to_string(), names, more: p.more }
    }
}
