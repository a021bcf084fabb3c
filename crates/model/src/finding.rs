//! Findings: what a check noticed, in Zonemaster's terms where the check is one of theirs.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Severity levels of Zonemaster (its document "Severity level definitions"), least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// Of interest to people who debug the check.
    Debug,
    /// As it should be, or only to know.
    Info,
    /// Worth knowing, nothing breaks.
    Notice,
    /// Something works less well than it should.
    Warning,
    /// Something is broken for some users.
    Error,
    /// The zone does not work.
    Critical,
}

impl Level {
    /// The word in capitals, as Zonemaster prints it.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Debug => "DEBUG",
            Level::Info => "INFO",
            Level::Notice => "NOTICE",
            Level::Warning => "WARNING",
            Level::Error => "ERROR",
            Level::Critical => "CRITICAL",
        }
    }

    /// The word people read.
    pub fn label(self) -> &'static str {
        match self {
            Level::Debug => "Debug",
            Level::Info => "Info",
            Level::Notice => "Notice",
            Level::Warning => "Warning",
            Level::Error => "Error",
            Level::Critical => "Critical",
        }
    }

    /// The level a word (in any case) names.
    pub fn from_word(word: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|l| l.as_str().eq_ignore_ascii_case(word))
    }

    /// All levels, least first.
    pub const ALL: [Level; 6] =
        [Level::Debug, Level::Info, Level::Notice, Level::Warning, Level::Error, Level::Critical];
}

/// One thing a check noticed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Message tag; Zonemaster's where there is one (`IS_NOT_AUTHORITATIVE`).
    pub tag: String,
    /// How bad.
    pub level: Level,
    /// Evidence, by Zonemaster's argument names.
    #[serde(default)]
    pub args: Map<String, Value>,
    /// Test case (`Delegation05`), or the check of ours.
    pub test_case: String,
    /// The zone it is about.
    pub zone: String,
    /// What it means, in a sentence.
    #[serde(default)]
    pub message: String,
    /// What to do, in a sentence; empty when nothing is to be done.
    #[serde(default)]
    pub fix: String,
}
