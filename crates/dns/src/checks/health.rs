//! Findings from what a scan collected anyway (delegation, records, DNSSEC): no question is asked here.
//! In: the parts of an observation. Out: findings, Zonemaster's where there is one.

use super::tags::finding;
use crate::delegation::peers_median;
use jiff::{SignedDuration, Timestamp};
use model::dns::ServerProblem;
use model::dns::{
    AnswerKind, Delegation, DenialProof, Dnssec, DnssecStatus, ServerHealth, ServerState, ZoneSnapshot,
};
use model::finding::Finding;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Signatures that end within this time are a warning.
const EXPIRY_WARNING: SignedDuration = SignedDuration::from_hours(7 * 24);

/// What the collected parts show. `now` judges the expiry of signatures.
pub fn health(
    delegation: &Delegation,
    zone: Option<&ZoneSnapshot>,
    dnssec: Option<&Dnssec>,
    now: Timestamp,
) -> Vec<Finding> {
    let mut all = Gather { zone: &delegation.zone, list: Vec::new() };
    if delegation.delegated {
        servers(delegation, &mut all);
        sets(delegation, &mut all);
        glue(delegation, &mut all);
        slow(delegation, &mut all);
    } else {
        all.add("Basic02", "B02_NO_DELEGATION", &[("domain", delegation.zone.clone().into())]);
    }
    if let Some(zone) = zone {
        records(zone, &mut all);
    }
    if let Some(dnssec) = dnssec {
        chain(dnssec, now, &mut all);
    }
    all.list
}

struct Gather<'a> {
    zone: &'a str,
    list: Vec<Finding>,
}

impl Gather<'_> {
    fn add(&mut self, test_case: &str, tag: &str, args: &[(&str, Value)]) {
        self.list.push(finding(test_case, self.zone, tag, args));
    }
}

fn ns(state: &ServerState) -> Value {
    state.address.map_or_else(|| state.name.clone(), |ip| format!("{}/{ip}", state.name)).into()
}

fn servers(d: &Delegation, all: &mut Gather<'_>) {
    if !d.any_authoritative() && d.servers.iter().any(|s| s.health != ServerHealth::NotAsked) {
        all.add("Basic02", "B02_NO_WORKING_NS", &[("domain", d.zone.clone().into())]);
    }
    for state in &d.servers {
        match state.health {
            ServerHealth::Unresolvable => {
                let args = [
                    ("nsname", state.name.clone().into()),
                    ("domain", d.zone.clone().into()),
                    ("what", state.notes.join("; ").into()),
                ];
                all.add("Domainscope", "UNRESOLVABLE_SERVER", &args);
            }
            ServerHealth::Dead => all.add("Connectivity01", "CN01_NO_RESPONSE_UDP", &[("ns", ns(state))]),
            ServerHealth::Lame => lame(state, d, all),
            ServerHealth::Authoritative | ServerHealth::Slow | ServerHealth::NotAsked => {}
        }
        if state.recursion == Some(true) {
            all.add("Nameserver01", "IS_A_RECURSOR", &[("ns", ns(state))]);
        }
        if state.tcp == Some(false) && state.kind.responded() {
            all.add("Connectivity02", "CN02_NO_RESPONSE_TCP", &[("ns", ns(state))]);
        }
    }
}

fn lame(state: &ServerState, d: &Delegation, all: &mut Gather<'_>) {
    let rcode = |name: &str| [("ns", ns(state)), ("rcode", name.into())];
    match state.kind {
        AnswerKind::NonAuthoritative => {
            let args = [("nsname", state.name.clone().into()), ("ns", ns(state)), ("proto", "UDP".into())];
            all.add("Delegation04", "IS_NOT_AUTHORITATIVE", &args);
        }
        AnswerKind::Refused => {
            all.add("Connectivity01", "CN01_UNEXPECTED_RCODE_SOA_QUERY_UDP", &rcode("REFUSED"));
        }
        AnswerKind::ServFail => {
            all.add("Connectivity01", "CN01_UNEXPECTED_RCODE_SOA_QUERY_UDP", &rcode("SERVFAIL"));
        }
        AnswerKind::NxDomain => {
            all.add("Connectivity01", "CN01_UNEXPECTED_RCODE_SOA_QUERY_UDP", &rcode("NXDOMAIN"));
        }
        AnswerKind::NoData => all.add("Connectivity01", "CN01_MISSING_SOA_RECORD_UDP", &[("ns", ns(state))]),
        other => {
            let args = [("ns", ns(state)), ("domain", d.zone.clone().into()), ("what", other.words().into())];
            all.add("Domainscope", "LAME_SERVER", &args);
        }
    }
}

