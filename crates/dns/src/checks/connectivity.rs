//! Connectivity01 and 02 (UDP and TCP), Connectivity03 and 04 (origin AS and prefix diversity).

use super::context::{Context, joined, plain};
use crate::resolve::origin::{Announced, Origin, origin};
use crate::session::QueryMode;
use crate::wire::{Name, Reply, Rtype, rcode_text};
use model::finding::Finding;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

pub(super) async fn connectivity01(c: &Context<'_>) -> Vec<Finding> {
    transport(c, "Connectivity01", "CN01", "UDP", QueryMode::Exact).await
}

pub(super) async fn connectivity02(c: &Context<'_>) -> Vec<Finding> {
    transport(c, "Connectivity02", "CN02", "TCP", QueryMode::ExactTcp).await
}

async fn transport(
    c: &Context<'_>,
    case: &'static str,
    prefix: &str,
    proto: &str,
    mode: QueryMode,
) -> Vec<Finding> {
    let mut out = c.findings(case);
    let servers = c.all_ns().await;
    let pairs: Vec<(String, IpAddr)> =
        servers.iter().flat_map(|(n, ips)| ips.iter().map(move |ip| (format!("{n}/{ip}"), *ip))).collect();
    let (soa_q, ns_q) = (plain(&c.zone, Rtype::SOA), plain(&c.zone, Rtype::NS));
    let (soa_q, ns_q) = (&soa_q, &ns_q);
    let asked = futures::future::join_all(pairs.iter().map(|(_, ip)| async move {
        futures::join!(c.session.ask(*ip, soa_q, mode), c.session.ask(*ip, ns_q, mode))
    }))
    .await;
    // Connectivity02 leaves it to Connectivity01 to tell.
    for (tag, v4) in [("CN01_IPV4_DISABLED", true), ("CN01_IPV6_DISABLED", false)] {
        let of_family = pairs.iter().filter(|(_, ip)| ip.is_ipv4() == v4 && c.is_disabled(*ip));
        let disabled: BTreeSet<&str> = of_family.map(|(ns, _)| ns.as_str()).collect();
        if mode == QueryMode::Exact && !disabled.is_empty() {
            out.add(tag, &[("ns_list", joined(&disabled))]);
        }
    }
    for ((ns, ip), (soa, nss)) in pairs.iter().zip(&asked) {
        if c.is_disabled(*ip) {
            continue;
        }
        if soa.reply().is_none() && nss.reply().is_none() {
            out.add(&format!("{prefix}_NO_RESPONSE_{proto}"), &[("ns", ns.clone().into())]);
            continue;
        }
        for (reply, word, rtype) in [(soa.reply(), "SOA", Rtype::SOA), (nss.reply(), "NS", Rtype::NS)] {
            if let Some((what, extra)) = oddity(reply, word, rtype, &c.zone) {
                let mut args = vec![("ns", ns.clone().into())];
                args.extend(extra.into_iter().map(|(k, v)| (k, v.into())));
                out.add(&format!("{prefix}_{what}_{proto}"), &args);
            }
        }
    }
    out.list
}

/// Asks the servers of the delegation what Connectivity01 and 02 ask them, all at the same time. Answers are remembered,
/// and a server that is dead is known to be so after one timeout instead of one for each kind of question.
pub(super) async fn knock(c: &Context<'_>) {
    let servers = c.del_ns().await;
    let addresses: BTreeSet<IpAddr> = servers.iter().flat_map(super::methods::ips).collect();
    let questions = [plain(&c.zone, Rtype::SOA), plain(&c.zone, Rtype::NS)];
    let ways = [QueryMode::Exact, QueryMode::ExactTcp];
    let all = addresses.iter().flat_map(|ip| {
        let each = questions.iter().flat_map(move |q| ways.map(|mode| (q, mode)));
        each.map(move |(question, mode)| c.session.ask(*ip, question, mode))
    });
    let sources = addresses.iter().map(|ip| c.session.source_of(*ip, &questions[0]));
    futures::join!(futures::future::join_all(all), futures::future::join_all(sources));
}

