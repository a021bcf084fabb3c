//! Digests: many rows that are one message, with the same rows and name over all attempts.

use crate::outbox::{lease, one_message, planned, record, routing};
use crate::world::{ONE, Place, TWO, add, later, now};
use jiff::Timestamp;
use model::account::{Actor, AuditQuery};
use model::event::EventQuery;
use model::notify::{DeliveryState, Planned};
use store::{Audit, DELIVERY, Failure, Notification, Retry, Store};

/// Routes all events that are recorded into a digest of this hour.
async fn digest(s: &dyn Store, due_at: Timestamp) {
    loop {
        let rows = s.lease_notifications(64, now()).await.unwrap();
        for n in &rows {
            let plan = Planned { batch: true, ..planned(n, "mail", due_at) };
            assert!(s.route_notification(n, &routing(&[plan]), now()).await.unwrap());
        }
        if rows.is_empty() {
            return;
        }
    }
}

async fn with_changes(s: &dyn Store, count: usize) {
    let names: Vec<_> = (0..count).map(|n| format!("d{n}.example")).collect();
    add(s, ONE, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    for n in &names {
        record(s, n, &["one"]).await;
    }
}

fn keys(rows: &[Notification]) -> Vec<String> {
    let mut keys: Vec<_> = rows.iter().map(Notification::dedupe_key).collect();
    keys.dedup();
    keys
}

pub async fn a_batch_is_in_the_hands_of_one_process_and_whole(place: &Place) {
    let s = place.open().await;
    with_changes(&*s, 150).await;
    digest(&*s, later(60)).await;
    let other = place.open().await;
    assert!(s.lease_notifications(64, later(59)).await.unwrap().is_empty());
    let all = s.lease_notifications(1, later(60)).await.unwrap();
    assert_eq!((all.len(), keys(&all).len()), (150, 1), "one message, however many rows");
    assert!(other.lease_notifications(64, later(60)).await.unwrap().is_empty());
    // The process dies: another one gets the same message.
    let again = other.lease_notifications(64, later(62)).await.unwrap();
    assert_eq!((again.len(), keys(&again)), (150, keys(&all)));
    // All 150 events are found on one page of the event log, by their ids.
    let query = EventQuery { per_page: 200, ..EventQuery::default() };
    let ids: Vec<_> = s.events(ONE, &query).await.unwrap().events.iter().map(|e| e.id).collect();
    assert_eq!((ids.len(), s.message_statuses(ONE, &ids).await.unwrap().len()), (150, 150));
}

/// More rows than one digest takes, and one that is routed late: each digest keeps its rows and its name over all attempts.
pub async fn every_attempt_of_a_digest_has_the_same_rows_and_name(place: &Place) {
    let s = place.open().await;
    with_changes(&*s, 510).await;
    digest(&*s, later(60)).await;
    let both = s.lease_notifications(9, later(60)).await.unwrap();
    assert_eq!((both.len(), keys(&both).len()), (500, 1));
    let rest = s.lease_notifications(9, later(60)).await.unwrap();
    assert_eq!((rest.len(), keys(&rest).len()), (10, 1));
    assert_ne!(keys(&rest), keys(&both));
    // A row of the same hour that another process routed meanwhile.
    record(&*s, "d0.example", &["late"]).await;
    digest(&*s, later(60)).await;
    let late = s.lease_notifications(9, later(60)).await.unwrap();
    assert_eq!((late.len(), late[0].dedupe_key() == both[0].dedupe_key()), (1, false));
    let ok = "250 OK";
    s.notification_delivered(&late, ok, later(60)).await.unwrap();

    // One part fails, and its first row is acknowledged before the next attempt.
    s.notification_delivered(&rest, ok, later(60)).await.unwrap();
    let why = Failure::temporary("421");
    let Retry::At(due) = s.notification_failed(&both, &why, later(60)).await.unwrap() else { panic!() };
    let second = s.lease_notifications(9, due).await.unwrap();
    assert_eq!((second.len(), keys(&second)), (500, keys(&both)));
    let first = second.iter().position(|n| n.id == both[0].id).unwrap();
    s.notification_skipped(&second[first..=first], "Mira acknowledged it", due).await.unwrap();
    let Retry::At(due) = s.notification_failed(&second, &why, due).await.unwrap() else { panic!() };
    let third = s.lease_notifications(9, due).await.unwrap();
    assert_eq!((third.len(), keys(&third)), (499, keys(&both)), "the same name without its first row");
    // Nothing is counted or delayed for a part only.
    assert!(third.iter().all(|n| n.attempt == 3 && n.since == later(60)));
    let postponed = Failure::postponed("the state is not known");
    let Retry::At(due) = s.notification_failed(&third, &postponed, due).await.unwrap() else { panic!() };
    let third = s.lease_notifications(9, due).await.unwrap();
    assert!(third.iter().all(|n| n.attempt == 3 && n.since == later(60) + DELIVERY.first_delay));
    assert_eq!(s.notification_failed(&third, &Failure::permanent("550"), due).await.unwrap(), Retry::GivenUp);

    // It is one failed message, which is sent again whole.
    let failed = s.failed_notifications(Some(ONE), 9).await.unwrap();
    assert_eq!((failed.len(), failed[0].domains, failed[0].attempts), (1, 499, 3));
    assert_eq!(s.outbox_stats().await.unwrap(), store::OutboxStats { waiting: 0, failed: 1 });
    let which = (failed[0].id, failed[0].channel.clone());
    assert_eq!(s.retry_notifications(Some(ONE), Some(which), later(99)).await.unwrap(), 1);
    let again = s.lease_notifications(9, later(99)).await.unwrap();
    assert_eq!((again.len(), keys(&again), again[0].since), (499, keys(&both), later(99)));
    // A deliverer that lost its lease marks no row, and none of another message.
    s.notification_delivered(&third, "late", later(99)).await.unwrap();
    assert_eq!(s.outbox_stats().await.unwrap().waiting, 499);
    s.notification_delivered(&again, ok, later(99)).await.unwrap();
    assert_eq!(s.outbox_stats().await.unwrap(), store::OutboxStats::default());
}

pub async fn failed_messages_are_dropped_one_or_all_with_an_entry(place: &Place) {
    let s = place.open().await;
    with_changes(&*s, 3).await;
    digest(&*s, later(60)).await;
    add(&*s, ONE, &["a.example"]).await;
    for minute in 0..2 {
        one_message(&*s, later(minute)).await;
        let n = lease(&*s, later(minute)).await;
        s.notification_failed(&n, &Failure::permanent("404"), later(minute)).await.unwrap();
    }
    let rows = lease(&*s, later(60)).await;
    s.notification_failed(&rows, &Failure::permanent("404"), later(60)).await.unwrap();
    assert_eq!(s.count_failed_notifications(ONE).await.unwrap(), 3, "two messages and a digest");
    assert_eq!(s.failed_notifications(Some(ONE), 1).await.unwrap().len(), 1);
    let by = Actor { who: "Mira".into(), ..Actor::system() };
    let log = |org| Audit {
        org,
        by: by.clone(),
        at: later(61),
        action: "message.drop",
        object: String::new(),
        old: None,
        new: None,
    };
    // Those of another organisation stay.
    let which = s.failed_notifications(Some(ONE), 1).await.unwrap().remove(0);
    let which = Some((which.id, which.channel));
    assert_eq!(s.drop_notifications(which.clone(), &log(TWO)).await.unwrap(), 0);
    assert_eq!(s.drop_notifications(None, &log(TWO)).await.unwrap(), 0);
    assert_eq!(s.drop_notifications(which.clone(), &log(ONE)).await.unwrap(), 1);
    assert_eq!(s.drop_notifications(which, &log(ONE)).await.unwrap(), 0, "it is gone");
    assert_eq!(s.count_failed_notifications(ONE).await.unwrap(), 2);
    let digest = s.failed_notifications(Some(ONE), 9).await.unwrap().pop().unwrap();
    assert_eq!(digest.domains, 3);
    assert_eq!(s.drop_notifications(None, &log(ONE)).await.unwrap(), 2);
    assert_eq!(s.retry_notifications(None, None, later(62)).await.unwrap(), 0);
    assert!(lease(&*s, later(9999)).await.is_empty());
    assert_eq!(s.outbox_stats().await.unwrap(), store::OutboxStats::default());
    let reason = "Mira dropped it after it had failed".to_string();
    let state = s.message_statuses(ONE, &[digest.id]).await.unwrap().remove(0).state;
    assert_eq!(state, DeliveryState::Skipped { at: later(61), reason });
    let query = AuditQuery { limit: 50, ..AuditQuery::default() };
    let entries = s.audit_log(ONE, &query).await.unwrap().entries;
    let found: Vec<_> = entries
        .iter()
        .filter(|e| e.action == "message.drop")
        .map(|e| (e.object.as_str(), e.old.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(found, [("all failed messages", "2 messages"), ("a.example", "1 message")]);
    assert!(s.audit_log(TWO, &query).await.unwrap().entries.is_empty());
}

/// A damaged event ends the attempts of its own message, of a digest whole, and those of no other.
pub async fn what_cannot_be_read_holds_up_no_other_message(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example", "b.example", "c.example"]).await;
    for n in ["a.example", "b.example", "c.example"] {
        record(&*s, n, &["one"]).await;
    }
    let digest = later(60);
    for n in lease(&*s, now()).await {
        let plans = match n.domain.as_str() {
            "c.example" => vec![planned(&n, "pager", now())],
            _ => vec![Planned { batch: true, ..planned(&n, "mail", digest) }],
        };
        assert!(s.route_notification(&n, &routing(&plans), now()).await.unwrap());
    }
    crate::saved::execute(place, "UPDATE events SET json = '{' WHERE name = 'a.example'").await;
    let rows = lease(&*s, digest).await;
    assert_eq!(rows.iter().map(|n| n.domain.as_str()).collect::<Vec<_>>(), ["c.example"]);
    s.notification_delivered(&rows, "", digest).await.unwrap();
    let mut at = digest;
    while s.outbox_stats().await.unwrap().failed == 0 {
        at = at.checked_add(jiff::Span::new().hours(7)).unwrap();
        assert!(lease(&*s, at).await.is_empty() && at < later(60 * 24 * 7), "it is given up");
    }
    let failed = s.failed_notifications(Some(ONE), 9).await.unwrap();
    assert_eq!((failed.len(), failed[0].domains), (1, 2), "the digest is one message");
    assert!(failed[0].reason.starts_with("The events can't be read: "), "{}", failed[0].reason);
}
