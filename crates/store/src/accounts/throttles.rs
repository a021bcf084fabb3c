//! Failed attempts, and the upkeep of accounts.

use crate::api::Result;
use crate::codec::{instant, micros};
use crate::db::{Cells, Db, args};
use jiff::Timestamp;

/// Entries of the audit log that one step looks at.
const AUDIT_STEP: i64 = 1000;

fn read_failures(row: Option<&Cells>) -> Result<(u32, Option<Timestamp>)> {
    let Some(r) = row else { return Ok((0, None)) };
    Ok((u32::try_from(r.int(0)?).unwrap_or(u32::MAX), Some(instant(r.int(1)?)?)))
}

pub(super) async fn failures(db: &Db, key: &str) -> Result<(u32, Option<Timestamp>)> {
    let row = db.row("SELECT failures, last_at FROM throttles WHERE key = $1", args![key]).await?;
    read_failures(row.as_ref())
}

pub(super) async fn count_failure(
    db: &Db,
    key: &str,
    forget: Timestamp,
    now: Timestamp,
) -> Result<(u32, Option<Timestamp>)> {
    let mut tx = db.begin().await?;
    // The row is there before it is locked, so that the first two of a key wait for each other too.
    let make =
        "INSERT INTO throttles (key, failures, last_at) VALUES ($1, 0, $2) ON CONFLICT (key) DO NOTHING";
    tx.execute(make, args![key, micros(forget)]).await?;
    let find = format!("SELECT failures, last_at FROM throttles WHERE key = $1{}", db.for_update());
    let row = tx.row(find, args![key]).await?;
    let before = read_failures(row.as_ref())?;
    let is_old = before.1.is_none_or(|last| last < forget);
    let failures = if is_old { 1 } else { i64::from(before.0) + 1 };
    let set = "UPDATE throttles SET failures = $2, last_at = $3 WHERE key = $1";
    tx.execute(set, args![key, failures, micros(now)]).await?;
    tx.commit().await?;
    Ok(if is_old { (0, None) } else { before })
}

pub(super) async fn clear_failures(db: &Db, key: &str) -> Result<()> {
    db.write("DELETE FROM throttles WHERE key = $1", args![key]).await.map(drop)
}

pub(super) async fn prune(db: &Db, before: Timestamp, audit_before: Timestamp) -> Result<u64> {
    let mut gone = 0;
    for (sql, at) in [
        ("DELETE FROM sessions WHERE seen_at < $1", before),
        ("DELETE FROM one_time_links WHERE expires_at < $1", before),
        ("DELETE FROM passkey_challenges WHERE expires_at < $1", before),
        ("DELETE FROM throttles WHERE last_at < $1", before),
        ("DELETE FROM idempotency_keys WHERE created_at < $1", before),
    ] {
        gone += db.write(sql, args![micros(at)]).await?;
    }
    // The audit log grows with every change: in steps by id, which follow the time.
    let sql = "DELETE FROM audit_log WHERE at < $1 AND id IN (SELECT id FROM audit_log ORDER BY id LIMIT $2)";
    loop {
        let n = db.write(sql, args![micros(audit_before), AUDIT_STEP]).await?;
        gone += n;
        if n == 0 {
            return Ok(gone);
        }
    }
}
