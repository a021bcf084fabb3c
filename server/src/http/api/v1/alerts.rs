//! Channels, rules and messages.

mod messages;
mod rules;

pub use messages::{DropRequest, Dropped, FailedMessageV1, ResendRequest, Resent};
pub use rules::{RulePreviewV1, RuleV1};

use model::Timestamp;
use model::notify::{DeliveryState, MessageStatus, TestResult};
use serde::{Deserialize, Serialize};
use service::{ChannelDraft, ChannelView};
use utoipa::ToSchema;

/// A channel to add or change. Which keys count depends on the kind; on a change an empty secret keeps the old one.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelRequest {
    /// Identifier of the channel to change; empty for a new one.
    id: String,
    /// As people call it.
    name: String,
    /// `email`, `webhook`, `slack`, `discord`, `teams`, `ntfy`, `telegram` or `pagerduty`.
    kind: String,
    /// Addresses of an e-mail channel, separated by commas.
    to: String,
    /// Address of a webhook, workflow or topic.
    url: String,
    /// Token of a bot or topic.
    token: String,
    /// Chat of a Telegram bot.
    chat: String,
    /// Integration key of PagerDuty.
    key: String,
    /// True to add the rule that sends warnings and critical events of owned domains to it.
    with_rule: bool,
}

impl From<ChannelRequest> for ChannelDraft {
    fn from(r: ChannelRequest) -> Self {
        ChannelDraft {
            id: r.id,
            name: r.name,
            kind: r.kind,
            to: r.to,
            url: r.url,
            token: r.token,
            chat: r.chat,
            key: r.key,
            with_rule: r.with_rule,
        }
    }
}

/// A place messages are sent to.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Channel)]
pub struct ChannelV1 {
    id: String,
    name: String,
    kind: String,
    /// The kind in words.
    label: String,
    /// Where it leads, without secrets.
    address: String,
    /// The secret that signs its messages, for those who may change the channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    signing_secret: Option<String>,
    last: Option<MessageV1>,
    /// Since when messages to it fail; left out unless the last one was given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    failing_since: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tested: Option<TestResultV1>,
    /// How many rules use it.
    rules: u64,
    created_at: Timestamp,
}

impl From<ChannelView> for ChannelV1 {
    fn from(c: ChannelView) -> Self {
        ChannelV1 {
            id: c.id,
            name: c.name,
            kind: c.kind,
            label: c.label,
            address: c.address,
            signing_secret: c.signing_secret,
            last: c.last.map(Into::into),
            failing_since: c.failing_since,
            tested: c.tested.map(Into::into),
            rules: c.rules,
            created_at: c.created_at,
        }
    }
}

/// A message to a channel.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Message)]
struct MessageV1 {
    /// The first event of its scan. A repeat has its own id.
    id: i64,
    /// Identifier of the channel.
    channel: String,
    domain: String,
    /// Identifiers of the events it is about.
    events: Vec<i64>,
    /// Since when it could be sent: the time of the scan, or the end of a wait that was asked for.
    at: Timestamp,
    state: MessageStateV1,
}

impl From<MessageStatus> for MessageV1 {
    fn from(m: MessageStatus) -> Self {
        MessageV1 {
            id: m.id.0,
            channel: m.channel,
            domain: m.domain,
            events: m.events.into_iter().map(|id| id.0).collect(),
            at: m.at,
            state: m.state.into(),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = MessageState)]
#[serde(tag = "state", rename_all = "snake_case")]
enum MessageStateV1 {
    Waiting { due_at: Timestamp, attempts: u32, error: Option<String> },
    Delivered { at: Timestamp, answer: String },
    Skipped { at: Timestamp, reason: String },
    Failed { at: Timestamp, error: String, attempts: u32 },
}

impl From<DeliveryState> for MessageStateV1 {
    fn from(s: DeliveryState) -> Self {
        match s {
            DeliveryState::Waiting { due_at, attempts, error } => {
                MessageStateV1::Waiting { due_at, attempts, error }
            }
            DeliveryState::Delivered { at, answer } => MessageStateV1::Delivered { at, answer },
            DeliveryState::Skipped { at, reason } => MessageStateV1::Skipped { at, reason },
            DeliveryState::Failed { at, error, attempts } => MessageStateV1::Failed { at, error, attempts },
        }
    }
}

/// What happened to a test message.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TestResult)]
pub struct TestResultV1 {
    delivered: bool,
    /// What the other side answered, or why the message could not be sent.
    words: String,
    at: Timestamp,
}

impl From<TestResult> for TestResultV1 {
    fn from(t: TestResult) -> Self {
        TestResultV1 { delivered: t.delivered, words: t.words, at: t.at }
    }
}
