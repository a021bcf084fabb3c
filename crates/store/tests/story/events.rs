//! The event log: what its filters find, and acknowledging all that match.

use crate::world::{ONE, Place, TWO, add, change, later, log, name, new, now, scan};
use model::account::{Actor, AuditQuery};
use model::event::{Change, EventKind, EventQuery, Severity};
use model::ids::LogPosition;
use model::item::Ownership;
use model::maintenance::Routing;
use model::notify::Planned;
use store::{Failure, Store};

/// Two domains of one organisation with tags, one of them of another, too; and six events.
async fn story(place: &Place) -> std::sync::Arc<dyn Store> {
    let s = place.open().await;
    let mut first = new("alder.example");
    first.tags = vec!["prod".into(), "a \"b\" c".into()];
    let mut second = new("xn--bcher-kva.example");
    (second.ownership, second.tags) = (Ownership::Watched, vec!["production".into()]);
    s.add(ONE, &[first, second], now()).await.unwrap();
    add(&*s, TWO, &["alder.example"]).await;
    let record = |kind, severity, old: &str, new: &str| Change {
        kind,
        severity,
        field: "ns1.alder.example".into(),
        old: Some(old.into()),
        new: Some(new.into()),
        source: "the servers".into(),
        note: "A 50% change".into(),
        first_seen_at: None,
        status_before: None,
    };
    for (n, changes, minute) in [
        (
            "alder.example",
            vec![change("Lantern"), record(EventKind::RecordChanged, Severity::Info, "1.2.3.4", "5.6.7.8")],
            1,
        ),
        ("xn--bcher-kva.example", vec![change("Lantern")], 60),
        (
            "alder.example",
            vec![record(EventKind::Released, Severity::Critical, "registered", "FREE \"now\"")],
            120,
        ),
    ] {
        s.record(&scan(&*s, n, &changes, later(minute)).await).await.unwrap();
    }
    s
}

async fn total(s: &dyn Store, q: &EventQuery) -> u64 {
    let page = s.events(ONE, q).await.unwrap();
    assert_eq!(page.newest, page.events.first().map(|e| e.id), "{q:?}");
    let counted = s.events_counted(ONE, q).await.unwrap();
    assert_eq!(counted.counts.as_ref().unwrap().matching(q), page.total, "{q:?}");
    assert_eq!((&counted.events, counted.total), (&page.events, page.total));
    page.total
}

pub async fn events_are_found_by_what_they_say_and_whom_they_are_about(place: &Place) {
    let s = story(place).await;
    let any = EventQuery::default;
    let search = |text: &str| EventQuery { search: text.into(), ..any() };
    for (text, n) in [
        ("alder", 3),
        ("ALDER", 3),
        ("xn--bcher", 1),
        ("büch", 1),
        ("lantern", 2),
        ("free", 1),
        ("FREE \"now\"", 1),
        ("5.6.7.8", 1),
        ("50%", 2),
        ("50_", 0),
        ("the servers", 2),
        ("severity", 0),
        ("record_changed", 0),
        ("null", 0),
        ("'; DROP TABLE events; --", 0),
        ("\\", 0),
    ] {
        assert_eq!(total(&*s, &search(text)).await, n, "{text}");
    }
    let tags = |tags: &[&str]| EventQuery { tags: tags.iter().map(|t| (*t).to_string()).collect(), ..any() };
    for (wanted, n) in [
        (&["prod"][..], 3),
        (&["production"], 1),
        (&["prod", "production"], 4),
        (&["Prod"], 0),
        (&["a \"b\" c"], 3),
        (&["b"], 0),
    ] {
        assert_eq!(total(&*s, &tags(wanted)).await, n, "{wanted:?}");
    }
    assert_eq!(total(&*s, &EventQuery { ownership: Some(Ownership::Watched), ..any() }).await, 1);
    assert_eq!(total(&*s, &EventQuery { since: Some(later(60)), ..any() }).await, 2, "from this instant on");
    assert_eq!(total(&*s, &EventQuery { until: Some(later(60)), ..any() }).await, 2, "before this instant");
    let both = EventQuery {
        ownership: Some(Ownership::Owned),
        since: Some(later(1)),
        kinds: vec![EventKind::RecordChanged],
        ..search("alder")
    };
    assert_eq!(total(&*s, &both).await, 1);

    // One message was given up; the one to the other channel was not.
    let failed = EventQuery { failed_delivery: true, ..any() };
    assert_eq!(total(&*s, &failed).await, 0);
    let leased = s.lease_notifications(9, later(200)).await.unwrap();
    let n = leased.iter().find(|n| n.org == ONE && n.events.len() == 2).unwrap();
    let to = |channel: &str, events: usize| Planned {
        channel: channel.into(),
        due_at: later(200),
        batch: false,
        events: n.events.iter().map(|e| e.id).take(events).collect(),
        rules: vec![],
        skipped: None,
    };
    let routing = Routing { planned: vec![to("mail", 1), to("chat", 2)], ..Routing::default() };
    assert!(s.route_notification(n, &routing, later(200)).await.unwrap());
    let mut messages = s.lease_notifications(9, later(201)).await.unwrap();
    messages.retain(|m| m.channel == "mail");
    s.notification_failed(&messages, &Failure::permanent("550 no"), later(201)).await.unwrap();
    let page = s.events(ONE, &failed).await.unwrap();
    assert_eq!((page.total, page.events[0].id), (1, n.events[0].id));
    assert_eq!(s.events(TWO, &failed).await.unwrap().total, 0);
}

