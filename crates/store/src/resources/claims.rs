//! Claims: each write decides about the claim in the transaction that stores it, under the one lock of the address space.

use super::audited::noted;
use super::domains::not_held;
use super::listed::{CLAIM, read};
use super::retry::retry_refused;
use super::space::{Cached, SpaceCache};
use super::{NetworkClaimWrite, StoredNetworkClaim, held};
use crate::api::{Error, Result};
use crate::codec::{json, micros};
use crate::db::{Arg, Db, Tx, args};
use crate::items::By;
use crate::log::{self, Line};
use jiff::Timestamp;
use model::account::Actor;
use model::ids::{LogPosition, OrgId};
use model::scan::Op;
use numbers::prefix::parse;
use numbers::{AddressRecord, ClaimStatus, Holder, Holding, IpNet, Policy};

async fn read_in(tx: &mut Tx, org: OrgId, name: &str) -> Result<Option<StoredNetworkClaim>> {
    let sql = format!("SELECT {CLAIM} FROM network_claims WHERE org = $1 AND name = $2");
    tx.row(sql, args![org.0, name]).await?.as_ref().map(read).transpose()
}

/// Changes of a transaction that the index gets once they are committed.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) released: Vec<(IpNet, OrgId, String)>,
    /// Who releases them.
    by: String,
    allocated: Vec<Holding>,
    lines: Vec<Line>,
    /// The organisation, and by how many its number of claims changes.
    counted: Option<(OrgId, i64)>,
    /// The blocks of a claim that is new.
    new_blocks: Vec<IpNet>,
    /// Claims whose rows get the positions of `lines`, in the same order; `None` for a deletion.
    pub(super) claims: Vec<Option<(OrgId, String)>>,
}

pub(super) async fn write(
    db: &Db,
    cache: &SpaceCache,
    by: &Actor,
    write: &NetworkClaimWrite,
    now: Timestamp,
) -> Result<StoredNetworkClaim> {
    let mut cached = cache.0.lock().await;
    let mut tx = db.begin().await?;
    let version = SpaceCache::lock_table(&mut tx, &mut cached).await?;
    let before = read_in(&mut tx, write.org, &write.name).await?;
    if before.as_ref().map(|b| b.rv) != write.expected {
        return Err(if before.is_none() { Error::NotFound } else { Error::Conflict });
    }
    if before.is_none() && count(&mut tx, known(&mut cached)?, write.org).await? >= write.limit {
        return Err(Error::Full { limit: write.limit });
    }
    let old = before.as_ref().map(|b| b.status.clone()).unwrap_or_default();
    let mut claim = StoredNetworkClaim {
        org: write.org,
        name: write.name.clone(),
        rv: LogPosition(0),
        metadata: write.metadata.clone(),
        spec: write.spec.clone(),
        status: decide(known(&mut cached)?, &write.policy, write, &old, now),
        created_at: before.as_ref().map_or(now, |b| b.created_at),
    };
    if write.dry_run {
        claim.rv = write.expected.unwrap_or_default();
        return Ok(claim);
    }
    let counted = Some((write.org, i64::from(before.is_none())));
    let requests = write.spec.address_space.iter();
    let new_blocks = requests.filter_map(|r| parse(r.from.as_deref()?).ok()).collect();
    let mut changes = Changes { counted, new_blocks, by: by.who.clone(), ..Changes::default() };
    let op = if before.is_some() { Op::Update } else { Op::Create };
    store(&mut tx, &claim, &old, op, version, &mut changes, now).await?;
    if !changes.released.is_empty() {
        retry_refused(&mut tx, known(&mut cached)?, &write.policy, version, &mut changes, now).await?;
    }
    let action = if before.is_some() { "network.change" } else { "network.claim" };
    noted(&mut tx, &By { actor: by, org: write.org, now }, action, (before.as_ref(), Some(&claim))).await?;
    claim.rv = commit(tx, &mut cached, version, changes, now).await?;
    Ok(claim)
}

