//! The outbox (SPEC “notify”): the events of a scan, written in its transaction; then, once the rules were applied to
//! them, a message for each channel, delivered at least once. Events of a muted domain or a maintenance window wait here
//! for its end.
//!
//! Each row is in the hands of one deliverer at a time, until it is done or its attempts are used up. A deliverer that
//! dies between delivering and saying so delivers again, with the same [`Notification::dedupe_key`].
//!
//! Messages of a channel with the same `batch` are a digest. Until its first attempt that is the instant at which it is due.
//! The first lease takes all rows that are there, gives them the negative of the first row's identity as their batch, and
//! so names the digest and closes it: every attempt has the same identity whatever becomes of a part of it meanwhile, and
//! a row that comes later is another digest.

mod failed;
mod repeat;
mod route;
mod status;

pub use failed::FailedNotification;
pub(crate) use failed::{
    count as count_failed, drop as drop_failed, list as list_failed, retry as retry_failed,
};
pub(crate) use repeat::postpone;
pub(crate) use route::{release_held, release_repeats, route};
pub use status::OutboxStats;
pub(crate) use status::{failing_since, last_of, stats, statuses};

use crate::api::{Error, Result};
use crate::codec::{instant, json, micros, read_json, span};
use crate::db::{Arg, Cells, Db, Tx, args};
use crate::events;
use crate::retry::{Retry, RetryPolicy};
use jiff::Timestamp;
use model::event::Event;
use model::ids::{EventId, OrgId};
use model::names::DomainName;
use model::notify::Planned;
use std::collections::{BTreeMap, HashMap};
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
    /// The first event of the scan. A repeat has its own id.
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
    /// Messages of a channel with the same batch are a digest, which is sent as one: the negative of its identity.
    pub batch: Option<i64>,
    /// Since when it could be sent: the time of the scan, the end of a wait that was asked for (a mute, maintenance, quiet
    /// hours, a digest's hour), or when it was sent again.
    pub since: Timestamp,
    /// Recipients that have it already: an attempt fails when any of several does.
    pub accepted: Vec<String>,
    /// Which attempt this is, counted from 1.
    pub attempt: u32,
    /// True when the channel was sent these events before, and they are still open.
    pub is_repeat: bool,
    /// Of [`LOG`]: these events were routed before, and then waited for the end of a mute or a maintenance window.
    pub held: bool,
    lease: i64,
}

impl Notification {
    /// The same for every attempt to deliver this message and for no other message: receivers drop what they have
    /// seen (Message-ID of a mail, a header of a webhook).
    pub fn dedupe_key(&self) -> String {
        match self.batch.filter(|b| *b < 0) {
            Some(batch) => format!("{}-{}-{}", self.channel, self.org, batch.saturating_neg()),
            None if self.is_repeat => format!("{}-{}-repeat-{}", self.channel, self.org, self.id.0),
            None => format!("{}-{}-{}", self.channel, self.org, self.id.0),
        }
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
    /// Nothing could be attempted because a feature is off: the wait until the next attempt is no time of delivery.
    pub is_off: bool,
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
        Failure { reason: reason.into(), postponed: true, is_off: true, ..Failure::default() }
    }

