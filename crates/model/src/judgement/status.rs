//! The status of a domain: one word with its reasons, and when it must be judged again. `judgement::judge` decides it.

use crate::finding::severity::Severity;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The word, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StatusKind {
    /// Broken or about to be lost.
    Critical,
    /// Nothing recent to judge by.
    Unknown,
    /// Needs attention soon.
    Warning,
    /// No lock is set.
    Unlocked,
    /// Registry lock.
    Secure,
    /// As it should be.
    Normal,
}

impl StatusKind {
    /// All, worst first.
    pub const ALL: [StatusKind; 6] = [
        StatusKind::Critical,
        StatusKind::Unknown,
        StatusKind::Warning,
        StatusKind::Unlocked,
        StatusKind::Secure,
        StatusKind::Normal,
    ];

    /// The stable word of URLs and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            StatusKind::Critical => "critical",
            StatusKind::Unknown => "unknown",
            StatusKind::Warning => "warning",
            StatusKind::Unlocked => "unlocked",
            StatusKind::Secure => "secure",
            StatusKind::Normal => "normal",
        }
    }

    /// Reads the stable word.
    pub fn from_word(word: &str) -> Option<StatusKind> {
        StatusKind::ALL.into_iter().find(|k| k.as_str() == word)
    }

    /// The word people see.
    pub fn label(self) -> &'static str {
        match self {
            StatusKind::Critical => "Critical",
            StatusKind::Unknown => "Unknown",
            StatusKind::Warning => "Warning",
            StatusKind::Unlocked => "Unlocked",
            StatusKind::Secure => "Secure · registry lock",
            StatusKind::Normal => "Normal",
        }
    }

    /// Its place on the scale of severity.
    pub fn severity(self) -> Severity {
        match self {
            StatusKind::Critical => Severity::Critical,
            StatusKind::Unknown | StatusKind::Warning => Severity::Warning,
            StatusKind::Unlocked => Severity::Notice,
            StatusKind::Secure | StatusKind::Normal => Severity::Info,
        }
    }

    /// True when a command that reports it ends with exit code 1.
    pub fn is_problem(self) -> bool {
        self.severity() >= Severity::Warning
    }

    /// Whether the domain is as it should be; `None` when that is not known.
    pub fn is_healthy(self) -> Option<bool> {
        match self {
            StatusKind::Critical | StatusKind::Warning => Some(false),
            StatusKind::Unknown => None,
            StatusKind::Unlocked | StatusKind::Secure | StatusKind::Normal => Some(true),
        }
    }

    /// Position for sorting, 0 is worst.
    pub fn rank(self) -> i64 {
        self as i64
    }
}

/// The rule a reason follows from. The snake_case words are stable (stored, API).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The name is not registered.
    Available,
    /// The registry withholds the name.
    Reserved,
    /// An EPP status code.
    Flag,
    /// No name server answers.
    NoNameserver,
    /// DNSSEC does not validate.
    Bogus,
    /// `inactive`, and it was delegated before.
    Inactive,
    /// The expiration has passed.
    Expired,
    /// The expiration is near.
    ExpiresSoon,
    /// A finding of the health checks.
    Finding,
    /// Signatures end soon.
    Signatures,
    /// A certificate ends soon, or ended.
    Certificate,
    /// Not scanned yet.
    NeverScanned,
    /// No look-up ever succeeded.
    NeverRead,
    /// The newest good data is old.
    Stale,
    /// The registry publishes nothing to judge by.
    NothingPublished,
    /// No lock is set.
    NoLock,
    /// All three server locks are set.
    RegistryLock,
    /// Some lock is set.
    Locked,
    /// A rule of a newer version.
    #[serde(other)]
    Other,
}

impl Rule {
    /// Position within a row of the status table: what takes the name off the net first. A flag of the Critical row
    /// explains the others of that row (a deleted name has also expired); one of a lower row only adds to them.
    pub(super) fn order(self, kind: StatusKind) -> u8 {
        match self {
            Rule::Flag if kind > StatusKind::Critical => 100,
            rule => rule as u8,
        }
    }
}

impl std::fmt::Display for Rule {
    /// The stable word.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

/// One reason, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The row of the table this reason belongs to.
    pub kind: StatusKind,
    /// The rule it follows from.
    pub rule: Rule,
    /// The sentence.
    pub sentence: String,
}

/// A judged status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The word.
    pub kind: StatusKind,
    /// Why: reasons of the deciding row first, then what else was noticed.
    pub reasons: Vec<Reason>,
    /// When time alone may change the word; `None` when it can't.
    pub judge_again_at: Option<Timestamp>,
}

impl Status {
    /// The status of a domain that was never scanned.
    pub fn never_scanned() -> Self {
        Status {
            kind: StatusKind::Unknown,
            reasons: vec![Reason {
                kind: StatusKind::Unknown,
                rule: Rule::NeverScanned,
                sentence: "Not scanned yet".into(),
            }],
            judge_again_at: None,
        }
    }

    /// The deciding reasons as one line.
    pub fn why(&self) -> String {
        let decisive: Vec<_> = self
            .reasons
            .iter()
            .filter(|r| r.kind == self.kind)
            .map(|r| r.sentence.trim_end_matches('.'))
            .collect();
        decisive.join(". ")
    }
}
