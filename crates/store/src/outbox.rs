//! The outbox (SPEC “notify”): messages written in the transaction that wrote their events, delivered at least once.
//!
//! In: the events of a scan, an organisation and a channel; out: each message at one deliverer at a time, until it is
//! delivered or its attempts are used up. A deliverer that dies between delivering and saying so delivers again, with
//! the same [`Notification::dedupe_key`].

use crate::api::Result;
use crate::codec::{instant, micros, span};
use crate::db::{Arg, Cells, Db, Tx, args};
use crate::events;
use crate::retry::{Retry, RetryPolicy};
use jiff::Timestamp;
use model::event::Event;
use model::ids::{EventId, OrgId};
use model::names::DomainName;
use std::time::Duration;

/// How deliveries are retried: ten attempts within about two hours.
pub const DELIVERY: RetryPolicy = RetryPolicy {
    lease: Duration::from_secs(60),
    max_attempts: 10,
    first_delay: Duration::from_secs(10),
    max_delay: Duration::from_secs(1800),
};

/// Where messages go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    /// A structured line of the server's log.
    Log,
}

impl Channel {
    /// All channels; every message goes to each.
    pub const ALL: [Channel; 1] = [Channel::Log];

    /// The stable word in the database, in metrics and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Channel::Log => "log",
        }
    }

    fn from_word(word: &str) -> Option<Channel> {
        Channel::ALL.into_iter().find(|c| c.as_str() == word)
    }
}

/// The events that one scan brought one organisation, for one channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// The first of its events.
    pub id: EventId,
    /// Where it goes.
    pub channel: Channel,
    /// Whose events.
    pub org: OrgId,
    /// The domain.
    pub domain: DomainName,
    /// The events in order; empty when they were pruned meanwhile.
    pub events: Vec<Event>,
    /// Which attempt this is, counted from 1.
    pub attempt: u32,
    lease: i64,
}

impl Notification {
    /// The same for every attempt to deliver this message and for no other message: receivers drop what they have
    /// seen (Message-ID of a mail, a header of a webhook).
    pub fn dedupe_key(&self) -> String {
        format!("{}-{}-{}", self.channel.as_str(), self.org, self.id.0)
    }
}

/// A message whose attempts are used up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedNotification {
    /// The first of its events.
    pub id: EventId,
    /// Where it was to go.
    pub channel: Channel,
    /// Whose events.
    pub org: OrgId,
    /// The domain.
    pub domain: DomainName,
    /// When it was given up.
    pub failed_at: Timestamp,
    /// Why the last attempt failed.
    pub reason: String,
}

/// The outbox in figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutboxStats {
    /// Messages still to be delivered.
    pub waiting: u64,
    /// Messages that were given up.
    pub failed: u64,
}

/// The row of a message to be; `first` and `last` are the ids of its events.
pub(crate) fn row(
    channel: Channel,
    org: OrgId,
    name: &DomainName,
    first: i64,
    last: i64,
    at: Timestamp,
) -> Vec<Arg> {
    args![first, channel.as_str(), org.0, name.as_str(), last, micros(at), micros(at), 0, 0]
}

/// Writes messages inside the transaction of their events.
pub(crate) async fn put(tx: &mut Tx, rows: Vec<Vec<Arg>>) -> Result<()> {
    let head = "INSERT INTO outbox (id, channel, org, name, last_event, at, due_at, attempts, lease)";
    tx.insert(head, rows, "").await?;
    Ok(())
}

/// Due messages, oldest first, each to one caller at a time.
pub(crate) async fn lease(db: &Db, limit: u32, now: Timestamp) -> Result<Vec<Notification>> {
    let at = micros(now);
    let due = "SELECT id FROM outbox WHERE failed_at IS NULL AND due_at <= $1 LIMIT 1";
    if db.row(due, args![at]).await?.is_none() {
        return Ok(Vec::new());
    }
    let sql = format!(
        "WITH picked AS MATERIALIZED (SELECT id AS i, channel AS c FROM outbox \
         WHERE failed_at IS NULL AND due_at <= $1 ORDER BY due_at, id LIMIT $2{}) \
         UPDATE outbox SET lease = CASE WHEN lease >= $1 THEN lease + 1 ELSE $1 END, due_at = $3, \
         attempts = attempts + 1 FROM picked WHERE outbox.id = picked.i AND outbox.channel = picked.c \
         RETURNING id, channel, org, name, last_event, attempts, lease",
        db.skip_locked()
    );
    let mut tx = db.begin().await?;
    let until = at.saturating_add(span(DELIVERY.lease));
    let rows = tx.rows(sql, args![at, i64::from(limit), until]).await?;
    tx.commit().await?;
    let mut out = Vec::with_capacity(rows.len());
    for r in &rows {
        let mut n = message(r)?;
        if n.attempt > DELIVERY.max_attempts {
            failed(db, &n, "the process that delivered it ended every time", now).await?;
            continue;
        }
        n.events = events::between(db, n.org, &n.domain, n.id, EventId(r.int(4)?)).await?;
        out.push(n);
    }
    out.sort_by_key(|n| (n.id, n.channel));
    Ok(out)
}

