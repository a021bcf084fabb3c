//! Consistency05 (glue against authoritative data) and Consistency06 (primary server in the SOA records).

use super::context::{Context, joined};
use super::methods::{NsMap, ips};
use super::walk::is_referral;
use crate::resolve::address;
use crate::resolve::classify::referral_zone;
use crate::wire::{Data, Name, Rtype};
use futures::future::join_all;
use model::finding::Finding;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

pub(super) async fn consistency05(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Consistency05");
    let mut strict = c.delegation().await.clone().unwrap_or_default();
    // Out-of-bailiwick glue: what the parent's referral gives beyond need, or what the user gave.
    let extended = extended_glue(c).await;
    strict.retain(|name, _| name.is_at_or_below(&c.zone));
    let mut names: BTreeSet<Name> = strict.keys().cloned().collect();
    names.extend(c.zone_ns_names().await.iter().flatten().filter(|n| n.is_at_or_below(&c.zone)).cloned());
    let mut child = NsMap::new();
    if !names.is_empty() {
        let mut servers = ips(&c.del_resolved().await);
        servers.extend(c.zone_ns().await.iter().flat_map(ips));
        servers.retain(|ip| !c.is_disabled(*ip));
        // All questions at once; what follows finds the answers in the session's memory.
        let all = names.iter().flat_map(|name| servers.iter().map(move |ip| (*ip, name)));
        join_all(all.map(|(ip, name)| async move {
            futures::join!(c.ask(ip, name, Rtype::A), c.ask(ip, name, Rtype::AAAA))
        }))
        .await;
        for name in &names {
            let mut working = false;
            for ip in &servers {
                let mut failed = false;
                for rtype in [Rtype::A, Rtype::AAAA] {
                    match child_addresses(c, *ip, name, rtype).await {
                        Ok(found) => {
                            child.entry(name.clone()).or_default().extend(found);
                        }
                        Err(tag) => {
                            failed = true;
                            if !out.list.iter().any(|f| f.tag == tag && f.args["ns_ip"] == ip.to_string()) {
                                out.add(tag, &[("ns_ip", ip.to_string().into())]);
                            }
                        }
                    }
                }
                working |= !failed;
            }
            // Step 5.3: judged name by name.
            if !working {
                out.add("CHILD_ZONE_LAME", &[]);
                return out.list;
            }
        }
    }
    let before = out.list.len();
    let missing = difference(&strict, &child);
    if !missing.is_empty() {
        let args = [("parent_addresses", joined(&missing)), ("zone_addresses", joined(pairs(&child)))];
        out.add("IN_BAILIWICK_ADDR_MISMATCH", &args);
    }
    let extra = difference(&child, &strict);
    if !extra.is_empty() {
        out.add("EXTRA_ADDRESS_CHILD", &[("ns_ip_list", joined(&extra))]);
    }
    for (name, glue) in extended.iter().filter(|(_, glue)| !glue.is_empty()) {
        let known = public_addresses(c, name).await;
        if !glue.is_subset(&known) {
            let args = [("parent_addresses", joined(glue)), ("zone_addresses", joined(&known))];
            out.add("OUT_OF_BAILIWICK_ADDR_MISMATCH", &args);
        }
    }
    if out.list.len() == before {
        out.add("ADDRESSES_MATCH", &[]);
    }
    out.list
}

fn pairs(map: &NsMap) -> BTreeSet<String> {
    map.iter().flat_map(|(n, ips)| ips.iter().map(move |ip| format!("{n}/{ip}"))).collect()
}

fn difference(a: &NsMap, b: &NsMap) -> Vec<String> {
    pairs(a).difference(&pairs(b)).cloned().collect()
}

/// Addresses the parent's servers give for names outside the zone.
async fn extended_glue(c: &Context<'_>) -> NsMap {
    let mut map = NsMap::new();
    if let Some(servers) = c.stated() {
        let outside = servers.iter().filter(|(n, _)| !n.is_at_or_below(&c.zone));
        map.extend(outside.map(|(n, ips)| (n.clone(), ips.clone())));
        return map;
    }
    let parents = c.parent_ns().await.as_ref().map(ips).unwrap_or_default();
    for (_, asked) in c.ask_each(&parents, &c.zone, Rtype::NS).await {
        let Some(reply) = asked.reply().filter(|r| is_referral(r) && referral_zone(r) == Some(&c.zone))
        else {
            continue;
        };
        for name in crate::resolve::classify::ns_names(&reply.authority, &c.zone) {
            if !name.is_at_or_below(&c.zone) {
                let glue = reply.additional.iter().filter(|rr| rr.name == name).filter_map(address);
                map.entry(name.clone()).or_default().extend(glue);
            }
        }
    }
    map
}

/// Address records of a name as one of the zone's servers gives them, aliases not followed.
async fn child_addresses(
    c: &Context<'_>,
    ip: IpAddr,
    name: &Name,
    rtype: Rtype,
) -> Result<BTreeSet<IpAddr>, &'static str> {
    let asked = c.ask(ip, name, rtype).await;
    let reply = asked.reply().ok_or("NO_RESPONSE")?;
    if is_referral(reply) && referral_zone(reply).is_some_and(|z| z.is_below(&c.zone)) {
        let found = c.session.resolve(name.clone(), rtype, false, Vec::new()).await.ok();
        let records = found.as_ref().and_then(|f| f.asked.reply()).map(|r| r.answers.as_slice());
        return Ok(records
            .unwrap_or_default()
            .iter()
            .filter(|rr| rr.name == *name)
            .filter_map(address)
            .collect());
    }
    if !reply.aa || !matches!(reply.rcode, 0 | 3) {
        return Err("CHILD_NS_FAILED");
    }
    Ok(reply.answers.iter().filter(|rr| rr.name == *name).filter_map(address).collect())
}

async fn public_addresses(c: &Context<'_>, name: &Name) -> BTreeSet<IpAddr> {
    let mut out = BTreeSet::new();
    for rtype in [Rtype::A, Rtype::AAAA] {
        if let Ok(found) = c.session.resolve(name.clone(), rtype, false, Vec::new()).await {
            let records = found.asked.reply().map(|r| r.answers.as_slice()).unwrap_or_default();
            out.extend(records.iter().filter(|rr| rr.name == *name).filter_map(address));
        }
    }
    out
}

pub(super) async fn consistency06(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Consistency06");
    let mut mnames: BTreeMap<Name, Vec<IpAddr>> = BTreeMap::new();
    for (ip, asked) in c.ask_each(&c.all_ips().await, &c.zone, Rtype::SOA).await {
        let ns = c.ns_list([&ip]).await;
        let Some(reply) = asked.reply() else {
            out.add("NO_RESPONSE", &[("ns", ns)]);
            continue;
        };
        match reply.answers_of(&c.zone, Rtype::SOA).next().map(|rr| &rr.data) {
            Some(Data::Soa(soa)) => mnames.entry(soa.mname.clone()).or_default().push(ip),
            _ => out.add("NO_RESPONSE_SOA_QUERY", &[("ns", ns)]),
        }
    }
    match mnames.len() {
        0 => {}
        1 => out.add("ONE_SOA_MNAME", &[("mname", joined(mnames.keys()))]),
        n => {
            out.add("MULTIPLE_SOA_MNAMES", &[("count", n.into())]);
        }
    }
    out.list
}
