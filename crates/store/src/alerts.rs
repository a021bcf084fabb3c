//! What notifying needs of the store: the outbox, and channels and rules of organisations.

use crate::api::Result;
use crate::codec::{json, micros, read_json};
use crate::db::{Db, args};
use crate::events;
use crate::outbox::{self, FailedNotification, Failure, Notification, OutboxStats};
use crate::retry::Retry;
use crate::store::Database;
use async_trait::async_trait;
use jiff::Timestamp;
use model::event::Event;
use model::ids::{EventId, OrgId};
use model::notify::{Channel, MessageStatus, Planned, Rule};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The outbox, channels and rules.
#[async_trait]
pub trait AlertStore: Send + Sync + 'static {
    /// Takes due messages of the outbox, oldest first, each for one deliverer at a time.
    async fn lease_notifications(&self, limit: u32, now: Timestamp) -> Result<Vec<Notification>>;
    /// Replaces the events of a scan by the messages that the rules make of them, in one transaction. False when the
    /// lease was lost: another process has routed them.
    async fn route_notification(&self, n: &Notification, planned: &[Planned], now: Timestamp)
    -> Result<bool>;
    /// Marks a message as delivered, with what the other side answered.
    async fn notification_delivered(&self, n: &Notification, answer: &str, now: Timestamp) -> Result<()>;
    /// Ends a failed attempt; says when the next one is, or that the message is given up.
    async fn notification_failed(&self, n: &Notification, why: &Failure, now: Timestamp) -> Result<Retry>;
    /// Messages that were given up, oldest first; of all organisations when `org` is `None`.
    async fn failed_notifications(&self, org: Option<OrgId>, limit: u32) -> Result<Vec<FailedNotification>>;
    /// Makes given-up messages due again from their first attempt on: one, or all of an organisation, or all. How many.
    async fn retry_notifications(
        &self,
        org: Option<OrgId>,
        which: Option<(EventId, String)>,
        now: Timestamp,
    ) -> Result<u64>;
    /// The outbox in figures.
    async fn outbox_stats(&self) -> Result<OutboxStats>;
    /// How the messages about events between two identities (inclusive) stand, newest first.
    async fn message_statuses(&self, org: OrgId, first: EventId, last: EventId)
    -> Result<Vec<MessageStatus>>;
    /// The newest message of a channel that was attempted.
    async fn last_message(&self, org: OrgId, channel: &str) -> Result<Option<MessageStatus>>;
    /// The newest events since an instant, at most `limit`, oldest first.
    async fn events_since(&self, org: OrgId, at: Timestamp, limit: u32) -> Result<Vec<Event>>;
    /// Name of an organisation.
    async fn organisation_name(&self, org: OrgId) -> Result<Option<String>>;
    /// Channels by name.
    async fn channels(&self, org: OrgId) -> Result<Vec<Channel>>;
    /// Adds a channel or replaces the one of the same identity.
    async fn save_channel(&self, org: OrgId, channel: &Channel, now: Timestamp) -> Result<()>;
    /// Removes a channel and what waits for it; false when there was none.
    async fn delete_channel(&self, org: OrgId, id: &str) -> Result<bool>;
    /// Rules by name.
    async fn rules(&self, org: OrgId) -> Result<Vec<Rule>>;
    /// Adds a rule or replaces the one of the same identity.
    async fn save_rule(&self, org: OrgId, rule: &Rule, now: Timestamp) -> Result<()>;
    /// Removes a rule; false when there was none.
    async fn delete_rule(&self, org: OrgId, id: &str) -> Result<bool>;
}

const CHANNEL: &str = "channel";
const RULE: &str = "rule";

async fn all<T: DeserializeOwned>(db: &Db, org: OrgId, kind: &str) -> Result<Vec<T>> {
    let sql = "SELECT json FROM notification_settings WHERE org = $1 AND kind = $2 ORDER BY id";
    db.rows(sql, args![org.0, kind]).await?.iter().map(|r| read_json(&r.text(0)?)).collect()
}

