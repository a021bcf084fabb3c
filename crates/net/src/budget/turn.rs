//! One host as a process knows it: the last state read from the ledger, permits to return, callers that wait; and the
//! step that decides and writes (compare-and-swap). In: a decision; out: its answer, once the ledger holds it.

use super::{Budgets, HostState, Limit, lock};
use jiff::Timestamp;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// How long a returned lease may wait for the next grant to write it to the ledger.
const CARRY: Duration = Duration::from_millis(10);
/// Longest wait for the ledger.
const LEDGER: Duration = Duration::from_secs(5);
/// Attempts of a write that other writers overtake.
const TRIES: u32 = 50;

pub(super) struct Host {
    pub name: String,
    /// The last state read from the ledger.
    pub known: tokio::sync::Mutex<Known>,
    pub returned: Mutex<Vec<Returned>>,
    /// True while a task is about to write `returned` to the ledger.
    pub carried: AtomicBool,
    pub freed: Notify,
    pub waiting: AtomicUsize,
}

#[derive(Default, Clone)]
pub(super) struct Known {
    version: Option<i64>,
    pub state: HostState,
}

#[derive(Clone, Copy)]
pub(super) struct Returned {
    id: u64,
    at: Timestamp,
    well: bool,
}

/// Counts a waiting caller for as long as it lives.
pub(super) struct Waiting<'a>(pub &'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Bounds a ledger call: a database that hangs must not block every caller of the host.
async fn in_time<T>(ledger: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let late = |_| format!("no answer within {} s", LEDGER.as_secs());
    tokio::time::timeout(LEDGER, ledger).await.map_err(late)?
}

impl Budgets {
    /// Decides on the state in the ledger and writes the new one; decides again when another writer was faster.
    pub(super) async fn step<T>(
        &self,
        entry: &Host,
        judge: impl Fn(&mut HostState, Timestamp) -> (T, bool),
    ) -> Result<T, String> {
        let mut known = entry.known.lock().await;
        let mut fresh = false;
        for attempt in 0..TRIES {
            let returned = lock(&entry.returned).clone();
            if !fresh && returned.iter().any(|r| !known.state.holds(r.id)) {
                *known = self.load(&entry.name).await?;
                fresh = true;
            }
            let now = (self.0.now)();
            let mut state = known.state.clone();
            for r in &returned {
                state.release(r.id, r.at, r.well);
            }
            let (answer, be_sure) = judge(&mut state, now);
            if be_sure && !fresh {
                *known = self.load(&entry.name).await?;
                fresh = true;
                continue;
            }
            if state != known.state {
                let text = serde_json::to_string(&state).map_err(|e| e.to_string())?;
                match in_time(self.0.ledger.swap(&entry.name, known.version, &text, now)).await? {
                    Some(version) => *known = Known { version: Some(version), state },
                    None => {
                        if attempt > 2 {
                            tokio::time::sleep(Duration::from_millis(rand::random_range(1..5))).await;
                        }
                        *known = self.load(&entry.name).await?;
                        fresh = true;
                        continue;
                    }
                }
            }
            lock(&entry.returned).retain(|r| !returned.iter().any(|done| done.id == r.id));
            return Ok(answer);
        }
        Err(format!("other processes wrote it first {TRIES} times"))
    }

    async fn load(&self, host: &str) -> Result<Known, String> {
        Ok(match in_time(self.0.ledger.load(host)).await? {
            // An unreadable text (another release wrote it) counts as none: the host starts with a fresh budget.
            Some((version, text)) => {
                Known { version: Some(version), state: serde_json::from_str(&text).unwrap_or_default() }
            }
            None => Known::default(),
        })
    }

    /// Writes returned leases to the ledger unless a grant does so first.
    fn carry(&self, entry: &Arc<Host>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if entry.carried.swap(true, Ordering::AcqRel) {
            return;
        }
        let (budgets, entry) = (self.clone(), entry.clone());
        runtime.spawn(async move {
            tokio::time::sleep(CARRY).await;
            entry.carried.store(false, Ordering::Release);
            if !lock(&entry.returned).is_empty()
                && let Err(reason) = budgets.step(&entry, |_, _| ((), false)).await
            {
                // The lease expires by itself.
                tracing::debug!(host = %entry.name, %reason, "a lease can't be returned");
            }
        });
    }
}

/// Permission to ask a host once; returned when dropped.
pub struct Permit {
    pub(super) budgets: Budgets,
    pub(super) host: Arc<Host>,
    pub(super) id: u64,
    pub(super) well: bool,
    /// Whether there may be a lease to return.
    pub(super) may_hold_lease: bool,
}

impl std::fmt::Debug for Permit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Permit").field("host", &self.host.name).finish_non_exhaustive()
    }
}

impl Permit {
    /// The host answered, and did not ask us to wait.
    pub fn went_well(mut self) {
        self.well = true;
    }

    /// Counts one more question under the same permit, for a redirect to the same host. The next caller waits longer
    /// for it; waiting here could starve a strict host that redirects.
    pub async fn once_more(&self, limit: Limit) {
        let counted = self.budgets.step(&self.host, |state, now| (state.count_one_more(limit, now), false));
        if let Err(reason) = counted.await {
            tracing::warn!(host = %self.host.name, %reason, "a question after a redirect is not counted");
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if !self.may_hold_lease {
            return;
        }
        let at = (self.budgets.0.now)();
        lock(&self.host.returned).push(Returned { id: self.id, at, well: self.well });
        self.host.freed.notify_one();
        self.budgets.carry(&self.host);
    }
}
