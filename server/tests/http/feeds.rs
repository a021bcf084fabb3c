//! Feeds as calendars and readers get them, read by Python's icalendar and feedparser.

use crate::site::{Site, site};
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use model::Timestamp;
use model::event::{Change, EventKind, Severity};
use model::ids::OrgId;
use model::item::Ownership;
use model::names::DomainName;
use model::time::StatedTime;
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};
use store::{ItemOutcome, NewItem, Record};
use tower::ServiceExt;

const HARD: &str =
    "Ärger & <Söhne>, \"GmbH\"; C:\\temp, a name that is long enough to be folded more than once in a line";

/// Reads a text with a script of Python and returns what it printed.
fn python(script: &str, text: &str) -> Value {
    let there = |p: &&str| {
        let run = Command::new(p).args(["-c", "import icalendar, feedparser"]).stderr(Stdio::null()).status();
        run.is_ok_and(|s| s.success())
    };
    let python = ["/usr/bin/python3", "python3"].into_iter().find(there).expect(
        "these tests need icalendar and feedparser: cargo xtask setup, or apt-get install python3-icalendar \
         python3-feedparser",
    );
    let mut child = Command::new(python)
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python runs");
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success(), "{text}");
    serde_json::from_slice(&out.stdout).unwrap()
}

const CALENDAR: &str = r#"
import sys, json, icalendar
c = icalendar.Calendar.from_ical(sys.stdin.buffer.read())
errors = [str(e) for part in c.walk() for e in part.errors]
events = [{k.lower(): str(e.decoded(k) if k in ("DTSTART", "DTEND", "DTSTAMP") else e[k]) for k in e} for e in c.walk("VEVENT")]
print(json.dumps({"name": str(c["X-WR-CALNAME"]), "errors": errors, "events": events}))
"#;

const ATOM: &str = r#"
import sys, json, feedparser, xml.etree.ElementTree as tree
text = sys.stdin.buffer.read()
tree.fromstring(text)
f = feedparser.parse(text)
entries = [{k: e.get(k) for k in ("id", "title", "summary", "updated")} | {"tag": e.tags[0].term} for e in f.entries]
print(json.dumps({"bozo": bool(f.bozo), "version": f.version, "title": f.feed.title, "updated": f.feed.updated, "entries": entries}))
"#;

/// Two domains, one with an expiration and an event whose values are hard to escape.
async fn fill(s: &Site) {
    let (store, now) = (&s.scanner.store, Timestamp::now());
    for name in ["xn--bcherei-n2a.example", "undated.example"] {
        let name = DomainName::trusted(name);
        let item = NewItem {
            unicode: name.unicode(),
            name: name.clone(),
            ownership: Ownership::Owned,
            tags: vec![],
            note: String::new(),
        };
        store.add(OrgId::BUILT_IN, &[item], now).await.unwrap();
    }
    let name = DomainName::trusted("xn--bcherei-n2a.example");
    let (item, mut row) = store.item(OrgId::BUILT_IN, &name).await.unwrap().unwrap();
    row.expires = Some(StatedTime::Date("2027-02-28".parse().unwrap()));
    row.registrar = Some(HARD.into());
    let change = Change {
        kind: EventKind::RegistrarChanged,
        severity: Severity::Critical,
        field: "registrar".into(),
        old: Some("Lantern".into()),
        new: Some(HARD.into()),
        source: "RDAP".into(),
        note: "\u{1}control characters".into(),
        first_seen_at: None,
        status_before: None,
    };
    let observation = model::observation::Observation::empty(name, model::ids::Vantage::local());
    let outcome = ItemOutcome { item, row, changes: vec![change] };
    let record = Record {
        expected_version: 0,
        observation,
        snapshot: None,
        raw: vec![],
        outcomes: vec![outcome],
        at: now,
    };
    store.record(&record).await.unwrap();
}

