//! Messages that are sent again: the next one is there exactly once, whoever delivers the last one and wherever it ends.

use crate::outbox::{lease, one_message, planned};
use crate::world::{ONE, Place, add, change, later, name, now, scan};
use model::item::ItemPatch;
use model::maintenance::Routing;
use model::notify::{DeliveryState, Planned};
use store::{Failure, LOG, LogRead, Notification, Store};

pub async fn a_message_is_repeated_once_whoever_delivers_it(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example"]).await;
    one_message(&*s, now()).await;
    let first = lease(&*s, now()).await;
    let next = |due| vec![(first[0].id, Planned { due_at: later(due), ..planned(&first[0], "mail", now()) })];
    // The process that sent it ends; another one takes it over, and the first comes back to life.
    let again = lease(&*s, later(2)).await;
    assert_eq!((again.len(), again[0].dedupe_key()), (1, first[0].dedupe_key()));
    let before = s.head().await.unwrap();
    s.notification_delivered_until(&first, "250 OK", &next(60), later(2)).await.unwrap();
    assert_eq!(s.outbox_stats().await.unwrap().waiting, 1, "its lease was lost");
    s.notification_delivered_until(&again, "250 OK", &next(60), later(2)).await.unwrap();
    s.notification_delivered_until(&again, "250 OK", &next(90), later(2)).await.unwrap();
    assert_eq!(s.outbox_stats().await.unwrap().waiting, 1, "once");
    // It waits beside the one that was delivered, and says why; readers of the log see the event change.
    let events: Vec<_> = first[0].events.iter().map(|e| e.id).collect();
    let all = s.message_statuses(ONE, &events).await.unwrap();
    assert_eq!((all.len(), all[0].events.clone(), all[1].id), (2, events.clone(), first[0].id));
    let why = Some("Sent again unless it is acknowledged or over by then".to_string());
    assert_eq!(all[0].state, DeliveryState::Waiting { due_at: later(60), attempts: 0, error: why });
    let LogRead::Entries(entries) = s.log_since(Some(ONE), before, 9).await.unwrap() else { panic!() };
    let name_of = |id: i64| id.to_string();
    assert_eq!(
        entries.iter().map(|e| (e.kind.as_str(), e.name.clone())).collect::<Vec<_>>(),
        [("event", name_of(events[0].0))]
    );

    // Two processes when its time has come: one gets it, under an id of its own.
    assert!(lease(&*s, later(59)).await.is_empty());
    let other = place.open().await;
    let (a, b) = tokio::join!(lease(&*s, later(60)), lease(&*other, later(60)));
    let second: Vec<_> = a.into_iter().chain(b).collect();
    assert_eq!((second.len(), second[0].is_repeat, second[0].attempt), (1, true, 1));
    assert_eq!(second[0].events.iter().map(|e| e.id).collect::<Vec<_>>(), events);
    let key = second[0].dedupe_key();
    assert!(key.contains("repeat") && key != first[0].dedupe_key(), "{key}");
    // The third is another one.
    let third = Planned { due_at: later(120), ..planned(&second[0], "mail", now()) };
    s.notification_delivered_until(&second, "250 OK", &[(second[0].id, third)], later(60)).await.unwrap();
    let third = lease(&*s, later(120)).await;
    assert_ne!(third[0].dedupe_key(), key);
    s.notification_delivered(&third, "250 OK", later(120)).await.unwrap();
    assert!(lease(&*s, later(9999)).await.is_empty(), "nothing asks for a fourth");
    assert_eq!(s.message_statuses(ONE, &events).await.unwrap().len(), 3);
}

/// A digest of two domains that was sent, and the digest that repeats it an hour later.
async fn digest_and_repeats(s: &dyn Store) -> (Vec<Notification>, Vec<Notification>) {
    add(s, ONE, &["a.example", "b.example"]).await;
    for domain in ["a.example", "b.example"] {
        s.record(&scan(s, domain, &[change("one")], now()).await).await.unwrap();
    }
    for n in lease(s, now()).await {
        let planned = vec![Planned { batch: true, ..planned(&n, "mail", now()) }];
        let routing = Routing { planned, ..Routing::default() };
        assert!(n.channel == LOG && s.route_notification(&n, &routing, now()).await.unwrap());
    }
    let digest = lease(s, now()).await;
    let next: Vec<_> = digest
        .iter()
        .map(|n| (n.id, Planned { batch: true, due_at: later(60), ..planned(n, "mail", now()) }))
        .collect();
    s.notification_delivered_until(&digest, "250 OK", &next, now()).await.unwrap();
    let again = lease(s, later(60)).await;
    (digest, again)
}

pub async fn repeats_of_several_domains_stay_a_digest(place: &Place) {
    let s = place.open().await;
    let (digest, again) = digest_and_repeats(&*s).await;
    let mut domains: Vec<_> = again.iter().map(|n| n.domain.clone()).collect();
    domains.sort();
    assert_eq!(domains, [name("a.example"), name("b.example")]);
    assert_eq!(again[0].dedupe_key(), again[1].dedupe_key());
    assert_ne!(again[0].dedupe_key(), digest[0].dedupe_key());
    assert!(again.iter().all(|n| n.is_repeat));
}

