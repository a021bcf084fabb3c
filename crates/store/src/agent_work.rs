//! Work of points of presence: handed out once, and again when it did not arrive.

use crate::api::Result;
use crate::codec::{instant, micros};
use crate::db::{Db, args};
use jiff::Timestamp;

/// Questions that wait for an agent, each taken once.
pub(crate) async fn take(
    db: &Db,
    agent: &str,
    limit: u32,
    now: Timestamp,
) -> Result<Vec<(String, String, Timestamp)>> {
    let waits = "SELECT id FROM agent_work WHERE agent = $1 AND taken_at IS NULL AND expires_at > $2";
    if db.row(format!("{waits} LIMIT 1"), args![agent, micros(now)]).await?.is_none() {
        return Ok(Vec::new());
    }
    let mut tx = db.begin().await?;
    let sql = format!(
        "UPDATE agent_work SET taken_at = $2 WHERE id IN ({waits} ORDER BY expires_at LIMIT $3{}) \
         RETURNING id, question, expires_at",
        db.skip_locked()
    );
    let rows = tx.rows(sql, args![agent, micros(now), i64::from(limit)]).await?;
    let taken =
        rows.iter().map(|r| Ok((r.text(0)?, r.text(1)?, instant(r.int(2)?)?))).collect::<Result<_>>()?;
    tx.commit().await?;
    Ok(taken)
}

/// What is handed out and open.
const OUT: &str = "agent = $1 AND taken_at IS NOT NULL AND answer IS NULL AND expires_at > $2";

/// Numbers of the open questions that were handed out to an agent.
pub(crate) async fn out(db: &Db, agent: &str, now: Timestamp) -> Result<Vec<String>> {
    let sql = format!("SELECT id FROM agent_work WHERE {OUT} ORDER BY id");
    db.rows(sql, args![agent, micros(now)]).await?.iter().map(|r| r.text(0)).collect()
}

/// Takes back an open question that was handed out; false when it is not open.
pub(crate) async fn take_back(db: &Db, agent: &str, id: &str, now: Timestamp) -> Result<bool> {
    let sql = format!("UPDATE agent_work SET taken_at = NULL WHERE {OUT} AND id = $3");
    Ok(db.write(sql, args![agent, micros(now), id]).await? == 1)
}
