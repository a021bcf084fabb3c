//! What is posted to each service: limits and required fields of its published schema, judged also by what Slack and
//! Microsoft publish; the signature of webhooks verified by independent implementations; and what follows from answers.

mod types;

use jiff::Timestamp;
use model::ending::endings;
use model::event::{Change, Event, EventKind, Severity};
use model::ids::{EventId, OrgId};
use model::names::DomainName;
use model::notify::{Channel, Target};
use notify::{Deliverer, Endpoints, Message, Part, posts};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

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

/// The interpreter that `cargo xtask setup` installs the services' own packages for. It must be there in CI.
fn python() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").filter(|v| !v.is_empty()).map(PathBuf::from);
    let cache = cache.or_else(|| Some(std::env::home_dir()?.join(".cache")))?;
    let python = cache.join("domainscope/tools/python/bin/python");
    // Of the package of cards only the schemas are used.
    let imports = "import standardwebhooks, slack_sdk, jsonschema, importlib.util as u; assert u.find_spec('adaptive_cards')";
    let there = Command::new(&python).args(["-c", imports]).output();
    if there.is_ok_and(|out| out.status.success()) {
        return Some(python);
    }
    let words = "Python packages of the services are missing: cargo xtask setup installs them";
    assert!(std::env::var_os("CI").is_none(), "{words}");
    println!("SKIPPED in part: {words}");
    None
}

