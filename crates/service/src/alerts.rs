//! Notifications: channels, rules, and what became of messages.

use crate::ApiResult;
use async_trait::async_trait;
use model::Timestamp;
use model::event::EventCounts;
use model::feed::{Feed, FeedKind};
use model::health::OwnFault;
use model::ids::{Caller, EventId};
use model::maintenance::Maintenance;
use model::notify::{DeliveryState, MessageStatus, Rule, RulePreview, TestResult};
use serde::{Deserialize, Serialize};

/// What the product can do about notifications. Each method is an [`Action`](crate::policy::Action) of the same name.
#[async_trait]
pub trait AlertBackend: Send + Sync + 'static {
    /// Channels, rules, and messages that were given up.
    async fn notifications(&self, caller: &Caller) -> ApiResult<NotificationSettings>;
    /// Adds a channel, or changes the one of the draft's identity.
    async fn save_channel(&self, caller: &Caller, draft: &ChannelDraft) -> ApiResult<ChannelView>;
    /// Removes a channel, what waits for it, and its mention in rules.
    async fn remove_channel(&self, caller: &Caller, id: &str) -> ApiResult<()>;
    /// Sends a test message and waits for the answer.
    async fn test_channel(&self, caller: &Caller, id: &str) -> ApiResult<TestResult>;
    /// Adds a rule (empty identity), or changes the one of its identity.
    async fn save_rule(&self, caller: &Caller, rule: &Rule) -> ApiResult<Rule>;
    /// Removes a rule.
    async fn remove_rule(&self, caller: &Caller, id: &str) -> ApiResult<()>;
    /// What a rule would have sent in the last seven days.
    async fn preview_rule(&self, caller: &Caller, rule: &Rule) -> ApiResult<RulePreview>;
    /// Sends given-up messages again: one (its first event and channel), or all; how many.
    async fn resend(&self, caller: &Caller, which: Option<(EventId, String)>) -> ApiResult<u64>;
    /// Closes given-up messages for good: one (its first event and channel), or all; how many.
    async fn drop_failed(&self, caller: &Caller, which: Option<(EventId, String)>) -> ApiResult<u64>;
    /// Adds a maintenance window.
    async fn save_maintenance(&self, caller: &Caller, draft: &MaintenanceDraft) -> ApiResult<Maintenance>;
    /// Ends a maintenance window that lasts, or removes one that has not begun.
    async fn end_maintenance(&self, caller: &Caller, id: &str) -> ApiResult<()>;
    /// Feeds of the organisation, newest first.
    async fn feeds(&self, caller: &Caller) -> ApiResult<Vec<Feed>>;
    /// Creates a feed; its address is shown once.
    async fn create_feed(&self, caller: &Caller, name: &str, kind: FeedKind) -> ApiResult<NewFeed>;
    /// Revokes a feed: its address leads nowhere from then on.
    async fn revoke_feed(&self, caller: &Caller, id: &str) -> ApiResult<()>;
    /// What is wrong with the installation itself, not with a domain.
    async fn health(&self, caller: &Caller) -> ApiResult<Health>;
    /// How the messages about events between two identities stand.
    async fn deliveries(&self, caller: &Caller, events: &[EventId]) -> ApiResult<Vec<DeliveryView>>;
}

/// A channel as people see it. What is secret in its address is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelView {
    /// Identity.
    pub id: String,
    /// As people call it.
    pub name: String,
    /// Stable word of its kind.
    pub kind: String,
    /// Its kind in words.
    pub label: String,
    /// Where it leads, without secrets.
    pub address: String,
    /// The secret that signs its messages, for those who may change it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_secret: Option<String>,
    /// How its newest message stands.
    pub last: Option<MessageStatus>,
    /// Since when messages to it fail, where the last one was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_since: Option<Timestamp>,
    /// What the last test said, for an hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tested: Option<TestResult>,
    /// Rules that use it.
    pub rules: u64,
    /// When it was added.
    pub created_at: Timestamp,
}

