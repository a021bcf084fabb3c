//! Recording a scan: observation, snapshot, raw answers, holdings, log entries, events and the messages about them in
//! one transaction.
//!
//! In: what a scan saw and what it means for each holder. Out: all of it visible at once, or nothing. Locks are
//! taken in one order (observation, holdings by organisation, log head), so that recorders never deadlock.

use crate::api::{Error, ItemOutcome, Record, Result};
use crate::cluster_claims::cluster_id;
use crate::codec::{
    ITEM, JUDGED, json, judged_args, judged_assignments, micros, overlay, read_item, same_grounds,
};
use crate::db::{Db, Tx, args};
use crate::items::reminded;
use crate::log::{self, Line};
use crate::outbox;
use crate::resources;
use crate::stored;
use jiff::Timestamp;
use model::event::{Change, Severity};
use model::ids::{LogPosition, OrgId};
use model::inventory::Row;
use model::item::Item;
use model::names::DomainName;
use model::scan::Op;

pub(crate) async fn record(db: &Db, record: &Record) -> Result<LogPosition> {
    let mut packed = stored::Packed::of(record)?;
    let mut tx = db.begin().await?;
    observation(&mut tx, record, std::mem::take(&mut packed.observation)).await?;
    resources::keep_addresses(&mut tx, &record.observation).await?;
    stored::keep(&mut tx, record, packed).await?;

    let name = &record.observation.name;
    let mut outcomes: Vec<&ItemOutcome> = record.outcomes.iter().filter(|o| o.item.name == *name).collect();
    outcomes.sort_by_key(|o| o.item.org);
    outcomes.dedup_by_key(|o| o.item.org);
    let mut held = Vec::new();
    for outcome in outcomes {
        // Removed meanwhile: nothing of this organisation is written.
        if let Some(stored) = holding(db, &mut tx, outcome).await? {
            held.push((outcome, stored));
        }
    }
    let events: Vec<(OrgId, Vec<&Change>)> =
        held.iter().map(|(outcome, _)| (outcome.item.org, outcome.changes.iter().collect())).collect();
    let mut lines: Vec<Line> =
        held.iter().map(|(outcome, _)| Line::item(outcome.item.org, name.as_str(), Op::Update)).collect();
    let of_events = new_events(&mut lines, &events);
    let last = position(lines.len()) - 1;
    let first = log::append_only(&mut tx, lines, record.at).await?.0;
    for (rv, (outcome, stored)) in (first..).zip(held) {
        write_holding(&mut tx, outcome, &stored, rv).await?;
    }
    put_events(&mut tx, name, first + of_events, &events, record.at).await?;
    tx.commit().await?;
    Ok(LogPosition(first + last))
}

/// A number of entries as a distance in the log.
fn position(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(0)
}

/// Adds a log entry for each event; the distance from the first entry to the first of these.
fn new_events(lines: &mut Vec<Line>, events: &[(OrgId, Vec<&Change>)]) -> i64 {
    let before = position(lines.len());
    lines.extend(events.iter().flat_map(|(org, changes)| changes.iter().map(|_| Line::new_event(*org))));
    before
}

/// Appends log entries, then the events of some organisations about one name with a message for each
/// organisation. Returns the last position. Late in a transaction: see [`log::append`].
pub(crate) async fn append_events(
    tx: &mut Tx,
    name: &DomainName,
    mut lines: Vec<Line>,
    events: &[(OrgId, Vec<&Change>)],
    at: Timestamp,
) -> Result<LogPosition> {
    let of_events = new_events(&mut lines, events);
    let last = position(lines.len()) - 1;
    let first = log::append(tx, lines, at).await?.0;
    put_events(tx, name, first + of_events, events, at).await?;
    Ok(LogPosition(first + last))
}

