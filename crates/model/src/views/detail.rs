//! What the pages of one domain show.

use crate::base::ids::{LogPosition, SnapshotId};
use crate::judgement::item::Item;
use crate::observation::Observation;
use crate::registration::{Party, Protocol};
use crate::views::inventory::Row;
use crate::views::scan::ScanProgress;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// One domain of an organisation with all that is known about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Detail {
    /// The holding.
    pub item: Item,
    /// Its table row.
    pub row: Row,
    /// What was seen; `None` before the first scan.
    pub observation: Option<Observation>,
    /// How many snapshots are kept.
    pub snapshots: u64,
    /// How many events it has.
    pub events: u64,
    /// A scan that runs or waits now.
    pub scan: Option<ScanProgress>,
    /// The place in the change log this was read at, or a little before.
    pub rv: LogPosition,
    /// The server's clock when this was read.
    pub now: Timestamp,
}

/// A kept state, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotMeta {
    /// Identity.
    pub id: SnapshotId,
    /// When this state was first seen.
    pub at: Timestamp,
    /// What made it differ from the one before, in words; empty for the first.
    pub summary: Vec<String>,
}

/// A kept state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Identity and time.
    pub meta: SnapshotMeta,
    /// What was seen then.
    pub observation: Observation,
}

/// A raw answer as it came, kept with a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawAnswer {
    /// RDAP or WHOIS.
    pub protocol: Protocol,
    /// Registry or registrar.
    pub party: Party,
    /// Host or URL that answered.
    pub server: String,
    /// When.
    pub at: Timestamp,
    /// The text, decoded; JSON as sent.
    pub body: String,
}
