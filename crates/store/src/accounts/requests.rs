//! Requests that are carried out once, whatever the client repeats: keys (header `Idempotency-Key`) and kept answers.

use super::Replay;
use crate::api::Result;
use crate::codec::micros;
use crate::db::{Db, args};
use jiff::{SignedDuration, Timestamp};
use model::ids::OrgId;

/// How long an answer is kept.
const KEEP: SignedDuration = SignedDuration::from_hours(24);

pub(super) async fn claim(db: &Db, org: OrgId, key: &str, request: &str, now: Timestamp) -> Result<Replay> {
    let mut tx = db.begin().await?;
    let old = "DELETE FROM idempotency_keys WHERE org = $1 AND key = $2 AND created_at < $3";
    tx.execute(old, args![org.0, key, micros(now - KEEP)]).await?;
    let claim = "INSERT INTO idempotency_keys (org, key, request, created_at) VALUES ($1, $2, $3, $4) \
                 ON CONFLICT (org, key) DO NOTHING";
    if tx.execute(claim, args![org.0, key, request, micros(now)]).await? == 1 {
        tx.commit().await?;
        return Ok(Replay::New);
    }
    let find = "SELECT request, answer FROM idempotency_keys WHERE org = $1 AND key = $2";
    let Some(row) = tx.row(find, args![org.0, key]).await? else { return Ok(Replay::Running) };
    Ok(match (row.text(0)? == request, row.text_or_null(1)?) {
        (false, _) => Replay::OtherRequest,
        (true, Some(answer)) => Replay::Answered(answer),
        (true, None) => Replay::Running,
    })
}

pub(super) async fn keep(db: &Db, org: OrgId, key: &str, answer: &str) -> Result<()> {
    let sql = "UPDATE idempotency_keys SET answer = $3 WHERE org = $1 AND key = $2";
    db.write(sql, args![org.0, key, answer]).await.map(drop)
}

pub(super) async fn forget(db: &Db, org: OrgId, key: &str) -> Result<()> {
    db.write("DELETE FROM idempotency_keys WHERE org = $1 AND key = $2", args![org.0, key]).await.map(drop)
}
