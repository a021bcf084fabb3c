//! Connectivity01 and 02 (UDP and TCP), Connectivity03 and 04 (origin AS and prefix diversity).

use super::address::{reverse_name, within};
use super::context::{Context, joined, plain};
use crate::session::Manner;
use crate::wire::{Data, Name, Reply, Rtype, rcode_text};
use model::dns::AnswerKind;
use model::finding::Finding;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

pub(super) async fn connectivity01(c: &Context<'_>) -> Vec<Finding> {
    transport(c, "Connectivity01", "CN01", "UDP", Manner::Exact).await
}

pub(super) async fn connectivity02(c: &Context<'_>) -> Vec<Finding> {
    transport(c, "Connectivity02", "CN02", "TCP", Manner::ExactTcp).await
}

async fn transport(
    c: &Context<'_>,
    case: &'static str,
    prefix: &str,
    proto: &str,
    manner: Manner,
) -> Vec<Finding> {
    let mut out = c.findings(case);
    let servers = c.all_ns().await;
    let pairs: Vec<(String, IpAddr)> =
        servers.iter().flat_map(|(n, ips)| ips.iter().map(move |ip| (format!("{n}/{ip}"), *ip))).collect();
    let (soa_q, ns_q) = (plain(&c.zone, Rtype::SOA), plain(&c.zone, Rtype::NS));
    let (soa_q, ns_q) = (&soa_q, &ns_q);
    let asked = futures::future::join_all(pairs.iter().map(|(_, ip)| async move {
        futures::join!(c.session.ask(*ip, soa_q, manner), c.session.ask(*ip, ns_q, manner))
    }))
    .await;
    for ((ns, _), (soa, nss)) in pairs.iter().zip(&asked) {
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

type Oddity = (String, Vec<(&'static str, String)>);

fn oddity(reply: Option<&Reply>, word: &str, rtype: Rtype, zone: &Name) -> Option<Oddity> {
    let Some(reply) = reply else { return Some((format!("NO_RESPONSE_{word}_QUERY"), Vec::new())) };
    if reply.rcode != 0 {
        return Some((format!("UNEXPECTED_RCODE_{word}_QUERY"), vec![("rcode", rcode_text(reply.rcode))]));
    }
    let records: Vec<_> = reply.answers.iter().filter(|rr| rr.rtype == rtype).collect();
    let Some(first) = records.first() else { return Some((format!("MISSING_{word}_RECORD"), Vec::new())) };
    if let Some(wrong) = records.iter().find(|rr| rr.name != *zone).filter(|_| first.name != *zone) {
        let args = vec![("domain_found", wrong.name.to_string()), ("domain_expected", zone.to_string())];
        return Some((format!("WRONG_{word}_RECORD"), args));
    }
    (!reply.aa).then(|| (format!("{word}_RECORD_NOT_AA"), Vec::new()))
}

/// What the address database says of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Known { prefix: String, asns: BTreeSet<u32> },
    Empty,
    Failed,
}

/// `ASN [ASN …] | prefix | …` by origin zone (the DNS interface Team Cymru invented).
pub(crate) async fn origin(c: &Context<'_>, ip: IpAddr) -> Origin {
    let (v4, v6) = (format!("origin.{}", c.asn_zone), format!("origin6.{}", c.asn_zone));
    let Some(name) = reverse_name(ip, &v4, &v6) else { return Origin::Failed };
    // An alias here leads away from the database: not followed.
    let Ok(found) = c.session.resolve(name.clone(), Rtype::TXT, false, Vec::new()).await else {
        return Origin::Failed;
    };
    match found.kind {
        AnswerKind::NxDomain | AnswerKind::NoData => return Origin::Empty,
        AnswerKind::Answer => {}
        // A resolver between us and the database answers without AA.
        AnswerKind::NonAuthoritative if found.asked.reply().is_some_and(|r| !r.answers.is_empty()) => {}
        _ => return Origin::Failed,
    }
    if found.asked.reply().is_some_and(|r| r.answers_of(&name, Rtype::TXT).next().is_none()) {
        return Origin::Failed;
    }
    let texts = found.asked.reply().into_iter().flat_map(|r| &r.answers).filter_map(|rr| match &rr.data {
        Data::Txt(strings) => Some(String::from_utf8_lossy(&strings.concat()).into_owned()),
        _ => None,
    });
    let rows: Vec<(IpAddr, u8, Origin)> = texts.filter_map(|t| parse_origin(&t)).collect();
    // A row about another place in the address space means that the database is wrong.
    if rows.iter().any(|(network, length, _)| !within(ip, *network, *length)) {
        return Origin::Failed;
    }
    rows.into_iter().max_by_key(|(_, length, _)| *length).map_or(Origin::Empty, |(_, _, origin)| origin)
}

/// Text that is no row of the database is no answer of the database.
fn parse_origin(text: &str) -> Option<(IpAddr, u8, Origin)> {
    let mut fields = text.split('|').map(str::trim);
    let asns: BTreeSet<u32> = fields.next()?.split_whitespace().filter_map(|a| a.parse().ok()).collect();
    let prefix = fields.next()?.to_string();
    let (ip, length) = prefix.split_once('/')?;
    let network = ip.parse().ok()?;
    let length = length.parse().ok()?;
    (!asns.is_empty()).then_some((network, length, Origin::Known { prefix, asns }))
}

async fn origins(c: &Context<'_>) -> Vec<(IpAddr, Origin)> {
    let ips = c.all_ips().await;
    futures::future::join_all(ips.into_iter().map(|ip| async move { (ip, origin(c, ip).await) })).await
}

pub(super) async fn connectivity03(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Connectivity03");
    let origins = origins(c).await;
    for (ip, origin) in &origins {
        match origin {
            Origin::Empty => out.add("EMPTY_ASN_SET", &[("ns_ip", ip.to_string().into())]),
            Origin::Failed => out.add("ERROR_ASN_DATABASE", &[("ns_ip", ip.to_string().into())]),
            Origin::Known { .. } => {}
        }
    }
    for (family, v4) in [("IPV4", true), ("IPV6", false)] {
        let sets: Vec<&BTreeSet<u32>> = origins
            .iter()
            .filter(|(ip, _)| ip.is_ipv4() == v4)
            .filter_map(|(_, o)| match o {
                Origin::Known { asns, .. } => Some(asns),
                _ => None,
            })
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
    let mut prefixes: BTreeMap<String, BTreeSet<IpAddr>> = BTreeMap::new();
    let origins = origins(c).await;
    for (ip, origin) in origins.clone() {
        match origin {
            Origin::Empty => out.add("CN04_EMPTY_PREFIX_SET", &[("ns_ip", ip.to_string().into())]),
            Origin::Failed => out.add("CN04_ERROR_PREFIX_DATABASE", &[("ns_ip", ip.to_string().into())]),
            Origin::Known { prefix, .. } => {
                prefixes.entry(prefix).or_default().insert(ip);
            }
        }
    }
    for (family, v4) in [("IPV4", true), ("IPV6", false)] {
        let of_family: Vec<(&String, &BTreeSet<IpAddr>)> =
            prefixes.iter().filter(|(_, ips)| ips.iter().any(|ip| ip.is_ipv4() == v4)).collect();
        let (shared, single): (Vec<_>, Vec<_>) = of_family.iter().partition(|(_, ips)| ips.len() > 1);
        for (prefix, ips) in &shared {
            let args = [("ns_ip_list", joined(ips.iter())), ("ip_prefix", prefix.as_str().into())];
            out.add(&format!("CN04_{family}_SAME_PREFIX"), &args);
        }
        if !single.is_empty() {
            let ips: BTreeSet<&IpAddr> = single.iter().flat_map(|(_, ips)| ips.iter()).collect();
            let args = [
                ("ns_ip_list", joined(ips)),
                ("ip_prefix_list", joined(single.iter().map(|(p, _)| p.as_str()))),
            ];
            out.add(&format!("CN04_{family}_DIFFERENT_PREFIX"), &args);
        }
        let known = of_family.iter().map(|(_, ips)| ips.len()).sum::<usize>();
        let all = origins.iter().filter(|(ip, _)| ip.is_ipv4() == v4).count();
        if of_family.len() == 1 && known == all {
            out.add(&format!("CN04_{family}_SINGLE_PREFIX"), &[]);
        }
    }
    out.list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_database_are_read_or_refused() {
        let (_, length, origin) =
            parse_origin("64496 64500 | 192.0.2.0/24 | ZZ | test | 2020-01-01").unwrap();
        assert_eq!(length, 24);
        assert_eq!(
            origin,
            Origin::Known { prefix: "192.0.2.0/24".into(), asns: BTreeSet::from([64496, 64500]) }
        );
        for bad in ["", "NA | 192.0.2.0/24", "1 | x/24", "1", "1 | 192.0.2.0"] {
            assert_eq!(parse_origin(bad), None, "{bad}");
        }
    }
}