fn sets(d: &Delegation, all: &mut Gather<'_>) {
    let parent: BTreeSet<&String> = d.parent_ns.iter().map(|n| &n.name).collect();
    let child: BTreeSet<&String> = d.child_ns.iter().collect();
    let list = |names: &BTreeSet<&String>| -> Value {
        names.iter().map(|n| n.as_str()).collect::<Vec<_>>().join(";").into()
    };
    if !child.is_empty() {
        if parent.is_disjoint(&child) {
            all.add(
                "Delegation07",
                "TOTAL_NAME_MISMATCH",
                &[("glue", list(&parent)), ("child", list(&child))],
            );
        }
        let extra: BTreeSet<&String> = parent.difference(&child).copied().collect();
        if !extra.is_empty() {
            all.add("Delegation07", "EXTRA_NAME_PARENT", &[("extra", list(&extra))]);
        }
        let extra: BTreeSet<&String> = child.difference(&parent).copied().collect();
        if !extra.is_empty() {
            all.add("Delegation07", "EXTRA_NAME_CHILD", &[("extra", list(&extra))]);
        }
    }
    if parent.len() == 1 {
        let args = [("count", 1.into()), ("minimum", 2.into()), ("nsname_list", list(&parent))];
        all.add("Delegation01", "NOT_ENOUGH_NS_DEL", &args);
    }
    let mut by_ip: BTreeMap<IpAddr, BTreeSet<&String>> = BTreeMap::new();
    for server in &d.parent_ns {
        for ip in &server.addresses {
            by_ip.entry(*ip).or_default().insert(&server.name);
        }
    }
    for (ip, names) in by_ip.iter().filter(|(_, names)| names.len() > 1) {
        let args = [("ns_ip", ip.to_string().into()), ("nsname_list", list(names))];
        all.add("Delegation02", "DEL_NS_SAME_IP", &args);
    }
    let serials: BTreeSet<u32> = d.servers.iter().filter_map(|s| s.serial).collect();
    if serials.len() > 1 {
        all.add("Consistency01", "MULTIPLE_SOA_SERIALS", &[("count", serials.len().into())]);
        for serial in &serials {
            let with = d.servers.iter().filter(|s| s.serial == Some(*serial));
            let names: Vec<String> = with.map(|s| ns(s).as_str().unwrap_or_default().to_string()).collect();
            let args = [("serial", (*serial).into()), ("ns_list", names.join(";").into())];
            all.add("Consistency01", "SOA_SERIAL", &args);
        }
    }
    let aliased = |s: &&ServerState| s.problems.iter().any(|p| matches!(p, ServerProblem::Alias { .. }));
    let names: BTreeSet<&String> = d.servers.iter().filter(aliased).map(|s| &s.name).collect();
    for name in names {
        all.add("Delegation05", "NS_IS_CNAME", &[("nsname", name.as_str().into())]);
    }
}

fn glue(d: &Delegation, all: &mut Gather<'_>) {
    let with = |what: ServerProblem| -> Vec<String> {
        let states = d.servers.iter().filter(|s| s.problems.contains(&what));
        states.map(|s| ns(s).as_str().unwrap_or_default().to_string()).collect()
    };
    let (stale, missing) = (with(ServerProblem::GlueOnly), with(ServerProblem::GlueMissing));
    if !stale.is_empty() {
        let args =
            [("parent_addresses", stale.join(";").into()), ("zone_addresses", missing.join(";").into())];
        all.add("Consistency05", "IN_BAILIWICK_ADDR_MISMATCH", &args);
    }
    if !missing.is_empty() {
        all.add("Consistency05", "EXTRA_ADDRESS_CHILD", &[("ns_ip_list", missing.join(";").into())]);
    }
}

