//! The outbox: the events of a scan, routed once into messages for channels; each delivered at least once, retried,
//! given up, tried again.

use crate::world::{ONE, Place, TWO, add, change, later, name, now, scan};
use jiff::Timestamp;
use model::account::{Actor, AuditQuery};
use model::event::{EventKind, EventQuery};
use model::ids::EventId;
use model::maintenance::{Maintenance, Routing, Scope};
use model::notify::{Channel, DeliveryState, Planned, Rule, Target};
use store::{DELIVERY, Failure, LOG, Notification, Retry, SecretKey, Store};

async fn lease(s: &dyn Store, at: Timestamp) -> Vec<Notification> {
    s.lease_notifications(9, at).await.unwrap()
}

async fn record(s: &dyn Store, n: &str, changes: &[&str]) {
    let changes: Vec<_> = changes.iter().map(|c| change(c)).collect();
    s.record(&scan(s, n, &changes, now()).await).await.unwrap();
}

fn planned(n: &Notification, channel: &str, due_at: Timestamp) -> Planned {
    Planned {
        channel: channel.into(),
        due_at,
        batch: false,
        events: n.events.iter().map(|e| e.id).collect(),
        rules: vec!["Everything".into()],
        skipped: None,
    }
}

fn routing(planned: &[Planned]) -> Routing {
    Routing { planned: planned.to_vec(), during: vec![] }
}

