//! Carries the transitions on. Every process runs one [`Runner`]; the store is behind a trait.

use crate::duty::Duty;
use crate::gates::Gates;
use crate::leader::leader;
use crate::machine::{Feature, Report, Step, step};
use crate::table::{FEATURES, Task, spec};
use crate::version::{minor, releases_between};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Seconds after its last announcement during which a process counts as live.
pub const LIVE_SECONDS: i64 = 15;
/// Most seconds by which clocks of processes may differ.
pub const SKEW_SECONDS: i64 = 60;
/// Hours after which what a process announced is deleted.
const KEEP_HOURS: i64 = 1;
/// Seconds between two announcements of an unchanged report.
const ANNOUNCE_SECONDS: i64 = 4;
/// Seconds between two looks at features of other organisations: their reports expire after a minute.
const ELSEWHERE_SECONDS: i64 = 10;
/// Most features of other organisations that one look reads; the next one goes on from there.
const ELSEWHERE_MAX: u32 = 100;
/// Steps of one call: a transition without waiting takes fewer.
const STEPS_MAX: usize = 16;
/// Deletions of one call, and the time after which it begins no other: a process that deletes announces itself all the
/// same, and reads what changed meanwhile.
const CLEANS_MAX: u32 = 32;
const CLEAN_TIME: Duration = Duration::from_secs(3);
/// Releases for which a feature is kept that this program does not know.
const KEPT_VERSIONS: u64 = 3;

/// Why a store call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The database does not answer: try again later.
    #[error("the database is not available: {0}")]
    Unavailable(String),
    /// Data of this name are not known to this version of the program.
    #[error("stored data “{0}” are not known to this version")]
    UnknownData(String),
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
}

/// A stored feature with the position that a write must still find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Increases with every write.
    pub rv: i64,
    /// The feature.
    pub feature: Feature,
}

/// What is left of some data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// How many.
    pub count: u64,
    /// The names of some of them.
    pub names: Vec<String>,
}

/// What the lifecycle needs of the store.
#[async_trait]
pub trait FeatureStore: Send + Sync {
    /// All features, by name.
    async fn features(&self) -> Result<Vec<Stored>, StoreError>;
    /// Features of third parties that are in a transition, of other organisations than the first: those that were
    /// written after a position, in this order, at most `limit`.
    async fn turning_elsewhere(&self, after: i64, limit: u32) -> Result<Vec<Stored>, StoreError>;
    /// Adds a feature unless it is there.
    async fn add_feature(&self, feature: &Feature, now: Timestamp) -> Result<(), StoreError>;
    /// Writes a feature that is still at `rv`; false when it is not.
    async fn write_feature(&self, rv: i64, feature: &Feature, now: Timestamp) -> Result<bool, StoreError>;
    /// Removes a feature that no supported version knows.
    async fn forget_feature(&self, name: &str, now: Timestamp) -> Result<(), StoreError>;
    /// Announces a process.
    async fn announce(&self, process: &Process) -> Result<(), StoreError>;
    /// Removes a process that stops, and those not seen since an instant.
    async fn retire(&self, id: Option<&str>, unseen_since: Timestamp) -> Result<(), StoreError>;
    /// Processes that announced themselves after an instant, by identity.
    async fn processes(&self, since: Timestamp) -> Result<Vec<Process>, StoreError>;
    /// Deletes some of the data; how many. 0 means that none are left.
    async fn clean(&self, data: &str, now: Timestamp) -> Result<u64, StoreError>;
    /// What is left of the data.
    async fn left(&self, data: &str) -> Result<Left, StoreError>;
}

/// What one call of [`Runner::tick`] found, for metrics and logs.
#[derive(Debug, Clone, Default)]
pub struct Tick {
    /// All features as they are now.
    pub features: Vec<Feature>,
    /// How many processes are live.
    pub live: usize,
    /// Transitions that ended: name and state in words.
    pub finished: Vec<Feature>,
}

/// Deletions that one call of [`Runner::tick`] may still begin.
struct Cleans {
    left: u32,
    since: Instant,
}

impl Cleans {
    /// Counts one; the first is always allowed, so that each call gets on.
    fn may_begin(&mut self) -> bool {
        let is_allowed = self.left == CLEANS_MAX || (self.left > 0 && self.since.elapsed() < CLEAN_TIME);
        self.left = self.left.saturating_sub(u32::from(is_allowed));
        is_allowed
    }
}

