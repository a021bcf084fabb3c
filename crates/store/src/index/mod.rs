//! The list index: what sorting, filtering, searching and counting need of an organisation's holdings, in memory.
//!
//! In: rows of `items` and entries of the change log. Out: which names a page shows, how many match, facet counts.
//! Every process has its own and reads the log before each answer, so it is as exact as the database, with one
//! process and with ten (docs/decisions/0002).

mod cache;
mod entry;
mod query;

pub(crate) use cache::Indexes;
pub(crate) use query::Plan;
