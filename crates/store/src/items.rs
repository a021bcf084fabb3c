//! Holdings: add, remove, patch, judge. In: an organisation's calls; out: rows of `items`, jobs and log entries,
//! each call one transaction. Names are written in sorted order, so that two calls never deadlock.

use crate::accounts::audit;
use crate::api::{Error, ItemOutcome, NewItem, Result, ScanGrounds};
use crate::checks;
use crate::codec::{
    ITEM, ITEM_LEN, first_row, instant, json, judged_args, judged_assignments, micros, overlay, read_item,
    read_json, same_grounds, tidy,
};
use crate::db::{Cells, Db, args};
use crate::job::{Job, Priority};
use crate::jobs;
use crate::log::{self, Line};
use crate::outbox;
use crate::record::{append_events, locked};
use crate::resources;
use ::fleet::{CLUSTERSET_CLAIM, ID_CLAIM};
use jiff::Timestamp;
use model::account::Actor;
use model::ids::{LogPosition, OrgId};
use model::inventory::{Row, Transitions};
use model::item::{Item, ItemPatch};
use model::names::DomainName;
use model::scan::Op;
use std::collections::{BTreeMap, HashSet};

/// Holdings added or removed in one transaction, which bounds how long other writers wait.
const PART: usize = 1000;

pub(crate) async fn item(db: &Db, org: OrgId, name: &DomainName) -> Result<Option<(Item, Row)>> {
    let sql = format!("SELECT {ITEM}, row_json FROM items WHERE org = $1 AND name = $2");
    let Some(r) = db.row(sql, args![org.0, name.as_str()]).await? else { return Ok(None) };
    with_row(&r).map(Some)
}

/// A holding and its row from the columns [`ITEM`] and `row_json`.
fn with_row(r: &Cells) -> Result<(Item, Row)> {
    let (item, mut row): (Item, Row) = (read_item(r)?, read_json(&r.text(ITEM_LEN)?)?);
    row.last_dns_change_at = item.last_dns_change_at;
    Ok((item, row))
}

/// Which of some names are held, in no order.
pub(crate) async fn held(db: &Db, org: OrgId, names: &[DomainName]) -> Result<Vec<DomainName>> {
    let names: Vec<String> = names.iter().map(|n| n.as_str().to_string()).collect();
    let sql = format!("SELECT name FROM items WHERE org = $1 AND {}", db.any("name", 2));
    let rows = db.rows(sql, args![org.0, names]).await?;
    rows.iter().map(|r| Ok(DomainName::trusted(&r.text(0)?))).collect()
}

/// Some holdings with their rows, in no order.
pub(crate) async fn holdings(db: &Db, org: OrgId, names: &[DomainName]) -> Result<Vec<(Item, Row)>> {
    let names: Vec<String> = names.iter().map(|n| n.as_str().to_string()).collect();
    let sql = format!("SELECT {ITEM}, row_json FROM items WHERE org = $1 AND {}", db.any("name", 2));
    let rows = db.rows(sql, args![org.0, names]).await?;
    rows.iter().map(with_row).collect()
}

/// Rows of some names, in no order.
pub(crate) async fn rows(db: &Db, org: OrgId, names: Vec<String>) -> Result<Vec<Row>> {
    let sql =
        format!("SELECT row_json, last_dns_change_at FROM items WHERE org = $1 AND {}", db.any("name", 2));
    let row = |r: &Cells| {
        let row: Row = read_json(&r.text(0)?)?;
        Ok(Row { last_dns_change_at: r.int_or_null(1)?.map(instant).transpose()?, ..row })
    };
    db.rows(sql, args![org.0, names]).await?.iter().map(row).collect()
}

/// Who changes what an organisation holds, and when.
pub(crate) struct By<'a> {
    pub(crate) actor: &'a Actor,
    pub(crate) org: OrgId,
    pub(crate) now: Timestamp,
}

