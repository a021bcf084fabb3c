//! What notifying needs of the store: the outbox, and channels and rules of organisations.

use crate::accounts::Audit;
use crate::api::{Error, Result};
use crate::codec::read_json;
use crate::db::{Db, args};
use crate::events;
use crate::feeds;
use crate::notification_settings::{self as settings, Setting};
use crate::outbox::{self, FailedNotification, Failure, Notification, OutboxStats};
use crate::retry::Retry;
use crate::seal::{SecretKey, is_sealed};
use crate::store::Database;
use async_trait::async_trait;
use jiff::Timestamp;
use model::account::Actor;
use model::event::{Event, EventKind};
use model::feed::Feed;
use model::ids::{EventId, OrgId};
use model::maintenance::{Maintenance, Routing};
use model::names::DomainName;
use model::notify::{Channel, MessageStatus, Planned, Rule};
use serde::de::DeserializeOwned;

/// The outbox, channels, rules, maintenance windows and feeds.
#[async_trait]
pub trait AlertStore: Send + Sync + 'static {
    /// Takes due messages of the outbox, oldest first, at most `limit` of them, each for one deliverer at a time. A digest is
    /// one message of several rows, which are taken together.
    async fn lease_notifications(&self, limit: u32, now: Timestamp) -> Result<Vec<Notification>>;
    /// Replaces the events of a scan by the messages that the rules make of them, in one transaction. False when the
    /// lease was lost: another process has routed them.
    async fn route_notification(&self, n: &Notification, routing: &Routing, now: Timestamp) -> Result<bool>;
    /// Marks the rows of one message as delivered, together, with what the other side answered.
    async fn notification_delivered(
        &self,
        rows: &[Notification],
        answer: &str,
        now: Timestamp,
    ) -> Result<()> {
        self.notification_delivered_until(rows, answer, &[], now).await
    }
    /// The same, and in the same transaction the messages that repeat rows of it later, by row.
    async fn notification_delivered_until(
        &self,
        rows: &[Notification],
        answer: &str,
        next: &[(EventId, Planned)],
        now: Timestamp,
    ) -> Result<()>;
    /// Closes rows of messages that are not sent, together, with the reason.
    async fn notification_skipped(&self, rows: &[Notification], reason: &str, now: Timestamp) -> Result<()>;
    /// Ends a failed attempt of one message, for its rows together; says when the next one is, or that the message is given
    /// up.
    async fn notification_failed(
        &self,
        rows: &[Notification],
        why: &Failure,
        now: Timestamp,
    ) -> Result<Retry>;
    /// Has repeats that were leased wait until an instant, for a reason that is shown; those of a digest leave it.
    async fn postpone_repeats(&self, rows: &[Notification], reason: &str, until: Timestamp) -> Result<()>;
    /// Messages that were given up, oldest first; of all organisations when `org` is `None`.
    async fn failed_notifications(&self, org: Option<OrgId>, limit: u32) -> Result<Vec<FailedNotification>>;
    /// How many messages of an organisation were given up.
    async fn count_failed_notifications(&self, org: OrgId) -> Result<u64>;
    /// Closes given-up messages of the entry's organisation for good, one or all, with that entry of the audit log. How many.
    async fn drop_notifications(&self, which: Option<(EventId, String)>, log: &Audit) -> Result<u64>;
    /// Makes given-up messages due again from their first attempt on: one, or all of an organisation, or all. How many.
    async fn retry_notifications(
        &self,
        org: Option<OrgId>,
        which: Option<(EventId, String)>,
        now: Timestamp,
    ) -> Result<u64>;
    /// The outbox in figures.
    async fn outbox_stats(&self) -> Result<OutboxStats>;
    /// How the messages about these events stand, newest first. Those of the channel [`LOG`](crate::LOG) say why there is
    /// no message, or until when events are held.
    async fn message_statuses(&self, org: OrgId, events: &[EventId]) -> Result<Vec<MessageStatus>>;
    /// The newest message of a channel that was attempted.
    async fn last_message(&self, org: OrgId, channel: &str) -> Result<Option<MessageStatus>>;
    /// Since when messages to a channel fail that were attempted after the last delivered one.
    async fn failing_since(&self, org: OrgId, channel: &str) -> Result<Option<Timestamp>>;
    /// The newest events since an instant, at most `limit`, oldest first.
    async fn events_since(&self, org: OrgId, at: Timestamp, limit: u32) -> Result<Vec<Event>>;
    /// The newest acknowledged events of a kind about a domain, at most 20.
    async fn acknowledged(&self, org: OrgId, name: &DomainName, kind: EventKind) -> Result<Vec<Event>>;
    /// Name of an organisation.
    async fn organisation_name(&self, org: OrgId) -> Result<Option<String>>;
    /// Whether channels can be saved: their secrets are encrypted, which needs a key.
    fn has_key(&self) -> bool;
    /// Channels by name.
    ///
    /// # Errors
    /// [`Error::Broken`] with a sentence when one was encrypted with another key.
    async fn channels(&self, org: OrgId) -> Result<Vec<Channel>>;
    /// Checks that the channels of all organisations can be read.
    ///
    /// # Errors
    /// [`Error::Broken`] with a sentence when one was encrypted with another key.
    async fn check_channels(&self) -> Result<()>;
    /// Removes the channels of all organisations that were encrypted with another key; how many.
    async fn remove_unreadable_channels(&self, by: &Actor, now: Timestamp) -> Result<u64>;
    /// Adds a channel or replaces the one of the same identity.
    async fn save_channel(&self, org: OrgId, channel: &Channel, now: Timestamp) -> Result<()> {
        self.save_channel_by(&Actor::system(), org, channel, now).await
    }
    /// [`AlertStore::save_channel`], with an entry of the audit log when it changes something.
    async fn save_channel_by(&self, by: &Actor, org: OrgId, channel: &Channel, now: Timestamp) -> Result<()>;
    /// Removes a channel and closes what waits for it, with an entry of the audit log; false when there was none.
    async fn delete_channel(&self, by: &Actor, org: OrgId, id: &str, now: Timestamp) -> Result<bool>;
    /// Rules by name.
    async fn rules(&self, org: OrgId) -> Result<Vec<Rule>>;
    /// Adds a rule or replaces the one of the same identity.
    async fn save_rule(&self, org: OrgId, rule: &Rule, now: Timestamp) -> Result<()> {
        self.save_rule_by(&Actor::system(), org, rule, now).await
    }
    /// [`AlertStore::save_rule`], with an entry of the audit log when it changes something.
    async fn save_rule_by(&self, by: &Actor, org: OrgId, rule: &Rule, now: Timestamp) -> Result<()>;
    /// Removes a rule, with an entry of the audit log; false when there was none.
    async fn delete_rule(&self, by: &Actor, org: OrgId, id: &str, now: Timestamp) -> Result<bool>;
    /// Maintenance windows, the newest first.
    async fn maintenance(&self, org: OrgId) -> Result<Vec<Maintenance>>;
    /// Adds a maintenance window or replaces the one of the same identity.
    async fn save_maintenance(&self, org: OrgId, window: &Maintenance, now: Timestamp) -> Result<()> {
        self.save_maintenance_by(&Actor::system(), org, window, now).await
    }
    /// [`AlertStore::save_maintenance`], with an entry of the audit log when it changes something.
    async fn save_maintenance_by(
        &self,
        by: &Actor,
        org: OrgId,
        window: &Maintenance,
        now: Timestamp,
    ) -> Result<()>;
    /// Removes a maintenance window, with an entry of the audit log; false when there was none.
    async fn delete_maintenance(&self, by: &Actor, org: OrgId, id: &str, now: Timestamp) -> Result<bool>;
    /// Keeps a feed under the hash of the secret in its address.
    async fn create_feed(&self, org: OrgId, hash: &str, feed: &Feed, log: &Audit) -> Result<()>;
    /// Feeds, newest first.
    async fn feeds(&self, org: OrgId) -> Result<Vec<Feed>>;
    /// Removes a feed; false when there was none. The entry of the audit log gets its name.
    async fn delete_feed(&self, org: OrgId, id: &str, log: &Audit) -> Result<bool>;
    /// The feed of a hash, whose last use is noted.
    async fn feed_by_hash(&self, hash: &str, now: Timestamp) -> Result<Option<(OrgId, Feed)>>;
}

