//! The loops beside the scans: statuses that time changes, scans that a wrong clock put into the far future, and the
//! deletion of what is too old.

use crate::{Scanner, schedule};
use features::Duty;
use std::time::Duration;
use store::{Job, JobKind};
use tokio_util::sync::CancellationToken;

/// Pause between two looks for statuses to judge again.
const JUDGE: Duration = Duration::from_secs(20);
/// Pause between two looks for scans in the far future: one look into an index.
const FAR_FUTURE: Duration = Duration::from_secs(60);
/// Scans moved at once.
const TOGETHER: u32 = 500;
/// The first pruning after the start. Soon, because a process that is restarted often would never prune otherwise; not
/// at once, because the first minute belongs to pages and to scans that are overdue.
const FIRST_PRUNE: Duration = Duration::from_secs(60);
/// Between two prunings of the change log, which grows with every scan.
const PRUNE_LOG: Duration = Duration::from_secs(3600);
/// History is pruned with every sixth pruning of the log, beginning with the first.
const PRUNE_HISTORY_EVERY: u32 = 6;

/// Sessions, links and failed attempts are deleted so many days after they ended: longer than a session can last.
const ENDED_DAYS: u32 = 15;

/// Sleeps; false when cancelled first.
async fn pause(length: Duration, stop: &CancellationToken) -> bool {
    tokio::select! {
        biased;
        () = stop.cancelled() => false,
        () = tokio::time::sleep(length) => true,
    }
}

pub(crate) async fn judgements(scanner: Scanner, stop: CancellationToken) {
    loop {
        let length = match scanner.judge_due().await {
            Ok(n) if n > 0 => Duration::ZERO,
            Ok(_) => JUDGE,
            Err(e) => {
                metrics::counter!("domainscope_stage_failures_total", "stage" => "judge").increment(1);
                tracing::warn!(error = %e, "statuses could not be judged again; trying again");
                JUDGE
            }
        };
        if !pause(length, &stop).await {
            return;
        }
    }
}

pub(crate) async fn reschedule_far_future(scanner: &Scanner) -> Result<u64, store::Error> {
    let now = scanner.clock.now();
    // Domains with an interval of their own may be due later than the others.
    let longest = scanner.store.longest_interval().await?.unwrap_or(0);
    let furthest = schedule::furthest(scanner.policy.interval_s.max(longest), now);
    let mut moved = 0;
    loop {
        let jobs = scanner.store.far_future_jobs(JobKind::Scan, furthest, TOGETHER).await?;
        let found = jobs.len();
        let mut times = Vec::with_capacity(found);
        for job in jobs {
            let Job::Scan(name) = &job else { continue };
            let interval_s = scanner.interval_of(name).await?;
            let at = schedule::next_scan(name, interval_s, now);
            times.push((job, at));
        }
        moved += scanner.store.reschedule_far_future(furthest, &times).await?;
        if found < TOGETHER as usize {
            return Ok(moved);
        }
    }
}

pub(crate) async fn far_future(scanner: Scanner, stop: CancellationToken) {
    loop {
        match reschedule_far_future(&scanner).await {
            Ok(0) => {}
            Ok(scans) => {
                tracing::warn!(scans, "scans were due far in the future (the clock was wrong); rescheduled");
            }
            Err(e) => tracing::warn!(error = %e, "the queue can't be read; trying again"),
        }
        if !pause(FAR_FUTURE, &stop).await {
            return;
        }
    }
}

/// The deletion of what is too old: one process of all does it.
pub(crate) struct Upkeep {
    scanner: Scanner,
    duty: Duty,
    /// Prunings since this process took the duty over.
    rounds: u32,
}

