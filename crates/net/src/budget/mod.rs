//! Rate limits of registry hosts: for each host one budget of concurrency, rate and questions a day, shared by all
//! replicas, and back-off when the host asks for it. In: a host, its [`Limit`], how long to wait; out: a [`Permit`], or
//! when to come back.
//!
//! [`HostState`] decides, without clock or I/O; a [`Ledger`] stores the states; this module waits. A grant is one write
//! to the ledger, which also carries the permits returned meanwhile.

mod ledger;
mod limit;
mod state;
mod turn;

pub use ledger::{Kept, Ledger, Memory};
pub use limit::Limit;
pub use state::{Decision, HostState, LEASE, LONGEST_BLOCK, LONGEST_QUEUE, Reason};
pub use turn::Permit;

use crate::Error;
use jiff::Timestamp;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;
use turn::{Host, Waiting};

/// Wait of callers beyond [`Patience::max_waiters`]: long enough for a place that is about to become free.
const MOMENT: Duration = Duration::from_millis(40);
/// Hosts with a label of their own in the metrics.
const LABELS: usize = 1_000;
/// Delay before a ledger that can't be read is tried again.
const LEDGER_RETRY: Duration = Duration::from_secs(5);

/// How long a caller waits for its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Longest wait.
    pub wait: Duration,
    /// Callers of this process that may wait for the same host; further ones return almost at once.
    pub max_waiters: usize,
    /// A caller that has to come back later takes a place in the host's queue. Set for callers that do come back (the
    /// schedule); a place that is not used (a person who presses a button again) would delay everybody else.
    pub queues: bool,
}

impl Patience {
    /// Waits up to `wait` however many wait, and takes a place in the queue when that is too short.
    pub fn of(wait: Duration) -> Self {
        Patience { wait, max_waiters: usize::MAX, queues: true }
    }
}

/// The budgets of all hosts. Cheap to clone; clones are one.
#[derive(Clone)]
pub struct Budgets(Arc<Inner>);

struct Inner {
    ledger: Arc<dyn Ledger>,
    now: Box<dyn Fn() -> Timestamp + Send + Sync>,
    hosts: Mutex<HashMap<String, Arc<Host>>>,
    /// Hosts with a label of their own in the metrics.
    labelled: Mutex<HashSet<String>>,
}

impl std::fmt::Debug for Budgets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Budgets").field("hosts", &lock(&self.0.hosts).len()).finish_non_exhaustive()
    }
}

