//! The outbox (SPEC “notify”): the events of a scan, written in its transaction; then, once the rules were applied to
//! them, a message for each channel, delivered at least once.
//!
//! Each row is in the hands of one deliverer at a time, until it is done or its attempts are used up. A deliverer that
//! dies between delivering and saying so delivers again, with the same [`Notification::dedupe_key`].

use crate::api::Result;
use crate::codec::{instant, json, micros, read_json, span};
use crate::db::{Arg, Cells, Db, Tx, args};
use crate::events;
use crate::retry::{Retry, RetryPolicy};
use jiff::Timestamp;
use model::event::Event;
use model::ids::{EventId, OrgId};
use model::maintenance::Routing;
use model::names::DomainName;
use model::notify::{DeliveryState, MessageStatus};
use std::time::Duration;

/// How deliveries are retried: twelve attempts within about a day.
pub const DELIVERY: RetryPolicy = RetryPolicy {
    lease: Duration::from_secs(60),
    max_attempts: 12,
    first_delay: Duration::from_secs(15),
    max_delay: Duration::from_secs(6 * 3600),
};

/// The channel of rows that are the events of a scan, still to be routed; each is a line of the server's log.
pub const LOG: &str = "log";

/// The longest stored answer or reason, in characters.
const WORDS: usize = 500;

/// A row of the outbox: the events that one scan brought one organisation, for one channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// The first event of the scan.
    pub id: EventId,
    /// [`LOG`] while it is to be routed, then the identity of a channel.
    pub channel: String,
    /// Whose events.
    pub org: OrgId,
    /// The domain.
    pub domain: DomainName,
    /// The events in order; empty when they were pruned meanwhile.
    pub events: Vec<Event>,
    /// Names of the rules that want it.
    pub rules: Vec<String>,
    /// Messages of a channel with the same batch are sent as one.
    pub batch: Option<i64>,
    /// Recipients that have it already: an attempt fails when any of several does.
    pub accepted: Vec<String>,
    /// Which attempt this is, counted from 1.
    pub attempt: u32,
    lease: i64,
}

impl Notification {
    /// The same for every attempt to deliver this message and for no other message: receivers drop what they have
    /// seen (Message-ID of a mail, a header of a webhook).
    pub fn dedupe_key(&self) -> String {
        format!("{}-{}-{}", self.channel, self.org, self.id.0)
    }

    /// What spreads its retries: those of a batch stay together.
    fn spread(&self) -> String {
        self.batch.map_or_else(|| self.dedupe_key(), |b| format!("{}-{b}", self.channel))
    }
}

/// Why an attempt failed, and what that means for the next one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// In a sentence for people: what failed, and what the other side answered.
    pub reason: String,
    /// Another attempt would fail in the same way: the message is given up at once.
    pub permanent: bool,
    /// Nothing was attempted, for a reason of this installation: the attempt does not count.
    pub postponed: bool,
    /// No attempt before so long, because the other side asked for it.
    pub retry_after: Option<Duration>,
    /// Recipients that have the message all the same: further attempts leave them out.
    pub accepted: Vec<String>,
}

impl Failure {
    /// A failure that may pass.
    pub fn temporary(reason: impl Into<String>) -> Self {
        Failure { reason: reason.into(), ..Failure::default() }
    }

    /// What could not be attempted now and is tried again in a few seconds.
    pub fn postponed(reason: impl Into<String>) -> Self {
        Failure { reason: reason.into(), postponed: true, ..Failure::default() }
    }

    /// A failure that will not pass by itself.
    pub fn permanent(reason: impl Into<String>) -> Self {
        Failure { reason: reason.into(), permanent: true, ..Failure::default() }
    }
}

/// A message that was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedNotification {
    /// The first event of the scan.
    pub id: EventId,
    /// Where it was to go.
    pub channel: String,
    /// Whose events.
    pub org: OrgId,
    /// The domain.
    pub domain: DomainName,
    /// When it was given up.
    pub failed_at: Timestamp,
    /// Why the last attempt failed.
    pub reason: String,
    /// Attempts that were made.
    pub attempts: u32,
}

