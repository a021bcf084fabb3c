//! What a rule would have sent, as its preview counts it, is what it sends: the same events go through the outbox and a
//! dispatcher to a receiver that counts messages.

mod support;

use jiff::{SignedDuration, Timestamp};
use model::event::{Change, EventKind, Severity};
use model::ids::{Caller, OrgId, Role, Vantage};
use model::item::{ItemPatch, Ownership};
use model::names::DomainName;
use model::notify::{Channel, Delivery, Quiet, Rule, Target};
use model::observation::Observation;
use monitor::{Clock, Policy};
use product::{Bounds, Services};
use service::AlertBackend;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use store::{ItemOutcome, NewItem, Record};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const ORG: OrgId = OrgId::BUILT_IN;

/// A clock that the test moves.
struct ManualClock(Mutex<Timestamp>);

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

/// Counts what is posted to it; its address.
async fn receiver() -> (String, Arc<AtomicUsize>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/x", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    tokio::spawn({
        let count = count.clone();
        async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let count = count.clone();
                tokio::spawn(async move {
                    let (mut read, mut buffer) = (Vec::new(), [0; 4096]);
                    loop {
                        let n = socket.read(&mut buffer).await.unwrap_or(0);
                        read.extend_from_slice(&buffer[..n]);
                        let text = String::from_utf8_lossy(&read).to_lowercase();
                        let Some(end) = text.find("\r\n\r\n") else { if n == 0 { return } else { continue } };
                        let length = text.lines().find_map(|l| l.strip_prefix("content-length:"));
                        let length: usize = length.and_then(|l| l.trim().parse().ok()).unwrap_or(0);
                        if read.len() >= end + 4 + length || n == 0 {
                            break;
                        }
                    }
                    count.fetch_add(1, Ordering::SeqCst);
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok";
                    let _ = socket.write_all(answer).await;
                });
            }
        }
    });
    (url, count)
}

struct Stage {
    services: Services,
    clock: Arc<ManualClock>,
    _folder: tempfile::TempDir,
}

