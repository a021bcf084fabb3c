//! What live pages are told: scans as they move on, and the change log as it grows.
//!
//! Progress is of this process only; the log is everybody's and is read from the store, so that a page sees what
//! any replica recorded.

use jiff::Timestamp;
use model::ids::Rv;
use model::names::DomainName;
use model::scan::{Live, ScanProgress, ScanResult, Stage, StageResult};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::Store;
use tokio::sync::{Notify, broadcast};
use tokio_util::sync::CancellationToken;

/// Finished scans stay visible for the last so many names, so that a page that asks a moment later still learns
/// the result.
const FINISHED_KEPT: usize = 500;

/// The hub. Cheap to clone.
#[derive(Clone)]
pub struct Hub(Arc<Inner>);

struct Inner {
    scans: Mutex<HashMap<DomainName, ScanProgress>>,
    live: broadcast::Sender<Live>,
    recorded: Notify,
}

impl Default for Hub {
    fn default() -> Self {
        let (live, _) = broadcast::channel(4096);
        Hub(Arc::new(Inner { scans: Mutex::default(), live, recorded: Notify::new() }))
    }
}

impl Hub {
    /// What happens from now on. A receiver that falls behind is told so and must read the state anew.
    pub fn subscribe(&self) -> broadcast::Receiver<Live> {
        self.0.live.subscribe()
    }

    /// Wakes the reader of the change log: something was recorded here.
    pub fn recorded(&self) {
        self.0.recorded.notify_one();
    }

    /// A scan that waits, runs or has just ended.
    pub fn progress(&self, name: &DomainName) -> Option<ScanProgress> {
        self.scans().get(name).cloned()
    }

    /// All scans that wait or run here, longest first, at most `limit`.
    pub fn running(&self, limit: usize) -> Vec<ScanProgress> {
        let mut all: Vec<_> = self.scans().values().filter(|p| !p.finished()).cloned().collect();
        all.sort_by_key(|p| p.started_at);
        all.truncate(limit);
        all
    }

    fn scans(&self) -> std::sync::MutexGuard<'_, HashMap<DomainName, ScanProgress>> {
        self.0.scans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, name: &DomainName, at: Timestamp, f: impl FnOnce(&mut ScanProgress)) {
        let told = {
            let mut scans = self.scans();
            let p = scans.entry(name.clone()).or_insert_with(|| ScanProgress {
                name: name.clone(),
                running: vec![Stage::Queued],
                done: Vec::new(),
                started_at: at,
                result: None,
            });
            f(p);
            p.clone()
        };
        // Nobody listening is not an error.
        let _ = self.0.live.send(Live::Scan(told));
    }

    /// A scan was asked for at this time and waits for its turn. One that runs already is left alone, and so is one that
    /// began since and has ended: a worker may be quicker than whoever tells us.
    pub fn queued(&self, name: &DomainName, at: Timestamp) {
        self.change(name, at, |p| {
            if p.finished() && p.started_at < at {
                *p = ScanProgress {
                    running: vec![Stage::Queued],
                    done: Vec::new(),
                    started_at: at,
                    result: None,
                    ..p.clone()
                };
            }
        });
    }

    /// A scan begins with these stages.
    pub fn started(&self, name: &DomainName, at: Timestamp, stages: &[Stage]) {
        self.change(name, at, |p| {
            if p.finished() {
                p.started_at = at;
            }
            p.running = stages.to_vec();
            p.done.clear();
            p.result = None;
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
        let mut scans = self.scans();
        let mut ended: Vec<_> =
            scans.values().filter(|p| p.finished()).map(|p| (p.started_at, p.name.clone())).collect();
        if ended.len() > FINISHED_KEPT {
            ended.sort();
            for (_, name) in ended.drain(..FINISHED_KEPT / 2) {
                scans.remove(&name);
            }
        }
    }

    /// Forgets a scan that will not run (its name was removed).
    pub fn forget(&self, name: &DomainName) {
        self.scans().remove(name);
    }

    /// Reads the change log from its head on and tells it to everybody, until cancelled. Looks when something was
    /// recorded here, and every `interval` for what others recorded.
    pub async fn follow_log(self, store: Arc<dyn Store>, interval: Duration, stop: CancellationToken) {
        // Everything from before this moment is in what pages read; a database that is away is asked again.
        let mut at: Option<Rv> = store.head().await.ok();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.0.recorded.notified() => {}
                () = tokio::time::sleep(interval) => {}
            }
            let Some(from) = at else {
                at = store.head().await.ok();
                continue;
            };
            // A database that is away for a moment is tried again; the cursor stands where it was.
            let Ok(entries) = store.log_since(None, from, 1000).await else { continue };
            for e in entries {
                at = Some(e.rv);
                let _ = self.0.live.send(Live::Changed(e));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_that_was_quicker_than_word_of_it_is_not_waited_for_for_ever() {
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
