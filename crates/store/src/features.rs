//! Features and the processes that use them: rows of JSON, written by compare-and-swap on the position of the change log.
//! Features of the installation belong to the built-in organisation.

mod leftovers;
mod lifecycle;
mod registered;
mod remaining;

use crate::accounts::audit;
use crate::api::{Error, Result};
use crate::codec::{instant, json, read_json};
use crate::db::{Cells, Db, Tx, args};
use crate::log::{self, FEATURE, Line};
use crate::resources::{differences, metadata_parts};
use crate::store::Database;
use ::features::{Declared, Feature, FeatureStore, Reported, ReportedRemaining, ReportedUse, Task};
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
    pub leftovers: Option<Vec<ReportedRemaining>>,
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
    /// One feature of an organisation.
    async fn feature_row(&self, org: OrgId, name: &str) -> Result<Option<StoredFeature>>;
    /// Changes what is asked for, with an entry of the audit log. `Conflict` when the feature is at another position,
    /// `NotFound` when there is none.
    async fn set_feature(
        &self,
        by: &Actor,
        org: OrgId,
        write: &FeatureWrite,
        now: Timestamp,
    ) -> Result<StoredFeature>;
    /// Begins to delete what is left of a feature that is off, with these tasks and an entry of the audit log; one that is
    /// not off stays as it is. `Conflict` and `NotFound` as for [`FeatureRows::set_feature`].
    async fn clean_feature(
        &self,
        by: &Actor,
        org: OrgId,
        (name, expected): (&str, Option<LogPosition>),
        tasks: &[Task],
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

/// A feature, at a position or at any, kept from other writers until the commit.
async fn held(
    tx: &mut Tx,
    db: &Db,
    org: OrgId,
    (name, expected): (&str, Option<LogPosition>),
) -> Result<StoredFeature> {
    let lock = db.for_update();
    let sql = format!("SELECT {COLUMNS} FROM features WHERE org = $1 AND name = $2{lock}");
    let row = tx.row(sql, args![org.0, name]).await?;
    let found = row.as_ref().map(read).transpose()?.ok_or(Error::NotFound)?;
    if expected.is_some_and(|rv| rv != found.rv) {
        return Err(Error::Conflict);
    }
    Ok(found)
}

#[async_trait]
impl FeatureRows for Database {
    async fn feature_rows(&self, org: OrgId, after: &str, limit: u32) -> Result<Vec<StoredFeature>> {
        let sql =
            format!("SELECT {COLUMNS} FROM features WHERE org = $1 AND name > $2 ORDER BY name LIMIT $3");
        self.db.rows(sql, args![org.0, after, i64::from(limit)]).await?.iter().map(read).collect()
    }

    async fn feature_row(&self, org: OrgId, name: &str) -> Result<Option<StoredFeature>> {
        let sql = format!("SELECT {COLUMNS} FROM features WHERE org = $1 AND name = $2");
        self.db.row(sql, args![org.0, name]).await?.as_ref().map(read).transpose()
    }

    async fn set_feature(
        &self,
        by: &Actor,
        org: OrgId,
        write: &FeatureWrite,
        now: Timestamp,
    ) -> Result<StoredFeature> {
        let mut tx = self.db.begin().await?;
        let old = held(&mut tx, &self.db, org, (&write.name, write.expected)).await?;
        let metadata = write.metadata.clone().unwrap_or_else(|| old.metadata.clone());
        let mut feature = old.feature.clone();
        feature.set_desired(write.desired, &by.who, now);
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

    async fn clean_feature(
        &self,
        by: &Actor,
        org: OrgId,
        (name, expected): (&str, Option<LogPosition>),
        tasks: &[Task],
        now: Timestamp,
    ) -> Result<StoredFeature> {
        let mut tx = self.db.begin().await?;
        let mut stored = held(&mut tx, &self.db, org, (name, expected)).await?;
        if !stored.feature.clean_up(tasks, now) {
            return Ok(stored);
        }
        let sql = "UPDATE features SET json = $3 WHERE org = $1 AND name = $2";
        tx.execute(sql, args![org.0, name, json(&stored.feature)?]).await?;
        let words: Vec<_> = tasks.iter().map(Task::words).collect();
        let line = (name.to_string(), None, Some(words.join(", ")));
        audit::append(&mut tx, (org, by, now), "feature.clean", &[line]).await?;
        stored.rv = logged(&mut tx, org, name, Op::Update, now).await?;
        tx.commit().await?;
        Ok(stored)
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
