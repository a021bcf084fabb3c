//! What live pages are told: scans as they move on, and the change log as it grows.
//!
//! The change log and the queue are in the store and are read from there, so that a page sees what any replica does:
//! which scans wait or run is in the queue, and so is how they ended. The stages of a scan are known to the process
//! that runs it only.

use crate::progress;
use crate::shared_faults::RemoteFaults;
use jiff::Timestamp;
use model::ids::LogPosition;
use model::names::DomainName;
use model::scan::{Live, ScanProgress, ScanResult, Stage, StageResult};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::{Job, JobKind, JobPhase, JobState, LogRead, Store};
use tokio::sync::{Notify, broadcast};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Finished scans stay visible for the last so many names, so that a page that asks a moment later still learns
/// the result.
const FINISHED_KEPT: usize = 500;
/// Scans that are followed at the same time; the rows of further ones change when they are recorded.
const FOLLOWED: usize = 5_000;
/// Jobs read from the queue at once.
const ACTIVE_READ: u32 = 500;
/// How long the reader of the change log waits after something was recorded here: scans that end within it are read
/// together.
const GATHER: Duration = Duration::from_millis(20);
/// Log entries read at once.
const LOG_READ: u32 = 1_000;

/// The hub. Cheap to clone.
#[derive(Clone)]
pub struct Hub(Arc<Inner>);

struct Inner {
    scans: Mutex<HashMap<DomainName, Followed>>,
    live: broadcast::Sender<Live>,
    recorded: Notify,
    faults: crate::faults::Faults,
    /// Identity of this process among those that share faults.
    process: String,
    remote: Mutex<RemoteFaults>,
}

struct Followed {
    progress: ScanProgress,
    /// True while this process runs it, and so knows better than the queue.
    here: bool,
}

impl Default for Hub {
    fn default() -> Self {
        Hub::on("")
    }
}

impl Hub {
    /// The hub of a process on this host; an empty name: the host is not known.
    pub fn on(host: &str) -> Self {
        let (live, _) = broadcast::channel(4096);
        // Part of keys and of patterns of the store.
        let host: String = host.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(64).collect();
        Hub(Arc::new(Inner {
            scans: Mutex::default(),
            live,
            recorded: Notify::new(),
            faults: crate::faults::Faults::default(),
            process: format!("{host}.{:032x}", rand::random::<u128>()),
            remote: Mutex::default(),
        }))
    }

    /// Faults of the installation that scans of this process, or of another one, found, and that last.
    pub fn faults(&self) -> Vec<model::health::OwnFault> {
        let own = self.0.faults.list();
        self.remote_faults(|remote| remote.merged(own))
    }

    pub(crate) fn process(&self) -> &str {
        &self.0.process
    }

    /// True for another process of the same host.
    pub(crate) fn shares_host_with(&self, process: &str) -> bool {
        let host = |id: &str| id.split_once('.').map(|(host, _)| host.to_string()).filter(|h| !h.is_empty());
        process != self.process() && host(process).is_some_and(|of| Some(of) == host(self.process()))
    }

