//! Recording, history, events, isolation.

use crate::world::{ONE, Place, TWO, add, change, item, later, log, name, new, now, raw, scan};
use model::event::{EventKind, EventQuery, Severity};
use model::ids::{EventId, LogPosition, OrgId, SnapshotId, Vantage};
use model::inventory::ListQuery;
use model::item::{ItemPatch, Ownership};
use model::scan::Op;
use store::{Error, LogRead, Store};

async fn events(s: &dyn Store, org: OrgId) -> u64 {
    s.events(org, &EventQuery::default()).await.unwrap().total
}

pub async fn a_scan_is_recorded_once_or_not_at_all(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example"]).await;
    add(&*s, TWO, &["a.example"]).await;
    let before = s.head().await.unwrap();
    let mut r = scan(&*s, "a.example", &[change("X"), change("Y")], later(1)).await;
    r.snapshot = Some(vec![]);
    let rv = s.record(&r).await.unwrap();
    assert_eq!(rv, s.head().await.unwrap());
    assert_eq!((events(&*s, ONE).await, events(&*s, TWO).await), (2, 2));

    // The same scan again: a recorder that did not hear the answer. Nothing is written twice.
    assert!(matches!(s.record(&r).await, Err(Error::Conflict)));
    assert_eq!((events(&*s, ONE).await, events(&*s, TWO).await), (2, 2));
    assert_eq!(s.head().await.unwrap(), rv);
    assert_eq!(s.counts(ONE, &name("a.example")).await.unwrap(), (1, 2));

    // Each organisation's entries: its item and its two events, under the events' own identities.
    for org in [ONE, TWO] {
        let log = log(&*s, Some(org), before, 100).await;
        let words: Vec<_> = log.iter().map(|l| (l.kind.as_str(), l.op)).collect();
        assert_eq!(words, [("item", Op::Update), ("event", Op::Create), ("event", Op::Create)]);
        let page = s.events(org, &EventQuery::default()).await.unwrap();
        let ids: Vec<_> = page.events.iter().rev().map(|e| e.id.0.to_string()).collect();
        assert_eq!(ids, [log[1].name.clone(), log[2].name.clone()]);
        assert_eq!(page.events[1].change.new.as_deref(), Some("X"), "in the order they were found");
        assert!(page.events.iter().all(|e| e.org == org && e.at == later(1)));
    }
    assert_eq!(item(&*s, ONE, "a.example").await.0.last_change_at, Some(later(1)));
    assert_eq!(s.summary(ONE, later(2)).await.unwrap().open_events, 2);
}

pub async fn two_scans_of_one_name_conflict(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example"]).await;
    for round in 0..5 {
        let r = scan(&*s, "a.example", &[change("X")], later(round)).await;
        let mut racers = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let (s, r) = (place.open().await, r.clone());
            racers.spawn(async move { s.record(&r).await });
        }
        let results = racers.join_all().await;
        assert_eq!(results.iter().filter(|r| r.is_ok()).count(), 1, "{results:?}");
        assert!(results.iter().all(|r| matches!(r, Ok(_) | Err(Error::Conflict))), "{results:?}");
        assert_eq!(events(&*s, ONE).await, u64::try_from(round).unwrap() + 1);
    }
}

/// The days of reminders are said, or the domain is removed, while it is scanned.
pub async fn a_scan_whose_grounds_are_gone_is_judged_again(place: &Place) {
    let s = place.open().await;
    let n = name("a.example");
    add(&*s, ONE, &["a.example"]).await;
    let r = scan(&*s, "a.example", &[], later(1)).await;
    let days = model::item::ItemPatch { expiry_days: Some(Some(vec![7])), ..Default::default() };
    s.patch(ONE, &n, &days, now()).await.unwrap();
    assert!(matches!(s.record(&r).await, Err(Error::Conflict)), "judged by the days before");
    let r = scan(&*s, "a.example", &[], later(2)).await;
    s.remove(ONE, std::slice::from_ref(&n), later(2)).await.unwrap();
    assert!(matches!(s.record(&r).await, Err(Error::Conflict)), "nothing is kept of a name that is not held");
    assert!(s.observation(&n, &model::ids::Vantage::local()).await.unwrap().is_none());
}