/// The outbox in figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutboxStats {
    /// Messages still to be delivered.
    pub waiting: u64,
    /// Messages that were given up.
    pub failed: u64,
}

/// The row of events to be routed; `first` and `last` are their ids.
pub(crate) fn row(org: OrgId, name: &DomainName, first: i64, last: i64, at: Timestamp) -> Vec<Arg> {
    args![first, LOG, org.0, name.as_str(), last, micros(at), micros(at), 0, 0]
}

/// Writes rows inside the transaction of their events.
pub(crate) async fn put(tx: &mut Tx, rows: Vec<Vec<Arg>>) -> Result<()> {
    let head = "INSERT INTO outbox (id, channel, org, name, last_event, at, due_at, attempts, lease)";
    tx.insert(head, rows, "").await?;
    Ok(())
}

/// Due rows, oldest first, each to one caller at a time.
pub(crate) async fn lease(db: &Db, limit: u32, now: Timestamp) -> Result<Vec<Notification>> {
    const DUE: &str = "failed_at IS NULL AND delivered_at IS NULL AND due_at <= $1";
    let at = micros(now);
    if db.row(format!("SELECT id FROM outbox WHERE {DUE} LIMIT 1"), args![at]).await?.is_none() {
        return Ok(Vec::new());
    }
    let sql = format!(
        "WITH picked AS MATERIALIZED (SELECT id AS i, channel AS c FROM outbox \
         WHERE {DUE} ORDER BY due_at, id LIMIT $2{}) \
         UPDATE outbox SET lease = CASE WHEN lease >= $1 THEN lease + 1 ELSE $1 END, due_at = $3, \
         attempts = attempts + 1 FROM picked WHERE outbox.id = picked.i AND outbox.channel = picked.c \
         RETURNING id, channel, org, name, last_event, attempts, lease, events, rules, batch, accepted",
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
            failed(db, &n, &Failure::permanent("the process that delivered it ended every time"), now)
                .await?;
            continue;
        }
        n.events = match r.text_or_null(7)? {
            Some(ids) => events::by_id(db, n.org, &read_json::<Vec<EventId>>(&ids)?).await?,
            None => events::between(db, n.org, &n.domain, n.id, EventId(r.int(4)?)).await?,
        };
        out.push(n);
    }
    out.sort_by(|a, b| (a.id, &a.channel).cmp(&(b.id, &b.channel)));
    Ok(out)
}

fn message(r: &Cells) -> Result<Notification> {
    Ok(Notification {
        id: EventId(r.int(0)?),
        channel: r.text(1)?,
        org: OrgId(r.int(2)?),
        domain: DomainName::trusted(&r.text(3)?),
        events: Vec::new(),
        rules: r.text_or_null(8)?.map(|t| read_json(&t)).transpose()?.unwrap_or_default(),
        batch: r.int_or_null(9)?,
        accepted: r.text_or_null(10)?.map(|t| read_json(&t)).transpose()?.unwrap_or_default(),
        attempt: u32::try_from(r.int(5)?).unwrap_or(u32::MAX),
        lease: r.int(6)?,
    })
}

/// Replaces the events of a scan by messages, if the lease still holds.
pub(crate) async fn route(db: &Db, n: &Notification, routing: &Routing, now: Timestamp) -> Result<bool> {
    let mut tx = db.begin().await?;
    let sql = "DELETE FROM outbox WHERE id = $1 AND channel = $2 AND lease = $3 RETURNING last_event";
    let Some(r) = tx.row(sql, args![n.id.0, n.channel.as_str(), n.lease]).await? else { return Ok(false) };
    let last = r.int(0)?;
    for (event, note) in &routing.during {
        let sql = "UPDATE events SET maintenance = $3 WHERE org = $1 AND id = $2";
        tx.execute(sql, args![n.org.0, event.0, note.as_str()]).await?;
    }
    let mut rows = Vec::with_capacity(routing.planned.len());
    for p in &routing.planned {
        let batch = p.batch.then(|| micros(p.due_at));
        rows.push(args![
            n.id.0,
            p.channel.as_str(),
            n.org.0,
            n.domain.as_str(),
            last,
            micros(now),
            micros(p.due_at),
            0,
            0,
            json(&p.events)?,
            json(&p.rules)?,
            batch,
            p.skipped.as_ref().map(|_| micros(now)),
            p.skipped.clone(),
            i64::from(p.skipped.is_some())
        ]);
    }
    let head = "INSERT INTO outbox (id, channel, org, name, last_event, at, due_at, attempts, lease, events, rules, \
                batch, delivered_at, answer, skipped)";
    tx.insert(head, rows, "").await?;
    tx.commit().await?;
    Ok(true)
}

