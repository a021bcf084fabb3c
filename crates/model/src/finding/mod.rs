//! Findings: what a check noticed, in Zonemaster's terms where the check is one of theirs.

pub mod culprit;
pub mod severity;
pub mod test_case;

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

/// How the name does as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// It resolves everywhere.
    Ok,
    /// It resolves, and not every place gets the same answer: by location, or from an older copy.
    Notice,
    /// It resolves, and something ought to be looked at.
    Warning,
    /// It does not resolve.
    Critical,
}

/// The findings, worst first, those about one server at one address as the worst of them with the number of the others:
/// a server that refuses the zone makes a dozen test cases complain.
pub fn by_server<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<(&'a Finding, usize)> {
    let mut sorted: Vec<&Finding> = findings.collect();
    sorted.sort_by_key(|f| std::cmp::Reverse(f.level));
    let mut out: Vec<(&Finding, usize)> = Vec::new();
    for f in sorted {
        let server = |f: &Finding| f.args.get("ns").and_then(Value::as_str).map(str::to_string);
        match out.iter_mut().find(|(first, _)| server(f).is_some() && server(first) == server(f)) {
            Some((_, more)) => *more += 1,
            None => out.push((f, 0)),
        }
    }
    out
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
    /// True when something is broken now or will break by itself (a dead server, signatures that end soon): a WARNING
    /// with it makes the status of the domain Warning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub broken: bool,
    /// The zone it is about.
    pub zone: String,
    /// What it means, in a sentence.
    #[serde(default)]
    pub message: String,
    /// What to do, in a sentence; empty when nothing is to be done.
    #[serde(default)]
    pub fix: String,
}

impl Finding {
    /// True when the finding alone makes the status of a domain Warning (SPEC section 4).
    pub fn is_urgent(&self) -> bool {
        self.level >= Level::Error || (self.level == Level::Warning && self.broken)
    }

    /// The sentence, or the tag where there is none.
    pub fn words(&self) -> &str {
        if self.message.is_empty() { &self.tag } else { &self.message }
    }
}
