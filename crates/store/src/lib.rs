//! Storage: one trait, two databases (SQLite by default, PostgreSQL for replicas), one test suite for both.
//!
//! What was observed about a name is kept once per name and vantage; what is owned belongs to an organisation and
//! every call for it takes an [`OrgId`](model::ids::OrgId). Every change is recorded with its entry of the change log in
//! one transaction; positions in the log (`rv`) increase in commit order.

mod accounts;
mod api;
mod budgets;
mod codec;
mod db;
mod events;
mod history;
mod index;
mod items;
mod job;
mod jobs;
mod log;
mod migrate;
mod open;
mod outbox;
mod record;
mod retry;
mod store;
mod upkeep;

pub use accounts::{
    AccountStore, Audit, Credentials, MemberChange, NewSession, OneTimeLink, Replay, SessionOwner,
};
pub use api::*;
pub use job::{Job, JobKind, JobPhase, JobPolicy, JobState, LeasedJob, Priority, QueueStats};
pub use open::{open, open_postgres, open_sqlite};
pub use outbox::{Channel, DELIVERY, FailedNotification, Notification, OutboxStats};
pub use retry::{Retry, RetryPolicy};