pub(crate) async fn delivered(
    db: &Db,
    n: &Notification,
    answer: &str,
    now: Timestamp,
    skipped: bool,
) -> Result<()> {
    let sql = "UPDATE outbox SET delivered_at = $4, answer = $5, last_error = NULL, skipped = $6 \
               WHERE id = $1 AND channel = $2 AND lease = $3";
    let answer: String = answer.chars().take(WORDS).collect();
    db.write(sql, args![n.id.0, n.channel.as_str(), n.lease, micros(now), answer, i64::from(skipped)])
        .await?;
    Ok(())
}

pub(crate) async fn failed(db: &Db, n: &Notification, why: &Failure, now: Timestamp) -> Result<Retry> {
    let at = micros(now);
    let given_up = !why.postponed && (why.permanent || n.attempt >= DELIVERY.max_attempts);
    let delay = if why.postponed { DELIVERY.first_delay } else { DELIVERY.delay(n.attempt, &n.spread()) };
    let delay = why.retry_after.map_or(delay, |asked| delay.max(asked.min(DELIVERY.max_delay)));
    let due = at.saturating_add(span(delay));
    let reason: String = why.reason.chars().take(WORDS).collect();
    let sql = "UPDATE outbox SET due_at = $4, failed_at = $5, last_error = $6, accepted = $7, \
               attempts = attempts - $8 \
               WHERE id = $1 AND channel = $2 AND lease = $3 AND delivered_at IS NULL";
    let failed_at = given_up.then_some(at);
    let mut accepted = n.accepted.clone();
    accepted.extend(why.accepted.iter().filter(|a| !n.accepted.contains(a)).cloned());
    let accepted = if accepted.is_empty() { None } else { Some(json(&accepted)?) };
    let values = args![
        n.id.0,
        n.channel.as_str(),
        n.lease,
        due,
        failed_at,
        reason,
        accepted,
        i64::from(why.postponed)
    ];
    if db.write(sql, values).await? == 0 {
        return Ok(Retry::LeaseLost);
    }
    Ok(if given_up { Retry::GivenUp } else { Retry::At(instant(due)?) })
}

/// Makes what a dead process was sending due again; messages that wait after a failure keep their time.
pub(crate) async fn release_lost(db: &Db, now: Timestamp) -> Result<u64> {
    let sql = "UPDATE outbox SET due_at = $1 WHERE attempts > 0 AND last_error IS NULL AND due_at > $1 \
               AND delivered_at IS NULL AND failed_at IS NULL";
    db.write(sql, args![micros(now)]).await
}

pub(crate) async fn list_failed(db: &Db, org: Option<OrgId>, limit: u32) -> Result<Vec<FailedNotification>> {
    let whose = if org.is_some() { " AND org = $2" } else { "" };
    let sql = format!(
        "SELECT id, channel, org, name, failed_at, last_error, attempts FROM outbox \
         WHERE failed_at IS NOT NULL{whose} ORDER BY failed_at, id LIMIT $1"
    );
    let mut values = args![i64::from(limit)];
    values.extend(org.map(|o| Arg::from(o.0)));
    db.rows(sql, values)
        .await?
        .iter()
        .map(|r| {
            Ok(FailedNotification {
                id: EventId(r.int(0)?),
                channel: r.text(1)?,
                org: OrgId(r.int(2)?),
                domain: DomainName::trusted(&r.text(3)?),
                failed_at: instant(r.int(4)?)?,
                reason: r.text_or_null(5)?.unwrap_or_default(),
                attempts: u32::try_from(r.int(6)?).unwrap_or(u32::MAX),
            })
        })
        .collect()
}

