//! What time alone changes: statuses, and reminders of domains whose next scan is far off or suspended. A scan that comes
//! in time says itself what it reminds of; so does one that is late (the machine was off), with what it sees.

use crate::Scanner;
use jiff::Timestamp;
use model::expiry::{next_reminder, remind};
use model::inventory::Row;
use model::item::Item;
use model::judge::Thresholds;
use model::observation::Observation;
use std::collections::{BTreeSet, HashSet};
use std::time::Instant;
use store::{ItemOutcome, JobKind, JobPhase};

/// Seconds for which a reminder waits for the scan that makes it.
const OVERDUE_S: i64 = 7200;

/// The setting that keeps what was judged by.
const THRESHOLDS: &str = "status-thresholds";

/// True when a reminder that is due at an instant can't wait for the next scan.
fn is_far_off(item: &Item, at: Timestamp) -> bool {
    item.next_scan_at.is_some_and(|next| next > model::time::plus(at, OVERDUE_S))
}

impl Scanner {
    /// Judges again what time alone may have changed; how many holdings there were.
    ///
    /// # Errors
    /// What the store says.
    pub async fn judge_due(&self) -> Result<usize, store::Error> {
        if self.is_clock_doubtful() {
            return Ok(0);
        }
        let (now, began) = (self.clock.now(), Instant::now());
        let due = self.store.due_for_judgement(now, 200).await?;
        let (count, mut judged) = (due.len(), Vec::with_capacity(due.len()));
        let suspended = self.suspended(&due).await?;
        for (before, days) in self.plan(self.with_checks(due).await?).holders {
            let stored = self.stored(&before.name).await?;
            let observation = stored.as_ref().map(|s| &s.observation);
            let mut item = before.clone();
            let reminder = observation
                .filter(|_| is_far_off(&before, now) || suspended.contains(before.name.as_str()))
                .and_then(|o| remind(&mut item, o, &days, &self.policy.thresholds, now));
            let (item, row) = self.judged_for_reminders(item, observation, &days, now);
            let outcome = if reminder.is_some() { "reminder" } else { "judged" };
            match reminder {
                Some(reminder) => {
                    let outcome = ItemOutcome { item, row, changes: vec![reminder] };
                    self.store.record_reminder(&before, &outcome, now).await?;
                }
                None => judged.push((item, row)),
            }
            metrics::counter!("domainscope_judgements_total", "outcome" => outcome).increment(1);
        }
        if count > 0 {
            self.store.update_judged(&judged, now).await?;
            metrics::histogram!("domainscope_judgement_seconds").record(began.elapsed().as_secs_f64());
            self.hub.recorded();
        }
        Ok(count)
    }

    /// Makes the judgement of all holdings due when the thresholds of the status are not those of the last start. True when
    /// they are not.
    ///
    /// # Errors
    /// What the store says.
    pub async fn judge_by_new_thresholds(&self) -> Result<bool, store::Error> {
        let (org, now) = (model::ids::OrgId::BUILT_IN, self.clock.now());
        let set = &self.policy.thresholds;
        let before = self.store.setting(org, THRESHOLDS).await?;
        // Without a note of it an earlier version judged, which knew the defaults only.
        let before = before.map_or(Some(Thresholds::default()), |text| serde_json::from_str(&text).ok());
        if before.as_ref() == Some(set) {
            return Ok(false);
        }
        let holdings = self.store.judge_all_again(now).await?;
        // Noted afterwards: a process that ends in between begins again.
        let text = serde_json::to_string(set).map_err(|e| store::Error::Broken(e.to_string()))?;
        self.store.set_setting(org, THRESHOLDS, &text, now).await?;
        tracing::info!(holdings, "the thresholds of the status changed; all domains are judged again");
        Ok(true)
    }

    /// The names among those of some holdings whose scans are suspended.
    async fn suspended(&self, items: &[Item]) -> Result<HashSet<String>, store::Error> {
        let keys: BTreeSet<String> = items.iter().map(|i| i.name.to_string()).collect();
        if keys.is_empty() {
            return Ok(HashSet::new());
        }
        let states = self.store.job_states(JobKind::Scan, keys.into_iter().collect()).await?;
        let parked = states.iter().filter(|s| matches!(s.phase, JobPhase::Parked { .. }));
        Ok(parked.map(|s| s.job.key().to_string()).collect())
    }

    /// Judges a holding again and makes its row, to be judged again when its next reminder is due.
    ///
    /// # Errors
    /// What the store says.
    pub async fn judged_now(
        &self,
        item: Item,
        observation: Option<&Observation>,
        now: Timestamp,
    ) -> Result<(Item, Row), store::Error> {
        let mut plan = self.plan(self.with_checks(vec![item.clone()]).await?);
        let (item, days) = plan.holders.pop().unwrap_or((item, Vec::new()));
        Ok(self.judged_for_reminders(item, observation, &days, now))
    }

    /// The same with the days of its reminders.
    pub(crate) fn judged_for_reminders(
        &self,
        item: Item,
        observation: Option<&Observation>,
        days: &[i64],
        now: Timestamp,
    ) -> (Item, Row) {
        let (mut item, mut row) = self.judged(item, observation, now);
        let Some(observation) = observation else {
            // Nothing to judge: the first scan does.
            (item.status.judge_again_at, row.status.judge_again_at) = (None, None);
            return (item, row);
        };
        let is_due = remind(&mut item.clone(), observation, days, &self.policy.thresholds, now).is_some();
        let next = if is_due { Some(now) } else { next_reminder(&item, observation, days, now) };
        // At once when no scan comes soon after; else so late that the scan that reminds of it came or is suspended.
        let wait = |at| if is_far_off(&item, at) { at } else { model::time::plus(at, OVERDUE_S + 60) };
        let next = next.map(wait);
        item.status.judge_again_at = item.status.judge_again_at.into_iter().chain(next).min();
        row.status.judge_again_at = item.status.judge_again_at;
        (item, row)
    }
}
