//! The store over either database: every method of the contract, handed to the module that knows it.

use crate::api::{Job, NewItem, Record, Result, Store, Versioned};
use crate::db::{Db, args};
use crate::index::{Indexes, Plan};
use crate::{budgets, events, history, items, jobs, log, record, upkeep};
use async_trait::async_trait;
use jiff::Timestamp;
use model::detail::{RawAnswer, Snapshot, SnapshotMeta};
use model::event::{EventPage, EventQuery};
use model::ids::{EventId, OrgId, Rv, SnapshotId, Vantage};
use model::inventory::{ListQuery, Page, Row, Summary};
use model::item::{Item, ItemPatch};
use model::names::DomainName;
use model::scan::LogEntry;
use std::collections::HashMap;
use std::time::Duration;

/// A database and the list indexes made of it.
pub(crate) struct Database {
    pub(crate) db: Db,
    pub(crate) indexes: Indexes,
}

impl Database {
    /// A page, and whether all its rows were there: one may be removed between the index's answer and the reading.
    async fn page(&self, org: OrgId, query: &ListQuery, now: Timestamp) -> Result<(Page, bool)> {
        let plan = Plan::new(query, now);
        let (found, rv) = self.indexes.ask(&self.db, org, move |entries| plan.run(entries)).await?;
        let mut read: HashMap<String, Row> = items::rows(&self.db, org, found.names.clone())
            .await?
            .into_iter()
            .map(|r| (r.name.as_str().to_string(), r))
            .collect();
        let rows: Vec<Row> = found.names.iter().filter_map(|n| read.remove(n)).collect();
        let complete = rows.len() == found.names.len();
        let per_page = query.per_page.clamp(1, ListQuery::MAX_PER_PAGE);
        Ok((
            Page { rows, total: found.total, page: found.page, per_page, facets: found.facets, rv },
            complete,
        ))
    }
}

#[async_trait]
impl Store for Database {
    async fn list(&self, org: OrgId, query: &ListQuery, now: Timestamp) -> Result<Page> {
        // A row removed between the index's answer and the reading of rows: ask again, but not for ever.
        for _ in 0..3 {
            if let (page, true) = self.page(org, query, now).await? {
                return Ok(page);
            }
        }
        Ok(self.page(org, query, now).await?.0)
    }