pub(crate) async fn retry_failed(
    db: &Db,
    org: Option<OrgId>,
    which: Option<(EventId, String)>,
    now: Timestamp,
) -> Result<u64> {
    let mut sql = "UPDATE outbox SET due_at = $1, attempts = 0, failed_at = NULL WHERE failed_at IS NOT NULL"
        .to_string();
    let mut values = args![micros(now)];
    if let Some(org) = org {
        values.extend(args![org.0]);
        sql.push_str(" AND org = $2");
        if let Some((id, channel)) = which {
            values.extend(args![id.0, channel]);
            sql.push_str(" AND id = $3 AND channel = $4");
        }
    }
    db.write(sql, values).await
}

pub(crate) async fn stats(db: &Db) -> Result<OutboxStats> {
    let sql = "SELECT (SELECT COUNT(*) FROM outbox WHERE failed_at IS NULL AND delivered_at IS NULL), \
               (SELECT COUNT(*) FROM outbox WHERE failed_at IS NOT NULL)";
    let Some(r) = db.row(sql, args![]).await? else { return Ok(OutboxStats::default()) };
    let count = |i| r.int(i).map(|n| u64::try_from(n).unwrap_or(0));
    Ok(OutboxStats { waiting: count(0)?, failed: count(1)? })
}

const STATUS: &str =
    "id, channel, name, events, at, due_at, attempts, failed_at, delivered_at, last_error, answer, skipped";

/// Messages about events between two identities. A scan's events lie within a few thousand positions of its first.
pub(crate) async fn statuses(
    db: &Db,
    org: OrgId,
    first: EventId,
    last: EventId,
) -> Result<Vec<MessageStatus>> {
    let sql = format!(
        "SELECT {STATUS} FROM outbox WHERE org = $1 AND id >= $2 AND id <= $3 AND last_event >= $4 \
         AND channel <> '{LOG}' ORDER BY id DESC, channel LIMIT 1000"
    );
    let rows = db.rows(sql, args![org.0, first.0.saturating_sub(5000), last.0, first.0]).await?;
    rows.iter().map(status).collect()
}

pub(crate) async fn last_of(db: &Db, org: OrgId, channel: &str) -> Result<Option<MessageStatus>> {
    let sql = format!(
        "SELECT {STATUS} FROM outbox WHERE org = $1 AND channel = $2 AND attempts > 0 ORDER BY id DESC LIMIT 1"
    );
    db.row(sql, args![org.0, channel]).await?.as_ref().map(status).transpose()
}

fn status(r: &Cells) -> Result<MessageStatus> {
    let attempts = u32::try_from(r.int(6)?).unwrap_or(u32::MAX);
    let error = r.text_or_null(9)?;
    let state = match (r.int_or_null(8)?, r.int_or_null(7)?) {
        (Some(at), _) if r.int(11)? != 0 => {
            DeliveryState::Skipped { at: instant(at)?, reason: r.text_or_null(10)?.unwrap_or_default() }
        }
        (Some(at), _) => {
            DeliveryState::Delivered { at: instant(at)?, answer: r.text_or_null(10)?.unwrap_or_default() }
        }
        (None, Some(at)) => {
            DeliveryState::Failed { at: instant(at)?, error: error.unwrap_or_default(), attempts }
        }
        (None, None) => DeliveryState::Waiting { due_at: instant(r.int(5)?)?, attempts, error },
    };
    Ok(MessageStatus {
        id: EventId(r.int(0)?),
        channel: r.text(1)?,
        domain: r.text(2)?,
        events: r.text_or_null(3)?.map(|t| read_json(&t)).transpose()?.unwrap_or_default(),
        at: instant(r.int(4)?)?,
        state,
    })
}
