//! Recording scans: observation, snapshot, raw answers, holdings, log entries, events and the messages about them in
//! one transaction, which scans that end together share ([`Together`]).
//!
//! In: what a scan saw and what it means for each holder. Out: all of it visible at once, or nothing. Locks are
//! taken in one order (holdings by organisation and name, observations by name, log head), so that recorders never
//! deadlock.

use crate::api::{Error, ItemOutcome, Record, Result};
use crate::checks::{self, DaysOf};
use crate::cluster_claims::origin;
use crate::codec::{ITEM, JUDGED, json, judged_args, micros, overlay, read_item, same_grounds};
use crate::db::{Arg, Cells, Db, Tx, args};
use crate::events::StoredChange;
use crate::items::reminded;
use crate::log::{self, Line};
use crate::outbox;
use crate::resources;
use crate::stored;
use crate::together::{Shared, Together};
use async_trait::async_trait;
use jiff::Timestamp;
use model::event::{Change, EventKind, Severity};
use model::ids::{LogPosition, OrgId, Vantage};
use model::inventory::Row;
use model::item::Item;
use model::names::DomainName;
use model::scan::Op;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What one scan writes, made before its transaction: other writers wait for that.
struct Prepared {
    name: DomainName,
    vantage: Vantage,
    expected_version: i64,
    packed: stored::Packed,
    /// `None` where the zone could not be read: what is kept stays.
    addresses: Option<BTreeSet<(String, String)>>,
    /// One for each organisation, in the order in which holdings are locked.
    outcomes: Vec<ItemOutcome>,
    at: Timestamp,
}

impl Prepared {
    fn of(record: &Record) -> Result<Prepared> {
        let o = &record.observation;
        let mut outcomes: Vec<_> =
            record.outcomes.iter().filter(|x| x.item.name == o.name).cloned().collect();
        outcomes.sort_by_key(|x| x.item.org);
        outcomes.dedup_by_key(|x| x.item.org);
        Ok(Prepared {
            name: o.name.clone(),
            vantage: o.vantage.clone(),
            expected_version: record.expected_version,
            packed: stored::Packed::of(record)?,
            addresses: resources::addresses_of(o),
            outcomes,
            at: record.at,
        })
    }

    fn key(&self) -> (&str, &str) {
        (self.name.as_str(), &self.vantage.0)
    }
}

/// Records scans, those that end together in one transaction.
#[derive(Clone)]
pub(crate) struct Recorder(Arc<Together<Scans>>);

impl Recorder {
    pub(crate) fn new(db: Db) -> Recorder {
        Recorder(Together::new(Scans(db)))
    }

    /// Records a scan; its place in the log.
    pub(crate) async fn record(&self, record: &Record) -> Result<LogPosition> {
        self.0.write(Prepared::of(record)?).await
    }
}

struct Scans(Db);

#[async_trait]
impl Shared for Scans {
    type Write = Prepared;
    type Answer = LogPosition;

    fn key(scan: &Prepared) -> String {
        let (name, vantage) = scan.key();
        format!("{name} {vantage}")
    }

    async fn write(&self, scans: &[&Prepared]) -> Result<Vec<Result<LogPosition>>> {
        write(&self.0, scans).await
    }
}

/// A scan whose grounds still hold, with its holdings that are still there.
struct Accepted<'a> {
    scan: &'a Prepared,
    held: Vec<(&'a ItemOutcome, &'a (Item, Row))>,
    /// The newest kept state before it.
    last_state: Option<i64>,
}

