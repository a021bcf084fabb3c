//! Settings, and the deletion of what is too old. In: the time and how long to keep; out: how many rows were deleted.
//! Tables are walked by key in steps of bounded size, each a transaction of its own, so that other writers wait for one
//! step at most and no statement grows with the database.

use crate::api::{Error, LOG_KEEP_DAYS, Result};
use crate::budgets;
use crate::codec::micros;
use crate::db::{Db, args};
use crate::jobs;
use crate::log::{self, Line};
use jiff::Timestamp;
use model::ids::OrgId;
use model::scan::Op;

/// Days that delivered messages are kept, for the delivery status of events.
const DELIVERED_KEEP_DAYS: u32 = 90;

/// In the condition of [`by_age`]: the row `o` is in the same step.
const IN_STEP: &str = "in_step(o)";

/// Rows that one step looks at.
const BATCH: i64 = 1000;

pub(crate) async fn setting(db: &Db, org: OrgId, key: &str) -> Result<Option<String>> {
    let row = db.row("SELECT value FROM settings WHERE org = $1 AND key = $2", args![org.0, key]).await?;
    row.map(|r| r.text(0)).transpose()
}

pub(crate) async fn first_setting(
    db: &Db,
    org: OrgId,
    key: &str,
    value: &str,
    now: Timestamp,
) -> Result<String> {
    let mut tx = db.begin().await?;
    let made = tx
        .execute(
            "INSERT INTO settings (org, key, value, at) VALUES ($1, $2, $3, $4) ON CONFLICT (org, key) DO NOTHING",
            args![org.0, key, value, micros(now)],
        )
        .await?;
    if made > 0 {
        let line = Line { org, kind: log::SETTING, name: Some(key.to_string()), op: Op::Update };
        log::append(&mut tx, vec![line], now).await?;
    }
    tx.commit().await?;
    Ok(setting(db, org, key).await?.unwrap_or_else(|| value.to_string()))
}

pub(crate) async fn set_setting(db: &Db, org: OrgId, key: &str, value: &str, now: Timestamp) -> Result<()> {
    let mut tx = db.begin().await?;
    tx.execute(
        "INSERT INTO settings (org, key, value, at) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (org, key) DO UPDATE SET value = excluded.value, at = excluded.at",
        args![org.0, key, value, micros(now)],
    )
    .await?;
    let line = Line { org, kind: log::SETTING, name: Some(key.to_string()), op: Op::Update };
    log::append(&mut tx, vec![line], now).await?;
    tx.commit().await
}

pub(crate) async fn prune_log(db: &Db, now: Timestamp, keep_days: u32) -> Result<u64> {
    log_entries(db, cutoff(now, keep_days.min(LOG_KEEP_DAYS))).await
}