/// A new holding with its Unicode name.
fn holding(by: &By<'_>, new: &NewItem) -> (Item, String) {
    let item = Item {
        tags: new.tags.clone(),
        note: new.note.clone(),
        ..Item::new(by.org, new.name.clone(), new.ownership, by.now)
    };
    (item, new.unicode.clone())
}

pub(crate) async fn add(db: &Db, by: &By<'_>, items: &[NewItem]) -> Result<Vec<bool>> {
    hold(db, by, "domain.add", items.iter().map(|new| holding(by, new)).collect()).await
}

/// Adds one holding with the metadata of its object; false when it is held already.
pub(crate) async fn create(db: &Db, by: &By<'_>, item: &NewItem, metadata: &str) -> Result<bool> {
    Ok(!hold_part(db, by, "domain.add", &[&holding(by, item)], Some(metadata)).await?.is_empty())
}

/// Holdings as they were when they were removed, to be judged again.
pub(crate) async fn restore(db: &Db, by: &By<'_>, items: &[Item]) -> Result<Vec<bool>> {
    let holding = |old: &Item| (Item { org: by.org, ..old.clone() }, old.name.unicode());
    hold(db, by, "domain.restore", items.iter().map(holding).collect()).await
}

/// Inserts holdings, each with its Unicode name; says which of them were new.
async fn hold(db: &Db, by: &By<'_>, action: &str, items: Vec<(Item, String)>) -> Result<Vec<bool>> {
    let mut sorted: BTreeMap<&str, &(Item, String)> = BTreeMap::new();
    for i in &items {
        sorted.entry(i.0.name.as_str()).or_insert(i);
    }
    let sorted: Vec<_> = sorted.into_values().collect();
    let mut new = HashSet::new();
    for part in sorted.chunks(PART) {
        new.extend(hold_part(db, by, action, part, None).await?);
    }
    // The first line that named a new holding made it; a later one finds it there.
    Ok(items.iter().map(|(i, _)| new.remove(i.name.as_str())).collect())
}

/// Inserts holdings in one transaction, each with this metadata, and queues their scans; returns the names that were new.
async fn hold_part(
    db: &Db,
    by: &By<'_>,
    action: &str,
    items: &[&(Item, String)],
    metadata: Option<&str>,
) -> Result<Vec<String>> {
    let (org, now) = (by.org, by.now);
    let mut values = Vec::with_capacity(items.len());
    for (item, unicode) in items {
        let tags = tidy(&item.tags);
        let mut row = first_row(&item.name, unicode, item.ownership, &tags);
        row.auto_renew = item.auto_renew;
        row.last_change_at = item.last_change_at;
        row.last_dns_change_at = item.last_dns_change_at;
        values.push(args![
            org.0,
            item.name.as_str(),
            unicode.as_str(),
            item.ownership.as_str(),
            json(&tags)?,
            item.note.as_str(),
            item.manual_expires.map(|d| d.to_string()),
            item.auto_renew.map(i64::from),
            item.was_delegated,
            micros(item.added_at),
            json(&row.status)?,
            row.status.kind.rank(),
            item.last_change_at.map(micros),
            micros(now),
            item.last_dns_change_at.map(micros),
            json(&row)?,
            item.muted_until.map(micros),
            reminded(item)?,
        ]);
        if let Some(values) = values.last_mut() {
            values.extend(checks::values(&item.checks)?);
        }
    }
    let mut tx = db.begin().await?;
    let added = tx
        .insert(
            "INSERT INTO items (org, name, unicode, ownership, tags, note, manual_expires, auto_renew, \
             was_delegated, added_at, status, status_rank, last_change_at, next_scan_at, last_dns_change_at, \
             row_json, muted_until, reminded, scan_interval_s, expiry_days)",
            values,
            "ON CONFLICT (org, name) DO NOTHING RETURNING name",
        )
        .await?;
    let mut names = added.iter().map(|r| r.text(0)).collect::<Result<Vec<_>>>()?;
    if names.is_empty() {
        return Ok(names);
    }
    names.sort();
    if let Some(metadata) = metadata {
        let rows = names.iter().map(|n| args![org.0, log::ITEM, n.as_str(), metadata]).collect();
        tx.insert("INSERT INTO object_metadata (org, kind, name, json)", rows, "").await?;
    }
    let scans: Vec<_> = names.iter().map(|n| (Job::Scan(DomainName::trusted(n)), now)).collect();
    jobs::put(&mut tx, &scans, Priority::Added).await?;
    let lines = names.iter().map(|n| Line::item(org, n, Op::Create)).collect();
    log::append(&mut tx, lines, now).await?;
    let held: HashSet<&str> = names.iter().map(String::as_str).collect();
    let entries: Vec<_> = items
        .iter()
        .filter(|(item, _)| held.contains(item.name.as_str()))
        .map(|(item, _)| {
            let parts = [facts(item), metadata.map(resources::metadata_parts).unwrap_or_default()].concat();
            (item.name.as_str().to_string(), None, Some(parts.join("; ")))
        })
        .collect();
    audit::append(&mut tx, (org, by.actor, now), action, &entries).await?;
    tx.commit().await?;
    Ok(names)
}

