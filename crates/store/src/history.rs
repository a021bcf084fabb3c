//! What was observed, now and before. Kept states are shared, but shown only to organisations that hold the name.

use crate::api::{Result, Versioned};
use crate::codec::{instant, read_json};
use crate::db::{Db, args};
use crate::stored;
use model::detail::SnapshotMeta;
use model::ids::{OrgId, SnapshotId, Vantage};
use model::names::DomainName;

/// The condition that the organisation at `$1` holds the name of snapshot `s`.
pub(crate) const HELD: &str = "EXISTS (SELECT 1 FROM items i WHERE i.org = $1 AND i.name = s.name)";

pub(crate) async fn observation(db: &Db, name: &DomainName, vantage: &Vantage) -> Result<Option<Versioned>> {
    let row = db
        .row(
            "SELECT version, json, packed FROM observations WHERE name = $1 AND vantage = $2",
            args![name.as_str(), vantage.0.as_str()],
        )
        .await?;
    row.map(|r| Ok(Versioned { version: r.int(0)?, observation: stored::observation(&r, 1)? })).transpose()
}

pub(crate) async fn amend_observation(db: &Db, amended: &Versioned) -> Result<bool> {
    let o = &amended.observation;
    let packed = stored::Text::of(o)?.pack(None)?;
    let sql = "UPDATE observations SET version = version + 1, json = '', packed = $4, sampled = $5 \
               WHERE name = $1 AND vantage = $2 AND version = $3";
    let values = args![o.name.as_str(), o.vantage.0.as_str(), amended.version, packed, stored::is_sampled(o)];
    Ok(db.write(sql, values).await? == 1)
}

pub(crate) async fn snapshots(
    db: &Db,
    org: OrgId,
    name: &DomainName,
    limit: u32,
) -> Result<Vec<SnapshotMeta>> {
    let sql = format!(
        "SELECT s.id, s.at, s.summary FROM snapshots s WHERE s.name = $2 AND {HELD} ORDER BY s.id DESC LIMIT $3"
    );
    let rows = db.rows(sql, args![org.0, name.as_str(), i64::from(limit)]).await?;
    rows.iter()
        .map(|r| {
            Ok(SnapshotMeta {
                id: SnapshotId(r.int(0)?),
                at: instant(r.int(1)?)?,
                summary: read_json(&r.text(2)?)?,
            })
        })
        .collect()
}

pub(crate) async fn counts(db: &Db, org: OrgId, name: &DomainName) -> Result<(u64, u64)> {
    let sql = format!(
        "SELECT (SELECT COUNT(*) FROM snapshots s WHERE s.name = $2 AND {HELD}), \
         (SELECT COUNT(*) FROM events WHERE org = $1 AND name = $2)"
    );
    let Some(r) = db.row(sql, args![org.0, name.as_str()]).await? else { return Ok((0, 0)) };
    Ok((u64::try_from(r.int(0)?).unwrap_or(0), u64::try_from(r.int(1)?).unwrap_or(0)))
}