async fn get(s: &Site, path: &str, tag: Option<&str>) -> (StatusCode, HeaderMap, String) {
    let mut request = Request::get(path).header("host", "localhost:8080");
    if let Some(tag) = tag {
        request = request.header("if-none-match", tag);
    }
    let answer = s.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let (parts, body) = answer.into_parts();
    let bytes = axum::body::to_bytes(body, 8 << 20).await.unwrap();
    (parts.status, parts.headers, String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test]
async fn feeds_are_read_by_independent_parsers_and_end_when_revoked() {
    let s = site(false).await;
    fill(&s).await;
    let mut paths = Vec::new();
    for kind in ["calendar", "events"] {
        let (status, made) = s.api("POST", "/api/v1/feeds", json!({ "name": "Team", "kind": kind })).await;
        assert_eq!(status, StatusCode::OK, "{made}");
        paths.push((made["path"].as_str().unwrap().to_string(), made["feed"]["id"].clone()));
    }
    let (_, listed) = s.api("GET", "/api/v1/feeds", Value::Null).await;
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert!(!listed.to_string().contains("dsf_"), "shown once: {listed}");

    let (status, headers, text) = get(&s, &paths[0].0, None).await;
    assert_eq!(
        (status, &headers["content-type"]),
        (StatusCode::OK, &"text/calendar; charset=utf-8".parse().unwrap())
    );
    assert_eq!(headers["cache-control"], "private, max-age=300");
    assert!(
        text.split("\r\n").all(|line| line.len() <= 75) && !text.replace("\r\n", "").contains('\n'),
        "{text}"
    );
    let read = python(CALENDAR, &text);
    assert_eq!(read["errors"], json!([]));
    let event = &read["events"][0];
    assert_eq!(read["events"].as_array().unwrap().len(), 1, "only names with an expiration: {read}");
    assert_eq!(event["dtstart"], "2027-02-28");
    assert_eq!(event["dtend"], "2027-03-01");
    assert_eq!(event["summary"], "bücherei.example expires");
    assert!(event["description"].as_str().unwrap().contains(HARD), "{event}");

    let (_, headers, text) = get(&s, &paths[1].0, None).await;
    assert_eq!(headers["content-type"], "application/atom+xml; charset=utf-8");
    let read = python(ATOM, &text);
    assert_eq!((&read["bozo"], &read["version"]), (&json!(false), &json!("atom10")), "{text}");
    let entry = &read["entries"][0];
    assert_eq!(entry["tag"], "registrar_changed");
    assert!(entry["id"].as_str().unwrap().starts_with("tag:"), "{entry}");
    assert_eq!(entry["updated"], read["updated"]);
    assert!(entry["title"].as_str().unwrap().starts_with("[Critical] bücherei.example:"), "{entry}");
    assert!(text.contains("&amp; &lt;Söhne&gt;") && !text.contains('\u{1}'), "{text}");

    // Unchanged: 304 with the same tag. The secret alone does it; a wrong end or a wrong secret is not found.
    for (path, _) in &paths {
        let (_, headers, _) = get(&s, path, None).await;
        let tag = headers["etag"].to_str().unwrap().to_string();
        let (status, headers, text) = get(&s, path, Some(&tag)).await;
        assert_eq!(
            (status, headers["etag"].to_str().unwrap(), text.as_str()),
            (StatusCode::NOT_MODIFIED, tag.as_str(), "")
        );
    }
    let swapped = paths[0].0.replace(".ics", ".atom");
    let other = format!("/feeds/{}.ics", accounts::Secret::generate(accounts::SecretKind::Feed).expose());
    for wrong in [swapped.as_str(), &other, "/feeds/x", "/feeds/dsf_AAAA.ics"] {
        assert_eq!(get(&s, wrong, None).await.0, StatusCode::NOT_FOUND, "{wrong}");
    }
    // Only the hash is stored; the use is noted.
    let (_, listed) = s.api("GET", "/api/v1/feeds", Value::Null).await;
    assert!(listed[0]["used_at"].is_string(), "{listed}");
    // Revoked, its address leads nowhere; the other one stays.
    let id = paths[0].1.as_str().unwrap();
    assert_eq!(s.api("DELETE", &format!("/api/v1/feeds/{id}"), Value::Null).await.0, StatusCode::OK);
    assert_eq!(get(&s, &paths[0].0, None).await.0, StatusCode::NOT_FOUND);
    assert_eq!(get(&s, &paths[1].0, None).await.0, StatusCode::OK);
}
