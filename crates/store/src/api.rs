//! The contract of the store: the trait and the types that only it and its callers need.

use crate::accounts::Audit;
use crate::job::{Job, JobKind, JobState, LeasedJob, Priority, QueueStats};
pub use crate::own_faults::ReportedFault;
use crate::retry::Retry;
use crate::services::VersionedService;
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
use model::item::{Item, ItemPatch, Ownership};
use model::names::DomainName;
use model::observation::Observation;
use model::scan::LogEntry;
use std::collections::BTreeMap;

/// Errors of the store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another worker recorded the same name meanwhile: read again, compare again, record again.
    #[error("the stored observation changed meanwhile")]
    Conflict,
    /// Not found in this organisation.
    #[error("not found")]
    NotFound,
    /// The object is deleted once its finalizers are taken out; nothing was deleted.
    #[error("{name} has the finalizer {finalizer}")]
    Held {
        /// The object.
        name: String,
        /// The first of its finalizers.
        finalizer: String,
    },
    /// The organisation has as many of these objects as it may; nothing was written.
    #[error("the quota of {limit} is used up")]
    Full {
        /// Most objects.
        limit: u64,
    },
    /// The database can't be reached or is busy: try again later.
    #[error("the database is not available: {0}")]
    Unavailable(String),
    /// A stored value can't be read, or the database rejected a statement: a bug or a damaged file.
    #[error("database error: {0}")]
    Broken(String),
}

impl Error {
    /// Stable word for metrics.
    pub fn label(&self) -> &'static str {
        match self {
            Error::Conflict => "conflict",
            Error::NotFound => "not_found",
            Error::Held { .. } => "held",
            Error::Full { .. } => "full",
            Error::Unavailable(_) => "unavailable",
            Error::Broken(_) => "broken",
        }
    }
}

/// Days that entries of the change log are kept, or as long as history is when that is shorter: every scan of every
/// holding writes one. A reader that was away longer reads the whole state again ([`LogRead::ReadAnew`]); events are kept as long as
/// history, and their identity is their position in the log.
pub const LOG_KEEP_DAYS: u32 = 1;

/// Result of a store call.
pub type Result<T> = std::result::Result<T, Error>;

/// A holding to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewItem {
    /// The name.
    pub name: DomainName,
    /// The name as people read it (U-labels).
    pub unicode: String,
    /// Owned or watched.
    pub ownership: Ownership,
    /// Tags.
    pub tags: Vec<String>,
    /// Free text.
    pub note: String,
}

/// The stored observation of a name with the version that a later [`Store::record`] must still find.
#[derive(Debug, Clone, PartialEq)]
pub struct Versioned {
    /// Increases with every record; 0 means nothing was stored yet.
    pub version: i64,
    /// What is stored.
    pub observation: Observation,
}

/// What a scan is made for, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanGrounds {
    /// The holdings of the name in all organisations, each with what its organisation says of checks.
    pub holdings: Vec<(Item, Checks)>,
    /// The id of this installation.
    pub cluster: Option<String>,
    /// The set that it is a member of.
    pub clusterset: Option<String>,
}

/// What a scan means for one organisation that holds the name.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemOutcome {
    /// The holding with its newly judged status, `last_change_at`, `was_delegated` and `next_scan_at`.
    pub item: Item,
    /// The table row that shows it.
    pub row: Row,
    /// Changes that become events of this organisation, in order.
    pub changes: Vec<Change>,
}

/// All that one scan writes; it becomes visible at once or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Version the comparison was made against; another one found means [`Error::Conflict`] and nothing written.
    pub expected_version: i64,
    /// The new state of the shared observation.
    pub observation: Observation,
    /// True when the state differs from the stored one in more than times and latencies: a snapshot is kept.
    pub snapshot: Option<Vec<String>>,
    /// Raw answers; kept with the snapshot, or replacing those of the newest snapshot when none is made.
    pub raw: Vec<RawAnswer>,
    /// One entry for every organisation that holds the name.
    pub outcomes: Vec<ItemOutcome>,
    /// When.
    pub at: Timestamp,
}

