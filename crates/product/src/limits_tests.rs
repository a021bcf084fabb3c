//! The limits, under a clock that stands still until everybody waits.

use super::*;
use model::ids::{OrgId, Role};

fn caller(who: &str) -> Caller {
    Caller::new(OrgId::BUILT_IN, who, Role::Owner)
}

fn limits(a_minute: u32, at_once: usize, in_all: usize) -> Limits {
    Limits::new(Bounds { a_minute, org_a_minute: 0, at_once, in_all, all_a_minute: 0 })
}

#[tokio::test(start_paused = true)]
async fn a_minute_has_so_many_points_and_the_refusal_says_when_to_retry() {
    let limits = limits(6, 3, 24);
    let a = caller("a");
    limits.enter(&a, Work::Compare).await.unwrap();
    assert_eq!(limits.usage(&a).map(|u| (u.used, u.limit)), Some((3, 6)));
    tokio::time::advance(Duration::from_secs(20)).await;
    limits.enter(&a, Work::Scan).await.unwrap();
    limits.enter(&a, Work::Trace).await.unwrap();
    let refused = limits.enter(&a, Work::Trace).await.unwrap_err();
    assert_eq!(refused.status(), 429);
    assert!(refused.to_string().contains("Try again in 40 s"), "{refused}");
    assert_eq!(limits.retry_after(&a), Some(40));
    assert!(limits.enter(&caller("b"), Work::Check).await.is_ok(), "others have a minute of their own");
    // Three points come back after forty seconds more, not four.
    tokio::time::advance(Duration::from_secs(40)).await;
    assert_eq!(limits.retry_after(&a), None);
    assert_eq!(limits.usage(&a).map(|u| u.used), Some(3));
    limits.enter(&a, Work::Check).await.unwrap();
    let refused = limits.enter(&a, Work::Trace).await.unwrap_err();
    assert!(refused.to_string().contains("in 20 s"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn members_of_an_organisation_share_a_minute_and_what_was_refused_costs_nothing() {
    let bounds = Bounds { a_minute: 6, org_a_minute: 8, at_once: 1, in_all: 24, all_a_minute: 0 };
    let limits = Limits::new(bounds);
    let (a, b) = (caller("a"), caller("b"));
    let stranger = Caller::new(OrgId(2), "a", Role::Owner);
    limits.enter(&a, Work::Compare).await.unwrap();
    limits.enter(&b, Work::Compare).await.unwrap();
    let refused = limits.enter(&b, Work::Check).await.unwrap_err();
    assert_eq!(refused.status(), 429);
    assert_eq!(
        refused.to_string(),
        "The look-ups of your organisation are used up for the moment. Try again in 60 s."
    );
    assert_eq!(limits.org_usage(a.org), Some(Usage { used: 6, limit: 8 }));
    assert_eq!(limits.usage(&b).map(|u| u.used), Some(3), "what was refused is not charged");
    let _held =
        limits.enter(&stranger, Work::Check).await.expect("another organisation has a minute of its own");
    assert_eq!(limits.enter(&stranger, Work::Check).await.unwrap_err().status(), 429, "one at once");
    assert_eq!(
        limits.org_usage(stranger.org).map(|u| u.used),
        Some(3),
        "work that did not begin is refunded"
    );
    tokio::time::advance(WINDOW).await;
    limits.enter(&b, Work::Check).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn where_little_is_allowed_the_dearest_is_one_a_minute() {
    let limits = limits(2, 3, 24);
    let a = caller("a");
    limits.enter(&a, Work::Check).await.unwrap();
    assert_eq!(limits.enter(&a, Work::Trace).await.unwrap_err().status(), 429);
    tokio::time::advance(WINDOW).await;
    limits.enter(&a, Work::Compare).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_few_at_once_the_next_waits_its_turn_and_a_crowd_is_sent_away() {
    let limits = limits(0, 2, 24);
    let a = caller("a");
    let held = limits.enter(&a, Work::Trace).await.unwrap();
    let _other = limits.enter(&a, Work::Trace).await.unwrap();
    // Six may wait; the seventh is told at once.
    let waiting: Vec<_> = (0..6)
        .map(|_| {
            let (limits, a) = (limits.clone(), a.clone());
            tokio::spawn(async move { limits.enter(&a, Work::Trace).await.map(drop) })
        })
        .collect();
    tokio::task::yield_now().await;
    let before = Instant::now();
    let refused = limits.enter(&a, Work::Trace).await.unwrap_err();
    assert_eq!((refused.status(), before.elapsed()), (429, Duration::ZERO));
    assert!(refused.to_string().contains("2 of your look-ups are running already"), "{refused}");
    drop(held);
    for w in waiting {
        w.await.unwrap().unwrap();
    }
    // One place is still held: who waits in vain is told after a while, and leaves no trace in the queue.
    let _second = limits.enter(&a, Work::Trace).await.unwrap();
    let refused = limits.enter(&a, Work::Trace).await.unwrap_err();
    assert_eq!((refused.status(), before.elapsed()), (429, MAX_WAIT));
    assert_eq!(limits.callers().known[&key(&a)].waiting, 0);
    assert_eq!(limits.retry_after(&a), Some(RETRY_SOON.as_secs()));
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_behind_watches() {
    let limits = limits(0, 2, 24);
    let a = caller("a");
    let _one = limits.enter(&a, Work::Watch).await.unwrap();
    let two = limits.enter(&a, Work::Watch).await.unwrap();
    let before = Instant::now();
    assert_eq!(limits.enter(&a, Work::Trace).await.unwrap_err().status(), 429);
    assert_eq!(before.elapsed(), Duration::ZERO);
    drop(two);
    assert!(limits.enter(&a, Work::Trace).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn all_callers_together_have_so_many_permits() {
    let limits = limits(6, 3, 2);
    let held = [limits.enter(&caller("a"), Work::Trace).await, limits.enter(&caller("b"), Work::Trace).await];
    let c = caller("c");
    let refused = limits.enter(&c, Work::Check).await.unwrap_err();
    assert_eq!(refused.status(), 503);
    assert!(refused.to_string().contains("limit of 2 look-ups"), "{refused}");
    // The caller's place and its points are its own again.
    drop(held);
    limits.enter(&c, Work::Check).await.unwrap();
    limits.enter(&c, Work::Check).await.unwrap();
    assert_eq!(limits.enter(&c, Work::Trace).await.unwrap_err().status(), 429);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_waiter_holds_nothing() {
    let limits = limits(0, 1, 1);
    let _held = limits.enter(&caller("a"), Work::Trace).await.unwrap();
    for who in ["a", "b"] {
        let gone = timeout(Duration::from_millis(10), limits.enter(&caller(who), Work::Trace)).await;
        assert!(gone.is_err(), "{who} waits");
        let callers = limits.callers();
        assert_eq!((callers.known[&key(&caller(who))].waiting, callers.waiting), (0, 0), "{who}");
    }
    assert_eq!(limits.callers().known[&key(&caller("b"))].places.available_permits(), 1);
}

#[tokio::test(start_paused = true)]
async fn callers_of_long_ago_are_forgotten() {
    let limits = limits(6, 3, 24);
    for n in 0..MAX_CALLERS {
        limits.enter(&caller(&n.to_string()), Work::Trace).await.unwrap();
    }
    tokio::time::advance(WINDOW).await;
    let held = limits.enter(&caller("held"), Work::Trace).await.unwrap();
    assert_eq!(limits.callers().known.len(), 1);
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn visitors_share_a_minute_and_a_refused_one_pays_nothing() {
    let limits =
        Limits::new(Bounds { a_minute: 4, org_a_minute: 0, at_once: 3, in_all: 24, all_a_minute: 6 });
    let (a, b, c) = (caller("a"), caller("b"), caller("c"));
    limits.enter(&a, Work::Check).await.unwrap();
    tokio::time::advance(Duration::from_secs(10)).await;
    limits.enter(&b, Work::Scan).await.unwrap();
    // One point is left for all: a scan does not fit, a trace does.
    let refused = limits.enter(&c, Work::Scan).await.unwrap_err();
    assert_eq!(refused.status(), 429);
    assert!(refused.detail.contains("all visitors") && refused.detail.contains("50 s"), "{refused}");
    assert_eq!((limits.retry_after(&c), limits.retry_after(&b)), (Some(50), None));
    limits.enter(&c, Work::Trace).await.unwrap();
    let own = limits.enter(&a, Work::Scan).await.unwrap_err();
    assert!(own.detail.contains("Too many look-ups within a minute"), "{own}");
    tokio::time::advance(Duration::from_secs(50)).await;
    limits.enter(&c, Work::Check).await.unwrap();
}
