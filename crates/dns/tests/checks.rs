//! The test cases against tiny servers with one fault each: the tag comes when the fault is there, and not otherwise.

mod fake;

use dns::checks::{CheckOptions, CheckReport};
use fake::{Fault, faulty, server, world};
use std::collections::BTreeSet;

const ROOT: (&str, &str) = (
    "",
    "@ 60 SOA a.root.example. host.example. 1 2 3 4 5
     @ 60 NS a.root.example.
     a.root.example. 60 A 192.0.2.1
     test. 60 NS ns.test.
     ns.test. 60 A 192.0.2.2",
);
const TLD: (&str, &str) = (
    "test",
    "@ 60 SOA ns.test. host.test. 7 2 3 4 5
     @ 60 NS ns.test.
     ns 60 A 192.0.2.2
     zone 60 NS ns1.zone.test.
     zone 60 NS ns2.zone.test.
     ns1.zone 60 A 192.0.2.11
     ns2.zone 60 A 192.0.2.12",
);
const ZONE: &str = "@ 3600 SOA ns1.zone.test. host.zone.test. 7 14400 3600 604800 300
     @ 3600 NS ns1.zone.test.
     @ 3600 NS ns2.zone.test.
     @ 3600 A 192.0.2.80
     @ 3600 MX 10 mail.zone.test.
     @ 3600 TXT \"v=spf1 mx -all\"
     mail 3600 A 192.0.2.25
     ns1 3600 A 192.0.2.11
     ns2 3600 A 192.0.2.12";

/// Checks `zone.test`, served by two servers with these contents, the second with a fault.
async fn check(first: &'static str, second: &'static str, fault: Fault, cases: &[&str]) -> CheckReport {
    let w = world(
        &["192.0.2.1"],
        vec![
            server("192.0.2.1", &[ROOT]),
            server("192.0.2.2", &[TLD]),
            server("192.0.2.11", &[("zone.test", first)]),
            faulty("192.0.2.12", &[("zone.test", second)], fault),
        ],
    )
    .await;
    let mut options = CheckOptions::new(jiff::Timestamp::UNIX_EPOCH);
    if !cases.is_empty() {
        options.test_cases = Some(cases.iter().map(|c| (*c).to_string()).collect());
    }
    w.engine().check("zone.test", &options).await.unwrap()
}

fn tags(report: &CheckReport) -> BTreeSet<&str> {
    report.findings.iter().map(|f| f.tag.as_str()).collect()
}

#[tokio::test]
async fn a_good_zone_passes_everything() {
    let report = check(ZONE, ZONE, Fault::None, &[]).await;
    let listed: Vec<String> =
        report.findings.iter().map(|f| format!("{} {} {}", f.test_case, f.level.as_str(), f.tag)).collect();
    insta::assert_snapshot!("good_zone", listed.join("\n"));
    assert!(report.findings.iter().all(|f| !f.message.contains(['{', '}'])), "{report:#?}");
    assert_eq!(report.test_cases.len(), dns::checks::test_cases().len());
}

#[tokio::test]
async fn faults_of_a_server_have_their_tags() {
    for (fault, case, tag) in [
        (Fault::Drop, "connectivity01", "CN01_NO_RESPONSE_UDP"),
        (Fault::Drop, "connectivity02", "CN02_NO_RESPONSE_TCP"),
        (Fault::DropUdp, "connectivity01", "CN01_NO_RESPONSE_UDP"),
        (Fault::Refused, "connectivity01", "CN01_UNEXPECTED_RCODE_SOA_QUERY_UDP"),
        (Fault::Upward, "connectivity01", "CN01_MISSING_SOA_RECORD_UDP"),
        (Fault::NoAuthority, "connectivity01", "CN01_SOA_RECORD_NOT_AA_UDP"),
        (Fault::NoAuthority, "delegation04", "IS_NOT_AUTHORITATIVE"),
        (Fault::Upward, "delegation06", "SOA_NOT_EXISTS"),
        (Fault::Upward, "nameserver07", "UPWARD_REFERRAL"),
        (Fault::SelfReferral, "nameserver07", "UPWARD_REFERRAL"),
        (Fault::FormErrOnEdns, "nameserver02", "NO_EDNS_SUPPORT"),
        (Fault::DropEdns, "nameserver02", "BREAKS_ON_EDNS"),
        (Fault::FormErrOnEdns, "nameserver12", "NO_EDNS_SUPPORT"),
        (Fault::FoldCase, "nameserver08", "QNAME_CASE_INSENSITIVE"),
        (Fault::Drop, "nameserver14", "NO_RESPONSE"),
        (Fault::FormErrOnEdns, "nameserver14", "NO_EDNS_SUPPORT"),
        (Fault::SelfReferral, "delegation06", "SOA_NOT_EXISTS"),
        (Fault::WrongId, "connectivity01", "CN01_NO_RESPONSE_UDP"),
        (Fault::Refused, "nameserver05", "A_UNEXPECTED_RCODE"),
        (Fault::Drop, "consistency01", "NO_RESPONSE"),
        (Fault::Drop, "zone10", "NO_RESPONSE"),
    ] {
        let report = check(ZONE, ZONE, fault, &[case]).await;
        assert!(tags(&report).contains(tag), "{fault:?} {case}: {:?}", tags(&report));
        let good = check(ZONE, ZONE, Fault::None, &[case]).await;
        assert!(!tags(&good).contains(tag), "{case}: {tag} without the fault");
    }
}

