//! What is posted to each service: limits and required fields of its published schema, judged also by what Slack and
//! Microsoft publish; the signature of webhooks verified by independent implementations; and what follows from answers.

mod received;
mod types;

use jiff::Timestamp;
use model::ending::endings;
use model::event::{Change, Event, EventKind, Severity};
use model::ids::{EventId, OrgId};
use model::names::DomainName;
use model::notify::Target;
use notify::{Endpoints, Message, Part, posts};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

fn now() -> Timestamp {
    "2026-11-20T14:05:00Z".parse().unwrap()
}

/// A message about `n` events with values that break markup.
fn message(n: i64) -> Message {
    let event = |id| Event {
        id: EventId(id),
        org: OrgId::BUILT_IN,
        domain: DomainName::trusted("alder.example"),
        at: now(),
        change: Change {
            kind: EventKind::RecordChanged,
            severity: if id == 2 { Severity::Critical } else { Severity::Warning },
            field: "www A".into(),
            old: Some("<script>&*_`@everyone".into()),
            new: Some("x".repeat(600)),
            source: "authoritative servers".into(),
            note: String::new(),
            first_seen_at: None,
            status_before: None,
        },
        acknowledged: None,
        cluster: Some("alder-main".into()),
        clusterset: Some("alder-fleet".into()),
        maintenance: None,
    };
    let part = Part::new(DomainName::trusted("alder.example"), (1..=n).map(event).collect(), None);
    Message {
        id: "channel-1-7".into(),
        org: OrgId::BUILT_IN,
        organisation: "Alder Labs".into(),
        parts: vec![part],
        rules: vec!["Everything".into()],
        rule_ids: [("Everything".to_string(), "r7".to_string())].into(),
        at: now(),
        base: Some("https://scope.alder.example".parse().unwrap()),
        test: false,
        cluster: "alder-main".into(),
        clusterset: "alder-fleet".into(),
    }
    .sorted()
}

fn body(target: &Target, m: &Message) -> (String, Value, Vec<(String, String)>) {
    let p = posts(target, m, &Endpoints::default(), now()).unwrap().remove(0);
    (p.url.to_string(), serde_json::from_slice(&p.body).unwrap(), p.fields)
}

fn chars(v: &Value) -> usize {
    v.as_str().unwrap_or_else(|| panic!("{v} is no text")).chars().count()
}

/// One event, many, and none.
fn messages() -> [Message; 3] {
    let test = Message::test("test-1".into(), "Alder Labs".into(), None, now());
    [message(1), message(60), test]
}

#[test]
fn slack_blocks_keep_their_limits() {
    for m in messages() {
        let (_, v, _) = body(&Target::Slack { url: "https://hooks.slack.example/x".into() }, &m);
        assert!((1..=3000).contains(&chars(&v["text"])));
        let blocks = v["blocks"].as_array().unwrap();
        assert!((2..=50).contains(&blocks.len()));
        for b in blocks {
            match b["type"].as_str().unwrap() {
                "header" => assert!(b["text"]["type"] == "plain_text" && chars(&b["text"]["text"]) <= 150),
                "section" => {
                    assert!(b["text"]["type"] == "mrkdwn" && (1..=3000).contains(&chars(&b["text"]["text"])));
                    assert!(!b["text"]["text"].as_str().unwrap().contains("<script>"));
                }
                "actions" => {
                    assert_eq!(b["elements"][0]["url"], "https://scope.alder.example/domains/alder.example");
                }
                "context" => assert!((1..=10).contains(&b["elements"].as_array().unwrap().len())),
                other => panic!("{other} is no block we know"),
            }
        }
    }
}

#[test]
fn discord_embeds_keep_their_limits_and_mention_nobody() {
    for m in messages() {
        let (_, v, _) = body(&Target::Discord { url: "https://discord.example/api/webhooks/1/x".into() }, &m);
        assert_eq!(v["allowed_mentions"]["parse"], serde_json::json!([]));
        let e = &v["embeds"][0];
        assert!(
            chars(&e["title"]) <= 256
                && chars(&e["description"]) <= 4096
                && e["color"].as_u64().unwrap() < 1 << 24
        );
        assert!(chars(&e["title"]) + chars(&e["description"]) + chars(&e["footer"]["text"]) <= 6000);
        e["timestamp"].as_str().unwrap().parse::<Timestamp>().unwrap();
    }
}