pub async fn what_was_said_meanwhile_is_kept(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example", "b.example"]).await;
    add(&*s, TWO, &["b.example"]).await;
    // A tag set while the scan ran survives it, in the row too.
    let r = scan(&*s, "a.example", &[], later(1)).await;
    let tags = ItemPatch { tags: Some(vec!["z".into(), "a".into(), "a".into()]), ..ItemPatch::default() };
    s.patch(ONE, &name("a.example"), &tags, later(1)).await.unwrap();
    s.record(&r).await.unwrap();
    let (stored, row) = item(&*s, ONE, "a.example").await;
    assert_eq!(
        (stored.tags, row.tags),
        (vec!["a".to_string(), "z".into()], vec!["a".to_string(), "z".into()])
    );
    assert_eq!(row.last_scan_at, Some(later(1)));

    // What the judgement hung on changed while the scan ran: judge again.
    let r = scan(&*s, "a.example", &[change("X")], later(2)).await;
    let watched = ItemPatch { ownership: Some(Ownership::Watched), ..ItemPatch::default() };
    s.patch(ONE, &name("a.example"), &watched, later(2)).await.unwrap();
    assert!(matches!(s.record(&r).await, Err(Error::Conflict)));
    assert_eq!(events(&*s, ONE).await, 0);
    assert_eq!(s.observation(&name("a.example"), &Vantage::local()).await.unwrap().unwrap().version, 1);

    // Removed by one organisation while the scan ran: the other still gets its event.
    let r = scan(&*s, "b.example", &[change("X")], later(3)).await;
    assert_eq!(s.remove(ONE, &[name("b.example"), name("c.example")], later(3)).await.unwrap(), 1);
    s.record(&r).await.unwrap();
    assert_eq!((events(&*s, ONE).await, events(&*s, TWO).await), (0, 1));
    assert!(s.item(ONE, &name("b.example")).await.unwrap().is_none());
}

pub async fn states_are_kept_with_their_answers(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example"]).await;
    let n = name("a.example");
    let mut r = scan(&*s, "a.example", &[], later(1)).await;
    (r.snapshot, r.raw) = (Some(vec![]), vec![raw("first"), raw("second")]);
    s.record(&r).await.unwrap();
    // Nothing new: no state, but newer answers of the newest state.
    let mut r = scan(&*s, "a.example", &[], later(2)).await;
    r.raw = vec![raw("third")];
    s.record(&r).await.unwrap();
    let mut r = scan(&*s, "a.example", &[change("X")], later(3)).await;
    (r.snapshot, r.raw) = (Some(vec!["Registrar went to X".into()]), vec![raw("fourth")]);
    s.record(&r).await.unwrap();
    // Nobody answered: what was answered last stays.
    let r = scan(&*s, "a.example", &[], later(4)).await;
    s.record(&r).await.unwrap();

    let kept = s.snapshots(ONE, &n, 10).await.unwrap();
    assert_eq!(kept.iter().map(|m| m.at).collect::<Vec<_>>(), [later(3), later(1)], "newest first");
    assert_eq!(kept[0].summary, ["Registrar went to X"]);
    assert_eq!(s.snapshots(ONE, &n, 1).await.unwrap().len(), 1);
    let bodies = |id: SnapshotId| {
        let (s, n) = (s.clone(), n.clone());
        async move { s.raw(ONE, &n, id).await.unwrap().into_iter().map(|r| r.body).collect::<Vec<_>>() }
    };
    assert_eq!(bodies(kept[1].id).await, ["third"]);
    assert_eq!(bodies(kept[0].id).await, ["fourth"]);
    let state = s.snapshot(ONE, &n, kept[1].id).await.unwrap();
    assert_eq!((state.meta, state.observation.zone.attempted_at), (kept[1].clone(), Some(later(1))));
    let newest = s.observation(&n, &Vantage::local()).await.unwrap().unwrap();
    assert_eq!((newest.version, newest.observation.zone.attempted_at), (4, Some(later(4))));
    // A state of another name is not this name's, whatever its number.
    add(&*s, ONE, &["b.example"]).await;
    assert!(matches!(s.snapshot(ONE, &name("b.example"), kept[0].id).await, Err(Error::NotFound)));
    assert!(matches!(s.raw(ONE, &name("b.example"), kept[0].id).await, Err(Error::NotFound)));
}