const CHANNEL: &str = Channel::KIND;
const RULE: &str = Rule::KIND;
const MAINTENANCE: &str = Maintenance::KIND;

const NO_KEY: &str = "notification channels hold secrets, which are encrypted with a key that all replicas share: set \
                      DOMAINSCOPE_SECRET_KEY (openssl rand -base64 32)";
const OTHER_KEY: &str = "notification channels were encrypted with another key: put the key file of this database back \
                         (domainscope.key), or set DOMAINSCOPE_SECRET_KEY to its key; if it is lost, remove the channels with \
                         “domainscope admin notifications --remove-unreadable” and enter them again";

/// What a channel's ciphertext is bound to.
pub(crate) fn channel_row(org: OrgId, id: &str) -> String {
    format!("{}/{CHANNEL}/{id}", org.0)
}

/// A stored channel, decrypted.
pub(crate) fn read_channel(key: Option<&SecretKey>, org: OrgId, id: &str, text: String) -> Result<Channel> {
    let plain = match (is_sealed(&text), key) {
        (false, _) => Some(text),
        (true, Some(key)) => key.open(&channel_row(org, id), &text),
        (true, None) => return Err(Error::Broken(NO_KEY.into())),
    };
    read_json(&plain.ok_or_else(|| Error::Broken(OTHER_KEY.into()))?)
}

