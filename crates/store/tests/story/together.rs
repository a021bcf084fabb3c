//! Scans that end together share a transaction: each is still recorded wholly or not at all.

use crate::world::{ONE, Place, TWO, add, change, item, later, log, name, raw, scan};
use model::event::{EventKind, EventQuery};
use model::expiry::Reminded;
use model::ids::Vantage;
use model::item::{ItemPatch, Ownership};
use std::collections::BTreeSet;
use store::{Error, Record, Store};

const NAMES: usize = 40;

fn names() -> Vec<String> {
    (0..NAMES).map(|n| format!("n{n:02}.example")).collect()
}

/// A scan of every name, with a state, raw answers, and an event for every second one.
async fn scans(s: &dyn Store, minute: i64) -> Vec<Record> {
    let mut all = Vec::new();
    for (n, key) in names().iter().enumerate() {
        let changes = if n % 2 == 0 { vec![change(&format!("X{minute}"))] } else { vec![] };
        let mut r = scan(s, key, &changes, later(minute)).await;
        r.snapshot = (minute == 1 || !changes.is_empty()).then(|| vec![format!("state {minute}")]);
        r.raw = vec![raw(&format!("{key} {minute}"))];
        all.push(r);
    }
    all
}

async fn record_all(
    s: &std::sync::Arc<dyn Store>,
    records: Vec<Record>,
) -> Vec<(Record, Result<i64, Error>)> {
    let mut tasks = tokio::task::JoinSet::new();
    for r in records {
        let s = s.clone();
        tasks.spawn(async move {
            let rv = s.record(&r).await.map(|rv| rv.0);
            (r, rv)
        });
    }
    tasks.join_all().await
}

pub async fn scans_that_end_together_are_each_whole(place: &Place) {
    let s = place.open().await;
    let names = names();
    let keys: Vec<&str> = names.iter().map(String::as_str).collect();
    add(&*s, ONE, &keys).await;
    add(&*s, TWO, &keys[..10]).await;
    for minute in 1..=3 {
        let before = s.head().await.unwrap();
        let done = record_all(&s, scans(&*s, minute).await).await;
        let positions: BTreeSet<i64> = done.iter().map(|(_, rv)| *rv.as_ref().unwrap()).collect();
        assert_eq!(positions.len(), NAMES, "each has its own place in the log");
        assert_eq!(positions.last().copied(), Some(s.head().await.unwrap().0));
        // An entry for each holding and each event, without a gap.
        let entries = log(&*s, None, before, 1000).await;
        let expected = (NAMES + 10) + (NAMES / 2 + 5);
        assert_eq!(entries.len(), expected);
        assert!(entries.iter().zip(before.0 + 1..).all(|(entry, rv)| entry.rv.0 == rv));
        for (r, rv) in done {
            let n = &r.observation.name;
            let stored = s.observation(n, &Vantage::local()).await.unwrap().unwrap();
            assert_eq!((stored.version, stored.observation), (minute, r.observation.clone()));
            let (_, row) = item(&*s, ONE, n.as_str()).await;
            assert_eq!(row.last_scan_at, Some(later(minute)));
            let states = s.snapshots(ONE, n, 10).await.unwrap();
            let newest = s.raw(ONE, n, states[0].id).await.unwrap();
            assert_eq!(newest, r.raw, "the newest answers are with the newest state");
            let own = log(&*s, Some(ONE), before, 1000).await;
            let of_item = own.iter().find(|e| e.name == n.as_str()).unwrap();
            assert!(of_item.rv.0 <= rv.unwrap());
        }
    }
    let states = s.snapshots(ONE, &name("n00.example"), 10).await.unwrap();
    assert_eq!(
        states.iter().map(|m| m.summary[0].as_str()).collect::<Vec<_>>(),
        ["state 3", "state 2", "state 1"]
    );
    assert_eq!(s.snapshots(ONE, &name("n01.example"), 10).await.unwrap().len(), 1);
    assert_eq!(s.events(ONE, &EventQuery::default()).await.unwrap().total, 3 * NAMES as u64 / 2);
    assert_eq!(s.events(TWO, &EventQuery::default()).await.unwrap().total, 3 * 5);
}

