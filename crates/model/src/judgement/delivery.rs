//! What became of messages, and what a rule would have sent.

use super::event::{EventKind, Severity};
use crate::base::ids::EventId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How a message to a channel stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum DeliveryState {
    /// To be sent.
    Waiting {
        /// Not before.
        due_at: Timestamp,
        /// Attempts that failed.
        attempts: u32,
        /// Why the last attempt failed.
        error: Option<String>,
    },
    /// Accepted by the other side.
    Delivered {
        /// When.
        at: Timestamp,
        /// What the other side answered.
        answer: String,
    },
    /// Closed without being sent: the events were acknowledged or deleted, or the channel was removed.
    Skipped {
        /// When.
        at: Timestamp,
        /// Why, in a sentence.
        reason: String,
    },
    /// Given up.
    Failed {
        /// When.
        at: Timestamp,
        /// Why the last attempt failed.
        error: String,
        /// Attempts made.
        attempts: u32,
    },
}

impl DeliveryState {
    /// The stable words of all states.
    pub const WORDS: [&'static str; 4] = ["waiting", "delivered", "skipped", "failed"];

    /// The stable word.
    pub fn as_str(&self) -> &'static str {
        match self {
            DeliveryState::Waiting { .. } => "waiting",
            DeliveryState::Delivered { .. } => "delivered",
            DeliveryState::Skipped { .. } => "skipped",
            DeliveryState::Failed { .. } => "failed",
        }
    }

    /// True for a message that was given up.
    pub fn is_failed(&self) -> bool {
        matches!(self, DeliveryState::Failed { .. })
    }
}

/// A message to a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageStatus {
    /// The first event of its scan; with the channel it is the identity of the message.
    pub id: EventId,
    /// Identity of the channel.
    pub channel: String,
    /// The domain.
    pub domain: String,
    /// The events it is about.
    pub events: Vec<EventId>,
    /// Since when it could be sent: the time of the scan, the end of a wait that was asked for, or when it was sent again.
    pub at: Timestamp,
    /// How it stands.
    pub state: DeliveryState,
}

/// What happened to a test message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestResult {
    /// Whether the other side accepted it.
    pub delivered: bool,
    /// What the other side answered, or why it could not be sent, in sentences.
    pub words: String,
    /// When.
    pub at: Timestamp,
}

/// Why a rule sends nothing about an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "why", content = "kind", rename_all = "snake_case")]
pub enum Unsent {
    /// The rule is not about this kind.
    Kind(EventKind),
    /// It is less severe than what the rule asks for.
    Severity,
    /// The rule is not about this domain, or the domain is not held any more.
    OtherDomain,
}

/// Events of the last seven days that a rule would not have sent, for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotSent {
    /// The reason.
    pub why: Unsent,
    /// How many.
    pub count: u64,
}

impl NotSent {
    /// The number and the reason in words.
    pub fn words(&self) -> String {
        let events = if self.count == 1 { "event" } else { "events" };
        match self.why {
            Unsent::Kind(kind) => format!("{} {events} “{}” (kind not selected)", self.count, kind.label()),
            Unsent::Severity => format!("{} less severe {events}", self.count),
            Unsent::OtherDomain => format!("{} {events} about other domains", self.count),
        }
    }
}

/// A message that a rule would have sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviewMessage {
    /// When.
    pub at: Timestamp,
    /// What about.
    pub words: String,
    /// The worst of its events.
    pub severity: Severity,
    /// Since when its first event waited for the end of quiet hours; `None` where none did.
    pub held_from: Option<Timestamp>,
}

/// What a rule would have sent in the last seven days.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RulePreview {
    /// Messages to each of its channels.
    pub messages: u64,
    /// Events in them.
    pub events: u64,
    /// All events of these days.
    pub of: u64,
    /// The newest of the messages, at most 5.
    pub newest: Vec<PreviewMessage>,
    /// The other events by reason, most first.
    #[serde(default)]
    pub not_sent: Vec<NotSent>,
    /// How many domains the rule is about now; not counted for rules of a list.
    #[serde(default)]
    pub domains: Option<u64>,
    /// True when there were too many events to read all.
    pub partial: bool,
}
