//! Carries the transitions on. Every process runs one [`Runner`]; the store is behind a trait.

use crate::duty::Duty;
use crate::gates::Gates;
use crate::leader::leader;
use crate::machine::{Feature, Report, Step, step};
use crate::store::{FeatureStore, Process, StoreError, Stored, leading};
use crate::table::{FEATURES, Task, spec};
use crate::version::{KEPT_VERSIONS, minor, releases_between};
use jiff::{SignedDuration, Timestamp};
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

/// The findings of one call of [`Runner::tick`], for metrics and logs.
#[derive(Debug, Clone, Default)]
pub struct Tick {
    /// All features as they are now.
    pub features: Vec<Feature>,
    /// How many processes are live.
    pub live: usize,
    /// Transitions that ended: name and state in words.
    pub finished: Vec<Feature>,
    /// Features that could not go on, by name; the next call tries again. The rest of the call is as without them.
    pub failed: Vec<StoreError>,
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
    /// Tasks about data that the store of this version does not know.
    unable: Mutex<Vec<Task>>,
}

impl<S: FeatureStore + ?Sized> Runner<S> {
    /// For the process with this identity.
    pub fn new(store: Arc<S>, gates: Gates, id: String, version: &'static str, now: Timestamp) -> Self {
        let (announced, announcements) = (Mutex::new(None), Mutex::default());
        let elsewhere = Mutex::new(None);
        let (duties, unable) = (Mutex::default(), Mutex::default());
        let started_at = now;
        Runner { store, gates, id, version, started_at, announced, announcements, elsewhere, duties, unable }
    }

    /// Work that one of the processes does. It is this one's when a [`Runner::tick`] finds so.
    pub fn duty(&self, name: &'static str) -> Duty {
        let duty = Duty::new(name);
        self.duties.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(duty.clone());
        duty
    }

    /// Reads what is stored, sets the gates, announces this process, and carries on the transitions it leads as far as
    /// they go. What keeps one feature from going on keeps no other, and no duty: it is in [`Tick::failed`].
    ///
    /// # Errors
    /// When the store does not answer at all; the next call tries again.
    pub async fn tick(&self, now: Timestamp) -> Result<Tick, StoreError> {
        let mut finished = Vec::new();
        let mut stored = self.stored(now).await?;
        let mut live = Vec::new();
        let mut cleans = Cleans { left: CLEANS_MAX, since: Instant::now() };
        let mut failed: Vec<(String, StoreError)> = Vec::new();
        for _ in 0..STEPS_MAX {
            let features: Vec<_> = stored.iter().map(|s| s.feature.clone()).collect();
            self.gates.close(&features);
            self.announce(&features, now).await?;
            self.gates.open(&features);
            live = self.live(self.store.processes(now - SignedDuration::from_hours(KEEP_HOURS)).await?, now);
            let mut changed = false;
            for s in &stored {
                let mut next = s.feature.clone();
                if failed.iter().any(|(name, _)| *name == next.name) {
                    continue;
                }
                if next.registered.is_some() {
                    // Every process does this, each by its own clock: the first that finds reports expired writes.
                    if next.settle(now) {
                        match self.store.settle_feature(s.rv, &next.name, now).await {
                            Ok(is_settled) => changed |= is_settled,
                            Err(e) => failed.push((next.name, e)),
                        }
                    }
                    continue;
                }
                if leading(&next.name, &live) != Some(self.id.as_str()) {
                    continue;
                }
                match self.carry_on((&mut next, s.rv), &live, &mut cleans, now).await {
                    Ok(true) => {}
                    // The next announcement says so, and a process that knows the task leads.
                    Err(StoreError::UnknownData(_)) => {
                        self.skip(&next);
                        continue;
                    }
                    Ok(false) => continue,
                    Err(e) => {
                        failed.push((next.name, e));
                        continue;
                    }
                }
                match self.store.write_feature(s.rv, &next, now).await {
                    Ok(true) if !next.state.is_transition() => finished.push(next),
                    Ok(_) => {}
                    Err(e) => {
                        failed.push((next.name, e));
                        continue;
                    }
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
        if let Err(e) = self.settle_elsewhere(&live, now).await {
            failed.push(("features of other organisations".into(), e));
        }
        let failed = failed.into_iter().map(|(name, e)| e.of(&name)).collect();
        let features = stored.into_iter().map(|s| s.feature).collect();
        Ok(Tick { features, live: live.len(), finished, failed })
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
            if s.feature.clone().settle(now) {
                self.store.settle_feature(s.rv, &s.feature.name, now).await?;
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
            // The clock of this process was set back: without it a dead one counted as live for as long.
            *read_at = (*read_at).min(now);
            now.duration_since(*read_at) < SignedDuration::from_secs(LIVE_SECONDS)
        };
        all.into_iter().filter(is_live).collect()
    }

    /// Remembers that this version does not know the next task of a feature.
    fn skip(&self, feature: &Feature) {
        let mut unable = self.unable.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(task) = feature.tasks.first().filter(|t| !unable.contains(t)) {
            unable.push(task.clone());
        }
    }

    /// Features whose next task this version does not know.
    fn unable(&self, features: &[Feature]) -> BTreeSet<String> {
        let mut unable = self.unable.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // One that is wanted again goes on without its tasks.
        let is_ours = |f: &Feature| f.registered.is_none() && !f.is_wanted();
        let next = |f: &Feature| f.tasks.first().filter(|_| is_ours(f)).cloned();
        unable.retain(|task| features.iter().any(|f| next(f).as_ref() == Some(task)));
        let is_unable = |f: &&Feature| {
            next(f).is_some_and(|task| matches!(task, Task::Unknown(_)) || unable.contains(&task))
        };
        features.iter().filter(is_unable).map(|f| f.name.clone()).collect()
    }

    /// One step of a feature at a position; true when it changed and is to be written.
    async fn carry_on(
        &self,
        (feature, rv): (&mut Feature, i64),
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
        if feature.advance(&next, now) {
            return Ok(true);
        }
        match &next {
            Step::Run(Task::WaitUntilGone { data }) => {
                let is_gone = !self.store.has_remaining(data).await?;
                if is_gone {
                    feature.task_done(now);
                }
                Ok(is_gone)
            }
            Step::Run(Task::Clean { data }) => {
                while cleans.may_begin() {
                    // Of a feature that was turned on again meanwhile nothing is deleted, and this write finds that, too.
                    if self.store.clean((&feature.name, rv), data, now).await? == 0 {
                        feature.task_done(now);
                        return Ok(true);
                    }
                }
                // The next call goes on.
                Ok(false)
            }
            Step::Run(task @ Task::Unknown(_)) => Err(StoreError::UnknownData(task.words())),
            _ => Ok(false),
        }
    }

    /// Reads the stored features, with the features of this version added and brought up to date.
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
            fixed: self.gates.fixed(),
            unable: self.unable(features),
        };
        let last = self.announced.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let last_is_none = last.is_none();
        let is_fresh = last.is_some_and(|l| {
            (&l.uses, &l.unable) == (&process.uses, &process.unable)
                // Either way: a clock that is set back must not keep this process silent.
                && now.duration_since(l.seen_at).as_secs().abs() < ANNOUNCE_SECONDS
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
