//! Recording a scan: observation, snapshot, raw answers, holdings, log entries, events and the messages about them in
//! one transaction.
//!
//! In: what a scan saw and what it means for each holder. Out: all of it visible at once, or nothing. Locks are
//! taken in one order (observation, holdings by organisation, log head), so that recorders never deadlock.

use crate::api::{Error, ItemOutcome, Record, Result};
use crate::codec::{
    ITEM, JUDGED, json, judged_args, judged_assignments, micros, overlay, read_item, same_grounds,
};
use crate::db::{Db, Tx, args};
use crate::fleet::cluster_id;
use crate::items::reminded;
use crate::log::{self, Line};
use crate::outbox;
use crate::resources;
use crate::stored::{self, Text};
use jiff::Timestamp;
use model::event::{Change, Severity};
use model::ids::{LogPosition, OrgId};
use model::inventory::Row;
use model::item::Item;
use model::names::DomainName;
use model::scan::Op;

pub(crate) async fn record(db: &Db, record: &Record) -> Result<LogPosition> {
    let mut tx = db.begin().await?;
    observation(&mut tx, record).await?;
    resources::keep_addresses(&mut tx, &record.observation).await?;
    stored::keep(&mut tx, record).await?;

    let name = &record.observation.name;
    let mut outcomes: Vec<&ItemOutcome> = record.outcomes.iter().filter(|o| o.item.name == *name).collect();
    outcomes.sort_by_key(|o| o.item.org);
    outcomes.dedup_by_key(|o| o.item.org);
    let mut lines = Vec::new();
    let mut events: Vec<(OrgId, Vec<&Change>)> = Vec::new();
    for outcome in outcomes {
        // Removed meanwhile: nothing of this organisation is written.
        if !holding(db, &mut tx, outcome).await? {
            continue;
        }
        let org = outcome.item.org;
        lines.push(Line::item(org, name.as_str(), Op::Update));
        events.push((org, outcome.changes.iter().collect()));
    }
    let last = append_events(&mut tx, name, lines, &events, record.at).await?;
    tx.commit().await?;
    Ok(last)
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
    let before = lines.len();
    lines.extend(events.iter().flat_map(|(org, changes)| changes.iter().map(|_| Line::new_event(*org))));
    let place = |n: usize| i64::try_from(n).unwrap_or(0);
    let last = place(lines.len());
    let first = log::append(tx, lines, at).await?.0;
    let mut id = first + place(before);
    let is_news = events.iter().any(|(_, changes)| !changes.is_empty());
    let cluster = if is_news { cluster_id(tx).await? } else { None };
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
    outbox::put(tx, messages).await?;
    Ok(LogPosition(first + last - 1))
}

/// Rank of a severity in the database, least severe first.
pub(crate) fn severity_rank(s: Severity) -> i64 {
    Severity::ALL.iter().position(|x| *x == s).and_then(|i| i64::try_from(i).ok()).unwrap_or(0)
}

/// Writes the observation if the version the comparison was made against is still there.
async fn observation(tx: &mut Tx, record: &Record) -> Result<()> {
    let o = &record.observation;
    let (name, vantage, packed) = (o.name.as_str(), o.vantage.0.as_str(), Text::of(o)?.pack(None)?);
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

/// Writes the outcome for one holder; false when the holding was removed meanwhile.
async fn holding(db: &Db, tx: &mut Tx, outcome: &ItemOutcome) -> Result<bool> {
    let item = &outcome.item;
    let Some((stored, _)) = locked(db, tx, item.org, &item.name).await? else { return Ok(false) };
    if !same_grounds(item, &stored) {
        return Err(Error::Conflict);
    }
    let mut row = outcome.row.clone();
    overlay(&mut row, &stored);
    let mut values = args![
        item.org.0,
        item.name.as_str(),
        item.was_delegated,
        item.last_change_at.map(micros),
        item.next_scan_at.map(micros),
        item.last_dns_change_at.map(micros),
        reminded(item)?
    ];
    let first = values.len() + 1;
    values.extend(judged_args(&item.status, &row)?);
    debug_assert_eq!(values.len(), first - 1 + JUDGED.len());
    let sql = format!(
        "UPDATE items SET was_delegated = $3, last_change_at = $4, next_scan_at = $5, \
         last_dns_change_at = $6, reminded = $7, {} WHERE org = $1 AND name = $2",
        judged_assignments(first)
    );
    tx.execute(sql, values).await?;
    Ok(true)
}
