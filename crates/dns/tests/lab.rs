//! The engine in front of the lab's demo Internet: every domain there has a story, and the engine has to tell it.

use dns::checks::{CheckOptions, chain_of_trust};
use dns::{Engine, RootHints, Settings, TrustAnchors};
use jiff::Timestamp;
use lab::{Lab, Options, Scenario};
use model::dns::{
    Delegation, DenialProof, DnssecStatus, ProviderKind, ServerHealth, ServerProblem, TraceOutcome,
};
use model::finding::test_case::SCAN;
use model::finding::{Finding, Level};
use model::latency::{SLOW_ONCE, Spread, merge_latency};
use model::names::Fqdn;
use std::collections::BTreeSet;
use std::time::Duration;
use tempfile::TempDir;

const NOW: &str = "2026-11-20T12:00:00Z";

struct World {
    lab: Lab,
    engine: Engine,
    _dir: TempDir,
}

async fn demo() -> World {
    start(Scenario::named("demo").unwrap()).await
}

async fn start(scenario: Scenario) -> World {
    let dir = TempDir::new().unwrap();
    let options = Options::new(scenario, dir.path(), NOW.parse().unwrap());
    let lab = Lab::start(options).await.unwrap();
    let at = lab.endpoints();
    let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
    let settings = Settings {
        root_hints: RootHints::parse(&read(&at.root_hints)).unwrap(),
        trust_anchors: TrustAnchors::parse(&read(&at.trust_anchor)).unwrap(),
        port: at.dns_port,
        asn_zone: at.asn_zone.clone(),
        allow_private: true,
        address_map: at.address_map.as_ref().map(|p| dns::AddressMap::read(p).unwrap()).unwrap_or_default(),
        timeout: Duration::from_millis(1500),
        ..Settings::default()
    };
    World { engine: Engine::new(settings), lab, _dir: dir }
}

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

/// What a scan finds from `least` up: its checks and what the chain of trust shows.
async fn scanned(w: &World, domain: &str, least: Level) -> (Delegation, Vec<Finding>) {
    let scan = w.engine.zone_scan(domain).unwrap();
    let (d, mut findings) = scan.delegation(now()).await.unwrap();
    if d.delegated {
        findings.extend(chain_of_trust(domain, &scan.dnssec(now()).await.unwrap(), now()));
    }
    findings.retain(|f| f.level >= least);
    (d, findings)
}

