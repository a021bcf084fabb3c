//! Basic01 (the zone and its parent exist; specification of 2024), Basic02 (at least one name server works; 2023) and
//! Basic03 (a broken zone that browsers still reach; 2017).

use super::context::{Context, joined, serves};
use super::methods::ips;
use super::walk::Word;
use crate::session::QueryResult;
use crate::wire::{Name, Rtype, rcode_text};
use model::finding::Finding;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

pub(super) async fn basic01(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Basic01");
    let zone = || c.text.clone().into();
    if c.zone.is_root() {
        out.add("B01_CHILD_FOUND", &[("domain", zone())]);
        out.add("B01_ROOT_HAS_NO_PARENT", &[]);
        return out.list;
    }
    if c.is_undelegated() {
        out.add("B01_CHILD_FOUND", &[("domain", zone())]);
        out.add("B01_PARENT_DISREGARDED", &[]);
        return out.list;
    }
    let walk = c.parent_walk().await;
    let names = |ips: &BTreeSet<IpAddr>| -> serde_json::Value {
        let met = walk.met.iter().filter(|(_, ip, _)| ips.contains(ip));
        let list: BTreeSet<String> = met.map(|(name, ip, _)| format!("{name}/{ip}")).collect();
        joined(list)
    };
    for (name, rtype, ip) in walk.errors.iter().filter(|(_, _, ip)| !c.is_disabled(*ip)) {
        let args = [
            ("query_name", name.to_string().into()),
            ("rrtype", rtype.to_string().into()),
            ("ns", names(&BTreeSet::from([*ip]))),
        ];
        out.add("B01_SERVER_ZONE_ERROR", &args);
    }
    let mut parents: BTreeMap<&Name, BTreeSet<IpAddr>> = BTreeMap::new();
    for (ip, zone, _) in &walk.words {
        parents.entry(zone).or_default().insert(*ip);
    }
    for (parent, servers) in &parents {
        out.add("B01_PARENT_FOUND", &[("domain", parent.to_string().into()), ("ns_list", names(servers))]);
    }
    match parents.len() {
        0 => out.add("B01_PARENT_NOT_FOUND", &[]),
        1 => {}
        _ => {
            let all = parents.values().flatten().copied().collect();
            out.add("B01_PARENT_UNDETERMINED", &[("ns_list", names(&all))]);
        }
    }
    let is_there = |word: &Word| matches!(word, Word::Delegation | Word::Soa);
    if walk.words.iter().any(|(_, _, word)| is_there(word)) {
        out.add("B01_CHILD_FOUND", &[("domain", zone())]);
        let mut others: BTreeMap<&Name, BTreeSet<IpAddr>> = BTreeMap::new();
        for (ip, parent, _) in walk.words.iter().filter(|(_, _, word)| !is_there(word)) {
            others.entry(parent).or_default().insert(*ip);
        }
        for (parent, servers) in others {
            let args = [
                ("domain_child", zone()),
                ("domain_parent", parent.to_string().into()),
                ("ns_list", names(&servers)),
            ];
            out.add("B01_INCONSISTENT_DELEGATION", &args);
        }
    } else {
        let above = c.zone.parent().to_string();
        out.add("B01_NO_CHILD", &[("domain_child", zone()), ("domain_super", above.into())]);
    }
    let mut targets: BTreeMap<&Name, BTreeSet<IpAddr>> = BTreeMap::new();
    for (ip, _, word) in &walk.words {
        if let Word::Dname(target) = word {
            targets.entry(target).or_default().insert(*ip);
        }
    }
    for (target, servers) in &targets {
        let args = [
            ("domain_child", zone()),
            ("domain_target", target.to_string().into()),
            ("ns_list", names(servers)),
        ];
        out.add("B01_CHILD_IS_ALIAS", &args);
    }
    if targets.len() > 1 {
        out.add("B01_INCONSISTENT_ALIAS", &[("domain", zone())]);
    }
    out.list
}

pub(super) async fn basic02(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Basic02");
    let servers = c.del_ns().await.clone().unwrap_or_default();
    if servers.is_empty() {
        out.add("B02_NO_DELEGATION", &[("domain", c.text.clone().into())]);
        return out.list;
    }
    let answers: BTreeMap<IpAddr, _> =
        c.ask_each(&ips(&servers), &c.zone, Rtype::SOA).await.into_iter().collect();
    if c.is_out_of_reach().await {
        return out.list;
    }
    let pairs: Vec<(String, &QueryResult)> = servers
        .iter()
        .flat_map(|(name, ips)| ips.iter().map(move |ip| (format!("{name}/{ip}"), ip)))
        .filter_map(|(ns, ip)| Some((ns, answers.get(ip)?.as_ref())))
        .collect();
    let good: BTreeSet<&str> =
        pairs.iter().filter(|(_, asked)| serves(asked.reply(), &c.zone)).map(|(ns, _)| ns.as_str()).collect();
    if !good.is_empty() {
        let args = [("ns_list", joined(good)), ("domain", c.text.clone().into())];
        out.add("B02_AUTH_RESPONSE_SOA", &args);
        return out.list;
    }
    out.add("B02_NO_WORKING_NS", &[("domain", c.text.clone().into())]);
    for (ns, asked) in pairs {
        let ns = ("ns", ns.into());
        match asked.reply() {
            None => out.add("B02_NS_NO_RESPONSE", &[ns]),
            Some(r) if r.rcode != 0 => {
                out.add("B02_UNEXPECTED_RCODE", &[ns, ("rcode", rcode_text(r.rcode).into())]);
            }
            Some(r) if !r.aa => out.add("B02_NS_NOT_AUTH", &[ns]),
            Some(_) => out.add("B02_NS_BROKEN", &[ns]),
        }
    }
    for name in servers.iter().filter(|(_, ips)| ips.is_empty()).map(|(n, _)| n) {
        out.add("B02_NS_NO_IP_ADDR", &[("nsname", name.to_string().into())]);
    }
    out.list
}

/// Whether a zone that Basic02 finds broken still gives addresses for `www`: why it seems to work.
pub(super) async fn basic03(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Basic03");
    let servers = ips(&c.del_ns().await.clone().unwrap_or_default());
    let soas = c.ask_each(&servers, &c.zone, Rtype::SOA).await;
    if soas.iter().any(|(_, asked)| serves(asked.reply(), &c.zone)) {
        out.add("HAS_NAMESERVER_NO_WWW_A_TEST", &[("domain", c.text.clone().into())]);
        return out.list;
    }
    if c.is_out_of_reach().await {
        return out.list;
    }
    let Some(www) = c.zone.child("www") else { return out.list };
    let domain = || ("domain", www.to_string().into());
    let mut answered = false;
    for (ip, asked) in c.ask_each(&servers, &www, Rtype::A).await {
        let Some(reply) = asked.reply() else { continue };
        answered = true;
        if reply.answers_of(&www, Rtype::A).next().is_some() {
            out.add("HAS_A_RECORDS", &[("ns", c.ns_list([&ip]).await), domain()]);
        }
    }
    if !answered {
        out.add("A_QUERY_NO_RESPONSES", &[domain()]);
    }
    out.list
}