pub async fn an_observation_is_amended_unless_it_was_written_meanwhile(place: &Place) {
    let (s, other) = (place.open().await, place.open().await);
    add(&*s, ONE, &["a.example"]).await;
    let n = name("a.example");
    let mut r = scan(&*s, "a.example", &[change("X")], later(1)).await;
    (r.snapshot, r.raw) = (Some(vec![]), vec![raw("first")]);
    s.record(&r).await.unwrap();
    let (head, counts) = (s.head().await.unwrap(), s.counts(ONE, &n).await.unwrap());
    let mut amended = other.observation(&n, &Vantage::local()).await.unwrap().unwrap();
    amended.observation.certificates.attempted_at = Some(later(5));
    let scanned = scan(&*s, "a.example", &[], later(6)).await;
    assert!(other.amend_observation(&amended).await.unwrap());
    assert!(!s.amend_observation(&amended).await.unwrap(), "of an older version");
    assert!(matches!(s.record(&scanned).await, Err(Error::Conflict)), "the scan reads it again");
    let found = s.observation(&n, &Vantage::local()).await.unwrap().unwrap();
    assert_eq!((found.version, &found.observation), (2, &amended.observation));
    assert_eq!((s.head().await.unwrap(), s.counts(ONE, &n).await.unwrap()), (head, counts));
    let scanned = scan(&*s, "a.example", &[], later(6)).await;
    s.record(&scanned).await.unwrap();
    // What is not there is not made.
    s.remove(ONE, std::slice::from_ref(&n), later(7)).await.unwrap();
    s.prune(later(7), 400).await.unwrap();
    assert!(!s.amend_observation(&amended).await.unwrap());
    assert!(s.observation(&n, &Vantage::local()).await.unwrap().is_none());
}

pub async fn pruning_keeps_the_newest_change(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example", "gone.example"]).await;
    let day = 24 * 60;
    for (i, d) in [0, 10, 20, 500].into_iter().enumerate() {
        let mut r = scan(&*s, "a.example", &[change(&i.to_string()), change("more")], later(d * day)).await;
        (r.snapshot, r.raw) = (Some(vec![]), vec![raw("x")]);
        s.record(&r).await.unwrap();
    }
    let mut r = scan(&*s, "gone.example", &[change("X")], later(0)).await;
    r.snapshot = Some(vec![]);
    s.record(&r).await.unwrap();
    s.list(ONE, &ListQuery::default(), now()).await.unwrap();
    s.remove(ONE, &[name("gone.example")], later(1)).await.unwrap();
    assert_eq!(events(&*s, ONE).await, 9, "events of a removed name stay readable");

    // Nothing is old yet but what nobody holds.
    assert_eq!(s.prune(later(1), 400).await.unwrap(), 2, "observation and state of gone.example");
    assert!(s.observation(&name("gone.example"), &Vantage::local()).await.unwrap().is_none());
    assert!(s.prune(later(501 * day), 400).await.unwrap() > 0);
    let kept: Vec<_> =
        s.snapshots(ONE, &name("a.example"), 9).await.unwrap().into_iter().map(|m| m.at).collect();
    assert_eq!(kept, [later(500 * day), later(20 * day)], "the newest change is the step between two states");
    assert_eq!(events(&*s, ONE).await, 2);
    // Years later the newest change is still there, and the log is empty up to its floor.
    s.prune(later(3000 * day), 400).await.unwrap();
    assert_eq!(s.counts(ONE, &name("a.example")).await.unwrap(), (2, 2));
    assert_eq!(s.log_since(None, LogPosition(0), 100).await.unwrap(), LogRead::ReadAnew);
    assert_eq!(log(&*s, None, s.head().await.unwrap(), 100).await, []);
    // A list whose index was made before the log was pruned still answers rightly.
    let page = s.list(ONE, &ListQuery::default(), now()).await.unwrap();
    assert_eq!(page.rows.iter().map(|r| r.name.as_str()).collect::<Vec<_>>(), ["a.example"]);
    assert_eq!(s.prune(later(3000 * day), 400).await.unwrap(), 0, "nothing is left to prune");
}

