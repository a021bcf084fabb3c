//! What became of messages, and what a rule would have sent.

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

/// What a rule would have sent in the last seven days.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RulePreview {
    /// Messages to each of its channels.
    pub messages: u64,
    /// Events in them.
    pub events: u64,
    /// All events of these days.
    pub of: u64,
    /// The newest of the messages, at most 5: when, and what about.
    pub newest: Vec<(Timestamp, String)>,
    /// True when there were too many events to read all.
    pub partial: bool,
}
