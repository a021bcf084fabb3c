//! Channels, rules and maintenance windows are written here, each with its entry of the audit log in the same transaction.

use crate::accounts::Audit;
use crate::accounts::audit::note;
use crate::alerts::{channel_row, read_channel};
use crate::api::Result;
use crate::codec::{json, micros, read_json};
use crate::db::{Db, args};
use crate::outbox;
use crate::seal::SecretKey;
use jiff::Timestamp;
use model::account::Actor;
use model::ids::OrgId;
use model::maintenance::Maintenance;
use model::notify::{Channel, Delivery, Rule};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A setting of notifications that people change.
pub(crate) trait Setting: Serialize + DeserializeOwned + PartialEq {
    /// Its word in the table.
    const KIND: &'static str;
    /// Words of the audit log for saving and removing it.
    const ACTIONS: [&'static str; 2];
    fn id(&self) -> &str;
    /// As the audit log names it.
    fn title(&self) -> String;
    /// Its value in the audit log, without secrets.
    fn words(&self) -> String;
    /// The text to store.
    fn encode(&self, _key: Option<&SecretKey>, _org: OrgId) -> Result<String> {
        json(self)
    }
    /// The setting of a stored text.
    fn decode(_key: Option<&SecretKey>, _org: OrgId, _id: &str, text: String) -> Result<Self> {
        read_json(&text)
    }
}

impl Setting for Channel {
    const KIND: &'static str = "channel";
    const ACTIONS: [&'static str; 2] = ["channel.save", "channel.remove"];

    fn id(&self) -> &str {
        &self.id
    }

    fn title(&self) -> String {
        self.name.clone()
    }

    fn words(&self) -> String {
        format!("{}: {}", self.target.label(), self.target.public())
    }

    fn encode(&self, key: Option<&SecretKey>, org: OrgId) -> Result<String> {
        let text = json(self)?;
        key.map_or(Ok(text.clone()), |key| key.seal(&channel_row(org, &self.id), &text))
    }

    fn decode(key: Option<&SecretKey>, org: OrgId, id: &str, text: String) -> Result<Self> {
        read_channel(key, org, id, text)
    }
}

impl Setting for Rule {
    const KIND: &'static str = "rule";
    const ACTIONS: [&'static str; 2] = ["rule.save", "rule.remove"];

    fn id(&self) -> &str {
        &self.id
    }

    fn title(&self) -> String {
        self.name.clone()
    }

    fn words(&self) -> String {
        let list = |words: Vec<String>, all: &str| match words.is_empty() {
            true => all.to_string(),
            false => words.join(", "),
        };
        let kinds = self.kinds.iter().map(|k| k.label().to_string()).collect();
        let delivery = match self.delivery {
            Delivery::Immediate => "at once".to_string(),
            Delivery::Daily { hour } => format!("daily at {hour:02}:00 UTC"),
            Delivery::Weekly { hour } => format!("on Mondays at {hour:02}:00 UTC"),
        };
        let quiet = self.quiet.map_or(String::new(), |q| {
            let time = |m: u16| format!("{:02}:{:02}", m / 60, m % 60);
            let critical = if self.critical_at_once { "" } else { ", critical events too" };
            format!("; quiet {} to {} UTC{critical}", time(q.from), time(q.to))
        });
        let muted = self.muted_until.map_or(String::new(), |until| format!("; muted until {until}"));
        let repeat = self.repeat_hours.map_or(String::new(), |h| format!("; repeated every {h} hours"));
        format!(
            "{}; {}; at least {}; {}; tags: {}; channels: {}; {delivery}{quiet}{muted}{repeat}",
            if self.enabled { "enabled" } else { "disabled" },
            list(kinds, "all kinds"),
            self.at_least.label(),
            self.ownership.map_or("owned and watched", |o| o.as_str()),
            list(self.tags.clone(), "all"),
            list(self.channels.clone(), "none"),
        )
    }
}

impl Setting for Maintenance {
    const KIND: &'static str = "maintenance";
    const ACTIONS: [&'static str; 2] = ["maintenance.save", "maintenance.remove"];

    fn id(&self) -> &str {
        &self.id
    }

    fn title(&self) -> String {
        self.scope.label()
    }

    fn words(&self) -> String {
        let time = |at: Timestamp| at.strftime("%Y-%m-%d %H:%M UTC").to_string();
        format!("{} to {}: {}", time(self.from), time(self.to), self.note)
    }
}

/// Whose setting, by whom, when.
pub(crate) type Change<'a> = (OrgId, &'a Actor, Timestamp);

/// Adds a setting or replaces the one of the same identity; what is the same is not written.
pub(crate) async fn save<T: Setting>(
    db: &Db,
    key: Option<&SecretKey>,
    (org, by, at): Change<'_>,
    value: &T,
) -> Result<()> {
    let mut tx = db.begin().await?;
    let sql = format!(
        "SELECT json FROM notification_settings WHERE org = $1 AND kind = $2 AND id = $3{}",
        db.for_update()
    );
    let row = tx.row(sql, args![org.0, T::KIND, value.id()]).await?;
    // A value that can't be read, as one under a lost key, is replaced.
    let old = row.map(|r| r.text(0)).transpose()?.and_then(|t| T::decode(key, org, value.id(), t).ok());
    if old.as_ref() == Some(value) {
        return Ok(());
    }
    let sql = "INSERT INTO notification_settings (org, kind, id, json, at) VALUES ($1, $2, $3, $4, $5) \
               ON CONFLICT (org, kind, id) DO UPDATE SET json = excluded.json, at = excluded.at";
    let text = value.encode(key, org)?;
    tx.execute(sql, args![org.0, T::KIND, value.id(), text, micros(at)]).await?;
    if T::KIND == Maintenance::KIND {
        // It may end earlier now.
        outbox::release_held(&mut tx, org, None, at).await?;
    }
    if T::KIND == Rule::KIND {
        // Its mute may.
        outbox::release_repeats(&mut tx, org, None, at).await?;
    }
    let entry = Audit {
        org,
        by: by.clone(),
        at,
        action: T::ACTIONS[0],
        object: value.title(),
        old: old.map(|o| o.words()),
        new: Some(value.words()),
    };
    note(&mut tx, Some(&entry)).await?;
    tx.commit().await
}

/// Removes a setting and closes, of a channel, what waits for it; false when there was none.
pub(crate) async fn delete<T: Setting>(
    db: &Db,
    key: Option<&SecretKey>,
    (org, by, at): Change<'_>,
    id: &str,
) -> Result<bool> {
    let mut tx = db.begin().await?;
    let sql = "DELETE FROM notification_settings WHERE org = $1 AND kind = $2 AND id = $3 RETURNING json";
    let Some(row) = tx.row(sql, args![org.0, T::KIND, id]).await? else { return Ok(false) };
    if T::KIND == Channel::KIND {
        outbox::close_channel(&mut tx, org, id, at).await?;
        // The result of its last test would be a leftover of its feature.
        let test = format!("channel-test/{id}");
        tx.execute("DELETE FROM settings WHERE org = $1 AND key = $2", args![org.0, test]).await?;
    }
    if T::KIND == Maintenance::KIND {
        outbox::release_held(&mut tx, org, None, at).await?;
    }
    let old = T::decode(key, org, id, row.text(0)?).ok();
    let entry = Audit {
        org,
        by: by.clone(),
        at,
        action: T::ACTIONS[1],
        object: old.as_ref().map_or_else(|| id.to_string(), Setting::title),
        old: old.map(|o| o.words()),
        new: None,
    };
    note(&mut tx, Some(&entry)).await?;
    tx.commit().await?;
    Ok(true)
}
