//! A store in memory, with data to leave behind.

pub mod world;

use async_trait::async_trait;
use features::{Feature, FeatureStore, Process, Remaining, State, StoreError, Stored};
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

type Result<T> = std::result::Result<T, StoreError>;

#[derive(Default)]
struct Inner {
    rv: i64,
    features: BTreeMap<String, Stored>,
    processes: BTreeMap<String, Process>,
    data: BTreeMap<String, u64>,
    elsewhere: BTreeMap<i64, Feature>,
    elsewhere_reads: usize,
    unknown: BTreeSet<String>,
    failing: BTreeSet<String>,
    /// Turned on again while it is cleaned.
    wanted_in_clean: Option<String>,
}

impl Inner {
    fn known(&self, data: &str) -> Result<()> {
        if self.failing.contains(data) {
            return Err(StoreError::Unavailable("it does not answer".into()));
        }
        if self.unknown.contains(data) { Err(StoreError::UnknownData(data.into())) } else { Ok(()) }
    }
}

/// The store.
#[derive(Default)]
pub struct Memory(Mutex<Inner>);

impl Memory {
    /// Puts `n` objects there.
    pub fn put(&self, data: &str, n: u64) {
        self.0.lock().unwrap().data.insert(data.into(), n);
    }

    /// Data of this name are those of another version.
    pub fn set_unknown(&self, data: &str) {
        self.0.lock().unwrap().unknown.insert(data.into());
    }

    /// Data of this name can't be read or deleted.
    pub fn set_failing(&self, data: &str) {
        self.0.lock().unwrap().failing.insert(data.into());
    }

    /// Turns a feature on again with the first deletion of its data.
    pub fn want_in_clean(&self, name: &str) {
        self.0.lock().unwrap().wanted_in_clean = Some(name.into());
    }

    /// Writes a feature that is there, as another version would.
    pub fn change(&self, name: &str, change: impl FnOnce(&mut Feature)) {
        let mut inner = self.0.lock().unwrap();
        inner.rv += 1;
        let rv = inner.rv;
        let stored = inner.features.get_mut(name).unwrap();
        change(&mut stored.feature);
        stored.rv = rv;
    }

    /// Adds a feature of another organisation.
    pub fn put_elsewhere(&self, feature: Feature) {
        let mut inner = self.0.lock().unwrap();
        inner.rv += 1;
        let rv = inner.rv;
        inner.elsewhere.insert(rv, feature);
    }

    /// Features of other organisations, and how often they were read.
    pub fn elsewhere(&self) -> (Vec<Feature>, usize) {
        let inner = self.0.lock().unwrap();
        (inner.elsewhere.values().cloned().collect(), inner.elsewhere_reads)
    }

    /// How many objects are there.
    pub fn count(&self, data: &str) -> u64 {
        self.0.lock().unwrap().data.get(data).copied().unwrap_or(0)
    }

    /// Asks for a value.
    pub fn desire(&self, name: &str, desired: Option<bool>) {
        self.change(name, |f| f.desired = desired);
    }

    /// The feature as stored.
    pub fn feature(&self, name: &str) -> Feature {
        self.0.lock().unwrap().features[name].feature.clone()
    }
}

#[async_trait]
impl FeatureStore for Memory {
    async fn features(&self) -> Result<Vec<Stored>> {
        Ok(self.0.lock().unwrap().features.values().cloned().collect())
    }
    async fn turning_elsewhere(&self, after: i64, limit: u32) -> Result<Vec<Stored>> {
        let mut inner = self.0.lock().unwrap();
        inner.elsewhere_reads += 1;
        let turning = inner.elsewhere.range(after + 1..).filter(|(_, f)| f.state.is_transition());
        let stored = turning.map(|(rv, f)| Stored { rv: *rv, feature: f.clone() });
        Ok(stored.take(limit as usize).collect())
    }
    async fn add_feature(&self, feature: &Feature, _: Timestamp) -> Result<()> {
        let mut inner = self.0.lock().unwrap();
        inner.rv += 1;
        let stored = Stored { rv: inner.rv, feature: feature.clone() };
        inner.features.entry(feature.name.clone()).or_insert(stored);
        Ok(())
    }
    async fn write_feature(&self, rv: i64, feature: &Feature, _: Timestamp) -> Result<bool> {
        let mut inner = self.0.lock().unwrap();
        inner.rv += 1;
        let new = Stored { rv: inner.rv, feature: feature.clone() };
        let is_same = inner.features.get(&feature.name).is_some_and(|s| s.rv == rv);
        if is_same {
            inner.features.insert(feature.name.clone(), new);
        }
        Ok(is_same)
    }
    async fn settle_feature(&self, rv: i64, _: &str, now: Timestamp) -> Result<bool> {
        let mut inner = self.0.lock().unwrap();
        let Some(mut feature) = inner.elsewhere.get(&rv).cloned() else { return Ok(false) };
        let is_settled = feature.settle(now);
        if is_settled {
            inner.elsewhere.remove(&rv);
            inner.rv += 1;
            let rv = inner.rv;
            inner.elsewhere.insert(rv, feature);
        }
        Ok(is_settled)
    }
    async fn forget_feature(&self, name: &str, _: Timestamp) -> Result<()> {
        self.0.lock().unwrap().features.remove(name);
        Ok(())
    }
    async fn announce(&self, process: &Process) -> Result<()> {
        self.0.lock().unwrap().processes.insert(process.id.clone(), process.clone());
        Ok(())
    }
    async fn retire(&self, id: Option<&str>, unseen_since: Timestamp) -> Result<()> {
        let mut inner = self.0.lock().unwrap();
        inner.processes.retain(|key, p| Some(key.as_str()) != id && p.seen_at >= unseen_since);
        Ok(())
    }
    async fn processes(&self, since: Timestamp) -> Result<Vec<Process>> {
        let inner = self.0.lock().unwrap();
        Ok(inner.processes.values().filter(|p| p.seen_at > since).cloned().collect())
    }
    async fn clean(&self, (name, rv): (&str, i64), data: &str, _: Timestamp) -> Result<u64> {
        let mut inner = self.0.lock().unwrap();
        inner.known(data)?;
        let is_it = |s: &Stored| s.rv == rv && s.feature.state == State::TurningOff;
        if !inner.features.get(name).is_some_and(is_it) {
            return Ok(0);
        }
        let n = inner.data.entry(data.into()).or_default();
        let gone = (*n).min(10);
        *n -= gone;
        let wanted = inner.wanted_in_clean.take_if(|wanted| wanted.as_str() == name);
        drop(inner);
        wanted.into_iter().for_each(|name| self.desire(&name, Some(true)));
        Ok(gone)
    }
    async fn remaining(&self, data: &str) -> Result<Remaining> {
        self.0.lock().unwrap().known(data)?;
        Ok(Remaining { count: self.count(data), names: Vec::new() })
    }
    async fn has_remaining(&self, data: &str) -> Result<bool> {
        Ok(self.remaining(data).await?.count > 0)
    }
}
