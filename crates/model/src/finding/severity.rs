//! The one scale of severity, and how every other scale maps to it: levels of findings, tones of headlines, and
//! (`judgement::status`) the words of a domain's status. Colours, icons and alert rules go by this scale.

use super::{Level, Tone};
use serde::{Deserialize, Serialize};

/// How much something asks for attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    #[default]
    Info,
    /// Look at it some time.
    Notice,
    /// Look at it today.
    Warning,
    /// Look at it now.
    Critical,
}

impl Severity {
    /// All, least first.
    pub const ALL: [Severity; 4] = [Severity::Info, Severity::Notice, Severity::Warning, Severity::Critical];

    /// The stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Notice => "notice",
            Severity::Warning => "warning",
            Severity::Critical => "critical",
        }
    }

    /// Reads the stable word.
    pub fn from_word(word: &str) -> Option<Severity> {
        Severity::ALL.into_iter().find(|s| s.as_str() == word)
    }

    /// The word people see.
    pub fn label(self) -> &'static str {
        match self {
            Severity::Info => "Info",
            Severity::Notice => "Notice",
            Severity::Warning => "Warning",
            Severity::Critical => "Critical",
        }
    }
}

impl Level {
    /// Its place on the scale. What breaks a zone for some users is as urgent as what breaks it for all.
    pub fn severity(self) -> Severity {
        match self {
            Level::Debug | Level::Info => Severity::Info,
            Level::Notice => Severity::Notice,
            Level::Warning => Severity::Warning,
            Level::Error | Level::Critical => Severity::Critical,
        }
    }
}

impl Tone {
    /// Its place on the scale.
    pub fn severity(self) -> Severity {
        match self {
            Tone::Ok => Severity::Info,
            Tone::Notice => Severity::Notice,
            Tone::Warning => Severity::Warning,
            Tone::Critical => Severity::Critical,
        }
    }

    /// True when a command that reports it ends with exit code 1.
    pub fn is_problem(self) -> bool {
        self.severity() >= Severity::Warning
    }
}
