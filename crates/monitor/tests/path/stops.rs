//! A worker that starts or stops: jobs far ahead are found, and running ones released.

use crate::stage::Stage;
use async_trait::async_trait;
use jiff::{Timestamp, ToSpan};
use model::detail::RawAnswer;
use model::names::DomainName;
use model::observation::Part;
use model::registration::RegistrationState;
use monitor::observer::Progress;
use monitor::{Clock, DnsParts, Observer, Scanner};
use std::sync::Arc;
use store::{Job, JobKind, Priority};

#[tokio::test]
async fn a_schedule_that_a_wrong_clock_put_years_ahead_is_found_at_the_start() {
    let stage = Stage::new().await;
    let store = stage.scanner.store.clone();
    // Scanned while the clock was three years ahead: the next scan is due then.
    let now = *stage.world.now.lock().unwrap();
    let ahead = now.checked_add((3 * 365 * 24).hours()).unwrap();
    let job = store.lease(JobKind::Scan, "w", 1, now).await.unwrap().remove(0);
    store.complete(&job, Some(ahead), None, now).await.unwrap();
    let day = now.checked_add(48.hours()).unwrap();
    assert_eq!(store.far_future_jobs(JobKind::Scan, day, 10).await.unwrap(), [Job::Scan(stage.name.clone())]);
    let stop = tokio_util::sync::CancellationToken::new();
    let worker = monitor::Worker::new(stage.scanner.clone(), "w");
    let running = tokio::spawn({
        let (worker, stop) = (worker.clone(), stop.clone());
        async move { worker.run(stop).await }
    });
    let found = async {
        while !store.far_future_jobs(JobKind::Scan, day, 10).await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), found).await.unwrap();
    stop.cancel();
    running.await.unwrap();
    // It is due at its own second, not at once, and once is enough.
    let interval = stage.scanner.policy.interval_s;
    let soon = now.checked_add((interval / 2 - 1).seconds()).unwrap();
    let late = now.checked_add((interval * 3 / 2).seconds()).unwrap();
    assert_eq!(store.queue_stats(JobKind::Scan, soon).await.unwrap().due, 0);
    assert_eq!(store.queue_stats(JobKind::Scan, late).await.unwrap().due, 1);
    assert_eq!(worker.reschedule_far_future().await.unwrap(), 0);
}

/// Never comes back.
struct Hangs;

#[async_trait]
impl Observer for Hangs {
    async fn registration(
        &self,
        _: &DomainName,
        _: Timestamp,
        _: &dyn Progress,
    ) -> (Part<RegistrationState>, Vec<RawAnswer>) {
        std::future::pending().await
    }

    async fn dns(&self, _: &DomainName, _: Timestamp, _: &dyn Progress) -> DnsParts {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_scan_that_does_not_end_is_released_when_the_worker_stops() {
    let stage = Stage::new().await;
    let store = stage.scanner.store.clone();
    let now = stage.world.now();
    store.enqueue(&[(Job::Scan(stage.name.clone()), now)], Priority::Requested).await.unwrap();
    let stop = tokio_util::sync::CancellationToken::new();
    let scanner = Scanner { observer: Arc::new(Hangs), ..stage.scanner.clone() };
    let worker = monitor::Worker::new(scanner, "w");
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { worker.run(stop).await }
    });
    while store.queue_stats(JobKind::Scan, now).await.unwrap().due > 0 {
        tokio::task::yield_now().await;
    }
    stop.cancel();
    tokio::time::timeout(std::time::Duration::from_secs(10), running).await.unwrap().unwrap();
    let again = store.lease(JobKind::Scan, "other", 1, now).await.unwrap();
    assert_eq!(again.len(), 1, "another worker need not wait for the lease to run out");
    assert_eq!((again[0].job.key(), again[0].priority), ("q7.io", Priority::Requested));
    assert_eq!(again[0].attempt, 1, "it did not fail");
}
