//! Consistency04 (NS sets of the servers), Delegation04 (authority), 05 (no aliases), 06 (SOA), 07 (same names).

use super::context::{Context, joined, plain};
use super::methods::NsMap;
use super::walk::is_referral;
use crate::resolve::alias;
use crate::resolve::classify::{ns_names, referral_zone};
use crate::session::QueryMode;
use crate::wire::{Name, Rtype, rcode_text};
use model::finding::Finding;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

pub(super) async fn consistency04(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Consistency04");
    // Sets are the same when the records are, TTLs included.
    let mut sets: BTreeMap<(Vec<Name>, BTreeSet<u32>), BTreeSet<IpAddr>> = BTreeMap::new();
    for (ip, asked) in c.ask_each(&c.all_ips().await, &c.zone, Rtype::NS).await {
        let ns = ("ns", c.ns_list([&ip]).await);
        let Some(reply) = asked.reply() else {
            out.add("NO_RESPONSE", &[ns]);
            continue;
        };
        let names = ns_names(&reply.answers, &c.zone);
        if names.is_empty() || !reply.aa {
            out.add("NO_RESPONSE_NS_QUERY", &[ns]);
        } else {
            let ttls = reply.answers_of(&c.zone, Rtype::NS).map(|rr| rr.ttl).collect();
            sets.entry((names, ttls)).or_default().insert(ip);
        }
    }
    match sets.len() {
        0 => {}
        1 => out.add("ONE_NS_SET", &[("nsname_list", joined(sets.keys().flat_map(|(names, _)| names)))]),
        n => {
            out.add("MULTIPLE_NS_SET", &[("count", n.into())]);
            for ((names, ttls), ips) in &sets {
                let args = [
                    ("nsname_list", joined(names)),
                    ("servers", c.ns_list(ips).await),
                    ("ttl", joined(ttls)),
                ];
                out.add("NS_SET", &args);
            }
        }
    }
    out.list
}

pub(super) async fn delegation04(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Delegation04");
    let question = plain(&c.zone, Rtype::SOA);
    let mut authoritative = BTreeSet::new();
    for (name, ips) in c.all_ns().await {
        for ip in ips {
            for (mode, proto) in [(QueryMode::Exact, "UDP"), (QueryMode::ExactTcp, "TCP")] {
                let asked = c.session.ask(ip, &question, mode).await;
                let Some(reply) = asked.reply() else { continue };
                if reply.aa {
                    authoritative.insert(ip);
                } else {
                    let args = [
                        ("nsname", name.to_string().into()),
                        ("ns", format!("{name}/{ip}").into()),
                        ("proto", proto.into()),
                    ];
                    out.add("IS_NOT_AUTHORITATIVE", &args);
                }
            }
        }
    }
    if out.list.is_empty() && !authoritative.is_empty() {
        out.add("ARE_AUTHORITATIVE", &[]);
    }
    out.list
}

pub(super) async fn delegation05(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Delegation05");
    let servers = c.all_ns().await;
    let ips: BTreeSet<IpAddr> = servers.values().flatten().copied().collect();
    let mut aliased: BTreeSet<&Name> = BTreeSet::new();
    for name in servers.keys() {
        if !name.is_at_or_below(&c.zone) {
            if looked_up_alias(c, name).await {
                aliased.insert(name);
            }
            continue;
        }
        for (ip, asked) in c.ask_each(&ips, name, Rtype::A).await {
            let ns = ("ns", c.ns_list([&ip]).await);
            match asked.reply() {
                None => out.add("NO_RESPONSE", &[ns]),
                Some(r) if r.rcode != 0 => {
                    let args =
                        [ns, ("nsname", name.to_string().into()), ("rcode", rcode_text(r.rcode).into())];
                    out.add("UNEXPECTED_RCODE", &args);
                }
                Some(r) if alias(r, name).is_some() => {
                    aliased.insert(name);
                }
                Some(r) if is_referral(r) && referral_zone(r).is_some_and(|z| z.is_below(&c.zone)) => {
                    if looked_up_alias(c, name).await {
                        aliased.insert(name);
                    }
                }
                Some(_) => {}
            }
        }
    }
    for name in &aliased {
        out.add("NS_IS_CNAME", &[("nsname", name.to_string().into())]);
    }
    if aliased.is_empty() {
        out.add("NO_NS_CNAME", &[]);
    }
    out.list
}

async fn looked_up_alias(c: &Context<'_>, name: &Name) -> bool {
    let found = c.session.resolve(name.clone(), Rtype::A, false, Vec::new()).await;
    found.is_ok_and(|f| f.asked.reply().is_some_and(|r| alias(r, name).is_some()))
}

pub(super) async fn delegation06(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Delegation06");
    let mut any = false;
    for (ip, asked) in c.ask_each(&c.all_ips().await, &c.zone, Rtype::SOA).await {
        match asked.reply() {
            Some(r) if r.answers_of(&c.zone, Rtype::SOA).next().is_some() => any = true,
            Some(r) if r.rcode == 0 => out.add("SOA_NOT_EXISTS", &[("ns", c.ns_list([&ip]).await)]),
            // Servers that fail or are silent are told by Connectivity01.
            _ => {}
        }
    }
    if any && out.list.is_empty() {
        out.add("SOA_EXISTS", &[]);
    }
    out.list
}

pub(super) async fn delegation07(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Delegation07");
    let parent: NsMap = c.del_ns().await.clone().unwrap_or_default();
    let child = c.zone_ns_names().await.clone().unwrap_or_default();
    let parent: BTreeSet<Name> = parent.into_keys().collect();
    let (extra_parent, extra_child) =
        (parent.difference(&child).collect::<Vec<_>>(), child.difference(&parent).collect::<Vec<_>>());
    if !extra_parent.is_empty() {
        out.add("EXTRA_NAME_PARENT", &[("extra", joined(&extra_parent))]);
    }
    if !extra_child.is_empty() {
        out.add("EXTRA_NAME_CHILD", &[("extra", joined(&extra_child))]);
    }
    if !parent.is_empty() && parent.is_disjoint(&child) {
        out.add("TOTAL_NAME_MISMATCH", &[("glue", joined(&parent)), ("child", joined(&child))]);
    }
    if extra_parent.is_empty() && extra_child.is_empty() && !parent.is_empty() {
        out.add("NAMES_MATCH", &[("names", joined(&parent))]);
    }
    out.list
}
