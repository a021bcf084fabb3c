//! Rules and their previews.

use crate::http::api::v1::words;
use model::Timestamp;
use model::event::{EventKind, Severity};
use model::item::Ownership;
use model::notify::{Delivery, NotSent, Quiet, Rule, RulePreview, Unsent};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
