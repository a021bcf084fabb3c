//! When our own network is at fault: port 53 intercepted, or IPv6 that leads nowhere. No one's zone is blamed for it.

mod fake;

use dns::checks::CheckOptions;
use fake::{Fault, Script, Server, faulty, server, world};
use hickory_proto::op::{Message, ResponseCode};
use model::dns::{ServerHealth, TraceOutcome};
use model::names::Fqdn;

const ROOT: (&str, &str) = (
    "",
    "@ 60 SOA a.root.example. host.example. 1 2 3 4 5
     @ 60 NS a.root.example.
     test. 60 NS ns1.test.
     ns1.test. 60 A 192.0.2.11
     ns1.test. 60 AAAA 2001:db8::11",
);
const TLD: (&str, &str) = (
    "test",
    "@ 60 SOA ns1.test. host.test. 7 2 3 4 5
     @ 60 NS ns1.test.
     ns1 60 A 192.0.2.11
     ns1 60 AAAA 2001:db8::11
     www 60 A 198.51.100.1",
);
const V4_ROOTS: [&str; 3] = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
const V6_ROOTS: [&str; 3] = ["2001:db8::1", "2001:db8::2", "2001:db8::3"];

/// Answers as a resolver that knows nothing: a denial without authority.
fn resolver(_: &Message, mut right: Message) -> Option<Message> {
    right.answers.clear();
    right.authorities.clear();
    right.additionals.clear();
    right.metadata.authoritative = false;
    right.metadata.recursion_available = true;
    right.metadata.response_code = ResponseCode::NXDomain;
    Some(right)
}

fn www() -> Fqdn {
    Fqdn::trusted("www.test")
}

#[tokio::test]
async fn an_intercepted_port_is_named_and_no_zone_is_judged() {
    let roots = V4_ROOTS.map(|a| faulty(a, &[ROOT], Fault::Script(Script(resolver))));
    let w = world(&V4_ROOTS, roots.into()).await;
    let engine = w.engine();
    let trace = engine.trace(&www(), "A").await.unwrap();
    assert_eq!(trace.outcome, TraceOutcome::Lame);
    assert!(
        trace.steps[0].notes.iter().any(|n| n.starts_with("port 53 is intercepted: all 3")),
        "{trace:#?}"
    );
    let now = jiff::Timestamp::now();
    let zone = "www.test";
    let failures = [
        engine.delegation(zone).await.map(drop).unwrap_err(),
        engine.check(zone, &CheckOptions::new(now)).await.map(drop).unwrap_err(),
        engine.resolve(&www(), "A").await.map(drop).unwrap_err(),
        engine.chain(&www(), &dns::ChainQuestion::of("A")).await.map(drop).unwrap_err(),
    ];
    for failure in failures {
        assert_eq!(failure, dns::Error::Intercepted { servers: 3 });
        assert_eq!(failure.label(), dns::OWN_NETWORK);
    }
    let dnssec = engine.dnssec(zone, now).await.unwrap();
    assert_eq!(dnssec.status, model::dns::DnssecStatus::Indeterminate, "{dnssec:?}");
}

#[tokio::test]
async fn a_root_that_is_silent_is_no_verdict_on_a_zone() {
    let w = world(&V4_ROOTS, V4_ROOTS.map(|a| faulty(a, &[ROOT], Fault::Drop)).into()).await;
    let failure = w.engine().check("test", &CheckOptions::new(jiff::Timestamp::now())).await.unwrap_err();
    assert!(failure.to_string().contains("is port 53 blocked on the way?"), "{failure}");
}

#[tokio::test]
async fn silence_is_ours_where_the_root_is_silent_too_and_the_zones_where_it_is_not() {
    let now = [(Fault::Drop, Fault::Drop, dns::OWN_NETWORK), (Fault::None, Fault::Drop, "unreachable")];
    for (root, tld, label) in now {
        let mut servers: Vec<Server> = V4_ROOTS.iter().map(|a| faulty(a, &[ROOT], root)).collect();
        servers.push(faulty("192.0.2.11", &[TLD], tld));
        let w = world(&V4_ROOTS, servers).await;
        let failure = w.engine().delegation("www.test").await.map(drop).unwrap_err();
        assert_eq!(failure.label(), label, "{failure}");
    }
}

#[tokio::test]
async fn silence_says_nothing_of_our_network_where_no_time_was_left_to_answer() {
    let mut servers: Vec<Server> = V4_ROOTS.iter().map(|a| faulty(a, &[ROOT], Fault::Drop)).collect();
    servers.push(faulty("192.0.2.11", &[TLD], Fault::Drop));
    let w = world(&V4_ROOTS, servers).await;
    let hurried = dns::Settings { budget: w.settings().timeout / 2, ..w.settings() };
    let failure = dns::Engine::new(hurried).delegation("www.test").await.map(drop).unwrap_err();
    assert_ne!(failure.label(), dns::OWN_NETWORK, "{failure}");
}

/// A world whose root servers have both families; those of IPv6 have this fault.
async fn two_families(fault: Fault, tld_v6: Fault) -> fake::World {
    let mut servers: Vec<Server> = V4_ROOTS.iter().map(|a| server(a, &[ROOT])).collect();
    servers.extend(V6_ROOTS.iter().map(|a| faulty(a, &[ROOT], fault)));
    servers.push(server("192.0.2.11", &[TLD]));
    servers.push(faulty("2001:db8::11", &[TLD], tld_v6));
    let roots: Vec<&str> = V4_ROOTS.iter().chain(&V6_ROOTS).copied().collect();
    world(&roots, servers).await
}

#[tokio::test]
async fn where_ipv6_leads_nowhere_its_servers_are_not_called_dead() {
    let w = two_families(Fault::Drop, Fault::Drop).await;
    let delegation = w.engine().delegation("test").await.unwrap();
    let health = |v6: bool| {
        let of = |s: &&model::dns::ServerState| s.address.is_some_and(|a| a.is_ipv6() == v6);
        delegation.servers.iter().find(of).map(|s| s.health)
    };
    assert_eq!(
        (health(false), health(true)),
        (Some(ServerHealth::Authoritative), Some(ServerHealth::NotAsked))
    );
    let trace = w.engine().trace(&www(), "A").await.unwrap();
    assert_eq!(trace.outcome, TraceOutcome::Answer);
    assert!(
        trace.notes.iter().any(|n| n.contains("IPv6 leads nowhere from this machine")),
        "{:?}",
        trace.notes
    );
    let report = w.engine().check("test", &CheckOptions::new(jiff::Timestamp::now())).await.unwrap();
    let blamed: Vec<_> = report
        .findings
        .iter()
        .filter(|f| {
            f.args.values().any(|v| v.to_string().contains("2001:db8::11")) && f.tag.contains("NO_RESPONSE")
        })
        .collect();
    assert!(blamed.is_empty(), "{blamed:#?}");
    assert!(report.notes.iter().any(|n| n.contains("IPv6 leads nowhere")), "{:?}", report.notes);
}

#[tokio::test]
async fn one_server_that_answers_over_ipv6_shows_that_it_works() {
    let w = two_families(Fault::None, Fault::Drop).await;
    let delegation = w.engine().delegation("test").await.unwrap();
    let dead = delegation.servers.iter().find(|s| s.address.is_some_and(|a| a.is_ipv6())).unwrap();
    assert_eq!(dead.health, ServerHealth::Dead, "{dead:?}");
}