pub(super) async fn delete(
    db: &Db,
    cache: &SpaceCache,
    by: &By<'_>,
    (name, expected): (&str, Option<LogPosition>),
    policy: &Policy,
) -> Result<StoredNetworkClaim> {
    let (org, now) = (by.org, by.now);
    let mut cached = cache.0.lock().await;
    let mut tx = db.begin().await?;
    let version = SpaceCache::lock_table(&mut tx, &mut cached).await?;
    let mut claim = read_in(&mut tx, org, name).await?.ok_or(Error::NotFound)?;
    if expected.is_some_and(|e| e != claim.rv) {
        return Err(Error::Conflict);
    }
    not_held(name, &claim.metadata)?;
    tx.execute("DELETE FROM network_claims WHERE org = $1 AND name = $2", args![org.0, name]).await?;
    let mut changes = Changes { counted: Some((org, -1)), by: by.actor.who.clone(), ..Changes::default() };
    for (prefix, _) in held(&claim.status) {
        release(&mut tx, &claim, prefix, (version, &changes.by), now).await?;
        changes.released.push((prefix, org, name.to_string()));
    }
    changes.lines.push(Line { org, kind: log::CLAIM, name: Some(name.to_string()), op: Op::Delete });
    changes.claims.push(None);
    let kept = serde_json::json!({
        "metadata": serde_json::from_str::<serde_json::Value>(&claim.metadata)?,
        "spec": claim.spec, "status": claim.status, "created_at": claim.created_at,
    });
    retry_refused(&mut tx, known(&mut cached)?, policy, version, &mut changes, now).await?;
    noted(&mut tx, by, "network.release", (Some(&claim), None)).await?;
    // The deletion is the first line, so its position is known before it is appended only by being first.
    let position = commit_with(tx, &mut cached, version, changes, now, Some(kept.to_string())).await?;
    claim.rv = position;
    Ok(claim)
}

/// How many claims an organisation has. Counted in the table once and then kept with the index, so that a claim among many
/// does not cost a look at all of them.
async fn count(tx: &mut Tx, cached: &mut Cached, org: OrgId) -> Result<u64> {
    if let Some(known) = cached.claims.get(&org) {
        return Ok(*known);
    }
    let row = tx.row("SELECT COUNT(*) FROM network_claims WHERE org = $1", args![org.0]).await?;
    let counted = row.map_or(Ok(0), |r| r.int(0))?.unsigned_abs();
    cached.claims.insert(org, counted);
    Ok(counted)
}

fn known(cached: &mut Option<Cached>) -> Result<&mut Cached> {
    cached.as_mut().ok_or_else(|| Error::Broken("the index of the address space is missing".into()))
}

/// The decision about a claim, whose own prefixes are out of the way meanwhile.
pub(super) fn decide(
    cached: &mut Cached,
    policy: &Policy,
    write: &NetworkClaimWrite,
    old: &ClaimStatus,
    now: Timestamp,
) -> ClaimStatus {
    let mut own = Vec::new();
    for (prefix, _) in held(old) {
        let holding = cached.space.holding(write.org.0, &prefix);
        own.extend(holding.filter(|h| h.holder.claim == write.name).cloned());
        cached.space.remove(&prefix, write.org.0, &write.name);
    }
    let claimant = (write.org.0, write.name.as_str());
    let status = numbers::allocate(&cached.space, policy, claimant, &write.spec, old, now);
    own.into_iter().for_each(|h| cached.space.insert(h));
    status
}

/// Writes a claim's row and what its decision changes in the table of prefixes.
pub(super) async fn store(
    tx: &mut Tx,
    claim: &StoredNetworkClaim,
    old: &ClaimStatus,
    op: Op,
    version: i64,
    changes: &mut Changes,
    now: Timestamp,
) -> Result<()> {
    let values = args![
        claim.org.0,
        claim.name.as_str(),
        claim.metadata.as_str(),
        json(&claim.spec)?,
        json(&claim.status)?,
        !claim.status.is_allocated(),
        micros(claim.created_at),
    ];
    tx.execute(
        "INSERT INTO network_claims (org, name, rv, metadata, spec, status, refused, created_at) \
         VALUES ($1, $2, 0, $3, $4, $5, $6, $7) ON CONFLICT (org, name) DO UPDATE SET \
         metadata = excluded.metadata, spec = excluded.spec, status = excluded.status, refused = excluded.refused",
        values,
    )
    .await?;
    let (was, is) = (held(old), held(&claim.status));
    let stays = |p: &IpNet, list: &[(IpNet, AddressRecord)]| list.iter().any(|(q, _)| q == p);
    for (prefix, _) in was.iter().filter(|(p, _)| !stays(p, &is)) {
        release(tx, claim, *prefix, (version, &changes.by), now).await?;
        changes.released.push((*prefix, claim.org, claim.name.clone()));
    }
    let mut new = Vec::new();
    for (prefix, record) in &is {
        let holding = holding(claim, *prefix, record);
        let same = was.iter().any(|(p, r)| p == prefix && r == record);
        if same {
            continue;
        }
        if stays(prefix, &was) {
            tx.execute(
                "UPDATE prefixes SET reference_group = $4, reference_resource = $5, description = $6, version = $7 \
                 WHERE org = $1 AND claim = $2 AND prefix = $3 AND released_at IS NULL",
                args![
                    claim.org.0,
                    claim.name.as_str(),
                    prefix.to_string(),
                    record.reference.group.as_str(),
                    record.reference.resource.as_str(),
                    record.description.as_str(),
                    version,
                ],
            )
            .await?;
        } else {
            new.push(holding.clone());
        }
        changes.allocated.push(holding);
    }
    insert(tx, &new, version).await?;
    changes.lines.push(Line { org: claim.org, kind: log::CLAIM, name: Some(claim.name.clone()), op });
    changes.claims.push(Some((claim.org, claim.name.clone())));
    Ok(())
}