/// Records a scan with one event and routes it to a channel.
async fn one_message(s: &dyn Store, at: Timestamp) {
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
    s.notification_delivered(&n, "250 OK", now()).await.unwrap();
    let n = lease(&*s, later(61)).await.remove(0);
    assert_eq!((n.channel.as_str(), n.events.len()), ("pager", 2));
    assert_eq!(n.batch, Some(later(60).as_microsecond()));
    s.notification_delivered(&n, "202 Accepted", later(61)).await.unwrap();
    assert_eq!(s.outbox_stats().await.unwrap(), store::OutboxStats::default());
    assert!(lease(&*s, later(9999)).await.is_empty());

    // How they went stays readable, to their organisation alone.
    let all = s.message_statuses(ONE, n.id, EventId(n.id.0 + 1)).await.unwrap();
    assert_eq!(all.iter().map(|m| m.channel.as_str()).collect::<Vec<_>>(), ["mail", "pager"]);
    let answer = "250 OK".to_string();
    assert_eq!(all[0].state, DeliveryState::Delivered { at: now(), answer });
    assert_eq!(all[1].events.len(), 2);
    assert!(s.message_statuses(TWO, EventId(0), EventId(i64::MAX)).await.unwrap().is_empty());
    assert_eq!(s.last_message(ONE, "pager").await.unwrap().unwrap().channel, "pager");
    s.prune(later(120 * 24 * 60), 400).await.unwrap();
    assert!(s.message_statuses(ONE, EventId(0), EventId(i64::MAX)).await.unwrap().is_empty());
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
    s.notification_delivered(&first, "", later(2)).await.unwrap();
    let late = Failure::temporary("late");
    assert_eq!(s.notification_failed(&first, &late, later(2)).await.unwrap(), Retry::LeaseLost);
    assert_eq!(s.outbox_stats().await.unwrap().waiting, 1);
    s.notification_delivered(&second, "", later(2)).await.unwrap();
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
        match s.notification_failed(&n, &why, at).await.unwrap() {
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
    assert_eq!(s.notification_failed(&n, &Failure::permanent("gone"), at).await.unwrap(), Retry::GivenUp);
    assert_eq!(s.retry_notifications(None, None, at).await.unwrap(), 1);
    let n = lease(&*s, at).await.remove(0);
    let hour = std::time::Duration::from_secs(3600);
    let asked = Failure { retry_after: Some(hour), ..Failure::temporary("slower") };
    let retry = s.notification_failed(&n, &asked, at).await.unwrap();
    assert_eq!(retry, Retry::At(at + hour));
    // What this installation could not attempt counts for nothing, however often.
    let mut due = at + hour;
    for _ in 0..DELIVERY.max_attempts * 2 {
        let n = lease(&*s, due).await.remove(0);
        assert_eq!(n.attempt, 2, "the one after “slower”");
        match s.notification_failed(&n, &Failure::postponed("the state is not known"), due).await.unwrap() {
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

pub async fn channels_and_rules_belong_to_one_organisation(place: &Place) {
    let s = place.open().await;
    let channel = |id: &str, name: &str| Channel {
        id: id.into(),
        name: name.into(),
        target: Target::Slack { url: "https://hooks.example/a".into() },
        created_at: now(),
    };
    for c in [channel("b", "beta"), channel("a", "Alpha"), channel("b", "Zeta")] {
        s.save_channel(ONE, &c, now()).await.unwrap();
    }
    let names: Vec<_> = s.channels(ONE).await.unwrap().into_iter().map(|c| c.name).collect();
    assert_eq!(names, ["Alpha", "Zeta"]);
    assert!(
        s.channels(TWO).await.unwrap().is_empty()
            && !s.delete_channel(&Actor::system(), TWO, "a", now()).await.unwrap()
    );
    let rule = Rule { id: "r".into(), name: "R".into(), channels: vec!["a".into()], ..Rule::default() };
    s.save_rule(ONE, &rule, now()).await.unwrap();
    assert_eq!(s.rules(ONE).await.unwrap(), [rule]);
    // What waits for a channel goes with it.
    add(&*s, ONE, &["a.example"]).await;
    record(&*s, "a.example", &["one"]).await;
    let n = lease(&*s, now()).await.remove(0);
    s.route_notification(&n, &routing(&[planned(&n, "a", now())]), now()).await.unwrap();
    assert!(s.delete_channel(&Actor::system(), ONE, "a", now()).await.unwrap());
    assert_eq!(s.outbox_stats().await.unwrap().waiting, 0);
    assert!(
        s.delete_rule(&Actor::system(), ONE, "r", now()).await.unwrap()
            && s.rules(ONE).await.unwrap().is_empty()
    );
}

pub async fn changes_of_notification_settings_are_audited(place: &Place) {
    let s = place.open().await;
    let by = Actor { who: "ana@alder.example".into(), ..Actor::system() };
    let target = Target::Slack { url: "https://hooks.slack.com/services/T/B/secret".into() };
    let channel = Channel { id: "c".into(), name: "Ops".into(), target, created_at: now() };
    s.save_channel_by(&by, ONE, &channel, now()).await.unwrap();
    // What changes nothing is no entry.
    s.save_channel_by(&by, ONE, &channel, now()).await.unwrap();
    let renamed = Channel { name: "Night".into(), ..channel };
    s.save_channel_by(&by, ONE, &renamed, now()).await.unwrap();
    let rule = Rule { id: "r".into(), name: "R".into(), channels: vec!["c".into()], ..Rule::default() };
    s.save_rule_by(&by, ONE, &rule, now()).await.unwrap();
    s.save_rule_by(&by, ONE, &Rule { enabled: false, ..rule }, now()).await.unwrap();
    let window = Maintenance {
        id: "w".into(),
        from: now(),
        to: later(3600),
        scope: Scope::Tag { tag: "prod".into() },
        note: "Move".into(),
        by: by.who.clone(),
    };
    s.save_maintenance_by(&by, ONE, &window, now()).await.unwrap();
    assert!(s.delete_maintenance(&by, ONE, "w", now()).await.unwrap());
    assert!(s.delete_rule(&by, ONE, "r", now()).await.unwrap());
    assert!(!s.delete_rule(&by, ONE, "r", now()).await.unwrap());
    assert!(s.delete_channel(&by, ONE, "c", now()).await.unwrap());

    let query = AuditQuery { limit: 50, ..AuditQuery::default() };
    let mut entries = s.audit_log(ONE, &query).await.unwrap().entries;
    entries.reverse();
    let entries: Vec<_> = entries.into_iter().filter(|e| e.who == by.who).collect();
    let found: Vec<_> = entries.iter().map(|e| format!("{} {}", e.action, e.object)).collect();
    assert_eq!(
        found,
        [
            "channel.save Ops",
            "channel.save Night",
            "rule.save R",
            "rule.save R",
            "maintenance.save Domains tagged prod",
            "maintenance.remove Domains tagged prod",
            "rule.remove R",
            "channel.remove Night",
        ]
    );
    assert_eq!(entries[0].new.as_deref(), Some("Slack: hooks.slack.com/…"));
    let (old, new) = (entries[3].old.as_deref().unwrap(), entries[3].new.as_deref().unwrap());
    assert!(old.starts_with("enabled; ") && new.starts_with("disabled; "), "{old} / {new}");
    assert!(entries[5].old.as_deref().unwrap().ends_with(": Move") && entries[5].new.is_none());
    assert!(found.iter().all(|line| !line.contains("secret")));
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
    let routing = Routing { planned: vec![closed], during };
    assert!(s.route_notification(&n, &routing, now()).await.unwrap());
    assert!(lease(&*s, later(9999)).await.is_empty());
    let all = s.message_statuses(ONE, EventId(0), EventId(i64::MAX)).await.unwrap();
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
    s.notification_failed(&n, &why, now()).await.unwrap();
    let n = lease(&*s, later(60)).await.remove(0);
    assert_eq!(n.accepted, ["a@x.example"]);
    let why = Failure { accepted: vec!["b@x.example".into()], ..Failure::permanent("half") };
    s.notification_failed(&n, &why, later(60)).await.unwrap();
    s.retry_notifications(None, None, later(61)).await.unwrap();
    let n = lease(&*s, later(61)).await.remove(0);
    assert_eq!(n.accepted, ["a@x.example", "b@x.example"]);
    s.notification_skipped(&n, "The channel was removed", later(61)).await.unwrap();
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

/// What a database holds, all of it.
async fn octets(place: &Place) -> Vec<u8> {
    match place {
        Place::Sqlite(path) => {
            let mut all = Vec::new();
            for suffix in ["", "-wal", "-shm"] {
                let file = format!("{}{suffix}", path.display());
                all.extend(std::fs::read(file).unwrap_or_default());
            }
            all
        }
        Place::Postgres(_) => {
            let sql = "SELECT json FROM notification_settings";
            crate::saved::texts(place, sql).await.concat().into_bytes()
        }
    }
}

pub async fn secrets_of_channels_are_not_stored_in_clear(place: &Place) {
    let s = place.open().await;
    let target = Target::Telegram { token: "hunter2-hunter2".into(), chat: "-1".into() };
    let channel = Channel { id: "c".into(), name: "Chat".into(), target, created_at: now() };
    s.save_channel(ONE, &channel, now()).await.unwrap();
    let holds = |all: &[u8], word: &str| all.windows(word.len()).any(|w| w == word.as_bytes());
    let all = octets(place).await;
    assert!(!holds(&all, "hunter2") && holds(&all, "v1:"), "encrypted");
    assert_eq!(s.channels(ONE).await.unwrap(), std::slice::from_ref(&channel));
    drop(s);

    // As an earlier version wrote it.
    let plain = serde_json::to_string(&channel).unwrap();
    crate::saved::execute(place, &format!("UPDATE notification_settings SET json = '{plain}'")).await;
    assert!(holds(&octets(place).await, "hunter2"));
    let s = place.open().await;
    assert!(!holds(&octets(place).await, "hunter2"), "converted, and nothing is left in free pages");
    assert_eq!(s.channels(ONE).await.unwrap(), [channel]);
    s.check_channels().await.unwrap();
    drop(s);

    // With another key it is an error that says what to do, and the channels can be given up.
    let other = SecretKey::parse("//79/Pv6+fj39vX08/Lx8O/u7ezr6uno5+bl5OPi4eA=").unwrap();
    let at = match place {
        Place::Sqlite(path) => format!("sqlite:{}", path.display()),
        Place::Postgres(url) => url.clone(),
    };
    let s = store::open_with(&at, Some(other)).await.unwrap();
    for e in [s.channels(ONE).await.unwrap_err(), s.check_channels().await.unwrap_err()] {
        assert!(e.to_string().contains("DOMAINSCOPE_SECRET_KEY"), "{e}");
    }
    assert_eq!(s.remove_unreadable_channels(&Actor::system(), now()).await.unwrap(), 1);
    s.check_channels().await.unwrap();
    assert!(s.channels(ONE).await.unwrap().is_empty() && s.has_key());
}
