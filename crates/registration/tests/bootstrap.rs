//! The bootstrap over the days: fetched once, then only asked whether it changed; kept across restarts and replicas;
//! never lost by a failure.

#[allow(dead_code, reason = "the other tests of the client use the rest of it")]
mod world;

use model::Timestamp;
use model::names::DomainName;
use model::registration::RegistrationState;
use registration::{BootstrapCache, Client, FailureKind, LookupResult};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use world::{Reply, World, http, now, settings};

/// What the server of the bootstrap does next.
#[derive(Clone, Copy, PartialEq)]
enum Mood {
    Well,
    Broken,
    /// Says "not changed" to everybody.
    Confused,
    /// Sends another file under the old tag.
    Careless,
}

struct Root {
    world: World,
    mood: Arc<Mutex<Mood>>,
    /// How often the whole file was sent.
    sent: Arc<AtomicUsize>,
    seen: Arc<world::Seen>,
}

const FILE: &str = r#"{"services":[[["test"],["http://rdap.nic.test/"]]]}"#;

impl Root {
    async fn new() -> Self {
        let mut world = World::new();
        let mood = Arc::new(Mutex::new(Mood::Well));
        let sent = Arc::new(AtomicUsize::new(0));
        let (m, n) = (mood.clone(), sent.clone());
        let answer = move |q: &str| -> Reply {
            let q = q.to_ascii_lowercase();
            let known = q.contains("if-none-match: \"v1\"") && q.contains("if-modified-since: thu");
            match *m.lock().unwrap() {
                Mood::Well if !known => {
                    n.fetch_add(1, Ordering::SeqCst);
                    let fields = "ETag: \"v1\"\r\nLast-Modified: Thu, 19 Nov 2026 00:00:00 GMT\r\n";
                    http(200, "application/json", fields, FILE)
                }
                Mood::Well | Mood::Confused => http(304, "application/json", "ETag: \"v1\"\r\n", ""),
                Mood::Careless => {
                    let moved = FILE.replace("rdap.nic", "rdap.moved");
                    http(200, "application/json", "ETag: \"v1\"\r\n", &moved)
                }
                Mood::Broken => http(500, "text/html", "", "oops"),
            }
        };
        let seen = world.serve("rdap-root.test", 80, answer).await;
        let free = |_: &str| http(404, "application/rdap+json", "", r#"{"errorCode":404}"#);
        world.serve("rdap.nic.test", 80, free).await;
        world.serve("rdap.moved.test", 80, |_| http(403, "text/plain", "", "")).await;
        Root { world, mood, sent, seen }
    }

    fn is(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    fn client(&self, cache: Option<Arc<dyn BootstrapCache>>) -> Client {
        Client::sharing(settings(), self.world.dialer(true), net::Budgets::new(), cache).unwrap()
    }

    /// How often the root was asked, and how often it sent the file.
    fn counts(&self) -> (usize, usize) {
        (self.seen.count(), self.sent.load(Ordering::SeqCst))
    }
}

fn hours(n: i64) -> Timestamp {
    now() + jiff::SignedDuration::from_hours(n)
}

async fn ask(client: &Client, at: Timestamp) -> LookupResult {
    client.lookup(&DomainName::trusted("a.test"), at).await
}

fn is_free(r: &LookupResult) -> bool {
    r.outcome == Ok(RegistrationState::Available)
}

#[tokio::test]
async fn unchanged_renews_it_and_a_failure_keeps_it() {
    let root = Root::new().await;
    let client = root.client(None);
    assert!(is_free(&ask(&client, hours(0)).await));
    assert!(is_free(&ask(&client, hours(23)).await));
    assert_eq!(root.counts(), (1, 1));
    assert!(is_free(&ask(&client, hours(25)).await));
    assert_eq!(root.counts(), (2, 1), "asked whether it changed; it did not");
    assert!(is_free(&ask(&client, hours(48)).await));
    assert_eq!(root.counts(), (2, 1), "that is good for a day again");
    root.is(Mood::Broken);
    assert!(is_free(&ask(&client, hours(50)).await), "the old one is used");
    assert_eq!(root.counts(), (3, 1));
    ask(&client, hours(50) + jiff::SignedDuration::from_mins(5)).await;
    assert_eq!(root.counts(), (3, 1), "not asked again at once");
    root.is(Mood::Well);
    assert!(is_free(&ask(&client, hours(51)).await));
    assert_eq!(root.counts(), (4, 1), "the tag was not forgotten over the failure");
}

#[tokio::test]
async fn unchanged_is_no_answer_to_who_has_nothing() {
    let root = Root::new().await;
    root.is(Mood::Confused);
    let client = root.client(None);
    let lost = ask(&client, hours(0)).await;
    assert_eq!(lost.outcome.unwrap_err().kind, FailureKind::Unreachable, "no server is known");
    root.is(Mood::Well);
    assert!(is_free(&ask(&client, hours(1)).await));
}

#[derive(Default)]
struct InMemory(Mutex<Option<String>>);

#[async_trait::async_trait]
impl BootstrapCache for InMemory {
    async fn get(&self) -> Option<String> {
        self.0.lock().unwrap().clone()
    }
    async fn put(&self, text: &str, _: Timestamp) {
        *self.0.lock().unwrap() = Some(text.to_string());
    }
}

#[tokio::test]
async fn neither_a_restart_nor_a_second_replica_fetches_it_again() {
    let root = Root::new().await;
    let cache = Arc::new(InMemory::default());
    assert!(is_free(&ask(&root.client(Some(cache.clone())), hours(0)).await));
    assert!(is_free(&ask(&root.client(Some(cache.clone())), hours(10)).await));
    assert_eq!(root.counts(), (1, 1));
    // The next day the new process asks with the tag the old one was given.
    let (a, b) = (root.client(Some(cache.clone())), root.client(Some(cache.clone())));
    assert!(is_free(&ask(&a, hours(30)).await));
    assert_eq!(root.counts(), (2, 1));
    assert!(is_free(&ask(&b, hours(31)).await), "what one replica was told, the other need not ask");
    assert_eq!(root.counts(), (2, 1));
    // And with the root away, the cache's copy is what there is.
    root.is(Mood::Broken);
    assert!(is_free(&ask(&root.client(Some(cache)), hours(100)).await));
}

#[tokio::test]
async fn a_damaged_or_foreign_copy_is_not_used() {
    let root = Root::new().await;
    let kept = |url: &str, body: &str| {
        serde_json::json!({"url": url, "etag": "\"v1\"", "last_modified": null, "checked_at": hours(0), "body": body})
            .to_string()
    };
    let here = "http://rdap-root.test/dns.json";
    let nowhere = FILE.replace("rdap.nic", "elsewhere");
    let future = kept(here, &nowhere).replace("2026", "2036");
    for text in ["".into(), "{}".into(), kept("http://other.test/", &nowhere), kept(here, "<html>"), future] {
        let cache = Arc::new(InMemory(Mutex::new(Some(text.clone()))));
        let before = root.counts();
        assert!(is_free(&ask(&root.client(Some(cache.clone())), hours(1)).await), "{text}");
        assert_eq!(root.counts(), (before.0 + 1, before.1 + 1), "{text}");
        assert!(cache.get().await.unwrap().contains("rdap.nic.test"));
    }
}

#[tokio::test]
async fn another_file_under_the_old_tag_is_used_and_kept() {
    let root = Root::new().await;
    let cache = Arc::new(InMemory::default());
    let client = root.client(Some(cache.clone()));
    assert!(is_free(&ask(&client, hours(0)).await));
    root.is(Mood::Careless);
    let moved = ask(&client, hours(25)).await;
    assert_eq!(moved.failures[0].error.kind, FailureKind::Refused, "the other server was asked");
    assert!(cache.get().await.unwrap().contains("rdap.moved.test"));
    // "Not changed" then means the file that came last.
    root.is(Mood::Confused);
    let again = ask(&client, hours(50)).await;
    assert_eq!(again.failures[0].error.kind, FailureKind::Refused);
}

#[tokio::test]
async fn a_clock_that_was_ahead_does_not_keep_the_file_for_as_long() {
    let root = Root::new().await;
    let client = root.client(None);
    assert!(is_free(&ask(&client, hours(10 * 365 * 24)).await));
    assert!(is_free(&ask(&client, hours(0)).await));
    assert_eq!(root.counts(), (2, 1), "asked again when the clock was right");
    assert!(is_free(&ask(&client, hours(1)).await));
    assert_eq!(root.counts(), (2, 1));
}
