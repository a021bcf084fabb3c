//! What is kept: one trait, two databases (SQLite by default, PostgreSQL for replicas), one story test for both.
//!
//! What was observed about a name is kept once per name and vantage; what is owned belongs to an organisation and
//! every call for it takes an [`OrgId`](model::ids::OrgId). Whatever happens is recorded with its row of the change
//! log in one transaction; the log's `rv` increases in commit order.

mod api;
mod budgets;
mod codec;
mod db;
mod events;
mod history;
mod index;
mod items;
mod jobs;
mod log;
mod migrate;
mod open;
mod record;
mod store;
mod upkeep;

pub use api::*;
pub use open::{open, open_postgres, open_sqlite};