    /// A failure that will not pass by itself.
    pub fn permanent(reason: impl Into<String>) -> Self {
        Failure { reason: reason.into(), permanent: true, ..Failure::default() }
    }
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
    "RETURNING id, channel, org, name, last_event, attempts, lease, events, rules, batch, accepted, at";

/// Rows of a digest at most; further ones are the next digest.
const DIGEST: i64 = 500;

/// Of a digest only the first row that is due is looked for; who leases it takes the others in the same transaction. A row
/// that waits longer than the others does not keep them back. `$1` is now.
const HEAD: &str = "(batch IS NULL OR NOT EXISTS (SELECT 1 FROM outbox e WHERE e.org = outbox.org \
                    AND e.channel = outbox.channel AND e.batch = outbox.batch AND e.id < outbox.id \
                    AND e.failed_at IS NULL AND e.delivered_at IS NULL AND e.due_at <= $1))";

/// What leases rows: `$1` now, `$2` the end of the lease.
const TAKE: &str = "UPDATE outbox SET lease = CASE WHEN lease >= $1 THEN lease + 1 ELSE $1 END, due_at = $2, \
                    attempts = attempts + 1";

/// Due messages, oldest first, each to one caller at a time, at most `limit` of them; of a digest all rows.
pub(crate) async fn lease(db: &Db, limit: u32, now: Timestamp) -> Result<Vec<Notification>> {
    let at = micros(now);
    let due = format!("SELECT id FROM outbox WHERE {OPEN} AND due_at <= $1 LIMIT 1");
    if db.row(due, args![at]).await?.is_none() {
        return Ok(Vec::new());
    }
    let until = at.saturating_add(span(DELIVERY.lease));
    let sql = format!(
        "WITH picked AS MATERIALIZED (SELECT id AS i, channel AS c FROM outbox \
         WHERE {OPEN} AND due_at <= $1 AND {HEAD} ORDER BY due_at, id LIMIT $3{}) \
         {TAKE} FROM picked WHERE outbox.id = picked.i AND outbox.channel = picked.c {LEASED}",
        db.skip_locked()
    );
    let mut tx = db.begin().await?;
    let mut rows = Vec::new();
    for r in tx.rows(sql, args![at, until, i64::from(limit)]).await? {
        let mut head = message(&r)?;
        if let Some(batch) = head.batch {
            let named = if batch < 0 { batch } else { -head.id.0 };
            let name = "UPDATE outbox SET batch = $3 WHERE id = $1 AND channel = $2";
            tx.execute(name, args![head.id.0, head.channel.as_str(), named]).await?;
            // PostgreSQL evaluates only the outer conditions again after it waited for the lock of a row.
            let others = format!(
                "{TAKE}, batch = $3 WHERE {OPEN} AND due_at <= $1 AND org = $5 AND channel = $4 AND batch = $6 \
                 AND id IN (SELECT id FROM outbox WHERE {OPEN} AND due_at <= $1 \
                 AND org = $5 AND channel = $4 AND batch = $6 ORDER BY id LIMIT $7) {LEASED}"
            );
            let channel = head.channel.as_str();
            let values = args![at, until, named, channel, head.org.0, batch, DIGEST - 1];
            for other in tx.rows(others, values).await? {
                rows.push((message(&other)?, other));
            }
            head.batch = Some(named);
        }
        rows.push((head, r));
    }
    tx.commit().await?;
    let (lost, rows): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|(n, _)| n.attempt > DELIVERY.max_attempts);
    if !lost.is_empty() {
        let lost: Vec<_> = lost.into_iter().map(|(n, _)| n).collect();
        let why = Failure::permanent("the process that delivered it ended every time");
        failed(db, &lost, &why, now).await?;
    }
    let known = named_events(db, &rows).await?;
    let (mut out, mut unreadable) = (Vec::with_capacity(rows.len()), Vec::new());
    for (mut n, r) in rows {
        match events_of(db, &known, &n, &r).await {
            Ok(events) => {
                n.events = events;
                out.push(n);
            }
            Err(Error::Broken(reason)) => unreadable.push((n, reason)),
            Err(e) => return Err(e),
        }
    }
    // The messages of others go on. These are tried again, of a digest all rows together, and given up visibly.
    for (n, reason) in unreadable {
        let is_of_it = |o: &Notification| {
            (o.org, &o.channel, o.batch) == (n.org, &n.channel, n.batch) && n.batch.is_some()
        };
        let (mut group, rest): (Vec<_>, Vec<_>) = out.into_iter().partition(is_of_it);
        out = rest;
        group.push(n);
        let why = Failure::temporary(format!("The events can't be read: {reason}"));
        failed(db, &group, &why, now).await?;
    }
    out.sort_by(|a, b| (a.id, &a.channel).cmp(&(b.id, &b.channel)));
    Ok(out)
}

