//! Steps of the test case specifications that are easily read past: which servers count, which answers, which are left out.

mod fake;

use dns::checks::{CheckOptions, CheckReport};
use fake::{Fault, Server, faulty, server, world};
use std::collections::BTreeSet;

const ROOT: (&str, &str) = (
    "",
    "@ 60 SOA a.root.example. host.example. 1 2 3 4 5
     @ 60 NS a.root.example.
     a.root.example. 60 A 192.0.2.1
     in-addr.arpa. 60 NS r.test.
     r.test. 60 A 192.0.2.3
     test. 60 NS ns.test.
     ns.test. 60 A 192.0.2.2",
);
const SOA: &str = "@ 3600 SOA ns1.zone.test. host.zone.test. 7 14400 3600 604800 300";

/// Checks `zone.test`, whose parent has these lines about it.
async fn check(
    cases: &[&str],
    delegation: &'static str,
    servers: Vec<Server>,
    options: CheckOptions,
) -> CheckReport {
    let mut all = vec![server("192.0.2.1", &[ROOT])];
    let apex = "@ 60 SOA ns.test. host.test. 7 2 3 4 5
        @ 60 NS ns.test.
        ns 60 A 192.0.2.2";
    let parent: &'static str = format!("{apex}\n{delegation}").leak();
    all.push(Server { address: "192.0.2.2", zones: vec![("test", parent)], fault: Fault::None });
    all.extend(servers);
    let w = world(&["192.0.2.1"], all).await;
    let test_cases = (!cases.is_empty()).then(|| cases.iter().map(|c| (*c).to_string()).collect());
    w.engine().check("zone.test", &CheckOptions { test_cases, ..options }).await.unwrap()
}

fn plain() -> CheckOptions {
    CheckOptions::new(jiff::Timestamp::UNIX_EPOCH)
}

fn tags(report: &CheckReport) -> BTreeSet<&str> {
    report.findings.iter().map(|f| f.tag.as_str()).collect()
}

fn text(parts: &[&str]) -> &'static str {
    parts.join("\n").leak()
}

const TWO: &str = "zone 60 NS ns1.zone.test.
    zone 60 NS ns2.zone.test.
    ns1.zone 60 A 192.0.2.11
    ns2.zone 60 A 192.0.2.12";
const TWO_NS: &str = "@ 3600 NS ns1.zone.test.
    @ 3600 NS ns2.zone.test.
    ns1 3600 A 192.0.2.11
    ns2 3600 A 192.0.2.12";

/// Two servers with the same zone.
fn both(zone: &'static str, fault: Fault) -> Vec<Server> {
    vec![
        faulty("192.0.2.11", &[("zone.test", zone)], fault),
        faulty("192.0.2.12", &[("zone.test", zone)], fault),
    ]
}

#[tokio::test]
async fn a_name_of_the_delegation_counts_for_a_family_it_resolves_to_though_its_glue_lacks_it() {
    const HALF: &str = "zone 60 NS ns1.zone.test.
        zone 60 NS ns2.zone.test.
        ns1.zone 60 A 192.0.2.11
        ns1.zone 60 AAAA 2001:db8::11
        ns2.zone 60 A 192.0.2.12";
    let full = text(&[SOA, TWO_NS, "ns1 3600 AAAA 2001:db8::11", "ns2 3600 AAAA 2001:db8::12"]);
    let servers = || {
        let mut list = both(full, Fault::None);
        list.push(server("2001:db8::11", &[("zone.test", full)]));
        list.push(server("2001:db8::12", &[("zone.test", full)]));
        list
    };
    let report = check(&["delegation01"], HALF, servers(), plain()).await;
    assert!(tags(&report).contains("ENOUGH_IPV6_NS_DEL"), "{:?}", tags(&report));
    // What a person gives is the delegation as it will be: nothing is added.
    let ns = |name: &str, ip: &str| (name.to_string(), Some(ip.parse().unwrap()));
    let undelegated_ns = vec![ns("ns1.zone.test", "192.0.2.11"), ns("ns2.zone.test", "192.0.2.12")];
    let report = check(&["delegation01"], HALF, servers(), CheckOptions { undelegated_ns, ..plain() }).await;
    assert!(tags(&report).contains("NO_IPV6_NS_DEL"), "{:?}", tags(&report));
}