/// The part of a process in the lifecycle of features.
pub struct Runner<S: ?Sized> {
    store: Arc<S>,
    gates: Gates,
    id: String,
    version: &'static str,
    started_at: Timestamp,
    announced: Mutex<Option<Process>>,
    /// When each announcement was first read here, with the instant that it names.
    announcements: Mutex<BTreeMap<String, (Timestamp, Timestamp)>>,
    /// When this process last looked at features of other organisations, and the position up to which.
    elsewhere: Mutex<Option<(Timestamp, i64)>>,
    duties: Mutex<Vec<Duty>>,
}

impl<S: FeatureStore + ?Sized> Runner<S> {
    /// For the process with this identity.
    pub fn new(store: Arc<S>, gates: Gates, id: String, version: &'static str, now: Timestamp) -> Self {
        let (announced, announcements) = (Mutex::new(None), Mutex::default());
        let elsewhere = Mutex::new(None);
        let duties = Mutex::default();
        Runner { store, gates, id, version, started_at: now, announced, announcements, elsewhere, duties }
    }

    /// Work that one of the processes does. It is this one's when a [`Runner::tick`] finds so.
    pub fn duty(&self, name: &'static str) -> Duty {
        let duty = Duty::new(name);
        self.duties.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(duty.clone());
        duty
    }

    /// Reads what is stored, sets the gates, announces this process, and carries on the transitions it leads as far as
    /// they go.
    ///
    /// # Errors
    /// When the store does not answer; the next call goes on.
    pub async fn tick(&self, now: Timestamp) -> Result<Tick, StoreError> {
        let mut finished = Vec::new();
        let mut stored = self.stored(now).await?;
        let mut live = Vec::new();
        let mut cleans = Cleans { left: CLEANS_MAX, since: Instant::now() };
        for _ in 0..STEPS_MAX {
            let features: Vec<_> = stored.iter().map(|s| s.feature.clone()).collect();
            self.gates.close(&features);
            self.announce(&features, now).await?;
            self.gates.open(&features);
            live = self.live(self.store.processes(now - SignedDuration::from_hours(KEEP_HOURS)).await?, now);
            let mut changed = false;
            for s in &stored {
                let mut next = s.feature.clone();
                if next.registered.is_some() {
                    // Every process does this, each by its own clock: the first that finds reports expired writes.
                    if next.settle(now) && self.store.write_feature(s.rv, &next, now).await? {
                        changed = true;
                    }
                    continue;
                }
                if !self.leads(&next.name, &live)
                    || !self.carry_on(&mut next, &live, &mut cleans, now).await?
                {
                    continue;
                }
                if self.store.write_feature(s.rv, &next, now).await? && !next.state.is_transition() {
                    finished.push(next);
                }
                changed = true;
            }
            if !changed {
                break;
            }
            stored = self.store.features().await?;
        }
        for duty in self.duties.lock().unwrap_or_else(std::sync::PoisonError::into_inner).iter() {
            let holder = leader(duty.name(), live.iter().map(|p| p.id.as_str()));
            duty.set(holder == Some(self.id.as_str()));
        }
        self.settle_elsewhere(&live, now).await?;
        Ok(Tick { features: stored.into_iter().map(|s| s.feature).collect(), live: live.len(), finished })
    }

    /// Carries on transitions in other organisations whose processes report no more. One process does it for all.
    async fn settle_elsewhere(&self, live: &[Process], now: Timestamp) -> Result<(), StoreError> {
        if leader("elsewhere", live.iter().map(|p| p.id.as_str())) != Some(self.id.as_str()) {
            return Ok(());
        }
        let last = *self.elsewhere.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_due = |at: Timestamp| now.duration_since(at).as_secs().abs() >= ELSEWHERE_SECONDS;
        if last.is_some_and(|(at, _)| !is_due(at)) {
            return Ok(());
        }
        let after = last.map_or(0, |(_, position)| position);
        let turning = self.store.turning_elsewhere(after, ELSEWHERE_MAX).await?;
        let is_full = turning.len() >= ELSEWHERE_MAX as usize;
        let reached = turning.last().filter(|_| is_full).map_or(0, |s| s.rv);
        for s in turning {
            let mut next = s.feature.clone();
            if next.settle(now) {
                self.store.write_feature(s.rv, &next, now).await?;
            }
        }
        *self.elsewhere.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some((now, reached));
        Ok(())
    }

    /// Says that this process ends, so that others do not wait for it.
    ///
    /// # Errors
    /// When the store does not answer: the others wait until it counts as dead.
    pub async fn retire(&self, now: Timestamp) -> Result<(), StoreError> {
        self.store.retire(Some(&self.id), now - SignedDuration::from_hours(KEEP_HOURS)).await
    }