/// One row of a digest is postponed: the other is retried at once, under the same key, and the row comes later under another.
async fn postponed(place: &Place, out: usize) {
    let s = place.open().await;
    let (_, digest) = digest_and_repeats(&*s).await;
    s.postpone_repeats(&digest[out..=out], "Muted", later(600)).await.unwrap();
    let rest = &digest[1 - out..=1 - out];
    s.notification_failed(rest, &Failure::temporary("421"), later(60)).await.unwrap();
    let retried = lease(&*s, later(62)).await;
    assert_eq!(retried.iter().map(|n| n.id).collect::<Vec<_>>(), [rest[0].id], "its retry does not wait");
    assert_eq!(retried[0].dedupe_key(), rest[0].dedupe_key());
    s.notification_delivered(&retried, "250 OK", later(62)).await.unwrap();
    let events: Vec<_> = digest[out].events.iter().map(|e| e.id).collect();
    let waits = DeliveryState::Waiting { due_at: later(600), attempts: 0, error: Some("Muted".into()) };
    assert_eq!(s.message_statuses(ONE, &events).await.unwrap()[0].state, waits);
    assert!(lease(&*s, later(599)).await.is_empty());
    let late = lease(&*s, later(600)).await;
    assert_eq!((late.len(), late[0].id, late[0].attempt), (1, digest[out].id, 1));
    assert_ne!(late[0].dedupe_key(), digest[0].dedupe_key(), "receivers have seen that");
}

pub async fn a_postponed_repeat_leaves_its_digest(place: &Place) {
    postponed(place, 1).await;
}

pub async fn the_row_that_names_a_digest_leaves_it_under_another_name(place: &Place) {
    postponed(place, 0).await;
}

pub async fn what_is_postponed_together_is_a_digest_again(place: &Place) {
    let s = place.open().await;
    let (_, digest) = digest_and_repeats(&*s).await;
    s.postpone_repeats(&digest[1..], "Maintenance", later(600)).await.unwrap();
    s.notification_delivered(&digest[..1], "250 OK", later(60)).await.unwrap();
    let late = lease(&*s, later(600)).await;
    assert!(late.len() == 1 && late[0].batch.is_some_and(|b| b < 0), "{:?}", late[0].batch);
}

/// A row of a digest that waits longer, for whatever reason, does not keep the others back.
pub async fn a_row_of_a_digest_that_waits_keeps_no_other_back(place: &Place) {
    let s = place.open().await;
    let (_, digest) = digest_and_repeats(&*s).await;
    s.notification_failed(&digest, &Failure::temporary("421"), later(60)).await.unwrap();
    let sql = format!("UPDATE outbox SET due_at = due_at + 3600000000 WHERE id = {}", digest[0].id.0);
    crate::saved::execute(place, &sql).await;
    let retried = lease(&*s, later(62)).await;
    assert_eq!(retried.iter().map(|n| n.id).collect::<Vec<_>>(), [digest[1].id]);
}

pub async fn a_mute_that_ends_early_releases_postponed_repeats(place: &Place) {
    let s = place.open().await;
    let (_, digest) = digest_and_repeats(&*s).await;
    s.postpone_repeats(&digest, "Muted", later(600)).await.unwrap();
    let mute = |until| ItemPatch { muted_until: Some(until), ..ItemPatch::default() };
    for until in [Some(later(600)), None] {
        s.patch(ONE, &name("a.example"), &mute(until), later(70)).await.unwrap();
    }
    let released = lease(&*s, later(70)).await;
    assert_eq!(released.iter().map(|n| n.domain.clone()).collect::<Vec<_>>(), [name("a.example")]);
    // One that waits for its time stays.
    let next = vec![(released[0].id, Planned { due_at: later(130), ..planned(&released[0], "mail", now()) })];
    s.notification_delivered_until(&released, "250 OK", &next, later(70)).await.unwrap();
    for until in [Some(later(600)), None] {
        s.patch(ONE, &name("a.example"), &mute(until), later(71)).await.unwrap();
    }
    assert!(lease(&*s, later(71)).await.is_empty());
    // A rule that was changed may be muted no longer.
    let rule = model::notify::Rule { id: "r".into(), name: "R".into(), ..model::notify::Rule::default() };
    s.save_rule(ONE, &rule, later(72)).await.unwrap();
    assert_eq!(lease(&*s, later(72)).await[0].domain, name("b.example"));
}

/// Events that rules repeat after different hours are different messages.
pub async fn a_message_may_be_repeated_in_parts(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example"]).await;
    s.record(&scan(&*s, "a.example", &[change("one"), change("two")], now()).await).await.unwrap();
    let n = lease(&*s, now()).await.remove(0);
    let routing = Routing { planned: vec![planned(&n, "mail", now())], ..Routing::default() };
    assert!(s.route_notification(&n, &routing, now()).await.unwrap());
    let first = lease(&*s, now()).await;
    let part = |i: usize, due| {
        let events = vec![first[0].events[i].id];
        (first[0].id, Planned { events, due_at: later(due), ..planned(&first[0], "mail", now()) })
    };
    s.notification_delivered_until(&first, "250 OK", &[part(0, 60), part(1, 120)], now()).await.unwrap();
    let (hour, day) = (lease(&*s, later(60)).await, lease(&*s, later(120)).await);
    assert_eq!((hour.len(), hour[0].events[0].id), (1, first[0].events[0].id));
    let later: Vec<_> = day.iter().filter(|n| n.id != hour[0].id).collect();
    assert_eq!((later.len(), later[0].events[0].id), (1, first[0].events[1].id));
    assert_ne!(hour[0].dedupe_key(), later[0].dedupe_key());
}
