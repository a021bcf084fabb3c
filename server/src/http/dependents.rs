//! The garbage collector of the resource API in the background of a server: woken by writes of its own process, and every
//! half minute for what others did, such as removing a domain on a page.

use super::AppState;
use resources::{Collected, Linked};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Between two looks at what other processes and pages changed.
const EVERY: Duration = Duration::from_secs(30);
/// Objects that are read at once.
const PART: u32 = 1_000;
/// The collector rests this many times as long as it worked, so that many deletions can't keep it busy.
const REST: u32 = 4;

impl AppState {
    /// Collects dependents until that changes nothing; returns how many objects it changed.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn collect_dependents(&self) -> store::Result<usize> {
        let mut changed = 0;
        loop {
            let round = self.collect_once().await?;
            if round == 0 {
                return Ok(changed);
            }
            changed += round;
        }
    }

    /// One pass over the objects of each organisation. What an organisation has left waits for the next pass.
    async fn collect_once(&self) -> store::Result<usize> {
        let store = &self.services.scanner.store;
        let mut changed = 0;
        for org in store.linked_orgs().await? {
            let mut linked = Vec::new();
            for kind in Linked::log_kinds() {
                let mut after = String::new();
                loop {
                    let part = store.linked_objects(org, kind, &after, PART).await?;
                    let Some((last, _)) = part.last() else { break };
                    after.clone_from(last);
                    linked.extend(part.iter().filter_map(|(n, m)| Linked::read(kind, n.clone(), m)));
                }
            }
            let Collected { changed: here, failed } = self.resources.collect(org, &linked).await;
            changed += here;
            for (name, e) in failed {
                tracing::debug!(org = org.0, name, error = e.message, "a dependent could not be collected");
            }
        }
        Ok(changed)
    }

    /// Collects dependents until the server stops.
    pub async fn keep_collecting(self, stop: CancellationToken) {
        let mut is_failing = false;
        let mut seen = None;
        let mut is_woken = true;
        loop {
            let began = Instant::now();
            let head = self.services.scanner.store.head().await.ok();
            // A log that did not move says that nothing was deleted.
            if is_woken || head.is_none() || head != seen {
                match self.collect_dependents().await {
                    Ok(changed) => {
                        if changed > 0 {
                            tracing::info!(changed, "collected dependents of deleted objects");
                        }
                        (is_failing, seen) = (false, head);
                    }
                    // Logged once for each outage.
                    Err(e) if !is_failing => {
                        tracing::warn!(error = %e, "dependents could not be collected; trying again");
                        is_failing = true;
                    }
                    Err(_) => {}
                }
            }
            let next = async {
                tokio::time::sleep(began.elapsed() * REST).await;
                tokio::time::timeout(EVERY, self.resources.links_changed()).await.is_ok()
            };
            is_woken = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                woken = next => woken,
            };
        }
    }
}