pub async fn organisations_see_only_their_own(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["both.example", "one.example"]).await;
    add(&*s, TWO, &["both.example", "two.example"]).await;
    let all = [name("both.example"), name("one.example"), name("two.example")];
    let mut held = s.held(TWO, &all).await.unwrap();
    held.sort();
    assert_eq!(held, [name("both.example"), name("two.example")]);
    for n in ["both.example", "one.example", "two.example"] {
        let mut r = scan(&*s, n, &[change("X")], later(1)).await;
        (r.snapshot, r.raw) = (Some(vec![]), vec![raw("x")]);
        s.record(&r).await.unwrap();
    }
    s.set_setting(ONE, "interval", "60", now()).await.unwrap();
    let (one, two, both) = (name("one.example"), name("two.example"), name("both.example"));

    let listed = s.list(ONE, &ListQuery::default(), now()).await.unwrap();
    assert_eq!(listed.total, 2);
    assert!(listed.rows.iter().all(|r| r.name != two));
    assert_eq!(s.names(ONE, &ListQuery::default(), 10, now()).await.unwrap(), [both.clone(), one.clone()]);
    assert_eq!(s.summary(ONE, now()).await.unwrap().total, 2);
    assert!(s.item(ONE, &two).await.unwrap().is_none());
    assert!(matches!(s.patch(ONE, &two, &ItemPatch::default(), now()).await, Err(Error::NotFound)));
    assert!(s.snapshots(ONE, &two, 9).await.unwrap().is_empty());
    assert_eq!(s.counts(ONE, &two).await.unwrap(), (0, 0));
    let id = s.snapshots(TWO, &two, 9).await.unwrap()[0].id;
    assert!(matches!(s.snapshot(ONE, &two, id).await, Err(Error::NotFound)));
    assert!(matches!(s.raw(ONE, &two, id).await, Err(Error::NotFound)));
    assert_eq!(s.snapshot(TWO, &two, id).await.unwrap().observation.name, two);

    let own = s.events(ONE, &EventQuery::default()).await.unwrap();
    assert_eq!(own.total, 2);
    assert!(own.events.iter().all(|e| e.org == ONE && e.domain != two));
    let foreign = EventQuery { domain: Some(two.clone()), ..EventQuery::default() };
    assert_eq!(s.events(ONE, &foreign).await.unwrap().total, 0);
    let theirs: Vec<_> =
        s.events(TWO, &EventQuery::default()).await.unwrap().events.iter().map(|e| e.id).collect();
    assert_eq!(s.acknowledge(ONE, &theirs, "mallory", now()).await.unwrap(), 0);
    let page = s.events(TWO, &EventQuery::default()).await.unwrap();
    assert!(page.events.iter().all(|e| e.acknowledged.is_none()));

    assert!(log(&*s, Some(ONE), LogPosition(0), 100).await.iter().all(|l| l.org == ONE));
    assert_eq!(s.setting(TWO, "interval").await.unwrap(), None);
    assert_eq!(s.setting(ONE, "interval").await.unwrap().as_deref(), Some("60"));
    let all = log(&*s, None, LogPosition(0), 100).await;
    assert!(all.iter().any(|l| l.org == ONE) && all.iter().any(|l| l.org == TWO));
    // Removing takes nothing from the other; a tombstone stays.
    assert_eq!(s.remove(ONE, &[both.clone(), two.clone()], now()).await.unwrap(), 1);
    assert!(s.item(TWO, &both).await.unwrap().is_some() && s.item(TWO, &two).await.unwrap().is_some());
    let last = log(&*s, Some(ONE), LogPosition(0), 100).await.pop().unwrap();
    assert_eq!((last.kind.as_str(), last.name.as_str(), last.op), ("item", "both.example", Op::Delete));
    assert_eq!(
        s.scan_grounds(&both).await.unwrap().holdings.iter().map(|(i, _)| i.org).collect::<Vec<_>>(),
        [TWO]
    );
}