/// What a reader of the change log gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogRead {
    /// The entries after its position, in order.
    Entries(Vec<LogEntry>),
    /// Entries after its position were pruned, or its position is none of this log: what it knows may be wrong. It
    /// reads the whole state again and goes on from the head.
    ReadAnew,
}

/// The store. Every method is safe to call from many tasks and, on PostgreSQL, from many processes.
#[async_trait]
pub trait Store:
    crate::accounts::AccountStore
    + crate::alerts::AlertStore
    + crate::claims::ClaimStore
    + crate::features::FeatureRows
    + crate::fleet::FleetStore
    + crate::resources::ResourceStore
{
    // ---- holdings ------------------------------------------------------------------------------
    /// A page of an organisation's inventory with facet counts.
    async fn list(&self, org: OrgId, query: &ListQuery, now: Timestamp) -> Result<Page>;
    /// Names of all rows a query matches, sorted by name, at most `limit`: for bulk work. Paging is ignored.
    async fn names(
        &self,
        org: OrgId,
        query: &ListQuery,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<DomainName>>;
    /// The strip above the inventory.
    async fn summary(&self, org: OrgId, now: Timestamp) -> Result<Summary>;
    /// One holding with its row.
    async fn item(&self, org: OrgId, name: &DomainName) -> Result<Option<(Item, Row)>>;
    /// Which of these names the organisation holds, in no order.
    async fn held(&self, org: OrgId, names: &[DomainName]) -> Result<Vec<DomainName>>;
    /// Holdings of these names with their rows, in no order; those not held are left out.
    async fn holdings(&self, org: OrgId, names: &[DomainName]) -> Result<Vec<(Item, Row)>>;
    /// Adds holdings; the answer says for each whether it was new. A scan is queued for each new one.
    /// Long lists are written in parts, so that other writers are not blocked; a name that is held already is skipped.
    async fn add(&self, org: OrgId, items: &[NewItem], now: Timestamp) -> Result<Vec<bool>> {
        self.add_by(&Actor::system(), org, items, now).await
    }
    /// [`Store::add`], with an entry of the audit log for each.
    async fn add_by(&self, by: &Actor, org: OrgId, items: &[NewItem], now: Timestamp) -> Result<Vec<bool>>;
    /// Removes holdings (tombstones in the log), or none of them when one has a finalizer ([`Error::Held`]); the answer says
    /// how many there were. The events stay readable until pruned; the shared observation stays while anybody holds the name.
    async fn remove(&self, org: OrgId, names: &[DomainName], now: Timestamp) -> Result<u64> {
        Ok(self.delete_returning(org, names, now).await?.len() as u64)
    }
    /// Removes holdings and returns them as they were, so that [`Store::restore`] can undo it.
    async fn delete_returning(&self, org: OrgId, names: &[DomainName], now: Timestamp) -> Result<Vec<Item>> {
        self.delete_returning_by(&Actor::system(), org, names, now).await
    }
    /// [`Store::delete_returning`], with an entry of the audit log for each.
    async fn delete_returning_by(
        &self,
        by: &Actor,
        org: OrgId,
        names: &[DomainName],
        now: Timestamp,
    ) -> Result<Vec<Item>>;
    /// Puts holdings back with all that was said and known of them; the answer says for each whether it was put back
    /// (one that is held again meanwhile stays as it is). They are scanned as those just added are; the caller judges
    /// them and passes status and row on with [`Store::update_judged`].
    async fn restore(&self, org: OrgId, items: &[Item], now: Timestamp) -> Result<Vec<bool>> {
        self.restore_by(&Actor::system(), org, items, now).await
    }
    /// [`Store::restore`], with an entry of the audit log for each.
    async fn restore_by(&self, by: &Actor, org: OrgId, items: &[Item], now: Timestamp) -> Result<Vec<bool>>;
    /// Changes what the organisation says about a holding. The caller judges again and passes status and row on
    /// with [`Store::update_judged`].
    async fn patch(&self, org: OrgId, name: &DomainName, patch: &ItemPatch, now: Timestamp) -> Result<Item> {
        self.patch_by(&Actor::system(), org, name, patch, now).await
    }
    /// [`Store::patch`], with an entry of the audit log: the changed fields, old and new.
    async fn patch_by(
        &self,
        by: &Actor,
        org: OrgId,
        name: &DomainName,
        patch: &ItemPatch,
        now: Timestamp,
    ) -> Result<Item>;
    /// Holdings of a name in all organisations with what else a scan needs, in one exchange with the database: for the
    /// scan only, never shown.
    async fn scan_grounds(&self, name: &DomainName) -> Result<ScanGrounds>;
    /// Holdings whose status must be judged again by `now`, soonest first.
    async fn due_for_judgement(&self, now: Timestamp, limit: u32) -> Result<Vec<Item>>;
    /// Writes newly judged statuses and rows; a log entry only where something shown differs.
    async fn update_judged(&self, judged: &[(Item, Row)], now: Timestamp) -> Result<()>;

    // ---- observations and history --------------------------------------------------------------
    /// The stored observation of a name from a vantage.
    async fn observation(&self, name: &DomainName, vantage: &Vantage) -> Result<Option<Versioned>>;
    /// Writes an observation in place of the one with the same version; false when it was written meanwhile. Nothing else
    /// changes: neither history nor log nor the holdings.
    async fn amend_observation(&self, amended: &Versioned) -> Result<bool>;
    /// Writes a scan: observation, snapshot, raw answers, items, events and log entries in one transaction.
    async fn record(&self, record: &Record) -> Result<LogPosition>;
    /// Kept states of a name, newest first. Only for organisations that hold the name.
    async fn snapshots(&self, org: OrgId, name: &DomainName, limit: u32) -> Result<Vec<SnapshotMeta>>;
    /// How many states and events are kept of a holding.
    async fn counts(&self, org: OrgId, name: &DomainName) -> Result<(u64, u64)>;
    /// One kept state of a name the organisation holds.
    async fn snapshot(&self, org: OrgId, name: &DomainName, id: SnapshotId) -> Result<Snapshot>;
    /// Raw answers of a kept state.
    async fn raw(&self, org: OrgId, name: &DomainName, id: SnapshotId) -> Result<Vec<RawAnswer>>;

    // ---- events and the change log -------------------------------------------------------------
    /// A page of the event log, newest first.
    async fn events(&self, org: OrgId, query: &EventQuery) -> Result<EventPage>;
    /// The same with counts for the filters, unless too many events match to count them for a page.
    async fn events_counted(&self, org: OrgId, query: &EventQuery) -> Result<EventPage>;
    /// Marks events as seen; those already acknowledged keep their first mark.
    async fn acknowledge(&self, org: OrgId, ids: &[EventId], by: &str, now: Timestamp) -> Result<u64> {
        self.acknowledge_by(&Actor { who: by.into(), ..Actor::system() }, org, ids, now).await
    }
    /// [`Store::acknowledge`], with an entry of the audit log.
    async fn acknowledge_by(&self, by: &Actor, org: OrgId, ids: &[EventId], now: Timestamp) -> Result<u64>;
    /// Acknowledges the newest 10,000 events that match a query, none newer than the given one, with one entry of the audit
    /// log; how many.
    async fn acknowledge_matching(
        &self,
        by: &Actor,
        org: OrgId,
        what: (&EventQuery, Option<EventId>),
        now: Timestamp,
    ) -> Result<u64>;
    /// Log entries after a position, at most `limit`; all organisations when `org` is `None`.
    async fn log_since(&self, org: Option<OrgId>, after: LogPosition, limit: u32) -> Result<LogRead>;
    /// The newest position in the log.
    async fn head(&self) -> Result<LogPosition>;

    // ---- jobs ----------------------------------------------------------------------------------
    /// Queues jobs. One that waits already keeps the earlier time and the higher priority; one that runs is run again
    /// afterwards; one that is parked is tried again.
    async fn enqueue(&self, jobs: &[(Job, Timestamp)], priority: Priority) -> Result<()>;
    /// Takes due jobs of a kind: highest priority first, then oldest. A job whose lease ran out is taken again after a
    /// wait, and parked when its attempts are used up.
    async fn lease(&self, kind: JobKind, worker: &str, limit: u32, now: Timestamp) -> Result<Vec<LeasedJob>>;
    /// Ends a job that was done: gone, or due again at `next`. A job asked for meanwhile with an earlier time keeps it.
    /// `outcome` is kept for [`Store::job_states`].
    async fn complete(
        &self,
        job: &LeasedJob,
        next: Option<Timestamp>,
        outcome: Option<String>,
        now: Timestamp,
    ) -> Result<()>;
    /// Ends an attempt that failed: the job waits for the next one, or is parked with the reason.
    async fn fail(&self, job: &LeasedJob, reason: &str, now: Timestamp) -> Result<Retry>;
    /// Returns a job to the queue as if it had not been taken.
    async fn release(&self, job: &LeasedJob, now: Timestamp) -> Result<()>;
    /// Makes jobs and messages due again that processes held which have ended; how many. Only for a server that is alone
    /// with its database, before it begins to work: the leases of living workers would be lost too.
    async fn release_lost(&self, now: Timestamp) -> Result<u64>;
    /// Where the jobs of these keys stand, in no order; those that are not queued are left out.
    async fn job_states(&self, kind: JobKind, keys: Vec<String>) -> Result<Vec<JobState>>;
    /// Jobs that run, or wait and were asked for; some of them when there are more than `limit`.
    async fn active_jobs(&self, kind: JobKind, limit: u32) -> Result<Vec<JobState>>;
    /// Jobs whose attempts are used up, longest parked first.
    async fn parked_jobs(&self, kind: JobKind, limit: u32) -> Result<Vec<JobState>>;
    /// Jobs of a kind that are due later than `after` (a clock that was wrong put them there), at most `limit`.
    async fn far_future_jobs(&self, kind: JobKind, after: Timestamp, limit: u32) -> Result<Vec<Job>>;
    /// Makes those that still are due later than `after` due at these times; a worker that held one has lost it. How
    /// many there were.
    async fn reschedule_far_future(&self, after: Timestamp, times: &[(Job, Timestamp)]) -> Result<u64>;
    /// A queue in figures.
    async fn queue_stats(&self, kind: JobKind, now: Timestamp) -> Result<QueueStats>;

    // ---- services ------------------------------------------------------------------------------
    /// Adds a service to a domain the organisation holds.
    async fn add_service(&self, org: OrgId, service: &StoredService, now: Timestamp) -> Result<()>;
    /// The services of a domain, oldest first.
    async fn services(&self, org: OrgId, name: &DomainName) -> Result<Vec<VersionedService>>;
    /// A service by its identifier, of any organisation: for the schedule, and for callers that compare the organisation.
    async fn service(&self, id: &str) -> Result<Option<VersionedService>>;
    /// Writes a service after a look, with the event it led to, unless it was written meanwhile ([`Error::Conflict`]).
    async fn record_service(
        &self,
        before: &VersionedService,
        after: &StoredService,
        change: Option<&Change>,
        now: Timestamp,
    ) -> Result<()>;
    /// Removes a service; false when the domain has none of this identifier.
    async fn remove_service(&self, org: OrgId, name: &DomainName, id: &str, now: Timestamp) -> Result<bool>;
    /// Domain Connect templates that an organisation keeps, by name.
    async fn templates(&self, org: OrgId) -> Result<Vec<StoredTemplate>>;
    /// Saves a template in place of that of the same provider and service. [`Error::Conflict`]: the organisation has
    /// [`MAX_TEMPLATES`](model::configure::template::MAX_TEMPLATES) others.
    async fn save_template(&self, org: OrgId, template: &StoredTemplate, log: &Audit) -> Result<()>;
    /// Removes the template of a name (`PROVIDER/SERVICE`); false when there was none.
    async fn delete_template(&self, org: OrgId, key: &str, log: &Audit) -> Result<bool>;
    /// Keeps the link of a customer page under the hash of its token.
    async fn put_connect_link(&self, org: OrgId, token_hash: &str, link: &ConnectLink) -> Result<()>;
    /// The link of a token, expired or not.
    async fn connect_link(&self, token_hash: &str) -> Result<Option<(OrgId, ConnectLink)>>;

    // ---- budgets of registry hosts -------------------------------------------------------------
    /// What is kept about the budget of a registry host: its version and its text.
    async fn budget(&self, host: &str) -> Result<Option<(i64, String)>>;
    /// Writes a host's budget if its version is still `expected` (`None`: nothing is kept yet); the new version, or
    /// `None` when someone else was faster. One statement.
    async fn swap_budget(
        &self,
        host: &str,
        expected: Option<i64>,
        state: &str,
        now: Timestamp,
    ) -> Result<Option<i64>>;

    // ---- settings and upkeep -------------------------------------------------------------------
    /// A setting's JSON text.
    async fn setting(&self, org: OrgId, key: &str) -> Result<Option<String>>;
    /// Writes a setting that no one has written yet; what is stored afterwards. Of several who try, one is first and all
    /// get its value.
    async fn first_setting(&self, org: OrgId, key: &str, value: &str, now: Timestamp) -> Result<String>;
    /// Writes a setting.
    async fn set_setting(&self, org: OrgId, key: &str, value: &str, now: Timestamp) -> Result<()>;
    /// Replaces what a process found of faults of the installation; what any said before `forget` is deleted.
    async fn report_own_faults(
        &self,
        process: &str,
        faults: &[OwnFault],
        now: Timestamp,
        forget: Timestamp,
    ) -> Result<()>;
    /// Faults of the installation that processes said there are at an instant or later, by process.
    async fn own_faults(&self, since: Timestamp) -> Result<Vec<ReportedFault>>;
    /// What an organisation says about the checks of its domains.
    async fn checks(&self, org: OrgId) -> Result<Checks>;
    /// The same of several, in one query; those that do not exist are left out.
    async fn checks_of(&self, orgs: &[OrgId]) -> Result<BTreeMap<OrgId, Checks>>;
    /// Sets it; the entry of the audit log gets the values.
    async fn set_checks(&self, org: OrgId, checks: &Checks, log: &Audit) -> Result<()>;
    /// Makes the judgement of all holdings of all organisations due: what they are judged by changed. How many there were.
    async fn judge_all_again(&self, now: Timestamp) -> Result<u64>;
    /// The longest interval that an organisation says, of all its domains or of one.
    async fn longest_interval(&self) -> Result<Option<i64>>;
    /// Records a reminder that no scan found, with the holding as it is judged; false when the holding changed since
    /// `before`, and nothing was recorded.
    async fn record_reminder(&self, before: &Item, outcome: &ItemOutcome, now: Timestamp) -> Result<bool>;
    /// Deletes old entries of the change log ([`LOG_KEEP_DAYS`], or `keep_days` when that is less); how many.
    async fn prune_log(&self, now: Timestamp, keep_days: u32) -> Result<u64>;
    /// Deletes old log entries, then history older than `keep_days` (never the newest change of a name), observations
    /// no one holds, messages given up and budgets of hosts that are no longer asked, in small steps. How many rows.
    async fn prune(&self, now: Timestamp, keep_days: u32) -> Result<u64>;
    /// Writes a consistent copy of an embedded database into a new file, while others read and write it.
    ///
    /// # Errors
    /// [`Error::Broken`] on PostgreSQL, which has `pg_dump`, or when the file exists.
    async fn backup(&self, to: &std::path::Path) -> Result<()>;
    /// Returns when the database answers; cheap.
    async fn ping(&self) -> Result<()>;
}