/// Channels that were encrypted with another key.
async fn unreadable(db: &Db, key: Option<&SecretKey>) -> Result<Vec<(OrgId, String)>> {
    let sql = "SELECT org, id, json FROM notification_settings WHERE kind = $1";
    let mut out = Vec::new();
    for r in db.rows(sql, args![CHANNEL]).await? {
        let (org, id, text) = (OrgId(r.int(0)?), r.text(1)?, r.text(2)?);
        let read = |key: &SecretKey| key.open(&channel_row(org, &id), &text).is_some();
        if is_sealed(&text) && !key.is_some_and(read) {
            out.push((org, id));
        }
    }
    Ok(out)
}

/// Encrypts the channels that an earlier version stored in clear.
pub(crate) async fn seal_all(db: &Db, key: &SecretKey) -> Result<()> {
    let sql = "SELECT org, id, json FROM notification_settings WHERE kind = $1";
    let mut sealed = 0;
    for r in db.rows(sql, args![CHANNEL]).await? {
        let (org, id, text) = (r.int(0)?, r.text(1)?, r.text(2)?);
        if !is_sealed(&text) {
            let new = key.seal(&channel_row(OrgId(org), &id), &text)?;
            // Another replica may have been faster, or the channel was changed meanwhile.
            let sql = "UPDATE notification_settings SET json = $4 \
                       WHERE org = $1 AND kind = $2 AND id = $3 AND json = $5";
            sealed += db.write(sql, args![org, CHANNEL, id, new, text]).await?;
        }
    }
    if sealed > 0 {
        db.erase_deleted().await?;
    }
    Ok(())
}

async fn all<T: DeserializeOwned>(db: &Db, org: OrgId, kind: &str) -> Result<Vec<T>> {
    let sql = "SELECT json FROM notification_settings WHERE org = $1 AND kind = $2 ORDER BY id";
    db.rows(sql, args![org.0, kind]).await?.iter().map(|r| read_json(&r.text(0)?)).collect()
}

#[async_trait]
impl AlertStore for Database {
    async fn lease_notifications(&self, limit: u32, now: Timestamp) -> Result<Vec<Notification>> {
        outbox::lease(&self.db, limit, now).await
    }

    async fn route_notification(&self, n: &Notification, routing: &Routing, now: Timestamp) -> Result<bool> {
        outbox::route(&self.db, n, routing, now).await
    }

    async fn notification_delivered_until(
        &self,
        rows: &[Notification],
        answer: &str,
        next: &[(EventId, Planned)],
        now: Timestamp,
    ) -> Result<()> {
        outbox::delivered(&self.db, rows, answer, next, now).await
    }

    async fn notification_skipped(&self, rows: &[Notification], reason: &str, now: Timestamp) -> Result<()> {
        outbox::skipped(&self.db, rows, reason, now).await
    }

    async fn notification_failed(
        &self,
        rows: &[Notification],
        why: &Failure,
        now: Timestamp,
    ) -> Result<Retry> {
        outbox::failed(&self.db, rows, why, now).await
    }

    async fn postpone_repeats(&self, rows: &[Notification], reason: &str, until: Timestamp) -> Result<()> {
        outbox::postpone(&self.db, rows, reason, until).await
    }

    async fn failed_notifications(&self, org: Option<OrgId>, limit: u32) -> Result<Vec<FailedNotification>> {
        outbox::list_failed(&self.db, org, limit).await
    }

    async fn count_failed_notifications(&self, org: OrgId) -> Result<u64> {
        outbox::count_failed(&self.db, org).await
    }