    /// Reads or changes what is known of other processes' faults.
    pub(crate) fn remote_faults<T>(&self, f: impl FnOnce(&mut RemoteFaults) -> T) -> T {
        f(&mut self.0.remote.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What scans of this process know of its own faults.
    pub(crate) fn own_faults(&self) -> &crate::faults::Faults {
        &self.0.faults
    }

    /// What happens from now on. A receiver that falls behind gets an error and must read the state again.
    pub fn subscribe(&self) -> broadcast::Receiver<Live> {
        self.0.live.subscribe()
    }

    /// Wakes the reader of the change log: something was recorded here.
    pub fn recorded(&self) {
        self.0.recorded.notify_one();
    }

    /// A scan that waits, runs or has just ended, here or elsewhere.
    pub fn progress(&self, name: &DomainName) -> Option<ScanProgress> {
        self.scans().get(name).map(|f| f.progress.clone())
    }

    /// Scans that wait or run, here or elsewhere, longest first, at most `limit`.
    pub fn running(&self, limit: usize) -> Vec<ScanProgress> {
        let scans = self.scans();
        let mut all: Vec<_> = scans.values().map(|f| &f.progress).filter(|p| !p.finished()).collect();
        all.sort_by_key(|p| p.started_at);
        all.into_iter().take(limit).cloned().collect()
    }

    fn scans(&self) -> std::sync::MutexGuard<'_, HashMap<DomainName, Followed>> {
        self.0.scans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, live: Live) {
        // An error says that no page listens.
        let _ = self.0.live.send(live);
    }

    /// Changes what is known of a scan that runs here.
    fn change(&self, name: &DomainName, at: Timestamp, f: impl FnOnce(&mut ScanProgress)) {
        let changed = {
            let mut scans = self.scans();
            let followed = scans
                .entry(name.clone())
                .or_insert_with(|| Followed { progress: progress::queued(name, at), here: true });
            followed.here = true;
            f(&mut followed.progress);
            followed.progress.clone()
        };
        self.send(Live::Scan(changed));
    }

    /// A scan was asked for at this time and waits for its turn. One that runs already is left alone, and so is one that
    /// began since and has ended: a worker may be quicker than the caller.
    pub fn queued(&self, name: &DomainName, at: Timestamp) {
        {
            let mut scans = self.scans();
            let full = scans.len() >= FOLLOWED;
            match scans.get(name) {
                Some(f) if !f.progress.finished() || f.progress.started_at >= at => return,
                None if full => return,
                _ => {}
            }
            scans.insert(name.clone(), Followed { progress: progress::queued(name, at), here: false });
        }
        self.send(Live::Scan(progress::queued(name, at)));
    }

    /// A scan begins here with these stages.
    pub fn started(&self, name: &DomainName, at: Timestamp, stages: &[Stage]) {
        self.change(name, at, |p| {
            if p.finished() {
                p.started_at = at;
            }
            p.running = stages.to_vec();
            p.done.clear();
            p.result = None;
            p.suspended = false;
        });
    }

    /// A stage begins.
    pub fn stage_started(&self, name: &DomainName, at: Timestamp, stage: Stage) {
        self.change(name, at, |p| {
            if !p.running.contains(&stage) {
                p.running.push(stage);
            }
        });
    }

    /// A stage ended.
    pub fn stage_done(&self, name: &DomainName, at: Timestamp, result: StageResult) {
        self.change(name, at, |p| {
            p.running.retain(|s| *s != result.stage);
            p.done.push(result);
        });
    }

    /// The scan ended.
    pub fn finished(&self, name: &DomainName, at: Timestamp, result: ScanResult) {
        self.change(name, at, |p| {
            p.running = vec![Stage::Done];
            p.result = Some(result);
        });
        self.forget_oldest();
    }

    fn forget_oldest(&self) {
        let mut scans = self.scans();
        // Counted first: this runs after every scan, and names are copied only when some are forgotten.
        if scans.values().filter(|f| f.progress.finished()).count() <= FINISHED_KEPT {
            return;
        }
        let ended = scans.iter().filter(|(_, f)| f.progress.finished());
        let mut ended: Vec<_> = ended.map(|(name, f)| (f.progress.started_at, name.clone())).collect();
        ended.sort();
        for (_, name) in ended.drain(..FINISHED_KEPT / 2) {
            scans.remove(&name);
        }
    }

    /// Forgets a scan that will not run (its name was removed).
    pub fn forget(&self, name: &DomainName) {
        self.scans().remove(name);
    }

    /// Follows the change log and the queue until cancelled: the log when something was recorded here, both every
    /// `interval` for what others do.
    pub async fn follow(self, store: Arc<dyn Store>, interval: Duration, stop: CancellationToken) {
        let mut at = store.head().await.ok();
        let mut next = Instant::now() + interval;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.0.recorded.notified() => tokio::time::sleep(GATHER).await,
                () = tokio::time::sleep_until(next) => {}
            }
            at = self.follow_log(&*store, at).await;
            if Instant::now() >= next {
                self.follow_queue(&*store).await;
                next = Instant::now() + interval;
            }
        }
    }

    /// Sends what stands in the log after a position; the position reached. A database that does not answer is asked
    /// again later from the same position.
    async fn follow_log(&self, store: &dyn Store, at: Option<LogPosition>) -> Option<LogPosition> {
        let Some(mut at) = at else { return self.reset(store).await };
        loop {
            match store.log_since(None, at, LOG_READ).await {
                Err(_) => return Some(at),
                Ok(LogRead::ReadAnew) => return self.reset(store).await,
                Ok(LogRead::Entries(entries)) => {
                    let more = entries.len() == LOG_READ as usize;
                    for e in entries {
                        at = e.rv;
                        self.send(Live::Changed(e));
                    }
                    if !more {
                        return Some(at);
                    }
                }
            }
        }
    }

    /// What happened meanwhile is not known: every page reads its state again.
    async fn reset(&self, store: &dyn Store) -> Option<LogPosition> {
        let head = store.head().await.ok()?;
        self.send(Live::Reset { rv: head });
        Some(head)
    }

    /// Compares what is known of scans that run elsewhere with the queue.
    pub(crate) async fn follow_queue(&self, store: &dyn Store) {
        let Ok(active) = store.active_jobs(JobKind::Scan, ACTIVE_READ).await else { return };
        let mut seen = HashSet::with_capacity(active.len());
        for state in &active {
            self.active_elsewhere(state);
            seen.insert(state.job.key());
        }
        let ended: Vec<DomainName> = {
            let scans = self.scans();
            let elsewhere = scans.iter().filter(|(_, f)| !f.here && !f.progress.finished());
            let missing = elsewhere.filter(|(name, _)| !seen.contains(name.as_str()));
            missing.map(|(name, _)| name.clone()).take(2 * ACTIVE_READ as usize).collect()
        };
        if ended.is_empty() {
            return;
        }
        let keys = ended.iter().map(|n| n.as_str().to_string()).collect();
        let Ok(states) = store.job_states(JobKind::Scan, keys).await else { return };
        let states: HashMap<_, _> = states.iter().map(|s| (s.job.key(), s)).collect();
        for name in ended {
            match states.get(name.as_str()) {
                // Final: no organisation holds the name any more.
                None => self.forget(&name),
                Some(state) if state.is_active() => self.active_elsewhere(state),
                Some(state) => self.ended_elsewhere(&name, state),
            }
        }
        self.forget_oldest();
    }

    /// The queue says that a scan waits or runs.
    fn active_elsewhere(&self, state: &JobState) {
        let Job::Scan(name) = &state.job else { return };
        let (JobPhase::Waiting { run_at } | JobPhase::Running { run_at }) = state.phase else { return };
        let stages: &[Stage] =
            if matches!(state.phase, JobPhase::Running { .. }) { &[] } else { &[Stage::Queued] };
        let changed = {
            let mut scans = self.scans();
            let full = scans.len() >= FOLLOWED;
            let known = scans.get(name).map(|f| (f.here, &f.progress));
            let started_at = match known {
                None if full => return,
                None => run_at,
                // This process knows better, or has just ended this very run.
                Some((_, p)) if p.finished() && p.started_at >= run_at => return,
                Some((_, p)) if p.finished() => run_at,
                Some((true, _)) => return,
                Some((false, p)) if p.running == stages => return,
                Some((false, p)) => p.started_at,
            };
            let progress = ScanProgress { running: stages.to_vec(), ..progress::queued(name, started_at) };
            scans.insert(name.clone(), Followed { progress: progress.clone(), here: false });
            progress
        };
        self.send(Live::Scan(changed));
    }

    /// The queue says that a scan is neither waited for nor running any more.
    fn ended_elsewhere(&self, name: &DomainName, state: &JobState) {
        let changed = {
            let mut scans = self.scans();
            let Some(f) = scans.get_mut(name).filter(|f| !f.here && !f.progress.finished()) else { return };
            f.progress.running = vec![Stage::Done];
            f.progress.result = Some(progress::result_of(state, f.progress.started_at));
            f.progress.suspended = matches!(state.phase, JobPhase::Parked { .. });
            f.progress.clone()
        };
        self.send(Live::Scan(changed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_that_ends_before_its_request_is_noted_does_not_stay_queued() {
        let hub = Hub::default();
        let name = DomainName::trusted("q7.io");
        let at = |s: i64| Timestamp::from_second(s).unwrap();
        let done = || ScanResult { changes: vec![], sentence: "Nothing changed".into(), failed: false };
        for asked in [10, 20] {
            // Asked for, taken by a worker at once and done; only then the hub hears that it was asked for.
            hub.started(&name, at(asked + 1), &[]);
            hub.finished(&name, at(asked + 2), done());
            hub.queued(&name, at(asked));
            assert!(hub.progress(&name).unwrap().finished(), "asked at {asked}");
        }
        // Asked for after the last one began: that is another scan, which has still to come.
        hub.queued(&name, at(22));
        assert!(!hub.progress(&name).unwrap().finished());
        hub.started(&name, at(23), &[]);
        assert_eq!(hub.progress(&name).unwrap().started_at, at(22), "since when it is waited for");
    }
}
