//! Names meet numbers: where the addresses of a domain lie in the registry of address space, and which domains point
//! into a prefix.

use crate::resources::Cover;
use model::address_space::AddressSpace;
pub use model::address_space::Place;
use model::finding::{Finding, Level};
use numbers::{IpNet, Reference};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// An address of a domain and where it lies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedAddress {
    /// Owner name of the record.
    pub name: String,
    /// `A` or `AAAA`.
    pub rtype: String,
    /// The address.
    pub address: IpAddr,
    /// Where it lies.
    pub place: Place,
    /// The claim that covers it, or covered it last.
    pub cover: Option<Cover>,
    /// The block that holds it when no claim does.
    pub block: Option<IpNet>,
}

/// A component in words: `group/resource`.
pub fn component(r: &Reference) -> String {
    if r.group.is_empty() { r.resource.clone() } else { format!("{}/{}", r.group, r.resource) }
}

impl From<PlacedAddress> for AddressSpace {
    fn from(p: PlacedAddress) -> Self {
        let block = p.block.map(|b| b.to_string());
        AddressSpace {
            address: p.address,
            place: p.place,
            prefix: p.cover.as_ref().map(|c| c.prefix.to_string()).or(block),
            claim: p.cover.as_ref().map(|c| c.claim.clone()),
            component: p.cover.as_ref().map(|c| component(&c.reference)),
            sentence: p.sentence(),
        }
    }
}

impl PlacedAddress {
    /// Where it lies, in a sentence.
    pub fn sentence(&self) -> String {
        let at = format!("{} points to {}", self.name, self.address);
        match (self.place, &self.cover, &self.block) {
            (Place::Claimed, Some(c), _) => {
                format!(
                    "{at}, which {} of claim {} covers for {}.",
                    c.prefix,
                    c.claim,
                    component(&c.reference)
                )
            }
            (Place::Released, Some(c), _) => {
                let day = c.released_at.map(model::time::human_day).unwrap_or_default();
                format!("{at}, in {}, which claim {} released on {day}.", c.prefix, c.claim)
            }
            (Place::Unclaimed, _, Some(block)) => {
                format!("{at}, in {block}, from which prefixes are allocated, and no claim covers it.")
            }
            _ => format!("{at}, which lies outside of the registered address space."),
        }
    }

    /// What is wrong with it, as a finding about the zone; nothing about addresses elsewhere.
    pub fn finding(&self, zone: &str) -> Option<Finding> {
        let (tag, level, fix) = match self.place {
            Place::Claimed | Place::Elsewhere => return None,
            Place::Released => (
                "ADDRESS_IN_RELEASED_SPACE",
                Level::Warning,
                "Remove the record if the component is gone, or claim the prefix again.",
            ),
            Place::Unclaimed => (
                "ADDRESS_IN_UNCLAIMED_SPACE",
                Level::Notice,
                "Claim the prefix for the component that uses it, or remove the record.",
            ),
        };
        let args = serde_json::json!({ "query_name": self.name, "address": self.address });
        Some(Finding {
            tag: tag.into(),
            level,
            args: args.as_object().cloned().unwrap_or_default(),
            test_case: "Domainscope".into(),
            broken: false,
            zone: zone.into(),
            message: self.sentence(),
            fix: fix.into(),
        })
    }
}

/// An address in DNS that no claim covers, although it lies in registered space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrayAddress {
    /// The domain in the inventory.
    pub domain: String,
    /// The address; its place is [`Place::Released`] or [`Place::Unclaimed`].
    pub address: PlacedAddress,
}

/// What needs attention in the address space of an organisation, beside the claims that were refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressReview {
    /// Released prefixes, the newest release first.
    pub released: Vec<Cover>,
    /// Addresses in released or unclaimed space, by address within each area.
    pub stray: Vec<StrayAddress>,
    /// True when there is more than was read.
    pub is_partial: bool,
}

/// Whether the reverse zone knows the name that points to an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Ptr {
    /// A PTR record names it.
    Agrees,
    /// PTR records name others.
    Differs {
        /// Those names.
        names: Vec<String>,
    },
    /// The address has no PTR record.
    Missing,
    /// Not looked up, or no usable answer.
    Unknown,
}

/// A name that points into a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pointer {
    /// The domain in the inventory.
    pub domain: String,
    /// Owner name of the record.
    pub name: String,
    /// The address.
    pub address: IpAddr,
    /// What the reverse zone says.
    pub ptr: Ptr,
    /// When the zone with the record was read last.
    #[serde(default)]
    pub seen_at: Option<model::Timestamp>,
}

/// The names that point into a prefix, by address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pointers {
    /// The prefix.
    pub prefix: IpNet,
    /// The first of them.
    pub pointers: Vec<Pointer>,
    /// True when there are more.
    pub more: bool,
}