    async fn drop_notifications(&self, which: Option<(EventId, String)>, log: &Audit) -> Result<u64> {
        outbox::drop_failed(&self.db, which, log).await
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

    async fn message_statuses(&self, org: OrgId, events: &[EventId]) -> Result<Vec<MessageStatus>> {
        outbox::statuses(&self.db, org, events).await
    }

    async fn last_message(&self, org: OrgId, channel: &str) -> Result<Option<MessageStatus>> {
        outbox::last_of(&self.db, org, channel).await
    }

    async fn failing_since(&self, org: OrgId, channel: &str) -> Result<Option<Timestamp>> {
        outbox::failing_since(&self.db, org, channel).await
    }

    async fn events_since(&self, org: OrgId, at: Timestamp, limit: u32) -> Result<Vec<Event>> {
        events::since(&self.db, org, at, limit).await
    }

    async fn acknowledged(&self, org: OrgId, name: &DomainName, kind: EventKind) -> Result<Vec<Event>> {
        events::acknowledged(&self.db, org, name, kind).await
    }

    async fn organisation_name(&self, org: OrgId) -> Result<Option<String>> {
        let row = self.db.row("SELECT name FROM orgs WHERE id = $1", args![org.0]).await?;
        row.map(|r| r.text(0)).transpose()
    }

    async fn channels(&self, org: OrgId) -> Result<Vec<Channel>> {
        let sql = "SELECT id, json FROM notification_settings WHERE org = $1 AND kind = $2";
        let mut channels: Vec<Channel> = Vec::new();
        for r in self.db.rows(sql, args![org.0, CHANNEL]).await? {
            channels.push(read_channel(self.key.as_ref(), org, &r.text(0)?, r.text(1)?)?);
        }
        channels.sort_by_key(|c| c.name.to_lowercase());
        Ok(channels)
    }

    fn has_key(&self) -> bool {
        self.key.is_some()
    }

    async fn check_channels(&self) -> Result<()> {
        let words = if self.key.is_some() { OTHER_KEY } else { NO_KEY };
        match unreadable(&self.db, self.key.as_ref()).await?.is_empty() {
            true => Ok(()),
            false => Err(Error::Broken(words.into())),
        }
    }

    async fn remove_unreadable_channels(&self, by: &Actor, now: Timestamp) -> Result<u64> {
        if self.key.is_none() {
            return Err(Error::Broken(NO_KEY.into()));
        }
        let mut removed = 0;
        for (org, id) in unreadable(&self.db, self.key.as_ref()).await? {
            removed += u64::from(self.delete_channel(by, org, &id, now).await?);
        }
        Ok(removed)
    }

    async fn save_channel_by(&self, by: &Actor, org: OrgId, channel: &Channel, now: Timestamp) -> Result<()> {
        let key = self.key.as_ref().ok_or_else(|| Error::Broken(NO_KEY.into()))?;
        settings::save(&self.db, Some(key), (org, by, now), channel).await
    }

    async fn delete_channel(&self, by: &Actor, org: OrgId, id: &str, now: Timestamp) -> Result<bool> {
        settings::delete::<Channel>(&self.db, self.key.as_ref(), (org, by, now), id).await
    }

    async fn rules(&self, org: OrgId) -> Result<Vec<Rule>> {
        let mut rules: Vec<Rule> = all(&self.db, org, RULE).await?;
        rules.sort_by_key(|r| r.name.to_lowercase());
        Ok(rules)
    }

    async fn save_rule_by(&self, by: &Actor, org: OrgId, rule: &Rule, now: Timestamp) -> Result<()> {
        settings::save(&self.db, None, (org, by, now), rule).await
    }

    async fn delete_rule(&self, by: &Actor, org: OrgId, id: &str, now: Timestamp) -> Result<bool> {
        settings::delete::<Rule>(&self.db, None, (org, by, now), id).await
    }

    async fn maintenance(&self, org: OrgId) -> Result<Vec<Maintenance>> {
        let mut windows: Vec<Maintenance> = all(&self.db, org, MAINTENANCE).await?;
        windows.sort_by_key(|w| std::cmp::Reverse(w.from));
        Ok(windows)
    }

    async fn save_maintenance_by(
        &self,
        by: &Actor,
        org: OrgId,
        window: &Maintenance,
        now: Timestamp,
    ) -> Result<()> {
        settings::save(&self.db, None, (org, by, now), window).await
    }

    async fn delete_maintenance(&self, by: &Actor, org: OrgId, id: &str, now: Timestamp) -> Result<bool> {
        settings::delete::<Maintenance>(&self.db, None, (org, by, now), id).await
    }

    async fn create_feed(&self, org: OrgId, hash: &str, feed: &Feed, log: &Audit) -> Result<()> {
        feeds::create(&self.db, org, hash, feed, log).await
    }

    async fn feeds(&self, org: OrgId) -> Result<Vec<Feed>> {
        feeds::list(&self.db, org).await
    }

    async fn delete_feed(&self, org: OrgId, id: &str, log: &Audit) -> Result<bool> {
        feeds::delete(&self.db, org, id, log).await
    }

    async fn feed_by_hash(&self, hash: &str, now: Timestamp) -> Result<Option<(OrgId, Feed)>> {
        feeds::by_hash(&self.db, hash, now).await
    }
}
