//! Zone01 (the primary server in the SOA record), Zone07 and Zone08 (no aliases for it and the mail exchangers).

use super::address::is_localhost;
use super::context::{Context, joined, serves};
use super::soa::first_soa;
use crate::resolve::alias;
use crate::wire::{Data, Name, Rtype, rcode_text};
use model::finding::Finding;
use model::serial::later;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

pub(super) async fn zone01(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Zone01");
    let (mut localhost, mut dot) = (BTreeSet::new(), BTreeSet::new());
    let mut mnames: BTreeSet<Name> = BTreeSet::new();
    let mut serials: BTreeSet<u32> = BTreeSet::new();
    for (ip, asked) in c.ask_each(&c.all_ips().await, &c.zone, Rtype::SOA).await {
        let Some(reply) = asked.reply().filter(|r| serves(Some(r), &c.zone)) else { continue };
        for rr in reply.answers_of(&c.zone, Rtype::SOA) {
            let Data::Soa(soa) = &rr.data else { continue };
            serials.insert(soa.serial);
            match soa.mname.to_string().as_str() {
                "localhost" => {
                    localhost.insert(ip);
                }
                "." => {
                    dot.insert(ip);
                }
                _ => {
                    mnames.insert(soa.mname.clone());
                }
            }
        }
    }
    if !localhost.is_empty() {
        out.add("Z01_MNAME_IS_LOCALHOST", &[("ns_ip_list", joined(&localhost))]);
    }
    if !dot.is_empty() {
        out.add("Z01_MNAME_IS_DOT", &[("ns_ip_list", joined(&dot))]);
    }
    let listed = c.zone_ns_names().await.clone().unwrap_or_default();
    let mut primaries: BTreeMap<String, u32> = BTreeMap::new();
    for mname in &mnames {
        let nsname = || ("nsname", mname.to_string().into());
        if !listed.contains(mname) {
            out.add("Z01_MNAME_NOT_IN_NS_LIST", &[nsname()]);
        }
        let addresses: BTreeSet<IpAddr> = c.addresses(mname).await;
        if addresses.is_empty() {
            out.add("Z01_MNAME_NOT_RESOLVE", &[nsname()]);
        }
        for ip in addresses {
            if is_localhost(ip) {
                out.add("Z01_MNAME_HAS_LOCALHOST_ADDR", &[nsname(), ("ns_ip", ip.to_string().into())]);
                continue;
            }
            let ns = format!("{mname}/{ip}");
            let asked = c.ask(ip, &c.zone, Rtype::SOA).await;
            let Some(reply) = asked.reply() else {
                if !c.is_disabled(ip) {
                    out.add("Z01_MNAME_NO_RESPONSE", &[("ns", ns.into())]);
                }
                continue;
            };
            let soa = reply.answers_of(&c.zone, Rtype::SOA).find_map(|rr| match &rr.data {
                Data::Soa(soa) => Some(soa.serial),
                _ => None,
            });
            match soa {
                _ if reply.rcode != 0 => {
                    let args = [("ns", ns.into()), ("rcode", rcode_text(reply.rcode).into())];
                    out.add("Z01_MNAME_UNEXPECTED_RCODE", &args);
                }
                None => out.add("Z01_MNAME_MISSING_SOA_RECORD", &[("ns", ns.into())]),
                Some(_) if !reply.aa => out.add("Z01_MNAME_NOT_AUTHORITATIVE", &[("ns", ns.into())]),
                Some(serial) => {
                    primaries.insert(ns, serial);
                }
            }
        }
    }
    let behind = |serial: u32| serials.iter().any(|s| later(*s, serial));
    let (not_master, master): (Vec<_>, Vec<_>) = primaries.iter().partition(|(_, serial)| behind(**serial));
    if !not_master.is_empty() {
        let args = [
            ("ns_list", joined(not_master.iter().map(|(ns, _)| ns))),
            ("soaserial", joined(not_master.iter().map(|(_, serial)| serial))),
            ("soaserial_list", joined(&serials)),
        ];
        out.add("Z01_MNAME_NOT_MASTER", &args);
    }
    if !master.is_empty() {
        out.add("Z01_MNAME_IS_MASTER", &[("ns_list", joined(master.iter().map(|(ns, _)| ns)))]);
    }
    out.list
}

/// True when the name is an alias.
async fn is_alias(c: &Context<'_>, name: &Name) -> bool {
    let found = c.session.resolve(name.clone(), Rtype::A, false, Vec::new()).await;
    found.is_ok_and(|f| f.asked.reply().is_some_and(|r| alias(r, name).is_some()))
}

pub(super) async fn zone07(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Zone07");
    let Some(soa) = first_soa(c).await else {
        out.add("NO_RESPONSE_SOA_QUERY", &[]);
        return out.list;
    };
    let mname = ("mname", soa.mname.to_string().into());
    if is_alias(c, &soa.mname).await {
        out.add("MNAME_IS_CNAME", &[mname]);
    } else if c.addresses(&soa.mname).await.is_empty() {
        out.add("MNAME_HAS_NO_ADDRESS", &[mname]);
    } else {
        out.add("MNAME_IS_NOT_CNAME", &[mname]);
    }
    out.list
}

pub(super) async fn zone08(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("Zone08");
    let (mut names, mut aliased) = (BTreeSet::new(), BTreeSet::new());
    let mut answered = false;
    for (_, asked) in c.ask_each(&c.all_ips().await, &c.zone, Rtype::MX).await {
        let Some(reply) = asked.reply().filter(|r| r.aa) else { continue };
        answered = true;
        // Step 3 is about the answer itself, RFC 2181 about the names in it.
        aliased.extend(alias(reply, &c.zone).map(|_| c.zone.clone()));
        names.extend(reply.answers_of(&c.zone, Rtype::MX).filter_map(|rr| match &rr.data {
            Data::Mx(_, name) if !name.is_root() => Some(name.clone()),
            _ => None,
        }));
    }
    if !answered {
        out.add("NO_RESPONSE_MX_QUERY", &[]);
        return out.list;
    }
    for name in names {
        if is_alias(c, &name).await {
            aliased.insert(name);
        }
    }
    for name in aliased {
        out.add("MX_RECORD_IS_CNAME", &[("mailtarget", name.to_string().into())]);
    }
    if out.list.is_empty() {
        out.add("MX_RECORD_IS_NOT_CNAME", &[]);
    }
    out.list
}
