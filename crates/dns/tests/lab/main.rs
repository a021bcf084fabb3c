//! The engine in front of the lab's demo Internet: every domain there has a story, and the engine has to tell it.

mod chains;
mod checks;
#[path = "../support/mod.rs"]
mod support;
mod world;

use dns::checks::CheckOptions;
use model::dns::{ProviderKind, ServerHealth, ServerProblem, TraceOutcome};
use model::finding::test_case::SCAN;
use model::finding::{Finding, Level};
use model::latency::{SLOW_ONCE, Spread, merge_latency};
use model::names::Fqdn;
use std::collections::BTreeSet;
use std::time::Duration;
use world::{demo, now, scanned, tags};

#[tokio::test]
async fn q7_io_is_read_as_it_is() {
    let w = demo().await;
    let trace = w.engine.trace(&Fqdn::trusted("q7.io"), "A").await.unwrap();
    assert_eq!(trace.outcome, TraceOutcome::Answer, "{trace:#?}");
    assert_eq!(trace.steps.iter().map(|s| s.zone.as_str()).collect::<Vec<_>>(), [".", "io", "q7.io"]);
    assert_eq!(trace.records[0].data, "192.0.2.7");
    let (d, findings) = scanned(&w, "q7.io", Level::Warning).await;
    assert_eq!(d.server_names(), ["ns1.digitalocean.com", "ns2.digitalocean.com", "ns3.digitalocean.com"]);
    assert!(
        d.servers.iter().all(|s| s.health == ServerHealth::Authoritative && s.tcp == Some(true)),
        "{d:#?}"
    );
    assert_eq!(d.soa.as_ref().map(|s| s.serial), Some(2_026_112_001));
    let provider = d.provider.clone().unwrap();
    assert_eq!((provider.name.as_str(), provider.kind), ("Digital Ocean", ProviderKind::Known));
    assert!(d.negative_soa.is_some());
    assert_eq!(tags(&findings), Vec::<String>::new());
    let zone = w.engine.zone_snapshot("q7.io", &d).await.unwrap();
    assert!(zone.rrsets.iter().any(|s| s.rtype == "NS" && s.data.len() == 3), "{zone:#?}");
    assert_eq!((zone.wildcard, zone.unanswered.len()), (Some(false), 0));
}

#[tokio::test]
async fn what_the_operations_of_a_scan_share_changes_nothing_but_the_number_of_questions() {
    let w = demo().await;
    let domains = w.lab.endpoints().domains.clone();
    let mut compared = 0;
    for domain in domains.iter().filter(|d| !d.starts_with("flapping")) {
        let scan = w.engine.zone_scan(domain).unwrap();
        let Ok((d, _)) = scan.delegation(now()).await else { continue };
        if !d.delegated {
            continue;
        }
        let before = w.lab.query_log();
        let (zone, dnssec) = (scan.zone_snapshot(&d).await.unwrap(), scan.dnssec(now()).await.unwrap());
        let log = w.lab.query_log();
        let is_walk = |q: &lab::Asked| q.zone == "." && q.qname == *domain && q.qtype == "SOA";
        let mut walked = log.per_question.iter().filter(|(q, _)| is_walk(q));
        assert!(
            walked.all(|(q, n)| before.per_question.get(q) == Some(n)),
            "{domain}: the way down is known"
        );
        assert_eq!(zone, w.engine.zone_snapshot(domain, &d).await.unwrap(), "{domain}");
        assert_eq!(dnssec, w.engine.dnssec(domain, now()).await.unwrap(), "{domain}");
        compared += 1;
    }
    assert!(compared > 10, "{compared}");
}

#[tokio::test]
async fn a_zone_on_the_servers_of_its_parent_is_found() {
    let w = demo().await;
    let d = w.engine.delegation("dev.alder.example").await.unwrap();
    assert_eq!((d.parent.as_str(), d.delegated), ("alder.example", true), "{d:#?}");
    assert!(d.any_authoritative());
    let below = w.engine.delegation("nothing.q7.io").await.unwrap();
    assert_eq!((below.parent.as_str(), below.delegated), ("q7.io", false), "{below:#?}");
    assert_eq!(below.negative_soa.map(|s| s.zone).as_deref(), Some("q7.io"));
}

