//! Rate limits of the client: blocks that hold for every replica and grow, and the schedule that comes back later rather
//! than waits.

#[allow(dead_code, reason = "the other tests of the client use the rest of it")]
mod world;

use model::Timestamp;
use model::names::DomainName;
use model::registration::RegistrationState;
use registration::{Client, FailureKind, LookupError, Pace, Settings};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use world::{Reply, WHOIS, World, ask, bootstrap, http, now, settings, text, whois_root};

/// A clock that stands still until it is moved.
#[derive(Clone)]
struct Clock(Arc<Mutex<Timestamp>>);

impl Clock {
    fn new() -> Self {
        Clock(Arc::new(Mutex::new(now())))
    }

    fn pass(&self, d: Duration) {
        *self.0.lock().unwrap() += d;
    }
}

/// Clients of two replicas: each with its own memory, one ledger.
fn replicas(world: &World, clock: &Clock) -> [Client; 2] {
    let ledger = Arc::new(net::budget::Memory::default());
    [(); 2].map(|()| {
        let clock = clock.clone();
        let budgets = net::Budgets::shared(ledger.clone(), move || *clock.0.lock().unwrap());
        Client::sharing(settings(), world.dialer(true), budgets, None).unwrap()
    })
}

fn failure(r: &registration::LookupResult) -> &LookupError {
    r.outcome.as_ref().expect_err("a failure")
}

