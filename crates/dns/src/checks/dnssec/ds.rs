//! DNSSEC01 (digests of DS records) and DNSSEC07 (a signed zone has DS records at its parent).

use super::{
    ByKey, Servers, TABLES, add_servers, addresses, ask_each, good_dnssec, row, signatures_of, valid_ds,
};
use crate::checks::context::{Context, joined, serves};
use crate::checks::methods;
use crate::wire::{Reply, Rtype, rcode_text};
use model::finding::Finding;
use model::registration::Ds;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Key tag and digest type.
type Digest = (u16, u8);

/// DS answers of the parent's servers: a DNSSEC response with AA, or nothing.
async fn parent_answers(c: &Context<'_>) -> Vec<(IpAddr, Option<Reply>)> {
    if c.zone.is_root() || c.is_undelegated() || !c.undelegated.ds.is_empty() {
        return Vec::new();
    }
    let parents = c.parent_ns().await.as_ref().map(methods::ips).unwrap_or_default();
    let asked = ask_each(c, parents, Rtype::DS).await;
    asked.into_iter().map(|(ip, asked)| (ip, good_dnssec(&asked).cloned())).collect()
}

pub(in crate::checks) async fn dnssec01(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("DNSSEC01");
    let (mut ignored, mut without, mut with) = (Servers::new(), Servers::new(), Servers::new());
    // `None` stands for what the user gave.
    let mut digests: BTreeMap<Digest, BTreeSet<Option<IpAddr>>> = BTreeMap::new();
    let mut add = |list: &[Ds], ip: Option<IpAddr>| {
        for ds in list {
            digests.entry((ds.key_tag, ds.digest_type)).or_default().insert(ip);
        }
    };
    add(&c.undelegated.ds, None);
    for (ip, reply) in parent_answers(c).await {
        match reply.map(|r| valid_ds(&r, &c.zone)) {
            None => ignored.insert(ip),
            Some(list) if list.is_empty() => without.insert(ip),
            Some(list) => {
                add(&list, Some(ip));
                with.insert(ip)
            }
        };
    }
    let list = |ips: &BTreeSet<Option<IpAddr>>| -> Value {
        let texts: Vec<String> = ips.iter().map(|ip| ip.map_or("-".into(), |ip| ip.to_string())).collect();
        texts.join(";").into()
    };
    for ((key_tag, digest_type), ips) in &digests {
        let Some(row) = row(&TABLES.digest, *digest_type) else { continue };
        let args = [
            ("ns_ip_list", list(ips)),
            ("keytag", (*key_tag).into()),
            ("ds_algo_num", (*digest_type).into()),
            ("ds_algo_descr", row.description.as_str().into()),
        ];
        out.add(&format!("DS01_DS_ALGO_{}", row.class), &args);
    }
    let mut missing: ByKeyOption = BTreeMap::new();
    for ((key_tag, digest_type), ips) in &digests {
        if *digest_type != 2 {
            missing.entry(*key_tag).or_default().extend(ips);
        }
    }
    for (key_tag, mut ips) in missing {
        if let Some(better) = digests.get(&(key_tag, 2)) {
            ips.retain(|ip| !better.contains(ip));
        }
        if !ips.is_empty() {
            out.add("DS01_DS_ALGO_2_MISSING", &[("ns_ip_list", list(&ips)), ("keytag", key_tag.into())]);
        }
    }
    let given = !c.undelegated.ds.is_empty();
    if with.is_empty() && without.is_empty() && !given && !ignored.is_empty() {
        out.add("DS01_NO_RESPONSE", &[("ns_ip_list", addresses(&ignored))]);
    }
    if !without.is_empty() {
        let tag = if with.is_empty() { "DS01_PARENT_ZONE_NO_DS" } else { "DS01_PARENT_SERVER_NO_DS" };
        out.add(tag, &[("ns_ip_list", addresses(&without))]);
    }
    if c.zone.is_root() && !given {
        out.add("DS01_ROOT_N_NO_UNDEL_DS", &[]);
    }
    if c.is_undelegated() && !given {
        out.add("DS01_UNDEL_N_NO_UNDEL_DS", &[]);
    }
    out.list
}

type ByKeyOption = BTreeMap<u16, BTreeSet<Option<IpAddr>>>;

