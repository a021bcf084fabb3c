//! Holdings as objects: with their position in the log, what was observed, and metadata written through the API.

use super::StoredDomain;
use super::audited::{differences, metadata_parts};
use crate::accounts::audit;
use crate::api::{Error, Result};
use crate::codec::{ITEM, ITEM_LEN, micros, read_item, read_json};
use crate::db::{Cells, Db, Tx, args};
use crate::items::By;
use crate::log::{self, Line};
use crate::stored;
use model::ids::{LogPosition, OrgId, Vantage};
use model::item::Item;
use model::names::DomainName;
use model::scan::Op;
use std::collections::HashMap;

fn columns() -> String {
    format!(
        "{ITEM}, row_json, rv, \
         (SELECT json FROM object_metadata m WHERE m.org = items.org AND m.kind = 'item' AND m.name = items.name), \
         (SELECT json FROM observations o WHERE o.name = items.name AND o.vantage = $1), \
         (SELECT packed FROM observations o WHERE o.name = items.name AND o.vantage = $1)"
    )
}

fn read(r: &Cells) -> Result<StoredDomain> {
    Ok(StoredDomain {
        item: read_item(r)?,
        row: read_json(&r.text(ITEM_LEN)?)?,
        rv: LogPosition(r.int(ITEM_LEN + 1)?),
        metadata: r.text_or_null(ITEM_LEN + 2)?,
        observation: match r.text_or_null(ITEM_LEN + 3)? {
            Some(_) => Some(stored::observation(r, ITEM_LEN + 3)?),
            None => None,
        },
    })
}

pub(super) async fn list(db: &Db, org: OrgId, after: &str, limit: u32) -> Result<Vec<StoredDomain>> {
    let sql = format!("SELECT {} FROM items WHERE org = $2 AND name > $3 ORDER BY name LIMIT $4", columns());
    let values = args![Vantage::local().0, org.0, after, i64::from(limit)];
    db.rows(sql, values).await?.iter().map(read).collect()
}

pub(super) async fn read_one(db: &Db, org: OrgId, name: &DomainName) -> Result<Option<StoredDomain>> {
    let sql = format!("SELECT {} FROM items WHERE org = $2 AND name = $3", columns());
    let values = args![Vantage::local().0, org.0, name.as_str()];
    db.row(sql, values).await?.as_ref().map(read).transpose()
}

pub(super) async fn set_metadata(
    db: &Db,
    by: &By<'_>,
    name: &DomainName,
    expected: LogPosition,
    json: &str,
) -> Result<()> {
    let (org, now) = (by.org, by.now);
    let mut tx = db.begin().await?;
    let sql = format!("SELECT rv FROM items WHERE org = $1 AND name = $2{}", db.for_update());
    let rv = tx.row(sql, args![org.0, name.as_str()]).await?.ok_or(Error::NotFound)?.int(0)?;
    if rv != expected.0 {
        return Err(Error::Conflict);
    }
    let sql = "SELECT json FROM object_metadata WHERE org = $1 AND kind = 'item' AND name = $2";
    let old =
        tx.row(sql, args![org.0, name.as_str()]).await?.map_or_else(|| Ok("{}".into()), |r| r.text(0))?;
    tx.execute(
        "INSERT INTO object_metadata (org, kind, name, json) VALUES ($1, 'item', $2, $3) \
         ON CONFLICT (org, kind, name) DO UPDATE SET json = excluded.json",
        args![org.0, name.as_str(), json],
    )
    .await?;
    let (was, is) = differences(&metadata_parts(&old), &metadata_parts(json));
    if was.is_some() || is.is_some() {
        let line = (name.as_str().to_string(), was, is);
        audit::append(&mut tx, (org, by.actor, now), "domain.change", &[line]).await?;
    }
    log::append(&mut tx, vec![Line::item(org, name.as_str(), Op::Update)], now).await?;
    tx.commit().await
}

/// Refuses holdings of which one has a finalizer.
pub(crate) async fn check_finalizers(db: &Db, org: OrgId, names: &[String]) -> Result<()> {
    let which = db.any("name", 2);
    let sql = format!(
        "SELECT name, json FROM object_metadata \
         WHERE org = $1 AND kind = 'item' AND {which} AND json LIKE '%\"finalizers\"%' ORDER BY name"
    );
    for row in db.rows(sql, args![org.0, names.to_vec()]).await? {
        not_held(&row.text(0)?, &row.text(1)?)?;
    }
    Ok(())
}

/// Refuses an object whose metadata names a finalizer.
pub(crate) fn not_held(name: &str, metadata: &str) -> Result<()> {
    let metadata: serde_json::Value = serde_json::from_str(metadata)?;
    match metadata["finalizers"][0].as_str() {
        None => Ok(()),
        Some(f) => Err(Error::Held { name: name.into(), finalizer: f.into() }),
    }
}

/// Deletes the metadata of removed holdings and returns it by name. One with a finalizer is refused.
pub(crate) async fn forget(
    db: &Db,
    tx: &mut Tx,
    org: OrgId,
    names: Vec<String>,
) -> Result<HashMap<String, String>> {
    let which = db.any("name", 2);
    let sql = format!(
        "DELETE FROM object_metadata WHERE org = $1 AND kind = 'item' AND {which} RETURNING name, json"
    );
    let kept: HashMap<String, String> = tx
        .rows(sql, args![org.0, names])
        .await?
        .iter()
        .map(|r| Ok((r.text(0)?, r.text(1)?)))
        .collect::<Result<_>>()?;
    kept.iter().try_for_each(|(name, metadata)| not_held(name, metadata))?;
    Ok(kept)
}

/// What is kept of removed holdings whose deletions are at consecutive positions from `first`.
pub(crate) fn tombstones_of_items(
    first: LogPosition,
    gone: &[Item],
    metadata: &HashMap<String, String>,
) -> Vec<(LogPosition, String)> {
    let kept = (first.0..).zip(gone).map(|(rv, item)| {
        let metadata = metadata.get(item.name.as_str());
        let metadata = metadata.and_then(|t| serde_json::from_str::<serde_json::Value>(t).ok());
        let json = serde_json::json!({ "added_at": micros(item.added_at), "metadata": metadata });
        (LogPosition(rv), json.to_string())
    });
    kept.collect()
}