/// What one look finds slow; over many looks `model::latency` speaks instead.
fn slow(d: &Delegation, all: &mut Gather<'_>) {
    for (index, state) in d.servers.iter().enumerate().filter(|(_, s)| s.health == ServerHealth::Slow) {
        let args = [
            ("ns", ns(state)),
            ("latency", state.latency_ms.unwrap_or_default().round().into()),
            ("median", peers_median(&d.servers, index).unwrap_or_default().round().into()),
        ];
        all.add("Domainscope", model::latency::SLOW_ONCE, &args);
    }
}

fn records(snapshot: &ZoneSnapshot, all: &mut Gather<'_>) {
    let apex = snapshot.rrsets.iter().filter(|s| s.name == all.zone);
    if apex.clone().any(|s| s.rtype == "CNAME") {
        all.add("Domainscope", "APEX_CNAME", &[("domain", all.zone.into())]);
    }
}

fn chain(dnssec: &Dnssec, now: Timestamp, all: &mut Gather<'_>) {
    if dnssec.status == DnssecStatus::Bogus {
        let args = [("domain", all.zone.into()), ("reason", dnssec.reason.clone().into())];
        all.add("Domainscope", "DNSSEC_BOGUS", &args);
    }
    if let Some(DenialProof::Broken { reason }) = &dnssec.denial {
        let args = [("domain", all.zone.into()), ("reason", reason.clone().into())];
        all.add("Domainscope", "DENIAL_BROKEN", &args);
    }
    if let Some(until) = dnssec.signatures_expire {
        let args = [("domain", all.zone.into()), ("until", until.to_string().into())];
        if until < now {
            all.add("Domainscope", "SIGNATURES_EXPIRED", &args);
        } else if until.duration_since(now) < EXPIRY_WARNING {
            all.add("Domainscope", "SIGNATURES_EXPIRE_SOON", &args);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::dns::NsName;

    fn state(name: &str, ip: &str, health: ServerHealth, kind: AnswerKind) -> ServerState {
        ServerState {
            name: name.into(),
            address: ip.parse().ok(),
            in_parent: true,
            in_child: true,
            health,
            kind,
            serial: Some(1),
            latency_ms: Some(10.0),
            tcp: Some(true),
            recursion: Some(false),
            nsid: None,
            problems: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn healthy() -> Delegation {
        let server = |name: &str, ip: &str| NsName {
            name: name.into(),
            addresses: vec![ip.parse().unwrap()],
            glue: true,
        };
        let good = |n: &str, ip: &str| state(n, ip, ServerHealth::Authoritative, AnswerKind::Answer);
        Delegation {
            zone: "a.example".into(),
            parent: "example".into(),
            delegated: true,
            parent_ns: vec![server("ns1.a.example", "192.0.2.1"), server("ns2.a.example", "192.0.2.2")],
            child_ns: vec!["ns1.a.example".into(), "ns2.a.example".into()],
            ds: Vec::new(),
            servers: vec![good("ns1.a.example", "192.0.2.1"), good("ns2.a.example", "192.0.2.2")],
            soa: None,
            negative_soa: None,
            provider: None,
            latency: model::latency::LatencyHistory::default(),
            notes: Vec::new(),
        }
    }

    fn tags(d: &Delegation) -> Vec<String> {
        health(d, None, None, Timestamp::UNIX_EPOCH).into_iter().map(|f| f.tag).collect()
    }

    #[test]
    fn a_healthy_delegation_has_no_findings() {
        assert_eq!(tags(&healthy()), Vec::<String>::new());
    }

    #[test]
    fn each_fault_has_its_tag() {
        type Change = fn(&mut Delegation);
        let cases: [(Change, &[&str]); 13] = [
            (|d| d.servers[0].problems = vec![ServerProblem::GlueOnly], &["IN_BAILIWICK_ADDR_MISMATCH"]),
            (|d| d.servers[0].problems = vec![ServerProblem::GlueMissing], &["EXTRA_ADDRESS_CHILD"]),
            (
                |d| d.servers[1].problems = vec![ServerProblem::Alias { target: "x.example".into() }],
                &["NS_IS_CNAME"],
            ),
            (|d| d.delegated = false, &["B02_NO_DELEGATION"]),
            (
                |d| {
                    d.servers[0].health = ServerHealth::Dead;
                    d.servers[0].kind = AnswerKind::Timeout;
                },
                &["CN01_NO_RESPONSE_UDP"],
            ),
            (
                |d| {
                    d.servers[1].health = ServerHealth::Lame;
                    d.servers[1].kind = AnswerKind::Refused;
                },
                &["CN01_UNEXPECTED_RCODE_SOA_QUERY_UDP"],
            ),
            (
                |d| {
                    d.servers[1].health = ServerHealth::Lame;
                    d.servers[1].kind = AnswerKind::NonAuthoritative;
                },
                &["IS_NOT_AUTHORITATIVE"],
            ),
            (|d| d.servers[1].tcp = Some(false), &["CN02_NO_RESPONSE_TCP"]),
            (|d| d.servers[0].recursion = Some(true), &["IS_A_RECURSOR"]),
            (|d| d.servers[1].serial = Some(2), &["MULTIPLE_SOA_SERIALS", "SOA_SERIAL", "SOA_SERIAL"]),
            (|d| d.child_ns[1] = "ns3.a.example".into(), &["EXTRA_NAME_PARENT", "EXTRA_NAME_CHILD"]),
            (|d| d.parent_ns[1].addresses = d.parent_ns[0].addresses.clone(), &["DEL_NS_SAME_IP"]),
            (
                |d| {
                    d.servers[1].health = ServerHealth::Slow;
                    d.servers[1].latency_ms = Some(300.0);
                },
                &["SLOW_UNICAST_DNS"],
            ),
        ];
        for (change, expected) in cases {
            let mut d = healthy();
            change(&mut d);
            assert_eq!(tags(&d), expected);
        }
    }

    #[test]
    fn the_slow_server_is_named_with_its_numbers() {
        let mut d = healthy();
        d.servers[1].health = ServerHealth::Slow;
        d.servers[1].latency_ms = Some(300.4);
        let found = health(&d, None, None, Timestamp::UNIX_EPOCH);
        assert!(found[0].message.contains("300 ms, the others 10 ms"), "{}", found[0].message);
    }

    #[test]
    fn signatures_are_judged_by_the_instant_given() {
        let at = |seconds: i64| Timestamp::from_second(seconds).unwrap();
        let dnssec = Dnssec {
            status: DnssecStatus::Bogus,
            reason: "why".into(),
            ds: Vec::new(),
            key_tags: Vec::new(),
            signatures_expire: Some(at(1_000_000)),
            denial: None,
        };
        let tags = |now: i64| -> Vec<String> {
            health(&healthy(), None, Some(&dnssec), at(now)).into_iter().map(|f| f.tag).collect()
        };
        let mut broken = dnssec.clone();
        broken.denial = Some(DenialProof::Broken { reason: "no span".into() });
        let found = health(&healthy(), None, Some(&broken), at(0));
        assert!(found.iter().any(|f| f.tag == "DENIAL_BROKEN" && f.message.contains("no span")), "{found:?}");
        assert_eq!(tags(0), ["DNSSEC_BOGUS"]);
        assert_eq!(tags(900_000), ["DNSSEC_BOGUS", "SIGNATURES_EXPIRE_SOON"]);
        assert_eq!(tags(1_000_001), ["DNSSEC_BOGUS", "SIGNATURES_EXPIRED"]);
    }
}
