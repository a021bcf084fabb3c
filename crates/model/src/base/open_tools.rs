//! The tools that an operator may open to visitors without an account.

use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// A tool that can be opened, each by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OpenTool {
    /// Registration and DNS of a domain.
    Scan,
    /// The health checks of a zone.
    Check,
    /// The FQDN analyzer.
    Fqdn,
    /// Cache vs authoritative.
    Compare,
    /// A trace from the root.
    Trace,
}

impl OpenTool {
    /// All of them, in the order of the navigation.
    pub const ALL: [OpenTool; 5] =
        [OpenTool::Scan, OpenTool::Check, OpenTool::Fqdn, OpenTool::Compare, OpenTool::Trace];

    /// The word in settings and addresses: `/tools/WORD`.
    pub const fn as_str(self) -> &'static str {
        match self {
            OpenTool::Scan => "scan",
            OpenTool::Check => "check",
            OpenTool::Fqdn => "fqdn",
            OpenTool::Compare => "compare",
            OpenTool::Trace => "trace",
        }
    }

    /// The name in the navigation.
    pub const fn label(self) -> &'static str {
        match self {
            OpenTool::Scan => "Scan",
            OpenTool::Check => "Check",
            OpenTool::Fqdn => "FQDN",
            OpenTool::Compare => "Cache vs authoritative",
            OpenTool::Trace => "Trace",
        }
    }

    /// The tool of a word.
    pub fn from_word(word: &str) -> Option<OpenTool> {
        OpenTool::ALL.into_iter().find(|t| t.as_str() == word)
    }
}

/// A set of tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolSet(u8);

impl ToolSet {
    /// True when no tool is open.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether a tool is in the set.
    pub fn contains(self, tool: OpenTool) -> bool {
        self.0 & (1 << tool as u8) != 0
    }

    /// The tools of the set, in the order of the navigation.
    pub fn iter(self) -> impl Iterator<Item = OpenTool> {
        OpenTool::ALL.into_iter().filter(move |t| self.contains(*t))
    }
}

impl FromIterator<OpenTool> for ToolSet {
    fn from_iter<I: IntoIterator<Item = OpenTool>>(tools: I) -> Self {
        ToolSet(tools.into_iter().fold(0, |bits, tool| bits | 1 << tool as u8))
    }
}

impl FromStr for ToolSet {
    type Err = String;

    /// Reads words separated by commas.
    fn from_str(text: &str) -> Result<Self, String> {
        let words = text.split(',').map(str::trim).filter(|w| !w.is_empty());
        words
            .map(|word| {
                OpenTool::from_word(word).ok_or_else(|| {
                    let all = OpenTool::ALL.map(OpenTool::as_str).join(", ");
                    format!("“{word}” is no tool that can be opened; these can: {all}")
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_words_is_read_and_an_unknown_word_is_named() {
        let set: ToolSet = " trace,scan ,,".parse().unwrap();
        assert_eq!(set.iter().collect::<Vec<_>>(), [OpenTool::Scan, OpenTool::Trace]);
        assert!(!set.contains(OpenTool::Check) && !set.is_empty());
        assert!("".parse::<ToolSet>().unwrap().is_empty());
        let wrong = "scan,whois".parse::<ToolSet>().unwrap_err();
        assert!(wrong.contains("“whois”") && wrong.contains("compare, trace"), "{wrong}");
    }
}
