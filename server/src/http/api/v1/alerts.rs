//! Channels, rules and messages.

use super::words;
use model::Timestamp;
use model::event::{EventKind, Severity};
use model::ids::EventId;
use model::item::Ownership;
use model::notify::{
    Delivery, DeliveryState, MessageStatus, NotSent, Quiet, Rule, RulePreview, TestResult, Unsent,
};
use serde::{Deserialize, Serialize};
use service::{ApiError, ApiResult, ChannelDraft, ChannelView, FailedView};
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

/// Which events go to which channels.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Rule)]
#[serde(default)]
pub struct RuleV1 {
    /// Identifier; empty for a new rule.
    id: String,
    name: String,
    enabled: bool,
    /// Kinds of events; empty for all.
    #[schema(schema_with = words::event_kinds)]
    kinds: Vec<EventKind>,
    /// At least this severe.
    #[schema(schema_with = words::severity)]
    at_least: Severity,
    /// Owned or watched domains only; `null` for both.
    #[schema(schema_with = words::ownership_or_null)]
    ownership: Option<Ownership>,
    /// Domains with any of these tags; empty for all.
    tags: Vec<String>,
    /// Identifiers of channels.
    channels: Vec<String>,
    delivery: DeliveryV1,
    /// Hours without messages, except critical ones.
    quiet: Option<QuietV1>,
    /// False to hold messages with a critical event in these hours, too.
    critical_at_once: bool,
    /// Sends nothing until then.
    muted_until: Option<Timestamp>,
    /// Hours after which warnings and critical events are sent again until they are acknowledged or over; `null` for never.
    #[schema(minimum = 1, maximum = 168)]
    repeat_hours: Option<u16>,
}

impl Default for RuleV1 {
    fn default() -> Self {
        Rule::default().into()
    }
}

/// When messages of a rule are sent. Hours are UTC.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Delivery)]
#[serde(tag = "when", rename_all = "snake_case")]
enum DeliveryV1 {
    /// With the scan that found the events.
    Immediate,
    /// Once a day, all together.
    Daily {
        /// Hour of the day.
        #[schema(minimum = 0, maximum = 23)]
        hour: i8,
    },
    /// On Mondays, all together.
    Weekly {
        /// Hour of the day.
        #[schema(minimum = 0, maximum = 23)]
        hour: i8,
    },
}

/// In minutes of the UTC day; may span midnight.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Quiet)]
struct QuietV1 {
    /// First minute.
    #[schema(maximum = 1439)]
    from: u16,
    /// First minute after it.
    #[schema(maximum = 1439)]
    to: u16,
}

impl From<Rule> for RuleV1 {
    fn from(r: Rule) -> Self {
        RuleV1 {
            id: r.id,
            name: r.name,
            enabled: r.enabled,
            kinds: r.kinds,
            at_least: r.at_least,
            ownership: r.ownership,
            tags: r.tags,
            channels: r.channels,
            delivery: match r.delivery {
                Delivery::Immediate => DeliveryV1::Immediate,
                Delivery::Daily { hour } => DeliveryV1::Daily { hour },
                Delivery::Weekly { hour } => DeliveryV1::Weekly { hour },
            },
            quiet: r.quiet.map(|q| QuietV1 { from: q.from, to: q.to }),
            critical_at_once: r.critical_at_once,
            muted_until: r.muted_until,
            repeat_hours: r.repeat_hours,
        }
    }
}

impl From<RuleV1> for Rule {
    fn from(r: RuleV1) -> Self {
        Rule {
            id: r.id,
            name: r.name,
            enabled: r.enabled,
            kinds: r.kinds,
            at_least: r.at_least,
            ownership: r.ownership,
            tags: r.tags,
            channels: r.channels,
            delivery: match r.delivery {
                DeliveryV1::Immediate => Delivery::Immediate,
                DeliveryV1::Daily { hour } => Delivery::Daily { hour },
                DeliveryV1::Weekly { hour } => Delivery::Weekly { hour },
            },
            quiet: r.quiet.map(|q| Quiet { from: q.from, to: q.to }),
            critical_at_once: r.critical_at_once,
            muted_until: r.muted_until,
            repeat_hours: r.repeat_hours,
        }
    }
}