pub async fn a_scan_that_is_outdated_spoils_no_other(place: &Place) {
    let s = place.open().await;
    let names = names();
    add(&*s, ONE, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    record_all(&s, scans(&*s, 1).await).await;
    let mut second = scans(&*s, 2).await;
    // Every fifth is compared with an older version, every seventh is judged on other grounds, and one comes twice.
    for (n, r) in second.iter_mut().enumerate() {
        r.expected_version -= i64::from(n % 5 == 0);
    }
    for key in names.iter().step_by(7) {
        let watched = ItemPatch { ownership: Some(Ownership::Watched), ..ItemPatch::default() };
        s.patch(ONE, &name(key), &watched, later(2)).await.unwrap();
    }
    second.push(second[1].clone());
    let outdated = |key: &str| {
        let n = names.iter().position(|k| k == key).unwrap();
        n.is_multiple_of(5) || n.is_multiple_of(7)
    };
    let done = record_all(&s, second).await;
    for (r, result) in &done {
        let key = r.observation.name.as_str();
        if outdated(key) {
            assert!(matches!(result, Err(Error::Conflict)), "{key}: {result:?}");
        } else if key != "n01.example" {
            assert!(result.is_ok(), "{key}: {result:?}");
        }
    }
    let twice: Vec<_> = done.iter().filter(|(r, _)| r.observation.name.as_str() == "n01.example").collect();
    assert_eq!(twice.iter().filter(|(_, result)| result.is_ok()).count(), 1, "{twice:?}");
    for key in &names {
        let version = s.observation(&name(key), &Vantage::local()).await.unwrap().unwrap().version;
        assert_eq!(version, if outdated(key) { 1 } else { 2 }, "{key}");
    }
}

pub async fn a_reminder_that_was_recorded_meanwhile_is_not_recorded_twice(place: &Place) {
    let s = place.open().await;
    add(&*s, ONE, &["a.example"]).await;
    let first = scan(&*s, "a.example", &[], later(1)).await;
    s.record(&first).await.unwrap();
    let mut r = scan(&*s, "a.example", &[change("X")], later(2)).await;
    let (before, _) = item(&*s, ONE, "a.example").await;
    let outcome = &mut r.outcomes[0];
    outcome.changes[0].kind = EventKind::ExpiresSoon;
    outcome.item.reminded = vec![Reminded { expires: "2026-12-01T00:00:00Z".parse().unwrap(), days: 7 }];
    assert!(s.record_reminder(&before, outcome, later(2)).await.unwrap());
    assert!(matches!(s.record(&r).await, Err(Error::Conflict)));
    assert_eq!(s.events(ONE, &EventQuery::default()).await.unwrap().total, 1);
    // A later threshold of the same date is another reminder.
    r.outcomes[0].item.reminded[0].days = 3;
    s.record(&r).await.unwrap();
    assert_eq!(s.events(ONE, &EventQuery::default()).await.unwrap().total, 2);
}

pub async fn a_caller_that_stops_waiting_stops_no_other(place: &Place) {
    let s = place.open().await;
    let names = names();
    add(&*s, ONE, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let records = scans(&*s, 1).await;
    let mut tasks: Vec<_> = records
        .into_iter()
        .map(|r| {
            let s = s.clone();
            tokio::spawn(async move { s.record(&r).await })
        })
        .collect();
    tokio::task::yield_now().await;
    for task in tasks.iter().step_by(3) {
        task.abort();
    }
    for (n, task) in tasks.iter_mut().enumerate() {
        match task.await {
            Ok(result) => assert!(result.is_ok(), "{n}: {result:?}"),
            Err(ended) => assert!(ended.is_cancelled() && n % 3 == 0),
        }
    }
    // The next one finds a recorder that works.
    let r = scan(&*s, "n01.example", &[], later(2)).await;
    s.record(&r).await.unwrap();
}
