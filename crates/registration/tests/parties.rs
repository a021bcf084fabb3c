//! Who is believed: registry before registrar, RDAP before WHOIS; what differs is kept and shown, with who said it. On
//! loopback, failures of the second party first.

#[allow(dead_code, reason = "the other tests of the client use the rest of it")]
mod world;

use model::registration::{Party, Protocol, Registration, RegistrationState};
use registration::{FailureKind, LookupResult, Settings};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use world::{Reply, Seen, WHOIS, World, ask, bootstrap, http, rdap, settings, text, whois_root};

const REGISTRAR: &str = "http://rdap.registrar.test/domain/a.test";

fn record(name: &str, registrar: &str, created: &str) -> Value {
    json!({
        "objectClassName": "domain", "ldhName": name,
        "links": [{"rel": "related", "type": "application/rdap+json", "href": REGISTRAR}],
        "events": [{"eventAction": "registration", "eventDate": created},
                   {"eventAction": "expiration", "eventDate": "2031-02-03T04:05:06Z"}],
        "nameservers": [{"ldhName": "ns1.registry.test"}], "secureDNS": {"delegationSigned": true},
        "entities": [{"roles": ["registrar"], "vcardArray": ["vcard", [["fn", {}, "text", registrar]]]}],
    })
}

fn registry() -> Value {
    record("a.test", "Sample Registrar", "2001-02-03T04:05:06Z")
}

/// A registry that answers by RDAP, and a registrar that answers so.
async fn with_registrar(reply: impl Fn() -> Reply + Send + Sync + 'static) -> (LookupResult, Arc<Seen>) {
    let mut w = World::new();
    bootstrap(&mut w, "http://rdap.nic.test/").await;
    w.serve("rdap.nic.test", 80, |_| rdap(&registry())).await;
    let seen = w.serve("rdap.registrar.test", 80, move |_| reply()).await;
    (ask(&w.client(settings()), "a.test").await, seen)
}

fn registered(r: &LookupResult) -> &Registration {
    r.outcome.as_ref().ok().and_then(RegistrationState::registration).unwrap_or_else(|| panic!("{r:?}"))
}

