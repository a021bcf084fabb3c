//! Notifications as an organisation sets them up: channels, rules, and which message of which events goes where and
//! when. Pure: the dispatcher and the preview of a rule ask the same function.

pub use super::delivery::{
    DeliveryState, MessageStatus, NotSent, PreviewMessage, RulePreview, TestResult, Unsent,
};
use super::ending::Recovery;
use super::event::{Event, EventKind, Severity};
use super::item::{Item, Ownership};
use crate::base::ids::EventId;
use jiff::civil::{DateTime, Weekday};
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, ToSpan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Channels of an organisation at most.
pub const CHANNELS_MAX: usize = 50;
/// Rules of an organisation at most.
pub const RULES_MAX: usize = 50;
/// Longest name of a channel or rule, in characters.
pub const NAME_MAX: usize = 80;
/// Recipients of an e-mail channel at most.
pub const RECIPIENTS_MAX: usize = 10;

/// Where messages go, with what is needed to send them. Addresses and keys in it are secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Target {
    /// E-mail by the SMTP server of the installation.
    Email {
        /// Addresses.
        to: Vec<String>,
    },
    /// JSON, signed after the Standard Webhooks specification.
    Webhook {
        /// Address.
        url: String,
        /// `whsec_` and base64.
        secret: String,
    },
    /// Slack incoming webhook.
    Slack {
        /// Address.
        url: String,
    },
    /// Discord webhook.
    Discord {
        /// Address.
        url: String,
    },
    /// Microsoft Teams workflow that takes adaptive cards.
    Teams {
        /// Address.
        url: String,
    },
    /// ntfy topic.
    Ntfy {
        /// Address of the topic.
        url: String,
        /// Access token; empty when the topic needs none.
        #[serde(default)]
        token: String,
    },
    /// Telegram bot.
    Telegram {
        /// Token of the bot.
        token: String,
        /// Chat to send to.
        chat: String,
    },
    /// PagerDuty events (version 2).
    Pagerduty {
        /// Integration key.
        key: String,
    },
}

/// Kinds of channels, in the order forms list them: stable word and the words people see.
pub const TARGET_KINDS: [(&str, &str); 8] = [
    ("email", "E-mail"),
    ("webhook", "Webhook"),
    ("slack", "Slack"),
    ("discord", "Discord"),
    ("teams", "Microsoft Teams"),
    ("ntfy", "ntfy"),
    ("telegram", "Telegram"),
    ("pagerduty", "PagerDuty"),
];

impl Target {
    /// The stable word.
    pub fn kind(&self) -> &'static str {
        let index = match self {
            Target::Email { .. } => 0,
            Target::Webhook { .. } => 1,
            Target::Slack { .. } => 2,
            Target::Discord { .. } => 3,
            Target::Teams { .. } => 4,
            Target::Ntfy { .. } => 5,
            Target::Telegram { .. } => 6,
            Target::Pagerduty { .. } => 7,
        };
        TARGET_KINDS[index].0
    }

    /// The words people see.
    pub fn label(&self) -> &'static str {
        TARGET_KINDS.iter().find(|(word, _)| *word == self.kind()).map_or("", |(_, label)| label)
    }

    /// Where it leads without what is secret in it: many of these addresses are passwords.
    pub fn public(&self) -> String {
        match self {
            Target::Email { to } => to.join(", "),
            Target::Webhook { url, .. } | Target::Ntfy { url, .. } => {
                url.split(['?', '#']).next().unwrap_or_default().to_string()
            }
            Target::Slack { url } | Target::Discord { url } | Target::Teams { url } => {
                let rest = url.split_once("://").map_or(url.as_str(), |(_, r)| r);
                format!("{}/…", rest.split(['/', '?']).next().unwrap_or_default())
            }
            Target::Telegram { chat, .. } => format!("chat {chat}"),
            Target::Pagerduty { key } => {
                let tail: String = key.chars().rev().take(4).collect::<Vec<_>>().into_iter().rev().collect();
                format!("integration key …{tail}")
            }
        }
    }
}

/// A place messages can be sent to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    /// Identity.
    pub id: String,
    /// As people call it.
    pub name: String,
    /// Where it leads.
    pub target: Target,
    /// When it was added.
    pub created_at: Timestamp,
}