/// A rule with what it did lately.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleView {
    /// The rule.
    pub rule: Rule,
    /// What it would have sent in the last seven days.
    pub preview: RulePreview,
}

/// A message that was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedView {
    /// First event of its scan, or of the digest.
    pub id: EventId,
    /// Identity of its channel.
    pub channel: String,
    /// Name of its channel.
    pub channel_name: String,
    /// The domain; of a digest one of several.
    pub domain: String,
    /// How many domains it is about.
    pub domains: u64,
    /// When it was given up.
    pub failed_at: Timestamp,
    /// Why the last attempt failed.
    pub reason: String,
    /// Attempts that were made.
    pub attempts: u32,
    /// True for events to which the rules could not be applied: there is no message yet, so none can be dropped.
    pub is_unrouted: bool,
}

/// How a message about events stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryView {
    /// Name of the channel; empty for what became of events without a message, or of those that wait for the end of a mute
    /// or a maintenance window (`error` of the state says which).
    pub channel: String,
    /// The events it is about.
    pub events: Vec<EventId>,
    /// How it stands.
    pub state: DeliveryState,
}

/// All that the settings page shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationSettings {
    /// By name.
    pub channels: Vec<ChannelView>,
    /// By name.
    pub rules: Vec<RuleView>,
    /// Oldest first, at most 200.
    pub failed: Vec<FailedView>,
    /// How many there are in all.
    pub failed_total: u64,
    /// Events of the last seven days by kind and severity.
    #[serde(default)]
    pub lately: EventCounts,
    /// Attempts before a message is given up.
    #[serde(default)]
    pub attempts_max: u32,
    /// Whether the caller may send them again or drop them.
    pub may_resend: bool,
    /// Maintenance windows, the newest first; those that ended over a month ago are left out.
    pub maintenance: Vec<Maintenance>,
    /// Whether the caller may add and end maintenance windows.
    pub may_maintain: bool,
    /// Whether the installation can send e-mail.
    pub mail: bool,
    /// Whether the caller may change anything here.
    pub may_change: bool,
    /// The server's clock.
    pub now: Timestamp,
}

/// A channel as a form or a REST client describes it. Which fields count depends on the kind; on a change an empty secret
/// keeps the old one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelDraft {
    /// Identity of the channel to change; empty for a new one.
    pub id: String,
    /// As people call it.
    pub name: String,
    /// `email`, `webhook`, `slack`, `discord`, `teams`, `ntfy`, `telegram`, `pagerduty`.
    pub kind: String,
    /// Addresses of an e-mail channel, separated by commas.
    pub to: String,
    /// Address of a webhook, workflow or topic.
    pub url: String,
    /// Token of a bot or topic.
    pub token: String,
    /// Chat of a Telegram bot.
    pub chat: String,
    /// Integration key of PagerDuty.
    pub key: String,
    /// True to add the rule that sends warnings and critical events of owned domains to it.
    pub with_rule: bool,
}

/// A maintenance window as a form or a REST client describes it. A tag or a domain limits it; neither means all domains.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MaintenanceDraft {
    /// Beginning: an instant (`2026-11-22T20:00:00Z`), or date and time in UTC (`2026-11-22T20:00`).
    pub from: String,
    /// End, in the same forms.
    pub to: String,
    /// Only domains with this tag.
    pub tag: String,
    /// Only this domain.
    pub domain: String,
    /// What is done.
    pub note: String,
}

/// What is wrong with the installation itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Seconds by which the oldest check is late, when that is more than a few minutes.
    pub overdue_s: Option<u64>,
    /// Faults of the installation that last.
    #[serde(default)]
    pub faults: Vec<OwnFault>,
}

/// A feed that was just made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewFeed {
    /// What lists show of it.
    pub feed: Feed,
    /// Path of its address, which contains the secret.
    pub path: String,
}
