//! Where a scan stands, as far as the queue knows: for pages of replicas that do not run it. In: the state of its job.
//! Out: the progress that pages show.

use crate::Scanner;
use jiff::Timestamp;
use model::names::DomainName;
use model::scan::{ScanProgress, ScanResult, Stage};
use std::collections::HashMap;
use store::{Job, JobKind, JobPhase, JobState};

/// Seconds for which pages show how a scan ended.
const RECENT_S: i64 = 600;

/// A scan that waits for a worker since an instant.
pub(crate) fn queued(name: &DomainName, at: Timestamp) -> ScanProgress {
    ScanProgress {
        name: name.clone(),
        running: vec![Stage::Queued],
        done: Vec::new(),
        started_at: at,
        result: None,
        suspended: false,
    }
}

/// How a scan that was asked for at `since` ended, by the state of its job.
pub(crate) fn result_of(state: &JobState, since: Timestamp) -> ScanResult {
    let reason = state.last_error.as_deref().unwrap_or("the reason is not known").trim_end_matches('.');
    if matches!(state.phase, JobPhase::Parked { .. }) {
        let sentence = format!(
            "Scans are suspended after {} failed attempts: {reason}. Rescan to try again",
            state.attempts
        );
        return ScanResult { changes: vec![], sentence, failed: true };
    }
    if state.last_error.is_some() {
        let sentence = format!("The scan failed and will be tried again: {reason}");
        return ScanResult { changes: vec![], sentence, failed: true };
    }
    let outcome = state.outcome.as_ref().filter(|(at, _)| *at >= since);
    outcome.and_then(|(_, json)| serde_json::from_str(json).ok()).unwrap_or_else(|| ScanResult {
        changes: vec![],
        sentence: "Scan finished".into(),
        failed: false,
    })
}

/// What a page shows of a job; `None` when nothing waits, runs, is suspended or has just ended for a person.
fn of_state(state: &JobState, now: Timestamp) -> Option<ScanProgress> {
    let Job::Scan(name) = &state.job else { return None };
    let ended = |at: Timestamp| ScanProgress {
        running: vec![Stage::Done],
        result: Some(result_of(state, at)),
        ..queued(name, at)
    };
    match state.phase {
        JobPhase::Running { run_at } => Some(ScanProgress { running: vec![], ..queued(name, run_at) }),
        JobPhase::Waiting { run_at } if state.is_active() => Some(queued(name, run_at)),
        JobPhase::Waiting { .. } => {
            let recent = |at: &Timestamp| now.as_second() - at.as_second() < RECENT_S;
            state.outcome.as_ref().filter(|(at, _)| recent(at)).map(|(at, _)| ended(*at))
        }
        JobPhase::Parked { at } => Some(ScanProgress { suspended: true, ..ended(at) }),
    }
}

impl Scanner {
    /// Where the scans of these names stand, whichever process works on them; names of which nothing is to be said are
    /// left out.
    ///
    /// # Errors
    /// When the queue can't be read.
    pub async fn progress(&self, names: &[DomainName]) -> Result<Vec<ScanProgress>, store::Error> {
        let keys = names.iter().map(|n| n.as_str().to_string()).collect();
        let states = self.store.job_states(JobKind::Scan, keys).await?;
        let now = self.clock.now();
        let states: HashMap<_, _> = states.iter().map(|s| (s.job.key(), s)).collect();
        let each = names.iter().filter_map(|name| {
            let here = self.hub.progress(name);
            if here.as_ref().is_some_and(|p| !p.finished()) {
                return here;
            }
            let queue = states.get(name.as_str()).and_then(|s| of_state(s, now));
            match (here, queue) {
                // What ended here has its stages; the queue knows of a later request, and of a suspension.
                (Some(here), Some(queue)) => {
                    let later = !queue.finished() && queue.started_at > here.started_at;
                    Some(if queue.suspended || later { queue } else { here })
                }
                (here, queue) => here.or(queue),
            }
        });
        Ok(each.collect())
    }
}