#[test]
fn teams_cards_are_adaptive_cards() {
    for m in messages() {
        let (_, v, _) = body(&Target::Teams { url: "https://alder.webhook.office.example/x".into() }, &m);
        assert_eq!(v["type"], "message");
        let a = &v["attachments"][0];
        assert_eq!(a["contentType"], "application/vnd.microsoft.card.adaptive");
        assert_eq!(
            (&a["content"]["type"], &a["content"]["version"]),
            (&"AdaptiveCard".into(), &"1.4".into())
        );
        for b in a["content"]["body"].as_array().unwrap() {
            assert!(b["type"] == "TextBlock" && chars(&b["text"]) > 0);
        }
        // 28 KB is the limit of a message.
        assert!(v.to_string().len() < 28 * 1024, "{}", v.to_string().len());
    }
}

#[test]
fn ntfy_is_posted_to_the_server_with_the_topic_inside() {
    for m in messages() {
        let target = Target::Ntfy { url: "https://ntfy.example/base/on-call".into(), token: "tk_x".into() };
        let (url, v, fields) = body(&target, &m);
        assert_eq!((url.as_str(), v["topic"].as_str()), ("https://ntfy.example/base/", Some("on-call")));
        assert!((1..=5).contains(&v["priority"].as_i64().unwrap()));
        assert!(v["message"].as_str().unwrap().len() <= 4096, "{}", v["message"].as_str().unwrap().len());
        assert!(fields.contains(&("authorization".into(), "Bearer tk_x".into())));
    }
    let critical =
        body(&Target::Ntfy { url: "https://ntfy.example/t".into(), token: String::new() }, &message(2));
    assert_eq!(critical.1["priority"], 5);
}

#[test]
fn telegram_and_pagerduty_keep_their_limits() {
    for m in messages() {
        let (url, v, _) = body(&Target::Telegram { token: "1:a-b_C".into(), chat: "-100".into() }, &m);
        assert_eq!(url, "https://api.telegram.org/bot1:a-b_C/sendMessage");
        assert!((1..=4096).contains(&chars(&v["text"])), "{}", chars(&v["text"]));
        assert!(!v["text"].as_str().unwrap().contains("<script>") && v["parse_mode"] == "HTML");
        let (_, v, _) = body(&Target::Pagerduty { key: "0123456789abcdef0123456789abcdef".into() }, &m);
        assert!(
            v["event_action"] == "trigger" && chars(&v["routing_key"]) == 32 && chars(&v["dedup_key"]) <= 255
        );
        let p = &v["payload"];
        assert!((1..=1024).contains(&chars(&p["summary"])) && chars(&p["source"]) > 0);
        assert!(["critical", "error", "warning", "info"].contains(&p["severity"].as_str().unwrap()));
        p["timestamp"].as_str().unwrap().parse::<Timestamp>().unwrap();
    }
    let wrong = Target::Telegram { token: "../x".into(), chat: "1".into() };
    assert!(posts(&wrong, &message(1), &Endpoints::default(), now()).is_err());
}

/// What of a message is over, where everything was sent.
fn over(message: &[EventId], history: &[Event]) -> BTreeMap<EventId, Timestamp> {
    model::ending::over(message, history, &endings(history, &BTreeSet::new()))
}

/// A message about events of one domain: severity, field, value before and after; those that came before it in `history`.
fn about(history: &[Event], events: &[Event]) -> Message {
    let mut all = history.to_vec();
    all.extend_from_slice(events);
    let ids: Vec<_> = events.iter().map(|e| e.id).collect();
    let mut part = Part::new(DomainName::trusted("alder.example"), events.to_vec(), None);
    (part.over, part.endings) = (over(&ids, &all), endings(&all, &BTreeSet::new()));
    Message { parts: vec![part], ..message(1) }.sorted()
}

fn health(id: i64, server: &str, old: &str, new: &str) -> Event {
    let mut e = message(1).parts.remove(0).events.remove(0);
    e.id = EventId(id);
    e.change = Change {
        kind: EventKind::DelegationHealthChanged,
        severity: if new == "answers" { Severity::Info } else { Severity::Warning },
        field: server.into(),
        old: Some(old.into()),
        new: Some(new.into()),
        source: "authoritative servers".into(),
        note: String::new(),
        first_seen_at: None,
        status_before: None,
    };
    e
}

