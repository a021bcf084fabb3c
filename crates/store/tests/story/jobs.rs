//! The queue: one worker a job, leases that run out, fencing, jobs asked for twice.

use crate::world::{ONE, Place, add, later, now};
use std::collections::BTreeSet;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

pub async fn workers_never_share_a_job(place: &Place) {
    let s = place.open().await;
    let keys: Vec<_> = (0..300).map(|i| (format!("k{i:03}"), later(-i % 7))).collect();
    s.enqueue_many("scan", &keys, 0).await.unwrap();
    let mut workers = tokio::task::JoinSet::new();
    for w in 0..8 {
        let s = place.open().await;
        workers.spawn(async move {
            let mut mine = Vec::new();
            loop {
                let got = s.lease("scan", &format!("w{w}"), 7, HOUR, now()).await.unwrap();
                assert!(got.len() <= 7);
                if got.is_empty() && s.queue_lag("scan", now()).await.unwrap().0 == 0 {
                    return mine;
                }
                mine.extend(got.into_iter().map(|j| j.key));
            }
        });
    }
    let taken: Vec<String> = workers.join_all().await.into_iter().flatten().collect();
    assert_eq!(taken.len(), 300);
    assert_eq!(taken.iter().collect::<BTreeSet<_>>().len(), 300);
}

pub async fn a_lost_lease_is_retaken_and_fenced(place: &Place) {
    let s = place.open().await;
    s.enqueue("scan", "a", now(), 3).await.unwrap();
    let minute = Duration::from_secs(60);
    let first = s.lease("scan", "w1", 5, minute, now()).await.unwrap().remove(0);
    assert_eq!((first.attempts, first.priority, first.run_at), (1, 3, now()));
    assert!(s.lease("scan", "w2", 5, minute, now()).await.unwrap().is_empty(), "it is taken");
    assert!(s.lease("judge", "w2", 5, minute, later(9)).await.unwrap().is_empty(), "another kind");
    let second = s.lease("scan", "w2", 5, minute, later(1)).await.unwrap().remove(0);
    assert_eq!(second.attempts, 2);
    assert!(second.lease > first.lease);
    // The first worker wakes up: its answer does nothing.
    s.complete(&first, None, later(1)).await.unwrap();
    assert_eq!(s.lease("scan", "w3", 5, minute, later(2)).await.unwrap().len(), 1, "still there");
    s.complete(&second, None, later(2)).await.unwrap();
    let third = s.lease("scan", "w3", 5, minute, later(9)).await.unwrap().remove(0);
    s.complete(&third, None, later(9)).await.unwrap();
    assert_eq!(s.queue_lag("scan", later(99)).await.unwrap(), (0, 0.0));
    // Queued anew under the same key: the old numbers still open nothing.
    s.enqueue("scan", "a", later(10), 0).await.unwrap();
    let fourth = s.lease("scan", "w4", 5, minute, later(10)).await.unwrap().remove(0);
    for old in [&first, &second, &third] {
        s.complete(old, None, later(10)).await.unwrap();
    }
    assert_eq!(fourth.attempts, 1);
    s.complete(&fourth, Some(later(70)), later(10)).await.unwrap();
    assert_eq!(s.queue_lag("scan", later(71)).await.unwrap(), (1, 60.0));
}

pub async fn asking_twice_makes_one_job(place: &Place) {
    let s = place.open().await;
    s.enqueue("scan", "a", later(60), 0).await.unwrap();
    s.enqueue("scan", "a", later(30), 0).await.unwrap();
    s.enqueue("scan", "a", later(90), 10).await.unwrap();
    s.enqueue_many("scan", &[("a".into(), later(80)), ("a".into(), later(20)), ("b".into(), later(1))], 5)
        .await
        .unwrap();
    assert_eq!(s.queue_lag("scan", later(19)).await.unwrap().0, 1);
    let got = s.lease("scan", "w", 9, HOUR, later(20)).await.unwrap();
    let seen: Vec<_> = got.iter().map(|j| (j.key.as_str(), j.run_at, j.priority)).collect();
    assert_eq!(
        seen,
        [("a", later(20), 10), ("b", later(1), 5)],
        "earliest time, highest priority, that order"
    );
    // Adding names queues their scans, before the schedule.
    s.enqueue("scan", "schedule.example", later(-9), 0).await.unwrap();
    add(&*s, ONE, &["z.example"]).await;
    let got = s.lease("scan", "w", 1, HOUR, later(20)).await.unwrap();
    assert_eq!(got[0].key, "z.example");
}

