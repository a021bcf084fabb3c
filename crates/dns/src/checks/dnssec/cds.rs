//! DNSSEC15 (CDS and CDNSKEY agree), DNSSEC16 (CDS records) and DNSSEC17 (CDNSKEY records). RFC 7344 and RFC 8078.

use super::{
    ByKey, Servers, SignatureStatus, add_by_key, add_servers, good, judge, keys_of, set_of, signatures_of,
};
use crate::checks::context::Context;
use crate::dnssec::verify;
use crate::wire::{Data, Dnskey, Reply, Rr, Rtype};
use model::finding::Finding;
use model::registration::Ds;
use std::collections::{BTreeMap, BTreeSet};
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
    set_not_by: ByKey<u16>,
    unknown: ByKey<u16>,
    invalid: ByKey<u16>,
}

/// What a CDS or CDNSKEY record points to.
enum Pointer<'r> {
    /// The request to remove all DS records (RFC 8078 section 4).
    Delete,
    /// A key, by its tag and digest.
    Tag(&'r Ds),
    /// A key, given whole.
    Key(&'r Dnskey),
}

fn pointer(rr: &Rr) -> Option<Pointer<'_>> {
    match &rr.data {
        Data::Ds(ds) if ds.algorithm == 0 => Some(Pointer::Delete),
        Data::Ds(ds) => Some(Pointer::Tag(ds)),
        Data::Dnskey(key) if key.algorithm == 0 => Some(Pointer::Delete),
        Data::Dnskey(key) => Some(Pointer::Key(key)),
        _ => None,
    }
}

pub(in crate::checks) async fn dnssec16(c: &Context<'_>) -> Vec<Finding> {
    let sets = collect(c, Rtype::CDS).await;
    let mut out = c.findings("DNSSEC16");
    add_servers(c, &mut out, "DS16_CDS_WITHOUT_DNSKEY", &sets.no_keys).await;
    add_servers(c, &mut out, "DS16_MIXED_DELETE_CDS", &sets.mixed).await;
    add_servers(c, &mut out, "DS16_DELETE_CDS", &sets.delete).await;
    add_by_key(c, &mut out, "DS16_CDS_MATCHES_NO_DNSKEY", &sets.no_match).await;
    add_by_key(c, &mut out, "DS16_CDS_MATCHES_NON_ZONE_DNSKEY", &sets.non_zone).await;
    add_by_key(c, &mut out, "DS16_CDS_MATCHES_NON_SEP_DNSKEY", &sets.non_sep).await;
    add_by_key(c, &mut out, "DS16_DNSKEY_NOT_SIGNED_BY_CDS", &sets.keys_not_by).await;
    add_by_key(c, &mut out, "DS16_CDS_NOT_SIGNED_BY_CDS", &sets.set_not_by).await;
    add_by_key(c, &mut out, "DS16_CDS_INVALID_RRSIG", &sets.invalid).await;
    add_servers(c, &mut out, "DS16_CDS_UNSIGNED", &sets.unsigned).await;
    add_by_key(c, &mut out, "DS16_CDS_SIGNED_BY_UNKNOWN_DNSKEY", &sets.unknown).await;
    out.list
}

pub(in crate::checks) async fn dnssec17(c: &Context<'_>) -> Vec<Finding> {
    let sets = collect(c, Rtype::CDNSKEY).await;
    let mut out = c.findings("DNSSEC17");
    add_servers(c, &mut out, "DS17_CDNSKEY_WITHOUT_DNSKEY", &sets.no_keys).await;
    add_servers(c, &mut out, "DS17_MIXED_DELETE_CDNSKEY", &sets.mixed).await;
    add_servers(c, &mut out, "DS17_DELETE_CDNSKEY", &sets.delete).await;
    add_by_key(c, &mut out, "DS17_CDNSKEY_MATCHES_NO_DNSKEY", &sets.no_match).await;
    add_by_key(c, &mut out, "DS17_CDNSKEY_IS_NON_ZONE", &sets.non_zone).await;
    add_by_key(c, &mut out, "DS17_CDNSKEY_IS_NON_SEP", &sets.non_sep).await;
    add_by_key(c, &mut out, "DS17_DNSKEY_NOT_SIGNED_BY_CDNSKEY", &sets.keys_not_by).await;
    add_by_key(c, &mut out, "DS17_CDNSKEY_NOT_SIGNED_BY_CDNSKEY", &sets.set_not_by).await;
    add_by_key(c, &mut out, "DS17_CDNSKEY_INVALID_RRSIG", &sets.invalid).await;
    add_servers(c, &mut out, "DS17_CDNSKEY_UNSIGNED", &sets.unsigned).await;
    add_by_key(c, &mut out, "DS17_CDNSKEY_SIGNED_BY_UNKNOWN_DNSKEY", &sets.unknown).await;
    out.list
}

