//! The outbox (SPEC “notify”): the events of a scan, written in its transaction; then, once the rules were applied to
//! them, a message for each channel, delivered at least once. Events of a muted domain or a maintenance window wait here
//! for its end.
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
use std::collections::BTreeMap;
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

/// Events of a domain that wait at most.
const HELD_MAX: usize = 1000;
/// Why older ones are not sent.
const CROWDED: &str = "More than 1,000 newer events of the domain waited with it";

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
    /// Of [`LOG`]: these events were routed before, and then waited for the end of a mute or a maintenance window.
    pub held: bool,
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

/// Rows that are to be delivered or routed.
const OPEN: &str = "failed_at IS NULL AND delivered_at IS NULL";
const LEASED: &str =
    "RETURNING id, channel, org, name, last_event, attempts, lease, events, rules, batch, accepted";

/// Of a batch only the first row is leased; who has it takes the others ([`lease_batch`]), so that no two processes send
/// parts of it.
const HEAD: &str = "(batch IS NULL OR NOT EXISTS (SELECT 1 FROM outbox e WHERE e.org = outbox.org \
                    AND e.channel = outbox.channel AND e.batch = outbox.batch AND e.id < outbox.id \
                    AND e.failed_at IS NULL AND e.delivered_at IS NULL))";

/// What leases rows: `$1` now, `$2` the end of the lease.
const TAKE: &str = "UPDATE outbox SET lease = CASE WHEN lease >= $1 THEN lease + 1 ELSE $1 END, due_at = $2, \
                    attempts = attempts + 1";

/// Due rows, oldest first, each to one caller at a time.
pub(crate) async fn lease(db: &Db, limit: u32, now: Timestamp) -> Result<Vec<Notification>> {
    let at = micros(now);
    let due = format!("SELECT id FROM outbox WHERE {OPEN} AND due_at <= $1 LIMIT 1");
    if db.row(due, args![at]).await?.is_none() {
        return Ok(Vec::new());
    }
    let sql = format!(
        "WITH picked AS MATERIALIZED (SELECT id AS i, channel AS c FROM outbox \
         WHERE {OPEN} AND due_at <= $1 AND {HEAD} ORDER BY due_at, id LIMIT $3{}) \
         {TAKE} FROM picked WHERE outbox.id = picked.i AND outbox.channel = picked.c {LEASED}",
        db.skip_locked()
    );
    leased(db, sql, args![at, at.saturating_add(span(DELIVERY.lease)), i64::from(limit)], now).await
}

/// The other due rows of a batch, which are sent together with those that were leased; at most `limit`.
pub(crate) async fn lease_batch(
    db: &Db,
    n: &Notification,
    limit: u32,
    now: Timestamp,
) -> Result<Vec<Notification>> {
    let Some(batch) = n.batch else { return Ok(Vec::new()) };
    let at = micros(now);
    let sql = format!(
        "WITH picked AS MATERIALIZED (SELECT id AS i, channel AS c FROM outbox \
         WHERE {OPEN} AND due_at <= $1 AND org = $3 AND channel = $4 AND batch = $5 ORDER BY due_at, id LIMIT $6{}) \
         {TAKE} FROM picked WHERE outbox.id = picked.i AND outbox.channel = picked.c {LEASED}",
        db.skip_locked()
    );
    let until = at.saturating_add(span(DELIVERY.lease));
    let values = args![at, until, n.org.0, n.channel.as_str(), batch, i64::from(limit)];
    leased(db, sql, values, now).await
}

async fn leased(db: &Db, sql: String, values: Vec<Arg>, now: Timestamp) -> Result<Vec<Notification>> {
    let mut tx = db.begin().await?;
    let rows = tx.rows(sql, values).await?;
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
        held: r.text(1)? == LOG && r.text_or_null(7)?.is_some(),
        lease: r.int(6)?,
    })
}

/// A row that routing writes.
struct Routed<'a> {
    channel: &'a str,
    events: &'a [EventId],
    due_at: Timestamp,
    rules: &'a [String],
    batch: Option<i64>,
    /// Why it is closed without being sent.
    closed: Option<&'a str>,
    /// Why it waits.
    waits: Option<&'a str>,
}