#[tokio::test]
async fn slow_servers_are_told_with_numbers_when_the_whole_check_was_long_enough() {
    let slow = Fault::Delay(std::time::Duration::from_millis(110));
    let report = check(ZONE, ZONE, slow, &[]).await;
    let told: Vec<_> = report.findings.iter().filter(|f| f.tag == model::latency::SLOW_UNICAST).collect();
    assert_eq!(told.len(), 1, "{:?}", tags(&report));
    assert!(told[0].message.contains("ns2.zone.test/192.0.2.12"), "{}", told[0].message);
    assert!(told[0].args["looks"].as_u64() >= Some(model::latency::MIN_LOOKS as u64), "{:?}", told[0].args);
    let quick = check(ZONE, ZONE, Fault::None, &[]).await;
    assert!(!tags(&quick).contains(model::latency::SLOW_UNICAST));
    let anycast = Fault::Anycast(std::time::Duration::from_millis(110));
    let anycast = check(ZONE, ZONE, anycast, &[]).await;
    assert!(!tags(&anycast).contains(model::latency::SLOW_UNICAST), "two machines answer at one address");
    let short = check(ZONE, ZONE, slow, &["basic02", "domainscope"]).await;
    assert!(!tags(&short).contains(model::latency::SLOW_UNICAST), "two answers say nothing");
    assert_eq!(short.test_cases, ["Basic02", "Domainscope"]);
}

#[tokio::test]
async fn differences_between_servers_have_their_tags() {
    const OTHER: &str = "@ 3600 SOA ns2.zone.test. admin.zone.test. 8 14400 3600 604800 600
     @ 3600 NS ns2.zone.test.
     @ 3600 A 192.0.2.80
     @ 3600 TXT \"v=spf1 -all\"
     ns2 3600 A 192.0.2.12";
    let report = check(ZONE, OTHER, Fault::None, &[]).await;
    for tag in [
        "MULTIPLE_SOA_SERIALS",
        "SOA_SERIAL_VARIATION",
        "MULTIPLE_SOA_RNAMES",
        "MULTIPLE_SOA_TIME_PARAMETER_SET",
        "MULTIPLE_NS_SET",
        "MULTIPLE_SOA_MNAMES",
        "Z09_INCONSISTENT_MX",
        "Z11_INCONSISTENT_SPF_POLICIES",
        "Z01_MNAME_NOT_MASTER",
    ] {
        assert!(tags(&report).contains(tag), "no {tag} in {:?}", tags(&report));
    }
}

#[tokio::test]
async fn faults_of_a_zone_have_their_tags() {
    const BAD: &str = "@ 3600 SOA alias.zone.test. host.zone.test. 7 600 900 500 100000
     @ 3600 NS ns1.zone.test.
     @ 3600 NS alias.zone.test.
     @ 3600 MX 10 alias.zone.test.
     @ 3600 MX 0 .
     @ 3600 TXT \"v=spf1 include\"
     alias 3600 CNAME ns1.zone.test.
     ns1 3600 A 192.0.2.11";
    let report = check(BAD, BAD, Fault::None, &[]).await;
    for tag in [
        "REFRESH_MINIMUM_VALUE_LOWER",
        "REFRESH_LOWER_THAN_RETRY",
        "RETRY_MINIMUM_VALUE_LOWER",
        "EXPIRE_MINIMUM_VALUE_LOWER",
        "EXPIRE_LOWER_THAN_REFRESH",
        "SOA_DEFAULT_TTL_MAXIMUM_VALUE_HIGHER",
        "NS_IS_CNAME",
        "MNAME_IS_CNAME",
        "MX_RECORD_IS_CNAME",
        "EXTRA_NAME_PARENT",
        "EXTRA_NAME_CHILD",
        "Z09_NULL_MX_WITH_OTHER_MX",
        "Z11_SPF_SYNTAX_ERROR",
        "DS07_NOT_SIGNED",
    ] {
        let found = tags(&report);
        assert!(found.contains(tag), "no {tag} in {found:?}");
    }
    assert!(
        !tags(&report).contains("DS05_ZONE_NO_DNSSEC"),
        "after DS07_NOT_SIGNED nothing else of DNSSEC is told"
    );
}

#[tokio::test]
async fn a_broken_zone_that_still_gives_addresses_is_told_so() {
    const WWW: &str = "@ 60 SOA ns.elsewhere.test. host.zone.test. 7 2 3 4 5
         www 60 A 192.0.2.80";
    let w = world(
        &["192.0.2.1"],
        vec![
            server("192.0.2.1", &[ROOT]),
            server("192.0.2.2", &[TLD]),
            faulty("192.0.2.11", &[("zone.test", WWW)], Fault::NoAuthority),
        ],
    )
    .await;
    let report =
        w.engine().check("zone.test", &CheckOptions::new(jiff::Timestamp::UNIX_EPOCH)).await.unwrap();
    let found = tags(&report);
    assert!(found.contains("B02_NO_WORKING_NS") && found.contains("HAS_A_RECORDS"), "{found:?}");
}

#[tokio::test]
async fn a_zone_nobody_serves_is_told_so_and_nothing_else_is_asked() {
    let w = world(&["192.0.2.1"], vec![server("192.0.2.1", &[ROOT]), server("192.0.2.2", &[TLD])]).await;
    let report =
        w.engine().check("zone.test", &CheckOptions::new(jiff::Timestamp::UNIX_EPOCH)).await.unwrap();
    assert!(tags(&report).contains("B02_NO_WORKING_NS"), "{:?}", tags(&report));
    assert!(report.test_cases.iter().all(|c| c.starts_with("Basic")), "{:?}", report.test_cases);
    let methods =
        w.engine().methods_v2("zone.test", &CheckOptions::new(jiff::Timestamp::UNIX_EPOCH)).await.unwrap();
    assert_eq!(methods.del.map(|d| d.len()), Some(2));
    assert_eq!(methods.zone, Some(Vec::new()));
}
