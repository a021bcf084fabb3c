//! Blocks of address space that an organisation lists by itself. The index keeps them with those that claims name.

use super::ListedBlock;
use super::space::SpaceCache;
use crate::accounts::Audit;
use crate::accounts::audit::note;
use crate::api::{Error, Result};
use crate::codec::{instant, micros};
use crate::db::{Cells, Db, Tx, args};
use model::ids::OrgId;
use numbers::IpNet;

fn read(r: &Cells) -> Result<ListedBlock> {
    let text = r.text(0)?;
    let prefix = text.parse().map_err(|e| Error::Broken(format!("stored block {text}: {e}")))?;
    Ok(ListedBlock { prefix, description: r.text(1)?, created_at: instant(r.int(2)?)? })
}

/// All of an organisation, by address.
pub(super) async fn list(db: &Db, org: OrgId) -> Result<Vec<ListedBlock>> {
    let sql = "SELECT prefix, description, created_at FROM network_blocks WHERE org = $1";
    let rows = db.rows(sql, args![org.0]).await?;
    let mut all = rows.iter().map(read).collect::<Result<Vec<_>>>()?;
    all.sort_by_key(|b| b.prefix);
    Ok(all)
}

/// Writes one, new or with another description. [`Error::Full`] when it is new and there are `limit`.
pub(super) async fn save(
    db: &Db,
    cache: &SpaceCache,
    block: &ListedBlock,
    limit: u64,
    log: &Audit,
) -> Result<()> {
    changed(db, cache, log, async |tx, org| {
        let others = "SELECT COUNT(*) FROM network_blocks WHERE org = $1 AND prefix <> $2";
        let prefix = block.prefix.to_string();
        let count = tx.row(others, args![org.0, prefix.as_str()]).await?.map_or(Ok(0), |r| r.int(0))?;
        if count.unsigned_abs() >= limit {
            return Err(Error::Full { limit });
        }
        let sql = "INSERT INTO network_blocks (org, prefix, description, created_at) VALUES ($1, $2, $3, $4) \
                   ON CONFLICT (org, prefix) DO UPDATE SET description = excluded.description";
        let values = args![org.0, prefix, block.description.as_str(), micros(block.created_at)];
        tx.execute(sql, values).await.map(drop)
    })
    .await
}

/// Takes one off the list; `NotFound` when it is not there.
pub(super) async fn remove(db: &Db, cache: &SpaceCache, prefix: &IpNet, log: &Audit) -> Result<()> {
    changed(db, cache, log, async |tx, org| {
        let sql = "DELETE FROM network_blocks WHERE org = $1 AND prefix = $2";
        let gone = tx.execute(sql, args![org.0, prefix.to_string()]).await?;
        if gone == 0 { Err(Error::NotFound) } else { Ok(()) }
    })
    .await
}

/// A change of the list with its entry of the audit log. It takes a version of the index, so that every process reads the
/// blocks again.
async fn changed(
    db: &Db,
    cache: &SpaceCache,
    log: &Audit,
    change: impl AsyncFnOnce(&mut Tx, OrgId) -> Result<()>,
) -> Result<()> {
    let mut cached = cache.0.lock().await;
    let mut tx = db.begin().await?;
    let version = SpaceCache::lock_table(&mut tx, &mut cached).await?;
    change(&mut tx, log.org).await?;
    note(&mut tx, Some(log)).await?;
    if let Err(e) = tx.commit().await {
        // Whether it was committed is not known: the index is read again.
        *cached = None;
        return Err(e);
    }
    if let Some(known) = cached.as_mut() {
        known.blocks.remove(&log.org);
        known.version = version;
    }
    Ok(())
}
