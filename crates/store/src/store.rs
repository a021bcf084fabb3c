//! The store over either database: every method of the contract, handed to the module that knows it.

use crate::accounts::Audit;
use crate::api::{
    ItemOutcome, LogRead, NewItem, Record, ReportedFault, Result, ScanGrounds, Store, Versioned,
};
use crate::db::{Db, args};
use crate::index::{Indexes, Plan};
use crate::items::By;
use crate::job::{Job, JobKind, JobState, LeasedJob, Priority, QueueStats};
use crate::jobs::Completer;
use crate::record::Recorder;
use crate::resources::SpaceCache;
use crate::retry::Retry;
use crate::seal::SecretKey;
use crate::services::{self, VersionedService};
use crate::{
    budgets, checks, events, history, items, jobs, log, outbox, own_faults, stored, templates, upkeep,
};
use async_trait::async_trait;
use jiff::Timestamp;
use model::account::Actor;
use model::checks::Checks;
use model::configure::{ConnectLink, StoredService, StoredTemplate};
use model::detail::{RawAnswer, Snapshot, SnapshotMeta};
use model::event::{Change, EventPage, EventQuery};
use model::health::OwnFault;
use model::ids::{EventId, LogPosition, OrgId, SnapshotId, Vantage};
use model::inventory::{ListQuery, Page, Row, Summary};
use model::item::{Item, ItemPatch};
use model::names::DomainName;
use std::collections::{BTreeMap, HashMap};

/// A database and the list indexes made of it.
pub(crate) struct Database {
    pub(crate) db: Db,
    pub(crate) indexes: Indexes,
    pub(crate) space: SpaceCache,
    pub(crate) recorder: Recorder,
    pub(crate) completer: Completer,
    /// Encrypts what is secret; `None` on PostgreSQL without the setting.
    pub(crate) key: Option<SecretKey>,
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

    async fn add_service(&self, org: OrgId, service: &StoredService, now: Timestamp) -> Result<()> {
        services::add(&self.db, org, service, now).await
    }

    async fn services(&self, org: OrgId, name: &DomainName) -> Result<Vec<VersionedService>> {
        services::of_domain(&self.db, org, name).await
    }

    async fn service(&self, id: &str) -> Result<Option<VersionedService>> {
        services::by_id(&self.db, id).await
    }

    async fn record_service(
        &self,
        before: &VersionedService,
        after: &StoredService,
        change: Option<&Change>,
        now: Timestamp,
    ) -> Result<()> {
        services::record(&self.db, before, after, change, now).await
    }

    async fn remove_service(&self, org: OrgId, name: &DomainName, id: &str, now: Timestamp) -> Result<bool> {
        services::remove(&self.db, org, name, id, now).await
    }

    async fn templates(&self, org: OrgId) -> Result<Vec<StoredTemplate>> {
        templates::list(&self.db, org).await
    }

    async fn save_template(&self, org: OrgId, template: &StoredTemplate, log: &Audit) -> Result<()> {
        templates::save(&self.db, org, template, log).await
    }

    async fn delete_template(&self, org: OrgId, key: &str, log: &Audit) -> Result<bool> {
        templates::delete(&self.db, org, key, log).await
    }

    async fn put_connect_link(&self, org: OrgId, token_hash: &str, link: &ConnectLink) -> Result<()> {
        services::put_link(&self.db, org, token_hash, link).await
    }

    async fn connect_link(&self, token_hash: &str) -> Result<Option<(OrgId, ConnectLink)>> {
        services::link(&self.db, token_hash).await
    }

    async fn item(&self, org: OrgId, name: &DomainName) -> Result<Option<(Item, Row)>> {
        items::item(&self.db, org, name).await
    }

    async fn held(&self, org: OrgId, names: &[DomainName]) -> Result<Vec<DomainName>> {
        items::held(&self.db, org, names).await
    }

    async fn holdings(&self, org: OrgId, names: &[DomainName]) -> Result<Vec<(Item, Row)>> {
        items::holdings(&self.db, org, names).await
    }

    async fn add_by(
        &self,
        actor: &Actor,
        org: OrgId,
        items: &[NewItem],
        now: Timestamp,
    ) -> Result<Vec<bool>> {
        items::add(&self.db, &By { actor, org, now }, items).await
    }

    async fn delete_returning_by(
        &self,
        actor: &Actor,
        org: OrgId,
        names: &[DomainName],
        now: Timestamp,
    ) -> Result<Vec<Item>> {
        items::delete_returning(&self.db, &By { actor, org, now }, names, None).await
    }

    async fn restore_by(
        &self,
        actor: &Actor,
        org: OrgId,
        items: &[Item],
        now: Timestamp,
    ) -> Result<Vec<bool>> {
        items::restore(&self.db, &By { actor, org, now }, items).await
    }

    async fn patch_by(
        &self,
        actor: &Actor,
        org: OrgId,
        name: &DomainName,
        patch: &ItemPatch,
        now: Timestamp,
    ) -> Result<Item> {
        items::patch(&self.db, &By { actor, org, now }, name, patch).await
    }

