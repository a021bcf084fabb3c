//! What the runner of the lifecycle reads and writes.

use super::{FeatureRows, leftovers, logged, registered, remaining};
use crate::api::{Error, Result};
use crate::codec::{json, micros, read_json};
use crate::db::{Db, args};
use crate::log::{self, FEATURE, Line};
use crate::store::Database;
use ::features::{Feature, FeatureStore, Process, Remaining, StoreError, Stored};
use async_trait::async_trait;
use jiff::Timestamp;
use model::ids::OrgId;
use model::scan::Op;

pub(super) fn failed(e: Error) -> StoreError {
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

    async fn settle_feature(
        &self,
        rv: i64,
        name: &str,
        now: Timestamp,
    ) -> std::result::Result<bool, StoreError> {
        registered::settle(&self.db, rv, name, now).await.map_err(failed)
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

    async fn clean(
        &self,
        of: (&str, i64),
        data: &str,
        now: Timestamp,
    ) -> std::result::Result<u64, StoreError> {
        leftovers::clean(&self.db, of, data, now).await
    }

    async fn remaining(&self, data: &str) -> std::result::Result<Remaining, StoreError> {
        remaining::remaining(&self.db, self.key.as_ref(), data).await
    }

    async fn has_remaining(&self, data: &str) -> std::result::Result<bool, StoreError> {
        remaining::has_remaining(&self.db, self.key.as_ref(), data).await
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
    let (org, name) = (OrgId::BUILT_IN, feature.name.as_str());
    let mut tx = db.begin().await?;
    let sql = "UPDATE features SET json = $4 WHERE org = $1 AND name = $2 AND rv = $3";
    let is_written = tx.execute(sql, args![org.0, name, rv, json(feature)?]).await? == 1;
    if is_written {
        logged(&mut tx, org, name, Op::Update, now).await?;
    }
    tx.commit().await?;
    Ok(is_written)
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
