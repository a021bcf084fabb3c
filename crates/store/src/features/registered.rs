//! Features that third parties register: rows of their organisation, written under the same compare-and-swap.

use super::{FeatureReportWrite, StoredFeature, logged, wanted};
use crate::accounts::audit;
use crate::api::{Error, Result};
use crate::codec::{json, micros, read_json};
use crate::db::{Db, Tx, args};
use crate::resources::tombstone_rows;
use ::features::{Feature, REGISTERED_MAX, Reported, Stored};
use jiff::Timestamp;
use model::account::Actor;
use model::ids::{LogPosition, OrgId};
use model::scan::Op;

/// A registered feature, kept from other writers until the commit.
async fn held(tx: &mut Tx, db: &Db, org: OrgId, of: (&str, Option<LogPosition>)) -> Result<StoredFeature> {
    let found = super::held(tx, db, org, of).await?;
    if found.feature.registered.is_some() { Ok(found) } else { Err(Error::NotFound) }
}

pub(super) async fn register(
    db: &Db,
    (by, org): (&Actor, OrgId),
    feature: &Feature,
    metadata: &str,
    now: Timestamp,
) -> Result<Option<StoredFeature>> {
    let mut tx = db.begin().await?;
    let sql = "INSERT INTO features (org, name, rv, metadata, json, created_at) VALUES ($1, $2, 0, $3, $4, $5) \
               ON CONFLICT (org, name) DO NOTHING";
    let name = feature.name.as_str();
    if tx.execute(sql, args![org.0, name, metadata, json(feature)?, micros(now)]).await? == 0 {
        return Err(Error::Conflict);
    }
    let line = (name.to_string(), None, Some(format!("{}, {}", feature.since, wanted(feature))));
    audit::append(&mut tx, (org, by, now), "feature.register", &[line]).await?;
    let rv = logged(&mut tx, org, name, Op::Create, now).await?;
    // The log entry holds the head of the log until the commit: of two registrations one counts the other.
    let sql = "SELECT COUNT(*) FROM features WHERE org = $1 AND name LIKE '%.%'";
    let count = tx.row(sql, args![org.0]).await?.map_or(Ok(0), |r| r.int(0))?;
    if usize::try_from(count).unwrap_or(usize::MAX) > REGISTERED_MAX {
        return Ok(None);
    }
    tx.commit().await?;
    let metadata = metadata.to_string();
    Ok(Some(StoredFeature { rv, metadata, feature: feature.clone(), created_at: now }))
}

pub(super) async fn report(
    db: &Db,
    org: OrgId,
    report: &FeatureReportWrite,
    now: Timestamp,
) -> Result<(StoredFeature, Reported)> {
    let mut tx = db.begin().await?;
    let mut stored = held(&mut tx, db, org, (&report.name, report.expected)).await?;
    let (uses, leftovers) = (report.uses.clone(), report.leftovers.clone());
    let reported = stored.feature.report(uses, leftovers, report.is_whole, now);
    if report.dry_run || matches!(reported, Reported::Again | Reported::Refused) {
        return Ok((stored, reported));
    }
    let sql = "UPDATE features SET json = $3 WHERE org = $1 AND name = $2";
    tx.execute(sql, args![org.0, report.name.as_str(), json(&stored.feature)?]).await?;
    // A report that only renews the time gets no entry in the change log, so that watches do not see each of them.
    if reported == Reported::Changed {
        stored.rv = logged(&mut tx, org, &report.name, Op::Update, now).await?;
    }
    tx.commit().await?;
    Ok((stored, reported))
}

/// Carries a feature at a position on, by the reports that are stored now: one that only renews a time changes no position.
pub(super) async fn settle(db: &Db, rv: i64, name: &str, now: Timestamp) -> Result<bool> {
    let mut tx = db.begin().await?;
    // Positions belong to one object of one organisation.
    let sql = format!("SELECT org, json FROM features WHERE name = $1 AND rv = $2{}", db.for_update());
    let Some(row) = tx.row(sql, args![name, rv]).await? else { return Ok(false) };
    let (org, mut feature) = (OrgId(row.int(0)?), read_json::<Feature>(&row.text(1)?)?);
    if !feature.settle(now) {
        return Ok(false);
    }
    let sql = "UPDATE features SET json = $3 WHERE org = $1 AND name = $2";
    tx.execute(sql, args![org.0, name, json(&feature)?]).await?;
    logged(&mut tx, org, name, Op::Update, now).await?;
    tx.commit().await?;
    Ok(true)
}

pub(super) async fn delete(
    db: &Db,
    (by, org): (&Actor, OrgId),
    name: &str,
    expected: LogPosition,
    now: Timestamp,
) -> Result<StoredFeature> {
    let mut tx = db.begin().await?;
    let old = held(&mut tx, db, org, (name, Some(expected))).await?;
    let rv = logged(&mut tx, org, name, Op::Delete, now).await?;
    tx.execute("DELETE FROM features WHERE org = $1 AND name = $2", args![org.0, name]).await?;
    let line = (name.to_string(), Some(old.feature.since.clone()), None);
    audit::append(&mut tx, (org, by, now), "feature.delete", &[line]).await?;
    tombstone_rows(&mut tx, vec![(rv, json(&old)?)]).await?;
    tx.commit().await?;
    Ok(StoredFeature { rv, ..old })
}

pub(super) async fn turning_elsewhere(db: &Db, after: i64, limit: u32) -> Result<Vec<Stored>> {
    let sql = "SELECT rv, json FROM features WHERE org <> $1 AND rv > $2 AND json LIKE '%\"state\":\"Turning%' \
               ORDER BY rv LIMIT $3";
    let rows = db.rows(sql, args![OrgId::BUILT_IN.0, after, i64::from(limit)]).await?;
    rows.iter().map(|r| Ok(Stored { rv: r.int(0)?, feature: read_json(&r.text(1)?)? })).collect()
}