impl Default for Budgets {
    fn default() -> Self {
        Budgets::new()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Budgets {
    /// Budgets of this process alone, by the system's clock.
    pub fn new() -> Self {
        Budgets::shared(Arc::new(Memory::default()), Timestamp::now)
    }

    /// Budgets shared with all who use the same ledger. Their clocks should agree to a second or so.
    pub fn shared(ledger: Arc<dyn Ledger>, now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Budgets(Arc::new(Inner {
            ledger,
            now: Box::new(now),
            hosts: Mutex::default(),
            labelled: Mutex::default(),
        }))
    }

    fn host(&self, host: &str) -> Arc<Host> {
        let name = host.to_ascii_lowercase();
        let mut hosts = lock(&self.0.hosts);
        // Host names come from outside (registrars' servers), so the table is bounded: unused ones are dropped.
        if hosts.len() >= 10_000 {
            hosts.retain(|_, h| Arc::strong_count(h) > 1);
        }
        let make = || {
            Arc::new(Host {
                name: name.clone(),
                known: tokio::sync::Mutex::default(),
                returned: Mutex::default(),
                carried: AtomicBool::new(false),
                freed: Notify::new(),
                waiting: AtomicUsize::new(0),
            })
        };
        hosts.entry(name.clone()).or_insert_with(make).clone()
    }

    /// Acquires a permit to ask `host`, waiting no longer than the patience.
    ///
    /// # Errors
    /// [`Error::Budget`] with the time to come back when the host asked us to wait, when our own turn would come too
    /// late, or when the ledger can't be read.
    pub async fn acquire(&self, host: &str, limit: Limit, patience: Patience) -> Result<Permit, Error> {
        let entry = self.host(host);
        let before = entry.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(&entry.waiting);
        let wait = if before < patience.max_waiters { patience.wait } else { patience.wait.min(MOMENT) };
        // Monotonic: a wall clock that is set back would prolong every wait.
        let began = Instant::now();
        // Made before the lease is requested: when the caller is dropped in between, the lease is returned.
        let mut permit = Permit {
            budgets: self.clone(),
            host: entry.clone(),
            id: rand::random(),
            well: false,
            may_hold_lease: true,
        };
        loop {
            let freed = entry.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            let id = permit.id;
            let decided = self
                .step(&entry, |state, now| {
                    let before = (!patience.queues).then(|| state.clone());
                    let decision = state.take(limit, now, wait.saturating_sub(began.elapsed()), id);
                    if let (Some(before), Decision::NotBefore(..)) = (before, decision) {
                        *state = before;
                    }
                    // Other replicas may have freed places; only the ledger knows.
                    (decision, matches!(decision, Decision::Look(_)))
                })
                .await;
            let decision = decided.inspect_err(|_| permit.may_hold_lease = false).map_err(|reason| {
                tracing::warn!(host = %entry.name, %reason, "the budget of a registry host can't be read");
                refused(&entry.name, LEDGER_RETRY, Reason::Unknown)
            })?;
            match decision {
                Decision::Granted(at) => {
                    let wait = self.until(at);
                    tokio::time::sleep(wait).await;
                    if let Some(until) = self.blocked_meanwhile(&entry, wait).await {
                        return Err(refused(&entry.name, self.until(until), Reason::Asked));
                    }
                    metrics::counter!("domainscope_registry_questions_total").increment(1);
                    return Ok(permit);
                }
                Decision::Look(at) => {
                    let _ = tokio::time::timeout(self.until(at), freed).await;
                }
                Decision::NotBefore(at, reason) => {
                    permit.may_hold_lease = false;
                    return Err(refused(&entry.name, self.until(at), reason));
                }
            }
        }
    }

    /// Until when the host is blocked, if it asked for that while a caller waited for its start.
    async fn blocked_meanwhile(&self, entry: &Host, waited: Duration) -> Option<Timestamp> {
        if waited.is_zero() {
            return None;
        }
        // After a short wait, what this process knows is enough; after a longer one, other replicas are asked too.
        if waited < Duration::from_secs(1) {
            return entry.known.lock().await.state.blocked_until((self.0.now)());
        }
        self.step(entry, |state, now| (state.blocked_until(now), true)).await.unwrap_or_default()
    }

    fn until(&self, at: Timestamp) -> Duration {
        Duration::try_from(at.duration_since((self.0.now)())).unwrap_or_default()
    }

    /// Records that `host` asked us to wait, and for how long; returns how long all replicas will wait. It is recorded
    /// even when the caller is dropped meanwhile.
    pub async fn back_off(&self, host: &str, asked: Option<Duration>, base: Duration) -> Duration {
        let (budgets, entry) = (self.clone(), self.host(host));
        let noted = tokio::spawn(async move { budgets.note(&entry, asked, base).await });
        noted.await.unwrap_or_else(|_| asked.unwrap_or(base))
    }

    async fn note(&self, entry: &Host, asked: Option<Duration>, base: Duration) -> Duration {
        metrics::counter!("domainscope_registry_throttled_total", "host" => self.label(&entry.name))
            .increment(1);
        let jitter = rand::random();
        let noted = self.step(entry, |state, now| (state.penalise(now, asked, base, jitter), false)).await;
        if let Ok(wait) = &noted {
            tracing::info!(host = %entry.name, seconds = wait.as_secs(), "a registry host asked us to wait");
        }
        noted.unwrap_or_else(|reason| {
            tracing::warn!(host = %entry.name, %reason, "the back-off of a registry host can't be written");
            asked.unwrap_or(base)
        })
    }

    /// The metrics label of a host. Labels are never removed and host names come from outside, so their number is
    /// bounded; further hosts share the label `other`.
    fn label(&self, host: &str) -> String {
        let mut labelled = lock(&self.0.labelled);
        if !labelled.contains(host) {
            if labelled.len() >= LABELS {
                return "other".to_string();
            }
            labelled.insert(host.to_string());
        }
        host.to_string()
    }

    /// Hosts that asked us to wait and until when, as far as this process knows.
    pub fn blocked(&self) -> Vec<(String, Timestamp)> {
        let now = (self.0.now)();
        let hosts: Vec<_> = lock(&self.0.hosts).values().cloned().collect();
        // A host that is locked at this moment is reported the next time.
        let until = |h: &Arc<Host>| h.known.try_lock().ok()?.state.blocked_until(now);
        hosts.iter().filter_map(|h| Some((h.name.clone(), until(h)?))).collect()
    }
}

fn refused(host: &str, wait: Duration, reason: Reason) -> Error {
    metrics::counter!("domainscope_registry_postponed_total", "reason" => reason.label()).increment(1);
    Error::Budget { host: host.to_string(), wait, reason }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