pub async fn what_is_asked_for_meanwhile_runs_again(place: &Place) {
    let s = place.open().await;
    s.enqueue("scan", "a", now(), 0).await.unwrap();
    let job = s.lease("scan", "w", 1, HOUR, now()).await.unwrap().remove(0);
    s.enqueue("scan", "a", later(2), 10).await.unwrap();
    assert!(s.lease("scan", "v", 1, HOUR, later(2)).await.unwrap().is_empty(), "not while it runs");
    s.complete(&job, Some(later(60)), later(3)).await.unwrap();
    let job = s.lease("scan", "w", 1, HOUR, later(3)).await.unwrap().remove(0);
    assert_eq!((job.run_at, job.priority, job.attempts), (later(2), 10, 1));
    // Asked for later than the schedule wants it: the schedule's time, at the schedule's priority.
    s.enqueue("scan", "a", later(90), 10).await.unwrap();
    s.complete(&job, Some(later(60)), later(4)).await.unwrap();
    assert!(s.lease("scan", "w", 1, HOUR, later(59)).await.unwrap().is_empty());
    let job = s.lease("scan", "w", 1, HOUR, later(60)).await.unwrap().remove(0);
    assert_eq!(job.priority, 0);
    // Done for good, but asked for: it stays.
    s.enqueue("scan", "a", later(61), 10).await.unwrap();
    s.complete(&job, None, later(61)).await.unwrap();
    let job = s.lease("scan", "w", 1, HOUR, later(61)).await.unwrap().remove(0);
    s.complete(&job, None, later(62)).await.unwrap();
    assert!(s.lease("scan", "w", 1, HOUR, later(9999)).await.unwrap().is_empty());
}

/// Everything asked for before a run begins is done by that run or a later one, whoever asks and works when.
pub async fn a_rush_of_askers_and_workers_loses_nothing(place: &Place) {
    let s = place.open().await;
    let mut tasks = tokio::task::JoinSet::new();
    for t in 0..4 {
        let s = place.open().await;
        tasks.spawn(async move {
            for i in 0..40 {
                s.enqueue("scan", &format!("k{}", i % 5), now(), t).await.unwrap();
                for job in s.lease("scan", "w", 2, HOUR, later(1)).await.unwrap() {
                    s.complete(&job, None, later(1)).await.unwrap();
                }
            }
        });
    }
    tasks.join_all().await;
    // Whatever is left was asked for during the last runs; nothing is stuck in a lease.
    while let Some(job) = s.lease("scan", "w", 1, HOUR, later(1)).await.unwrap().pop() {
        s.complete(&job, None, later(1)).await.unwrap();
    }
    s.enqueue("scan", "k0", now(), 0).await.unwrap();
    assert_eq!(s.lease("scan", "w", 9, HOUR, later(1)).await.unwrap().len(), 1);
}

pub async fn what_a_wrong_clock_put_years_ahead_is_drawn_back(place: &Place) {
    let s = place.open().await;
    let year = later(365 * 24 * 60);
    s.enqueue_many("scan", &[("near".into(), later(60)), ("far".into(), year)], 0).await.unwrap();
    // Leased by a worker whose clock is a year ahead, and never given back.
    s.enqueue("scan", "held", now(), 0).await.unwrap();
    let held = s.lease("scan", "ahead", 1, HOUR, year).await.unwrap().remove(0);
    s.enqueue("other", "far", year, 0).await.unwrap();
    let day = later(24 * 60);
    let mut far = s.due_after("scan", day, 10).await.unwrap();
    far.sort();
    assert_eq!(far.len(), 2, "{far:?}");
    assert!(far.contains(&held.key) && !far.contains(&"near".to_string()), "{far:?}");
    assert_eq!(s.due_after("scan", day, 1).await.unwrap().len(), 1);
    let times: Vec<_> = ["near", "far", &held.key].iter().map(|k| ((*k).to_string(), later(5))).collect();
    assert_eq!(s.draw_back("scan", day, &times).await.unwrap(), 2, "what is near stays where it is");
    assert!(s.due_after("scan", day, 10).await.unwrap().is_empty());
    assert_eq!(s.due_after("other", day, 10).await.unwrap(), ["far"]);
    assert_eq!(s.queue_lag("scan", later(5)).await.unwrap().0, 2);
    // The worker with the wrong clock has lost its job.
    s.complete(&held, None, year).await.unwrap();
    let again = s.lease("scan", "w", 5, HOUR, later(6)).await.unwrap();
    assert_eq!(again.len(), 2);
    assert!(again.iter().all(|j| j.run_at == later(5)));
}
