//! The queue: one worker a job, leases that run out, fencing, retries, parking, jobs asked for twice.

use crate::world::{ONE, Place, add, later, name, now};
use jiff::{Timestamp, ToSpan};
use std::collections::BTreeSet;
use store::{Job, JobKind, JobPhase, LeasedJob, Priority, Retry, Store};

const SCAN: JobKind = JobKind::Scan;

fn scan(key: &str) -> Job {
    Job::Scan(name(key))
}

async fn enqueue(s: &dyn Store, key: &str, at: Timestamp, priority: Priority) {
    s.enqueue(&[(scan(key), at)], priority).await.unwrap();
}

async fn lease(s: &dyn Store, limit: u32, at: Timestamp) -> Vec<LeasedJob> {
    s.lease(SCAN, "w", limit, at).await.unwrap()
}

async fn due(s: &dyn Store, at: Timestamp) -> u64 {
    s.queue_stats(SCAN, at).await.unwrap().due
}

/// Long after any lease and any wait of the scan's retries.
fn much_later(attempts: i64) -> Timestamp {
    now() + (attempts * 24).hours()
}

pub async fn workers_never_share_a_job(place: &Place) {
    let s = place.open().await;
    let jobs: Vec<_> = (0..300).map(|i| (scan(&format!("k{i:03}")), later(-i % 7))).collect();
    s.enqueue(&jobs, Priority::Scheduled).await.unwrap();
    let mut workers = tokio::task::JoinSet::new();
    for w in 0..8 {
        let s = place.open().await;
        workers.spawn(async move {
            let mut mine = Vec::new();
            loop {
                let got = s.lease(SCAN, &format!("w{w}"), 7, now()).await.unwrap();
                assert!(got.len() <= 7);
                if got.is_empty() && due(&*s, now()).await == 0 {
                    return mine;
                }
                mine.extend(got.into_iter().map(|j| j.job));
            }
        });
    }
    let taken: Vec<Job> = workers.join_all().await.into_iter().flatten().collect();
    assert_eq!(taken.len(), 300);
    assert_eq!(taken.iter().collect::<BTreeSet<_>>().len(), 300);
}

pub async fn a_lost_lease_is_retaken_and_fenced(place: &Place) {
    let s = place.open().await;
    enqueue(&*s, "a", now(), Priority::Added).await;
    let first = lease(&*s, 5, now()).await.remove(0);
    assert_eq!((first.attempt, first.priority, first.run_at), (1, Priority::Added, now()));
    let retry = SCAN.policy().retry;
    let lease_end = now() + jiff::SignedDuration::try_from(retry.lease).unwrap();
    assert!(lease(&*s, 5, lease_end).await.is_empty(), "back-off follows the lease of a worker that died");
    let second = lease(&*s, 5, later(3)).await.remove(0);
    assert_eq!(second.attempt, 2);
    // The first worker wakes up: its answers do nothing.
    s.complete(&first, None, None, later(3)).await.unwrap();
    assert_eq!(s.fail(&first, "late", later(3)).await.unwrap(), Retry::LeaseLost);
    s.release(&first, later(3)).await.unwrap();
    assert!(lease(&*s, 5, later(4)).await.is_empty(), "still held by the second");
    s.complete(&second, None, None, later(4)).await.unwrap();
    assert!(s.job_states(SCAN, vec!["a".into()]).await.unwrap().is_empty());
    // Queued again under the same key: the old numbers still open nothing.
    enqueue(&*s, "a", later(10), Priority::Scheduled).await;
    let third = lease(&*s, 5, later(10)).await.remove(0);
    for old in [&first, &second] {
        s.complete(old, None, None, later(10)).await.unwrap();
    }
    assert_eq!(third.attempt, 1);
    s.complete(&third, Some(later(70)), None, later(10)).await.unwrap();
    let stats = s.queue_stats(SCAN, later(71)).await.unwrap();
    assert_eq!((stats.due, stats.lag_seconds, stats.parked), (1, 60.0, 0));
}