#[test]
fn what_the_services_publish_accepts_the_payloads() {
    let Some(python) = python() else { return };
    let url = || "https://hooks.example/x".to_string();
    let mut payloads = Vec::new();
    for m in messages() {
        payloads.push(("slack", body(&Target::Slack { url: url() }, &m).1));
        payloads.push(("teams", body(&Target::Teams { url: url() }, &m).1));
    }
    // Two that break a rule each: the judges do judge.
    let (mut slack, mut teams) = (payloads[0].1.clone(), payloads[1].1.clone());
    slack["blocks"][0]["text"]["text"] = "x".repeat(151).into();
    teams["attachments"][0]["content"]["body"][0]["weight"] = "huge".into();
    payloads.extend([("slack", slack), ("teams", teams)]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/posts/judge.py");
    let mut judge = Command::new(python);
    let mut judge = judge.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    serde_json::to_writer(judge.stdin.take().unwrap(), &payloads).unwrap();
    let out = judge.wait_with_output().unwrap();
    assert!(out.status.success());
    let complaints: Vec<Vec<String>> = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(complaints.len(), payloads.len());
    for ((service, payload), found) in payloads.iter().zip(&complaints).take(payloads.len() - 2) {
        assert!(found.is_empty(), "{service}: {found:?} in {payload}");
    }
    assert!(complaints[complaints.len() - 2..].iter().all(|found| !found.is_empty()), "{complaints:?}");
}

struct Sink {
    child: Child,
    out: BufReader<ChildStdout>,
    port: u16,
}

impl Sink {
    fn start(arguments: &[&str]) -> Sink {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/posts/sink.py");
        let mut command = Command::new(python().unwrap_or_else(|| "python3".into()));
        let mut child = command.arg(script).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        Sink { child, out, port: line.trim().parse().unwrap() }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/in?x=1", self.port)
    }

    fn request(&mut self) -> Value {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn deliverer(allow_private: bool) -> Deliverer {
    let settings = net::Settings { allow_private, ..net::Settings::default() };
    Deliverer::new(net::Dialer::new(settings).unwrap(), None, None)
}

fn channel(target: Target) -> Channel {
    Channel { id: "c".into(), name: "C".into(), target, created_at: now() }
}

#[test]
fn messages_and_feeds_say_which_installation_they_are_of() {
    let m = message(1);
    let sent = m.sent_by(&[]);
    assert!(sent.ends_with(" of alder-main (alder-fleet)."), "{sent}");
    let to = ["ops@alder.example".to_string()];
    let text = m.text(&to);
    assert!(text.contains(&format!("\n-- \n{}", m.sent_by(&to))), "{text}");
    let alone = Message { clusterset: String::new(), rules: vec![], ..m.clone() };
    assert_eq!(alone.sent_by(&[]), "Sent by Domainscope of alder-main.");
    let source = notify::AtomSource { title: "Events", id: "f", made: now(), base: None };
    let text = notify::atom(&source, &m.parts[0].events);
    for wanted in [
        "<category scheme=\"tag:id.k8s.io,2020:claim\" term=\"alder-main\"/>",
        "<category scheme=\"tag:clusterset.k8s.io,2020:claim\" term=\"alder-fleet\"/>",
    ] {
        assert!(text.contains(wanted), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_is_signed_so_that_another_implementation_verifies_it() {
    let secret = notify::new_secret([9; 32]);
    // The library compares the time of the signature with its own clock.
    let at = Timestamp::now();
    let mut sink = Sink::start(&["204", &secret]);
    let hook = channel(Target::Webhook { url: sink.url(), secret });
    let cluster = notify::Cluster { id: "alder-main".into(), set: "alder-fleet".into() };
    let answer = deliverer(true).with_cluster(cluster).send(&hook, &message(3), &[], at).await.unwrap();
    assert!(answer.starts_with("204 No Content in "), "{answer}");
    let seen = sink.request();
    assert_eq!(seen["verified"], true);
    assert_eq!(seen["headers"]["x-domainscope-cluster"], "alder-main");
    assert_eq!(seen["headers"]["x-domainscope-clusterset"], "alder-fleet");
    assert_ne!(seen["library"], false);
    assert_eq!((&seen["headers"]["webhook-id"], &seen["path"]), (&"channel-1-7".into(), &"/in?x=1".into()));
    assert_eq!(seen["headers"]["webhook-timestamp"], at.as_second().to_string());
    let data = &seen["body"]["data"];
    assert_eq!((&seen["body"]["type"], &data["severity"]), (&"domain.events".into(), &"critical".into()));
    assert_eq!(data["domains"][0]["events"].as_array().unwrap().len(), 3);
    let event = &data["domains"][0]["events"][0];
    assert_eq!((&event["cluster"], &event["clusterset"]), (&"alder-main".into(), &"alder-fleet".into()));
    assert_eq!((&data["cluster"], &data["clusterset"]), (&"alder-main".into(), &"alder-fleet".into()));
    // Another secret does not verify.
    let mut other = Sink::start(&["200", &notify::new_secret([8; 32])]);
    let hook = channel(Target::Webhook { url: other.url(), secret: notify::new_secret([9; 32]) });
    deliverer(true).send(&hook, &message(1), &[], at).await.unwrap();
    let seen = other.request();
    assert_eq!(seen["verified"], false);
    assert_ne!(seen["library"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_say_whether_another_attempt_makes_sense() {
    for (status, permanent, after, words) in [
        ("400", true, None, "400 Bad Request: ok"),
        ("401", true, None, "replace it"),
        ("404", true, None, "does not exist any more"),
        ("302", true, None, "redirects"),
        ("429", false, Some(120), "429 Too Many Requests"),
        ("503", false, None, "503 Service Unavailable"),
    ] {
        let sink = Sink::start(&[status]);
        let slack = channel(Target::Slack { url: sink.url() });
        let e = deliverer(true).send(&slack, &message(1), &[], now()).await.unwrap_err();
        assert_eq!(
            (e.permanent, e.retry_after),
            (permanent, after.map(Duration::from_secs)),
            "{status}: {e:?}"
        );
        assert!(e.reason.contains(words), "{status}: {e:?}");
    }
    // A target inside is never dialled.
    let sink = Sink::start(&["200"]);
    let e = deliverer(false)
        .send(&channel(Target::Slack { url: sink.url() }), &message(1), &[], now())
        .await
        .unwrap_err();
    assert!(e.permanent && e.reason.contains("127.0.0.1"), "{e:?}");
}