/// Writes scans of different names in one transaction: each wholly or, where it answers an error, not at all.
///
/// # Errors
/// Nothing was written.
async fn write(db: &Db, scans: &[&Prepared]) -> Result<Vec<Result<LogPosition>>> {
    let mut tx = db.begin().await?;
    let names: Vec<String> = scans.iter().map(|s| s.name.to_string()).collect();
    let items = holdings(db, &mut tx, names.clone()).await?;
    let stored = versions(db, &mut tx, names).await?;
    let org_days = checks::days_of(&mut tx, items.keys().map(|(org, _)| *org).collect()).await?;
    let mut accepted: BTreeMap<(&str, &str), Accepted> = BTreeMap::new();
    for scan in scans {
        let (version, last_state) = stored.get(&owned(scan.key())).copied().unwrap_or_default();
        let mut held = Vec::new();
        // Removed meanwhile: nothing of this organisation is written.
        for outcome in &scan.outcomes {
            held.extend(items.get(&(outcome.item.org, owned(scan.key()).0)).map(|stored| (outcome, stored)));
        }
        // Removed by all: the scan is asked to see that for itself.
        let is_gone = held.is_empty() && !scan.outcomes.is_empty();
        let stands = version == scan.expected_version && !is_gone;
        if stands && held.iter().all(|(o, (item, _))| is_as_judged(o, item, &org_days)) {
            accepted.insert(scan.key(), Accepted { scan, held, last_state });
        }
    }
    let written = observations(&mut tx, accepted.values().map(|a| a.scan)).await?;
    accepted.retain(|key, _| written.contains(&owned(*key)));
    if accepted.is_empty() {
        return Ok(scans.iter().map(|_| Err(Error::Conflict)).collect());
    }
    let all: Vec<&Accepted> = accepted.values().collect();
    resources::keep_addresses(db, &mut tx, all.iter().map(|a| (&a.scan.name, a.scan.addresses.as_ref())))
        .await?;
    let states = all.iter().map(|a| stored::Kept {
        name: &a.scan.name,
        vantage: &a.scan.vantage,
        packed: &a.scan.packed,
        last: a.last_state,
        at: a.scan.at,
    });
    stored::keep(&mut tx, states.collect()).await?;
    let positions = log_and_events(&mut tx, &all).await?;
    tx.commit().await?;
    let positions: BTreeMap<_, _> = all.iter().map(|a| a.scan.key()).zip(positions).collect();
    Ok(scans.iter().map(|s| positions.get(&s.key()).copied().ok_or(Error::Conflict)).collect())
}

/// True when an outcome is still that of the stored holding: the grounds are the same, and a reminder of it was not
/// recorded meanwhile.
fn is_as_judged(outcome: &ItemOutcome, stored: &Item, org_days: &DaysOf) -> bool {
    let is_reminder = |c: &Change| matches!(c.kind, EventKind::ExpiresSoon | EventKind::Expired);
    let reminds = outcome.changes.iter().any(is_reminder);
    let is_told = outcome.item.reminded.iter().all(|r| stored.reminded.contains(r));
    same_grounds(&outcome.item, stored, org_days) && !(reminds && is_told)
}

fn owned((name, vantage): (&str, &str)) -> (String, String) {
    (name.to_string(), vantage.to_string())
}