/// A job that kills its worker each time is parked; the jobs that were lost with it go on and are done.
pub async fn a_job_whose_worker_dies_every_time_is_parked_and_others_go_on(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["bomb.example", "other.example"]).await;
    let attempts = SCAN.policy().retry.max_attempts;
    for n in 1..=attempts {
        let jobs = lease(&*s, 9, much_later(n.into())).await;
        let bomb = jobs.iter().find(|j| j.job == scan("bomb.example")).expect("is tried again");
        assert_eq!(bomb.attempt, n);
        // The process dies with all it holds, but for the last time, when the other one was quicker.
        if n == attempts {
            let other = jobs.iter().find(|j| j.job == scan("other.example")).unwrap();
            s.complete(other, Some(much_later(99)), None, much_later(n.into())).await.unwrap();
        }
    }
    let at = much_later(i64::from(attempts) + 1);
    enqueue(&*s, "third.example", at, Priority::Scheduled).await;
    let jobs = lease(&*s, 9, at).await;
    assert_eq!(jobs.iter().map(|j| &j.job).collect::<Vec<_>>(), [&scan("third.example")]);
    let parked = s.parked_jobs(SCAN, 9).await.unwrap();
    assert_eq!(parked.len(), 1);
    assert_eq!((&parked[0].job, parked[0].phase), (&scan("bomb.example"), JobPhase::Parked { at }));
    assert_eq!(parked[0].attempts, attempts);
    assert!(parked[0].last_error.as_ref().unwrap().contains("5 attempts"), "{parked:?}");
    assert_eq!(s.queue_stats(SCAN, much_later(9999)).await.unwrap().parked, 1);
    // Nothing brings it back by itself: no lease, no clock that was wrong.
    assert!(lease(&*s, 9, much_later(50)).await.iter().all(|j| j.job != scan("bomb.example")));
    assert!(!s.far_future_jobs(SCAN, now(), 9).await.unwrap().contains(&scan("bomb.example")));
    let bomb = [(scan("bomb.example"), later(0))];
    assert_eq!(s.reschedule_far_future(later(9), &bomb).await.unwrap(), 0);
    // A person does, and its attempts are counted from the beginning.
    let asked = much_later(60);
    enqueue(&*s, "bomb.example", asked, Priority::Requested).await;
    let again = lease(&*s, 1, asked).await.remove(0);
    assert_eq!((&again.job, again.attempt, again.run_at), (&scan("bomb.example"), 1, asked));
    assert!(s.parked_jobs(SCAN, 9).await.unwrap().is_empty());
}

pub async fn failed_attempts_back_off_and_are_given_up_with_the_reason(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example"]).await;
    let retry = SCAN.policy().retry;
    let mut at = now();
    for attempt in 1..=retry.max_attempts {
        let job = lease(&*s, 9, at).await.remove(0);
        assert_eq!((job.attempt, job.priority), (attempt, Priority::Added), "it keeps its priority");
        let reason = format!("attempt {attempt} failed");
        let next = s.fail(&job, &reason, at).await.unwrap();
        let state = s.job_states(SCAN, vec!["a.example".into()]).await.unwrap().remove(0);
        assert_eq!(state.last_error.as_ref(), Some(&reason));
        if attempt == retry.max_attempts {
            assert_eq!(next, Retry::GivenUp);
            assert_eq!(state.phase, JobPhase::Parked { at });
            break;
        }
        assert!(state.is_active(), "somebody waits for it");
        let wait = jiff::SignedDuration::try_from(retry.delay(attempt, "a.example")).unwrap();
        assert_eq!(next, Retry::At(at + wait));
        assert!(lease(&*s, 9, at + wait - 1.microseconds()).await.is_empty());
        at += wait;
    }
    // What is of a name no longer held is parked no longer.
    s.remove(ONE, &[name("a.example")], at).await.unwrap();
    assert!(s.parked_jobs(SCAN, 9).await.unwrap().is_empty());
}

pub async fn a_success_forgets_failures_and_a_release_counts_no_attempt(place: &Place) {
    let s = place.open().await;
    enqueue(&*s, "a", now(), Priority::Requested).await;
    let job = lease(&*s, 1, now()).await.remove(0);
    s.release(&job, now()).await.unwrap();
    let job = lease(&*s, 1, now()).await.remove(0);
    assert_eq!((job.attempt, job.priority), (1, Priority::Requested), "another worker need not wait");
    s.fail(&job, "once", now()).await.unwrap();
    // A person asks: no wait.
    enqueue(&*s, "a", later(0), Priority::Requested).await;
    let job = lease(&*s, 1, now()).await.remove(0);
    assert_eq!(job.attempt, 2);
    s.complete(&job, Some(later(60)), Some("{}".into()), later(1)).await.unwrap();
    let state = s.job_states(SCAN, vec!["a".into(), "b".into()]).await.unwrap().remove(0);
    assert_eq!((state.attempts, &state.last_error, state.is_active()), (0, &None, false));
    assert_eq!(state.outcome, Some((later(1), "{}".into())));
}

