//! The contract of the store: the trait and the types that only it and its callers need.

use async_trait::async_trait;
use jiff::Timestamp;
use model::detail::{RawAnswer, Snapshot, SnapshotMeta};
use model::event::{Change, EventPage, EventQuery};
use model::ids::{EventId, OrgId, Rv, SnapshotId, Vantage};
use model::inventory::{ListQuery, Page, Row, Summary};
use model::item::{Item, ItemPatch, Ownership};
use model::names::DomainName;
use model::observation::Observation;
use model::scan::LogEntry;
use std::time::Duration;

/// Why the store could not do it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another worker recorded the same name meanwhile: read again, compare again, record again.
    #[error("the stored observation changed meanwhile")]
    Conflict,
    /// There is no such thing in this organisation.
    #[error("not found")]
    NotFound,
    /// The database can't be reached or is busy: try again later.
    #[error("the database is not available: {0}")]
    Unavailable(String),
    /// What the database holds can't be read, or it refused a statement: a bug or a damaged file.
    #[error("the database refused: {0}")]
    Broken(String),
}

impl Error {
    /// Stable word for metrics.
    pub fn label(&self) -> &'static str {
        match self {
            Error::Conflict => "conflict",
            Error::NotFound => "not_found",
            Error::Unavailable(_) => "unavailable",
            Error::Broken(_) => "broken",
        }
    }
}

/// Kind of the jobs that [`Store::add`] queues.
pub const SCAN_JOB: &str = "scan";
/// Priority of the scan of a name just added: before the schedule (0), after a name whose Rescan was pressed.
pub const PRIORITY_ADDED: i32 = 5;
/// Priority for what a person waits for.
pub const PRIORITY_PERSON: i32 = 10;
/// Days that entries of the change log are kept, or as long as history is when that is shorter: every scan of every
/// holding writes one. Who reads the log and stayed away longer ([`Store::floor`]) reads the state anew; events are
/// kept as long as history, and their identity is their place in the log.
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

/// A job of the queue. `(kind, key)` is unique: asking twice makes one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// What is to be done (`scan`, `judge`, `prune`).
    pub kind: String,
    /// What it is to be done to (a domain name).
    pub key: String,
    /// Not before.
    pub run_at: Timestamp,
    /// Higher first: what a person waits for goes before what the schedule wants.
    pub priority: i32,
    /// How often it was leased without being completed.
    pub attempts: i32,
    /// Fencing token of the lease; completing with an old one does nothing.
    pub lease: i64,
}

