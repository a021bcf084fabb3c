//! The keys of version 1, letter by letter.

use super::*;
use model::event::{Acknowledged, Change, Event, EventKind, EventPage, Severity};
use model::ids::{EventId, LogPosition, OrgId, SnapshotId};
use model::inventory::CalendarDay;
use model::item::{ItemPatch, Ownership};
use model::notify::{DeliveryState, Rule};
use serde_json::{Value, json};
use service::DeliveryView;

fn item() -> Item {
    let name = DomainName::trusted("q7.io");
    Item::new(OrgId::BUILT_IN, name, Ownership::Watched, Timestamp::UNIX_EPOCH)
}

fn json<T: Serialize>(value: impl Into<T>) -> Value {
    serde_json::to_value(value.into()).unwrap()
}

fn row() -> Value {
    let unscanned = json!({ "kind": "unknown", "judge_again_at": null, "reasons": [
        { "kind": "unknown", "rule": "never_scanned", "sentence": "Not scanned yet" }
    ]});
    json!({
        "name": "q7.io", "unicode": "q7.io", "ownership": "watched", "tags": [], "expires": null,
        "expires_by_hand": false, "auto_renew": null, "registrar": null, "provider": null, "status": unscanned,
        "outcome": null, "last_change_at": null, "last_dns_change_at": null, "confirming": 0, "certificate_ends": null, "modified": null, "last_scan_at": null,
        "registered_read_at": null, "error": null
    })
}

#[test]
fn a_page_of_domains_keeps_its_keys() {
    let confirming = Row { confirming: 2, ..Row::of(&item(), "q7.io".into(), None) };
    assert_eq!(json::<DomainRow>(confirming)["confirming"], 2);
    let page = Page {
        rows: vec![Row::of(&item(), "q7.io".into(), None)],
        total: 1,
        page: 1,
        per_page: 50,
        facets: Facets { tag: vec![Facet { value: "a".into(), count: 1 }], ..Facets::default() },
        rv: LogPosition(7),
    };
    let facets = json!({ "status": [], "registrar": [], "provider": [], "ownership": [],
        "tag": [{ "value": "a", "count": 1 }] });
    let expected =
        json!({ "rows": [row()], "total": 1, "page": 1, "per_page": 50, "facets": facets, "rv": 7 });
    assert_eq!(json::<DomainPage>(page), expected);
}

#[test]
fn a_domain_keeps_its_keys() {
    let detail = Detail {
        row: Row::of(&item(), "q7.io".into(), None),
        item: item(),
        observation: None,
        snapshots: 2,
        events: 3,
        scan: None,
        rv: LogPosition(7),
        now: Timestamp::UNIX_EPOCH,
    };
    let epoch = "1970-01-01T00:00:00Z";
    let expected = json!({
        "item": {
            "org": 1, "name": "q7.io", "ownership": "watched", "tags": [], "note": "", "manual_expires": null,
            "auto_renew": null, "muted_until": null, "scan_interval": null, "expiry_days": null, "was_delegated": false,
            "added_at": epoch, "status": row()["status"],
            "last_change_at": null, "last_dns_change_at": null, "next_scan_at": epoch
        },
        "row": row(), "observation": null, "snapshots": 2, "events": 3, "scan": null, "rv": 7, "now": epoch
    });
    assert_eq!(json::<DomainDetail>(detail), expected);
    let meta = SnapshotMeta { id: SnapshotId(4), at: Timestamp::UNIX_EPOCH, summary: vec!["a".into()] };
    assert_eq!(json::<SnapshotEntry>(meta), json!({ "id": 4, "at": epoch, "summary": ["a"] }));
}

#[test]
fn events_totals_and_added_names_keep_their_keys() {
    let epoch = "1970-01-01T00:00:00Z";
    let event = Event {
        id: EventId(5),
        org: OrgId::BUILT_IN,
        domain: DomainName::trusted("q7.io"),
        at: Timestamp::UNIX_EPOCH,
        change: Change {
            kind: EventKind::Renewed,
            severity: Severity::Info,
            field: "expires".into(),
            old: None,
            new: Some("2027-03-01".into()),
            source: "RDAP".into(),
            note: String::new(),
            first_seen_at: None,
            status_before: None,
        },
        maintenance: None,
        acknowledged: Some(Acknowledged { by: "a".into(), at: Timestamp::UNIX_EPOCH }),
        cluster: None,
        clusterset: None,
    };
    let sent =
        |channel: &str, id, state| DeliveryView { channel: channel.into(), events: vec![EventId(id)], state };
    let (due_at, at) = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH);
    let deliveries = [
        sent("Mail", 5, DeliveryState::Delivered { at, answer: "250 OK".into() }),
        sent("Chat", 6, DeliveryState::Failed { at, error: "404".into(), attempts: 1 }),
        sent("", 5, DeliveryState::Waiting { due_at, attempts: 0, error: Some("Muted".into()) }),
    ];
    let page = EventPage { events: vec![event], total: 1, page: 1, per_page: 50, ..EventPage::default() };
    let event = json!({ "id": 5, "org": 1, "domain": "q7.io", "at": epoch, "kind": "renewed", "severity": "info",
        "field": "expires", "old": null, "new": "2027-03-01", "source": "RDAP", "note": "",
        "acknowledged": { "by": "a", "at": epoch },
        "deliveries": [
            { "channel": "Mail", "state": "delivered", "at": epoch, "reason": "250 OK" },
            { "channel": null, "state": "waiting", "at": epoch, "reason": "Muted" }] });
    let list = EventList::new(page, &deliveries);
    assert_eq!(
        serde_json::to_value(list).unwrap(),
        json!({ "events": [event], "total": 1, "page": 1, "per_page": 50 })
    );
    let day = CalendarDay { day: "2027-03-01".parse().unwrap(), count: 2 };
    let totals = json::<Totals>(Summary { calendar: vec![day], ..Summary::default() });
    assert_eq!(
        totals,
        json!({ "total": 0, "owned": 0, "watched": 0, "critical": 0, "warning": 0, "expired": 0, "expiring": 0,
            "changed": 0, "dns_changed": 0,
            "calendar": [{ "day": "2027-03-01", "count": 2 }], "open_events": 0 })
    );
    let result = AddResult::Refused { reason: "why".into() };
    let line = AddedLine { line: 1, input: "x".into(), result, set: ItemPatch::default() };
    assert_eq!(
        json::<AddedEntry>(line),
        json!({ "line": 1, "input": "x", "result": { "result": "refused", "reason": "why" } })
    );
}

#[test]
fn rules_say_when_critical_events_are_held_and_until_when_they_are_muted() {
    let rule = json::<RuleV1>(Rule::default());
    assert_eq!((&rule["critical_at_once"], &rule["muted_until"]), (&json!(true), &Value::Null));
    let read = |body: Value| Rule::from(serde_json::from_value::<RuleV1>(body).unwrap());
    assert_eq!(read(json!({})), Rule::default(), "clients that do not know these keys change nothing");
    let held = read(json!({ "critical_at_once": false, "muted_until": "1970-01-01T00:00:00Z" }));
    assert_eq!((held.critical_at_once, held.muted_until), (false, Some(Timestamp::UNIX_EPOCH)));
}