/// Every replica sees what runs and what a person waits for, whichever replica works on it.
pub async fn active_jobs_are_seen_by_every_replica(place: &Place) {
    let (a, b) = (place.open().await, place.open().await);
    add(&*a, ONE, &["added.example"]).await;
    enqueue(&*a, "asked.example", now(), Priority::Requested).await;
    enqueue(&*a, "scheduled.example", later(-1), Priority::Scheduled).await;
    let active = async || {
        let mut all = b.active_jobs(SCAN, 9).await.unwrap();
        all.sort_by(|x, y| x.job.cmp(&y.job));
        all.into_iter().map(|s| (s.job.key().to_string(), s.phase)).collect::<Vec<_>>()
    };
    let waits = JobPhase::Waiting { run_at: now() };
    assert_eq!(active().await, [("added.example".into(), waits), ("asked.example".into(), waits)]);
    assert_eq!(b.active_jobs(SCAN, 1).await.unwrap().len(), 1);
    let mut jobs = lease(&*a, 9, now()).await;
    let runs = JobPhase::Running { run_at: now() };
    assert_eq!(active().await[1], ("asked.example".into(), runs));
    assert_eq!(active().await.len(), 3);
    for job in jobs.drain(..) {
        a.complete(&job, Some(later(60)), None, now()).await.unwrap();
    }
    assert!(active().await.is_empty());
}

pub async fn asking_twice_makes_one_job(place: &Place) {
    let s = place.open().await;
    enqueue(&*s, "a", later(60), Priority::Scheduled).await;
    enqueue(&*s, "a", later(30), Priority::Scheduled).await;
    enqueue(&*s, "a", later(90), Priority::Requested).await;
    s.enqueue(&[(scan("a"), later(80)), (scan("a"), later(20)), (scan("b"), later(1))], Priority::Added)
        .await
        .unwrap();
    assert_eq!(due(&*s, later(19)).await, 1);
    let got = lease(&*s, 9, later(20)).await;
    let seen: Vec<_> = got.iter().map(|j| (j.job.key(), j.run_at, j.priority)).collect();
    assert_eq!(
        seen,
        [("a", later(20), Priority::Requested), ("b", later(1), Priority::Added)],
        "earliest time, highest priority, that order"
    );
    // Adding names queues their scans, before the schedule.
    enqueue(&*s, "schedule.example", later(-9), Priority::Scheduled).await;
    add(&*s, ONE, &["z.example"]).await;
    let got = lease(&*s, 1, later(20)).await;
    assert_eq!(got[0].job.key(), "z.example");
}

pub async fn what_is_asked_for_meanwhile_runs_again(place: &Place) {
    let s = place.open().await;
    enqueue(&*s, "a", now(), Priority::Scheduled).await;
    let job = lease(&*s, 1, now()).await.remove(0);
    enqueue(&*s, "a", later(1), Priority::Requested).await;
    assert!(lease(&*s, 1, later(1)).await.is_empty(), "not while it runs");
    s.complete(&job, Some(later(60)), None, later(2)).await.unwrap();
    let job = lease(&*s, 1, later(2)).await.remove(0);
    assert_eq!((job.run_at, job.priority, job.attempt), (later(1), Priority::Requested, 1));
    // Asked for later than the schedule wants it: the schedule's time, at the schedule's priority.
    enqueue(&*s, "a", later(90), Priority::Requested).await;
    s.complete(&job, Some(later(60)), None, later(3)).await.unwrap();
    assert!(lease(&*s, 1, later(59)).await.is_empty());
    let job = lease(&*s, 1, later(60)).await.remove(0);
    assert_eq!(job.priority, Priority::Scheduled);
    // Done for good, but asked for: it stays.
    enqueue(&*s, "a", later(61), Priority::Requested).await;
    s.complete(&job, None, None, later(61)).await.unwrap();
    let job = lease(&*s, 1, later(61)).await.remove(0);
    s.complete(&job, None, None, later(62)).await.unwrap();
    assert!(lease(&*s, 1, much_later(999)).await.is_empty());
}

pub async fn what_a_person_asked_for_keeps_its_priority(place: &Place) {
    let s = place.open().await;
    // The schedule wants it again a moment before it was asked for.
    enqueue(&*s, "a", now(), Priority::Scheduled).await;
    let job = lease(&*s, 1, now()).await.remove(0);
    enqueue(&*s, "a", later(2), Priority::Requested).await;
    s.complete(&job, Some(later(1)), None, later(3)).await.unwrap();
    let job = lease(&*s, 1, later(3)).await.remove(0);
    assert_eq!(job.priority, Priority::Requested);
    // The scan is cut off by the end of its process.
    enqueue(&*s, "b", later(3), Priority::Scheduled).await;
    let cut = lease(&*s, 1, later(3)).await.remove(0);
    enqueue(&*s, "b", later(4), Priority::Requested).await;
    s.release(&cut, later(5)).await.unwrap();
    assert_eq!(lease(&*s, 1, later(5)).await.remove(0).priority, Priority::Requested);
    // Its process dies and the lease ends.
    s.complete(&job, None, None, later(5)).await.unwrap();
    enqueue(&*s, "c", later(5), Priority::Scheduled).await;
    assert_eq!(lease(&*s, 1, later(5)).await.remove(0).job.key(), "c");
    enqueue(&*s, "c", later(6), Priority::Requested).await;
    let again = lease(&*s, 5, much_later(1)).await;
    let c = again.iter().find(|j| j.job.key() == "c").unwrap();
    assert_eq!((c.priority, c.attempt), (Priority::Requested, 2));
}

