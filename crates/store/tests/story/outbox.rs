//! The outbox: the events of a scan, routed once into messages for channels; each delivered at least once, retried,
//! given up, tried again.

use crate::world::{ONE, Place, TWO, add, change, later, name, now, scan};
use jiff::Timestamp;
use model::account::Actor;
use model::event::{EventKind, EventQuery};
use model::ids::EventId;
use model::item::ItemPatch;
use model::maintenance::{Closed, Held, Maintenance, Routing, Scope};
use model::notify::{DeliveryState, Planned};
use store::{DELIVERY, Failure, LOG, Notification, Retry, Store};

pub(super) async fn lease(s: &dyn Store, at: Timestamp) -> Vec<Notification> {
    s.lease_notifications(9, at).await.unwrap()
}

pub(super) async fn record(s: &dyn Store, n: &str, changes: &[&str]) {
    let changes: Vec<_> = changes.iter().map(|c| change(c)).collect();
    s.record(&scan(s, n, &changes, now()).await).await.unwrap();
}

pub(super) fn planned(n: &Notification, channel: &str, due_at: Timestamp) -> Planned {
    Planned {
        channel: channel.into(),
        due_at,
        batch: false,
        events: n.events.iter().map(|e| e.id).collect(),
        rules: vec!["Everything".into()],
        skipped: None,
    }
}

pub(super) fn routing(planned: &[Planned]) -> Routing {
    Routing { planned: planned.to_vec(), ..Routing::default() }
}

/// Records a scan with one event and routes it to a channel.
pub(super) async fn one_message(s: &dyn Store, at: Timestamp) {
    record(s, "a.example", &["one"]).await;
    let n = lease(s, at).await.remove(0);
    assert!(s.route_notification(&n, &routing(&[planned(&n, "mail", at)]), at).await.unwrap());
}

pub async fn a_scan_with_events_is_routed_once_for_each_holder(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example", "quiet.example"]).await;
    add(&*s, TWO, &["a.example"]).await;
    record(&*s, "quiet.example", &[]).await;
    record(&*s, "a.example", &["one", "two", "three"]).await;
    // Two dispatchers never get the same row.
    let other = place.open().await;
    let mut got = s.lease_notifications(1, now()).await.unwrap();
    got.extend(other.lease_notifications(9, now()).await.unwrap());
    assert_eq!(got.iter().map(|n| n.org).collect::<Vec<_>>(), [ONE, TWO]);
    for n in &got {
        assert_eq!((n.channel.as_str(), n.domain.as_str(), n.attempt), (LOG, "a.example", 1));
        let new: Vec<_> = n.events.iter().filter_map(|e| e.change.new.as_deref()).collect();
        assert_eq!(new, ["one", "two", "three"], "six changes are one message, not six");
        assert!(n.events.iter().all(|e| e.org == n.org) && n.events[0].id == n.id);
    }
    assert!(lease(&*s, now()).await.is_empty());
    assert_eq!(s.outbox_stats().await.unwrap().waiting, 2);

    // To two channels, one of them later and about two of the events only; the other organisation wants nothing.
    let mut second = planned(&got[0], "pager", later(60));
    second.events.truncate(2);
    second.batch = true;
    let plans = [planned(&got[0], "mail", now()), second];
    assert!(s.route_notification(&got[0], &routing(&plans), now()).await.unwrap());
    assert!(!s.route_notification(&got[0], &routing(&plans), now()).await.unwrap(), "it was routed already");
    assert!(s.route_notification(&got[1], &Routing::default(), now()).await.unwrap());
    let n = lease(&*s, now()).await.remove(0);
    assert_eq!((n.channel.as_str(), n.events.len(), n.batch), ("mail", 3, None));
    assert_eq!(n.rules, ["Everything"]);
    s.notification_delivered(std::slice::from_ref(&n), "250 OK", now()).await.unwrap();
    let n = lease(&*s, later(61)).await.remove(0);
    assert_eq!((n.channel.as_str(), n.events.len()), ("pager", 2));
    assert_eq!((n.batch, n.since), (Some(-n.id.0), later(60)), "a digest is named after its first row");
    s.notification_delivered(std::slice::from_ref(&n), "202 Accepted", later(61)).await.unwrap();
    assert_eq!(s.outbox_stats().await.unwrap(), store::OutboxStats::default());
    assert!(lease(&*s, later(9999)).await.is_empty());

    // How they went stays readable, to their organisation alone.
    let ids: Vec<_> = got[0].events.iter().map(|e| e.id).collect();
    let all = s.message_statuses(ONE, &ids).await.unwrap();
    assert_eq!(all.iter().map(|m| m.channel.as_str()).collect::<Vec<_>>(), ["mail", "pager"]);
    let answer = "250 OK".to_string();
    assert_eq!(all[0].state, DeliveryState::Delivered { at: now(), answer });
    assert_eq!(all[1].events.len(), 2);
    assert!(s.message_statuses(TWO, &ids).await.unwrap().is_empty());
    let one = s.message_statuses(ONE, &ids[2..]).await.unwrap();
    assert_eq!(one.iter().map(|m| m.channel.as_str()).collect::<Vec<_>>(), ["mail"], "by event");
    assert_eq!(s.last_message(ONE, "pager").await.unwrap().unwrap().channel, "pager");
    s.prune(later(120 * 24 * 60), 400).await.unwrap();
    assert!(s.message_statuses(ONE, &ids).await.unwrap().is_empty());
}