pub(crate) async fn prune(db: &Db, now: Timestamp, keep_days: u32) -> Result<u64> {
    let old = cutoff(now, keep_days);
    let mut gone = prune_log(db, now, keep_days).await?;
    gone += crate::services::prune(db, now).await?;
    // The newest two states of a name are its newest change. A state that an older one needs (a difference) is deleted
    // with it or after it, also where a wrong clock gave the older one a later time. (As NOT EXISTS, PostgreSQL makes a
    // join of it, for which each step reads the whole table.)
    gone += by_age(
        db,
        "snapshots",
        old,
        "EXISTS (SELECT 1 FROM snapshots n WHERE n.name = snapshots.name AND n.vantage = snapshots.vantage \
         AND n.id > snapshots.id ORDER BY n.id LIMIT 1 OFFSET 1) \
         AND (SELECT o.id FROM snapshots o WHERE o.name = snapshots.name AND o.vantage = snapshots.vantage \
         AND o.id < snapshots.id AND NOT in_step(o) ORDER BY o.id LIMIT 1) IS NULL",
    )
    .await?;
    // The events of the newest scan that brought any stay while the name is held.
    gone += by_age(
        db,
        "events",
        old,
        "(NOT EXISTS (SELECT 1 FROM items i WHERE i.org = events.org AND i.name = events.name) OR EXISTS \
         (SELECT 1 FROM events n WHERE n.org = events.org AND n.name = events.name AND n.id > events.id \
         AND n.at > events.at))",
    )
    .await?;
    gone += names_nobody_holds(db).await?;
    // Messages that were not retried for as long as history is kept.
    let sql = "DELETE FROM outbox WHERE failed_at < $2 AND (id, channel) IN \
               (SELECT id, channel FROM outbox WHERE failed_at < $2 LIMIT $1)";
    gone += in_batches(db, sql, old).await?;
    let sql = "DELETE FROM prefixes WHERE released_at < $2 AND id IN \
               (SELECT id FROM prefixes WHERE released_at < $2 LIMIT $1)";
    gone += in_batches(db, sql, old).await?;
    let sql = "DELETE FROM outbox WHERE delivered_at < $2 AND (id, channel) IN \
               (SELECT id, channel FROM outbox WHERE delivered_at < $2 LIMIT $1)";
    gone += in_batches(db, sql, cutoff(now, keep_days.min(DELIVERED_KEEP_DAYS))).await?;
    // The age is compared again: a host may be asked between being found and being deleted.
    let sql = "DELETE FROM host_budgets WHERE changed_at < $2 AND host IN \
               (SELECT host FROM host_budgets WHERE changed_at < $2 LIMIT $1)";
    gone += in_batches(db, sql, cutoff(now, budgets::KEEP_DAYS)).await?;
    Ok(gone)
}

pub(crate) async fn backup(db: &Db, to: &std::path::Path) -> Result<()> {
    if matches!(db, Db::Postgres(_)) {
        return Err(Error::Broken("a PostgreSQL database is copied with pg_dump".into()));
    }
    // One reading transaction: writers go on meanwhile.
    db.write("VACUUM INTO $1", args![to.to_string_lossy().into_owned()]).await.map(drop)
}

/// The instant so many days ago, in microseconds.
fn cutoff(now: Timestamp, days: u32) -> i64 {
    micros(now).saturating_sub(i64::from(days) * 86_400_000_000)
}

/// Walks the rows of a table that are older than an instant, oldest first, and deletes those that meet a condition, in
/// which [`IN_STEP`] says of `o` that it is in the same step.
/// Each step looks at a bounded number of rows, whether they are deleted or kept: the comparison of pairs begins where
/// the last step ended in the index over `(at, id)` (on SQLite every index ends with the row's id). The times are compared
/// by themselves, too: of pairs PostgreSQL has no statistics, and takes a step for a third of the table.
async fn by_age(db: &Db, table: &str, old: i64, condition: &str) -> Result<u64> {
    let page =
        format!("SELECT at, id FROM {table} WHERE at < $1 AND (at, id) > ($2, $3) ORDER BY at, id LIMIT $4");
    let delete = format!(
        "DELETE FROM {table} WHERE at BETWEEN $1 AND $3 AND (at, id) >= ($1, $2) AND (at, id) <= ($3, $4) AND {}",
        condition.replace(IN_STEP, "((o.at, o.id) >= ($1, $2) AND (o.at, o.id) <= ($3, $4))")
    );
    let (mut at, mut id, mut gone) = (i64::MIN, i64::MIN, 0);
    loop {
        let rows = db.rows(page.clone(), args![old, at, id, BATCH]).await?;
        let keys = rows.iter().map(|r| Ok((r.int(0)?, r.int(1)?))).collect::<Result<Vec<_>>>()?;
        let (Some(first), Some(last)) = (keys.first(), keys.last()) else { return Ok(gone) };
        gone += db.write(delete.clone(), args![first.0, first.1, last.0, last.1]).await?;
        (at, id) = *last;
    }
}