/// Everything asked for before a run begins is done by that run or a later one, whoever asks and works when.
pub async fn a_rush_of_askers_and_workers_loses_nothing(place: &Place) {
    let s = place.open().await;
    let mut tasks = tokio::task::JoinSet::new();
    for t in 0..4 {
        let s = place.open().await;
        let priority = [Priority::Scheduled, Priority::Added, Priority::Requested][t % 3];
        tasks.spawn(async move {
            for i in 0..40 {
                enqueue(&*s, &format!("k{}", i % 5), now(), priority).await;
                for job in lease(&*s, 2, later(1)).await {
                    s.complete(&job, None, None, later(1)).await.unwrap();
                }
            }
        });
    }
    tasks.join_all().await;
    // Whatever is left was asked for during the last runs; nothing is stuck in a lease.
    while let Some(job) = lease(&*s, 1, later(1)).await.pop() {
        s.complete(&job, None, None, later(1)).await.unwrap();
    }
    enqueue(&*s, "k0", now(), Priority::Scheduled).await;
    assert_eq!(lease(&*s, 9, later(1)).await.len(), 1);
}

/// Jobs that end together in one order while a person asks for all of them in another: neither waits for the other for good.
pub async fn jobs_that_end_while_all_are_asked_for_lose_nothing(place: &Place) {
    let s = place.open().await;
    let jobs: Vec<_> = (0..40).map(|i| (scan(&format!("k{i:03}")), now())).collect();
    for round in 0..10 {
        let at = much_later(round);
        let all: Vec<_> = jobs.iter().map(|(job, _)| (job.clone(), at)).collect();
        s.enqueue(&all, Priority::Scheduled).await.unwrap();
        let mut leased = lease(&*s, 40, at).await;
        assert_eq!(leased.len(), 40, "round {round}");
        leased.sort_by(|a, b| b.job.cmp(&a.job));
        let ends = leased.iter().map(|job| s.complete(job, Some(at + 1.hour()), None, at));
        let asks = (0..8).map(|_| s.enqueue(&all, Priority::Requested));
        let (ended, asked) = futures::join!(futures::future::join_all(ends), futures::future::join_all(asks));
        assert!(ended.iter().all(Result::is_ok), "{ended:?}");
        assert!(asked.iter().all(Result::is_ok), "{asked:?}");
    }
}

pub async fn jobs_that_a_wrong_clock_put_years_ahead_are_rescheduled(place: &Place) {
    let s = place.open().await;
    let year = later(365 * 24 * 60);
    s.enqueue(&[(scan("near"), later(60)), (scan("far"), year)], Priority::Scheduled).await.unwrap();
    // Leased by a worker whose clock is a year ahead, and never returned.
    enqueue(&*s, "held", now(), Priority::Scheduled).await;
    let held = s.lease(SCAN, "ahead", 1, year).await.unwrap().remove(0);
    let day = later(24 * 60);
    let far = s.far_future_jobs(SCAN, day, 10).await.unwrap();
    assert_eq!(far.len(), 2, "{far:?}");
    assert!(far.contains(&held.job) && !far.contains(&scan("near")), "{far:?}");
    assert_eq!(s.far_future_jobs(SCAN, day, 1).await.unwrap().len(), 1);
    let times: Vec<_> =
        [scan("near"), scan("far"), held.job.clone()].into_iter().map(|j| (j, later(5))).collect();
    assert_eq!(s.reschedule_far_future(day, &times).await.unwrap(), 2, "what is near stays where it is");
    assert!(s.far_future_jobs(SCAN, day, 10).await.unwrap().is_empty());
    assert_eq!(due(&*s, later(5)).await, 2);
    // The worker with the wrong clock has lost its job.
    s.complete(&held, None, None, year).await.unwrap();
    let again = lease(&*s, 5, later(6)).await;
    assert_eq!(again.len(), 2);
    assert!(again.iter().all(|j| j.run_at == later(5)));
}