    /// The processes that announced something new within [`LIVE_SECONDS`]. That is counted on the clock of this process,
    /// from the moment the announcement was read, because clocks of processes differ.
    fn live(&self, all: Vec<Process>, now: Timestamp) -> Vec<Process> {
        let mut known = self.announcements.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        known.retain(|id, _| all.iter().any(|p| p.id == *id));
        let is_live = |p: &Process| {
            // One that is new here may be dead already: its own clock says so, unless that may be wrong.
            let age = now.duration_since(p.seen_at).as_secs();
            let may_live = age.abs() < LIVE_SECONDS + SKEW_SECONDS && !(0..=LIVE_SECONDS).contains(&age);
            let first = if may_live { now } else { p.seen_at.min(now) };
            let (announced_at, read_at) = known.entry(p.id.clone()).or_insert((p.seen_at, first));
            if *announced_at != p.seen_at {
                (*announced_at, *read_at) = (p.seen_at, now);
            }
            now.duration_since(*read_at) < SignedDuration::from_secs(LIVE_SECONDS)
        };
        all.into_iter().filter(is_live).collect()
    }

    fn leads(&self, name: &str, live: &[Process]) -> bool {
        // A process that does not know the feature does not know its tasks either.
        let able = live.iter().filter(|p| p.uses.contains_key(name)).map(|p| p.id.as_str());
        leader(name, able) == Some(self.id.as_str())
    }

    /// One step; true when the feature changed and is to be written.
    async fn carry_on(
        &self,
        feature: &mut Feature,
        live: &[Process],
        cleans: &mut Cleans,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let Some(spec) = spec(&feature.name) else { return Ok(false) };
        let reports: Vec<_> = live
            .iter()
            .map(|p| Report { process: &p.id, used: p.uses.get(&feature.name).copied().unwrap_or(false) })
            .collect();
        let next = step(feature, &reports, &spec.tasks());
        match &next {
            Step::Run(Task::WaitUntilGone { data }) => {
                let is_gone = self.store.left(data).await?.count == 0;
                if is_gone {
                    feature.task_done();
                }
                Ok(is_gone)
            }
            Step::Run(Task::Clean { data }) => {
                while cleans.may_begin() {
                    if self.store.clean(data, now).await? == 0 {
                        feature.task_done();
                        return Ok(true);
                    }
                }
                // The next call goes on.
                Ok(false)
            }
            _ => Ok(feature.advance(&next, now)),
        }
    }

    /// What is stored, with the features of this version added and brought up to date.
    async fn stored(&self, now: Timestamp) -> Result<Vec<Stored>, StoreError> {
        let mut stored = self.store.features().await?;
        let mut changed = false;
        for spec in FEATURES {
            let found = stored.iter().find(|s| s.feature.name == spec.name);
            let Some(s) = found else {
                self.store.add_feature(&Feature::new(spec, self.version, now), now).await?;
                changed = true;
                continue;
            };
            if minor(&s.feature.known_by) < minor(self.version) {
                let feature = Feature {
                    default: spec.default,
                    stage: spec.stage,
                    since: spec.since.into(),
                    known_by: self.version.into(),
                    ..s.feature.clone()
                };
                changed |= self.store.write_feature(s.rv, &feature, now).await?;
            }
        }
        let is_unknown = |f: &Feature| f.registered.is_none() && spec(&f.name).is_none();
        for s in stored.iter().filter(|s| is_unknown(&s.feature)) {
            if releases_between(&s.feature.known_by, self.version) > KEPT_VERSIONS {
                self.store.forget_feature(&s.feature.name, now).await?;
                changed = true;
            }
        }
        if changed {
            stored = self.store.features().await?;
        }
        Ok(stored)
    }

    async fn announce(&self, features: &[Feature], now: Timestamp) -> Result<(), StoreError> {
        let process = Process {
            id: self.id.clone(),
            version: self.version.into(),
            started_at: self.started_at,
            seen_at: now,
            uses: self.gates.report(features),
            lacks: self.gates.lacks().clone(),
        };
        let last = self.announced.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let last_is_none = last.is_none();
        let is_fresh = last.is_some_and(|l| {
            l.uses == process.uses
                && now.duration_since(l.seen_at) < SignedDuration::from_secs(ANNOUNCE_SECONDS)
        });
        if !is_fresh {
            if last_is_none {
                self.store.retire(None, now - SignedDuration::from_hours(KEEP_HOURS)).await?;
            }
            self.store.announce(&process).await?;
            *self.announced.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(process);
        }
        Ok(())
    }
}