fn tags(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|f| f.tag.clone()).collect()
}

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
async fn chains_are_judged_as_they_were_made() {
    use DnssecStatus::{Bogus, Insecure, Secure};
    let w = demo().await;
    for (domain, status) in [
        ("sealed.example", Secure),
        ("vantage.example", Secure),
        ("alder.example", Secure),
        ("kestrel-demo.com", Secure),
        ("dev.alder.example", Secure),
        ("copperworks-demo.de", Secure),
        ("half-life.example", Secure),
        ("q7.io", Insecure),
        ("lumen.example", Insecure),
        ("unsealed.example", Insecure),
        ("harbour.test", Insecure),
        ("halcyon-demo.com", Insecure),
        ("forged.example", Bogus),
        ("sour-milk.example", Bogus),
        ("wrong-key.example", Bogus),
    ] {
        let told = w.engine.dnssec(domain, now()).await.unwrap();
        assert_eq!(told.status, status, "{domain}: {}", told.reason);
        assert_eq!(
            told.status == Insecure && domain != "unsealed.example",
            told.key_tags.is_empty(),
            "{domain}"
        );
    }
    let before = now() - jiff::SignedDuration::from_hours(400 * 24);
    let told = w.engine.dnssec("sealed.example", before).await.unwrap();
    assert_eq!(told.status, Bogus, "{}", told.reason);
    assert!(told.reason.contains("valid only from"), "a clock that is slow: {}", told.reason);
    let told = w.engine.dnssec("half-life.example", now()).await.unwrap();
    let left = told.signatures_expire.unwrap().duration_since(now());
    assert!(left.as_hours() < 72, "{left:?}");
    let later = now() + Duration::from_secs(40 * 86_400);
    let told = w.engine.dnssec("half-life.example", later).await.unwrap();
    assert_eq!(told.status, Bogus, "{}", told.reason);
    assert!(told.reason.contains("expired"), "{}", told.reason);
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_said_to_be_missing_and_one_without_a_zone_to_have_none() {
    use DnssecStatus::{Indeterminate, Insecure};
    let w = demo().await;
    for (name, status, words) in [
        ("no-such-name.example", Indeterminate, "does not exist: example proves it"),
        ("nothing.alder.example", Indeterminate, "does not exist: alder.example proves it"),
        ("a.b.nothing.sealed.example", Indeterminate, "does not exist: sealed.example proves it"),
        ("no-such-tld-at-all", Indeterminate, "does not exist: . proves it"),
        ("api.dev.alder.example", Indeterminate, "no zone of its own: its records are in dev.alder.example"),
        (
            "gateway.dev.alder.example",
            Indeterminate,
            "no zone of its own: its records are in dev.alder.example",
        ),
        ("nothing.q7.io", Insecure, "io proves that q7.io, above nothing.q7.io, has no DS record"),
    ] {
        let told = w.engine.dnssec(name, now()).await.unwrap();
        assert_eq!(told.status, status, "{name}: {}", told.reason);
        assert!(told.reason.contains(words), "{name}: {}", told.reason);
    }
}

#[tokio::test]
async fn an_unsigned_zone_on_the_servers_of_its_signed_parent_is_no_forgery() {
    use DnssecStatus::{Insecure, Secure};
    let zone = |name: &str, dnssec: &str| {
        format!(
            "\n[[zone]]\nname = \"{name}\"\nprovider = \"one\"\ndnssec = \"{dnssec}\"\nrecords = [\"@ 300 A 192.0.2.9\"]\n"
        )
    };
    let small = include_str!("../../lab/scenarios/small.toml").to_string();
    let more = zone("open.signed.example", "none")
        + &zone("deep.open.signed.example", "none")
        + &zone("shut.signed.example", "nsec")
        + &zone("deep.shut.signed.example", "nsec");
    let w = start(Scenario::parse(&(small + &more), "hidden").unwrap()).await;
    for (name, status) in [
        ("signed.example", Secure),
        ("shut.signed.example", Secure),
        ("deep.shut.signed.example", Secure),
        ("open.signed.example", Insecure),
        ("deep.open.signed.example", Insecure),
    ] {
        let told = w.engine.dnssec(name, now()).await.unwrap();
        assert_eq!(told.status, status, "{name}: {}", told.reason);
    }
}

#[tokio::test]
async fn signed_zones_prove_what_is_not_there() {
    let w = demo().await;
    // NSEC and NSEC3, and a zone without signatures.
    for (domain, proof) in [
        ("sealed.example", Some(DenialProof::Holds)),
        ("vantage.example", Some(DenialProof::Holds)),
        ("alder.example", Some(DenialProof::Holds)),
        ("kestrel-demo.com", Some(DenialProof::Holds)),
        ("q7.io", None),
    ] {
        let told = w.engine.dnssec(domain, now()).await.unwrap();
        assert_eq!(told.denial, proof, "{domain}: {}", told.reason);
    }
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
async fn the_checks_run_on_a_whole_zone_and_ask_nothing_twice() {
    let w = demo().await;
    let report = w.engine.check("sealed.example", &CheckOptions::new(now())).await.unwrap();
    let has = |tag: &str| report.findings.iter().any(|f| f.tag == tag);
    assert!(has("B01_CHILD_FOUND") && has("B02_AUTH_RESPONSE_SOA") && has("DS07_SIGNED"), "{report:#?}");
    assert!(has("DS10_HAS_NSEC3"), "{report:#?}");
    assert!(report.findings.iter().all(|f| !f.message.is_empty() && !f.message.contains('{')), "{report:#?}");
    let asked = w.lab.query_log().asked("sealed.example", "DNSKEY");
    assert!(asked <= 7, "three servers, plain and truncated, and one for the chain of trust: {asked}");
    let report = w.engine.check("vacant-lot.example", &CheckOptions::new(now())).await.unwrap();
    assert!(report.findings.iter().any(|f| f.tag == "B01_NO_CHILD"), "{report:#?}");
    assert!(report.test_cases.iter().all(|t| t.starts_with("Basic")));
    assert!(report.findings.iter().any(|f| f.tag == "B02_NO_DELEGATION" && f.is_urgent()), "{report:#?}");
}

#[tokio::test]
async fn a_check_judges_the_chain_of_trust_where_the_parent_gives_no_glue() {
    let mut scenario = Scenario::named("demo").unwrap();
    // Its servers are named under another top-level domain.
    let domain = scenario.domain.iter_mut().find(|d| d.name == "q7.io").unwrap();
    domain.dnssec = lab::Signing::Bogus;
    let w = start(scenario).await;
    let report = w.engine.check("q7.io", &CheckOptions::new(now())).await.unwrap();
    assert!(report.findings.iter().any(|f| f.tag == "DNSSEC_BOGUS"), "{report:#?}");
}

#[tokio::test]
async fn a_host_that_is_no_zone_is_not_an_error_and_its_zone_is_named() {
    let w = demo().await;
    let report = w.engine.check("www.q7.io", &CheckOptions::new(now())).await.unwrap();
    assert!(report.findings.iter().all(|f| !f.is_urgent()), "{report:#?}");
    let told = report.findings.iter().find(|f| f.tag == "NOT_A_ZONE").expect("the tag");
    assert_eq!(told.args["enclosing"], "q7.io");
    let verdict =
        model::verdict::CheckVerdict::of("www.q7.io", &report.findings, report.test_cases.len(), false);
    assert_eq!(verdict.title, "www.q7.io is not a zone of its own; its zone is q7.io");
    // One test case alone keeps Zonemaster's tag and level.
    let only = CheckOptions { test_cases: Some(vec!["Basic02".into()]), ..CheckOptions::new(now()) };
    let report = w.engine.check("www.q7.io", &only).await.unwrap();
    assert!(report.findings.iter().any(|f| f.tag == "B02_NO_DELEGATION" && f.is_urgent()), "{report:#?}");
}

#[tokio::test]
async fn a_whole_check_finds_out_once_that_a_server_is_dead() {
    let w = demo().await;
    let report = w.engine.check("lighthouse.example", &CheckOptions::new(now())).await.unwrap();
    assert!(report.test_cases.len() > 50, "{report:#?}");
    for tag in ["CN01_NO_RESPONSE_UDP", "CN02_NO_RESPONSE_TCP"] {
        assert!(report.findings.iter().any(|f| f.tag == tag), "{tag}: {report:#?}");
    }
    let knocks = w.lab.query_log().of_server("ns1.lighthouse.example");
    assert!(
        (1..=9).contains(&knocks),
        "SOA and NS by three datagrams and one connection each, one for the source: {knocks}"
    );
}

#[tokio::test]
async fn servers_are_checked_before_the_parent_points_there() {
    let w = demo().await;
    let ip = |host: &str| w.lab.address_of(host).map(std::net::IpAddr::V4);
    let mut options = CheckOptions::new(now());
    options.test_cases = Some(vec!["basic02".into(), "delegation01".into()]);
    // The right servers, then servers of someone else.
    options.undelegated_ns = vec![
        ("ns1.digitalocean.com".into(), ip("ns1.digitalocean.com")),
        ("ns2.digitalocean.com".into(), ip("ns2.digitalocean.com")),
    ];
    let report = w.engine.check("q7.io", &options).await.unwrap();
    assert!(report.findings.iter().any(|f| f.tag == "B02_AUTH_RESPONSE_SOA"), "{report:#?}");
    options.undelegated_ns = vec![("ns1.quarry-dns.example".into(), ip("ns1.quarry-dns.example"))];
    let report = w.engine.check("q7.io", &options).await.unwrap();
    assert!(report.findings.iter().any(|f| f.tag == "B02_NO_WORKING_NS"), "{report:#?}");
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