impl Stage {
    async fn new() -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock(Mutex::new("2026-11-16T06:00:00Z".parse().unwrap())));
        let observer = Arc::new(support::NoNetwork);
        let scanner = support::scans::scanner(&folder, observer, clock.clone(), Policy::default()).await;
        let settings = net::Settings { allow_private: true, ..net::Settings::default() };
        let dialer = net::Dialer::new(settings).unwrap();
        let services = support::services(scanner, dialer, Bounds::default());
        Stage { services, clock, _folder: folder }
    }

    async fn add(&self, name: &str, ownership: Ownership, tag: &str) {
        let name = DomainName::trusted(name);
        let item = NewItem {
            unicode: name.unicode(),
            name: name.clone(),
            ownership,
            tags: vec![],
            note: String::new(),
        };
        let (store, now) = (&self.services.scanner.store, self.clock.now());
        store.add(ORG, &[item], now).await.unwrap();
        let patch = ItemPatch { tags: Some(vec![tag.into()]), ..ItemPatch::default() };
        store.patch(ORG, &name, &patch, now).await.unwrap();
    }

    /// Records a scan with these changes.
    async fn scan(&self, name: &str, changes: &[(EventKind, Severity)]) {
        let name = DomainName::trusted(name);
        let store = &self.services.scanner.store;
        let (item, row) = store.item(ORG, &name).await.unwrap().unwrap();
        let known = store.observation(&name, &Vantage::local()).await.unwrap();
        let changes = changes
            .iter()
            .map(|(kind, severity)| Change {
                kind: *kind,
                severity: *severity,
                field: "x".into(),
                old: Some("A".into()),
                new: Some("B".into()),
                source: "RDAP".into(),
                note: String::new(),
                first_seen_at: None,
                status_before: None,
            })
            .collect();
        let record = Record {
            expected_version: known.map_or(0, |k| k.version),
            observation: Observation::empty(name, Vantage::local()),
            snapshot: None,
            raw: vec![],
            outcomes: vec![ItemOutcome { item, row, changes }],
            at: self.clock.now(),
        };
        store.record(&record).await.unwrap();
    }

    async fn later(&self, hours: i64, dispatcher: &notify::Dispatcher) {
        // Routed at once, as the preview takes it to be.
        while dispatcher.deliver_due().await.unwrap() > 0 {}
        *self.clock.0.lock().unwrap() += SignedDuration::from_hours(hours);
        while dispatcher.deliver_due().await.unwrap() > 0 {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_preview_counts_what_the_rule_sends() {
    use EventKind::{NameserversChanged, RecordChanged, RegistrarChanged};
    let rules = [
        Rule { at_least: Severity::Info, ownership: None, ..Rule::default() },
        Rule { at_least: Severity::Warning, ..Rule::default() },
        Rule { at_least: Severity::Info, kinds: vec![RecordChanged], ..Rule::default() },
        Rule { at_least: Severity::Info, tags: vec!["prod".into()], ownership: None, ..Rule::default() },
        Rule { at_least: Severity::Info, delivery: Delivery::Daily { hour: 7 }, ..Rule::default() },
        Rule {
            at_least: Severity::Info,
            quiet: Some(Quiet { from: 20 * 60, to: 8 * 60 }),
            ..Rule::default()
        },
        Rule {
            at_least: Severity::Info,
            quiet: Some(Quiet { from: 20 * 60, to: 8 * 60 }),
            critical_at_once: false,
            ..Rule::default()
        },
    ];
    let mut counts = Vec::new();
    for rule in rules {
        let s = Stage::new().await;
        let (url, received) = receiver().await;
        let (store, now) = (&s.services.scanner.store, s.clock.now());
        let target = Target::Slack { url };
        let channel = Channel { id: "c".into(), name: "C".into(), target, created_at: now };
        store.save_channel(ORG, &channel, now).await.unwrap();
        let rule = Rule { id: "r".into(), name: "R".into(), channels: vec!["c".into()], ..rule };
        store.save_rule(ORG, &rule, now).await.unwrap();
        for (name, ownership, tag) in [
            ("alder.example", Ownership::Owned, "prod"),
            ("brook.example", Ownership::Owned, "test"),
            ("cedar.example", Ownership::Watched, "prod"),
        ] {
            s.add(name, ownership, tag).await;
        }
        let clock = s.clock.clone();
        let dispatcher = notify::Dispatcher::new(
            store.clone(),
            Arc::new(move || clock.now()),
            s.services.deliverer.clone(),
        );
        for hours in [1, 5, 14, 3, 20] {
            s.scan(
                "alder.example",
                &[(RegistrarChanged, Severity::Warning), (RecordChanged, Severity::Info)],
            )
            .await;
            s.scan("brook.example", &[(NameserversChanged, Severity::Critical)]).await;
            s.scan("brook.example", &[]).await;
            s.scan("cedar.example", &[(RecordChanged, Severity::Info)]).await;
            s.later(hours, &dispatcher).await;
        }
        // The last digest, and hours that are not quiet.
        s.later(30, &dispatcher).await;
        let caller = Caller::new(ORG, "Ann", Role::Admin);
        let preview = s.services.preview_rule(&caller, &rule).await.unwrap();
        let sent = received.load(Ordering::SeqCst);
        assert_eq!(usize::try_from(preview.messages).unwrap(), sent, "{rule:?}: {preview:?}");
        let not_sent: u64 = preview.not_sent.iter().map(|n| n.count).sum();
        assert_eq!(preview.events + not_sent, preview.of, "every event is sent or has a reason: {preview:?}");
        let is_held = preview.newest.iter().any(|m| m.held_from.is_some_and(|from| from < m.at));
        assert_eq!(is_held, rule.quiet.is_some(), "{preview:?}");
        let domains = if rule.tags.is_empty() { if rule.ownership.is_some() { 2 } else { 3 } } else { 2 };
        assert_eq!(preview.domains, Some(domains), "{rule:?}");
        counts.push(sent);
    }
    assert!(counts.iter().all(|n| *n > 0), "{counts:?}");
    assert!(counts[0] > counts[1] && counts[4] < counts[0], "rules differ in what they send: {counts:?}");
}
