//! The index of allocated prefixes: in memory, brought forward from the table by version, so that an allocation reads
//! what changed since the last one and not all there is.

use super::{StoredCover, StoredRegistry, StoredSurvey};
use crate::api::{Error, Result};
use crate::codec::instant;
use crate::db::{Cells, Db, Tx, args};
use jiff::Timestamp;
use model::ids::OrgId;
use numbers::prefix::overlaps;
use numbers::{Holder, Holding, IpNet, Policy, Reference, Space, SpaceView};
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use tokio::sync::Mutex;

/// The index and the version of the table it stands for.
#[derive(Default)]
pub(crate) struct Cached {
    pub(crate) version: i64,
    pub(crate) space: Space,
    /// Claims by organisation, of those that were counted since another process last changed the table.
    pub(crate) claims: HashMap<OrgId, u64>,
    /// The blocks that claims of an organisation take prefixes out of, where they were read since then.
    pub(crate) blocks: HashMap<OrgId, BTreeSet<IpNet>>,
}

/// The index of one process. Allocations hold it, so that they wait here rather than for the database.
#[derive(Default)]
pub(crate) struct SpaceCache(pub(crate) Mutex<Option<Cached>>);

/// Blocks of an organisation that are kept in memory; those of one that has more are read each time.
const BLOCKS_KEPT: usize = 10_000;

const COLUMNS: &str =
    "org, claim, prefix, reference_group, reference_resource, description, since, released_at, released_by";

struct Row {
    holding: Holding,
    released: Option<(Timestamp, Option<String>)>,
}

fn read(r: &Cells) -> Result<Row> {
    let text = r.text(2)?;
    let prefix = text.parse().map_err(|e| Error::Broken(format!("stored prefix {text}: {e}")))?;
    Ok(Row {
        holding: Holding {
            prefix,
            holder: Holder {
                tenant: r.int(0)?,
                claim: r.text(1)?,
                reference: Reference { group: r.text(3)?, resource: r.text(4)? },
                description: r.text(5)?,
                since: instant(r.int(6)?)?,
            },
        },
        released: match r.int_or_null(7)? {
            Some(at) => Some((instant(at)?, r.text_or_null(8)?)),
            None => None,
        },
    })
}

impl Cached {
    /// Applies changed rows in the order of their versions.
    fn apply(&mut self, rows: &[Cells]) -> Result<()> {
        self.claims.clear();
        self.blocks.clear();
        for cells in rows {
            let Row { holding, released } = read(cells)?;
            self.space.remove(&holding.prefix, holding.holder.tenant, &holding.holder.claim);
            if released.is_none() {
                self.space.insert(holding);
            }
        }
        Ok(())
    }
}

impl SpaceCache {
    /// Takes the table's lock and brings the index to the state before this transaction; the version that the
    /// transaction's own changes get. The caller applies them and sets the version once they are committed.
    pub(crate) async fn lock_table(tx: &mut Tx, cached: &mut Option<Cached>) -> Result<i64> {
        let version = tx
            .row("UPDATE space_head SET version = version + 1 WHERE id = 1 RETURNING version", args![])
            .await?
            .ok_or_else(|| Error::Broken("the head of the address space is missing".into()))?
            .int(0)?;
        let known = cached.get_or_insert_with(|| Cached { version: -1, ..Cached::default() });
        // Another change of the table committed before this transaction got the lock.
        if known.version != version - 1 {
            let rows = tx.rows(changed_since(known.version), args![known.version]).await?;
            known.apply(&rows)?;
            known.version = version - 1;
        }
        Ok(version)
    }
}

fn changed_since(version: i64) -> String {
    // From nothing, what was released need not be read.
    let only = if version < 0 { " AND released_at IS NULL" } else { "" };
    format!("SELECT {COLUMNS} FROM prefixes WHERE version > $1{only} ORDER BY version, id")
}

/// Brings the index to what is committed, without a lock on the table.
async fn refresh<'a>(db: &Db, cached: &'a mut Option<Cached>) -> Result<&'a Cached> {
    let known = cached.get_or_insert_with(|| Cached { version: -1, ..Cached::default() });
    let version = version(db).await?;
    if known.version != version {
        // Rows newer than that version may be among them; they are applied again later, which changes nothing.
        let rows = db.rows(changed_since(known.version), args![known.version]).await?;
        known.apply(&rows)?;
        known.version = version;
    }
    Ok(known)
}

async fn version(db: &Db) -> Result<i64> {
    db.row("SELECT version FROM space_head WHERE id = 1", args![])
        .await?
        .ok_or_else(|| Error::Broken("the head of the address space is missing".into()))?
        .int(0)
}

/// A copy of the index as it is committed, to be read without the lock: allocations wait for no reader.
async fn snapshot(db: &Db, cache: &SpaceCache) -> Result<Space> {
    let mut cached = cache.0.lock().await;
    Ok(refresh(db, &mut cached).await?.space.clone())
}

