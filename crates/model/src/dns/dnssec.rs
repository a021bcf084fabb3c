//! The DNSSEC state of a zone (RFC 4035 section 4.3).

use super::denial::DenialProof;
use crate::registration::Ds;
use serde::{Deserialize, Serialize};

/// DNSSEC state of a zone (RFC 4035 section 4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DnssecStatus {
    /// A chain of trust from the anchor, all signatures valid.
    Secure,
    /// Proved to be unsigned.
    Insecure,
    /// Ought to validate and does not.
    Bogus,
    /// Could not be told.
    Indeterminate,
}

impl DnssecStatus {
    /// The word people see.
    pub fn label(self) -> &'static str {
        match self {
            DnssecStatus::Secure => "Secure",
            DnssecStatus::Insecure => "Insecure (unsigned)",
            DnssecStatus::Bogus => "Bogus",
            DnssecStatus::Indeterminate => "Indeterminate",
        }
    }
}

/// DNSSEC as seen: the state and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dnssec {
    /// The state.
    pub status: DnssecStatus,
    /// Why, in a sentence.
    pub reason: String,
    /// DS at the parent.
    pub ds: Vec<Ds>,
    /// Key tags of the DNSKEY set.
    pub key_tags: Vec<u16>,
    /// When the first signature of the apex set stops being valid.
    pub signatures_expire: Option<jiff::Timestamp>,
    /// Whether a secure zone proves what is not there; `None` when that was not looked at.
    #[serde(default)]
    pub denial: Option<DenialProof>,
}
