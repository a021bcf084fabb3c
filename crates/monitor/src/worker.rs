//! The loops that keep the path going: leased scans, statuses that time changes, upkeep.

use crate::scanner::ScanError;
use crate::{Scanner, schedule};
use model::names::DomainName;
use std::sync::Arc;
use std::time::Duration;
use store::Job;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A scan is bounded well below this; a lease that runs out belongs to a worker that died.
const LEASE: Duration = Duration::from_secs(120);
/// While the queue is long, scans that end within so long of each other have their successors fetched together.
const GATHER: Duration = Duration::from_millis(8);
/// How long scans under way may take to end when the worker is asked to stop.
const LAST_SCANS: Duration = Duration::from_secs(3);
/// How often the queue is looked through for scans that are too far ahead: one look into an index.
const STRAYS: Duration = Duration::from_secs(60);
/// So many of them are moved at once.
const TOGETHER: u32 = 500;
/// Jobs of this priority or more are what a person waits for.
pub const ASKED: i32 = 10;

/// Works off the queue. Any number may run, in any number of processes.
#[derive(Clone)]
pub struct Worker {
    scanner: Scanner,
    name: String,
    wake: Arc<Notify>,
}

impl Worker {
    /// A worker; `name` tells it from others in the lease table.
    pub fn new(scanner: Scanner, name: impl Into<String>) -> Self {
        Worker { scanner, name: name.into(), wake: Arc::default() }
    }

    /// Something was queued here: look now rather than at the next tick.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Runs until cancelled; scans under way may end within a few seconds, then they are given back to the queue.
    pub async fn run(&self, stop: CancellationToken) {
        let tasks = TaskTracker::new();
        let hurry = CancellationToken::new();
        tasks.spawn(self.clone().scans(stop.clone(), hurry.clone(), tasks.clone()));
        tasks.spawn(self.clone().judgements(stop.clone()));
        tasks.spawn(self.clone().upkeep(stop.clone()));
        tasks.spawn(self.clone().strays(stop.clone()));
        stop.cancelled().await;
        tasks.close();
        if tokio::time::timeout(LAST_SCANS, tasks.wait()).await.is_err() {
            hurry.cancel();
            tasks.wait().await;
        }
    }

    async fn scans(self, stop: CancellationToken, hurry: CancellationToken, tasks: TaskTracker) {
        let slots = Arc::new(Semaphore::new(self.scanner.policy.concurrency.max(1)));
        loop {
            let free = u32::try_from(slots.available_permits()).unwrap_or(u32::MAX);
            let now = self.scanner.clock.now();
            let leased = if free == 0 {
                Ok(Vec::new())
            } else {
                self.scanner.store.lease("scan", &self.name, free, LEASE, now).await
            };
            let jobs = leased.unwrap_or_else(|e| {
                tracing::warn!(error = %e, "the queue can't be read; trying again");
                Vec::new()
            });
            let more = !jobs.is_empty();
            for job in jobs {
                let Ok(slot) = slots.clone().acquire_owned().await else { return };
                let (worker, hurry) = (self.clone(), hurry.clone());
                tasks.spawn(async move {
                    tokio::select! {
                        () = worker.one(&job) => {}
                        () = hurry.cancelled() => worker.give_back(&job).await,
                    }
                    drop(slot);
                    worker.wake();
                });
            }
            // After taking some, look again at once unless all slots are busy; then a finished scan wakes us.
            let pause = if more && slots.available_permits() > 0 {
                Duration::ZERO
            } else {
                Duration::from_millis(500)
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.wake.notified() => if more || free == 0 { tokio::time::sleep(GATHER).await },
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn one(&self, job: &Job) {
        let name = DomainName::trusted(&job.key);
        let again = match self.scanner.scan_in_turn(&name, job.priority >= ASKED).await {
            Ok(scanned) => {
                let outcome = if scanned.recorded { "recorded" } else { "waiting" };
                metrics::counter!("domainscope_scans_total", "outcome" => outcome).increment(1);
                let now = self.scanner.clock.now();
                let next = schedule::next_scan(&name, self.scanner.policy.interval_s, now);
                // Where a registry had no room, the job comes back when it has; others go on meanwhile.
                Some(scanned.again_at.map_or(next, |turn| turn.clamp(now, next)))
            }
            Err(ScanError::NotHeld) => None,
            Err(ScanError::Store(e)) => {
                metrics::counter!("domainscope_scans_total", "outcome" => "not_recorded").increment(1);
                tracing::warn!(domain = %name, error = %e, "a scan was not recorded; its lease will run out and it is tried again");
                return;
            }
        };
        if let Err(e) = self.scanner.store.complete(job, again, self.scanner.clock.now()).await {
            tracing::warn!(domain = %name, error = %e, "a finished scan could not be taken off the queue");
        }
    }

    /// A scan that is not waited for: whoever looks next, here or elsewhere, makes it anew, as soon as it was wanted.
    async fn give_back(&self, job: &Job) {
        let now = self.scanner.clock.now();
        let mut given = self.scanner.store.complete(job, Some(now), now).await;
        if given.is_ok() && job.priority > 0 {
            given = self.scanner.store.enqueue("scan", &job.key, now, job.priority).await;
        }
        if let Err(e) = given {
            tracing::warn!(domain = job.key, error = %e, "a scan was cut off; its lease will run out and it is tried again");
        }
    }

    async fn judgements(self, stop: CancellationToken) {
        loop {
            let pause = match self.scanner.judge_due().await {
                Ok(n) if n > 0 => Duration::ZERO,
                Ok(_) => Duration::from_secs(20),
                Err(e) => {
                    tracing::warn!(error = %e, "statuses could not be judged again; trying again");
                    Duration::from_secs(20)
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Scans that are due later than any schedule may say were put there while the clock was wrong: they get the place
    /// their names have on the schedule. How many there were.
    ///
    /// # Errors
    /// When the queue can't be read or written.
    pub async fn bring_back(&self) -> Result<u64, store::Error> {
        let interval_s = self.scanner.policy.interval_s;
        let now = self.scanner.clock.now();
        let furthest = schedule::furthest(interval_s, now);
        let mut moved = 0;
        loop {
            let names = self.scanner.store.due_after("scan", furthest, TOGETHER).await?;
            let place = |key: String| {
                let at = schedule::next_scan(&DomainName::trusted(&key), interval_s, now);
                (key, at)
            };
            let times: Vec<_> = names.into_iter().map(place).collect();
            moved += self.scanner.store.draw_back("scan", furthest, &times).await?;
            if times.len() < TOGETHER as usize {
                return Ok(moved);
            }
        }
    }

    async fn strays(self, stop: CancellationToken) {
        loop {
            match self.bring_back().await {
                Ok(0) => {}
                Ok(n) => {
                    tracing::warn!(scans = n, "scans were due far ahead (the clock was wrong); drawn back");
                }
                Err(e) => tracing::warn!(error = %e, "the queue can't be looked through; trying again"),
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(STRAYS) => {}
            }
        }
    }

    async fn upkeep(self, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(Duration::from_secs(6 * 3600)) => {}
            }
            let now = self.scanner.clock.now();
            match self.scanner.store.prune(now, self.scanner.policy.keep_days).await {
                Ok(n) => tracing::info!(rows = n, "old history pruned"),
                Err(e) => tracing::warn!(error = %e, "old history could not be pruned"),
            }
        }
    }
}
