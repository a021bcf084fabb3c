//! Budgets of registry hosts: one text for each host, written by compare-and-swap on its version. In: host, version,
//! text; out: the new version, or `None` when another writer was faster.

use crate::api::Result;
use crate::codec::micros;
use crate::db::{Db, Sql, args};
use jiff::Timestamp;

/// Days after its last change that a budget is deleted; a daily quota looks back one day.
pub(crate) const KEEP_DAYS: u32 = 3;

pub(crate) async fn load(db: &Db, host: &str) -> Result<Option<(i64, String)>> {
    let row = db.row("SELECT version, state FROM host_budgets WHERE host = $1", args![host]).await?;
    row.map(|r| Ok((r.int(0)?, r.text(1)?))).transpose()
}

pub(crate) async fn swap(
    db: &Db,
    host: &str,
    expected: Option<i64>,
    state: &str,
    now: Timestamp,
) -> Result<Option<i64>> {
    let at = micros(now);
    let (sql, version, next): (Sql, _, _) = match expected {
        // A recreated row begins beyond every version the one before it can have had: there was less than one
        // write a microsecond.
        None => (
            "INSERT INTO host_budgets (host, version, state, changed_at) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (host) DO NOTHING"
                .into(),
            at,
            at,
        ),
        Some(v) => (
            // Two of these for each request to a registry: none waits for the disk. A database that crashes forgets the
            // requests of its last moments, no more.
            format!(
                "UPDATE host_budgets SET version = version + 1, state = $3, changed_at = $4 \
                 WHERE host = $1 AND version = $2{}",
                db.without_waiting_for_the_disk()
            )
            .into(),
            v,
            v + 1,
        ),
    };
    Ok((db.write(sql, args![host, version, state, at]).await? == 1).then_some(next))
}