/// What a rule would have sent in the last seven days.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RulePreview)]
pub struct RulePreviewV1 {
    /// Messages to each of its channels.
    messages: u64,
    /// Events in them.
    events: u64,
    /// All events of these days.
    of: u64,
    /// The newest messages, at most 5: instant and sentence.
    #[schema(value_type = Vec<Vec<String>>)]
    newest: Vec<(Timestamp, String)>,
    /// Of the newest messages in the same order: since when it waited for the end of quiet hours, or `null`.
    held_from: Vec<Option<Timestamp>>,
    /// The other events by reason, most first.
    not_sent: Vec<NotSentV1>,
    /// How many domains the rule is about now.
    #[serde(skip_serializing_if = "Option::is_none")]
    domains: Option<u64>,
    /// True when there were too many events to read all.
    partial: bool,
}

/// Events that the rule would not have sent, for one reason.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NotSent)]
struct NotSentV1 {
    /// `kind` (not selected), `severity` (less severe) or `other_domain`.
    reason: &'static str,
    /// The kind that is not selected.
    #[schema(schema_with = words::event_kind_or_null)]
    kind: Option<&'static str>,
    count: u64,
}

impl From<NotSent> for NotSentV1 {
    fn from(n: NotSent) -> Self {
        let (reason, kind) = match n.why {
            Unsent::Kind(kind) => ("kind", Some(kind.as_str())),
            Unsent::Severity => ("severity", None),
            Unsent::OtherDomain => ("other_domain", None),
        };
        NotSentV1 { reason, kind, count: n.count }
    }
}

impl From<RulePreview> for RulePreviewV1 {
    fn from(p: RulePreview) -> Self {
        RulePreviewV1 {
            messages: p.messages,
            events: p.events,
            of: p.of,
            held_from: p.newest.iter().map(|m| m.held_from).collect(),
            newest: p.newest.into_iter().map(|m| (m.at, m.words)).collect(),
            not_sent: p.not_sent.into_iter().map(Into::into).collect(),
            domains: p.domains,
            partial: p.partial,
        }
    }
}

/// A message that was given up.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FailedMessage)]
pub struct FailedMessageV1 {
    /// The first event of its scan.
    id: i64,
    /// Identifier of its channel.
    channel: String,
    channel_name: String,
    /// The domain; of a digest one of several.
    domain: String,
    /// How many domains it is about.
    domains: u64,
    failed_at: Timestamp,
    /// Why the last attempt failed.
    reason: String,
    attempts: u32,
}

impl From<FailedView> for FailedMessageV1 {
    fn from(f: FailedView) -> Self {
        FailedMessageV1 {
            id: f.id.0,
            channel: f.channel,
            channel_name: f.channel_name,
            domain: f.domain,
            domains: f.domains,
            failed_at: f.failed_at,
            reason: f.reason,
            attempts: f.attempts,
        }
    }
}

/// One failed message, or all when the body is `{}`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ResendRequest {
    /// The first event of its scan.
    id: Option<i64>,
    /// Identifier of its channel.
    channel: Option<String>,
}

impl ResendRequest {
    /// The message; `None` for all.
    pub fn message(self) -> ApiResult<Option<(EventId, String)>> {
        match (self.id, self.channel) {
            (Some(id), Some(channel)) => Ok(Some((EventId(id), channel))),
            (None, None) => Ok(None),
            _ => Err(ApiError::invalid("A message is named by both `id` and `channel`.")),
        }
    }
}

/// How many messages are sent again.
#[derive(Debug, Serialize, ToSchema)]
pub struct Resent {
    /// The number.
    pub resent: u64,
}

/// One failed message, or all.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DropRequest {
    /// The first event of its scan.
    id: Option<i64>,
    /// Identifier of its channel.
    channel: Option<String>,
    /// True to drop all of them.
    all: bool,
}

impl DropRequest {
    /// The message; `None` for all.
    pub fn message(self) -> ApiResult<Option<(EventId, String)>> {
        match (self.id, self.channel, self.all) {
            (Some(id), Some(channel), false) => Ok(Some((EventId(id), channel))),
            (None, None, true) => Ok(None),
            _ => Err(ApiError::invalid("Name a message by `id` and `channel`, or set `all`.")),
        }
    }
}

/// How many messages were dropped.
#[derive(Debug, Serialize, ToSchema)]
pub struct Dropped {
    /// The number.
    pub dropped: u64,
}