async fn save<T: Serialize>(db: &Db, key: (OrgId, &str, &str), value: &T, now: Timestamp) -> Result<()> {
    let sql = "INSERT INTO notification_settings (org, kind, id, json, at) VALUES ($1, $2, $3, $4, $5) \
               ON CONFLICT (org, kind, id) DO UPDATE SET json = excluded.json, at = excluded.at";
    let (org, kind, id) = key;
    db.write(sql, args![org.0, kind, id, json(value)?, micros(now)]).await.map(drop)
}

async fn delete(db: &Db, org: OrgId, kind: &str, id: &str) -> Result<bool> {
    let sql = "DELETE FROM notification_settings WHERE org = $1 AND kind = $2 AND id = $3";
    Ok(db.write(sql, args![org.0, kind, id]).await? > 0)
}

#[async_trait]
impl AlertStore for Database {
    async fn lease_notifications(&self, limit: u32, now: Timestamp) -> Result<Vec<Notification>> {
        outbox::lease(&self.db, limit, now).await
    }

    async fn route_notification(
        &self,
        n: &Notification,
        planned: &[Planned],
        now: Timestamp,
    ) -> Result<bool> {
        outbox::route(&self.db, n, planned, now).await
    }

    async fn notification_delivered(&self, n: &Notification, answer: &str, now: Timestamp) -> Result<()> {
        outbox::delivered(&self.db, n, answer, now).await
    }

    async fn notification_failed(&self, n: &Notification, why: &Failure, now: Timestamp) -> Result<Retry> {
        outbox::failed(&self.db, n, why, now).await
    }

    async fn failed_notifications(&self, org: Option<OrgId>, limit: u32) -> Result<Vec<FailedNotification>> {
        outbox::list_failed(&self.db, org, limit).await
    }

    async fn retry_notifications(
        &self,
        org: Option<OrgId>,
        which: Option<(EventId, String)>,
        now: Timestamp,
    ) -> Result<u64> {
        outbox::retry_failed(&self.db, org, which, now).await
    }

    async fn outbox_stats(&self) -> Result<OutboxStats> {
        outbox::stats(&self.db).await
    }

    async fn message_statuses(
        &self,
        org: OrgId,
        first: EventId,
        last: EventId,
    ) -> Result<Vec<MessageStatus>> {
        outbox::statuses(&self.db, org, first, last).await
    }

    async fn last_message(&self, org: OrgId, channel: &str) -> Result<Option<MessageStatus>> {
        outbox::last_of(&self.db, org, channel).await
    }

    async fn events_since(&self, org: OrgId, at: Timestamp, limit: u32) -> Result<Vec<Event>> {
        events::since(&self.db, org, at, limit).await
    }

    async fn organisation_name(&self, org: OrgId) -> Result<Option<String>> {
        let row = self.db.row("SELECT name FROM orgs WHERE id = $1", args![org.0]).await?;
        row.map(|r| r.text(0)).transpose()
    }

    async fn channels(&self, org: OrgId) -> Result<Vec<Channel>> {
        let mut channels: Vec<Channel> = all(&self.db, org, CHANNEL).await?;
        channels.sort_by_key(|c| c.name.to_lowercase());
        Ok(channels)
    }

    async fn save_channel(&self, org: OrgId, channel: &Channel, now: Timestamp) -> Result<()> {
        save(&self.db, (org, CHANNEL, &channel.id), channel, now).await
    }

    async fn delete_channel(&self, org: OrgId, id: &str) -> Result<bool> {
        let gone = delete(&self.db, org, CHANNEL, id).await?;
        self.db.write("DELETE FROM outbox WHERE org = $1 AND channel = $2", args![org.0, id]).await?;
        Ok(gone)
    }

    async fn rules(&self, org: OrgId) -> Result<Vec<Rule>> {
        let mut rules: Vec<Rule> = all(&self.db, org, RULE).await?;
        rules.sort_by_key(|r| r.name.to_lowercase());
        Ok(rules)
    }

    async fn save_rule(&self, org: OrgId, rule: &Rule, now: Timestamp) -> Result<()> {
        save(&self.db, (org, RULE, &rule.id), rule, now).await
    }

    async fn delete_rule(&self, org: OrgId, id: &str) -> Result<bool> {
        delete(&self.db, org, RULE, id).await
    }
}