/// What is said about a holding, for the audit log: one sentence part for each field that is set.
fn facts(item: &Item) -> Vec<String> {
    let mut out = vec![item.ownership.as_str().to_string()];
    out.extend((!item.tags.is_empty()).then(|| format!("tags: {}", item.tags.join(", "))));
    out.extend((!item.note.is_empty()).then(|| format!("note: {}", item.note)));
    out.extend(item.manual_expires.map(|day| format!("expires: {day}")));
    out.extend(item.auto_renew.map(|on| format!("auto-renew: {}", if on { "on" } else { "off" })));
    out.extend(item.muted_until.map(|until| format!("muted until {}", until.strftime("%Y-%m-%d %H:%M UTC"))));
    out.extend(checks::words(&item.checks));
    out
}

/// The reminders of a holding as they are stored.
pub(crate) fn reminded(item: &Item) -> Result<Option<String>> {
    (!item.reminded.is_empty()).then(|| json(&item.reminded)).transpose()
}

/// Removes holdings and returns them as they were; with `expected` only where they are still at that position.
pub(crate) async fn delete_returning(
    db: &Db,
    by: &By<'_>,
    names: &[DomainName],
    expected: Option<LogPosition>,
) -> Result<Vec<Item>> {
    let (org, now) = (by.org, by.now);
    let mut names: Vec<String> = names.iter().map(|n| n.as_str().to_string()).collect();
    names.sort();
    let which = db.any("name", 2);
    // Locked in order first: a DELETE takes its rows in whatever order it finds them.
    let lock = format!("SELECT rv FROM items WHERE org = $1 AND {which} ORDER BY name{}", db.for_update());
    let delete = format!("DELETE FROM items WHERE org = $1 AND {which} RETURNING {ITEM}");
    for part in names.chunks(PART) {
        resources::check_finalizers(db, org, part).await?;
    }
    let mut taken = Vec::new();
    for part in names.chunks(PART) {
        let mut tx = db.begin().await?;
        for row in tx.rows(lock.clone(), args![org.0, part.to_vec()]).await? {
            let rv = LogPosition(row.int(0)?);
            if expected.is_some_and(|expected| expected != rv) {
                return Err(Error::Conflict);
            }
        }
        let gone = tx.rows(delete.clone(), args![org.0, part.to_vec()]).await?;
        let mut gone = gone.iter().map(read_item).collect::<Result<Vec<_>>>()?;
        if gone.is_empty() {
            continue;
        }
        gone.sort_by(|a, b| a.name.as_str().cmp(b.name.as_str()));
        let lines = gone.iter().map(|i| Line::item(org, i.name.as_str(), Op::Delete)).collect();
        jobs::forget_parked_scans(db, &mut tx, gone.iter().map(|i| i.name.as_str().to_string()).collect())
            .await?;
        let names: Vec<_> = gone.iter().map(|i| i.name.as_str().to_string()).collect();
        jobs::forget_parked_services(db, &mut tx, org, names.clone()).await?;
        let metadata = resources::forget(db, &mut tx, org, names).await?;
        let first = log::append(&mut tx, lines, now).await?;
        let kept = resources::tombstones_of_items(first, &gone, &metadata);
        resources::tombstone_rows(&mut tx, kept).await?;
        let entries: Vec<_> = gone
            .iter()
            .map(|item| (item.name.as_str().to_string(), Some(facts(item).join("; ")), None))
            .collect();
        audit::append(&mut tx, (org, by.actor, now), "domain.remove", &entries).await?;
        tx.commit().await?;
        taken.append(&mut gone);
    }
    Ok(taken)
}

