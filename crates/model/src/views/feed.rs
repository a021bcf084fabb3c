//! Feeds: a calendar of expirations and a news feed of events, each at an address of its own that needs no sign-in.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Feeds of an organisation at most.
pub const FEEDS_MAX: usize = 50;

/// What a feed contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeedKind {
    /// Expirations of domains as an iCalendar (RFC 5545).
    Calendar,
    /// Events as an Atom feed (RFC 4287).
    Events,
}

impl FeedKind {
    /// All kinds.
    pub const ALL: [FeedKind; 2] = [FeedKind::Calendar, FeedKind::Events];

    /// The stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            FeedKind::Calendar => "calendar",
            FeedKind::Events => "events",
        }
    }

    /// Reads the stable word.
    pub fn from_word(word: &str) -> Option<Self> {
        FeedKind::ALL.into_iter().find(|k| k.as_str() == word)
    }

    /// The words people see.
    pub fn label(self) -> &'static str {
        match self {
            FeedKind::Calendar => "Calendar of expirations (iCalendar)",
            FeedKind::Events => "Events (Atom)",
        }
    }

    /// The end of its address.
    pub fn extension(self) -> &'static str {
        match self {
            FeedKind::Calendar => "ics",
            FeedKind::Events => "atom",
        }
    }
}

/// A feed of an organisation. The secret in its address is known only to those it was shown to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feed {
    /// Identity.
    pub id: String,
    /// As people call it.
    pub name: String,
    /// What it contains.
    pub kind: FeedKind,
    /// Who created it.
    pub created_by: String,
    /// When.
    pub created_at: Timestamp,
    /// When it was read last, to the hour.
    #[serde(default)]
    pub used_at: Option<Timestamp>,
}