async fn collect(c: &Context<'_>, rtype: Rtype) -> Sets {
    let mut sets = Sets::default();
    for ip in c.all_ips().await {
        let asked = c.ask_dnssec(ip, &c.zone, rtype).await;
        let Some(reply) = good(&asked).filter(|r| r.answers_of(&c.zone, rtype).next().is_some()) else {
            continue;
        };
        let asked = c.ask_dnssec(ip, &c.zone, Rtype::DNSKEY).await;
        examine(c, ip, rtype, reply, good(&asked), &mut sets);
    }
    sets
}

fn examine(
    c: &Context<'_>,
    ip: IpAddr,
    rtype: Rtype,
    reply: &Reply,
    keys_reply: Option<&Reply>,
    sets: &mut Sets,
) {
    let set: Vec<&Rr> = set_of(reply, &c.zone, rtype);
    let pointers: Vec<Pointer<'_>> = set.iter().filter_map(|rr| pointer(rr)).collect();
    if pointers.iter().any(|p| matches!(p, Pointer::Delete)) {
        let which = if pointers.len() > 1 { &mut sets.mixed } else { &mut sets.delete };
        which.insert(ip);
    }
    let keys: Vec<&Dnskey> = keys_reply.map(|r| keys_of(r, &c.zone)).unwrap_or_default();
    let Some(keys_reply) = keys_reply.filter(|_| !keys.is_empty()) else {
        sets.no_keys.insert(ip);
        return;
    };
    let sigs = signatures_of(&reply.answers, &c.zone, rtype);
    let key_sigs = signatures_of(&keys_reply.answers, &c.zone, Rtype::DNSKEY);
    for pointer in &pointers {
        let (tag, key) = match pointer {
            Pointer::Delete => continue,
            Pointer::Tag(ds) => {
                // Of keys with one tag the one whose digest it is.
                let mut mine = keys.iter().copied().filter(|k| k.key_tag == ds.key_tag);
                let first = mine.clone().next();
                (ds.key_tag, mine.find(|k| c.ds_matches(ds, k)).or(first))
            }
            // A CDNSKEY record is the whole key: it matches itself only.
            Pointer::Key(own) => (own.key_tag, keys.iter().copied().find(|k| k == own)),
        };
        let mut note = |map: fn(&mut Sets) -> &mut ByKey<u16>| {
            map(sets).entry(tag).or_default().insert(ip);
        };
        // The flags of a CDNSKEY record are its own; a CDS record has those of the key it names.
        let flags = match pointer {
            Pointer::Key(own) => Some(*own),
            _ => key,
        };
        if key.is_none() && matches!(pointer, Pointer::Tag(_)) {
            note(|s| &mut s.no_match);
            continue;
        }
        if flags.is_some_and(|k| !k.zone_key()) {
            note(|s| &mut s.non_zone);
            continue;
        }
        if flags.is_some_and(|k| !k.sep()) {
            note(|s| &mut s.non_sep);
        }
        if key.is_none() {
            note(|s| &mut s.no_match);
            continue;
        }
        if !key_sigs.iter().any(|s| s.key_tag == tag) {
            note(|s| &mut s.keys_not_by);
        }
        if !sigs.iter().any(|s| s.key_tag == tag) {
            note(|s| &mut s.set_not_by);
        }
    }
    if sigs.is_empty() {
        sets.unsigned.insert(ip);
    }
    for sig in sigs {
        match judge(&set, sig, &keys, &c.zone, &c.verifier) {
            SignatureStatus::NoKey => sets.unknown.entry(sig.key_tag).or_default().insert(ip),
            SignatureStatus::Verified | SignatureStatus::Unsupported(_) | SignatureStatus::Unverified => {
                continue;
            }
            _ => sets.invalid.entry(sig.key_tag).or_default().insert(ip),
        };
    }
}