/// What an organisation may know of the address space, how many claims it has, and the blocks that they name.
pub(super) async fn registry(
    db: &Db,
    cache: &SpaceCache,
    org: OrgId,
    policy: &Policy,
    blocks_max: u32,
) -> Result<StoredRegistry> {
    let blocks = blocks(db, cache, org, blocks_max).await?;
    let mut cached = cache.0.lock().await;
    let space = refresh(db, &mut cached).await?.space.clone();
    let claims = match cached.as_ref().and_then(|c| c.claims.get(&org)) {
        Some(known) => *known,
        None => {
            let row = db.row("SELECT COUNT(*) FROM network_claims WHERE org = $1", args![org.0]).await?;
            let counted = row.map_or(Ok(0), |r| r.int(0))?.unsigned_abs();
            cached.as_mut().map(|c| c.claims.insert(org, counted));
            counted
        }
    };
    Ok(StoredRegistry { view: SpaceView::new(space, org.0, policy.clone()), claims, blocks })
}

pub(super) async fn covering(
    db: &Db,
    cache: &SpaceCache,
    org: OrgId,
    addresses: &[IpAddr],
) -> Result<Vec<Option<StoredCover>>> {
    let space = snapshot(db, cache).await?;
    let mut found: Vec<Option<StoredCover>> =
        addresses.iter().map(|a| space.covering(org.0, *a).map(|h| cover(h, None))).collect();
    let mut ancestors: HashMap<String, Vec<usize>> = HashMap::new();
    for (i, address) in addresses.iter().enumerate().filter(|(i, _)| found[*i].is_none()) {
        let host = numbers::prefix::host(*address);
        for len in 0..=host.max_prefix_len() {
            if let Ok(net) = IpNet::new(*address, len) {
                ancestors.entry(net.trunc().to_string()).or_default().push(i);
            }
        }
    }
    if ancestors.is_empty() {
        return Ok(found);
    }
    let texts: Vec<String> = ancestors.keys().cloned().collect();
    let sql = format!(
        "SELECT {COLUMNS} FROM prefixes WHERE org = $1 AND released_at IS NOT NULL AND {}",
        db.any("prefix", 2)
    );
    for cells in db.rows(sql, args![org.0, texts]).await? {
        let Row { holding, released } = read(&cells)?;
        let at = released.as_ref().map(|(at, _)| *at);
        for i in ancestors.get(&holding.prefix.to_string()).into_iter().flatten() {
            if found[*i].as_ref().is_none_or(|f| f.released_at < at) {
                found[*i] = Some(cover(&holding, released.clone()));
            }
        }
    }
    Ok(found)
}

/// The blocks of an organisation's claims. They are in the specs of all its claims, which are read once and not for each page
/// that places an address.
pub(super) async fn blocks(db: &Db, cache: &SpaceCache, org: OrgId, limit: u32) -> Result<Vec<IpNet>> {
    let mut cached = cache.0.lock().await;
    refresh(db, &mut cached).await?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if let Some(known) = cached.as_ref().and_then(|c| c.blocks.get(&org)) {
        return Ok(known.iter().take(limit).copied().collect());
    }
    let found = super::listed::blocks(db, org).await?;
    let first = found.iter().take(limit).copied().collect();
    if let Some(cached) = cached.as_mut()
        && found.len() <= BLOCKS_KEPT
    {
        cached.blocks.insert(org, found);
    }
    Ok(first)
}

/// Refused claims and released prefixes that a survey reads.
const SURVEYED: u32 = 1_000;

pub(super) async fn survey(
    db: &Db,
    cache: &SpaceCache,
    org: OrgId,
    prefix: &IpNet,
    policy: &Policy,
    limit: usize,
) -> Result<StoredSurvey> {
    let (refused, is_all) = super::listed::refused_in(db, org, prefix, SURVEYED).await?;
    let mut released = released(db, org, SURVEYED).await?;
    let is_partial = !is_all || released.len() == SURVEYED as usize;
    let space = snapshot(db, cache).await?;
    released.retain(|r| overlaps(&r.prefix, prefix) && !space.is_held(org.0, &r.prefix));
    Ok(StoredSurvey { survey: space.survey(org.0, prefix, policy, limit), refused, released, is_partial })
}

fn cover(h: &Holding, released: Option<(Timestamp, Option<String>)>) -> StoredCover {
    let (released_at, released_by) = released.map_or((None, None), |(at, by)| (Some(at), by));
    StoredCover {
        prefix: h.prefix,
        claim: h.holder.claim.clone(),
        reference: h.holder.reference.clone(),
        since: h.holder.since,
        released_at,
        released_by: released_by.filter(|by| !by.is_empty()),
    }
}

pub(super) async fn released(db: &Db, org: OrgId, limit: u32) -> Result<Vec<StoredCover>> {
    // The newest release of each prefix that is not held again: of one that comes and goes, the others would fill the limit.
    let sql = format!(
        "SELECT {COLUMNS} FROM prefixes p WHERE org = $1 AND released_at IS NOT NULL \
         AND prefix NOT IN (SELECT h.prefix FROM prefixes h WHERE h.org = $1 AND h.released_at IS NULL) \
         AND NOT EXISTS (SELECT 1 FROM prefixes q WHERE q.org = p.org AND q.prefix = p.prefix AND q.released_at IS NOT NULL \
         AND (q.released_at > p.released_at OR (q.released_at = p.released_at AND q.id > p.id))) \
         ORDER BY released_at DESC, id DESC LIMIT $2"
    );
    let rows = db.rows(sql, args![org.0, i64::from(limit)]).await?;
    rows.iter().map(|r| read(r).map(|row| cover(&row.holding, row.released))).collect()
}
