//! Claims as they are stored: lists of them, refused ones, and the blocks that they name.

use super::{ClaimHead, RefusedPrefix, StoredNetworkClaim};
use crate::api::{Error, Result};
use crate::codec::{instant, read_json};
use crate::db::{Cells, Db, args};
use model::ids::{LogPosition, OrgId};
use numbers::prefix::{overlaps, parse};
use numbers::{ClaimStatus, IpNet, RecordState};
use std::collections::BTreeSet;

pub(super) const CLAIM: &str = "org, name, rv, metadata, spec, status, created_at";

pub(super) fn read(r: &Cells) -> Result<StoredNetworkClaim> {
    Ok(StoredNetworkClaim {
        org: OrgId(r.int(0)?),
        name: r.text(1)?,
        rv: LogPosition(r.int(2)?),
        metadata: r.text(3)?,
        spec: read_json(&r.text(4)?)?,
        status: read_json(&r.text(5)?)?,
        created_at: instant(r.int(6)?)?,
    })
}

pub(super) async fn list(db: &Db, org: OrgId, after: &str, limit: u32) -> Result<Vec<StoredNetworkClaim>> {
    let sql =
        format!("SELECT {CLAIM} FROM network_claims WHERE org = $1 AND name > $2 ORDER BY name LIMIT $3");
    db.rows(sql, args![org.0, after, i64::from(limit)]).await?.iter().map(read).collect()
}

/// Exact prefixes of an organisation's refused claims that overlap a prefix, oldest claims first, and whether those are all:
/// at most `limit` claims are read and as many prefixes kept.
pub(super) async fn refused_in(
    db: &Db,
    org: OrgId,
    prefix: &IpNet,
    limit: u32,
) -> Result<(Vec<RefusedPrefix>, bool)> {
    // The index of refused claims, not that of all claims of the organisation.
    let sql = "SELECT name, status FROM network_claims WHERE +org = $1 AND refused = 1 \
               ORDER BY created_at LIMIT $2";
    let (mut found, mut claims, max) = (Vec::new(), 0_u32, limit as usize);
    let mut is_all = true;
    db.each(sql, args![org.0, i64::from(limit)], |r| {
        claims += 1;
        let (claim, status): (String, ClaimStatus) = (r.text(0)?, read_json(&r.text(1)?)?);
        let unavailable = status.address_space.into_iter().filter(|r| r.status == RecordState::Unavailable);
        for record in unavailable {
            let Some(exact) = record.prefix.as_deref().and_then(|p| p.parse().ok()) else { continue };
            if !overlaps(&exact, prefix) {
                continue;
            }
            if found.len() >= max {
                is_all = false;
                break;
            }
            found.push(RefusedPrefix { prefix: exact, claim: claim.clone(), record });
        }
        Ok(())
    })
    .await?;
    Ok((found, is_all && claims < limit))
}

/// Records of refused claims that [`refused`] reads.
const REFUSED_RECORDS: usize = 10_000;

/// Refused claims of an organisation, oldest first, at most `limit` with at most [`REFUSED_RECORDS`] records together; and
/// whether those are all.
pub(super) async fn refused(db: &Db, org: OrgId, limit: u32) -> Result<(Vec<StoredNetworkClaim>, bool)> {
    // The index of refused claims, not that of all claims of the organisation.
    let sql = format!(
        "SELECT {CLAIM} FROM network_claims WHERE +org = $1 AND refused = 1 ORDER BY created_at, name LIMIT $2"
    );
    let (mut found, mut records, mut is_all) = (Vec::new(), 0, true);
    let max = limit as usize;
    db.each(sql, args![org.0, i64::from(limit) + 1], |r| {
        // What is beyond is not even parsed.
        if !is_all || found.len() == max {
            is_all = false;
            return Ok(());
        }
        let claim = read(r)?;
        records += claim.status.address_space.len();
        is_all = records <= REFUSED_RECORDS;
        found.extend(is_all.then_some(claim));
        Ok(())
    })
    .await?;
    Ok((found, is_all))
}

/// The positions of those of these claims that exist, and how many prefixes each holds.
pub(super) async fn heads(db: &Db, org: OrgId, names: &[String]) -> Result<Vec<ClaimHead>> {
    let sql = format!("SELECT name, rv, status FROM network_claims WHERE org = $1 AND {}", db.any("name", 2));
    let mut found = Vec::new();
    db.each(sql, args![org.0, names.to_vec()], |r| {
        let status: ClaimStatus = read_json(&r.text(2)?)?;
        found.push(ClaimHead {
            name: r.text(0)?,
            rv: LogPosition(r.int(1)?),
            prefixes: status.allocated().count(),
        });
        Ok(())
    })
    .await?;
    Ok(found)
}

pub(super) async fn read_one(db: &Db, org: OrgId, name: &str) -> Result<Option<StoredNetworkClaim>> {
    let sql = format!("SELECT {CLAIM} FROM network_claims WHERE org = $1 AND name = $2");
    db.row(sql, args![org.0, name]).await?.as_ref().map(read).transpose()
}

/// The blocks that an organisation lists or its claims take prefixes out of, from the specs of all of them.
pub(super) async fn blocks(db: &Db, org: OrgId) -> Result<BTreeSet<IpNet>> {
    let found = match db {
        Db::Sqlite { .. } => {
            "SELECT DISTINCT json_extract(r.value, '$.from') AS block \
             FROM network_claims, json_each(network_claims.spec, '$.addressSpace') r WHERE org = $1"
        }
        Db::Postgres(_) => {
            "SELECT DISTINCT r ->> 'from' AS block \
             FROM network_claims, jsonb_array_elements(spec::jsonb -> 'addressSpace') r WHERE org = $1"
        }
    };
    let sql = format!(
        "SELECT block FROM ({found}) b WHERE block IS NOT NULL UNION SELECT prefix FROM network_blocks WHERE org = $1"
    );
    let rows = db.rows(sql, args![org.0]).await?;
    let block = |r: &Cells| {
        let text = r.text(0)?;
        parse(&text).map_err(|e| Error::Broken(format!("stored block: {e}")))
    };
    rows.iter().map(block).collect()
}

pub(super) async fn tombstones(db: &Db, positions: &[LogPosition]) -> Result<Vec<(LogPosition, String)>> {
    let mut found = Vec::new();
    for rv in positions {
        if let Some(r) = db.row("SELECT json FROM tombstones WHERE rv = $1", args![rv.0]).await? {
            found.push((*rv, r.text(0)?));
        }
    }
    Ok(found)
}