pub async fn events_are_selected_and_acknowledged_once(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example", "b.example"]).await;
    let quiet = model::event::Change {
        kind: EventKind::RecordChanged,
        severity: Severity::Info,
        ..change("192.0.2.1")
    };
    for (n, minute) in [("a.example", 1), ("b.example", 2)] {
        let r = scan(&*s, n, &[change("X"), quiet.clone()], later(minute)).await;
        s.record(&r).await.unwrap();
    }
    let total = |q: EventQuery| {
        let s = s.clone();
        async move { s.events(ONE, &q).await.unwrap().total }
    };
    assert_eq!(total(EventQuery::default()).await, 4);
    assert_eq!(total(EventQuery { domain: Some(name("a.example")), ..EventQuery::default() }).await, 2);
    assert_eq!(total(EventQuery { kinds: vec![EventKind::RecordChanged], ..EventQuery::default() }).await, 2);
    assert_eq!(total(EventQuery { at_least: Some(Severity::Notice), ..EventQuery::default() }).await, 2);
    let narrow = EventQuery {
        domain: Some(name("b.example")),
        kinds: vec![EventKind::RecordChanged, EventKind::Renewed],
        at_least: Some(Severity::Info),
        unacknowledged: true,
        ..EventQuery::default()
    };
    assert_eq!(total(narrow).await, 1);

    let second = s.events(ONE, &EventQuery { page: 2, per_page: 3, ..EventQuery::default() }).await.unwrap();
    assert_eq!((second.events.len(), second.total, second.page, second.per_page), (1, 4, 2, 3));
    let first = s.events(ONE, &EventQuery { per_page: 3, ..EventQuery::default() }).await.unwrap();
    assert!(first.events.windows(2).all(|w| w[0].id > w[1].id), "newest first");
    assert_eq!(first.events[0].domain.as_str(), "b.example");

    let id = first.events[0].id;
    assert_eq!(s.acknowledge(ONE, &[id, id], "ann", later(5)).await.unwrap(), 1);
    assert_eq!(s.acknowledge(ONE, &[id], "bob", later(6)).await.unwrap(), 0);
    // As an object it is at its newest entry of the change log, those that were not changed at their own.
    let head = s.head().await.unwrap();
    for (event, rv) in s.event_objects(ONE, EventId(0), 10).await.unwrap() {
        assert_eq!(rv, if event.id == id { head } else { LogPosition(event.id.0) });
    }
    let seen = s.events(ONE, &EventQuery::default()).await.unwrap().events[0].acknowledged.clone().unwrap();
    assert_eq!((seen.by.as_str(), seen.at), ("ann", later(5)), "the first mark stays");
    assert_eq!(total(EventQuery { unacknowledged: true, ..EventQuery::default() }).await, 3);
    let last = log(&*s, Some(ONE), LogPosition(0), 100).await.pop().unwrap();
    assert_eq!((last.kind.as_str(), last.name, last.op), ("event", id.0.to_string(), Op::Update));
}

pub async fn texts_may_hold_anything(place: &Place) {
    let s = place.open().await;
    let odd = "NUL \0, quote ' \" \\, $1, ?, %, ünïcödé 🦀, '; DROP TABLE items; --";
    let mut i = new("a.example");
    (i.note, i.tags) = (odd.into(), vec![odd.into()]);
    assert_eq!(s.add(ONE, &[i], now()).await.unwrap(), [true]);
    let (stored, _) = item(&*s, ONE, "a.example").await;
    assert_eq!(stored.note, odd.replace('\0', "\u{fffd}"));
    assert_eq!(stored.tags, [odd]);
    let mut r = scan(&*s, "a.example", &[change(odd)], later(1)).await;
    r.outcomes[0].row.registrar = Some(odd.into());
    (r.snapshot, r.raw) = (Some(vec![odd.into()]), vec![raw(odd)]);
    s.record(&r).await.unwrap();
    let kept = s.snapshots(ONE, &name("a.example"), 1).await.unwrap().remove(0);
    assert_eq!(kept.summary, [odd]);
    assert_eq!(s.raw(ONE, &name("a.example"), kept.id).await.unwrap()[0].body, odd);
    assert_eq!(
        s.events(ONE, &EventQuery::default()).await.unwrap().events[0].change.new.as_deref(),
        Some(odd)
    );
    for search in [odd, "%", "_", "'", "\"", "a\\", "$1"] {
        let q = ListQuery { search: search.into(), ..ListQuery::default() };
        assert_eq!(s.list(ONE, &q, now()).await.unwrap().total, 0, "{search}");
    }
    let q = ListQuery { tag: vec![odd.into()], ..ListQuery::default() };
    assert_eq!(s.list(ONE, &q, now()).await.unwrap().total, 1);
}

pub async fn of_several_first_settings_one_counts(place: &Place) {
    let mut tries = tokio::task::JoinSet::new();
    for i in 0..8 {
        let s = place.open().await;
        tries.spawn(async move { s.first_setting(ONE, "key", &format!("value {i}"), now()).await.unwrap() });
    }
    let got: std::collections::BTreeSet<String> = tries.join_all().await.into_iter().collect();
    let s = place.open().await;
    assert_eq!(got, [s.setting(ONE, "key").await.unwrap().unwrap()].into(), "all know the same");
    assert_eq!(s.first_setting(ONE, "key", "late", now()).await.unwrap(), *got.first().unwrap());
    assert_eq!(s.setting(TWO, "key").await.unwrap(), None);
}