#[tokio::test]
async fn each_story_has_its_finding() {
    let w = demo().await;
    for (domain, expected) in [
        ("lighthouse.example", vec!["CN01_NO_RESPONSE_UDP"]),
        ("ghost-ship.example", vec!["B02_NO_WORKING_NS", "B02_NS_NO_RESPONSE"]),
        ("halcyon.example", vec!["EXTRA_NAME_PARENT"]),
        ("lame-duck.example", vec!["CN01_UNEXPECTED_RCODE_SOA_QUERY_UDP"]),
        ("upstream.example", vec!["IS_NOT_AUTHORITATIVE"]),
        ("echo-valley.example", vec!["IS_NOT_AUTHORITATIVE"]),
        ("stale-bread.example", vec!["MULTIPLE_SOA_SERIALS"]),
        ("alias-street.example", vec!["NS_IS_CNAME"]),
        ("vanishing.example", vec!["CAN_NOT_BE_RESOLVED"]),
        ("attic.example", vec!["IN_BAILIWICK_ADDR_MISMATCH", "EXTRA_ADDRESS_CHILD"]),
        ("one-way.example", vec!["CN02_NO_RESPONSE_TCP"]),
        ("babel.example", vec!["CN01_NO_RESPONSE_UDP"]),
        ("humble.example", vec!["IS_NOT_AUTHORITATIVE"]),
        ("alder.example", vec!["SLOW_UNICAST_DNS"]),
        ("vacant-lot.example", vec!["B02_NO_DELEGATION"]),
    ] {
        let (d, findings) = scanned(&w, domain, Level::Notice).await;
        let found = tags(&findings);
        for tag in expected {
            assert!(found.contains(&tag.to_string()), "{domain}: no {tag} in {found:?}\n{d:#?}");
        }
    }
    for domain in ["copperline.example", "juniper-lab.example", "narrow-gate.example", "sealed.example"] {
        let (_, findings) = scanned(&w, domain, Level::Warning).await;
        assert_eq!(tags(&findings), Vec::<String>::new(), "{domain}");
    }
}

