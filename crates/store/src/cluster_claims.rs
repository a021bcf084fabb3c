//! Claims about the installation. Whatever changes its identity, its set or the members of the set locks the claim of the
//! identity first, so that joining, renaming and leaving follow each other.

use crate::accounts::audit;
use crate::api::{Error, Result};
use crate::codec::{instant, json, micros};
use crate::db::{Cells, Db, Tx, args};
use crate::fleet::{ClaimsUsed, ClusterClaimWrite, IdentityRule, StoredClusterClaim, agents_in};
use crate::log::{self, CLUSTER_CLAIM, Line};
use crate::resources::{differences, metadata_parts, tombstone_rows};
use ::fleet::{CLAIMS_MAX, CLUSTERSET_CLAIM, ID_CLAIM, VALUE_MAX};
use jiff::Timestamp;
use model::account::Actor;
use model::ids::{LogPosition, OrgId};
use model::scan::Op;

const CLAIM: &str = "name, rv, metadata, value, created_at";

fn read_claim(r: &Cells) -> Result<StoredClusterClaim> {
    Ok(StoredClusterClaim {
        name: r.text(0)?,
        rv: LogPosition(r.int(1)?),
        metadata: r.text(2)?,
        value: r.text(3)?,
        created_at: instant(r.int(4)?)?,
    })
}

async fn claim_in(tx: &mut Tx, name: &str) -> Result<Option<StoredClusterClaim>> {
    let sql = format!("SELECT {CLAIM} FROM cluster_claims WHERE name = $1");
    tx.row(sql, args![name]).await?.as_ref().map(read_claim).transpose()
}

/// The identity of the installation and the set it is a member of, inside a transaction.
pub(crate) async fn origin(tx: &mut Tx) -> Result<(Option<String>, Option<String>)> {
    let sql = "SELECT name, value FROM cluster_claims WHERE name IN ($1, $2)";
    let rows = tx.rows(sql, args![ID_CLAIM, CLUSTERSET_CLAIM]).await?;
    let mut origin = (None, None);
    for r in rows {
        let is_id = r.text(0)? == ID_CLAIM;
        *(if is_id { &mut origin.0 } else { &mut origin.1 }) = Some(r.text(1)?);
    }
    Ok(origin)
}

/// The same, locked until the transaction ends.
pub(crate) async fn lock_identity(tx: &mut Tx, db: &Db) -> Result<Option<String>> {
    let sql = format!("SELECT value FROM cluster_claims WHERE name = $1{}", db.for_update());
    tx.row(sql, args![ID_CLAIM]).await?.map(|r| r.text(0)).transpose()
}

/// Whether the installation is a member of a set.
pub(crate) async fn is_member(tx: &mut Tx) -> Result<bool> {
    let sql = "SELECT name FROM cluster_claims WHERE name = $1";
    Ok(tx.row(sql, args![CLUSTERSET_CLAIM]).await?.is_some())
}

async fn logged(tx: &mut Tx, name: &str, op: Op, now: Timestamp) -> Result<LogPosition> {
    let line = Line { org: OrgId::BUILT_IN, kind: CLUSTER_CLAIM, name: Some(name.to_string()), op };
    let rv = log::append(tx, vec![line], now).await?;
    tx.execute("UPDATE cluster_claims SET rv = $2 WHERE name = $1", args![name, rv.0]).await?;
    Ok(rv)
}

/// Claims after a name, by name.
pub(crate) async fn list(db: &Db, after: &str, limit: u32) -> Result<Vec<StoredClusterClaim>> {
    let sql = format!("SELECT {CLAIM} FROM cluster_claims WHERE name > $1 ORDER BY name LIMIT $2");
    db.rows(sql, args![after, i64::from(limit)]).await?.iter().map(read_claim).collect()
}

/// The claim with a name.
pub(crate) async fn one(db: &Db, name: &str) -> Result<Option<StoredClusterClaim>> {
    let sql = format!("SELECT {CLAIM} FROM cluster_claims WHERE name = $1");
    db.row(sql, args![name]).await?.as_ref().map(read_claim).transpose()
}

fn used_sql(db: &Db) -> String {
    let octets = match db {
        Db::Sqlite { .. } => "LENGTH(CAST(value AS BLOB))",
        Db::Postgres(_) => "OCTET_LENGTH(value)",
    };
    format!("SELECT COUNT(*), COALESCE(SUM({octets}), 0) FROM cluster_claims WHERE name NOT IN ($1, $2, $3)")
}

fn read_used(row: Option<&Cells>) -> Result<ClaimsUsed> {
    let Some(r) = row else { return Ok(ClaimsUsed::default()) };
    Ok(ClaimsUsed { count: r.int(0)?.unsigned_abs(), octets: r.int(1)?.unsigned_abs() })
}

/// What the claims other than the two of identity take.
pub(crate) async fn used(db: &Db) -> Result<ClaimsUsed> {
    let row = db.row(used_sql(db), args![ID_CLAIM, CLUSTERSET_CLAIM, ""]).await?;
    read_used(row.as_ref())
}