/// When messages of a rule are sent. Hours are UTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "when", rename_all = "snake_case")]
pub enum Delivery {
    /// With the scan that found the events.
    #[default]
    Immediate,
    /// Once a day, all together.
    Daily {
        /// Hour of the day.
        hour: i8,
    },
    /// On Mondays, all together.
    Weekly {
        /// Hour of the day.
        hour: i8,
    },
}

/// Hours without immediate messages, in minutes of the UTC day; may span midnight. Critical events are sent all the same,
/// unless the rule says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quiet {
    /// First minute.
    pub from: u16,
    /// First minute after it.
    pub to: u16,
}

impl Quiet {
    /// The end of the quiet hours that `at` lies in.
    pub fn end(self, at: Timestamp) -> Option<Timestamp> {
        let local = Offset::UTC.to_datetime(at);
        let minute = u16::try_from(i32::from(local.hour()) * 60 + i32::from(local.minute())).unwrap_or(0);
        let inside = if self.from <= self.to {
            (self.from..self.to).contains(&minute)
        } else {
            minute >= self.from || minute < self.to
        };
        let ahead = (i64::from(self.to) - i64::from(minute)).rem_euclid(24 * 60);
        let start_of_minute = at.as_second() - at.as_second().rem_euclid(60);
        let end = Timestamp::from_second(start_of_minute + ahead * 60).ok();
        if inside { end } else { None }
    }
}

/// Which events go to which channels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rule {
    /// Identity.
    pub id: String,
    /// As people call it.
    pub name: String,
    /// Whether it sends.
    pub enabled: bool,
    /// Kinds of events; empty for all.
    pub kinds: Vec<EventKind>,
    /// At least this severe.
    pub at_least: Severity,
    /// Owned or watched domains only; `None` for both.
    pub ownership: Option<Ownership>,
    /// Domains with any of these tags; empty for all.
    pub tags: Vec<String>,
    /// Identities of channels.
    pub channels: Vec<String>,
    /// When messages are sent.
    pub delivery: Delivery,
    /// Hours without immediate messages.
    pub quiet: Option<Quiet>,
    /// Whether messages with a critical event are sent at once in these hours, too.
    #[serde(skip_serializing_if = "is_true")]
    pub critical_at_once: bool,
    /// Sends nothing until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub muted_until: Option<Timestamp>,
    /// Hours after which what is open is sent again ([`REPEAT_HOURS`](super::repeat::REPEAT_HOURS)); `None` for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat_hours: Option<u16>,
}

/// What a switch that is on unless said otherwise is left out of stored rules by.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_true(switch: &bool) -> bool {
    *switch
}

impl Default for Rule {
    fn default() -> Self {
        Rule {
            id: String::new(),
            name: String::new(),
            enabled: true,
            kinds: Vec::new(),
            at_least: Severity::Warning,
            ownership: Some(Ownership::Owned),
            tags: Vec::new(),
            channels: Vec::new(),
            delivery: Delivery::Immediate,
            quiet: None,
            critical_at_once: true,
            muted_until: None,
            repeat_hours: None,
        }
    }
}

impl Rule {
    /// True while the rule sends nothing for a time.
    pub fn is_muted(&self, now: Timestamp) -> bool {
        self.muted_until.is_some_and(|until| now < until)
    }

    /// Why the rule sends nothing about this event of this holding; `None` when it does.
    pub fn unsent(&self, holding: Option<&Item>, event: &Event) -> Option<Unsent> {
        let of_it = |holding: &Item| {
            self.ownership.is_none_or(|o| o == holding.ownership)
                && (self.tags.is_empty() || self.tags.iter().any(|t| holding.tags.contains(t)))
        };
        if !holding.is_some_and(of_it) {
            return Some(Unsent::OtherDomain);
        }
        if !self.kinds.is_empty() && !self.kinds.contains(&event.change.kind) {
            return Some(Unsent::Kind(event.change.kind));
        }
        (event.change.severity < self.at_least).then_some(Unsent::Severity)
    }

    /// True when the rule is about this event of this holding.
    pub fn matches(&self, holding: &Item, event: &Event) -> bool {
        self.enabled && self.unsent(Some(holding), event).is_none()
    }

    /// When a message about these events is due, and whether it waits for others to go with it.
    pub(super) fn due(&self, events: &[&Event], now: Timestamp) -> (Timestamp, bool) {
        match self.delivery {
            Delivery::Daily { hour } => (next_hour(now, hour, None), true),
            Delivery::Weekly { hour } => (next_hour(now, hour, Some(Weekday::Monday)), true),
            Delivery::Immediate => {
                let critical = events.iter().any(|e| e.change.severity == Severity::Critical);
                match self.quiet.and_then(|q| q.end(now)) {
                    Some(end) if !(critical && self.critical_at_once) => (end, true),
                    _ => (now, false),
                }
            }
        }
    }
}

