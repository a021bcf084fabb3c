//! Feeds of organisations, found by the hash of the secret in their address.

use crate::accounts::Audit;
use crate::accounts::audit::note;
use crate::api::Result;
use crate::codec::{instant, json, micros, read_json};
use crate::db::{Cells, Db, args};
use jiff::Timestamp;
use model::feed::Feed;
use model::ids::OrgId;

/// How exactly the last use is noted: a reader that polls must not write every time.
const HOUR: i64 = 3_600_000_000;

fn feed(r: &Cells) -> Result<Feed> {
    Ok(Feed { used_at: r.int_or_null(1)?.map(instant).transpose()?, ..read_json(&r.text(0)?)? })
}

pub(crate) async fn create(db: &Db, org: OrgId, hash: &str, feed: &Feed, log: &Audit) -> Result<()> {
    let mut tx = db.begin().await?;
    let sql = "INSERT INTO feeds (id, org, hash, json) VALUES ($1, $2, $3, $4)";
    tx.execute(sql, args![feed.id.as_str(), org.0, hash, json(feed)?]).await?;
    note(&mut tx, Some(log)).await?;
    tx.commit().await
}

pub(crate) async fn list(db: &Db, org: OrgId) -> Result<Vec<Feed>> {
    let rows = db.rows("SELECT json, used_at FROM feeds WHERE org = $1", args![org.0]).await?;
    let mut feeds = rows.iter().map(feed).collect::<Result<Vec<_>>>()?;
    feeds.sort_by_key(|f| std::cmp::Reverse(f.created_at));
    Ok(feeds)
}

pub(crate) async fn delete(db: &Db, org: OrgId, id: &str, log: &Audit) -> Result<bool> {
    let mut tx = db.begin().await?;
    let sql = "DELETE FROM feeds WHERE org = $1 AND id = $2 RETURNING json, used_at";
    let Some(r) = tx.row(sql, args![org.0, id]).await? else { return Ok(false) };
    let log = Audit { object: feed(&r)?.name, ..log.clone() };
    note(&mut tx, Some(&log)).await?;
    tx.commit().await?;
    Ok(true)
}

pub(crate) async fn by_hash(db: &Db, hash: &str, now: Timestamp) -> Result<Option<(OrgId, Feed)>> {
    let sql = "SELECT json, used_at, org FROM feeds WHERE hash = $1";
    let Some(r) = db.row(sql, args![hash]).await? else { return Ok(None) };
    let at = micros(now);
    if r.int_or_null(1)?.is_none_or(|used| at.saturating_sub(used) > HOUR) {
        db.write("UPDATE feeds SET used_at = $2 WHERE hash = $1", args![hash, at]).await?;
    }
    Ok(Some((OrgId(r.int(2)?), feed(&r)?)))
}