#[tokio::test]
async fn a_scan_and_a_full_check_find_the_same_in_the_cases_they_share() {
    let w = demo().await;
    for domain in w.lab.endpoints().domains.clone() {
        let key = |f: &Finding| (f.test_case.clone(), f.tag.clone(), f.level, f.message.clone());
        // The speed over many answers is judged by the full check alone, and over one answer by the scan alone.
        let shared = |f: &&Finding| {
            f.level >= Level::Notice
                && SCAN.contains(&f.test_case.as_str())
                && !f.tag.starts_with("LEGACY_DNS_")
                && f.tag != SLOW_ONCE
        };
        let set = |all: &[Finding]| all.iter().filter(shared).map(key).collect::<BTreeSet<_>>();
        // On a machine that is busy an answer comes too late now and then, which one of the two then says.
        for left in (0..3).rev() {
            let (_, scan) = scanned(&w, &domain, Level::Notice).await;
            let report = w.engine.check(&domain, &CheckOptions::new(now())).await.unwrap();
            if left > 0 && set(&scan) != set(&report.findings) {
                continue;
            }
            assert_eq!(set(&scan), set(&report.findings), "{domain}");
            break;
        }
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_server_is_told_as_a_fact() {
    let w = demo().await;
    let problems = async |domain: &str| -> Vec<ServerProblem> {
        let d = w.engine.delegation(domain).await.unwrap();
        d.servers.iter().flat_map(|s| s.problems.clone()).collect()
    };
    let attic = problems("attic.example").await;
    assert!(attic.contains(&ServerProblem::GlueOnly), "{attic:?}");
    assert!(attic.contains(&ServerProblem::GlueMissing), "{attic:?}");
    let alias = problems("alias-street.example").await;
    assert!(alias.iter().any(|p| matches!(p, ServerProblem::Alias { .. })), "{alias:?}");
    let chicken = problems("chicken.example").await;
    assert!(chicken.contains(&ServerProblem::NoAddress { cyclic: true, unanswered: false }), "{chicken:?}");
    let gone = problems("vanishing.example").await;
    assert!(gone.contains(&ServerProblem::NoAddress { cyclic: false, unanswered: false }), "{gone:?}");
    assert_eq!(problems("q7.io").await, Vec::new());
}

#[tokio::test]
async fn chicken_and_egg_end() {
    let w = demo().await;
    let trace = w.engine.trace(&Fqdn::trusted("www.chicken.example"), "A").await.unwrap();
    assert_eq!(trace.outcome, TraceOutcome::Loop, "{trace:#?}");
    let d = w.engine.delegation("chicken.example").await.unwrap();
    assert!(d.servers.iter().all(|s| s.health == ServerHealth::Unresolvable), "{d:#?}");
    assert!(d.all_silent() && !d.any_authoritative());
    let loops = w.engine.resolve(&Fqdn::trusted("loop.labyrinth.example"), "A").await;
    assert!(loops.is_err(), "{loops:?}");
}

#[tokio::test]
async fn servers_of_the_chain_have_their_place_in_the_network() {
    let w = demo().await;
    let mut d = w.engine.delegation("q7.io").await.unwrap();
    let networks = w.engine.network(&d).await;
    d.latency.stamp(now(), &networks);
    let zones: Vec<&str> = d.latency.servers.iter().map(|s| s.zone.as_str()).collect();
    assert!(zones.contains(&"io") && zones.contains(&"q7.io"), "{:#?}", d.latency);
    assert!(d.latency.servers.iter().all(|s| s.ms.len() == 1 && s.stats().is_some()), "{:#?}", d.latency);
    for s in d.latency.servers.iter().filter(|s| s.zone == "q7.io") {
        let network = s.network.as_ref().expect("the lab knows its providers' networks");
        assert_eq!(network.asns, [65545], "{s:#?}");
        assert!(network.prefix.as_ref().is_some_and(|p| p.starts_with("127.64.")), "{s:#?}");
        assert_eq!(s.ids.len(), 1, "NSID or hostname.bind: {s:#?}");
    }
    assert_eq!(d.latency.spread("q7.io"), Spread::OneSystem { asn: 65545 });
    // The second time nothing is asked.
    let asked = |what: &str| w.lab.query_log().asked(what, "TXT");
    let before = asked("hostname.bind");
    assert_eq!(w.engine.network(&d).await, networks);
    assert_eq!(asked("hostname.bind"), before);
}

#[tokio::test]
async fn one_look_is_not_enough_and_many_slow_ones_are_a_finding() {
    let w = demo().await;
    let mut d = w.engine.delegation("q7.io").await.unwrap();
    let networks = w.engine.network(&d).await;
    d.latency.stamp(now(), &networks);
    let mut all = d.latency.clone();
    assert_eq!(all.findings("q7.io"), Vec::new());
    for hour in 1..24 {
        let mut look = d.latency.clone();
        look.looks = vec![now() + Duration::from_secs(hour * 3600)];
        for s in look.servers.iter_mut().filter(|s| s.zone == "q7.io") {
            s.ms = vec![Some(180.0 + hour as f32)];
        }
        all = merge_latency(Some(&all), look);
    }
    let found = all.findings("q7.io");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].message.contains("24 samples") && found[0].message.contains("AS65545"), "{found:#?}");
}

#[tokio::test]
async fn hosts_are_found_with_few_questions_the_second_time() {
    let w = demo().await;
    let found = w.engine.lookup(&Fqdn::trusted("ns1.digitalocean.com")).await.unwrap();
    assert_eq!(found, [std::net::IpAddr::V4(w.lab.address_of("ns1.digitalocean.com").unwrap())]);
    let before = w.lab.query_log().of_server("a.root.lab") + w.lab.query_log().of_server("b.root.lab");
    w.engine.lookup(&Fqdn::trusted("ns2.digitalocean.com")).await.unwrap();
    let after = w.lab.query_log().of_server("a.root.lab") + w.lab.query_log().of_server("b.root.lab");
    assert_eq!(before, after, "the way from the root is remembered");
    let error = w.engine.lookup(&Fqdn::trusted("nobody.vacant-lot.example")).await.unwrap_err();
    assert_eq!(error.label(), "no_server", "{error}");
}
