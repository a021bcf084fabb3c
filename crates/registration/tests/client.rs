//! The look-up client against servers on loopback, faults first. Nothing here needs the Internet.

mod world;

use model::registration::{Party, Protocol, RegistrationState};
use registration::{FailureKind, LookupResult, Settings};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use world::{Reply, WHOIS, World, ask, bootstrap, http, now, rdap, settings, text, whois_root};

/// A name, how the server answers, what it comes to.
type Fault = (&'static str, fn(&str) -> Reply, FailureKind);

fn kind(r: &LookupResult) -> FailureKind {
    r.outcome.as_ref().expect_err("a failure").kind
}

fn domain(name: &str) -> Value {
    json!({
        "objectClassName": "domain", "ldhName": name,
        "events": [{"eventAction": "registration", "eventDate": "2001-02-03T04:05:06Z"},
                   {"eventAction": "expiration", "eventDate": "2031-02-03T04:05:06Z"}],
        "nameservers": [{"ldhName": "ns1.test"}],
        "entities": [{"roles": ["registrar"], "vcardArray": ["vcard", [["fn", {}, "text", "Sample Registrar"]]]}],
    })
}

const THICK: &str = "Domain Name: a.test\r\nRegistry Domain ID: 1\r\nRegistrar: Sample Registrar\r\n\
    Creation Date: 2001-02-03T04:05:06Z\r\nRegistry Expiry Date: 2031-02-03T04:05:06Z\r\n\
    Name Server: ns1.test\r\nDNSSEC: unsigned\r\n>>> Last update of WHOIS database: 2026-01-01T00:00:00Z <<<\r\n";

/// A world where only WHOIS works, and the registry answers so.
async fn whois_only(reply: fn(&str) -> Reply) -> (World, std::sync::Arc<world::Seen>) {
    let mut w = World::new();
    whois_root(&mut w).await;
    let seen = w.serve("whois.nic.test", WHOIS, reply).await;
    (w, seen)
}

#[tokio::test]
async fn faults_of_a_whois_server_have_their_own_names_and_end_in_time() {
    let cases: [Fault; 9] = [
        ("hang", |_| Reply::Hang, FailureKind::Timeout),
        (
            "a web server on the WHOIS port",
            |_| http(200, "application/rdap+json", "Content-Encoding: gzip\r\n", "\u{1f}not unpacked"),
            FailureKind::Unparsable,
        ),
        ("drip", |_| Reply::Drip, FailureKind::Timeout),
        ("huge", |_| Reply::Huge, FailureKind::TooLarge),
        (
            "garbage",
            |_| Reply::Text(b"\x00\xff\xfe\x1f\x80 lab \xc3\x28\r\n\x07".to_vec()),
            FailureKind::Unparsable,
        ),
        ("empty", |_| text(""), FailureKind::Unparsable),
        ("early close", |_| text(&THICK[..THICK.len() / 2]), FailureKind::Unparsable),
        ("throttling text", |_| text("WHOIS LIMIT EXCEEDED - TRY AGAIN\r\n"), FailureKind::Throttled),
        ("refusal", |_| text("Access denied\r\n"), FailureKind::Refused),
    ];
    for (what, reply, want) in cases {
        let (w, _) = whois_only(reply).await;
        let start = Instant::now();
        let r = ask(&w.client(settings()), "a.test").await;
        assert_eq!(kind(&r), want, "{what}: {:?}", r.failures);
        assert!(start.elapsed() < Duration::from_secs(6), "{what} took {:?}", start.elapsed());
        assert!(r.outcome.unwrap_err().sentence.contains("whois.nic.test"), "{what}");
    }
}

#[tokio::test]
async fn a_connection_that_is_reset_counts_when_the_answer_says_it_is_complete() {
    let (w, _) = whois_only(|_| Reply::Reset(THICK)).await;
    let r = ask(&w.client(settings()), "a.test").await;
    assert!(matches!(r.outcome, Ok(RegistrationState::Registered(_))), "{:?}", r.failures);
    let cut: [fn(&str) -> Reply; 2] = [
        |_| Reply::Reset("domain: a.test\nnserver: ns1.test\n"),
        |_| Reply::Reset("Domain Name: a.test\r\nRegistry Domain ID: 1\r\nRegistrar: Sample Registrar\r\n"),
    ];
    for reply in cut {
        let (w, _) = whois_only(reply).await;
        assert_eq!(kind(&ask(&w.client(settings()), "a.test").await), FailureKind::Unreachable);
    }
}

#[tokio::test]
async fn a_closed_port_and_an_unknown_host_are_unreachable() {
    let mut w = World::new();
    whois_root(&mut w).await;
    w.closed("whois.nic.test", WHOIS).await;
    assert_eq!(kind(&ask(&w.client(settings()), "a.test").await), FailureKind::Unreachable);
    let w = World::new();
    assert_eq!(kind(&ask(&w.client(settings()), "a.test").await), FailureKind::Unreachable);
}

#[tokio::test]
async fn private_targets_are_refused_unless_allowed() {
    let (w, seen) = whois_only(|_| text(THICK)).await;
    let client = registration::Client::new(settings(), w.dialer(false)).unwrap();
    assert_eq!(kind(&ask(&client, "a.test").await), FailureKind::Blocked);
    assert_eq!(seen.count(), 0);
}

#[tokio::test]
async fn a_referral_loop_ends() {
    let mut w = World::new();
    whois_root(&mut w).await;
    let refer = |to: &str| format!("{}Registrar WHOIS Server: {to}\r\n", THICK.replace(">>>", "%>>>"));
    let (a, b) = (refer("whois.registrar.test"), refer("whois.nic.test"));
    let registry = w.serve("whois.nic.test", WHOIS, move |_| text(&a)).await;
    let registrar = w.serve("whois.registrar.test", WHOIS, move |_| text(&b)).await;
    let r = ask(&w.client(settings()), "a.test").await;
    assert!(r.outcome.is_ok(), "{:?}", r.failures);
    assert_eq!((registry.count(), registrar.count()), (1, 1));
    // A root that refers to itself has nothing to say.
    let mut w = World::new();
    let root = w.serve("whois-root.test", WHOIS, |_| text("refer: whois-root.test\r\n")).await;
    assert_eq!(kind(&ask(&w.client(settings()), "a.test").await), FailureKind::Unreachable);
    assert_eq!(root.count(), 1);
}

#[tokio::test]
async fn a_throttled_host_is_left_alone_as_long_as_it_asked() {
    // Without a word from the host, a minute and up to a quarter more.
    for (header, wait) in [("Retry-After: 120\r\n", 120..=120), ("", 60..=75)] {
        let mut w = World::new();
        bootstrap(&mut w, "http://rdap.nic.test/").await;
        let seen = w.serve("rdap.nic.test", 80, move |_| http(429, "text/plain", header, "slow down")).await;
        let client = w.client(settings());
        let first = ask(&client, "a.test").await.outcome.unwrap_err();
        assert_eq!(first.kind, FailureKind::Throttled);
        assert!(first.retry_after.is_some_and(|d| wait.contains(&d.as_secs())), "{first:?}");
        let second = ask(&client, "b.test").await.outcome.unwrap_err();
        assert_eq!(second.kind, FailureKind::Throttled);
        assert!(
            second
                .retry_after
                .is_some_and(|d| d.as_secs() + 30 > *wait.start() && d.as_secs() <= *wait.end())
        );
        assert_eq!(seen.count(), 1, "asked again although throttled");
    }
}

#[tokio::test]
async fn a_throttling_text_stops_questions_to_that_host_too() {
    let (w, seen) = whois_only(|_| text("% Quota exceeded\r\n")).await;
    let client = w.client(settings());
    for name in ["a.test", "b.test", "c.test"] {
        assert_eq!(kind(&ask(&client, name).await), FailureKind::Throttled);
    }
    assert_eq!(seen.count(), 1);
}

#[tokio::test]
async fn faults_of_rdap_lead_to_whois() {
    let cases: [Fault; 11] = [
        ("hang", |_| Reply::Hang, FailureKind::Timeout),
        ("drip of a header", |_| Reply::DripAfter("HTTP/1.1 200 OK\r\nX: ", "y"), FailureKind::Timeout),
        (
            "chunks without end",
            |_| Reply::DripAfter("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\n{\r\n"),
            FailureKind::Timeout,
        ),
        (
            "packed although no one asked for it",
            |_| http(200, "application/rdap+json", "Content-Encoding: gzip\r\n", "\u{1f}not unpacked"),
            FailureKind::Unparsable,
        ),
        (
            "broken off",
            |_| text("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"obj"),
            FailureKind::Unparsable,
        ),
        ("not JSON", |_| http(200, "application/rdap+json", "", "<html>"), FailureKind::Unparsable),
        ("another name", |_| rdap(&domain("b.test")), FailureKind::Unparsable),
        ("no HTTP", |_| Reply::Text(b"\x00\xff\xfe garbage".to_vec()), FailureKind::Unparsable),
        ("500", |_| http(500, "text/html", "", "oops"), FailureKind::Unreachable),
        ("403", |_| http(403, "text/html", "", "no"), FailureKind::Refused),
        (
            "redirect loop",
            |_| http(302, "text/html", "Location: http://rdap.nic.test/domain/a.test\r\n", ""),
            FailureKind::Unparsable,
        ),
    ];
    for (what, reply, want) in cases {
        let (mut w, _) = whois_only(|_| text(THICK)).await;
        bootstrap(&mut w, "http://rdap.nic.test/").await;
        w.serve("rdap.nic.test", 80, reply).await;
        let r = ask(&w.client(settings()), "a.test").await;
        assert!(matches!(r.outcome, Ok(RegistrationState::Registered(_))), "{what}: {:?}", r.failures);
        assert_eq!(r.failures[0].error.kind, want, "{what}: {:?}", r.failures);
        let state = r.outcome.unwrap();
        let by = &state.registration().unwrap().provenance["created"];
        assert_eq!((by.protocol, by.server.as_str()), (Protocol::Whois, "whois.nic.test"));
    }
}

#[tokio::test]
async fn a_large_rdap_answer_is_cut() {
    let mut w = World::new();
    bootstrap(&mut w, "http://rdap.nic.test/").await;
    w.serve("rdap.nic.test", 80, |_| http(200, "application/rdap+json", "", &"x".repeat(2 << 20))).await;
    assert_eq!(kind(&ask(&w.client(settings()), "a.test").await), FailureKind::TooLarge);
}

#[tokio::test]
async fn registry_then_registrar_by_rdap() {
    let mut w = World::new();
    let boot = bootstrap(&mut w, "http://rdap.nic.test/v1").await;
    let mut registry = domain("a.test");
    registry["links"] = json!([{"rel": "related", "type": "application/rdap+json",
        "href": "http://rdap.registrar.test/domain/a.test"}]);
    // The first answer redirects, as some registries do.
    let seen = w
        .serve("rdap.nic.test", 80, move |q| match q {
            q if q.contains("/v1/domain/a.test ") => http(302, "text/html", "Location: /moved\r\n", ""),
            _ => http(200, "text/plain", "", &registry.to_string()),
        })
        .await;
    let mut own = domain("a.test");
    own["events"][1]["eventDate"] = json!("2030-02-03T04:05:06Z");
    w.serve("rdap.registrar.test", 80, move |_| rdap(&own)).await;
    let client = w.client(settings());
    let r = ask(&client, "a.test").await;
    let state = r.outcome.unwrap();
    let reg = state.registration().unwrap();
    assert_eq!(reg.expires.unwrap().to_string(), "2031-02-03T04:05:06Z");
    assert_eq!(reg.registrar_expires.unwrap().to_string(), "2030-02-03T04:05:06Z");
    assert_eq!(reg.provenance["registrar_expires"].party, Party::Registrar);
    assert_eq!(r.raw.len(), 2);
    assert!(r.failures.is_empty(), "{:?}", r.failures);
    assert_eq!(seen.all()[0], "GET /v1/domain/a.test HTTP/1.1");
    ask(&client, "a.test").await;
    assert_eq!(boot.count(), 1, "the bootstrap is good for a day");
    let tomorrow = "2026-11-21T12:00:01Z".parse().unwrap();
    client.lookup(&model::names::DomainName::trusted("a.test"), tomorrow).await;
    assert_eq!(boot.count(), 2);
}

#[tokio::test]
async fn a_registrar_that_fails_costs_nothing_but_its_own_fields() {
    let mut w = World::new();
    bootstrap(&mut w, "http://rdap.nic.test/").await;
    let mut registry = domain("a.test");
    registry["links"] = json!([{"rel": "related", "href": "http://rdap.registrar.test/domain/a.test"}]);
    w.serve("rdap.nic.test", 80, move |_| rdap(&registry)).await;
    w.serve("rdap.registrar.test", 80, |_| Reply::Hang).await;
    let r = ask(&w.client(settings()), "a.test").await;
    assert!(r.outcome.unwrap().registration().unwrap().expires.is_some());
    assert_eq!((r.failures[0].party, r.failures[0].error.kind), (Party::Registrar, FailureKind::Timeout));
}

#[tokio::test]
async fn a_thin_registry_is_completed_by_the_registrars_whois() {
    let mut w = World::new();
    let root = whois_root(&mut w).await;
    let registry = w
        .serve("whois.nic.test", WHOIS, |_| {
            text("   Domain Name: XN--BCHER-KVA.TEST\r\n   Registrar WHOIS Server: whois.registrar.test\r\n   Registrar: Sample\r\n   Registry Expiry Date: 2031-01-01T00:00:00Z\r\n>>> Last update <<<\r\n")
        })
        .await;
    let registrar = w
        .serve("whois.registrar.test", WHOIS, |_| {
            text("Domain Name: xn--bcher-kva.test\r\nRegistrar WHOIS Server: whois.registrar.test\r\nRegistrar: Sample\r\nRegistrar Registration Expiration Date: 2030-01-01T00:00:00Z\r\nRegistrant Organization: Example Ltd\r\n>>> Last update <<<\r\n")
        })
        .await;
    let client = w.client(settings());
    let r = ask(&client, "xn--bcher-kva.test").await;
    let state = r.outcome.unwrap();
    let reg = state.registration().unwrap();
    assert_eq!(reg.registrar_expires.unwrap().to_string(), "2030-01-01T00:00:00Z");
    assert_eq!(reg.registrant_organization.as_deref(), Some("Example Ltd"));
    assert_eq!(reg.provenance["registrant_organization"].party, Party::Registrar);
    assert_eq!(registry.all(), ["xn--bcher-kva.test"]);
    assert_eq!(registrar.all(), ["xn--bcher-kva.test"]);
    ask(&client, "xn--bcher-kva.test").await;
    assert_eq!(root.count(), 1, "a referral is good for a day");
}

#[tokio::test]
async fn whois_fills_what_rdap_does_not_state() {
    let (mut w, whois) = whois_only(|_| text(THICK)).await;
    bootstrap(&mut w, "http://rdap.nic.test/").await;
    let mut some = domain("a.test");
    some["events"] = json!([{"eventAction": "registration", "eventDate": "2001-02-03T04:05:06Z"}]);
    let whole = domain("b.test");
    w.serve("rdap.nic.test", 80, move |q| rdap(if q.contains("a.test") { &some } else { &whole })).await;
    let client = w.client(settings());
    let state = ask(&client, "a.test").await.outcome.unwrap();
    let reg = state.registration().unwrap();
    assert_eq!(reg.provenance["created"].protocol, Protocol::Rdap);
    assert_eq!(reg.provenance["expires"].protocol, Protocol::Whois);
    assert!(reg.disagreements.is_empty(), "{:?}", reg.disagreements);
    assert!(ask(&client, "b.test").await.outcome.is_ok());
    assert_eq!(whois.count(), 1, "a whole RDAP answer needs no WHOIS");
}

#[tokio::test]
async fn free_and_reserved_names_by_whois() {
    let (w, _) = whois_only(|q| match q {
        "free.test" => text("Domain not found.\r\n"),
        _ => text("This name is reserved by the Registry in accordance with its policy.\r\n"),
    })
    .await;
    let client = w.client(settings());
    assert_eq!(ask(&client, "free.test").await.outcome, Ok(RegistrationState::Available));
    assert_eq!(ask(&client, "held.test").await.outcome, Ok(RegistrationState::Reserved));
}

#[tokio::test]
async fn one_flight_for_many_who_ask_at_once() {
    let mut w = World::new();
    bootstrap(&mut w, "http://rdap.nic.test/").await;
    let body = domain("a.test").to_string();
    let seen = w
        .serve("rdap.nic.test", 80, move |_| {
            let head = format!("HTTP/1.1 200 X\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            Reply::Slow(Duration::from_millis(100), head.into_bytes())
        })
        .await;
    let client = w.client(settings());
    let all = futures::future::join_all((0..20).map(|_| ask(&client, "a.test"))).await;
    assert!(all.iter().all(|r| r.outcome.is_ok()));
    assert_eq!(seen.count(), 1);
    ask(&client, "a.test").await;
    assert_eq!(seen.count(), 2, "a finished flight is not a cache");
}

#[tokio::test]
async fn no_host_sees_more_than_its_budget() {
    let mut w = World::new();
    let root = |q: &str| text(&format!("refer: whois.nic.{q}\r\n"));
    w.serve("whois-root.test", WHOIS, root).await;
    let mut seen = Vec::new();
    for t in ["aa", "bb", "cc", "dd", "ee"] {
        let s = w
            .serve(&format!("whois.nic.{t}"), WHOIS, |_| {
                Reply::Slow(Duration::from_millis(2), b"Domain not found.\r\n".to_vec())
            })
            .await;
        seen.push(s);
    }
    let limit = net::Limit::new(3, Duration::from_millis(1));
    let client = w.client(Settings {
        limit,
        patience: Duration::from_secs(60),
        timeout: Duration::from_secs(60),
        ..settings()
    });
    let start = Instant::now();
    let names: Vec<String> =
        (0..1000).map(|i| format!("n{i}.{}", ["aa", "bb", "cc", "dd", "ee"][i % 5])).collect();
    let all = futures::future::join_all(names.iter().map(|n| ask(&client, n))).await;
    for r in &all {
        assert_eq!(r.outcome, Ok(RegistrationState::Available), "{:?}", r.failures);
    }
    for s in &seen {
        assert_eq!(s.count(), 200);
        assert!(s.most_open.load(Ordering::SeqCst) <= 3, "{}", s.most_open.load(Ordering::SeqCst));
    }
    assert!(start.elapsed() >= Duration::from_millis(199), "faster than one question a millisecond");
}

#[tokio::test]
async fn the_whole_is_bounded() {
    let mut w = World::new();
    w.serve("rdap-root.test", 80, |_| Reply::Hang).await;
    w.serve("whois-root.test", WHOIS, |_| Reply::Hang).await;
    let client = w.client(Settings { timeout: Duration::from_millis(300), ..settings() });
    let start = Instant::now();
    assert_eq!(kind(&ask(&client, "a.test").await), FailureKind::Timeout);
    assert!(start.elapsed() < Duration::from_secs(2));
    let _ = now();
}