type Oddity = (String, Vec<(&'static str, String)>);

fn oddity(reply: Option<&Reply>, word: &str, rtype: Rtype, zone: &Name) -> Option<Oddity> {
    let Some(reply) = reply else { return Some((format!("NO_RESPONSE_{word}_QUERY"), Vec::new())) };
    if reply.rcode != 0 {
        return Some((format!("UNEXPECTED_RCODE_{word}_QUERY"), vec![("rcode", rcode_text(reply.rcode))]));
    }
    let records: Vec<_> = reply.answers.iter().filter(|rr| rr.rtype == rtype).collect();
    let Some(first) = records.first() else { return Some((format!("MISSING_{word}_RECORD"), Vec::new())) };
    if first.name != *zone {
        let args = vec![("domain_found", first.name.to_string()), ("domain_expected", zone.to_string())];
        return Some((format!("WRONG_{word}_RECORD"), args));
    }
    (!reply.aa).then(|| (format!("{word}_RECORD_NOT_AA"), Vec::new()))
}

async fn origins(c: &Context<'_>) -> Vec<(IpAddr, Origin)> {
    let ips = super::methods::ips(&c.all_ns().await);
    futures::future::join_all(
        ips.into_iter().map(|ip| async move { (ip, origin(c.session, &c.asn_zone, ip).await) }),
    )
    .await
}

pub(super) async fn connectivity03(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Connectivity03");
    let origins = origins(c).await;
    for (ip, origin) in &origins {
        if origin.failed {
            out.add("ERROR_ASN_DATABASE", &[("ns_ip", ip.to_string().into())]);
        } else if origin.known.is_none() {
            out.add("EMPTY_ASN_SET", &[("ns_ip", ip.to_string().into())]);
        }
    }
    for (family, v4) in [("IPV4", true), ("IPV6", false)] {
        let sets: Vec<&BTreeSet<u32>> = origins
            .iter()
            .filter(|(ip, _)| ip.is_ipv4() == v4)
            .filter_map(|(_, o)| o.known.as_ref().map(|k| &k.asns))
            .collect();
        let Some(first) = sets.first() else { continue };
        let same = sets.iter().all(|s| s == first);
        let all: BTreeSet<u32> = sets.iter().copied().flatten().copied().collect();
        let what = match (same, first.len()) {
            (true, 1) => "ONE_ASN",
            (true, _) => "SAME_ASN",
            (false, _) => "DIFFERENT_ASN",
        };
        let key = if what == "ONE_ASN" { "asn" } else { "asn_list" };
        out.add(&format!("{family}_{what}"), &[(key, joined(all))]);
    }
    out.list
}

pub(super) async fn connectivity04(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Connectivity04");
    let servers = c.all_ns().await;
    let of = |ip: &IpAddr| -> BTreeSet<String> {
        let named = servers.iter().filter(|(_, ips)| ips.contains(ip));
        named.map(|(name, _)| format!("{name}/{ip}")).collect()
    };
    // Members are names with an address: two names at one address are two members.
    let mut prefixes: BTreeMap<(bool, String), BTreeSet<String>> = BTreeMap::new();
    let mut members: BTreeMap<bool, usize> = BTreeMap::new();
    for (ip, origin) in origins(c).await {
        *members.entry(ip.is_ipv4()).or_default() += of(&ip).len();
        if origin.failed {
            out.add("CN04_ERROR_PREFIX_DATABASE", &[("ns_ip", ip.to_string().into())]);
        }
        match origin.known {
            Some(Announced { prefix, .. }) => {
                prefixes.entry((ip.is_ipv4(), prefix)).or_default().extend(of(&ip));
            }
            None if !origin.failed => out.add("CN04_EMPTY_PREFIX_SET", &[("ns_ip", ip.to_string().into())]),
            None => {}
        }
    }
    for (family, v4) in [("IPV4", true), ("IPV6", false)] {
        let of_family: Vec<_> = prefixes.iter().filter(|((four, _), _)| *four == v4).collect();
        let (shared, single): (Vec<_>, Vec<_>) = of_family.iter().partition(|(_, ns)| ns.len() > 1);
        for ((_, prefix), ns) in &shared {
            let args = [("ns_list", joined(ns.iter())), ("ip_prefix", prefix.as_str().into())];
            out.add(&format!("CN04_{family}_SAME_PREFIX"), &args);
        }
        if !single.is_empty() {
            let ns = joined(single.iter().flat_map(|(_, ns)| ns.iter()));
            out.add(&format!("CN04_{family}_DIFFERENT_PREFIX"), &[("ns_list", ns)]);
        }
        let known: usize = of_family.iter().map(|(_, ns)| ns.len()).sum();
        if of_family.len() == 1 && members.get(&v4) == Some(&known) {
            out.add(&format!("CN04_{family}_SINGLE_PREFIX"), &[]);
        }
    }
    out.list
}
