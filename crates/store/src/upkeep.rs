//! Settings, and the deletion of what is too old. In: the time and how long to keep; out: how many rows went.
//! Deletes in small transactions, so that nobody waits long for the writer.

use crate::api::{LOG_KEEP_DAYS, Result};
use crate::budgets;
use crate::codec::micros;
use crate::db::{Arg, Db, args};
use crate::log::{self, Line};
use jiff::Timestamp;
use model::ids::OrgId;
use model::scan::Op;

/// Rows a deleting transaction takes at most.
const BATCH: i64 = 2000;

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

pub(crate) async fn prune(db: &Db, now: Timestamp, keep_days: u32) -> Result<u64> {
    let cutoff = |days: u32| micros(now).saturating_sub(i64::from(days) * 86_400_000_000);
    let old = cutoff(keep_days);
    let mut gone = 0;
    // The newest two states of a name are its newest change.
    gone += in_batches(
        db,
        "DELETE FROM snapshots WHERE id IN (SELECT s.id FROM snapshots s WHERE s.at < $2 AND EXISTS \
         (SELECT 1 FROM snapshots n WHERE n.name = s.name AND n.vantage = s.vantage AND n.id > s.id \
          ORDER BY n.id LIMIT 1 OFFSET 1) LIMIT $1)",
        args![old],
    )
    .await?;
    // The events of the newest scan that brought any stay while the name is held.
    gone += in_batches(
        db,
        "DELETE FROM events WHERE id IN (SELECT e.id FROM events e WHERE e.at < $2 AND \
         (NOT EXISTS (SELECT 1 FROM items i WHERE i.org = e.org AND i.name = e.name) OR EXISTS \
         (SELECT 1 FROM events n WHERE n.org = e.org AND n.name = e.name AND n.id > e.id AND n.at > e.at)) LIMIT $1)",
        args![old],
    )
    .await?;
    for table in ["observations", "snapshots"] {
        let key = if table == "observations" { "(name, vantage)" } else { "id" };
        let columns = key.trim_matches(['(', ')']);
        let sql = format!(
            "DELETE FROM {table} WHERE {key} IN (SELECT {columns} FROM {table} o WHERE NOT EXISTS \
             (SELECT 1 FROM items i WHERE i.name = o.name) LIMIT $1)"
        );
        gone += in_batches(db, &sql, args![]).await?;
    }
    gone += in_batches(
        db,
        // Asked twice: a host may be asked again between being found and being deleted.
        "DELETE FROM host_budgets WHERE changed_at < $2 AND host IN \
         (SELECT host FROM host_budgets WHERE changed_at < $2 LIMIT $1)",
        args![cutoff(budgets::KEEP_DAYS)],
    )
    .await?;
    gone += log_entries(db, cutoff(keep_days.min(LOG_KEEP_DAYS))).await?;
    Ok(gone)
}

/// Entries older than an instant; the floor rises first, so that nobody reads on across the gap unknowingly.
async fn log_entries(db: &Db, old: i64) -> Result<u64> {
    let (head, floor) = log::ends(db).await?;
    let newer = db.row("SELECT rv FROM change_log WHERE at >= $1 ORDER BY rv LIMIT 1", args![old]).await?;
    let upto = newer.map(|r| r.int(0)).transpose()?.map_or(head.0, |rv| rv - 1);
    if upto <= floor.0 {
        return Ok(0);
    }
    let mut tx = db.begin().await?;
    tx.execute("UPDATE log_head SET floor = $1 WHERE id = 1 AND floor < $1", args![upto]).await?;
    tx.commit().await?;
    in_batches(
        db,
        "DELETE FROM change_log WHERE rv IN (SELECT rv FROM change_log WHERE rv <= $2 ORDER BY rv LIMIT $1)",
        args![upto],
    )
    .await
}

/// Repeats a deleting statement, `$1` being the batch, until it finds nothing more.
async fn in_batches(db: &Db, sql: &str, further: Vec<Arg>) -> Result<u64> {
    let mut gone = 0;
    loop {
        let mut values = args![BATCH];
        values.extend(further.clone());
        let mut tx = db.begin().await?;
        let n = tx.execute(sql.to_string(), values).await?;
        tx.commit().await?;
        gone += n;
        if n < BATCH.unsigned_abs() {
            return Ok(gone);
        }
    }
}