#[tokio::test]
async fn without_ipv6_here_its_servers_are_left_out_and_not_called_silent() {
    const MIXED: &str = "zone 60 NS ns1.zone.test.
        zone 60 NS ns2.zone.test.
        ns1.zone 60 A 192.0.2.11
        ns2.zone 60 AAAA 2001:db8::12
        ns 60 AAAA 2001:db8::2";
    let zone = text(&[
        SOA,
        "@ 3600 NS ns1.zone.test.
         @ 3600 NS ns2.zone.test.
         ns1 3600 A 192.0.2.11
         ns1 3600 AAAA 2001:db8::11
         ns2 3600 AAAA 2001:db8::12",
    ]);
    let servers = |first: Fault, second: Fault| {
        vec![
            server("192.0.2.11", &[("zone.test", zone)]),
            faulty("2001:db8::2", &[], Fault::NoRoute),
            faulty("2001:db8::11", &[("zone.test", zone)], first),
            faulty("2001:db8::12", &[("zone.test", zone)], second),
        ]
    };
    let report = check(&[], MIXED, servers(Fault::NoRoute, Fault::NoRoute), plain()).await;
    let disabled: Vec<_> = report.findings.iter().filter(|f| f.tag == "CN01_IPV6_DISABLED").collect();
    assert_eq!(disabled.len(), 1);
    assert_eq!(disabled[0].args["ns_list"], "ns1.zone.test/2001:db8::11;ns2.zone.test/2001:db8::12");
    let accused: Vec<_> = report
        .findings
        .iter()
        .filter(|f| f.tag.contains("NO_RESPONSE") && f.message.contains("2001:db8"))
        .collect();
    assert!(accused.is_empty(), "{accused:#?}");
    assert!(!tags(&report).contains("B01_SERVER_ZONE_ERROR"), "the parent's servers are left out alike");
    // One address without a route is a matter of that address when IPv6 works.
    let report = check(&["connectivity01"], MIXED, servers(Fault::None, Fault::NoRoute), plain()).await;
    assert!(!tags(&report).contains("CN01_IPV6_DISABLED"), "{:?}", tags(&report));
    assert!(tags(&report).contains("CN01_NO_RESPONSE_UDP"), "{:?}", tags(&report));
}

#[tokio::test]
async fn a_reverse_zone_that_refuses_has_no_name_and_one_that_is_silent_no_answer() {
    const REVERSE: (&str, &str) = ("in-addr.arpa", "@ 60 SOA r.test. host.test. 1 2 3 4 5");
    for (fault, tag) in [
        (Fault::None, "NAMESERVER_IP_WITHOUT_REVERSE"),
        (Fault::Refused, "NAMESERVER_IP_WITHOUT_REVERSE"),
        (Fault::Drop, "NO_RESPONSE_PTR_QUERY"),
    ] {
        for case in ["address02", "address03"] {
            let mut servers = both(text(&[SOA, TWO_NS]), Fault::None);
            servers.push(faulty("192.0.2.3", &[REVERSE], fault));
            let report = check(&[case], TWO, servers, plain()).await;
            assert_eq!(tags(&report), BTreeSet::from([tag]), "{fault:?} {case}");
        }
    }
}

#[tokio::test]
async fn ns_sets_with_another_ttl_are_other_sets() {
    let servers = |second| {
        vec![
            server("192.0.2.11", &[("zone.test", text(&[SOA, TWO_NS]))]),
            server("192.0.2.12", &[("zone.test", second)]),
        ]
    };
    let report = check(&["consistency04"], TWO, servers(text(&[SOA, TWO_NS])), plain()).await;
    assert_eq!(tags(&report), BTreeSet::from(["ONE_NS_SET"]));
    let shorter = text(&[SOA, TWO_NS]).replace("3600 NS", "60 NS").leak();
    let report = check(&["consistency04"], TWO, servers(shorter), plain()).await;
    assert_eq!(tags(&report), BTreeSet::from(["MULTIPLE_NS_SET", "NS_SET"]));
    let ttls: Vec<&str> = report.findings.iter().filter_map(|f| f.args.get("ttl")?.as_str()).collect();
    assert_eq!(ttls, ["60", "3600"]);
}

#[tokio::test]
async fn the_soa_record_exists_only_where_a_server_gives_it() {
    let none = text(&["@ 3600 NS ns1.zone.test.", "ns1 3600 A 192.0.2.11"]);
    let alias = text(&["@ 3600 CNAME www.test.", TWO_NS]);
    for (zone, fault, expected) in [
        (text(&[SOA, TWO_NS]), Fault::None, Some("SOA_EXISTS")),
        (text(&[SOA, TWO_NS]), Fault::Refused, None),
        (none, Fault::None, Some("SOA_NOT_EXISTS")),
        (alias, Fault::None, Some("SOA_NOT_EXISTS")),
    ] {
        let report = check(&["delegation06"], TWO, both(zone, fault), plain()).await;
        assert_eq!(tags(&report), expected.into_iter().collect(), "{fault:?} {zone}");
    }
}

