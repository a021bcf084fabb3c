//! The store of the lifecycle, behind a trait.

use crate::leader::leader;
use crate::machine::Feature;
use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Why a store call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The database does not answer: try again later.
    #[error("the database is not available: {0}")]
    Unavailable(String),
    /// Data of this name are not known to this version of the program.
    #[error("stored data “{0}” are not known to this version")]
    UnknownData(String),
    /// Some of the data can't be read: they were encrypted with a key that this process does not have.
    #[error("stored data can't be read: {0}")]
    Unreadable(String),
}

impl StoreError {
    /// The error with the name of the feature that it is about.
    pub(crate) fn of(self, feature: &str) -> Self {
        let named = |why: String| format!("{feature}: {why}");
        match self {
            StoreError::Unavailable(why) => StoreError::Unavailable(named(why)),
            StoreError::UnknownData(data) => StoreError::UnknownData(named(data)),
            StoreError::Unreadable(why) => StoreError::Unreadable(named(why)),
        }
    }
}

/// A running process, as it announces itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its identity, different after a restart.
    pub id: String,
    /// The version of the program.
    pub version: String,
    /// When it started.
    pub started_at: Timestamp,
    /// When it announced itself last.
    pub seen_at: Timestamp,
    /// Whether it uses each feature it knows.
    pub uses: BTreeMap<String, bool>,
    /// Settings that features need and it does not have.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub lacks: BTreeSet<String>,
    /// Features that flags fix in it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fixed: BTreeMap<String, bool>,
    /// Features whose next task its version does not know: it can't carry them on.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unable: BTreeSet<String>,
}

/// The process that carries on a feature: one that knows the feature and its next task; `None` when no live one does.
pub fn leading<'a>(feature: &str, live: &'a [Process]) -> Option<&'a str> {
    let is_able = |p: &&Process| p.uses.contains_key(feature) && !p.unable.contains(feature);
    leader(feature, live.iter().filter(is_able).map(|p| p.id.as_str()))
}

/// A stored feature with the position that a write must still find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Increases with every write.
    pub rv: i64,
    /// The feature.
    pub feature: Feature,
}

/// The rest of some data: how much there is, with a few names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remaining {
    /// How many.
    pub count: u64,
    /// The names of some of them.
    pub names: Vec<String>,
}

/// The calls of the lifecycle to the store.
#[async_trait]
pub trait FeatureStore: Send + Sync {
    /// All features, by name.
    async fn features(&self) -> Result<Vec<Stored>, StoreError>;
    /// Features of third parties that are in a transition, of other organisations than the first: those that were
    /// written after a position, in this order, at most `limit`.
    async fn turning_elsewhere(&self, after: i64, limit: u32) -> Result<Vec<Stored>, StoreError>;
    /// Adds a feature unless it is there.
    async fn add_feature(&self, feature: &Feature, now: Timestamp) -> Result<(), StoreError>;
    /// Writes a feature of this program that is still at `rv`; false when it is not.
    async fn write_feature(&self, rv: i64, feature: &Feature, now: Timestamp) -> Result<bool, StoreError>;
    /// Carries on a registered feature that is still at `rv` as far as its reports let it go ([`Feature::settle`]), in one
    /// transaction: reports that renew a time leave `rv` as it is, and none is written over. False when nothing changed.
    async fn settle_feature(&self, rv: i64, name: &str, now: Timestamp) -> Result<bool, StoreError>;
    /// Removes a feature that no supported version knows.
    async fn forget_feature(&self, name: &str, now: Timestamp) -> Result<(), StoreError>;
    /// Announces a process.
    async fn announce(&self, process: &Process) -> Result<(), StoreError>;
    /// Removes a process that stops, and those not seen since an instant.
    async fn retire(&self, id: Option<&str>, unseen_since: Timestamp) -> Result<(), StoreError>;
    /// Processes that announced themselves after an instant, by identity.
    async fn processes(&self, since: Timestamp) -> Result<Vec<Process>, StoreError>;
    /// Deletes some of the data of a feature while that is turning off at this position; how many. 0 means that none are
    /// left, or that the feature was written since.
    async fn clean(&self, of: (&str, i64), data: &str, now: Timestamp) -> Result<u64, StoreError>;
    /// Counts the data that is left and names a few.
    async fn remaining(&self, data: &str) -> Result<Remaining, StoreError>;
    /// Whether any of the data is left, without counting it.
    async fn has_remaining(&self, data: &str) -> Result<bool, StoreError>;
}
