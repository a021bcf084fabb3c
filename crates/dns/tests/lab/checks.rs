//! Checks of a whole zone.

use crate::world::{demo, now, start};
use dns::checks::CheckOptions;
use lab::Scenario;

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
