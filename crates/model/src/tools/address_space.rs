//! Where addresses lie in the registry of address space of an organisation.

use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Where an address lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// In a prefix that a claim holds.
    Claimed,
    /// In a prefix that a claim held and released.
    Released,
    /// In a block that claims are allocated from, and in no claim.
    Unclaimed,
    /// Outside of what the organisation registers.
    Elsewhere,
}

impl Place {
    /// True where a name should not point.
    pub fn is_problem(self) -> bool {
        matches!(self, Place::Released | Place::Unclaimed)
    }
}

/// An address of a host name and where it lies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressSpace {
    /// The address.
    pub address: IpAddr,
    /// Where it lies.
    pub place: Place,
    /// The prefix that the claim holds or released, or the block of an address that no claim covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// The claim that covers it, or covered it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// The component that the claim names: `group/resource`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    /// Where it lies, in a sentence.
    pub sentence: String,
}
