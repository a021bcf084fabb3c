//! The loop that works off the queue: leases scans, runs them within their deadline, and says how each ended.

use crate::places;
use crate::scanner::ScanError;
use crate::services::{self, ServiceInspector};
use crate::upkeep::{self, Upkeep};
use crate::{Scanner, schedule};
use features::Duty;
use futures::FutureExt;
use jiff::Timestamp;
use model::names::DomainName;
use model::scan::ScanResult;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use store::{Job, JobKind, LeasedJob, Priority, Retry};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// While the queue is long, scans that end within so long of each other have their successors fetched together.
const GATHER: Duration = Duration::from_millis(8);
/// Attempts to take a finished scan off the queue, and the time between two.
const COMPLETIONS: usize = 3;
const COMPLETE_AGAIN: Duration = Duration::from_secs(1);
/// How long scans under way may take to end when the worker is asked to stop.
const LAST_SCANS: Duration = Duration::from_secs(3);

/// Name of the duty to delete old rows.
pub const UPKEEP: &str = "upkeep";

/// Works off the queue. Any number may run, in any number of processes.
#[derive(Clone)]
pub struct Worker {
    pub(crate) scanner: Scanner,
    pub(crate) name: String,
    wake: Arc<Notify>,
    inspector: Option<Arc<dyn ServiceInspector>>,
    upkeep: Duty,
    /// Names that points of presence are asked about.
    places: Arc<Semaphore>,
}

impl Worker {
    /// A worker; `name` tells it from others in the lease table.
    pub fn new(scanner: Scanner, name: impl Into<String>) -> Self {
        let upkeep = Duty::alone(UPKEEP);
        let places = Arc::new(Semaphore::new(places::AT_ONCE));
        Worker { scanner, name: name.into(), wake: Arc::default(), inspector: None, upkeep, places }
    }

    /// The same that deletes old rows only while the duty ([`UPKEEP`]) is its process's.
    #[must_use]
    pub fn with_upkeep(self, upkeep: Duty) -> Self {
        Worker { upkeep, ..self }
    }

    /// The same that also checks configured services again.
    #[must_use]
    pub fn with_services(self, inspector: Arc<dyn ServiceInspector>) -> Self {
        Worker { inspector: Some(inspector), ..self }
    }

