//! Features and the processes that use them: rows of JSON, written by compare-and-swap on the position of the change log.
//! Features of the installation belong to the built-in organisation.

mod leftovers;
mod registered;

use crate::accounts::audit;
use crate::api::{Error, Result};
use crate::codec::{instant, json, micros, read_json};
use crate::db::{Cells, Db, Tx, args};
use crate::log::{self, FEATURE, Line};
use crate::resources::{differences, metadata_parts};
use crate::store::Database;
use ::features::{
    Declared, Feature, FeatureStore, Left, Process, Reported, ReportedLeft, ReportedUse, StoreError, Stored,
};
use async_trait::async_trait;
use jiff::Timestamp;
use model::account::Actor;
use model::ids::{LogPosition, OrgId};
use model::scan::Op;

/// A feature as the resource API serves it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct StoredFeature {
    /// Position of the newest log entry about it.
    pub rv: LogPosition,
    /// Metadata as JSON text.
    pub metadata: String,
    /// The feature.
    pub feature: Feature,
    /// When it was added.
    pub created_at: Timestamp,
}

/// What a person asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureWrite {
    /// The feature.
    pub name: String,
    /// On, off, or the default.
    pub desired: Option<bool>,
    /// The position it must be at; `None`: any.
    pub expected: Option<LogPosition>,
    /// Metadata as JSON text; `None`: as it is.
    pub metadata: Option<String>,
    /// What a third party declares of its feature; `None`: as it is.
    pub declared: Option<Declared>,
}

/// What a third party reports about its feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureReportWrite {
    /// The feature.
    pub name: String,
    /// Uses of some of its processes, or of all.
    pub uses: Vec<ReportedUse>,
    /// What is left; `None`: as it is.
    pub leftovers: Option<Vec<ReportedLeft>>,
    /// True when `uses` are those of all processes.
    pub is_whole: bool,
    /// The position it must be at; `None`: any.
    pub expected: Option<LogPosition>,
    /// True to check and store nothing.
    pub dry_run: bool,
}

/// Features as people and clients of the API see them.
#[async_trait]
pub trait FeatureRows: FeatureStore {
    /// Features of an organisation after a name, by name, at most `limit`.
    async fn feature_rows(&self, org: OrgId, after: &str, limit: u32) -> Result<Vec<StoredFeature>>;
    /// Changes what is asked for, with an entry of the audit log. `Conflict` when the feature is at another position,
    /// `NotFound` when there is none.
    async fn set_feature(
        &self,
        by: &Actor,
        org: OrgId,
        write: &FeatureWrite,
        now: Timestamp,
    ) -> Result<StoredFeature>;
    /// Adds a feature of a third party, with an entry of the audit log. `Conflict` when there is one of this name; `None`
    /// when the organisation has [`features::REGISTERED_MAX`] already.
    async fn register_feature(
        &self,
        by: &Actor,
        org: OrgId,
        feature: &Feature,
        metadata: &str,
        now: Timestamp,
    ) -> Result<Option<StoredFeature>>;
    /// Takes a report about a registered feature. `Conflict` when it is at another position, `NotFound` when there is none.
    async fn report_feature(
        &self,
        org: OrgId,
        report: &FeatureReportWrite,
        now: Timestamp,
    ) -> Result<(StoredFeature, Reported)>;
    /// Deletes a registered feature at a position, with an entry of the audit log; what it was. `Conflict` when it is at
    /// another position, `NotFound` when there is none.
    async fn delete_feature(
        &self,
        by: &Actor,
        org: OrgId,
        name: &str,
        expected: LogPosition,
        now: Timestamp,
    ) -> Result<StoredFeature>;
}

pub(crate) const COLUMNS: &str = "rv, metadata, json, created_at";

pub(crate) fn read(r: &Cells) -> Result<StoredFeature> {
    Ok(StoredFeature {
        rv: LogPosition(r.int(0)?),
        metadata: r.text(1)?,
        feature: read_json(&r.text(2)?)?,
        created_at: instant(r.int(3)?)?,
    })
}

