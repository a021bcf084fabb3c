//! Storage of host states: a table in memory for one process, the database for replicas, behind one trait: read with a
//! version, write if the version is unchanged (compare-and-swap).

use async_trait::async_trait;
use jiff::Timestamp;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// A stored host state: its version and its text.
pub type Kept = (i64, String);

/// Stores one text for each host.
#[async_trait]
pub trait Ledger: Send + Sync + 'static {
    /// The stored state of a host.
    ///
    /// # Errors
    /// Why it can't be read, in words.
    async fn load(&self, host: &str) -> Result<Option<Kept>, String>;

    /// Writes `state` if the version kept is still `expected` (`None`: nothing is stored yet). The new version, or
    /// `None` when another writer was faster: load and decide again.
    ///
    /// # Errors
    /// Why it can't be written, in words.
    async fn swap(
        &self,
        host: &str,
        expected: Option<i64>,
        state: &str,
        now: Timestamp,
    ) -> Result<Option<i64>, String>;
}

/// A table in memory: for one process, and for tests with several.
#[derive(Debug, Default)]
pub struct Memory(Mutex<HashMap<String, Kept>>);

#[async_trait]
impl Ledger for Memory {
    async fn load(&self, host: &str) -> Result<Option<Kept>, String> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).get(host).cloned())
    }

    async fn swap(
        &self,
        host: &str,
        expected: Option<i64>,
        state: &str,
        _: Timestamp,
    ) -> Result<Option<i64>, String> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.get(host).map(|k| k.0) != expected {
            return Ok(None);
        }
        let version = expected.unwrap_or(0) + 1;
        all.insert(host.to_string(), (version, state.to_string()));
        Ok(Some(version))
    }
}