pub(super) fn holding(claim: &StoredNetworkClaim, prefix: IpNet, record: &AddressRecord) -> Holding {
    Holding {
        prefix,
        holder: Holder {
            tenant: claim.org.0,
            claim: claim.name.clone(),
            reference: record.reference.clone(),
            description: record.description.clone(),
            since: record.date,
        },
    }
}

async fn insert(tx: &mut Tx, new: &[Holding], version: i64) -> Result<()> {
    if new.is_empty() {
        return Ok(());
    }
    let n = i64::try_from(new.len()).unwrap_or(i64::MAX);
    let last = tx
        .row("UPDATE space_head SET last_id = last_id + $1 WHERE id = 1 RETURNING last_id", args![n])
        .await?
        .ok_or_else(|| Error::Broken("the head of the address space is missing".into()))?
        .int(0)?;
    let rows = (last - n + 1..).zip(new).map(|(id, h)| {
        args![
            id,
            h.holder.tenant,
            h.holder.claim.as_str(),
            h.prefix.to_string(),
            h.holder.reference.group.as_str(),
            h.holder.reference.resource.as_str(),
            h.holder.description.as_str(),
            micros(h.holder.since),
            version,
        ]
    });
    let head = "INSERT INTO prefixes (id, org, claim, prefix, reference_group, reference_resource, description, since, version)";
    tx.insert(head, rows.collect(), "").await.map(drop)
}

async fn release(
    tx: &mut Tx,
    claim: &StoredNetworkClaim,
    prefix: IpNet,
    (version, by): (i64, &str),
    now: Timestamp,
) -> Result<()> {
    tx.execute(
        "UPDATE prefixes SET released_at = $4, version = $5, released_by = $6 \
         WHERE org = $1 AND claim = $2 AND prefix = $3 AND released_at IS NULL",
        args![claim.org.0, claim.name.as_str(), prefix.to_string(), micros(now), version, by],
    )
    .await
    .map(drop)
}

/// Brings an index to the state after these changes.
pub(super) fn apply(cached: &mut Cached, changes: &Changes) {
    for (prefix, org, claim) in &changes.released {
        cached.space.remove(prefix, org.0, claim);
    }
    for holding in &changes.allocated {
        cached.space.remove(&holding.prefix, holding.holder.tenant, &holding.holder.claim);
        cached.space.insert(holding.clone());
    }
}

/// Brings the number of claims and the blocks of an organisation to the state after these changes.
fn count_changed(cached: &mut Cached, changes: &Changes) {
    let Some((org, by)) = changes.counted else { return };
    if let Some(claims) = cached.claims.get_mut(&org) {
        *claims = claims.saturating_add_signed(by);
    }
    match (by, cached.blocks.get_mut(&org)) {
        (1, Some(blocks)) => blocks.extend(&changes.new_blocks),
        // What a claim no longer asks for may be asked for by others.
        _ => drop(cached.blocks.remove(&org)),
    }
}

async fn commit(
    tx: Tx,
    cached: &mut Option<Cached>,
    version: i64,
    changes: Changes,
    now: Timestamp,
) -> Result<LogPosition> {
    commit_with(tx, cached, version, changes, now, None).await
}

/// Appends the log entries, commits, and brings the index forward; the position of the first entry.
async fn commit_with(
    mut tx: Tx,
    cached: &mut Option<Cached>,
    version: i64,
    mut changes: Changes,
    now: Timestamp,
    tombstone: Option<String>,
) -> Result<LogPosition> {
    let first = log::append(&mut tx, std::mem::take(&mut changes.lines), now).await?;
    for (rv, claim) in (first.0..).zip(&changes.claims) {
        let Some((org, name)) = claim else { continue };
        let sql = "UPDATE network_claims SET rv = $3 WHERE org = $1 AND name = $2";
        tx.execute(sql, args![org.0, name.as_str(), rv]).await?;
    }
    if let Some(kept) = tombstone {
        tombstone_rows(&mut tx, vec![(first, kept)]).await?;
    }
    if let Err(e) = tx.commit().await {
        // Whether it was committed is not known: the index is read again.
        *cached = None;
        return Err(e);
    }
    if let Some(known) = cached {
        apply(known, &changes);
        count_changed(known, &changes);
        known.version = version;
    }
    Ok(first)
}

/// Writes what is kept of deleted objects.
pub(crate) async fn tombstone_rows(tx: &mut Tx, kept: Vec<(LogPosition, String)>) -> Result<()> {
    let rows: Vec<Vec<Arg>> = kept.into_iter().map(|(rv, text)| args![rv.0, text]).collect();
    tx.insert("INSERT INTO tombstones (rv, json)", rows, "").await.map(drop)
}