#[tokio::test]
async fn what_one_replica_was_told_all_honour() {
    type Case = (&'static str, fn(&str) -> Reply, std::ops::RangeInclusive<u64>);
    let cases: [Case; 4] = [
        ("seconds", |_| http(429, "text/plain", "Retry-After: 300\r\n", ""), 300..=300),
        (
            "a date",
            |_| http(429, "text/plain", "Retry-After: Fri, 20 Nov 2026 12:10:00 GMT\r\n", ""),
            600..=600,
        ),
        ("nothing", |_| http(429, "text/plain", "", ""), 60..=75),
        ("unavailable", |_| http(503, "text/plain", "Retry-After: 90\r\n", ""), 90..=90),
    ];
    for (what, reply, wait) in cases {
        let mut w = World::new();
        bootstrap(&mut w, "http://rdap.nic.test/").await;
        let seen = w.serve("rdap.nic.test", 80, reply).await;
        let [a, b] = replicas(&w, &Clock::new());
        assert_eq!(failure(&ask(&a, "a.test").await).kind, FailureKind::Throttled, "{what}");
        let other = ask(&b, "b.test").await;
        let e = failure(&other);
        assert!(e.postponed && !e.own_limit && e.kind == FailureKind::Throttled, "{what}: {e:?}");
        assert!(wait.contains(&e.retry_after.unwrap().as_secs()), "{what}: {e:?}");
        assert_eq!(seen.count(), 1, "{what}: the other replica asked all the same");
    }
}

#[tokio::test]
async fn throttling_texts_of_whois_count_for_all_and_grow() {
    let mut w = World::new();
    whois_root(&mut w).await;
    let seen = w
        .serve("whois.nic.test", WHOIS, |_| text("Your connection limit exceeded. Please slow down.\r\n"))
        .await;
    let clock = Clock::new();
    let [a, b] = replicas(&w, &clock);
    let mut waits = Vec::new();
    for (i, client) in [&a, &b, &a, &b].into_iter().enumerate() {
        let told = ask(client, &format!("n{i}.test")).await;
        let e = failure(&told);
        assert!(e.kind == FailureKind::Throttled && !e.postponed, "it was asked: {e:?}");
        let wait = e.retry_after.unwrap();
        waits.push(wait);
        // Meanwhile the other one is not let through.
        assert!(failure(&ask(if i % 2 == 0 { &b } else { &a }, "x.test").await).postponed);
        clock.pass(wait);
    }
    assert_eq!(seen.count(), 4);
    for (i, wait) in waits.iter().enumerate() {
        let base = Duration::from_secs(60 << i);
        assert!(*wait >= base && *wait <= base * 5 / 4, "{waits:?}");
    }
}

/// A registry with room for one question in ten seconds, and a WHOIS server that knows the same.
async fn narrow() -> (World, Arc<world::Seen>, Arc<world::Seen>, Settings) {
    let mut w = World::new();
    bootstrap(&mut w, "http://rdap.nic.test/").await;
    whois_root(&mut w).await;
    let free = |_: &str| http(404, "application/rdap+json", "", r#"{"errorCode":404}"#);
    let rdap = w.serve("rdap.nic.test", 80, free).await;
    let whois = w.serve("whois.nic.test", WHOIS, |_| text("Domain not found.\r\n")).await;
    let narrow = net::Limit::new(1, Duration::from_secs(10));
    let settings = Settings {
        agreed: [("rdap.nic.test".to_string(), narrow)].into_iter().collect(),
        patience: Duration::from_millis(300),
        ..settings()
    };
    (w, rdap, whois, settings)
}

#[tokio::test]
async fn the_schedule_comes_back_while_a_person_is_answered_by_whois() {
    let (w, rdap, whois, settings) = narrow().await;
    let client = w.client(settings);
    let look = async |name: &str, pace| client.lookup_at(&DomainName::trusted(name), now(), pace).await;
    assert_eq!(look("a.test", Pace::Scheduled).await.outcome, Ok(RegistrationState::Available));
    let start = Instant::now();
    let later = look("b.test", Pace::Scheduled).await;
    let e = failure(&later);
    assert!(e.postponed && e.own_limit && e.sentence.contains("our own limit"), "{e:?}");
    assert!((5..=10).contains(&e.retry_after.unwrap().as_secs()), "{e:?}");
    assert!(start.elapsed() < Duration::from_secs(2), "the schedule does not wait");
    assert_eq!((rdap.count(), whois.count()), (1, 0), "the registry's other server is not asked instead");
    let next = look("c.test", Pace::Scheduled).await;
    assert!(failure(&next).retry_after.unwrap().as_secs() >= 15, "the queue's second place: {next:?}");
    assert_eq!(look("b.test", Pace::Asked).await.outcome, Ok(RegistrationState::Available));
    assert_eq!((rdap.count(), whois.count()), (1, 1));
}

#[tokio::test]
async fn a_person_who_joins_a_flight_of_the_schedule_is_not_sent_away_with_it() {
    let (w, _, whois, settings) = narrow().await;
    let client = w.client(Settings { patience_scheduled: Duration::from_millis(200), ..settings });
    let name = DomainName::trusted("b.test");
    // The one place is taken and stays so.
    assert!(ask(&client, "a.test").await.outcome.is_ok());
    let (scheduled, asked) =
        futures::join!(client.lookup_at(&name, now(), Pace::Scheduled), client.lookup(&name, now()));
    assert!(failure(&scheduled).postponed);
    assert_eq!(asked.outcome, Ok(RegistrationState::Available), "{:?}", asked.failures);
    assert_eq!(whois.count(), 1);
}

/// Two hosts that are sent to each other: RDAP of `.test` begins at the first.
async fn two_hosts(
    first: impl Fn(&str) -> Reply + Send + Sync + 'static,
    second: impl Fn(&str) -> Reply + Send + Sync + 'static,
) -> (World, Arc<world::Seen>, Arc<world::Seen>) {
    let mut w = World::new();
    bootstrap(&mut w, "http://rdap.nic.test/").await;
    let one = w.serve("rdap.nic.test", 80, first).await;
    let two = w.serve("rdap.other.test", 80, second).await;
    (w, one, two)
}

fn to(place: &'static str) -> impl Fn(&str) -> Reply + Send + Sync + 'static {
    move |_| http(302, "text/plain", &format!("Location: {place}\r\n"), "")
}

fn free(_: &str) -> Reply {
    http(404, "application/rdap+json", "", r#"{"errorCode":404}"#)
}

const OTHER: &str = "http://rdap.other.test/domain/x";

fn agreed(rows: &str) -> registration::Limits {
    rows.parse().unwrap()
}

#[tokio::test]
async fn a_redirect_to_another_host_counts_there_and_waits_for_its_leave() {
    let (w, one, two) = two_hosts(to(OTHER), free).await;
    let agreed = agreed("[[limit]]\nhosts = [\"rdap.other.test\"]\nper_minute = 6\n");
    let client = w.client(Settings { agreed, patience: Duration::from_millis(200), ..settings() });
    assert_eq!(ask(&client, "a.test").await.outcome, Ok(RegistrationState::Available));
    let later = ask(&client, "b.test").await;
    let e = failure(&later);
    assert!(e.postponed && e.own_limit && e.sentence.contains("rdap.other.test"), "{e:?}");
    assert_eq!((one.count(), two.count()), (2, 1), "the second question was not sent on");
    assert_eq!(later.failures[0].server, OTHER);
}

#[tokio::test]
async fn who_is_sent_on_is_blocked_by_the_host_that_says_so_and_only_there() {
    let tired = |_: &str| http(429, "text/plain", "Retry-After: 300\r\n", "");
    let (w, one, two) = two_hosts(to(OTHER), tired).await;
    let [a, b] = replicas(&w, &Clock::new());
    assert_eq!(failure(&ask(&a, "a.test").await).kind, FailureKind::Throttled);
    let other = ask(&b, "b.test").await;
    let e = failure(&other);
    assert!(e.postponed && e.sentence.contains("rdap.other.test"), "{e:?}");
    assert_eq!((one.count(), two.count()), (2, 1));
}

#[tokio::test]
async fn hosts_that_send_each_other_on_end_the_round_and_hold_no_place() {
    let (w, one, two) = two_hosts(to(OTHER), to("http://rdap.nic.test/domain/x")).await;
    // One place each: were the first one's kept while the second's is waited for, they would wait for each other.
    let client = w.client(Settings { limit: net::Limit::new(1, Duration::ZERO), ..settings() });
    let names = ["a.test", "b.test", "c.test", "d.test"];
    let start = Instant::now();
    for result in futures::future::join_all(names.map(|n| ask(&client, n))).await {
        let round = result.failures.iter().find(|f| f.error.sentence.contains("redirects more than 5 times"));
        assert!(round.is_some_and(|f| f.error.kind == FailureKind::Unparsable), "{:?}", result.failures);
    }
    assert_eq!((one.count(), two.count()), (12, 12));
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    assert!(one.most_open.load(std::sync::atomic::Ordering::SeqCst) <= 2, "one, and one that is closing");
}

#[tokio::test]
async fn a_redirect_within_a_host_is_counted_but_not_waited_for() {
    let within = |q: &str| if q.contains("/domain/") { to("/moved/x")(q) } else { free(q) };
    let (w, one, _) = two_hosts(within, free).await;
    let agreed = agreed("[[limit]]\nhosts = [\"rdap.nic.test\"]\nper_minute = 6\n");
    let client = w.client(Settings { agreed, patience: Duration::from_millis(200), ..settings() });
    assert_eq!(ask(&client, "a.test").await.outcome, Ok(RegistrationState::Available));
    let later = ask(&client, "b.test").await;
    let wait = failure(&later).retry_after.unwrap().as_secs();
    assert!((15..=20).contains(&wait), "two questions, two spacings: {later:?}");
    assert_eq!(one.count(), 2);
}

#[tokio::test]
async fn a_host_that_is_not_tired_any_more_the_moment_it_says_so_is_left_alone_all_the_same() {
    for past in ["Fri, 20 Nov 2020 12:00:00 GMT", "-1", "", "never"] {
        let tired = move |_: &str| http(429, "text/plain", &format!("Retry-After: {past}\r\n"), "");
        let (w, _, _) = two_hosts(tired, free).await;
        let [a, _] = replicas(&w, &Clock::new());
        let told = ask(&a, "a.test").await;
        let wait = failure(&told).retry_after.unwrap().as_secs();
        assert!((60..=75).contains(&wait), "{past}: {wait}");
    }
    let tired = |_: &str| http(429, "text/plain", "Retry-After: Fri, 20 Nov 2036 12:00:00 GMT\r\n", "");
    let (w, _, _) = two_hosts(tired, free).await;
    let [a, _] = replicas(&w, &Clock::new());
    assert_eq!(failure(&ask(&a, "a.test").await).retry_after, Some(net::budget::LONGEST_BLOCK));
}