/// The next instant after `now` at which the UTC clock shows this hour, on this weekday where one is given.
fn next_hour(now: Timestamp, hour: i8, weekday: Option<Weekday>) -> Timestamp {
    let mut day = Offset::UTC.to_datetime(now).date();
    for _ in 0..9 {
        let at = TimeZone::UTC
            .to_timestamp(DateTime::from_parts(day, jiff::civil::time(hour.clamp(0, 23), 0, 0, 0)))
            .unwrap_or(now);
        if at > now && weekday.is_none_or(|w| w == day.weekday()) {
            return at;
        }
        day = day.checked_add(1.day()).unwrap_or(day);
    }
    now
}

/// A message to be sent to one channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// Identity of the channel.
    pub channel: String,
    /// When.
    pub due_at: Timestamp,
    /// True when it goes together with the others of the same channel and instant.
    pub batch: bool,
    /// The events it is about, in order.
    pub events: Vec<EventId>,
    /// Names of the rules that want it.
    pub rules: Vec<String>,
    /// Why it is closed without being sent, if it is.
    pub skipped: Option<String>,
}

/// What the rules make of the events of one scan: a message a channel, at the earliest instant that any of its rules asks
/// for. Nothing while the holding is muted.
pub fn plan(rules: &[Rule], holding: &Item, events: &[Event], now: Timestamp) -> Vec<Planned> {
    plan_with(rules, holding, events, &[], now)
}

/// The same, where some of the events end what channels were sent: a channel gets the end too, by the rule that sent it
/// the beginning, however severe the end is. While the rule is muted the end waits in a message of its own: who was sent the
/// alarm, and a pager, would never see it.
pub fn plan_with(
    rules: &[Rule],
    holding: &Item,
    events: &[Event],
    recoveries: &[Recovery],
    now: Timestamp,
) -> Vec<Planned> {
    if holding.muted_until.is_some_and(|until| now < until) {
        return Vec::new();
    }
    // By channel, and whether it waits for the end of a rule's mute.
    let mut planned: BTreeMap<(&str, bool), Planned> = BTreeMap::new();
    for rule in rules {
        let muted_until = rule.muted_until.filter(|until| now < *until);
        for channel in &rule.channels {
            let ends = |e: &Event| {
                let mut of_channel = recoveries.iter().filter(|r| r.event == e.id && r.channel == *channel);
                of_channel.any(|r| r.of.iter().any(|begun| rule.matches(holding, begun)))
            };
            let is_wanted = |e: &&Event| match muted_until {
                Some(_) => ends(e),
                None => rule.matches(holding, e) || ends(e),
            };
            let wanted: Vec<&Event> = events.iter().filter(is_wanted).collect();
            if wanted.is_empty() {
                continue;
            }
            let (due_at, batch) = rule.due(&wanted, muted_until.unwrap_or(now));
            // Until then it may be undone: what waits in a digest is looked at again before it is sent.
            let batch = batch || muted_until.is_some();
            let key = (channel.as_str(), muted_until.is_some());
            let planned = planned.entry(key).or_insert_with(|| Planned {
                channel: channel.clone(),
                due_at,
                batch,
                events: Vec::new(),
                rules: Vec::new(),
                skipped: None,
            });
            if due_at < planned.due_at {
                (planned.due_at, planned.batch) = (due_at, batch);
            }
            planned.events.extend(wanted.iter().map(|e| e.id));
            planned.events.sort_unstable();
            planned.events.dedup();
            if !planned.rules.contains(&rule.name) {
                planned.rules.push(rule.name.clone());
            }
        }
    }
    // What another rule sends to the channel now need not wait.
    let sent: Vec<(String, EventId)> = planned
        .iter()
        .filter(|((_, is_muted), _)| !is_muted)
        .flat_map(|((channel, _), p)| p.events.iter().map(move |e| ((*channel).to_string(), *e)))
        .collect();
    for ((channel, _), p) in planned.iter_mut().filter(|((_, is_muted), _)| *is_muted) {
        p.events.retain(|e| !sent.iter().any(|(c, s)| c == channel && s == e));
    }
    planned.into_values().filter(|p| !p.events.is_empty()).collect()
}