    /// Something was queued here: look now rather than at the next tick.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Runs until cancelled; scans under way may end within a few seconds, then they are returned to the queue.
    pub async fn run(&self, stop: CancellationToken) {
        let tasks = TaskTracker::new();
        let hurry = CancellationToken::new();
        let scanner = &self.scanner;
        tasks.spawn(self.clone().scans(stop.clone(), hurry.clone(), tasks.clone()));
        tasks.spawn(crate::claims::run(self.clone(), stop.clone(), tasks.clone()));
        tasks.spawn(upkeep::judgements(scanner.clone(), stop.clone()));
        tasks.spawn(Upkeep::new(scanner.clone(), self.upkeep.clone()).run(stop.clone()));
        tasks.spawn(upkeep::far_future(scanner.clone(), stop.clone()));
        if let Some(inspector) = self.inspector.clone() {
            tasks.spawn(services::run(scanner.clone(), inspector, self.name.clone(), stop.clone()));
        }
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
                self.scanner.store.lease(JobKind::Scan, &self.name, free, now).await
            };
            let jobs = leased.unwrap_or_else(|e| {
                tracing::warn!(error = %e, "the queue can't be read; trying again");
                Vec::new()
            });
            let more = !jobs.is_empty();
            for job in jobs {
                let Ok(slot) = slots.clone().acquire_owned().await else { return };
                let (worker, hurry, stop) = (self.clone(), hurry.clone(), stop.clone());
                tasks.spawn(async move {
                    let places_due = tokio::select! {
                        due = worker.one(&job) => due,
                        () = hurry.cancelled() => {
                            worker.release(&job).await;
                            false
                        }
                    };
                    drop(slot);
                    worker.wake();
                    if places_due {
                        tokio::select! {
                            () = worker.ask_places(&job) => {}
                            () = stop.cancelled() => {}
                        }
                    }
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

    /// Asks the points of presence about a name after its scan, unless they are asked about others already.
    async fn ask_places(&self, job: &LeasedJob) {
        if let (Job::Scan(name), Ok(_turn)) = (&job.job, self.places.try_acquire()) {
            self.scanner.sample_places_quietly(name).await;
        }
    }

    /// Scans a name; true when points of presence are to be asked about it then.
    async fn one(&self, job: &LeasedJob) -> bool {
        let Job::Scan(name) = &job.job else { return false };
        let deadline = JobKind::Scan.policy().deadline;
        let scan = self.scanner.scan_in_turn(name, job.priority == Priority::Requested);
        // A scan that panics is a failed attempt like any other; nothing it held outlives it.
        let scan = AssertUnwindSafe(scan).catch_unwind();
        let mut places_due = false;
        let (next, outcome) = match tokio::time::timeout(deadline, scan).await {
            Ok(Ok(Ok(scanned))) => {
                places_due = scanned.places_due;
                let outcome = if scanned.recorded { "recorded" } else { "waiting" };
                metrics::counter!("domainscope_scans_total", "outcome" => outcome).increment(1);
                let now = self.scanner.clock.now();
                let next = schedule::next_scan(name, scanned.interval_s, now);
                // Where a registry had no room, the job comes back when it has; others go on meanwhile.
                let next = scanned.again_at.map_or(next, |turn| turn.clamp(now, next));
                (Some(next), self.outcome(job, &scanned.result))
            }
            Ok(Ok(Err(ScanError::NotHeld))) => (None, None),
            Ok(Ok(Err(ScanError::Store(e)))) => {
                self.failed(job, name, "not_recorded", &format!("the result could not be recorded: {e}"))
                    .await;
                return false;
            }
            Ok(Err(panic)) => {
                self.failed(job, name, "panicked", &panic_message(&*panic)).await;
                return false;
            }
            Err(_) => {
                let reason = format!("it took longer than {} s", deadline.as_secs());
                self.failed(job, name, "deadline", &reason).await;
                return false;
            }
        };
        self.complete(job, name, next, outcome).await;
        places_due
    }

    /// Takes a finished scan off the queue. A database that is busy for a moment would otherwise keep the name, and a
    /// Rescan of it, until the lease ends; the lease's number makes the repetition harmless.
    async fn complete(
        &self,
        job: &LeasedJob,
        name: &DomainName,
        next: Option<Timestamp>,
        outcome: Option<String>,
    ) {
        for left in (0..COMPLETIONS).rev() {
            let now = self.scanner.clock.now();
            match self.scanner.store.complete(job, next, outcome.clone(), now).await {
                Ok(()) => return,
                Err(store::Error::Unavailable(_)) if left > 0 => tokio::time::sleep(COMPLETE_AGAIN).await,
                Err(e) => {
                    tracing::warn!(domain = %name, error = %e, "a finished scan could not be taken off the queue");
                    return;
                }
            }
        }
    }

    /// The outcome for the pages of other replicas, where a person waits for it.
    fn outcome(&self, job: &LeasedJob, result: &ScanResult) -> Option<String> {
        let waited_for = job.priority > Priority::Scheduled;
        waited_for.then(|| serde_json::to_string(result).ok()).flatten()
    }

    /// An attempt without result: the next one, or none until a person asks.
    async fn failed(&self, job: &LeasedJob, name: &DomainName, label: &'static str, reason: &str) {
        metrics::counter!("domainscope_scans_total", "outcome" => label).increment(1);
        let now = self.scanner.clock.now();
        let retry = self.scanner.store.fail(job, reason, now).await;
        let next = match &retry {
            Ok(Retry::At(at)) => format!("The scan failed and is tried again at {}", at_second(*at)),
            Ok(Retry::GivenUp) => {
                format!("Scans are suspended after {} failed attempts; Rescan to try again", job.attempt)
            }
            Ok(Retry::LeaseLost) => "The scan was taken over by another process".to_string(),
            Err(_) => "The scan failed and is tried again when its lease ends".to_string(),
        };
        let attempt = job.attempt;
        match retry {
            Ok(Retry::GivenUp) => {
                tracing::error!(domain = %name, attempt, reason, "scans of a domain are suspended");
            }
            Ok(_) => tracing::warn!(domain = %name, attempt, reason, "a scan failed; it is tried again"),
            Err(e) => {
                tracing::warn!(domain = %name, attempt, reason, error = %e, "a scan failed and its lease will run out");
            }
        }
        let sentence = format!("{next}: {reason}");
        self.scanner.hub.finished(name, now, ScanResult { changes: vec![], sentence, failed: true });
    }

    /// A scan that is cut off by the end of the process: the next worker runs it, here or elsewhere.
    async fn release(&self, job: &LeasedJob) {
        if let Err(e) = self.scanner.store.release(job, self.scanner.clock.now()).await {
            tracing::warn!(domain = job.job.key(), error = %e, "a scan was cut off; it is tried again when its lease ends");
        }
    }

    /// Scans that are due later than any schedule may say were put there while the clock was wrong: they get the place
    /// their names have on the schedule. How many there were.
    ///
    /// # Errors
    /// When the queue can't be read or written.
    pub async fn reschedule_far_future(&self) -> Result<u64, store::Error> {
        upkeep::reschedule_far_future(&self.scanner).await
    }
}

/// An instant for people, to the second.
fn at_second(at: Timestamp) -> String {
    at.strftime("%H:%M:%S UTC").to_string()
}

pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_string());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("an internal error: {}", text.unwrap_or_else(|| "no message".into()))
}