/// Walks the observed names and deletes what is kept of those that no organisation holds.
async fn names_nobody_holds(db: &Db) -> Result<u64> {
    const HELD: &str = "EXISTS (SELECT 1 FROM items i WHERE i.name =";
    let page = "SELECT DISTINCT name FROM observations WHERE name > $1 ORDER BY name LIMIT $2";
    let unheld =
        format!("SELECT name FROM observations o WHERE {} AND NOT {HELD} o.name)", db.any("name", 1));
    // Oldest first: the name may be held again before the next step, and a state may need a newer one.
    let snapshots = format!(
        "DELETE FROM snapshots WHERE id IN \
         (SELECT id FROM snapshots s WHERE name = $1 AND NOT {HELD} s.name) ORDER BY id LIMIT $2)"
    );
    let observations =
        format!("DELETE FROM observations WHERE {} AND NOT {HELD} observations.name)", db.any("name", 1));
    let addresses = format!(
        "DELETE FROM observed_addresses WHERE {} AND NOT {HELD} observed_addresses.name)",
        db.any("name", 1)
    );
    let (mut after, mut gone) = (String::new(), 0);
    loop {
        let rows = db.rows(page, args![after.as_str(), BATCH]).await?;
        let names = rows.iter().map(|r| r.text(0)).collect::<Result<Vec<_>>>()?;
        let Some(last) = names.last() else { return Ok(gone) };
        after.clone_from(last);
        let names = db.rows(unheld.clone(), args![names]).await?;
        let names = names.iter().map(|r| r.text(0)).collect::<Result<Vec<_>>>()?;
        if names.is_empty() {
            continue;
        }
        // The observations last: they are what a walk that was interrupted finds the names by.
        for name in &names {
            loop {
                let n = db.write(snapshots.clone(), args![name.as_str(), BATCH]).await?;
                gone += n;
                if n < BATCH.unsigned_abs() {
                    break;
                }
            }
        }
        let mut tx = db.begin().await?;
        gone += jobs::forget_parked_scans(db, &mut tx, names.clone()).await?;
        tx.execute(addresses.clone(), args![names.clone()]).await?;
        gone += tx.execute(observations.clone(), args![names]).await?;
        tx.commit().await?;
    }
}

/// Entries older than an instant; the floor rises first, so that no reader goes on across the gap unknowingly.
async fn log_entries(db: &Db, old: i64) -> Result<u64> {
    let (head, floor) = log::ends(db).await?;
    let newer = db.row("SELECT rv FROM change_log WHERE at >= $1 ORDER BY rv LIMIT 1", args![old]).await?;
    let upto = newer.map(|r| r.int(0)).transpose()?.map_or(head.0, |rv| rv - 1);
    if upto > floor.0 {
        db.write("UPDATE log_head SET floor = $1 WHERE id = 1 AND floor < $1", args![upto]).await?;
    }
    let first = db.row("SELECT rv FROM change_log ORDER BY rv LIMIT 1", args![]).await?;
    let Some(first) = first.map(|r| r.int(0)).transpose()? else { return Ok(0) };
    let (mut gone, mut from, end) = (0, first, upto.max(floor.0));
    while from <= end {
        let to = (from + BATCH - 1).min(end);
        gone += db.write("DELETE FROM change_log WHERE rv BETWEEN $1 AND $2", args![from, to]).await?;
        db.write("DELETE FROM tombstones WHERE rv BETWEEN $1 AND $2", args![from, to]).await?;
        from = to + 1;
    }
    Ok(gone)
}

/// Repeats a deleting statement (`$1` the batch, `$2` the instant) until it finds nothing more.
async fn in_batches(db: &Db, sql: &'static str, old: i64) -> Result<u64> {
    let mut gone = 0;
    loop {
        let n = db.write(sql, args![BATCH, old]).await?;
        gone += n;
        if n < BATCH.unsigned_abs() {
            return Ok(gone);
        }
    }
}