fn channel(r: &Cells, column: usize) -> Result<Channel> {
    let word = r.text(column)?;
    Channel::from_word(&word)
        .ok_or_else(|| crate::api::Error::Broken(format!("stored channel “{word}” is unknown")))
}

fn message(r: &Cells) -> Result<Notification> {
    Ok(Notification {
        id: EventId(r.int(0)?),
        channel: channel(r, 1)?,
        org: OrgId(r.int(2)?),
        domain: DomainName::trusted(&r.text(3)?),
        events: Vec::new(),
        attempt: u32::try_from(r.int(5)?).unwrap_or(u32::MAX),
        lease: r.int(6)?,
    })
}

pub(crate) async fn delivered(db: &Db, n: &Notification) -> Result<()> {
    let sql = "DELETE FROM outbox WHERE id = $1 AND channel = $2 AND lease = $3";
    db.write(sql, args![n.id.0, n.channel.as_str(), n.lease]).await?;
    Ok(())
}

pub(crate) async fn failed(db: &Db, n: &Notification, reason: &str, now: Timestamp) -> Result<Retry> {
    let at = micros(now);
    let given_up = n.attempt >= DELIVERY.max_attempts;
    let due = at.saturating_add(span(DELIVERY.delay(n.attempt, &n.dedupe_key())));
    let reason: String = reason.chars().take(500).collect();
    let sql = "UPDATE outbox SET due_at = $4, failed_at = $5, last_error = $6 \
               WHERE id = $1 AND channel = $2 AND lease = $3";
    let failed_at = given_up.then_some(at);
    let values = args![n.id.0, n.channel.as_str(), n.lease, due, failed_at, reason];
    if db.write(sql, values).await? == 0 {
        return Ok(Retry::LeaseLost);
    }
    Ok(if given_up { Retry::GivenUp } else { Retry::At(instant(due)?) })
}

pub(crate) async fn list_failed(db: &Db, limit: u32) -> Result<Vec<FailedNotification>> {
    let sql = "SELECT id, channel, org, name, failed_at, last_error FROM outbox WHERE failed_at IS NOT NULL \
               ORDER BY failed_at, id LIMIT $1";
    db.rows(sql, args![i64::from(limit)])
        .await?
        .iter()
        .map(|r| {
            Ok(FailedNotification {
                id: EventId(r.int(0)?),
                channel: channel(r, 1)?,
                org: OrgId(r.int(2)?),
                domain: DomainName::trusted(&r.text(3)?),
                failed_at: instant(r.int(4)?)?,
                reason: r.text_or_null(5)?.unwrap_or_default(),
            })
        })
        .collect()
}

/// Makes all given-up messages due again, from their first attempt on; how many there were.
pub(crate) async fn retry_failed(db: &Db, now: Timestamp) -> Result<u64> {
    let sql = "UPDATE outbox SET due_at = $1, attempts = 0, failed_at = NULL WHERE failed_at IS NOT NULL";
    db.write(sql, args![micros(now)]).await
}

pub(crate) async fn stats(db: &Db) -> Result<OutboxStats> {
    let sql = "SELECT (SELECT COUNT(*) FROM outbox WHERE failed_at IS NULL), \
               (SELECT COUNT(*) FROM outbox WHERE failed_at IS NOT NULL)";
    let Some(r) = db.row(sql, args![]).await? else { return Ok(OutboxStats::default()) };
    let count = |i| r.int(i).map(|n| u64::try_from(n).unwrap_or(0));
    Ok(OutboxStats { waiting: count(0)?, failed: count(1)? })
}