pub async fn a_deliverer_that_dies_delivers_again_under_the_same_key(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example"]).await;
    one_message(&*s, now()).await;
    let first = lease(&*s, now()).await.remove(0);
    drop(s);
    // Another process, after the lease.
    let s = place.open().await;
    let second = lease(&*s, later(2)).await.remove(0);
    assert_eq!(second.dedupe_key(), first.dedupe_key());
    assert_eq!((second.attempt, &second.events), (2, &first.events));
    // The first comes back to life: it has lost the message.
    s.notification_delivered(std::slice::from_ref(&first), "", later(2)).await.unwrap();
    let late = Failure::temporary("late");
    assert_eq!(
        s.notification_failed(std::slice::from_ref(&first), &late, later(2)).await.unwrap(),
        Retry::LeaseLost
    );
    assert_eq!(s.outbox_stats().await.unwrap().waiting, 1);
    s.notification_delivered(std::slice::from_ref(&second), "", later(2)).await.unwrap();
    // The next message has another key.
    one_message(&*s, later(3)).await;
    assert_ne!(lease(&*s, later(3)).await[0].dedupe_key(), first.dedupe_key());
}

pub async fn failures_back_off_are_given_up_visibly_and_can_be_retried(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example"]).await;
    one_message(&*s, now()).await;
    let mut at = now();
    for attempt in 1..=DELIVERY.max_attempts {
        let n = lease(&*s, at).await.remove(0);
        assert_eq!(n.attempt, attempt);
        let why = Failure::temporary(format!("refused {attempt}"));
        match s.notification_failed(std::slice::from_ref(&n), &why, at).await.unwrap() {
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
    let failed = s.failed_notifications(None, 9).await.unwrap();
    assert_eq!((failed.len(), failed[0].reason.as_str()), (1, "refused 12"));
    assert_eq!(s.failing_since(ONE, "mail").await.unwrap(), Some(now()));
    assert_eq!(s.failing_since(TWO, "mail").await.unwrap(), None);
    assert_eq!((failed[0].domain.clone(), failed[0].failed_at), (name("a.example"), at));
    assert!(s.failed_notifications(Some(TWO), 9).await.unwrap().is_empty());
    let stats = s.outbox_stats().await.unwrap();
    assert_eq!((stats.waiting, stats.failed), (0, 1));
    let which = (failed[0].id, failed[0].channel.clone());
    assert_eq!(s.retry_notifications(Some(TWO), Some(which.clone()), at).await.unwrap(), 0);
    assert_eq!(s.retry_notifications(Some(ONE), Some(which), at).await.unwrap(), 1);
    let n = lease(&*s, at).await.remove(0);
    assert_eq!(n.attempt, 1);
    // What will not pass is given up at once; what the other side asks for is kept.
    assert_eq!(
        s.notification_failed(std::slice::from_ref(&n), &Failure::permanent("gone"), at).await.unwrap(),
        Retry::GivenUp
    );
    assert_eq!(s.retry_notifications(None, None, at).await.unwrap(), 1);
    let n = lease(&*s, at).await.remove(0);
    let hour = std::time::Duration::from_secs(3600);
    let asked = Failure { retry_after: Some(hour), ..Failure::temporary("slower") };
    let retry = s.notification_failed(std::slice::from_ref(&n), &asked, at).await.unwrap();
    assert_eq!(retry, Retry::At(at + hour));
    // What this installation could not attempt counts for nothing, however often.
    let mut due = at + hour;
    for _ in 0..DELIVERY.max_attempts * 2 {
        let n = lease(&*s, due).await.remove(0);
        assert_eq!(n.attempt, 2, "the one after “slower”");
        match s
            .notification_failed(std::slice::from_ref(&n), &Failure::postponed("the state is not known"), due)
            .await
            .unwrap()
        {
            Retry::At(next) if next > due && next <= due + DELIVERY.lease => due = next,
            other => panic!("{other:?}"),
        }
    }
    // A process that dies with it every time gives it up as well.
    for i in 1..=i64::from(DELIVERY.max_attempts) {
        lease(&*s, later(100_000 + i * 100)).await;
    }
    assert_eq!(s.failed_notifications(None, 9).await.unwrap().len(), 1);
    // What was not retried goes with the history.
    s.prune(later(600 * 24 * 60), 400).await.unwrap();
    assert_eq!(s.outbox_stats().await.unwrap(), store::OutboxStats::default());
}

pub async fn what_is_not_sent_says_why(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example"]).await;
    record(&*s, "a.example", &["one", "two"]).await;
    let n = lease(&*s, now()).await.remove(0);
    // One event fell into a window; the message about the other is closed at once.
    let mut closed = planned(&n, "mail", now());
    closed.events.remove(0);
    closed.skipped = Some("Mira acknowledged it".into());
    let during = vec![(n.events[0].id, "New servers".to_string())];
    let routing = Routing { planned: vec![closed], during, ..Routing::default() };
    assert!(s.route_notification(&n, &routing, now()).await.unwrap());
    assert!(lease(&*s, later(9999)).await.is_empty());
    let ids: Vec<_> = n.events.iter().map(|e| e.id).collect();
    let all = s.message_statuses(ONE, &ids).await.unwrap();
    let reason = "Mira acknowledged it".to_string();
    assert_eq!(all[0].state, DeliveryState::Skipped { at: now(), reason });
    let events = s.events(ONE, &EventQuery::default()).await.unwrap().events;
    let notes: Vec<_> = events.iter().map(|e| e.maintenance.as_deref()).collect();
    assert_eq!(notes, [None, Some("New servers")]);
    // Acknowledged events of a kind, to their organisation alone.
    let kind = events[1].change.kind;
    assert!(s.acknowledged(ONE, &name("a.example"), kind).await.unwrap().is_empty());
    s.acknowledge(ONE, &[events[1].id], "Mira", now()).await.unwrap();
    assert_eq!(s.acknowledged(ONE, &name("a.example"), kind).await.unwrap()[0].id, events[1].id);
    assert!(s.acknowledged(TWO, &name("a.example"), kind).await.unwrap().is_empty());
    assert!(s.acknowledged(ONE, &name("a.example"), EventKind::Expired).await.unwrap().is_empty());

    // Recipients that have a message are remembered over attempts.
    one_message(&*s, now()).await;
    let n = lease(&*s, now()).await.remove(0);
    let why = Failure { accepted: vec!["a@x.example".into()], ..Failure::temporary("half") };
    s.notification_failed(std::slice::from_ref(&n), &why, now()).await.unwrap();
    let n = lease(&*s, later(60)).await.remove(0);
    assert_eq!(n.accepted, ["a@x.example"]);
    let why = Failure { accepted: vec!["b@x.example".into()], ..Failure::permanent("half") };
    s.notification_failed(std::slice::from_ref(&n), &why, later(60)).await.unwrap();
    s.retry_notifications(None, None, later(61)).await.unwrap();
    let n = lease(&*s, later(61)).await.remove(0);
    assert_eq!(n.accepted, ["a@x.example", "b@x.example"]);
    s.notification_skipped(std::slice::from_ref(&n), "The channel was removed", later(61)).await.unwrap();
    assert!(matches!(
        s.last_message(ONE, "mail").await.unwrap().unwrap().state,
        DeliveryState::Skipped { .. }
    ));

    let window = Maintenance {
        id: "w".into(),
        from: now(),
        to: later(60),
        scope: Scope::Tag { tag: "prod".into() },
        note: "New servers".into(),
        by: "Mira".into(),
    };
    s.save_maintenance(ONE, &window, now()).await.unwrap();
    assert_eq!(s.maintenance(ONE).await.unwrap(), [window]);
    assert!(
        s.maintenance(TWO).await.unwrap().is_empty()
            && !s.delete_maintenance(&Actor::system(), TWO, "w", now()).await.unwrap()
    );
    assert!(s.delete_maintenance(&Actor::system(), ONE, "w", now()).await.unwrap());
}

pub async fn what_is_held_waits_together_and_is_released_early(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example", "b.example"]).await;
    let held = |n: &Notification, from: usize, until| Routing {
        held: vec![Held {
            events: n.events[from..].iter().map(|e| e.id).collect(),
            until,
            reason: "Muted".into(),
        }],
        ..Routing::default()
    };
    // Part of a scan is held; the rest is a message, and what no rule sends is noted.
    record(&*s, "a.example", &["one", "two", "three"]).await;
    let first = lease(&*s, now()).await.remove(0);
    assert!(!first.held);
    let mut plan = planned(&first, "mail", now());
    plan.events.truncate(1);
    let closed = Closed { events: vec![first.events[1].id], reason: "No rule sends it".into() };
    let routing = Routing { planned: vec![plan], closed: vec![closed], ..held(&first, 2, later(60)) };
    assert!(s.route_notification(&first, &routing, now()).await.unwrap());
    let ids: Vec<_> = first.events.iter().map(|e| e.id).collect();
    let state = |id: EventId| {
        let s = s.clone();
        async move { s.message_statuses(ONE, &[id]).await.unwrap().remove(0) }
    };
    assert_eq!(state(ids[0]).await.channel, "mail");
    let reason = "No rule sends it".to_string();
    assert_eq!(state(ids[1]).await.state, DeliveryState::Skipped { at: now(), reason });
    let waits = |due_at| DeliveryState::Waiting { due_at, attempts: 0, error: Some("Muted".into()) };
    assert_eq!((state(ids[2]).await.state, state(ids[2]).await.channel), (waits(later(60)), LOG.to_string()));
    let sent = lease(&*s, now()).await.remove(0);
    s.notification_delivered(std::slice::from_ref(&sent), "250 OK", now()).await.unwrap();
    assert_eq!(s.outbox_stats().await.unwrap().waiting, 0, "what is held is not late");

    // The next scan joins it, and the earlier end counts; another domain waits by itself.
    for (domain, until) in [("a.example", later(90)), ("b.example", later(30))] {
        record(&*s, domain, &["four"]).await;
        let n = lease(&*s, now()).await.remove(0);
        assert!(s.route_notification(&n, &held(&n, 0, until), now()).await.unwrap());
    }
    assert!(lease(&*s, later(29)).await.is_empty());
    let b = lease(&*s, later(30)).await;
    assert_eq!(b[0].since, later(30), "the wait is no time of delivery");
    assert_eq!(b.iter().map(|n| (n.domain.as_str(), n.held)).collect::<Vec<_>>(), [("b.example", true)]);
    assert!(
        lease(&*s, later(59)).await.iter().all(|n| n.domain.as_str() == "b.example"),
        "its lease ran out"
    );
    assert_eq!(state(ids[2]).await.state, waits(later(60)));

    // The mute ends early: at once.
    for until in [Some(later(90)), None] {
        let patch = ItemPatch { muted_until: Some(until), ..ItemPatch::default() };
        s.patch(ONE, &name("a.example"), &patch, later(40)).await.unwrap();
    }
    let a = lease(&*s, later(40)).await.remove(0);
    let new: Vec<_> = a.events.iter().filter_map(|e| e.change.new.as_deref()).collect();
    assert_eq!((new, a.id, a.held), (vec!["three", "four"], ids[2], true));
    assert_eq!(a.since, later(40));
    // Still held for another reason; the end of that window releases it too.
    assert!(s.route_notification(&a, &held(&a, 0, later(300)), later(40)).await.unwrap());
    let window = Maintenance {
        id: "w".into(),
        from: now(),
        to: later(300),
        scope: Scope::All,
        note: String::new(),
        by: "Mira".into(),
    };
    s.save_maintenance(ONE, &window, later(41)).await.unwrap();
    let a = lease(&*s, later(41)).await.into_iter().find(|n| n.held && n.id == ids[2]).unwrap();
    assert!(s.route_notification(&a, &held(&a, 0, later(300)), later(41)).await.unwrap());
    s.save_maintenance(ONE, &Maintenance { to: later(42), ..window }, later(42)).await.unwrap();
    let a = lease(&*s, later(42)).await.into_iter().find(|n| n.id == ids[2]).unwrap();
    assert!(s.route_notification(&a, &routing_of(&a, "mail"), later(42)).await.unwrap());
    assert_eq!(state(ids[2]).await.channel, "mail");
}

/// A message about all of its events, now.
fn routing_of(n: &Notification, channel: &str) -> Routing {
    routing(&[planned(n, channel, now())])
}