/// Appends the log entry of a feature and moves the row to its position.
pub(crate) async fn logged(
    tx: &mut Tx,
    org: OrgId,
    name: &str,
    op: Op,
    now: Timestamp,
) -> Result<LogPosition> {
    let line = Line { org, kind: FEATURE, name: Some(name.to_string()), op };
    let rv = log::append(tx, vec![line], now).await?;
    tx.execute("UPDATE features SET rv = $3 WHERE org = $1 AND name = $2", args![org.0, name, rv.0]).await?;
    Ok(rv)
}

#[async_trait]
impl FeatureRows for Database {
    async fn feature_rows(&self, org: OrgId, after: &str, limit: u32) -> Result<Vec<StoredFeature>> {
        let sql =
            format!("SELECT {COLUMNS} FROM features WHERE org = $1 AND name > $2 ORDER BY name LIMIT $3");
        self.db.rows(sql, args![org.0, after, i64::from(limit)]).await?.iter().map(read).collect()
    }

    async fn set_feature(
        &self,
        by: &Actor,
        org: OrgId,
        write: &FeatureWrite,
        now: Timestamp,
    ) -> Result<StoredFeature> {
        let mut tx = self.db.begin().await?;
        let lock = self.db.for_update();
        let sql = format!("SELECT {COLUMNS} FROM features WHERE org = $1 AND name = $2{lock}");
        let row = tx.row(sql, args![org.0, write.name.as_str()]).await?;
        let old = row.as_ref().map(read).transpose()?.ok_or(Error::NotFound)?;
        if write.expected.is_some_and(|rv| rv != old.rv) {
            return Err(Error::Conflict);
        }
        let metadata = write.metadata.clone().unwrap_or_else(|| old.metadata.clone());
        let mut feature = Feature { desired: write.desired, ..old.feature.clone() };
        if let Some(declared) = write.declared.as_ref().filter(|_| feature.registered.is_some()) {
            feature.declare(declared);
        }
        feature.settle(now);
        if feature == old.feature && metadata == old.metadata {
            return Ok(old);
        }
        let sql = "UPDATE features SET metadata = $3, json = $4 WHERE org = $1 AND name = $2";
        tx.execute(sql, args![org.0, write.name.as_str(), metadata.as_str(), json(&feature)?]).await?;
        // A registered feature turns with its default too.
        let (before, after) = (wanted(&old.feature), wanted(&feature));
        if before != after {
            let line = (write.name.clone(), Some(before), Some(after));
            audit::append(&mut tx, (org, by, now), "feature.set", &[line]).await?;
        }
        let (was, is) = differences(&metadata_parts(&old.metadata), &metadata_parts(&metadata));
        if was.is_some() || is.is_some() {
            let line = (write.name.clone(), was, is);
            audit::append(&mut tx, (org, by, now), "feature.change", &[line]).await?;
        }
        let rv = logged(&mut tx, org, &write.name, Op::Update, now).await?;
        tx.commit().await?;
        Ok(StoredFeature { rv, metadata, feature, ..old })
    }

    async fn register_feature(
        &self,
        by: &Actor,
        org: OrgId,
        feature: &Feature,
        metadata: &str,
        now: Timestamp,
    ) -> Result<Option<StoredFeature>> {
        registered::register(&self.db, (by, org), feature, metadata, now).await
    }

    async fn report_feature(
        &self,
        org: OrgId,
        report: &FeatureReportWrite,
        now: Timestamp,
    ) -> Result<(StoredFeature, Reported)> {
        registered::report(&self.db, org, report, now).await
    }

    async fn delete_feature(
        &self,
        by: &Actor,
        org: OrgId,
        name: &str,
        expected: LogPosition,
        now: Timestamp,
    ) -> Result<StoredFeature> {
        registered::delete(&self.db, (by, org), name, expected, now).await
    }
}

/// What is asked for, as the audit log names it.
fn wanted(feature: &Feature) -> String {
    let word = if feature.is_wanted() { "on" } else { "off" };
    if feature.desired.is_some() { word.to_string() } else { format!("default ({word})") }
}

fn failed(e: Error) -> StoreError {
    match e {
        Error::Unavailable(why) => StoreError::Unavailable(why),
        e => StoreError::Unavailable(e.to_string()),
    }
}

#[async_trait]
impl FeatureStore for Database {
    async fn features(&self) -> std::result::Result<Vec<Stored>, StoreError> {
        let rows = self.feature_rows(OrgId::BUILT_IN, "", 10_000).await.map_err(failed)?;
        Ok(rows.into_iter().map(|s| Stored { rv: s.rv.0, feature: s.feature }).collect())
    }

