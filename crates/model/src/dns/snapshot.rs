//! The watched records of a zone at one time.

use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// One RRset of a zone snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RrSet {
    /// Owner name.
    pub name: String,
    /// Type mnemonic.
    #[serde(rename = "type")]
    pub rtype: String,
    /// TTL, seconds.
    pub ttl: u32,
    /// RDATA in presentation form, sorted.
    pub data: Vec<String>,
}

/// What one server answered about one record set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSet {
    /// Name and address (`ns1.example.com/192.0.2.1`).
    pub server: String,
    /// The set (`www.example.com A`).
    pub field: String,
    /// The answer.
    pub answer: SetAnswer,
}

/// An answer about a record set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetAnswer {
    /// The records.
    Set(RrSet),
    /// An authoritative answer without such a record.
    Absent,
    /// No usable answer.
    Unanswered,
}

impl SetAnswer {
    /// The RDATA, none for an absent set; `None` without an answer.
    pub fn data(&self) -> Option<&[String]> {
        match self {
            SetAnswer::Set(set) => Some(&set.data),
            SetAnswer::Absent => Some(&[]),
            SetAnswer::Unanswered => None,
        }
    }
}

/// The records of a zone that are watched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ZoneSnapshot {
    /// RRsets that exist, sorted by name and type.
    pub rrsets: Vec<RrSet>,
    /// Whether a name that surely does not exist was answered: the zone has a wildcard at its apex.
    pub wildcard: Option<bool>,
    /// Questions no authoritative server answered (`www.example.com AAAA`): unknown, not absent.
    pub unanswered: Vec<String>,
    /// Those of them that were answered before, with no record: what comes next is a change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub absent_before: Vec<String>,
}

impl ZoneSnapshot {
    /// The addresses that A and AAAA records hold, each with its RRset.
    pub fn addresses(&self) -> impl Iterator<Item = (&RrSet, IpAddr)> {
        let sets = self.rrsets.iter().filter(|s| matches!(s.rtype.as_str(), "A" | "AAAA"));
        sets.flat_map(|s| s.data.iter().filter_map(move |d| Some((s, d.parse().ok()?))))
    }
}