/// The store. Every method is safe to call from many tasks and, on PostgreSQL, from many processes.
#[async_trait]
pub trait Store: Send + Sync + 'static {
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
    /// Adds holdings; the answer says for each whether it was new. A scan job is queued for each new one at once.
    /// Long lists go in part by part, so that others write meanwhile; adding again what is there does nothing.
    async fn add(&self, org: OrgId, items: &[NewItem], now: Timestamp) -> Result<Vec<bool>>;
    /// Removes holdings (tombstones in the log); the answer says how many there were. The events stay readable
    /// until pruned; the shared observation stays while anybody holds the name.
    async fn remove(&self, org: OrgId, names: &[DomainName], now: Timestamp) -> Result<u64> {
        Ok(self.take(org, names, now).await?.len() as u64)
    }
    /// The same, handing them over as they were, so that [`Store::restore`] can undo it.
    async fn take(&self, org: OrgId, names: &[DomainName], now: Timestamp) -> Result<Vec<Item>>;
    /// Puts holdings back with all that was said and known of them; the answer says for each whether it was put back
    /// (one that is held again meanwhile stays as it is). They are scanned as those just added are; the caller judges
    /// them and passes status and row on with [`Store::update_judged`].
    async fn restore(&self, org: OrgId, items: &[Item], now: Timestamp) -> Result<Vec<bool>>;
    /// Changes what the organisation says about a holding. The caller judges anew and passes status and row on
    /// with [`Store::update_judged`].
    async fn patch(&self, org: OrgId, name: &DomainName, patch: &ItemPatch, now: Timestamp) -> Result<Item>;
    /// Holdings of a name in all organisations: for the scan only, never shown.
    async fn holders(&self, name: &DomainName) -> Result<Vec<Item>>;
    /// Holdings whose status must be judged again by `now`, soonest first.
    async fn due_for_judgement(&self, now: Timestamp, limit: u32) -> Result<Vec<Item>>;
    /// Writes newly judged statuses and rows; a log entry only where something shown differs.
    async fn update_judged(&self, judged: &[(Item, Row)], now: Timestamp) -> Result<()>;

    // ---- observations and history --------------------------------------------------------------
    /// The stored observation of a name from a vantage.
    async fn observation(&self, name: &DomainName, vantage: &Vantage) -> Result<Option<Versioned>>;
    /// Writes a scan: observation, snapshot, raw answers, items, events and log entries in one transaction.
    async fn record(&self, record: &Record) -> Result<Rv>;
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
    /// Marks events as seen; those already acknowledged keep their first mark.
    async fn acknowledge(&self, org: OrgId, ids: &[EventId], by: &str, now: Timestamp) -> Result<u64>;
    /// Log entries after `rv` in order; all organisations when `org` is `None`.
    async fn log_since(&self, org: Option<OrgId>, rv: Rv, limit: u32) -> Result<Vec<LogEntry>>;
    /// The newest place in the log.
    async fn head(&self) -> Result<Rv>;
    /// The place up to which the log was pruned: a reader whose cursor is before it has missed entries.
    async fn floor(&self) -> Result<Rv>;

    // ---- jobs ----------------------------------------------------------------------------------
    /// Queues a job. One that waits already keeps the earlier time and the higher priority.
    async fn enqueue(&self, kind: &str, key: &str, run_at: Timestamp, priority: i32) -> Result<()>;
    /// The same for many keys at once.
    async fn enqueue_many(&self, kind: &str, keys: &[(String, Timestamp)], priority: i32) -> Result<()>;
    /// Takes due jobs of a kind: highest priority first, then oldest. A lease that ran out is taken anew.
    async fn lease(
        &self,
        kind: &str,
        worker: &str,
        limit: u32,
        lease: Duration,
        now: Timestamp,
    ) -> Result<Vec<Job>>;
    /// Ends a leased job: gone, or due again at `again_at`. A job asked for meanwhile with an earlier time keeps it.
    async fn complete(&self, job: &Job, again_at: Option<Timestamp>, now: Timestamp) -> Result<()>;
    /// Jobs of a kind that are due later than `after` (a clock that was wrong put them there), at most `limit`.
    async fn due_after(&self, kind: &str, after: Timestamp, limit: u32) -> Result<Vec<String>>;
    /// Makes those that still are due later than `after` due at these times; a worker that held one has lost it. How
    /// many there were.
    async fn draw_back(&self, kind: &str, after: Timestamp, times: &[(String, Timestamp)]) -> Result<u64>;
    /// How many jobs of a kind are due, and how late the oldest is, in seconds.
    async fn queue_lag(&self, kind: &str, now: Timestamp) -> Result<(u64, f64)>;

    // ---- budgets of registry hosts -------------------------------------------------------------
    /// What is kept about the budget of a registry host: its version and its text.
    async fn budget(&self, host: &str) -> Result<Option<(i64, String)>>;
    /// Writes a host's budget if its version is still `expected` (`None`: nothing is kept yet); the new version, or
    /// `None` when somebody else was faster. One statement.
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
    /// Writes a setting that nobody has written yet; what is stored afterwards. Of several who try, one is first and all
    /// get its value.
    async fn first_setting(&self, org: OrgId, key: &str, value: &str, now: Timestamp) -> Result<String>;
    /// Writes a setting.
    async fn set_setting(&self, org: OrgId, key: &str, value: &str, now: Timestamp) -> Result<()>;
    /// Deletes history older than `keep_days` (never the newest change of a name), old log entries, observations
    /// nobody holds and budgets of hosts nobody asks any more. Answers how many rows went.
    async fn prune(&self, now: Timestamp, keep_days: u32) -> Result<u64>;
    /// Cheap proof that the database answers.
    async fn ping(&self) -> Result<()>;
}