/// Action and key of each request.
fn incidents(m: &Message) -> Vec<(String, String)> {
    let target = Target::Pagerduty { key: "0123456789abcdef0123456789abcdef".into() };
    let posts = posts(&target, m, &Endpoints::default(), now()).unwrap();
    let read = |p: &notify::Post| {
        let v: Value = serde_json::from_slice(&p.body).unwrap();
        let text = |key: &str| v[key].as_str().unwrap().to_string();
        (text("event_action"), text("dedup_key"))
    };
    posts.iter().map(read).collect()
}

#[test]
fn an_incident_is_resolved_by_the_event_that_ends_it() {
    let key = |server: &str| format!("alder-main/1/alder.example/delegation_health_changed/{server}");
    let named = |action: &str, server: &str| (action.to_string(), key(server));
    let down = [health(1, "ns1", "answers", "silent"), health(2, "ns2", "answers", "silent")];
    assert_eq!(incidents(&about(&[], &down)), [named("trigger", "ns1"), named("trigger", "ns2")]);
    let up = health(3, "ns1", "silent", "answers");
    assert_eq!(incidents(&about(&down, std::slice::from_ref(&up))), [named("resolve", "ns1")]);
    // Worse, better, but not good: still open.
    let worse = [down.as_slice(), &[health(4, "ns2", "silent", "lame")]].concat();
    let better = health(5, "ns2", "lame", "silent");
    assert_eq!(incidents(&about(&worse, &[better])), [named("trigger", "ns2")]);
    // A late attempt does not open what was resolved meanwhile.
    let mut late = about(&[], &down[..1]);
    late.parts[0].over = over(&[EventId(1)], &[down[0].clone(), up.clone()]);
    assert_eq!(incidents(&late), [named("resolve", "ns1")]);
    // The same trouble again is an incident under the same key.
    let again = health(6, "ns1", "answers", "silent");
    assert_eq!(incidents(&about(&[down[0].clone(), up], &[again])), [named("trigger", "ns1")]);
    // Keys keep their limit, and messages theirs.
    let long = incidents(&about(&[], &[health(1, &"x".repeat(300), "answers", "silent")]));
    assert_eq!(long[0].1.len(), 64);
    let many: Vec<_> = (1..=150).map(|n| health(n, &format!("ns{n}"), "answers", "silent")).collect();
    let many = incidents(&about(&[], &many));
    assert_eq!((many.len(), many[100].1.as_str()), (101, "channel-1-7"));
}

#[test]
fn what_is_over_says_so() {
    let (down, up) = (health(1, "ns1", "answers", "silent"), health(2, "ns1", "silent", "answers"));
    let other = health(3, "ns2", "answers", "silent");
    let mut m = about(&[], &[down.clone(), other]);
    let mut all_over = about(&[], &[down.clone(), up.clone()]).parts.remove(0);
    all_over.over = over(&[EventId(1), EventId(2)], &[down.clone(), up.clone()]);
    assert_eq!(all_over.headline(), "2 changes resolved");
    m.parts[0].over = over(&[EventId(1), EventId(3)], &[down, up]);
    let m = m.sorted();
    assert_eq!(m.subject(), "[Warning] alder.example: ns2 went from answers to silent");
    let words = "No longer the case since Nov 20, 2026, 14:05 UTC.";
    assert!(m.text(&[]).contains(words), "{}", m.text(&[]));
    let (_, v, _) = body(&Target::Discord { url: "https://discord.example/api/webhooks/1/x".into() }, &m);
    assert!(v["embeds"][0]["description"].as_str().unwrap().contains("No longer the case since"), "{v}");
    let hook = Target::Webhook { url: "https://hooks.example/x".into(), secret: notify::new_secret([1; 32]) };
    let (_, v, _) = body(&hook, &m);
    let events = &v["data"]["domains"][0]["events"];
    assert_eq!(
        (&events[0]["over_since"], &events[1]["over_since"]),
        (&Value::Null, &now().to_string().into())
    );
}
