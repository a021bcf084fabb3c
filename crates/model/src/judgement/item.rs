//! An item: an organisation's holding of a domain. What is owned, not what is observed.

use super::checks::Checks;
use super::expiry::Reminded;
use super::status::Status;
use crate::base::ids::OrgId;
use crate::base::names::DomainName;
use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// Whether the organisation is responsible for a domain or only looks at it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ownership {
    /// Responsible: counts in "is anything on fire".
    #[default]
    Owned,
    /// Only looked at: stays out of it.
    Watched,
}

impl Ownership {
    /// The stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Ownership::Owned => "owned",
            Ownership::Watched => "watched",
        }
    }

    /// Reads the stable word.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "owned" => Some(Ownership::Owned),
            "watched" => Some(Ownership::Watched),
            _ => None,
        }
    }
}

/// An organisation's holding of a domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Whose.
    pub org: OrgId,
    /// Which domain.
    pub name: DomainName,
    /// Owned or watched.
    pub ownership: Ownership,
    /// Tags, sorted, each once.
    pub tags: Vec<String>,
    /// Free text.
    pub note: String,
    /// Expiration set manually, for registries that publish none.
    pub manual_expires: Option<Date>,
    /// Auto-renew as the user marked it; `None` when no one said.
    pub auto_renew: Option<bool>,
    /// Until when no message about it is sent; its events are recorded all the same.
    #[serde(default)]
    pub muted_until: Option<Timestamp>,
    /// Its settings of checks.
    #[serde(default, skip_serializing_if = "Checks::is_empty")]
    pub checks: Checks,
    /// The reminder days of its organisation by which it was judged; not stored with it.
    #[serde(skip)]
    pub org_days: Option<Vec<i64>>,
    /// Reminders of its expiration that were announced.
    #[serde(default)]
    pub reminded: Vec<Reminded>,
    /// Whether the domain was ever seen delegated.
    pub was_delegated: bool,
    /// When it was added.
    pub added_at: Timestamp,
    /// Status as judged last.
    pub status: Status,
    /// Time of the newest detected registration change.
    pub last_change_at: Option<Timestamp>,
    /// Time of the newest detected DNS change.
    #[serde(default)]
    pub last_dns_change_at: Option<Timestamp>,
    /// When its schedule scans it next.
    pub next_scan_at: Option<Timestamp>,
}

impl Item {
    /// A new holding that nothing is known about yet.
    pub fn new(org: OrgId, name: DomainName, ownership: Ownership, now: Timestamp) -> Self {
        Item {
            org,
            name,
            ownership,
            tags: Vec::new(),
            note: String::new(),
            manual_expires: None,
            auto_renew: None,
            muted_until: None,
            checks: Checks::default(),
            org_days: None,
            reminded: Vec::new(),
            was_delegated: false,
            added_at: now,
            status: Status::never_scanned(),
            last_change_at: None,
            last_dns_change_at: None,
            next_scan_at: Some(now),
        }
    }
}

/// Changes to what an organisation says about its holding; `None` leaves a field as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ItemPatch {
    /// Owned or watched.
    pub ownership: Option<Ownership>,
    /// The whole set of tags.
    pub tags: Option<Vec<String>>,
    /// The note.
    pub note: Option<String>,
    /// Manual expiration; `Some(None)` (in JSON `null`) clears it.
    #[serde(deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    pub manual_expires: Option<Option<Date>>,
    /// Auto-renew as the user set it; `Some(None)` (in JSON `null`) clears it.
    #[serde(deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    pub auto_renew: Option<Option<bool>>,
    /// Until when no message is sent; `Some(None)` (in JSON `null`) sends them again.
    #[serde(deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    pub muted_until: Option<Option<Timestamp>>,
    /// Seconds between two scheduled scans; `Some(None)` (in JSON `null`) follows the organisation.
    #[serde(deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    pub scan_interval: Option<Option<i64>>,
    /// Days of reminders; `Some(None)` (in JSON `null`) follows the organisation.
    #[serde(deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    pub expiry_days: Option<Option<Vec<i64>>>,
}

/// A field that is there, be it `null`, was said; only one that is left out was not.
fn said<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(
    field: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(field).map(Some)
}

/// Longest note, in characters.
pub const NOTE_MAX: usize = 10_000;

/// Longest tag, in characters.
pub const TAG_MAX: usize = 40;

/// Normalises a tag: trimmed, inner white space folded; `None` when nothing is left or it is too long.
pub fn normal_tag(tag: &str) -> Option<String> {
    let t = tag.split_whitespace().collect::<Vec<_>>().join(" ");
    (!t.is_empty() && t.chars().count() <= TAG_MAX && !t.contains(',')).then_some(t)
}
