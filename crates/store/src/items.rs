//! Holdings: add, remove, patch, judge. In: an organisation's calls; out: rows of `items`, jobs and log entries,
//! each call one transaction. Names are written in sorted order, so that two calls never deadlock.

use crate::api::{Error, NewItem, PRIORITY_ADDED, Result, SCAN_JOB};
use crate::codec::{
    ITEM, ITEM_LEN, first_row, json, judged_args, judged_assignments, micros, overlay, read_item, read_json,
    same_grounds, tidy,
};
use crate::db::{Db, args};
use crate::jobs;
use crate::log::{self, Line};
use crate::record::locked;
use jiff::Timestamp;
use model::ids::OrgId;
use model::inventory::Row;
use model::item::{Item, ItemPatch};
use model::names::DomainName;
use model::scan::Op;
use std::collections::{BTreeMap, HashSet};

/// Holdings added or removed in one transaction: whoever writes the log meanwhile waits for so many, not for all.
const PART: usize = 1000;

pub(crate) async fn item(db: &Db, org: OrgId, name: &DomainName) -> Result<Option<(Item, Row)>> {
    let sql = format!("SELECT {ITEM}, row_json FROM items WHERE org = $1 AND name = $2");
    let Some(r) = db.row(sql, args![org.0, name.as_str()]).await? else { return Ok(None) };
    Ok(Some((read_item(&r)?, read_json(&r.text(ITEM_LEN)?)?)))
}

/// Rows of some names, in no order.
pub(crate) async fn rows(db: &Db, org: OrgId, names: Vec<String>) -> Result<Vec<Row>> {
    let sql = format!("SELECT row_json FROM items WHERE org = $1 AND {}", db.any("name", 2));
    db.rows(sql, args![org.0, names]).await?.iter().map(|r| read_json(&r.text(0)?)).collect()
}

pub(crate) async fn add(db: &Db, org: OrgId, items: &[NewItem], now: Timestamp) -> Result<Vec<bool>> {
    let mut sorted: BTreeMap<&str, &NewItem> = BTreeMap::new();
    for i in items {
        sorted.entry(i.name.as_str()).or_insert(i);
    }
    let sorted: Vec<&NewItem> = sorted.into_values().collect();
    let mut new = HashSet::new();
    for part in sorted.chunks(PART) {
        new.extend(add_part(db, org, part, now).await?);
    }
    // The first line that named a new holding made it; a later one finds it there.
    Ok(items.iter().map(|i| new.remove(i.name.as_str())).collect())
}

/// Adds holdings in one transaction; the names that were new.
async fn add_part(db: &Db, org: OrgId, items: &[&NewItem], now: Timestamp) -> Result<Vec<String>> {
    let mut values = Vec::with_capacity(items.len());
    for new in items {
        let tags = tidy(&new.tags);
        let row = first_row(&new.name, &new.unicode, new.ownership, &tags);
        values.push(args![
            org.0,
            new.name.as_str(),
            new.unicode.as_str(),
            new.ownership.as_str(),
            json(&tags)?,
            new.note.as_str(),
            false,
            micros(now),
            json(&row.status)?,
            row.status.kind.rank(),
            micros(now),
            json(&row)?,
        ]);
    }
    let mut tx = db.begin().await?;
    let added = tx
        .insert(
            "INSERT INTO items (org, name, unicode, ownership, tags, note, was_delegated, added_at, status, \
             status_rank, next_scan_at, row_json)",
            values,
            "ON CONFLICT (org, name) DO NOTHING RETURNING name",
        )
        .await?;
    let mut names = added.iter().map(|r| r.text(0)).collect::<Result<Vec<_>>>()?;
    if names.is_empty() {
        return Ok(names);
    }
    names.sort();
    let keys: Vec<_> = names.iter().map(|n| (n.clone(), now)).collect();
    jobs::put(&mut tx, SCAN_JOB, &keys, PRIORITY_ADDED).await?;
    let lines = names.iter().map(|n| Line::item(org, n, Op::Create)).collect();
    log::append(&mut tx, lines, now).await?;
    tx.commit().await?;
    Ok(names)
}

pub(crate) async fn remove(db: &Db, org: OrgId, names: &[DomainName], now: Timestamp) -> Result<u64> {
    let mut names: Vec<String> = names.iter().map(|n| n.as_str().to_string()).collect();
    names.sort();
    let which = db.any("name", 2);
    // Locked in order first: a DELETE takes its rows in whatever order it finds them.
    let lock = format!("SELECT name FROM items WHERE org = $1 AND {which} ORDER BY name{}", db.for_update());
    let delete = format!("DELETE FROM items WHERE org = $1 AND {which} RETURNING name");
    let mut removed = 0;
    for part in names.chunks(PART) {
        let mut tx = db.begin().await?;
        tx.rows(lock.clone(), args![org.0, part.to_vec()]).await?;
        let gone = tx.rows(delete.clone(), args![org.0, part.to_vec()]).await?;
        let mut gone = gone.iter().map(|r| r.text(0)).collect::<Result<Vec<_>>>()?;
        if gone.is_empty() {
            continue;
        }
        gone.sort();
        let lines = gone.iter().map(|n| Line::item(org, n, Op::Delete)).collect();
        log::append(&mut tx, lines, now).await?;
        tx.commit().await?;
        removed += gone.len() as u64;
    }
    Ok(removed)
}

pub(crate) async fn patch(
    db: &Db,
    org: OrgId,
    name: &DomainName,
    patch: &ItemPatch,
    now: Timestamp,
) -> Result<Item> {
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
    if item == before {
        return Ok(item);
    }
    overlay(&mut row, &item);
    tx.execute(
        "UPDATE items SET ownership = $3, tags = $4, note = $5, manual_expires = $6, auto_renew = $7, row_json = $8 \
         WHERE org = $1 AND name = $2",
        args![
            org.0,
            name.as_str(),
            item.ownership.as_str(),
            json(&item.tags)?,
            item.note.as_str(),
            item.manual_expires.map(|d| d.to_string()),
            item.auto_renew.map(i64::from),
            json(&row)?,
        ],
    )
    .await?;
    log::append(&mut tx, vec![Line::item(org, name.as_str(), Op::Update)], now).await?;
    tx.commit().await?;
    Ok(item)
}

pub(crate) async fn holders(db: &Db, name: &DomainName) -> Result<Vec<Item>> {
    let sql = format!("SELECT {ITEM} FROM items WHERE name = $1 ORDER BY org");
    db.rows(sql, args![name.as_str()]).await?.iter().map(read_item).collect()
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
    let mut lines = Vec::new();
    for (item, row) in sorted {
        let Some((stored, shown)) = locked(db, &mut tx, item.org, &item.name).await? else { continue };
        // Somebody knew better meanwhile: a patch whose caller judges anew, or a scan that has judged.
        if !same_grounds(item, &stored) || shown.last_scan_at > row.last_scan_at {
            continue;
        }
        let mut row = row.clone();
        overlay(&mut row, &stored);
        let mut values = args![item.org.0, item.name.as_str()];
        values.extend(judged_args(&item.status, &row)?);
        let sql = format!("UPDATE items SET {} WHERE org = $1 AND name = $2", judged_assignments(3));
        tx.execute(sql, values).await?;
        // When to judge again is not shown to anybody.
        let seen = |r: &Row| {
            let mut r = r.clone();
            r.status.judge_again_at = None;
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