pub async fn all_that_match_are_acknowledged_with_one_entry(place: &Place) {
    let s = story(place).await;
    let by = Actor { who: "Mira".into(), ..Actor::system() };
    let open = EventQuery { unacknowledged: true, ..EventQuery::default() };
    let about = EventQuery { domain: Some(name("alder.example")), ..EventQuery::default() };
    let newest = s.events(ONE, &about).await.unwrap().events[1].id;
    let before = s.head().await.unwrap();
    let done = s.acknowledge_matching(&by, ONE, (&about, Some(newest)), later(300)).await.unwrap();
    assert_eq!(done, 2, "not the one that is newer");
    assert_eq!(s.acknowledge_matching(&by, ONE, (&about, Some(newest)), later(301)).await.unwrap(), 0);
    let page = s.events(ONE, &about).await.unwrap();
    assert!(page.events[0].acknowledged.is_none());
    let seen = page.events[2].acknowledged.clone().unwrap();
    assert_eq!((seen.by.as_str(), seen.at), ("Mira", later(300)), "the first mark stays");

    // As objects they are at their own entries of the change log.
    let lines = log(&*s, Some(ONE), before, 100).await;
    let mut positions: Vec<_> = lines.iter().map(|l| (l.name.clone(), l.rv)).collect();
    positions.sort();
    for (event, rv) in s.event_objects(ONE, model::ids::EventId(0), 10).await.unwrap() {
        let at = positions.iter().find(|(n, _)| *n == event.id.0.to_string()).map(|(_, rv)| *rv);
        assert_eq!(rv, at.unwrap_or(LogPosition(event.id.0)));
    }
    assert_eq!(lines.len(), 2);
    let matching = EventQuery { at_least: Some(Severity::Warning), ..open.clone() };
    assert_eq!(s.acknowledge_matching(&by, ONE, (&matching, None), later(302)).await.unwrap(), 2);
    assert_eq!(total(&*s, &open).await, 0);
    assert_eq!(s.events(TWO, &open).await.unwrap().total, 3, "those of others are left");

    let audit = AuditQuery { limit: 50, subject: "event".into(), ..AuditQuery::default() };
    let entries = s.audit_log(ONE, &audit).await.unwrap().entries;
    let entries: Vec<_> = entries.iter().map(|e| (e.object.as_str(), e.new.as_deref())).collect();
    assert_eq!(
        entries,
        [("2 events", Some("severity=warning&open=1")), ("2 events", Some("domain=alder.example"))]
    );
}
