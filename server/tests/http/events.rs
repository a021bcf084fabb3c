//! REST about events: reading them with what became of their messages, and acknowledging.

use crate::site::{Site, site};
use axum::http::StatusCode;
use jiff::SignedDuration;
use model::Timestamp;
use model::event::{Change, EventKind, Severity};
use model::ids::{OrgId, Vantage};
use model::item::Ownership;
use model::names::DomainName;
use model::notify::Rule;
use model::observation::Observation;
use serde_json::{Value, json};
use std::sync::Arc;
use store::{ItemOutcome, NewItem, Record};

/// Records a scan of a domain that found these changes; the domain is added if need be.
async fn found(site: &Site, name: &str, changes: &[(EventKind, Severity)], at: Timestamp) {
    let (store, name) = (&site.scanner.store, DomainName::trusted(name));
    let new = NewItem {
        unicode: name.unicode(),
        name: name.clone(),
        ownership: Ownership::Owned,
        tags: vec!["prod".into()],
        note: String::new(),
    };
    store.add(OrgId::BUILT_IN, &[new], at).await.unwrap();
    let (item, row) = store.item(OrgId::BUILT_IN, &name).await.unwrap().unwrap();
    let known = store.observation(&name, &Vantage::local()).await.unwrap();
    let change = |(kind, severity): &(EventKind, Severity)| Change {
        kind: *kind,
        severity: *severity,
        field: "registrar".into(),
        old: Some("Alpha".into()),
        new: Some("Beta".into()),
        source: "RDAP".into(),
        note: String::new(),
        first_seen_at: None,
        status_before: None,
    };
    let record = Record {
        expected_version: known.map_or(0, |k| k.version),
        observation: Observation::empty(name, Vantage::local()),
        snapshot: None,
        raw: vec![],
        outcomes: vec![ItemOutcome { item, row, changes: changes.iter().map(change).collect() }],
        at,
    };
    store.record(&record).await.unwrap();
}

/// How many events match these filters.
async fn total(site: &Site, filters: &str) -> u64 {
    let (status, page) = site.api("GET", &format!("/api/v1/events?{filters}"), Value::Null).await;
    assert_eq!(status, StatusCode::OK, "{page}");
    page["total"].as_u64().unwrap()
}

#[tokio::test]
async fn events_say_what_became_of_their_messages_and_are_acknowledged() {
    let site = site(false).await;
    let now = Timestamp::now();
    let kinds =
        [(EventKind::RegistrarChanged, Severity::Warning), (EventKind::RecordChanged, Severity::Info)];
    found(&site, "alder.example", &kinds, now - SignedDuration::from_hours(1)).await;
    // Without any rule there is nothing to explain.
    let other =
        Rule { id: "r".into(), name: "Renewals".into(), kinds: vec![EventKind::Renewed], ..Rule::default() };
    site.scanner.store.save_rule(OrgId::BUILT_IN, &other, now).await.unwrap();
    let dispatcher = notify::Dispatcher::new(
        site.scanner.store.clone(),
        Arc::new(Timestamp::now),
        site.services.deliverer.clone(),
    );
    while dispatcher.deliver_due().await.unwrap() > 0 {}

    let (_, page) = site.api("GET", "/api/v1/events", Value::Null).await;
    let delivery = &page["events"][0]["deliveries"][0];
    assert_eq!((&delivery["channel"], &delivery["state"]), (&Value::Null, &json!("skipped")), "{page}");
    assert_eq!(delivery["reason"], model::maintenance::NO_RULE);
    assert!(delivery["at"].is_string());

    let ids: Vec<i64> =
        page["events"].as_array().unwrap().iter().map(|e| e["id"].as_i64().unwrap()).collect();
    assert_eq!((total(&site, "open=1").await, total(&site, "open=true").await), (2, 2));
    let acknowledge = async |body: Value| site.api("POST", "/api/v1/events/acknowledge", body).await;
    let (status, done) = acknowledge(json!({ "ids": [ids[0]] })).await;
    assert_eq!((status, &done["acknowledged"]), (StatusCode::OK, &json!(1)), "{done}");
    let (_, again) = acknowledge(json!({ "ids": ids })).await;
    assert_eq!(again["acknowledged"], 1, "one was acknowledged before");
    assert_eq!((total(&site, "open=1").await, total(&site, "open=true").await), (0, 0));
    let (_, page) = site.api("GET", "/api/v1/events", Value::Null).await;
    assert_eq!(page["events"][0]["acknowledged"]["by"], "token test");

    let many: Vec<i64> = (0..201).collect();
    let (status, refused) = acknowledge(json!({ "ids": many })).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{refused}");
    let (status, refused) = acknowledge(json!({ "id": 1 })).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{refused}");
    let (status, _) = site.api("GET", "/api/v1/events?domain=a..b", Value::Null).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "a name that is none is refused");
}