    async fn names(
        &self,
        org: OrgId,
        query: &ListQuery,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<DomainName>> {
        let plan = Plan::new(query, now);
        let ask = move |e: &_| plan.names(e, limit as usize);
        let (names, _) = self.indexes.ask(&self.db, org, ask).await?;
        Ok(names.iter().map(|n| DomainName::trusted(n)).collect())
    }

    async fn summary(&self, org: OrgId, now: Timestamp) -> Result<Summary> {
        let plan = Plan::new(&ListQuery::default(), now);
        let (summary, _) = self.indexes.ask(&self.db, org, move |e| plan.summary(e)).await?;
        Ok(Summary { open_events: events::open(&self.db, org).await?, ..summary })
    }

    async fn item(&self, org: OrgId, name: &DomainName) -> Result<Option<(Item, Row)>> {
        items::item(&self.db, org, name).await
    }

    async fn add(&self, org: OrgId, items: &[NewItem], now: Timestamp) -> Result<Vec<bool>> {
        items::add(&self.db, org, items, now).await
    }

    async fn take(&self, org: OrgId, names: &[DomainName], now: Timestamp) -> Result<Vec<Item>> {
        items::take(&self.db, org, names, now).await
    }

    async fn restore(&self, org: OrgId, items: &[Item], now: Timestamp) -> Result<Vec<bool>> {
        items::restore(&self.db, org, items, now).await
    }

    async fn patch(&self, org: OrgId, name: &DomainName, patch: &ItemPatch, now: Timestamp) -> Result<Item> {
        items::patch(&self.db, org, name, patch, now).await
    }

    async fn holders(&self, name: &DomainName) -> Result<Vec<Item>> {
        items::holders(&self.db, name).await
    }

    async fn due_for_judgement(&self, now: Timestamp, limit: u32) -> Result<Vec<Item>> {
        items::due_for_judgement(&self.db, now, limit).await
    }

    async fn update_judged(&self, judged: &[(Item, Row)], now: Timestamp) -> Result<()> {
        items::update_judged(&self.db, judged, now).await
    }

    async fn observation(&self, name: &DomainName, vantage: &Vantage) -> Result<Option<Versioned>> {
        history::observation(&self.db, name, vantage).await
    }

    async fn record(&self, record: &Record) -> Result<Rv> {
        record::record(&self.db, record).await
    }

    async fn snapshots(&self, org: OrgId, name: &DomainName, limit: u32) -> Result<Vec<SnapshotMeta>> {
        history::snapshots(&self.db, org, name, limit).await
    }

    async fn counts(&self, org: OrgId, name: &DomainName) -> Result<(u64, u64)> {
        history::counts(&self.db, org, name).await
    }

    async fn snapshot(&self, org: OrgId, name: &DomainName, id: SnapshotId) -> Result<Snapshot> {
        history::snapshot(&self.db, org, name, id).await
    }

    async fn raw(&self, org: OrgId, name: &DomainName, id: SnapshotId) -> Result<Vec<RawAnswer>> {
        history::raw(&self.db, org, name, id).await
    }

    async fn events(&self, org: OrgId, query: &EventQuery) -> Result<EventPage> {
        events::events(&self.db, org, query).await
    }

    async fn acknowledge(&self, org: OrgId, ids: &[EventId], by: &str, now: Timestamp) -> Result<u64> {
        events::acknowledge(&self.db, org, ids, by, now).await
    }

    async fn log_since(&self, org: Option<OrgId>, rv: Rv, limit: u32) -> Result<Vec<LogEntry>> {
        log::since(&self.db, org, rv, limit).await
    }

    async fn head(&self) -> Result<Rv> {
        Ok(log::ends(&self.db).await?.0)
    }

    async fn floor(&self) -> Result<Rv> {
        Ok(log::ends(&self.db).await?.1)
    }

    async fn enqueue(&self, kind: &str, key: &str, run_at: Timestamp, priority: i32) -> Result<()> {
        jobs::enqueue_many(&self.db, kind, &[(key.to_string(), run_at)], priority).await
    }

    async fn enqueue_many(&self, kind: &str, keys: &[(String, Timestamp)], priority: i32) -> Result<()> {
        jobs::enqueue_many(&self.db, kind, keys, priority).await
    }

    async fn lease(
        &self,
        kind: &str,
        worker: &str,
        limit: u32,
        lease: Duration,
        now: Timestamp,
    ) -> Result<Vec<Job>> {
        jobs::lease(&self.db, kind, worker, limit, lease, now).await
    }

    async fn complete(&self, job: &Job, again_at: Option<Timestamp>, _now: Timestamp) -> Result<()> {
        jobs::complete(&self.db, job, again_at).await
    }

    async fn due_after(&self, kind: &str, after: Timestamp, limit: u32) -> Result<Vec<String>> {
        jobs::due_after(&self.db, kind, after, limit).await
    }

    async fn draw_back(&self, kind: &str, after: Timestamp, times: &[(String, Timestamp)]) -> Result<u64> {
        jobs::draw_back(&self.db, kind, after, times).await
    }

    async fn queue_lag(&self, kind: &str, now: Timestamp) -> Result<(u64, f64)> {
        jobs::queue_lag(&self.db, kind, now).await
    }

    async fn budget(&self, host: &str) -> Result<Option<(i64, String)>> {
        budgets::load(&self.db, host).await
    }

    async fn swap_budget(
        &self,
        host: &str,
        expected: Option<i64>,
        state: &str,
        now: Timestamp,
    ) -> Result<Option<i64>> {
        budgets::swap(&self.db, host, expected, state, now).await
    }

    async fn setting(&self, org: OrgId, key: &str) -> Result<Option<String>> {
        upkeep::setting(&self.db, org, key).await
    }

    async fn first_setting(&self, org: OrgId, key: &str, value: &str, now: Timestamp) -> Result<String> {
        upkeep::first_setting(&self.db, org, key, value, now).await
    }

    async fn set_setting(&self, org: OrgId, key: &str, value: &str, now: Timestamp) -> Result<()> {
        upkeep::set_setting(&self.db, org, key, value, now).await
    }

    async fn prune(&self, now: Timestamp, keep_days: u32) -> Result<u64> {
        upkeep::prune(&self.db, now, keep_days).await
    }

    async fn ping(&self) -> Result<()> {
        self.db.row("SELECT head FROM log_head WHERE id = 1", args![]).await.map(|_| ())
    }
}