/// Writes events, whose identities are their positions in the log from `id` on, with a message for each organisation.
async fn put_events(
    tx: &mut Tx,
    name: &DomainName,
    mut id: i64,
    events: &[(OrgId, Vec<&Change>)],
    at: Timestamp,
) -> Result<()> {
    if events.iter().all(|(_, changes)| changes.is_empty()) {
        return Ok(());
    }
    let cluster = cluster_id(tx).await?;
    let (mut rows, mut messages) = (Vec::new(), Vec::new());
    for (org, changes) in events.iter().filter(|(_, changes)| !changes.is_empty()) {
        let from = id;
        for change in changes {
            rows.push(args![
                id,
                org.0,
                name.as_str(),
                micros(at),
                change.kind.as_str(),
                severity_rank(change.severity),
                json(change)?,
                cluster.clone()
            ]);
            id += 1;
        }
        messages.push(outbox::row(*org, name, from, id - 1, at));
    }
    tx.insert("INSERT INTO events (id, org, name, at, kind, severity, json, cluster)", rows, "").await?;
    outbox::put(tx, messages).await
}

/// Rank of a severity in the database, least severe first.
pub(crate) fn severity_rank(s: Severity) -> i64 {
    Severity::ALL.iter().position(|x| *x == s).and_then(|i| i64::try_from(i).ok()).unwrap_or(0)
}

/// Writes the observation if the version the comparison was made against is still there.
async fn observation(tx: &mut Tx, record: &Record, packed: Vec<u8>) -> Result<()> {
    let (name, vantage) = (record.observation.name.as_str(), record.observation.vantage.0.as_str());
    let written = if record.expected_version == 0 {
        tx.execute(
            "INSERT INTO observations (name, vantage, version, json, packed, recorded_at) VALUES ($1, $2, 1, '', $3, $4) \
             ON CONFLICT (name, vantage) DO NOTHING",
            args![name, vantage, packed, micros(record.at)],
        )
        .await?
    } else {
        tx.execute(
            "UPDATE observations SET version = version + 1, json = '', packed = $3, recorded_at = $4 \
             WHERE name = $1 AND vantage = $2 AND version = $5",
            args![name, vantage, packed, micros(record.at), record.expected_version],
        )
        .await?
    };
    if written == 1 { Ok(()) } else { Err(Error::Conflict) }
}

/// The stored item and row, kept from other writers until the commit.
pub(crate) async fn locked(
    db: &Db,
    tx: &mut Tx,
    org: OrgId,
    name: &DomainName,
) -> Result<Option<(Item, Row)>> {
    let sql = format!("SELECT {ITEM}, row_json FROM items WHERE org = $1 AND name = $2{}", db.for_update());
    let Some(r) = tx.row(sql, args![org.0, name.as_str()]).await? else { return Ok(None) };
    Ok(Some((read_item(&r)?, crate::codec::read_json(&r.text(crate::codec::ITEM_LEN)?)?)))
}

/// The stored holding that an outcome is for, locked; `None` when it was removed meanwhile.
async fn holding(db: &Db, tx: &mut Tx, outcome: &ItemOutcome) -> Result<Option<Item>> {
    let item = &outcome.item;
    let Some((stored, _)) = locked(db, tx, item.org, &item.name).await? else { return Ok(None) };
    if same_grounds(item, &stored) { Ok(Some(stored)) } else { Err(Error::Conflict) }
}

/// Writes the outcome for one holder; `rv` is the position of the log entry about it.
async fn write_holding(tx: &mut Tx, outcome: &ItemOutcome, stored: &Item, rv: i64) -> Result<()> {
    let item = &outcome.item;
    let mut row = outcome.row.clone();
    overlay(&mut row, stored);
    let mut values = args![
        item.org.0,
        item.name.as_str(),
        item.was_delegated,
        item.last_change_at.map(micros),
        item.next_scan_at.map(micros),
        item.last_dns_change_at.map(micros),
        reminded(item)?,
        rv
    ];
    let first = values.len() + 1;
    values.extend(judged_args(&item.status, &row)?);
    debug_assert_eq!(values.len(), first - 1 + JUDGED.len());
    let sql = format!(
        "UPDATE items SET was_delegated = $3, last_change_at = $4, next_scan_at = $5, \
         last_dns_change_at = $6, reminded = $7, rv = $8, {} WHERE org = $1 AND name = $2",
        judged_assignments(first)
    );
    tx.execute(sql, values).await?;
    Ok(())
}
