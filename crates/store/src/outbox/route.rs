//! Replaces the events of a scan by what the rules make of them: messages, and events that wait for the end of a mute or a
//! maintenance window in a row of the channel [`LOG`] that names them.

use super::repeat::WAITS;
use super::{LOG, Notification, OPEN};
use crate::api::Result;
use crate::codec::{instant, json, micros, read_json};
use crate::db::{Arg, Db, Tx, args};
use jiff::Timestamp;
use model::ids::{EventId, OrgId};
use model::maintenance::Routing;
use model::names::DomainName;

/// Events of a domain that wait at most.
const HELD_MAX: usize = 1000;
/// Why older ones are not sent.
const CROWDED: &str = "More than 1,000 newer events of the domain waited with it";

/// A row that routing writes.
pub(super) struct Routed<'a> {
    /// Its number; `None` for that of its first event.
    pub(super) id: Option<EventId>,
    pub(super) channel: &'a str,
    pub(super) events: &'a [EventId],
    pub(super) due_at: Timestamp,
    /// Since when it can be sent.
    pub(super) since: Timestamp,
    pub(super) rules: &'a [String],
    pub(super) batch: Option<i64>,
    /// Why it is closed without being sent.
    pub(super) closed: Option<&'a str>,
    /// Why it waits.
    pub(super) waits: Option<&'a str>,
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
            id: None,
            channel: &p.channel,
            events: &p.events,
            due_at: p.due_at,
            since: if p.batch { p.due_at } else { n.since },
            rules: &p.rules,
            batch: p.batch.then(|| micros(p.due_at)),
            closed: p.skipped.as_deref(),
            waits: None,
        });
    }
    let log = |events, due_at, closed, waits| Routed {
        id: None,
        channel: LOG,
        events,
        due_at,
        since: due_at,
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

pub(super) async fn write(
    tx: &mut Tx,
    n: &Notification,
    routed: &[Routed<'_>],
    now: Timestamp,
) -> Result<()> {
    let (mut rows, mut of_rows) = (Vec::with_capacity(routed.len()), Vec::new());
    for r in routed {
        let first = r.id.or(r.events.first().copied()).unwrap_or(n.id);
        let last = r.events.last().copied().unwrap_or(n.id);
        rows.push(args![
            first.0,
            r.channel,
            n.org.0,
            n.domain.as_str(),
            last.0,
            micros(r.since),
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

/// Has events and repeats that wait for the end of a mute or a window looked at now: it ended early. Of one domain, or of all.
pub(crate) async fn release_held(
    tx: &mut Tx,
    org: OrgId,
    name: Option<&DomainName>,
    now: Timestamp,
) -> Result<u64> {
    let which = if name.is_some() { " AND name = $3" } else { "" };
    let sql = format!(
        "UPDATE outbox SET due_at = $2, at = $2 WHERE org = $1{which} AND channel = 'log' AND events IS NOT NULL AND {OPEN} \
         AND attempts = 0 AND due_at > $2"
    );
    let mut values = args![org.0, micros(now)];
    values.extend(name.map(|n| Arg::from(n.as_str())));
    let held = tx.execute(sql, values).await?;
    Ok(held + release_repeats(tx, org, name, now).await?)
}

/// Has repeats that were postponed looked at now, of one domain, or of all; those that wait for their time stay as they are.
pub(crate) async fn release_repeats(
    tx: &mut Tx,
    org: OrgId,
    name: Option<&DomainName>,
    now: Timestamp,
) -> Result<u64> {
    let which = if name.is_some() { " AND name = $4" } else { "" };
    // Few rows wait: the sign keeps both databases from the index of all messages of the organisation.
    let sql = format!(
        "UPDATE outbox SET due_at = $2, at = $2 WHERE +org = $1{which} AND channel <> 'log' AND answer = $3 \
         AND last_error IS NOT NULL AND attempts = 0 AND {OPEN} AND due_at > $2"
    );
    let mut values = args![org.0, micros(now), WAITS];
    values.extend(name.map(|n| Arg::from(n.as_str())));
    tx.execute(sql, values).await
}
