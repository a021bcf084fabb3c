//! One host as a process knows it: what the ledger held last, what is to be given back, who waits; and the step that
//! judges and writes. In: a judgement; out: its answer, once the ledger holds what it decided.

use super::{Budgets, HostState, Limit, lock};
use jiff::Timestamp;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// How long a lease that was given back may wait for the next grant to carry it to the ledger.
const CARRY: Duration = Duration::from_millis(10);
/// How long the ledger is waited for.
const LEDGER: Duration = Duration::from_secs(5);
/// How often a write that others overtook is tried again.
const TRIES: u32 = 50;

pub(super) struct Host {
    pub name: String,
    /// What is in the ledger as far as this process knows.
    pub known: tokio::sync::Mutex<Known>,
    pub returned: Mutex<Vec<Returned>>,
    /// Somebody carries `returned` to the ledger already.
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

/// Counts who waits for a host, for as long as it lives.
pub(super) struct Waiting<'a>(pub &'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A database that hangs must not keep everybody who wants to ask the host.
async fn in_time<T>(ledger: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let late = |_| format!("no answer within {} s", LEDGER.as_secs());
    tokio::time::timeout(LEDGER, ledger).await.map_err(late)?
}

impl Budgets {
    /// One judgement over what the ledger holds, written back. Whoever is overtaken judges again.
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
        Err(format!("{TRIES} others were faster"))
    }

    async fn load(&self, host: &str) -> Result<Known, String> {
        Ok(match in_time(self.0.ledger.load(host)).await? {
            // A text another release wrote and we can't read is as good as none: the host is known anew.
            Some((version, text)) => {
                Known { version: Some(version), state: serde_json::from_str(&text).unwrap_or_default() }
            }
            None => Known::default(),
        })
    }

    /// Carries what was given back to the ledger unless a grant does so first.
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
                // It runs out by itself.
                tracing::debug!(host = %entry.name, %reason, "a lease can't be given back");
            }
        });
    }
}

/// Leave to ask a host once; given back when dropped.
pub struct Permit {
    pub(super) budgets: Budgets,
    pub(super) host: Arc<Host>,
    pub(super) id: u64,
    pub(super) well: bool,
    /// Whether there may be a lease to give back.
    pub(super) given: bool,
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

    /// The host sent us on to another place of its own: one more question under the same leave. It is counted, and
    /// who comes next waits the longer; waiting here could leave a strict host that redirects never to be asked.
    pub async fn once_more(&self, limit: Limit) {
        let counted = self.budgets.step(&self.host, |state, now| (state.count_one_more(limit, now), false));
        if let Err(reason) = counted.await {
            tracing::warn!(host = %self.host.name, %reason, "a question within a redirect is not counted");
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if !self.given {
            return;
        }
        let at = (self.budgets.0.now)();
        lock(&self.host.returned).push(Returned { id: self.id, at, well: self.well });
        self.host.freed.notify_one();
        self.budgets.carry(&self.host);
    }
}