#[tokio::test]
async fn names_in_the_soa_record_are_judged_also_where_no_server_has_authority() {
    let report =
        check(&["syntax05", "syntax07"], TWO, both(text(&[SOA, TWO_NS]), Fault::NoAuthority), plain()).await;
    assert_eq!(tags(&report), BTreeSet::from(["RNAME_NO_AT_SIGN", "MNAME_SYNTAX_OK"]));
}

#[tokio::test]
async fn mail_addresses_are_judged_by_rfc_5322_and_localhost_is_one_address() {
    let with = |rname: &str, address: &str| -> &'static str {
        let soa = format!("@ 3600 SOA ns1.zone.test. {rname} 7 14400 3600 604800 300");
        let mail = format!(
            "@ 3600 MX 10 mail.zone.test.
             _m 3600 MX 10 mail.zone.test.
             mail 3600 A {address}"
        );
        text(&[&soa, TWO_NS, &mail])
    };
    let localhost = ["RNAME_MAIL_DOMAIN_LOCALHOST", "RNAME_MAIL_DOMAIN_INVALID"];
    for (rname, address, expected) in [
        ("host.zone.test.", "127.0.0.2", &["RNAME_RFC822_VALID"][..]),
        ("host.zone.test.", "127.0.0.1", &localhost[..]),
        ("host._m.zone.test.", "192.0.2.25", &["RNAME_RFC822_VALID"][..]),
        ("host.", "192.0.2.25", &["RNAME_RFC822_INVALID"][..]),
    ] {
        let report = check(&["syntax06"], TWO, both(with(rname, address), Fault::None), plain()).await;
        assert_eq!(tags(&report), expected.iter().copied().collect(), "{rname} {address}");
    }
}

#[tokio::test]
async fn timers_are_those_of_a_delegated_server() {
    const ONE: &str = "zone 60 NS ns2.zone.test.
        ns2.zone 60 A 192.0.2.12";
    const NS: &str = "@ 3600 NS ns0.zone.test.
        @ 3600 NS ns2.zone.test.
        ns0 3600 A 192.0.2.5
        ns2 3600 A 192.0.2.12";
    let low = text(&["@ 3600 SOA ns2.zone.test. host.zone.test. 7 600 300 604800 300", NS]);
    let servers = vec![
        server("192.0.2.5", &[("zone.test", text(&[SOA, NS]))]),
        server("192.0.2.12", &[("zone.test", low)]),
    ];
    let report = check(&["zone02", "zone04"], ONE, servers, plain()).await;
    let expected = ["REFRESH_MINIMUM_VALUE_LOWER", "RETRY_MINIMUM_VALUE_LOWER"];
    assert_eq!(tags(&report), BTreeSet::from(expected));
}

#[tokio::test]
async fn nothing_is_claimed_of_servers_that_are_not_there() {
    let report = check(&["zone10", "delegation06"], "zone 60 NS ns1.zone.test.", Vec::new(), plain()).await;
    assert!(report.findings.is_empty(), "{:?}", tags(&report));
}

#[tokio::test]
async fn one_policy_in_two_spellings_is_one_policy() {
    let zone = text(&[SOA, TWO_NS, "@ 3600 TXT \"v=spf1 -all\"", "@ 3600 TXT \"V=SPF1 -ALL\""]);
    let report = check(&["zone11"], TWO, both(zone, Fault::None), plain()).await;
    assert_eq!(tags(&report), BTreeSet::from(["Z11_SPF_SYNTAX_OK"]));
    let two = text(&[SOA, TWO_NS, "@ 3600 TXT \"v=spf1 -all\"", "@ 3600 TXT \"v=spf1 mx -all\""]);
    let report = check(&["zone11"], TWO, both(two, Fault::None), plain()).await;
    assert_eq!(tags(&report), BTreeSet::from(["Z11_SPF_MULTIPLE_RECORDS"]));
}