pub(crate) async fn patch(db: &Db, by: &By<'_>, name: &DomainName, patch: &ItemPatch) -> Result<Item> {
    let (org, now) = (by.org, by.now);
    let mut tx = db.begin().await?;
    let (mut item, mut row) = locked(db, &mut tx, org, name).await?.ok_or(Error::NotFound)?;
    let before = item.clone();
    if let Some(v) = patch.ownership {
        item.ownership = v;
    }
    if let Some(v) = &patch.tags {
        item.tags = tidy(v);
    }
    if let Some(v) = &patch.note {
        item.note.clone_from(v);
    }
    if let Some(v) = patch.manual_expires {
        item.manual_expires = v;
    }
    if let Some(v) = patch.auto_renew {
        item.auto_renew = v;
    }
    if let Some(v) = patch.muted_until {
        item.muted_until = v;
    }
    if let Some(v) = patch.scan_interval {
        item.checks.interval_s = v;
    }
    if let Some(v) = &patch.expiry_days {
        item.checks.expiry_days.clone_from(v);
    }
    if item == before {
        return Ok(item);
    }
    overlay(&mut row, &item);
    tx.execute(
        "UPDATE items SET ownership = $3, tags = $4, note = $5, manual_expires = $6, auto_renew = $7, row_json = $8, \
         muted_until = $9, scan_interval_s = $10, expiry_days = $11 WHERE org = $1 AND name = $2",
        args![
            org.0,
            name.as_str(),
            item.ownership.as_str(),
            json(&item.tags)?,
            item.note.as_str(),
            item.manual_expires.map(|d| d.to_string()),
            item.auto_renew.map(i64::from),
            json(&row)?,
            item.muted_until.map(micros),
        ]
        .into_iter()
        .chain(checks::values(&item.checks)?)
        .collect(),
    )
    .await?;
    if item.muted_until != before.muted_until {
        outbox::release_held(&mut tx, org, Some(name), now).await?;
    }
    log::append(&mut tx, vec![Line::item(org, name.as_str(), Op::Update)], now).await?;
    let (was, is) = resources::differences(&facts(&before), &facts(&item));
    let entry = (name.as_str().to_string(), was, is);
    audit::append(&mut tx, (org, by.actor, now), "domain.change", &[entry]).await?;
    tx.commit().await?;
    Ok(item)
}

pub(crate) async fn scan_grounds(db: &Db, name: &DomainName) -> Result<ScanGrounds> {
    let sql = format!(
        "SELECT {ITEM}, (SELECT o.scan_interval_s FROM orgs o WHERE o.id = items.org), \
         (SELECT o.expiry_days FROM orgs o WHERE o.id = items.org), \
         (SELECT c.value FROM cluster_claims c WHERE c.name = $2), \
         (SELECT c.value FROM cluster_claims c WHERE c.name = $3) \
         FROM items WHERE name = $1 ORDER BY org"
    );
    let rows = db.rows(sql, args![name.as_str(), ID_CLAIM, CLUSTERSET_CLAIM]).await?;
    let of = |column| rows.first().map(|r| r.text_or_null(column)).transpose();
    let (cluster, clusterset) = (of(ITEM_LEN + 2)?.flatten(), of(ITEM_LEN + 3)?.flatten());
    let holdings = rows.iter().map(|r| Ok((read_item(r)?, checks::read(r, ITEM_LEN)?)));
    Ok(ScanGrounds { holdings: holdings.collect::<Result<_>>()?, cluster, clusterset })
}