/// Servers of the parent as `name/address`.
async fn parent_list(c: &Context<'_>, ips: &Servers) -> Value {
    let named = c.parent_ns().await.iter().flatten();
    let entries = named.flat_map(|(name, own)| own.intersection(ips).map(move |ip| format!("{name}/{ip}")));
    joined(entries)
}

pub(in crate::checks) async fn dnssec07(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("DNSSEC07");
    let all = c.all_ips().await;
    let (mut silent, mut not_auth) = (Servers::new(), Servers::new());
    let (mut unsigned, mut signed) = (Servers::new(), Servers::new());
    let mut rcodes: ByKey<String> = BTreeMap::new();
    let mut usable = 0;
    for (ip, soa) in c.ask_each(&all, &c.zone, Rtype::SOA).await {
        if !serves(soa.reply(), &c.zone) {
            continue;
        }
        usable += 1;
        let asked = c.ask_dnssec(ip, &c.zone, Rtype::DNSKEY).await;
        match asked.reply() {
            None => silent.insert(ip),
            Some(r) if !r.aa => not_auth.insert(ip),
            Some(r) if r.rcode != 0 => rcodes.entry(rcode_text(r.rcode)).or_default().insert(ip),
            Some(r) => {
                let keys = r.answers_of(&c.zone, Rtype::DNSKEY).next().is_some();
                let sealed = !signatures_of(&r.answers, &c.zone, Rtype::DNSKEY).is_empty();
                if keys && sealed { signed.insert(ip) } else { unsigned.insert(ip) }
            }
        };
    }
    let (mut no_ds, mut ds) = (Servers::new(), Servers::new());
    let mut given = false;
    if !signed.is_empty() {
        given = !c.undelegated.ds.is_empty();
        for (ip, reply) in parent_answers(c).await {
            let Some(reply) = reply else { continue };
            let sealed = !signatures_of(&reply.answers, &c.zone, Rtype::DS).is_empty();
            if sealed && !valid_ds(&reply, &c.zone).is_empty() {
                ds.insert(ip)
            } else {
                no_ds.insert(ip)
            };
        }
    }
    let failed = silent.len() + not_auth.len() + rcodes.values().map(Servers::len).sum::<usize>();
    if failed == usable && signed.is_empty() && unsigned.is_empty() {
        out.add("DS07_NOT_SIGNED", &[]);
    }
    add_servers(c, &mut out, "DS07_NO_RESPONSE_DNSKEY", &silent).await;
    add_servers(c, &mut out, "DS07_NON_AUTH_RESPONSE_DNSKEY", &not_auth).await;
    for (rcode, servers) in &rcodes {
        let args = [("rcode", rcode.as_str().into()), ("ns_list", c.ns_list(servers).await)];
        out.add("DS07_UNEXP_RCODE_RESP_DNSKEY", &args);
    }
    add_servers(c, &mut out, "DS07_SIGNED_ON_SERVER", &signed).await;
    add_servers(c, &mut out, "DS07_NOT_SIGNED_ON_SERVER", &unsigned).await;
    match (signed.is_empty(), unsigned.is_empty()) {
        (false, false) => out.add("DS07_INCONSISTENT_SIGNED", &[]),
        (false, true) => out.add("DS07_SIGNED", &[]),
        (true, false) => out.add("DS07_NOT_SIGNED", &[]),
        (true, true) => {}
    }
    if !no_ds.is_empty() {
        out.add("DS07_NO_DS_ON_PARENT_SERVER", &[("ns_list", parent_list(c, &no_ds).await)]);
    }
    let has_ds = given || !ds.is_empty();
    if has_ds {
        let list: Value = if given { "-".into() } else { parent_list(c, &ds).await };
        out.add("DS07_DS_ON_PARENT_SERVER", &[("ns_list", list)]);
    }
    if has_ds && !no_ds.is_empty() {
        out.add("DS07_INCONSISTENT_DS", &[]);
    } else if unsigned.is_empty() && !signed.is_empty() {
        if !no_ds.is_empty() {
            out.add("DS07_NO_DS_FOR_SIGNED_ZONE", &[]);
        } else if has_ds {
            out.add("DS07_DS_FOR_SIGNED_ZONE", &[]);
        }
    }
    out.list
}
