//! Storage: one trait, two databases (SQLite by default, PostgreSQL for replicas), one test suite for both.
//!
//! What was observed about a name is kept once per name and vantage; what is owned belongs to an organisation and
//! every call for it takes an [`OrgId`](model::ids::OrgId). Every change is recorded with its entry of the change log in
//! one transaction; positions in the log (`rv`) increase in commit order.

mod accounts;
mod agent_work;
mod alerts;
mod api;
mod budgets;
mod checks;
mod claims;
mod cluster_claims;
mod codec;
mod db;
mod events;
mod features;
mod feeds;
mod fleet;
mod history;
mod index;
mod items;
mod job;
mod jobs;
mod joining;
mod log;
mod migrate;
mod notification_settings;
mod open;
mod outbox;
mod own_faults;
mod record;
mod resources;
mod retry;
mod seal;
mod services;
mod store;
mod stored;
mod templates;
mod together;
mod upkeep;

pub use accounts::{
    AccountStore, Audit, Credentials, MemberChange, NewIdentity, NewSession, OneTimeLink, Passkey, Replay,
    SessionOwner,
};
pub use alerts::AlertStore;
pub use api::*;
pub use claims::{ClaimStore, ClaimWrite, StoredClaim};
pub use features::{FeatureReportWrite, FeatureRows, FeatureWrite, StoredFeature};
pub use fleet::{
    AGENTS_MAX, Agent, AgentReport, ClaimsUsed, ClusterClaimWrite, FleetStore, IdentityRule, JoinOutcome,
    StoredClusterClaim, WorkState,
};
pub use job::{Job, JobKind, JobPhase, JobPolicy, JobState, LeasedJob, Priority, QueueStats};
pub use migrate::{earlier_release, schema_version};
pub use open::{open, open_postgres, open_sqlite, open_with};
pub use outbox::{DELIVERY, FailedNotification, Failure, LOG, Notification, OutboxStats};
pub use resources::{
    ClaimHead, ListedBlock, NetworkClaimWrite, Pointing, PointingKey, RefusedPrefix, ResourceStore,
    StoredCover, StoredDomain, StoredNetworkClaim, StoredRegistry, StoredSurvey,
};
pub use retry::{Retry, RetryPolicy};
pub use seal::SecretKey;
pub use services::VersionedService;
