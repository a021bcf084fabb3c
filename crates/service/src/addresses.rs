//! Names meet numbers: where the addresses of a domain lie in the registry of address space, and which domains point
//! into a prefix.

use crate::ApiError;
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
    /// It was looked up, and there was no usable answer in time.
    NoAnswer,
    /// It was not looked up: the caller may not query servers, there are more addresses than one call looks up, or time or
    /// capacity ran out first.
    NotAsked,
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
    /// A part of them.
    pub pointers: Vec<Pointer>,
    /// Where the next part begins, as a [`PointerCursor`]; `None` on the last.
    pub next: Option<String>,
}

/// Where a list of names that point into a prefix goes on: behind this record. As text `10.20.5.7,q7.io,www.q7.io`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointerCursor {
    /// The address.
    pub address: IpAddr,
    /// The domain in the inventory.
    pub domain: String,
    /// Owner name of the record.
    pub name: String,
}

/// Longest domain and owner name in presentation format (RFC 1035: 255 octets, each at most four characters).
const NAME_MAX: usize = 1020;

impl std::fmt::Display for PointerCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{},{},{}", self.address, self.domain, self.name)
    }
}

impl std::str::FromStr for PointerCursor {
    type Err = ApiError;

    fn from_str(text: &str) -> Result<Self, ApiError> {
        // The owner is the last part: it may contain a comma.
        let mut parts = text.splitn(3, ',');
        let address = parts.next().and_then(|a| a.parse().ok());
        let mut name =
            || parts.next().filter(|n| !n.is_empty() && n.len() <= NAME_MAX).map(ToString::to_string);
        match (address, name(), name()) {
            (Some(address), Some(domain), Some(name)) => Ok(PointerCursor { address, domain, name }),
            _ => {
                let shown: String = text.chars().take(80).collect();
                Err(ApiError::invalid(format!(
                    "“{shown}” is not a position in this list. Start again from the first names."
                )))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        for text in ["10.20.5.7,q7.io,www.q7.io", "2001:db8::7,q7.io,a\\,b.q7.io"] {
            assert_eq!(text.parse::<PointerCursor>().unwrap().to_string(), text);
        }
        let long = format!("10.20.5.7,q7.io,{}", "a".repeat(NAME_MAX + 1));
        for bad in
            ["", "10.20.5.7", "10.20.5.7,q7.io", "10.20.5.7,,www.q7.io", "10.20.5,q7.io,www.q7.io", &long]
        {
            let e = bad.parse::<PointerCursor>().unwrap_err().detail;
            assert!(e.contains("not a position in this list") && e.chars().count() < 200, "{bad}: {e}");
        }
    }
}
