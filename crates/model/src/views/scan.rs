//! Progress and result of a scan, as shown while it runs.

use crate::base::ids::LogPosition;
use crate::base::names::DomainName;
use crate::judgement::event::Change;
use crate::observation::PartKind;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The stages of a scan in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Waits for its turn.
    Queued,
    /// RDAP or WHOIS is asked.
    Registration,
    /// Parent and name servers are asked.
    Delegation,
    /// Records of the zone are read.
    Zone,
    /// The chain of trust is validated.
    Dnssec,
    /// TLS certificates are read.
    Certificates,
    /// Compared with what was known, and recorded.
    Compare,
    /// Finished.
    Done,
}

impl Stage {
    /// The stages that do something, in order.
    pub const WORK: [Stage; 6] = [
        Stage::Registration,
        Stage::Delegation,
        Stage::Zone,
        Stage::Dnssec,
        Stage::Certificates,
        Stage::Compare,
    ];

    /// The word people see.
    pub fn label(self) -> &'static str {
        match self {
            Stage::Queued => "Queued",
            Stage::Registration => "Registration",
            Stage::Delegation => "Delegation",
            Stage::Zone => "Zone",
            Stage::Dnssec => "DNSSEC",
            Stage::Certificates => "Certificates",
            Stage::Compare => "Compare",
            Stage::Done => "Done",
        }
    }
}

/// How a stage went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageResult {
    /// Which.
    pub stage: Stage,
    /// Whether it read what it was to read.
    pub ok: bool,
    /// In a few words (`RDAP answered`, `3 of 4 servers authoritative`, the error's sentence).
    pub words: String,
    /// Milliseconds it took.
    pub ms: u64,
}

/// How a scan ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanResult {
    /// What changed; empty when nothing did or when this was the first scan.
    pub changes: Vec<Change>,
    /// The result in words (`2 changes: …`, `Nothing changed`, `Registration could not be read: …`).
    pub sentence: String,
    /// True when a part failed.
    pub failed: bool,
}

impl ScanResult {
    /// The result in words. `failed` names the parts that could not be read, with the reason.
    pub fn new(first: bool, changes: Vec<Change>, failed: &[(PartKind, String)]) -> Self {
        let mut sentence = match changes.as_slice() {
            [] if first => "Baseline saved".to_string(),
            [] => "Nothing changed".to_string(),
            [one] => format!("1 change: {}", one.sentence()),
            many => {
                let words: Vec<_> = many.iter().take(4).map(Change::sentence).collect();
                let more =
                    if many.len() > 4 { format!("; and {} more", many.len() - 4) } else { String::new() };
                format!("{} changes: {}{more}", many.len(), words.join("; "))
            }
        };
        for (part, why) in failed {
            sentence.push_str(&format!(". {} could not be read: {why}", part.label()));
        }
        ScanResult { changes, sentence, failed: !failed.is_empty() }
    }
}

impl ScanResult {
    /// The result without the changes themselves: for where they stand below it.
    pub fn headline(&self) -> String {
        match self.changes.len() {
            0 => self.sentence.clone(),
            1 => "1 change".to_string(),
            n => format!("{n} changes"),
        }
    }
}

/// A scan as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanProgress {
    /// The domain.
    pub name: DomainName,
    /// Stages that run now (several at once), or `Queued`/`Done` alone.
    pub running: Vec<Stage>,
    /// Stages behind it, in the order they ended.
    pub done: Vec<StageResult>,
    /// When it was asked for.
    pub started_at: Timestamp,
    /// Result, once there is one.
    pub result: Option<ScanResult>,
    /// True when scans of the domain failed again and again, and none is made until a person asks for one.
    #[serde(default)]
    pub suspended: bool,
}

impl ScanProgress {
    /// True once the result is there.
    pub fn finished(&self) -> bool {
        self.result.is_some()
    }
}

/// What is sent to live pages, as server-sent events. `rv` is the position to continue from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "live", rename_all = "snake_case")]
pub enum Live {
    /// Something of the organisation was recorded: a row of the change log.
    Changed(LogEntry),
    /// A scan moved on.
    Scan(ScanProgress),
    /// Something was missed: the page reads all it shows again. What follows continues from this position.
    Reset {
        /// The position.
        rv: LogPosition,
    },
}

/// What was done to a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// Created.
    Create,
    /// Changed.
    Update,
    /// Deleted; the entry is the tombstone.
    Delete,
}

impl Op {
    /// The stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Op::Create => "create",
            Op::Update => "update",
            Op::Delete => "delete",
        }
    }
}

/// A row of the change log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Place in the log; increases in commit order.
    pub rv: LogPosition,
    /// Whose.
    pub org: crate::base::ids::OrgId,
    /// Kind of thing (`item`, `event`).
    pub kind: String,
    /// Its name (domain name, event id).
    pub name: String,
    /// What was done.
    pub op: Op,
    /// When.
    pub at: Timestamp,
}