impl Upkeep {
    pub(crate) fn new(scanner: Scanner, duty: Duty) -> Self {
        Upkeep { scanner, duty, rounds: 0 }
    }

    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let mut length = FIRST_PRUNE;
        while pause(length, &stop).await {
            // A step that is cut off is rolled back, and the next pruning goes on where this one ended.
            length = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                next = self.turn() => next,
            };
        }
    }

    /// Prunes if the duty is this process's; how long to wait for the next turn. One that takes the duty over begins with
    /// all of it: the process that had it may have died in the midst.
    async fn turn(&mut self) -> Duration {
        if !self.duty.is_held() {
            self.rounds = 0;
            return FIRST_PRUNE;
        }
        let began = std::time::Instant::now();
        match self.prune().await {
            Ok(rows) => {
                self.rounds = self.rounds.wrapping_add(1);
                metrics::counter!("domainscope_upkeep_rows_total").increment(rows);
                metrics::gauge!("domainscope_upkeep_seconds").set(began.elapsed().as_secs_f64());
                metrics::gauge!("domainscope_upkeep_last_success_timestamp_seconds")
                    .set(self.scanner.clock.now().as_millisecond() as f64 / 1000.0);
                if rows > 0 {
                    tracing::info!(rows, "old rows deleted");
                }
            }
            Err(e) => {
                tracing::warn!(error = %e, "old rows could not be deleted; trying again in an hour");
            }
        }
        PRUNE_LOG
    }

    /// The log, and every sixth time the history too; how many rows.
    async fn prune(&self) -> Result<u64, store::Error> {
        let (store, keep_days) = (&self.scanner.store, self.scanner.policy.keep_days);
        let now = self.scanner.clock.now();
        if !self.rounds.is_multiple_of(PRUNE_HISTORY_EVERY) {
            return store.prune_log(now, keep_days).await;
        }
        let days = |n: u32| jiff::SignedDuration::from_hours(24 * i64::from(n));
        // The log first: it grows with every scan. Neither part waits for the other to succeed.
        let history = store.prune(now, keep_days).await;
        let accounts = store.prune_accounts(now - days(ENDED_DAYS), now - days(keep_days)).await;
        Ok(history? + accounts?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::{DnsParts, Observer, Progress};
    use crate::{Clock, Hub, Policy};
    use async_trait::async_trait;
    use features::{Gates, Runner};
    use jiff::Timestamp;
    use model::detail::RawAnswer;
    use model::ids::OrgId;
    use model::names::DomainName;
    use model::observation::Part;
    use model::registration::RegistrationState;
    use std::sync::{Arc, Mutex};
    use store::Store;

    struct Nothing(Mutex<Timestamp>);

    #[async_trait]
    impl Observer for Nothing {
        async fn registration(
            &self,
            _: &DomainName,
            _: Timestamp,
            _: &dyn Progress,
        ) -> (Part<RegistrationState>, Vec<RawAnswer>) {
            (Part::default(), vec![])
        }
        async fn dns(&self, _: &DomainName, _: Timestamp, _: &dyn Progress) -> DnsParts {
            DnsParts::default()
        }
    }

    impl Clock for Nothing {
        fn now(&self) -> Timestamp {
            *self.0.lock().unwrap()
        }
    }

    fn upkeep(store: &Arc<dyn Store>, world: &Arc<Nothing>, duty: Duty) -> Upkeep {
        let scanner = Scanner {
            store: store.clone(),
            observer: world.clone(),
            clock: world.clone(),
            hub: Hub::default(),
            policy: Policy::default(),
        };
        Upkeep::new(scanner, duty)
    }

    /// Of three processes one prunes; when it ends, another does, at once and all of it.
    #[tokio::test]
    async fn one_process_prunes_and_another_takes_over() {
        let folder = tempfile::tempdir().unwrap();
        let store = store::open(&folder.path().to_string_lossy()).await.unwrap();
        let start: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
        let world = Arc::new(Nothing(Mutex::new(start)));
        let mut processes: Vec<_> = ["a", "b", "c"]
            .into_iter()
            .map(|id| {
                let runner = Runner::new(store.clone(), Gates::default(), id.into(), "0.1.0", start);
                let upkeep = upkeep(&store, &world, runner.duty(crate::UPKEEP));
                (runner, upkeep)
            })
            .collect();
        let mut remaining = 3;
        for round in 0..3 {
            let now = start + jiff::SignedDuration::from_hours(48 * round);
            *world.0.lock().unwrap() = now;
            // Twice: the first of them announces itself before the others do.
            for (runner, _) in processes.iter().chain(&processes) {
                runner.tick(now).await.unwrap();
            }
            let held: Vec<bool> = processes.iter().map(|(_, u)| u.duty.is_held()).collect();
            assert_eq!(held.iter().filter(|h| **h).count(), 1, "{held:?}");
            store.set_setting(OrgId::BUILT_IN, "x", "1", now).await.unwrap();
            *world.0.lock().unwrap() = now + jiff::SignedDuration::from_hours(25);
            let before = left(&store).await;
            for (i, held) in held.iter().enumerate() {
                let waits = processes[i].1.turn().await;
                assert_eq!(waits, if *held { PRUNE_LOG } else { FIRST_PRUNE });
                assert_eq!(processes[i].1.rounds, u32::from(*held));
            }
            assert!(before > 0 && left(&store).await == 0, "the entry is gone");
            let leader = held.iter().position(|h| *h).unwrap();
            processes.remove(leader).0.retire(now).await.unwrap();
            remaining -= 1;
            assert_eq!(processes.len(), remaining);
        }
    }

    /// Entries of the change log that can still be read from where it is readable.
    async fn left(store: &Arc<dyn Store>) -> usize {
        let head = store.head().await.unwrap();
        match store.log_since(None, model::ids::LogPosition(head.0 - 1), 10).await.unwrap() {
            store::LogRead::Entries(entries) => entries.len(),
            store::LogRead::ReadAnew => 0,
        }
    }
}