/// The RDATA of a set in an order that does not depend on the server.
fn sorted(set: &[&Rr]) -> Vec<Vec<u8>> {
    let mut raw: Vec<Vec<u8>> = set.iter().map(|rr| rr.raw.clone()).collect();
    raw.sort();
    raw
}

pub(in crate::checks) async fn dnssec15(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("DNSSEC15");
    let (mut cds_only, mut key_only) = (Servers::new(), Servers::new());
    let (mut both, mut mismatch) = (Servers::new(), Servers::new());
    let mut sets: BTreeMap<Rtype, BTreeSet<Vec<Vec<u8>>>> = BTreeMap::new();
    for ip in c.all_ips().await {
        // A server without a usable answer for CDS is not asked for CDNSKEY; each answer counts for the comparison of
        // servers, both together for that of the two sets.
        let cds = c.ask_dnssec(ip, &c.zone, Rtype::CDS).await;
        let Some(ds) = good(&cds).map(|r| set_of(r, &c.zone, Rtype::CDS)) else { continue };
        sets.entry(Rtype::CDS).or_default().insert(sorted(&ds));
        let cdnskey = c.ask_dnssec(ip, &c.zone, Rtype::CDNSKEY).await;
        let Some(keys) = good(&cdnskey).map(|r| set_of(r, &c.zone, Rtype::CDNSKEY)) else { continue };
        sets.entry(Rtype::CDNSKEY).or_default().insert(sorted(&keys));
        match (ds.is_empty(), keys.is_empty()) {
            (true, true) => {}
            (false, true) => {
                cds_only.insert(ip);
            }
            (true, false) => {
                key_only.insert(ip);
            }
            (false, false) => {
                both.insert(ip);
                let fits = |d: &Rr, k: &Rr| match (pointer(d), pointer(k)) {
                    (Some(Pointer::Delete), Some(Pointer::Delete)) => true,
                    (Some(Pointer::Tag(record)), Some(Pointer::Key(key))) => {
                        let known = verify::digest(&c.zone, key, record.digest_type).is_some();
                        if known {
                            c.ds_matches(record, key)
                        } else {
                            (record.key_tag, record.algorithm) == (key.key_tag, key.algorithm)
                        }
                    }
                    _ => false,
                };
                let complete = ds.iter().all(|d| keys.iter().any(|k| fits(d, k)))
                    && keys.iter().all(|k| ds.iter().any(|d| fits(d, k)));
                if !complete {
                    mismatch.insert(ip);
                }
            }
        }
    }
    if sets.values().flatten().all(Vec::is_empty) {
        out.add("DS15_NO_CDS_CDNSKEY", &[]);
        return out.list;
    }
    add_servers(c, &mut out, "DS15_HAS_CDS_NO_CDNSKEY", &cds_only).await;
    add_servers(c, &mut out, "DS15_HAS_CDNSKEY_NO_CDS", &key_only).await;
    add_servers(c, &mut out, "DS15_HAS_CDS_AND_CDNSKEY", &both).await;
    if sets.get(&Rtype::CDS).is_some_and(|s| s.len() > 1) {
        out.add("DS15_INCONSISTENT_CDS", &[]);
    }
    if sets.get(&Rtype::CDNSKEY).is_some_and(|s| s.len() > 1) {
        out.add("DS15_INCONSISTENT_CDNSKEY", &[]);
    }
    add_servers(c, &mut out, "DS15_MISMATCH_CDS_CDNSKEY", &mismatch).await;
    out.list
}
