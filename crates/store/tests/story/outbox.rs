//! The outbox: a message for each scan with events, delivered at least once, retried, given up, tried again.

use crate::world::{ONE, Place, TWO, add, change, later, name, now, scan};
use jiff::Timestamp;
use store::{Channel, DELIVERY, Notification, Retry, Store};

async fn lease(s: &dyn Store, at: Timestamp) -> Vec<Notification> {
    s.lease_notifications(9, at).await.unwrap()
}

async fn record(s: &dyn Store, n: &str, changes: &[&str]) {
    let changes: Vec<_> = changes.iter().map(|c| change(c)).collect();
    s.record(&scan(s, n, &changes, now()).await).await.unwrap();
}

pub async fn a_scan_with_events_makes_one_message_for_each_holder(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example", "quiet.example"]).await;
    add(&*s, TWO, &["a.example"]).await;
    record(&*s, "quiet.example", &[]).await;
    record(&*s, "a.example", &["one", "two", "three"]).await;
    // Two deliverers never get the same message.
    let other = place.open().await;
    let mut got = s.lease_notifications(1, now()).await.unwrap();
    got.extend(other.lease_notifications(9, now()).await.unwrap());
    assert_eq!(got.iter().map(|n| n.org).collect::<Vec<_>>(), [ONE, TWO]);
    for n in &got {
        assert_eq!((n.channel, n.domain.as_str(), n.attempt), (Channel::Log, "a.example", 1));
        let new: Vec<_> = n.events.iter().filter_map(|e| e.change.new.as_deref()).collect();
        assert_eq!(new, ["one", "two", "three"], "six changes are one message, not six");
        assert!(n.events.iter().all(|e| e.org == n.org) && n.events[0].id == n.id);
    }
    assert!(lease(&*s, now()).await.is_empty());
    assert_eq!(s.outbox_stats().await.unwrap().waiting, 2);
    for n in &got {
        s.notification_delivered(n).await.unwrap();
    }
    assert_eq!(s.outbox_stats().await.unwrap().waiting, 0);
    assert!(lease(&*s, later(9999)).await.is_empty());
}

pub async fn a_deliverer_that_dies_delivers_again_under_the_same_key(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example"]).await;
    record(&*s, "a.example", &["one"]).await;
    let first = lease(&*s, now()).await.remove(0);
    drop(s);
    // Another process, after the lease.
    let s = place.open().await;
    let second = lease(&*s, later(2)).await.remove(0);
    assert_eq!(second.dedupe_key(), first.dedupe_key());
    assert_eq!((second.attempt, &second.events), (2, &first.events));
    // The first comes back to life: it has lost the message.
    s.notification_delivered(&first).await.unwrap();
    assert_eq!(s.notification_failed(&first, "late", later(2)).await.unwrap(), Retry::LeaseLost);
    assert_eq!(s.outbox_stats().await.unwrap().waiting, 1);
    s.notification_delivered(&second).await.unwrap();
    // The next message has another key.
    record(&*s, "a.example", &["two"]).await;
    assert_ne!(lease(&*s, later(3)).await[0].dedupe_key(), first.dedupe_key());
}

pub async fn failures_back_off_are_given_up_visibly_and_can_be_retried(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example"]).await;
    record(&*s, "a.example", &["one"]).await;
    let mut at = now();
    for attempt in 1..=DELIVERY.max_attempts {
        let n = lease(&*s, at).await.remove(0);
        assert_eq!(n.attempt, attempt);
        match s.notification_failed(&n, &format!("refused {attempt}"), at).await.unwrap() {
            Retry::At(next) => {
                assert!(next > at && attempt < DELIVERY.max_attempts);
                assert!(lease(&*s, at).await.is_empty(), "it waits");
                at = next;
            }
            Retry::GivenUp => assert_eq!(attempt, DELIVERY.max_attempts),
            Retry::LeaseLost => panic!("it was held"),
        }
    }
    assert!(lease(&*s, later(999_999)).await.is_empty());
    let failed = s.failed_notifications(9).await.unwrap();
    assert_eq!((failed.len(), failed[0].reason.as_str()), (1, "refused 10"));
    assert_eq!((failed[0].domain.clone(), failed[0].failed_at), (name("a.example"), at));
    let stats = s.outbox_stats().await.unwrap();
    assert_eq!((stats.waiting, stats.failed), (0, 1));
    assert_eq!(s.retry_notifications(at).await.unwrap(), 1);
    let n = lease(&*s, at).await.remove(0);
    assert_eq!(n.attempt, 1);
    s.notification_failed(&n, "again", at).await.unwrap();
    // A process that dies with it every time gives it up as well.
    for i in 1..=i64::from(DELIVERY.max_attempts) {
        lease(&*s, later(i * 100)).await;
    }
    assert_eq!(s.failed_notifications(9).await.unwrap().len(), 1);
    // What nobody retried goes with the history.
    s.prune(later(500 * 24 * 60), 400).await.unwrap();
    assert_eq!(s.outbox_stats().await.unwrap(), store::OutboxStats::default());
}