    async fn turning_elsewhere(
        &self,
        after: i64,
        limit: u32,
    ) -> std::result::Result<Vec<Stored>, StoreError> {
        registered::turning_elsewhere(&self.db, after, limit).await.map_err(failed)
    }

    async fn add_feature(&self, feature: &Feature, now: Timestamp) -> std::result::Result<(), StoreError> {
        add(&self.db, feature, now).await.map_err(failed)
    }

    async fn write_feature(
        &self,
        rv: i64,
        feature: &Feature,
        now: Timestamp,
    ) -> std::result::Result<bool, StoreError> {
        swap(&self.db, rv, feature, now).await.map_err(failed)
    }

    async fn forget_feature(&self, name: &str, now: Timestamp) -> std::result::Result<(), StoreError> {
        forget(&self.db, name, now).await.map_err(failed)
    }

    async fn announce(&self, process: &Process) -> std::result::Result<(), StoreError> {
        let text = json(process).map_err(failed)?;
        let sql = "INSERT INTO processes (id, seen_at, json) VALUES ($1, $2, $3) \
                   ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, json = excluded.json";
        let values = args![process.id.as_str(), micros(process.seen_at), text];
        self.db.write(sql, values).await.map(drop).map_err(failed)
    }

    async fn retire(&self, id: Option<&str>, unseen_since: Timestamp) -> std::result::Result<(), StoreError> {
        let sql = "DELETE FROM processes WHERE id = $1 OR seen_at < $2";
        let values = args![id.unwrap_or_default(), micros(unseen_since)];
        self.db.write(sql, values).await.map(drop).map_err(failed)
    }

    async fn processes(&self, since: Timestamp) -> std::result::Result<Vec<Process>, StoreError> {
        let read = async {
            let sql = "SELECT json FROM processes WHERE seen_at > $1 ORDER BY id";
            let rows = self.db.rows(sql, args![micros(since)]).await?;
            rows.iter().map(|r| read_json(&r.text(0)?)).collect::<Result<Vec<_>>>()
        };
        read.await.map_err(failed)
    }

    async fn clean(&self, data: &str, now: Timestamp) -> std::result::Result<u64, StoreError> {
        leftovers::clean(&self.db, data, now).await
    }

    async fn left(&self, data: &str) -> std::result::Result<Left, StoreError> {
        leftovers::left(&self.db, self.key.as_ref(), data).await
    }
}

async fn add(db: &Db, feature: &Feature, now: Timestamp) -> Result<()> {
    let mut tx = db.begin().await?;
    let sql = "INSERT INTO features (org, name, rv, metadata, json, created_at) VALUES ($1, $2, 0, '{}', $3, $4) \
               ON CONFLICT (org, name) DO NOTHING";
    let org = OrgId::BUILT_IN;
    let values = args![org.0, feature.name.as_str(), json(feature)?, micros(now)];
    if tx.execute(sql, values).await? == 1 {
        logged(&mut tx, org, &feature.name, Op::Create, now).await?;
    }
    tx.commit().await
}

async fn swap(db: &Db, rv: i64, feature: &Feature, now: Timestamp) -> Result<bool> {
    let mut tx = db.begin().await?;
    // Positions belong to one object of one organisation.
    let sql = "UPDATE features SET json = $3 WHERE name = $1 AND rv = $2 RETURNING org";
    let row = tx.row(sql, args![feature.name.as_str(), rv, json(feature)?]).await?;
    if let Some(row) = &row {
        logged(&mut tx, OrgId(row.int(0)?), &feature.name, Op::Update, now).await?;
    }
    tx.commit().await?;
    Ok(row.is_some())
}

async fn forget(db: &Db, name: &str, now: Timestamp) -> Result<()> {
    let mut tx = db.begin().await?;
    let org = OrgId::BUILT_IN;
    let sql = "DELETE FROM features WHERE org = $1 AND name = $2";
    if tx.execute(sql, args![org.0, name]).await? == 1 {
        let line = Line { org, kind: FEATURE, name: Some(name.to_string()), op: Op::Delete };
        log::append(&mut tx, vec![line], now).await?;
    }
    tx.commit().await
}