/// Replaces the events of a scan, or those that were held, by messages, if the lease still holds.
///
/// A row is named after the first of its events: each event is in one row of a channel at most.
pub(crate) async fn route(db: &Db, n: &Notification, routing: &Routing, now: Timestamp) -> Result<bool> {
    let mut tx = db.begin().await?;
    let sql = "DELETE FROM outbox WHERE id = $1 AND channel = $2 AND lease = $3 RETURNING id";
    if tx.row(sql, args![n.id.0, n.channel.as_str(), n.lease]).await?.is_none() {
        return Ok(false);
    }
    for (event, note) in &routing.during {
        let sql = "UPDATE events SET maintenance = $3 WHERE org = $1 AND id = $2";
        tx.execute(sql, args![n.org.0, event.0, note.as_str()]).await?;
    }
    let mut rows = Vec::new();
    for p in &routing.planned {
        rows.push(Routed {
            channel: &p.channel,
            events: &p.events,
            due_at: p.due_at,
            rules: &p.rules,
            batch: p.batch.then(|| micros(p.due_at)),
            closed: p.skipped.as_deref(),
            waits: None,
        });
    }
    let log = |events, due_at, closed, waits| Routed {
        channel: LOG,
        events,
        due_at,
        rules: &[],
        batch: None,
        closed,
        waits,
    };
    rows.extend(routing.closed.iter().map(|c| log(&c.events[..], now, Some(&c.reason[..]), None)));
    // What waits already for the same domain waits together with it: what reverses a change is in one row with it. At
    // the earlier end what is free is sent, and the rest waits on.
    let mut merged = Vec::with_capacity(routing.held.len());
    let mut crowded = Vec::new();
    for h in &routing.held {
        let (mut events, until) = waiting(db, &mut tx, n).await?;
        events.extend(&h.events);
        events.sort_unstable();
        events.dedup();
        let kept = events.split_off(events.len().saturating_sub(HELD_MAX));
        let (dropped, events) = (events, kept);
        crowded.extend(dropped);
        merged.push((events, until.map_or(h.until, |u| u.min(h.until)), h.reason.as_str()));
    }
    if !crowded.is_empty() {
        rows.push(log(&crowded[..], now, Some(CROWDED), None));
    }
    rows.extend(merged.iter().map(|(events, until, reason)| log(&events[..], *until, None, Some(*reason))));
    write(&mut tx, n, &rows, now).await?;
    tx.commit().await?;
    Ok(true)
}

/// Takes the row of a domain's events that wait, unless it is leased; its events and when they are due.
async fn waiting(db: &Db, tx: &mut Tx, n: &Notification) -> Result<(Vec<EventId>, Option<Timestamp>)> {
    let find = format!(
        "SELECT id, due_at, events FROM outbox WHERE org = $1 AND name = $2 AND channel = 'log' \
         AND events IS NOT NULL AND {OPEN} AND attempts = 0{}",
        db.for_update()
    );
    let (mut events, mut until): (Vec<EventId>, _) = (Vec::new(), None);
    for r in tx.rows(find, args![n.org.0, n.domain.as_str()]).await? {
        tx.execute("DELETE FROM outbox WHERE id = $1 AND channel = $2", args![r.int(0)?, LOG]).await?;
        until = until.max(Some(instant(r.int(1)?)?));
        events.extend(read_json::<Vec<EventId>>(&r.text(2)?)?);
    }
    Ok((events, until))
}

