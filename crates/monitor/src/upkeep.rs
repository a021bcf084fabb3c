//! The loops beside the scans: statuses that time changes, scans that a wrong clock put into the far future, and the
//! deletion of what is too old.

use crate::{Scanner, schedule};
use model::names::DomainName;
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
    let interval_s = scanner.policy.interval_s;
    let now = scanner.clock.now();
    let furthest = schedule::furthest(interval_s, now);
    let place = |name: &DomainName| schedule::next_scan(name, interval_s, now);
    let mut moved = 0;
    loop {
        let jobs = scanner.store.far_future_jobs(JobKind::Scan, furthest, TOGETHER).await?;
        let times: Vec<_> = jobs
            .into_iter()
            .map(|job| {
                let Job::Scan(name) = &job;
                let at = place(name);
                (job, at)
            })
            .collect();
        moved += scanner.store.reschedule_far_future(furthest, &times).await?;
        if times.len() < TOGETHER as usize {
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

pub(crate) async fn prune(scanner: Scanner, stop: CancellationToken) {
    let mut length = FIRST_PRUNE;
    for round in 0_u32.. {
        if !pause(length, &stop).await {
            return;
        }
        length = PRUNE_LOG;
        let (now, keep_days) = (scanner.clock.now(), scanner.policy.keep_days);
        let pruned = if round.is_multiple_of(PRUNE_HISTORY_EVERY) {
            let days = |n: u32| jiff::SignedDuration::from_hours(24 * i64::from(n));
            let gone = scanner.store.prune_accounts(now - days(ENDED_DAYS), now - days(keep_days)).await;
            match (gone, scanner.store.prune(now, keep_days).await) {
                (Ok(accounts), Ok(history)) => Ok(accounts + history),
                (Err(e), _) | (_, Err(e)) => Err(e),
            }
        } else {
            scanner.store.prune_log(now, keep_days).await
        };
        match pruned {
            Ok(0) => {}
            Ok(rows) => tracing::info!(rows, "old rows deleted"),
            Err(e) => tracing::warn!(error = %e, "old rows could not be deleted; trying again in an hour"),
        }
    }
}