    async fn scan_grounds(&self, name: &DomainName) -> Result<ScanGrounds> {
        items::scan_grounds(&self.db, name).await
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

    async fn amend_observation(&self, amended: &Versioned) -> Result<bool> {
        history::amend_observation(&self.db, amended).await
    }

    async fn record(&self, record: &Record) -> Result<LogPosition> {
        self.recorder.record(record).await
    }

    async fn snapshots(&self, org: OrgId, name: &DomainName, limit: u32) -> Result<Vec<SnapshotMeta>> {
        history::snapshots(&self.db, org, name, limit).await
    }

    async fn counts(&self, org: OrgId, name: &DomainName) -> Result<(u64, u64)> {
        history::counts(&self.db, org, name).await
    }

    async fn snapshot(&self, org: OrgId, name: &DomainName, id: SnapshotId) -> Result<Snapshot> {
        stored::snapshot(&self.db, org, name, id).await
    }

    async fn raw(&self, org: OrgId, name: &DomainName, id: SnapshotId) -> Result<Vec<RawAnswer>> {
        stored::raw(&self.db, org, name, id).await
    }

    async fn events_counted(&self, org: OrgId, query: &EventQuery) -> Result<EventPage> {
        events::counted(&self.db, org, query).await
    }

    async fn events(&self, org: OrgId, query: &EventQuery) -> Result<EventPage> {
        events::events(&self.db, org, query).await
    }

    async fn acknowledge_by(
        &self,
        actor: &Actor,
        org: OrgId,
        ids: &[EventId],
        now: Timestamp,
    ) -> Result<u64> {
        events::acknowledge(&self.db, &By { actor, org, now }, ids).await
    }

    async fn acknowledge_matching(
        &self,
        actor: &Actor,
        org: OrgId,
        (query, up_to): (&EventQuery, Option<EventId>),
        now: Timestamp,
    ) -> Result<u64> {
        events::acknowledge_matching(&self.db, &By { actor, org, now }, query, up_to).await
    }

    async fn log_since(&self, org: Option<OrgId>, after: LogPosition, limit: u32) -> Result<LogRead> {
        log::since(&self.db, org, after, limit).await
    }

    async fn head(&self) -> Result<LogPosition> {
        Ok(log::ends(&self.db).await?.0)
    }

    async fn enqueue(&self, jobs: &[(Job, Timestamp)], priority: Priority) -> Result<()> {
        jobs::enqueue(&self.db, jobs, priority).await
    }

    async fn lease(&self, kind: JobKind, worker: &str, limit: u32, now: Timestamp) -> Result<Vec<LeasedJob>> {
        jobs::lease(&self.db, kind, worker, limit, now).await
    }

    async fn complete(
        &self,
        job: &LeasedJob,
        next: Option<Timestamp>,
        outcome: Option<String>,
        now: Timestamp,
    ) -> Result<()> {
        self.completer.complete(job.clone(), next, outcome, now).await
    }

    async fn fail(&self, job: &LeasedJob, reason: &str, now: Timestamp) -> Result<Retry> {
        jobs::fail(&self.db, job, reason, now).await
    }

    async fn release(&self, job: &LeasedJob, now: Timestamp) -> Result<()> {
        jobs::release(&self.db, job, now).await
    }

    async fn release_lost(&self, now: Timestamp) -> Result<u64> {
        Ok(jobs::release_lost(&self.db, now).await? + outbox::release_lost(&self.db, now).await?)
    }

    async fn job_states(&self, kind: JobKind, keys: Vec<String>) -> Result<Vec<JobState>> {
        jobs::states(&self.db, kind, keys).await
    }

    async fn active_jobs(&self, kind: JobKind, limit: u32) -> Result<Vec<JobState>> {
        jobs::active(&self.db, kind, limit).await
    }

    async fn parked_jobs(&self, kind: JobKind, limit: u32) -> Result<Vec<JobState>> {
        jobs::parked(&self.db, kind, limit).await
    }

    async fn far_future_jobs(&self, kind: JobKind, after: Timestamp, limit: u32) -> Result<Vec<Job>> {
        jobs::far_future(&self.db, kind, after, limit).await
    }

    async fn reschedule_far_future(&self, after: Timestamp, times: &[(Job, Timestamp)]) -> Result<u64> {
        jobs::reschedule_far_future(&self.db, after, times).await
    }

    async fn queue_stats(&self, kind: JobKind, now: Timestamp) -> Result<QueueStats> {
        jobs::stats(&self.db, kind, now).await
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

    async fn report_own_faults(
        &self,
        process: &str,
        faults: &[OwnFault],
        now: Timestamp,
        forget: Timestamp,
    ) -> Result<()> {
        own_faults::report(&self.db, process, faults, (now, forget)).await
    }

    async fn own_faults(&self, since: Timestamp) -> Result<Vec<ReportedFault>> {
        own_faults::list(&self.db, since).await
    }

    async fn checks(&self, org: OrgId) -> Result<Checks> {
        checks::of(&self.db, org).await
    }

    async fn checks_of(&self, orgs: &[OrgId]) -> Result<BTreeMap<OrgId, Checks>> {
        checks::of_each(&self.db, orgs).await
    }

    async fn set_checks(&self, org: OrgId, said: &Checks, log: &Audit) -> Result<()> {
        checks::set(&self.db, org, said, log).await
    }

    async fn judge_all_again(&self, now: Timestamp) -> Result<u64> {
        checks::judge_all_again(&self.db, now).await
    }

    async fn longest_interval(&self) -> Result<Option<i64>> {
        checks::longest_interval(&self.db).await
    }

    async fn record_reminder(&self, before: &Item, outcome: &ItemOutcome, now: Timestamp) -> Result<bool> {
        items::record_reminder(&self.db, before, outcome, now).await
    }

    async fn prune_log(&self, now: Timestamp, keep_days: u32) -> Result<u64> {
        upkeep::prune_log(&self.db, now, keep_days).await
    }

    async fn prune(&self, now: Timestamp, keep_days: u32) -> Result<u64> {
        upkeep::prune(&self.db, now, keep_days).await
    }

    async fn backup(&self, to: &std::path::Path) -> Result<()> {
        upkeep::backup(&self.db, to).await
    }

    async fn ping(&self) -> Result<()> {
        self.db.row("SELECT head FROM log_head WHERE id = 1", args![]).await.map(|_| ())
    }
}