/// The events that rows name, read together: a digest may have hundreds of rows. Empty where one can't be read.
async fn named_events(db: &Db, rows: &[(Notification, Cells)]) -> Result<HashMap<(OrgId, EventId), Event>> {
    let mut ids: BTreeMap<OrgId, Vec<EventId>> = BTreeMap::new();
    for (n, r) in rows {
        if let Some(named) = r.text_or_null(7)?.and_then(|t| read_json::<Vec<EventId>>(&t).ok()) {
            ids.entry(n.org).or_default().extend(named);
        }
    }
    let mut known = HashMap::new();
    for (org, ids) in ids {
        match events::by_id(db, org, &ids).await {
            Ok(events) => known.extend(events.into_iter().map(|e| ((org, e.id), e))),
            Err(Error::Broken(_)) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(known)
}

/// The events that a row is about; those that were pruned are left out.
async fn events_of(
    db: &Db,
    known: &HashMap<(OrgId, EventId), Event>,
    n: &Notification,
    r: &Cells,
) -> Result<Vec<Event>> {
    let Some(ids) = r.text_or_null(7)? else {
        return events::between(db, n.org, &n.domain, n.id, EventId(r.int(4)?)).await;
    };
    let ids = read_json::<Vec<EventId>>(&ids)?;
    let found: Vec<Event> = ids.iter().filter_map(|id| known.get(&(n.org, *id)).cloned()).collect();
    if found.len() == ids.len() { Ok(found) } else { events::by_id(db, n.org, &ids).await }
}

fn message(r: &Cells) -> Result<Notification> {
    let named: Vec<EventId> = r.text_or_null(7)?.and_then(|t| read_json(&t).ok()).unwrap_or_default();
    let id = EventId(r.int(0)?);
    Ok(Notification {
        id,
        channel: r.text(1)?,
        org: OrgId(r.int(2)?),
        domain: DomainName::trusted(&r.text(3)?),
        events: Vec::new(),
        rules: r.text_or_null(8)?.map(|t| read_json(&t)).transpose()?.unwrap_or_default(),
        batch: r.int_or_null(9)?,
        accepted: r.text_or_null(10)?.map(|t| read_json(&t)).transpose()?.unwrap_or_default(),
        attempt: u32::try_from(r.int(5)?).unwrap_or(u32::MAX),
        // A message is named after the first of its events, a repeat is not.
        is_repeat: r.text(1)? != LOG && !named.is_empty() && !named.contains(&id),
        held: r.text(1)? == LOG && r.text_or_null(7)?.is_some(),
        since: instant(r.int(11)?)?,
        lease: r.int(6)?,
    })
}

/// Closes what waits for a channel that is removed; what was delivered stays as it is.
pub(crate) async fn close_channel(tx: &mut Tx, org: OrgId, channel: &str, now: Timestamp) -> Result<u64> {
    let sql = "UPDATE outbox SET delivered_at = $3, failed_at = NULL, skipped = 1, answer = $4 \
               WHERE org = $1 AND channel = $2 AND delivered_at IS NULL";
    tx.execute(sql, args![org.0, channel, micros(now), "The channel was removed"]).await
}

/// Closes the rows of one message in one transaction; those whose lease was lost stay as they are. `next` are the messages
/// that repeat rows of it.
pub(crate) async fn delivered(
    db: &Db,
    rows: &[Notification],
    answer: &str,
    next: &[(EventId, Planned)],
    now: Timestamp,
) -> Result<()> {
    let mut tx = db.begin().await?;
    let closed = close(&mut tx, rows, answer, now, false).await?;
    repeat::put(&mut tx, &closed, next, now).await?;
    tx.commit().await
}

/// The same for rows that are not sent.
pub(crate) async fn skipped(db: &Db, rows: &[Notification], reason: &str, now: Timestamp) -> Result<()> {
    let mut tx = db.begin().await?;
    close(&mut tx, rows, reason, now, true).await?;
    tx.commit().await
}

/// Closes rows whose lease still holds; those that were open until now.
async fn close<'a>(
    tx: &mut Tx,
    rows: &'a [Notification],
    answer: &str,
    now: Timestamp,
    is_skipped: bool,
) -> Result<Vec<&'a Notification>> {
    let sql = "UPDATE outbox SET delivered_at = $4, answer = $5, last_error = NULL, skipped = $6 \
               WHERE id = $1 AND channel = $2 AND lease = $3";
    let answer: String = answer.chars().take(WORDS).collect();
    let mut closed = Vec::with_capacity(rows.len());
    for n in rows {
        let (channel, answer) = (n.channel.as_str(), answer.as_str());
        let values = args![n.id.0, channel, n.lease, micros(now), answer, i64::from(is_skipped)];
        let open = format!("{sql} AND delivered_at IS NULL");
        if tx.execute(open, values.clone()).await? > 0 {
            closed.push(n);
        } else {
            // Closed meanwhile, because its channel was removed: what came of it counts.
            tx.execute(sql, values).await?;
        }
    }
    Ok(closed)
}

/// Ends a failed attempt of one message: all of its rows wait for the same next one, or are given up together.
pub(crate) async fn failed(db: &Db, rows: &[Notification], why: &Failure, now: Timestamp) -> Result<Retry> {
    let Some(attempt) = rows.iter().map(|n| n.attempt).max() else { return Ok(Retry::LeaseLost) };
    let at = micros(now);
    let given_up = !why.postponed && (why.permanent || attempt >= DELIVERY.max_attempts);
    let delay =
        if why.postponed { DELIVERY.first_delay } else { DELIVERY.delay(attempt, &rows[0].dedupe_key()) };
    let delay = why.retry_after.map_or(delay, |asked| delay.max(asked.min(DELIVERY.max_delay)));
    let due = at.saturating_add(span(delay));
    let reason: String = why.reason.chars().take(WORDS).collect();
    let sql = "UPDATE outbox SET due_at = $4, failed_at = $5, last_error = $6, accepted = $7, \
               attempts = attempts - $8, at = at + $9 \
               WHERE id = $1 AND channel = $2 AND lease = $3 AND delivered_at IS NULL";
    let failed_at = given_up.then_some(at);
    let waits = if why.is_off { span(delay) } else { 0 };
    let mut marked = 0;
    let mut tx = db.begin().await?;
    for n in rows {
        let mut accepted = n.accepted.clone();
        accepted.extend(why.accepted.iter().filter(|a| !n.accepted.contains(a)).cloned());
        let accepted = if accepted.is_empty() { None } else { Some(json(&accepted)?) };
        let values = args![
            n.id.0,
            n.channel.as_str(),
            n.lease,
            due,
            failed_at,
            reason.as_str(),
            accepted,
            i64::from(why.postponed),
            waits
        ];
        marked += tx.execute(sql, values).await?;
    }
    tx.commit().await?;
    if marked == 0 {
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