/// Writes the holdings, the log entries about them, events and messages; the last position of each scan.
async fn log_and_events(tx: &mut Tx, scans: &[&Accepted<'_>]) -> Result<Vec<LogPosition>> {
    let (mut lines, mut parts) = (Vec::new(), Vec::new());
    for a in scans {
        let (scan, name) = (a.scan, a.scan.name.as_str());
        let events: Vec<(OrgId, Vec<&Change>)> =
            a.held.iter().map(|(o, _)| (o.item.org, o.changes.iter().collect())).collect();
        let mut of_scan: Vec<Line> =
            a.held.iter().map(|(o, _)| Line::item(o.item.org, name, Op::Update)).collect();
        let (begin, of_events) = (position(lines.len()), new_events(&mut of_scan, &events));
        lines.extend(of_scan.into_iter().map(|line| (line, scan.at)));
        parts.push((begin, begin + of_events, position(lines.len()) - 1, events));
    }
    let first = log::append_only(tx, lines).await?.0;
    let mut holdings = Vec::new();
    for (a, (begin, ..)) in scans.iter().zip(&parts) {
        for (rv, (outcome, stored)) in (first + begin..).zip(&a.held) {
            holdings.push(holding_values(outcome, stored, (rv, a.scan.at))?);
        }
    }
    write_holdings(tx, holdings).await?;
    let mut last = Vec::new();
    for (a, (_, of_events, end, events)) in scans.iter().zip(parts) {
        put_events(tx, &a.scan.name, first + of_events, &events, a.scan.at).await?;
        last.push(LogPosition(first + end));
    }
    Ok(last)
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
    let (cluster, clusterset) = origin(tx).await?;
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
                json(&StoredChange { change: (*change).clone(), clusterset: clusterset.clone() })?,
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

/// Version and newest kept state of the observations of some names, by name and vantage.
async fn versions(
    db: &Db,
    tx: &mut Tx,
    names: Vec<String>,
) -> Result<BTreeMap<(String, String), (i64, Option<i64>)>> {
    let sql = format!(
        "SELECT name, vantage, version, (SELECT s.id FROM snapshots s WHERE s.name = o.name AND s.vantage = o.vantage \
         ORDER BY s.id DESC LIMIT 1) FROM observations o WHERE {}",
        db.any("name", 1)
    );
    let rows = tx.rows(sql, args![names]).await?;
    rows.iter().map(|r| Ok(((r.text(0)?, r.text(1)?), (r.int(2)?, r.int_or_null(3)?)))).collect()
}

/// Writes the observations whose version is still the one that the comparison was made against; which they are.
async fn observations(
    tx: &mut Tx,
    scans: impl Iterator<Item = &Prepared>,
) -> Result<BTreeSet<(String, String)>> {
    let rows = scans.map(|s| {
        let packed = s.packed.observation.clone();
        let (version, is_sampled) = (s.expected_version + 1, s.packed.is_sampled);
        args![s.name.as_str(), s.vantage.0.as_str(), version, "", packed, micros(s.at), is_sampled]
    });
    let written = tx
        .insert(
            "INSERT INTO observations (name, vantage, version, json, packed, recorded_at, sampled)",
            rows.collect(),
            "ON CONFLICT (name, vantage) DO UPDATE SET version = excluded.version, json = '', \
             packed = excluded.packed, recorded_at = excluded.recorded_at, sampled = excluded.sampled \
             WHERE observations.version = excluded.version - 1 RETURNING name, vantage",
        )
        .await?;
    written.iter().map(|r| Ok((r.text(0)?, r.text(1)?))).collect()
}

/// The stored item and row, kept from other writers until the commit.
pub(crate) async fn locked(
    db: &Db,
    tx: &mut Tx,
    org: OrgId,
    name: &DomainName,
) -> Result<Option<(Item, Row)>> {
    let sql = format!("SELECT {ITEM}, row_json FROM items WHERE org = $1 AND name = $2{}", db.for_update());
    tx.row(sql, args![org.0, name.as_str()]).await?.as_ref().map(stored_holding).transpose()
}

/// The holdings of some names and their rows, kept from other writers until the commit.
async fn holdings(
    db: &Db,
    tx: &mut Tx,
    names: Vec<String>,
) -> Result<BTreeMap<(OrgId, String), (Item, Row)>> {
    let sql = format!(
        "SELECT {ITEM}, row_json FROM items WHERE {} ORDER BY org, name{}",
        db.any("name", 1),
        db.for_update()
    );
    let rows = tx.rows(sql, args![names]).await?;
    let keyed = |stored: (Item, Row)| ((stored.0.org, stored.0.name.to_string()), stored);
    rows.iter().map(|r| stored_holding(r).map(keyed)).collect()
}

/// A holding and its row from the columns [`ITEM`] and `row_json`.
fn stored_holding(r: &Cells) -> Result<(Item, Row)> {
    Ok((read_item(r)?, crate::codec::read_json(&r.text(crate::codec::ITEM_LEN)?)?))
}

/// The columns of a holding that a scan writes, in the order of [`holding_values`].
const SCANNED: [&str; 6] =
    ["was_delegated", "last_change_at", "next_scan_at", "last_dns_change_at", "reminded", "rv"];

/// Key and values of the outcome for one holder; `rv` is the position of the log entry about it.
fn holding_values(
    outcome: &ItemOutcome,
    (stored, shown): &(Item, Row),
    (rv, at): (i64, Timestamp),
) -> Result<Vec<Arg>> {
    let item = &outcome.item;
    let mut row = outcome.row.clone();
    overlay(&mut row, stored);
    row.follow(shown, at);
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
    values.extend(judged_args(&item.status, &row)?);
    Ok(values)
}

/// Writes the outcomes for holders.
async fn write_holdings(tx: &mut Tx, rows: Vec<Vec<Arg>>) -> Result<()> {
    // Both databases name the columns of a list of values so.
    let columns = SCANNED.iter().chain(&JUDGED).zip(3..);
    let set: Vec<_> = columns.map(|(column, n)| format!("{column} = v.column{n}")).collect();
    let head = format!("UPDATE items SET {} FROM (", set.join(", "));
    tx.insert(&head, rows, ") AS v WHERE items.org = v.column1 AND items.name = v.column2").await.map(drop)
}