/// Failures of the registrar leave the registry's record as it is.
#[tokio::test]
async fn a_registrar_that_is_of_no_use_changes_nothing() {
    type Fault = (&'static str, fn() -> Reply, FailureKind, &'static str);
    let faults: [Fault; 9] = [
        (
            "another name",
            || rdap(&record("b.test", "Wrong", "1999-01-01")),
            FailureKind::Unparsable,
            "b.test",
        ),
        (
            "not known",
            || http(404, "application/rdap+json", "", r#"{"errorCode":404}"#),
            FailureKind::Unparsable,
            "does not know the name",
        ),
        (
            "withheld",
            || http(404, "application/rdap+json", "", r#"{"errorCode":404,"title":"Domain is reserved"}"#),
            FailureKind::Unparsable,
            "does not know the name",
        ),
        (
            "throttled",
            || http(429, "text/plain", "Retry-After: 90\r\n", ""),
            FailureKind::Throttled,
            "1 min 30 s",
        ),
        (
            "throttled, nonsense",
            || http(429, "text/html", "Retry-After: soon\r\n", "<p>"),
            FailureKind::Throttled,
            "asked us to wait",
        ),
        ("forbidden", || http(403, "text/plain", "", "no"), FailureKind::Refused, "403"),
        ("broken", || http(500, "text/html", "", "oops"), FailureKind::Unreachable, "500"),
        (
            "help page",
            || rdap(&json!({"notices": [{"title": "Help"}]})),
            FailureKind::Unparsable,
            "not about a domain",
        ),
        (
            "cut",
            || http(200, "application/rdap+json", "", r#"{"objectClassName":"domain","ldhName":"a.te"#),
            FailureKind::Unparsable,
            "not JSON",
        ),
    ];
    for (what, reply, kind, words) in faults {
        let (r, _) = with_registrar(reply).await;
        let reg = registered(&r);
        assert_eq!(reg.registrar.name.as_deref(), Some("Sample Registrar"), "{what}");
        assert_eq!(reg.created.unwrap().to_string(), "2001-02-03T04:05:06Z", "{what}");
        assert!(reg.disagreements.is_empty() && reg.registrar_expires.is_none(), "{what}: {reg:?}");
        assert!(reg.provenance.values().all(|p| p.party == Party::Registry), "{what}");
        let f = &r.failures[0];
        assert_eq!((f.party, f.error.kind), (Party::Registrar, kind), "{what}: {f:?}");
        assert!(f.error.sentence.contains(words), "{what}: {f:?}");
    }
}

#[tokio::test]
async fn what_registry_and_registrar_state_differently_is_kept_with_who_said_it() {
    let own = || {
        let mut own = record("a.test", "Other Names LLC", "2001-02-05T00:00:00Z");
        own["events"][1]["eventDate"] = json!("2030-02-03T04:05:06Z");
        own["nameservers"] = json!([{"ldhName": "ns1.registrar.test"}]);
        own["secureDNS"] = json!({"delegationSigned": false});
        rdap(&own)
    };
    let (r, _) = with_registrar(own).await;
    let reg = registered(&r);
    let said: Vec<(&str, &str)> =
        reg.disagreements.iter().map(|d| (d.field.as_str(), d.value.as_str())).collect();
    let want = [
        ("registrar", "Other Names LLC"),
        ("created", "2001-02-05T00:00:00Z"),
        ("nameservers", "ns1.registrar.test"),
        ("dnssec", "unsigned"),
    ];
    assert_eq!(said, want);
    for d in &reg.disagreements {
        assert_eq!(
            (d.by.protocol, d.by.party, d.by.server.as_str()),
            (Protocol::Rdap, Party::Registrar, REGISTRAR)
        );
    }
    assert_eq!(reg.registrar.name.as_deref(), Some("Sample Registrar"), "the registry's word is kept");
    assert_eq!(reg.provenance["created"].party, Party::Registry);
    // Two expirations are no disagreement: both are right, each in its own way.
    assert_eq!(reg.expires.unwrap().to_string(), "2031-02-03T04:05:06Z");
    assert_eq!(reg.registrar_expires.unwrap().to_string(), "2030-02-03T04:05:06Z");
    assert_eq!((r.raw.len(), r.failures.len()), (2, 0));
}

#[tokio::test]
async fn only_links_to_another_rdap_server_are_followed() {
    for href in [
        "http://rdap.nic.test/v2/domain/a.test",
        "ftp://rdap.registrar.test/domain/a.test",
        "/domain/a.test",
        "mailto:abuse@registrar.test",
    ] {
        let mut w = World::new();
        bootstrap(&mut w, "http://rdap.nic.test/").await;
        let mut registry = registry();
        registry["links"][0]["href"] = json!(href);
        let seen = w.serve("rdap.nic.test", 80, move |_| rdap(&registry)).await;
        let registrar = w.serve("rdap.registrar.test", 80, |_| rdap(&json!({}))).await;
        let r = ask(&w.client(settings()), "a.test").await;
        assert!(registered(&r).created.is_some() && r.failures.is_empty(), "{href}: {:?}", r.failures);
        assert_eq!((seen.count(), registrar.count()), (1, 0), "{href}");
    }
}

#[tokio::test]
async fn the_registrar_is_left_alone_where_that_is_wished() {
    let mut w = World::new();
    bootstrap(&mut w, "http://rdap.nic.test/").await;
    w.serve("rdap.nic.test", 80, |_| rdap(&registry())).await;
    let registrar = w.serve("rdap.registrar.test", 80, |_| rdap(&registry())).await;
    let client = w.client(Settings { ask_registrar: false, ..settings() });
    assert!(ask(&client, "a.test").await.outcome.is_ok());
    assert_eq!(registrar.count(), 0);
}

/// RDAP of the registry answers so, and its WHOIS so.
async fn both(
    by_rdap: impl Fn() -> Reply + Send + Sync + 'static,
    by_whois: &'static str,
) -> (LookupResult, Arc<Seen>) {
    let mut w = World::new();
    bootstrap(&mut w, "http://rdap.nic.test/").await;
    whois_root(&mut w).await;
    w.serve("rdap.nic.test", 80, move |_| by_rdap()).await;
    let seen = w.serve("whois.nic.test", WHOIS, move |_| text(by_whois)).await;
    (ask(&w.client(settings()), "a.test").await, seen)
}

fn thin() -> Reply {
    rdap(&json!({"objectClassName": "domain", "ldhName": "a.test", "status": ["active"],
        "events": [{"eventAction": "registration", "eventDate": "2001-02-03T04:05:06Z"}]}))
}

#[tokio::test]
async fn whois_beside_rdap_fills_gaps_and_undoes_nothing() {
    for (what, said) in [
        ("free", "No match for A.TEST\r\n"),
        ("withheld", "This name is reserved by the registry.\r\n"),
        ("throttled", "WHOIS LIMIT EXCEEDED\r\n"),
        ("refused", "Access denied\r\n"),
        ("nothing", ""),
    ] {
        let (r, whois) = both(thin, said).await;
        assert_eq!(registered(&r).created.unwrap().to_string(), "2001-02-03T04:05:06Z", "{what}");
        assert_eq!(whois.count(), 1, "{what}");
    }
    let record = "Domain Name: a.test\r\nRegistrar: Sample Registrar\r\nCreation Date: 2002-02-03T04:05:06Z\r\n\
        Registry Expiry Date: 2031-02-03T04:05:06Z\r\nDomain Status: clientHold\r\n";
    let (r, _) = both(thin, record).await;
    let reg = registered(&r);
    assert_eq!(reg.provenance["expires"].protocol, Protocol::Whois);
    assert_eq!(reg.provenance["registrar"].protocol, Protocol::Whois);
    assert_eq!(reg.provenance["statuses"].protocol, Protocol::Rdap);
    let differs: Vec<_> = reg.disagreements.iter().map(|d| (d.field.as_str(), d.by.protocol)).collect();
    assert_eq!(differs, [("created", Protocol::Whois)]);
}

#[tokio::test]
async fn what_the_registry_says_by_rdap_is_not_asked_again_by_whois() {
    let free = || http(404, "application/rdap+json", "", r#"{"errorCode":404}"#);
    let (r, whois) = both(free, "Domain Name: a.test\r\nRegistrar: X\r\nCreation Date: 2002-02-03\r\n").await;
    assert_eq!((r.outcome, whois.count()), (Ok(RegistrationState::Available), 0));
    let (r, whois) =
        both(|| rdap(&json!({"errorCode": 404, "description": ["Reserved name"]})), "No match\r\n").await;
    assert_eq!((r.outcome, whois.count()), (Ok(RegistrationState::Reserved), 0));
}

/// Proxies and wrong paths answer 404 too: without an error object WHOIS must say the same.
#[tokio::test]
async fn a_404_without_a_body_is_confirmed_by_whois() {
    type Bare = fn() -> Reply;
    let bare: [Bare; 3] = [
        || http(404, "application/rdap+json", "", ""),
        || http(404, "text/plain", "", " \r\n"),
        || http(404, "application/rdap+json", "", "{ }"),
    ];
    for reply in bare {
        let (r, whois) = both(reply, "No match for A.TEST\r\n").await;
        assert_eq!((r.outcome, whois.count()), (Ok(RegistrationState::Available), 1), "both agree");
        let held = "Domain Name: a.test\r\nRegistrar: X\r\nCreation Date: 2002-02-03\r\n";
        let (r, _) = both(reply, held).await;
        assert_eq!(registered(&r).provenance["created"].protocol, Protocol::Whois);
        let (r, _) = both(reply, "This name is reserved by the registry.\r\n").await;
        assert_eq!(r.outcome, Ok(RegistrationState::Reserved));
        for (what, said, kind) in [
            ("throttled", "WHOIS LIMIT EXCEEDED\r\n", FailureKind::Throttled),
            ("refused", "Access denied\r\n", FailureKind::Refused),
            ("nothing", "", FailureKind::Unparsable),
        ] {
            let (r, _) = both(reply, said).await;
            let e = r.outcome.expect_err(what);
            let words =
                "the registry's RDAP server answered 404 without a body and WHOIS could not confirm it: ";
            assert!(e.sentence.starts_with(words) && e.kind == kind, "{what}: {e:?}");
        }
    }
}

#[tokio::test]
async fn a_404_without_a_body_is_an_error_where_there_is_no_whois_server() {
    let mut w = World::new();
    bootstrap(&mut w, "http://rdap.nic.test/").await;
    w.serve("whois-root.test", WHOIS, |_| text("% This query returned 0 objects\r\n")).await;
    let rdap = w.serve("rdap.nic.test", 80, |_| http(404, "text/plain", "", "")).await;
    let r = ask(&w.client(settings()), "a.test").await;
    let e = r.outcome.expect_err("nothing confirms it");
    assert!(e.sentence.ends_with("could not confirm it: no WHOIS server is known for .test"), "{e:?}");
    assert_eq!(rdap.count(), 1);
}

#[tokio::test]
async fn a_person_gets_whois_where_rdap_is_tired_and_the_failure_is_told() {
    let tired = || http(429, "text/plain", "Retry-After: 90\r\n", "");
    let (r, _) = both(tired, "Domain Name: a.test\r\nRegistrar: X\r\nCreation Date: 2002-02-03\r\n").await;
    assert_eq!(registered(&r).provenance["created"].protocol, Protocol::Whois);
    assert_eq!(r.failures[0].error.kind, FailureKind::Throttled);
}

#[tokio::test]
async fn a_silent_host_is_not_asked_by_its_second_address_at_the_expense_of_whois() {
    let mut w = World::new();
    let file = r#"{"services":[[["test"],["http://rdap.nic.test/a/","http://rdap.nic.test/b/"]]]}"#;
    w.serve("rdap-root.test", 80, move |_| http(200, "application/json", "", file)).await;
    whois_root(&mut w).await;
    let silent = w.serve("rdap.nic.test", 80, |_| Reply::Hang).await;
    w.serve("whois.nic.test", WHOIS, |_| text("Domain not found.\r\n")).await;
    let r = ask(&w.client(settings()), "a.test").await;
    assert_eq!(r.outcome, Ok(RegistrationState::Available), "{:?}", r.failures);
    assert_eq!(silent.count(), 1, "one wait, and time is left");
}

#[tokio::test]
async fn registrars_that_refer_on_and_on_end() {
    let mut w = World::new();
    whois_root(&mut w).await;
    let hosts = ["whois.nic.test", "whois.r1.test", "whois.r2.test", "whois.r3.test", "whois.r4.test"];
    let mut seen = Vec::new();
    for (n, host) in hosts.iter().enumerate() {
        let next = hosts.get(n + 1).unwrap_or(host);
        let said = format!(
            "Domain Name: a.test\r\nRegistrar: R{n}\r\nCreation Date: 2001-02-03T04:05:06Z\r\n\
            Registrar WHOIS Server: {next}\r\n>>> Last update <<<\r\n"
        );
        seen.push(w.serve(host, WHOIS, move |_| text(&said)).await);
    }
    let r = ask(&w.client(settings()), "a.test").await;
    assert_eq!(registered(&r).registrar.name.as_deref(), Some("R0"));
    let counts: Vec<usize> = seen.iter().map(|s| s.count()).collect();
    assert_eq!(counts, [1, 1, 1, 0, 0]);
}

/// The root of WHOIS by its public name: what it says goes before the shipped table, which stands in for it.
#[tokio::test]
async fn the_shipped_table_stands_in_for_a_root_that_says_nothing() {
    for (what, root, from_table) in [
        ("refers", "refer: whois.elsewhere.test\r\n", false),
        ("knows nothing", "% This query returned 0 objects\r\n", true),
        ("is broken", "", true),
    ] {
        let mut w = World::new();
        w.serve("rdap-root.test", 80, |_| {
            http(200, "application/json", "", r#"{"services":[[["x"],["http://x.test/"]]]}"#)
        })
        .await;
        w.serve("whois.iana.org", 43, move |_| text(root)).await;
        let elsewhere = w.serve("whois.elsewhere.test", 43, |_| text("% nothing found\r\n")).await;
        let shipped = w.serve("whois.nic.at", 43, |_| text("% nothing found\r\n")).await;
        let r = ask(&w.client(Settings { whois_server: None, ..settings() }), "a.at").await;
        assert_eq!(r.outcome, Ok(RegistrationState::Available), "{what}: {:?}", r.failures);
        assert_eq!(
            (shipped.count(), elsewhere.count()),
            (usize::from(from_table), usize::from(!from_table)),
            "{what}"
        );
    }
}

/// The public Internet as the shipped tables know it: IANA's bootstrap can't be fetched in these tests.
fn shipped_tables() -> Settings {
    Settings { whois_server: None, rdap_bootstrap: None, ..settings() }
}

/// The registry of .com answers "not found" about names below uk.com, which another registry runs.
#[tokio::test]
async fn a_second_level_with_a_registry_of_its_own_is_asked_there() {
    let mut w = World::new();
    let root = w.serve("whois.iana.org", 43, |_| text("refer: whois.verisign-grs.com\r\n")).await;
    let com = w.serve("whois.verisign-grs.com", 43, |_| text("No match for domain\r\n")).await;
    let own = w
        .serve("whois.centralnic.net", 43, |_| {
            text("Domain Name: A.UK.COM\r\nRegistrar: Sample Names\r\n>>> Last update <<<\r\n")
        })
        .await;
    let r = ask(&w.client(shipped_tables()), "a.uk.com").await;
    assert_eq!(registered(&r).registrar.name.as_deref(), Some("Sample Names"), "{:?}", r.failures);
    assert_eq!((root.count(), com.count(), own.count()), (0, 0, 1));
    assert_eq!(r.failures, [], "the RDAP server of .com is not asked either");
}

/// A TLD that the table says has no WHOIS server may have one by now: the root is asked when RDAP has not answered.
#[tokio::test]
async fn a_tld_without_a_whois_server_is_looked_up_at_the_root() {
    let mut w = World::new();
    w.serve("whois.iana.org", 43, |_| text("refer: whois.nic.example.test\r\n")).await;
    let new = w.serve("whois.nic.example.test", 43, |_| text("Domain not found.\r\n")).await;
    let r = ask(&w.client(shipped_tables()), "a.info").await;
    assert_eq!(r.outcome, Ok(RegistrationState::Available), "{:?}", r.failures);
    assert_eq!(new.count(), 1);
}

/// The first look-ups of a TLD wait for one question to the root instead of asking each; one place in its queue, not as
/// many as there are names.
#[tokio::test]
async fn many_names_of_one_tld_ask_the_root_once() {
    let mut w = World::new();
    let root = w
        .serve("whois-root.test", WHOIS, |_| {
            Reply::Slow(Duration::from_millis(50), b"refer: whois.nic.test\r\n".to_vec())
        })
        .await;
    let whois = w.serve("whois.nic.test", WHOIS, |_| text("Domain not found.\r\n")).await;
    let agreed = "[[limit]]\nhosts = [\"whois-root.test\"]\nper_minute = 6\n".parse().unwrap();
    let client = w.client(Settings { agreed, patience: Duration::from_millis(900), ..settings() });
    let names: Vec<String> = (0..20).map(|i| format!("n{i}.test")).collect();
    let all = futures::future::join_all(names.iter().map(|n| ask(&client, n))).await;
    for r in &all {
        assert_eq!(r.outcome, Ok(RegistrationState::Available), "{:?}", r.failures);
    }
    assert_eq!((root.count(), whois.count()), (1, 20));
}

/// A root that is silent is waited for once, not once by each who waits behind the first.
#[tokio::test]
async fn who_waited_for_a_root_in_vain_does_not_wait_again() {
    let mut w = World::new();
    let root = w.serve("whois-root.test", WHOIS, |_| Reply::Hang).await;
    let client = w.client(settings());
    let start = Instant::now();
    let names = ["a.test", "b.test", "c.test", "d.test"];
    for r in futures::future::join_all(names.map(|n| ask(&client, n))).await {
        let e = r.outcome.unwrap_err();
        assert_eq!(e.kind, FailureKind::Timeout, "{e:?}");
        assert!(e.sentence.contains("whois-root.test"), "{e:?}");
    }
    assert_eq!(root.count(), 1);
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
}