pub(crate) async fn due_for_judgement(db: &Db, now: Timestamp, limit: u32) -> Result<Vec<Item>> {
    let sql = format!(
        "SELECT {ITEM} FROM items WHERE judge_again_at IS NOT NULL AND judge_again_at <= $1 \
         ORDER BY judge_again_at, org, name LIMIT $2"
    );
    db.rows(sql, args![micros(now), i64::from(limit)]).await?.iter().map(read_item).collect()
}

pub(crate) async fn update_judged(db: &Db, judged: &[(Item, Row)], now: Timestamp) -> Result<()> {
    let mut sorted: Vec<_> = judged.iter().collect();
    sorted.sort_by(|(a, _), (b, _)| (a.org, a.name.as_str()).cmp(&(b.org, b.name.as_str())));
    let mut tx = db.begin().await?;
    let (mut lines, mut held) = (Vec::new(), Vec::with_capacity(sorted.len()));
    for (item, row) in sorted {
        held.extend(locked(db, &mut tx, item.org, &item.name).await?.map(|stored| (item, row, stored)));
    }
    let org_days = checks::days_of(&mut tx, held.iter().map(|(item, ..)| item.org).collect()).await?;
    for (item, row, (stored, shown)) in held {
        // Outdated: a patch meanwhile, whose caller judges again, or a scan, which has judged; other days of the organisation
        // leave the holding due.
        if !same_grounds(item, &stored, &org_days) || shown.last_scan_at > row.last_scan_at {
            continue;
        }
        let mut row = row.clone();
        overlay(&mut row, &stored);
        row.follow(&shown, now);
        let mut values = args![item.org.0, item.name.as_str()];
        values.extend(judged_args(&item.status, &row)?);
        let sql = format!("UPDATE items SET {} WHERE org = $1 AND name = $2", judged_assignments(3));
        tx.execute(sql, values).await?;
        // When to judge again is not shown to anybody; a transition shows in the status itself.
        let seen = |r: &Row| {
            let mut r = r.clone();
            r.status.judge_again_at = None;
            r.transitions = Transitions::default();
            r
        };
        if seen(&row) != seen(&shown) {
            lines.push(Line::item(item.org, item.name.as_str(), Op::Update));
        }
    }
    if !lines.is_empty() {
        log::append(&mut tx, lines, now).await?;
    }
    tx.commit().await
}

/// Writes a reminder that time made, with the holding as it is judged now, unless the holding changed since it was read.
pub(crate) async fn record_reminder(
    db: &Db,
    before: &Item,
    outcome: &ItemOutcome,
    now: Timestamp,
) -> Result<bool> {
    let item = &outcome.item;
    let mut tx = db.begin().await?;
    let Some((stored, shown)) = locked(db, &mut tx, item.org, &item.name).await? else { return Ok(false) };
    let org_days = checks::days_of(&mut tx, [item.org].into()).await?;
    let is_same = stored.reminded == before.reminded && same_grounds(item, &stored, &org_days);
    if !is_same || shown.last_scan_at > outcome.row.last_scan_at {
        return Ok(false);
    }
    let mut row = outcome.row.clone();
    overlay(&mut row, &stored);
    row.follow(&shown, now);
    let mut values = args![item.org.0, item.name.as_str(), reminded(item)?];
    values.extend(judged_args(&item.status, &row)?);
    let sql =
        format!("UPDATE items SET reminded = $3, {} WHERE org = $1 AND name = $2", judged_assignments(4));
    tx.execute(sql, values).await?;
    let lines = vec![Line::item(item.org, item.name.as_str(), Op::Update)];
    let events = [(item.org, outcome.changes.iter().collect())];
    append_events(&mut tx, &item.name, lines, &events, now).await?;
    tx.commit().await?;
    Ok(true)
}