async fn write(tx: &mut Tx, n: &Notification, routed: &[Routed<'_>], now: Timestamp) -> Result<()> {
    let (mut rows, mut of_rows) = (Vec::with_capacity(routed.len()), Vec::new());
    for r in routed {
        let first = r.events.first().copied().unwrap_or(n.id);
        let last = r.events.last().copied().unwrap_or(n.id);
        rows.push(args![
            first.0,
            r.channel,
            n.org.0,
            n.domain.as_str(),
            last.0,
            micros(now),
            micros(r.due_at),
            0,
            0,
            json(&r.events)?,
            json(&r.rules)?,
            r.batch,
            r.closed.map(|_| micros(now)),
            r.closed.or(r.waits).map(str::to_string),
            i64::from(r.closed.is_some())
        ]);
        let mut events = r.events.to_vec();
        events.sort_unstable();
        events.dedup();
        of_rows.extend(events.into_iter().map(|e| args![first.0, r.channel, e.0, n.org.0]));
    }
    let head = "INSERT INTO outbox (id, channel, org, name, last_event, at, due_at, attempts, lease, events, rules, \
                batch, delivered_at, answer, skipped)";
    tx.insert(head, rows, "").await?;
    tx.insert("INSERT INTO message_events (id, channel, event, org)", of_rows, "").await?;
    Ok(())
}

/// Has events that wait looked at now: the mute or the window ended early. Of one domain, or of all.
pub(crate) async fn release_held(
    tx: &mut Tx,
    org: OrgId,
    name: Option<&DomainName>,
    now: Timestamp,
) -> Result<u64> {
    let which = if name.is_some() { " AND name = $3" } else { "" };
    let sql = format!(
        "UPDATE outbox SET due_at = $2 WHERE org = $1{which} AND channel = 'log' AND events IS NOT NULL AND {OPEN} \
         AND attempts = 0 AND due_at > $2"
    );
    let mut values = args![org.0, micros(now)];
    values.extend(name.map(|n| Arg::from(n.as_str())));
    tx.execute(sql, values).await
}

/// Closes what waits for a channel that is removed; what was delivered stays as it is.
pub(crate) async fn close_channel(tx: &mut Tx, org: OrgId, channel: &str, now: Timestamp) -> Result<u64> {
    let sql = "UPDATE outbox SET delivered_at = $3, failed_at = NULL, skipped = 1, answer = $4 \
               WHERE org = $1 AND channel = $2 AND delivered_at IS NULL";
    tx.execute(sql, args![org.0, channel, micros(now), "The channel was removed"]).await
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
    // What is held back is not due.
    let sql = "SELECT (SELECT COUNT(*) FROM outbox WHERE failed_at IS NULL AND delivered_at IS NULL \
               AND (channel <> 'log' OR events IS NULL)), \
               (SELECT COUNT(*) FROM outbox WHERE failed_at IS NOT NULL)";
    let Some(r) = db.row(sql, args![]).await? else { return Ok(OutboxStats::default()) };
    let count = |i| r.int(i).map(|n| u64::try_from(n).unwrap_or(0));
    Ok(OutboxStats { waiting: count(0)?, failed: count(1)? })
}

const STATUS: &str = "o.id, o.channel, o.name, o.events, o.at, o.due_at, o.attempts, o.failed_at, o.delivered_at, \
                      o.last_error, o.answer, o.skipped";

/// Events of one question.
const IDS: usize = 200;

/// Messages about these events, and what became of those without a message ([`LOG`]), newest first.
pub(crate) async fn statuses(db: &Db, org: OrgId, events: &[EventId]) -> Result<Vec<MessageStatus>> {
    let mut found: BTreeMap<(EventId, String), MessageStatus> = BTreeMap::new();
    for ids in events.chunks(IDS) {
        let places: Vec<_> = (2..2 + ids.len()).map(|n| format!("${n}")).collect();
        let sql = format!(
            "SELECT {STATUS} FROM outbox o WHERE (o.id, o.channel) IN \
             (SELECT m.id, m.channel FROM message_events m WHERE m.org = $1 AND m.event IN ({}))",
            places.join(", ")
        );
        let values = args![org.0].into_iter().chain(ids.iter().map(|id| Arg::from(id.0))).collect();
        for r in db.rows(sql, values).await? {
            let message = status(&r)?;
            found.insert((message.id, message.channel.clone()), message);
        }
    }
    let mut out: Vec<_> = found.into_values().collect();
    out.sort_by(|a, b| (b.id, &a.channel).cmp(&(a.id, &b.channel)));
    Ok(out)
}

pub(crate) async fn last_of(db: &Db, org: OrgId, channel: &str) -> Result<Option<MessageStatus>> {
    let sql = format!(
        "SELECT {STATUS} FROM outbox o WHERE o.org = $1 AND o.channel = $2 AND o.attempts > 0 \
         ORDER BY o.id DESC LIMIT 1"
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
        (None, None) => {
            // The reason why events wait is kept where the answer will be.
            let error = error.or(r.text_or_null(10)?);
            DeliveryState::Waiting { due_at: instant(r.int(5)?)?, attempts, error }
        }
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