#[tokio::test]
async fn events_are_filtered_and_acknowledged_by_what_they_match() {
    let site = site(false).await;
    let now = Timestamp::now();
    let days = |n: i64| now - SignedDuration::from_hours(24 * n);
    found(&site, "alder.example", &[(EventKind::RegistrarChanged, Severity::Warning)], days(20)).await;
    found(&site, "brook.example", &[(EventKind::RegistrarChanged, Severity::Critical)], days(3)).await;
    found(&site, "brook.example", &[(EventKind::RecordChanged, Severity::Info)], days(1)).await;
    for (filters, n) in [
        ("q=brook", 2),
        ("q=BETA", 3),
        ("q=gamma", 0),
        ("tag=prod", 3),
        ("tag=test", 0),
        ("ownership=owned&last=7d", 2),
        ("ownership=watched", 0),
        ("last=7d&severity=critical", 1),
        ("delivery=failed", 0),
        ("domain=brook.example&kind=record_changed", 1),
    ] {
        assert_eq!(total(&site, filters).await, n, "{filters}");
    }
    let yesterday = model::time::StatedTime::utc(days(2)).date();
    assert_eq!(total(&site, &format!("from={yesterday}")).await, 1);
    assert_eq!(total(&site, &format!("to={yesterday}")).await, 2);

    let acknowledge = async |filters: &str, body: Value| {
        site.api("POST", &format!("/api/v1/events/acknowledge?{filters}"), body).await
    };
    for (filters, body) in [
        ("sevrity=critical", json!({ "all": true })),
        ("severity=loud", json!({ "all": true })),
        ("", json!({})),
        ("", json!({ "all": true, "ids": [1] })),
    ] {
        let (status, refused) = acknowledge(filters, body).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{filters}: {refused}");
    }
    assert_eq!(total(&site, "open=1").await, 3, "nothing was acknowledged by a request that was refused");
    let (_, page) = site.api("GET", "/api/v1/events?q=brook", Value::Null).await;
    let first = page["events"][1]["id"].as_i64().unwrap();
    let (status, done) = acknowledge("q=brook", json!({ "all": true, "up_to": first })).await;
    assert_eq!((status, &done["acknowledged"]), (StatusCode::OK, &json!(1)), "{done}");
    let (_, done) = acknowledge("domain=brook.example", json!({ "all": true })).await;
    assert_eq!(done["acknowledged"], 1);
    assert_eq!(total(&site, "open=1").await, 1, "the other domain's is left");
    let (_, log) = site.api("GET", "/api/v1/audit?about=event", Value::Null).await;
    assert_eq!(log["items"].as_array().unwrap().len(), 2, "one entry for each call: {log}");
    assert_eq!(log["items"][0]["new"], "domain=brook.example");
}

#[tokio::test]
async fn a_preview_says_what_a_rule_would_not_have_sent() {
    let site = site(false).await;
    let hours = |n: i64| Timestamp::now() - SignedDuration::from_hours(n);
    found(&site, "alder.example", &[(EventKind::RecordChanged, Severity::Info)], hours(5)).await;
    found(&site, "brook.example", &[(EventKind::RegistrarChanged, Severity::Critical)], hours(3)).await;
    let rule =
        json!({ "name": "Registrar", "kinds": ["registrar_changed"], "at_least": "info", "ownership": null });
    let (_, preview) = site.api("POST", "/api/v1/rules/preview", rule).await;
    let not_sent = json!([{ "reason": "kind", "kind": "record_changed", "count": 1 }]);
    assert_eq!((&preview["events"], &preview["not_sent"]), (&json!(1), &not_sent), "{preview}");
    assert_eq!((&preview["domains"], &preview["held_from"]), (&json!(2), &json!([null])), "{preview}");
}
