//! DNSSEC16 (CDS records, RFC 7344 and RFC 8078).

use super::{ByKey, Seal, Servers, add_by_key, add_servers, good, judge, keys_of, set_of, signatures_of};
use crate::checks::context::Context;
use crate::wire::{Data, Dnskey, Reply, Rr, Rtype};
use model::finding::Finding;
use model::registration::Ds;
use std::net::IpAddr;

#[derive(Default)]
struct Sets {
    no_keys: Servers,
    mixed: Servers,
    delete: Servers,
    unsigned: Servers,
    no_match: ByKey<u16>,
    non_zone: ByKey<u16>,
    non_sep: ByKey<u16>,
    keys_not_by: ByKey<u16>,
    cds_not_by: ByKey<u16>,
    unknown: ByKey<u16>,
    invalid: ByKey<u16>,
}

pub(in crate::checks) async fn dnssec16(c: &Context<'_>) -> Vec<Finding> {
    let mut sets = Sets::default();
    for ip in c.all_ips().await {
        let asked = c.ask_dnssec(ip, &c.zone, Rtype::CDS).await;
        let Some(cds) = good(&asked).filter(|r| r.answers_of(&c.zone, Rtype::CDS).next().is_some()) else {
            continue;
        };
        let asked = c.ask_dnssec(ip, &c.zone, Rtype::DNSKEY).await;
        examine(c, ip, cds, good(&asked), &mut sets);
    }
    let mut out = c.findings("DNSSEC16");
    add_servers(c, &mut out, "DS16_CDS_WITHOUT_DNSKEY", &sets.no_keys).await;
    add_servers(c, &mut out, "DS16_MIXED_DELETE_CDS", &sets.mixed).await;
    add_servers(c, &mut out, "DS16_DELETE_CDS", &sets.delete).await;
    add_by_key(c, &mut out, "DS16_CDS_MATCHES_NO_DNSKEY", &sets.no_match).await;
    add_by_key(c, &mut out, "DS16_CDS_MATCHES_NON_ZONE_DNSKEY", &sets.non_zone).await;
    add_by_key(c, &mut out, "DS16_CDS_MATCHES_NON_SEP_DNSKEY", &sets.non_sep).await;
    add_by_key(c, &mut out, "DS16_DNSKEY_NOT_SIGNED_BY_CDS", &sets.keys_not_by).await;
    add_by_key(c, &mut out, "DS16_CDS_NOT_SIGNED_BY_CDS", &sets.cds_not_by).await;
    add_by_key(c, &mut out, "DS16_CDS_INVALID_RRSIG", &sets.invalid).await;
    add_servers(c, &mut out, "DS16_CDS_UNSIGNED", &sets.unsigned).await;
    add_by_key(c, &mut out, "DS16_CDS_SIGNED_BY_UNKNOWN_DNSKEY", &sets.unknown).await;
    out.list
}

/// The record that asks for the removal of all DS records (RFC 8078 section 4).
fn is_delete(ds: &Ds) -> bool {
    ds.algorithm == 0
}

fn examine(c: &Context<'_>, ip: IpAddr, cds: &Reply, keys_reply: Option<&Reply>, sets: &mut Sets) {
    let set: Vec<&Rr> = set_of(cds, &c.zone, Rtype::CDS);
    let records: Vec<&Ds> = set
        .iter()
        .filter_map(|rr| match &rr.data {
            Data::Ds(ds) => Some(ds),
            _ => None,
        })
        .collect();
    if records.iter().any(|ds| is_delete(ds)) {
        let which = if records.len() > 1 { &mut sets.mixed } else { &mut sets.delete };
        which.insert(ip);
    }
    let keys: Vec<&Dnskey> = keys_reply.map(|r| keys_of(r, &c.zone)).unwrap_or_default();
    let Some(keys_reply) = keys_reply.filter(|_| !keys.is_empty()) else {
        sets.no_keys.insert(ip);
        return;
    };
    let sigs = signatures_of(&cds.answers, &c.zone, Rtype::CDS);
    let key_sigs = signatures_of(&keys_reply.answers, &c.zone, Rtype::DNSKEY);
    for ds in records.iter().filter(|ds| !is_delete(ds)) {
        let mut note = |map: fn(&mut Sets) -> &mut ByKey<u16>| {
            map(sets).entry(ds.key_tag).or_default().insert(ip);
        };
        let Some(key) = keys.iter().find(|k| k.key_tag == ds.key_tag) else {
            note(|s| &mut s.no_match);
            continue;
        };
        if !key.zone_key() {
            note(|s| &mut s.non_zone);
            continue;
        }
        if !key_sigs.iter().any(|s| s.key_tag == ds.key_tag) {
            note(|s| &mut s.keys_not_by);
        }
        if !sigs.iter().any(|s| s.key_tag == ds.key_tag) {
            note(|s| &mut s.cds_not_by);
        }
        if !key.sep() {
            note(|s| &mut s.non_sep);
        }
    }
    if sigs.is_empty() {
        sets.unsigned.insert(ip);
    }
    for sig in sigs {
        match judge(&set, sig, &keys, c.now) {
            Seal::NoKey => sets.unknown.entry(sig.key_tag).or_default().insert(ip),
            Seal::Verified | Seal::Unsupported(_) => continue,
            _ => sets.invalid.entry(sig.key_tag).or_default().insert(ip),
        };
    }
}