/// The rule that forbids to write a claim, if one does. The identity is locked.
async fn forbidden(
    tx: &mut Tx,
    db: &Db,
    write: &ClusterClaimWrite,
    old: Option<&StoredClusterClaim>,
) -> Result<Option<IdentityRule>> {
    let changed = old.is_some_and(|o| o.value != write.value);
    Ok(match write.name.as_str() {
        ID_CLAIM if changed && is_member(tx).await? => Some(IdentityRule::IsMember),
        CLUSTERSET_CLAIM if changed => {
            Some(agents_in(tx).await?).filter(|n| *n > 0).map(IdentityRule::HasAgents)
        }
        ID_CLAIM | CLUSTERSET_CLAIM => None,
        name => {
            let row = tx.row(used_sql(db), args![ID_CLAIM, CLUSTERSET_CLAIM, name]).await?;
            let others = read_used(row.as_ref())?;
            let octets = others.octets + write.value.len() as u64;
            // What is too large since an earlier version may become smaller.
            let grows = old.is_none_or(|o| write.value.len() > o.value.len());
            if old.is_none() && others.count >= CLAIMS_MAX {
                Some(IdentityRule::TooMany(CLAIMS_MAX))
            } else if grows && octets > VALUE_MAX as u64 {
                Some(IdentityRule::TooLarge(octets))
            } else {
                None
            }
        }
    })
}

/// Writes a claim, unless a rule forbids it.
pub(crate) async fn write(
    db: &Db,
    by: &Actor,
    write: &ClusterClaimWrite,
    now: Timestamp,
) -> Result<std::result::Result<StoredClusterClaim, IdentityRule>> {
    let mut tx = db.begin().await?;
    let name = write.name.as_str();
    lock_identity(&mut tx, db).await?;
    let old = claim_in(&mut tx, name).await?;
    if old.as_ref().map(|o| o.rv) != write.expected {
        return Err(if old.is_none() { Error::NotFound } else { Error::Conflict });
    }
    if let Some(rule) = forbidden(&mut tx, db, write, old.as_ref()).await? {
        return Ok(Err(rule));
    }
    let created_at = old.as_ref().map_or(now, |o| o.created_at);
    let (metadata, value) = (write.metadata.clone(), write.value.clone());
    let mut claim = StoredClusterClaim { name: name.into(), rv: LogPosition(0), metadata, value, created_at };
    if write.dry_run {
        claim.rv = old.map_or(claim.rv, |o| o.rv);
        return Ok(Ok(claim));
    }
    // Two first starts at once have no row to lock: one of them adds it.
    let sql = match old {
        None => {
            "INSERT INTO cluster_claims (name, rv, metadata, value, created_at) VALUES ($1, 0, $2, $3, $4) \
             ON CONFLICT (name) DO NOTHING"
        }
        Some(_) => "UPDATE cluster_claims SET metadata = $2, value = $3, created_at = $4 WHERE name = $1",
    };
    let values = args![name, claim.metadata.as_str(), claim.value.as_str(), micros(created_at)];
    if tx.execute(sql, values).await? != 1 {
        return Err(Error::Conflict);
    }
    let op = if old.is_some() { Op::Update } else { Op::Create };
    let mut lines = Vec::new();
    if old.as_ref().is_none_or(|o| o.value != claim.value) {
        lines.push((name.to_string(), old.as_ref().map(|o| o.value.clone()), Some(claim.value.clone())));
    }
    let before = old.map(|o| metadata_parts(&o.metadata)).unwrap_or_default();
    let (was, is) = differences(&before, &metadata_parts(&claim.metadata));
    if was.is_some() || is.is_some() {
        lines.push((name.to_string(), was, is));
    }
    audit::append(&mut tx, (OrgId::BUILT_IN, by, now), "cluster.claim", &lines).await?;
    claim.rv = logged(&mut tx, name, op, now).await?;
    tx.commit().await?;
    Ok(Ok(claim))
}

/// Deletes a claim, unless a rule forbids it.
pub(crate) async fn delete(
    db: &Db,
    by: &Actor,
    (name, expected): (&str, Option<LogPosition>),
    now: Timestamp,
) -> Result<std::result::Result<StoredClusterClaim, IdentityRule>> {
    let mut tx = db.begin().await?;
    let gone = delete_in(&mut tx, db, by, (name, expected), now).await?;
    if gone.is_ok() {
        tx.commit().await?;
    }
    Ok(gone)
}

/// The same, within a transaction.
pub(crate) async fn delete_in(
    tx: &mut Tx,
    db: &Db,
    by: &Actor,
    (name, expected): (&str, Option<LogPosition>),
    now: Timestamp,
) -> Result<std::result::Result<StoredClusterClaim, IdentityRule>> {
    lock_identity(tx, db).await?;
    let Some(old) = claim_in(tx, name).await? else {
        return Err(Error::NotFound);
    };
    if expected.is_some_and(|rv| rv != old.rv) {
        return Err(Error::Conflict);
    }
    if name == ID_CLAIM {
        return Ok(Err(IdentityRule::IsRequired));
    }
    let members = if name == CLUSTERSET_CLAIM { agents_in(tx).await? } else { 0 };
    if members > 0 {
        return Ok(Err(IdentityRule::HasAgents(members)));
    }
    tx.execute("DELETE FROM cluster_claims WHERE name = $1", args![name]).await?;
    let line = (name.to_string(), Some(old.value.clone()), None);
    audit::append(tx, (OrgId::BUILT_IN, by, now), "cluster.claim", &[line]).await?;
    let rv = logged(tx, name, Op::Delete, now).await?;
    tombstone_rows(tx, vec![(rv, json(&old)?)]).await?;
    Ok(Ok(StoredClusterClaim { rv, ..old }))
}