#[tokio::test]
async fn glue_that_its_name_no_longer_resolves_to_is_a_mismatch_and_no_server() {
    const OLD: &str = "zone 60 NS ns1.zone.test.
        zone 60 NS ns2.zone.test.
        zone 60 NS ns3.zone.test.
        ns1.zone 60 A 192.0.2.11
        ns2.zone 60 A 192.0.2.99
        ns3.zone 60 A 192.0.2.98";
    // One name is listed by the zone, the other only by the parent; both have moved.
    let zone = text(&[SOA, TWO_NS, "ns3 3600 A 192.0.2.12"]);
    let mut servers = both(zone, Fault::None);
    servers.push(faulty("192.0.2.99", &[], Fault::Drop));
    servers.push(faulty("192.0.2.98", &[], Fault::Drop));
    let report = check(&["consistency05"], OLD, servers, plain()).await;
    assert_eq!(tags(&report), BTreeSet::from(["IN_BAILIWICK_ADDR_MISMATCH", "EXTRA_ADDRESS_CHILD"]));
    // Glue of a name that resolves to nothing is all there is: its server is asked, and its silence told.
    let gone = text(&[SOA, "@ 3600 NS ns1.zone.test.", "ns1 3600 A 192.0.2.11"]);
    let servers = vec![server("192.0.2.11", &[("zone.test", gone)]), faulty("192.0.2.12", &[], Fault::Drop)];
    let report = check(&["consistency05"], TWO, servers, plain()).await;
    assert_eq!(tags(&report), BTreeSet::from(["IN_BAILIWICK_ADDR_MISMATCH", "NO_RESPONSE"]));
}

#[tokio::test]
async fn servers_of_the_parent_have_the_names_they_serve_it_under() {
    // The parent's server is listed for the root too, which it does not serve.
    const LISTED: (&str, &str) = (
        "",
        "@ 60 SOA a.root.example. host.example. 1 2 3 4 5
         @ 60 NS a.root.example.
         @ 60 NS lame.root.example.
         a.root.example. 60 A 192.0.2.1
         lame.root.example. 60 A 192.0.2.2
         test. 60 NS ns.test.
         ns.test. 60 A 192.0.2.2",
    );
    let parent =
        text(&["@ 60 SOA ns.test. host.test. 7 2 3 4 5", "@ 60 NS ns.test.", "ns 60 A 192.0.2.2", TWO]);
    let w =
        world(&["192.0.2.1"], vec![server("192.0.2.1", &[LISTED]), server("192.0.2.2", &[("test", parent)])])
            .await;
    let sets = w.engine().methods_v2("zone.test", &plain()).await.unwrap();
    assert_eq!(sets.parent, Some(vec!["ns.test/192.0.2.2".to_string()]));
}

#[tokio::test]
async fn basic01_asks_nobody_twice_about_a_zone() {
    // The root's server refers to itself for a zone it has just refused to answer for.
    const CIRCLE: (&str, &str) = (
        "",
        "@ 60 SOA a.root.example. host.example. 1 2 3 4 5
         @ 60 NS a.root.example.
         a.root.example. 60 A 192.0.2.1
         test. 60 NS ns.test.
         test. 60 NS a.root.example.
         ns.test. 60 A 192.0.2.2",
    );
    let parent =
        text(&["@ 60 SOA ns.test. host.test. 7 2 3 4 5", "@ 60 NS ns.test.", "ns 60 A 192.0.2.2", TWO]);
    let servers = vec![server("192.0.2.1", &[CIRCLE]), server("192.0.2.2", &[("test", parent)])];
    let w = world(&["192.0.2.1"], servers).await;
    let test_cases = Some(vec!["basic01".to_string()]);
    let report = w.engine().check("zone.test", &CheckOptions { test_cases, ..plain() }).await.unwrap();
    assert_eq!(tags(&report), BTreeSet::from(["B01_CHILD_FOUND", "B01_PARENT_FOUND"]));
}

#[tokio::test]
async fn a_zone_that_only_ipv6_reaches_is_not_called_dead_from_a_host_without_it() {
    const SIX: &str = "zone 60 NS ns1.zone.test.
        ns1.zone 60 AAAA 2001:db8::11";
    let report = check(&[], SIX, vec![faulty("2001:db8::11", &[], Fault::NoRoute)], plain()).await;
    let expected = ["B01_CHILD_FOUND", "B01_PARENT_FOUND", "CN01_IPV6_DISABLED"];
    assert_eq!(tags(&report), BTreeSet::from(expected));
    let servers = vec![faulty("2001:db8::11", &[], Fault::NoRoute)];
    let report = check(&["basic02", "basic03"], SIX, servers, plain()).await;
    assert!(report.findings.is_empty(), "{:?}", tags(&report));
}
