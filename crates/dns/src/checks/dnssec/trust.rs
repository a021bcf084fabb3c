//! DNSSEC02 (DS records match keys that sign), DNSSEC11 (a DS record needs a signed zone), DNSSEC18 (CDS and CDNSKEY
//! are signed by a key that a DS record names).

use super::{
    ByKey, Servers, SignatureStatus, TABLES, add_by_key, add_servers, addresses, ask_each, good, good_dnssec,
    judge, key_answers,
};
use super::{keys_of, row, set_of, signatures_of, valid_ds};
use crate::checks::context::{Context, serves};
use crate::checks::methods;
use crate::session::QueryResult;
use crate::wire::{Reply, Rr, Rtype};
use hickory_proto::dnssec::DigestType;
use model::finding::Finding;
use model::registration::Ds;
use std::net::IpAddr;

/// All DS records: what the user gave, or what the parent's servers give in answers that will do.
async fn all_ds(c: &Context<'_>, will_do: fn(&QueryResult) -> Option<&Reply>) -> Vec<Ds> {
    if !c.undelegated.ds.is_empty() || c.is_undelegated() {
        return c.undelegated.ds.clone();
    }
    let parents = c.parent_ns().await.as_ref().map(methods::ips).unwrap_or_default();
    let mut list: Vec<Ds> = Vec::new();
    for ip in parents {
        let asked = c.ask_dnssec(ip, &c.zone, Rtype::DS).await;
        if let Some(reply) = will_do(&asked) {
            list.extend(valid_ds(reply, &c.zone));
        }
    }
    list.sort_by_key(|d| (d.key_tag, d.algorithm, d.digest_type, d.digest.clone()));
    list.dedup();
    list
}

#[derive(Default)]
struct Sets {
    no_key: ByKey<u16>,
    no_match: ByKey<u16>,
    not_zone: ByKey<u16>,
    not_sep: ByKey<u16>,
    no_signature: ByKey<u16>,
    invalid: ByKey<u16>,
    unsupported: ByKey<(u16, u8)>,
    responding: Servers,
    with_key: Servers,
    with_signature: Servers,
}

pub(in crate::checks) async fn dnssec02(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("DNSSEC02");
    let ds = all_ds(c, good_dnssec).await;
    if ds.is_empty() {
        return out.list;
    }
    let mut sets = Sets::default();
    for (ip, asked) in key_answers(c).await {
        let Some(reply) = good_dnssec(&asked) else { continue };
        if !keys_of(reply, &c.zone).is_empty() {
            sets.responding.insert(ip);
            match_ds(c, ip, reply, &ds, &mut sets);
        }
    }
    add_by_key(c, &mut out, "DS02_NO_DNSKEY_FOR_DS", &sets.no_key).await;
    add_by_key(c, &mut out, "DS02_NO_MATCH_DS_DNSKEY", &sets.no_match).await;
    add_by_key(c, &mut out, "DS02_DNSKEY_NOT_FOR_ZONE_SIGNING", &sets.not_zone).await;
    add_by_key(c, &mut out, "DS02_DNSKEY_NOT_SEP", &sets.not_sep).await;
    add_by_key(c, &mut out, "DS02_NO_MATCHING_DNSKEY_RRSIG", &sets.no_signature).await;
    for ((key_tag, algorithm), servers) in &sets.unsupported {
        let mnemonic = row(&TABLES.algorithm, *algorithm).map_or("", |r| r.mnemonic.as_str());
        let args = [
            ("ns_list", c.ns_list(servers).await),
            ("keytag", (*key_tag).into()),
            ("algo_num", (*algorithm).into()),
            ("algo_mnemo", mnemonic.into()),
        ];
        out.add("DS02_ALGO_NOT_SUPPORTED_BY_ZM", &args);
    }
    add_by_key(c, &mut out, "DS02_RRSIG_NOT_VALID_BY_DNSKEY", &sets.invalid).await;
    let keyless: Servers = sets.responding.difference(&sets.with_key).copied().collect();
    if keyless.is_empty() {
        let unsigned: Servers = sets.responding.difference(&sets.with_signature).copied().collect();
        add_servers(c, &mut out, "DS02_DNSKEY_NOT_SIGNED_BY_ANY_DS", &unsigned).await;
    } else {
        add_servers(c, &mut out, "DS02_NO_VALID_DNSKEY_FOR_ANY_DS", &keyless).await;
    }
    out.list
}

fn match_ds(c: &Context<'_>, ip: IpAddr, reply: &Reply, ds: &[Ds], sets: &mut Sets) {
    let keys = keys_of(reply, &c.zone);
    let set: Vec<&Rr> = set_of(reply, &c.zone, Rtype::DNSKEY);
    let sigs = signatures_of(&reply.answers, &c.zone, Rtype::DNSKEY);
    for record in ds {
        let candidates: Vec<_> = keys.iter().filter(|k| k.key_tag == record.key_tag).collect();
        let known = DigestType::from(record.digest_type).is_supported();
        let matching = candidates.iter().find(|k| !known || c.ds_matches(record, k));
        let Some(key) = matching.or(candidates.first()) else {
            sets.no_key.entry(record.key_tag).or_default().insert(ip);
            continue;
        };
        if matching.is_none() {
            sets.no_match.entry(record.key_tag).or_default().insert(ip);
        }
        if !key.zone_key() {
            sets.not_zone.entry(record.key_tag).or_default().insert(ip);
            continue;
        }
        if !key.sep() {
            sets.not_sep.entry(key.key_tag).or_default().insert(ip);
        }
        sets.with_key.insert(ip);
        let mine: Vec<_> = sigs.iter().filter(|s| s.key_tag == key.key_tag).collect();
        if mine.is_empty() {
            sets.no_signature.entry(key.key_tag).or_default().insert(ip);
            continue;
        }
        let statuses: Vec<SignatureStatus> =
            mine.iter().map(|sig| judge(&set, sig, &[**key], &c.zone, &c.verifier)).collect();
        // One that was not computed might hold.
        if statuses.iter().any(|s| matches!(s, SignatureStatus::Verified | SignatureStatus::Unverified)) {
            sets.with_signature.insert(ip);
        } else if let Some(SignatureStatus::Unsupported(algorithm)) =
            statuses.iter().find(|s| matches!(s, SignatureStatus::Unsupported(_)))
        {
            sets.unsupported.entry((key.key_tag, *algorithm)).or_default().insert(ip);
        } else {
            sets.invalid.entry(key.key_tag).or_default().insert(ip);
        }
    }
}

pub(in crate::checks) async fn dnssec11(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("DNSSEC11");
    if c.is_undelegated() && c.undelegated.ds.is_empty() {
        return out.list;
    }
    if c.undelegated.ds.is_empty() {
        let parents = c.parent_ns().await.as_ref().map(methods::ips).unwrap_or_default();
        let (mut unknown, mut without, mut with) = (Servers::new(), Servers::new(), Servers::new());
        for (ip, asked) in ask_each(c, parents, Rtype::DS).await {
            match good(&asked).map(|r| valid_ds(r, &c.zone).is_empty()) {
                None => unknown.insert(ip),
                Some(true) => without.insert(ip),
                Some(false) => with.insert(ip),
            };
        }
        if with.is_empty() {
            if without.is_empty() && !unknown.is_empty() {
                out.add("DS11_UNDETERMINED_DS", &[]);
            }
            return out.list;
        }
        if !without.is_empty() {
            out.add("DS11_INCONSISTENT_DS", &[]);
            out.add("DS11_PARENT_WITHOUT_DS", &[("ns_ip_list", addresses(&without))]);
            out.add("DS11_PARENT_WITH_DS", &[("ns_ip_list", addresses(&with))]);
        }
    }
    let (mut unknown, mut without, mut with) = (Servers::new(), Servers::new(), Servers::new());
    for (ip, soa) in c.ask_each(&c.all_ips().await, &c.zone, Rtype::SOA).await {
        if !serves(soa.reply(), &c.zone) {
            continue;
        }
        let asked = c.ask_dnssec(ip, &c.zone, Rtype::DNSKEY).await;
        match good(&asked).map(|r| keys_of(r, &c.zone).is_empty()) {
            None => unknown.insert(ip),
            Some(true) => without.insert(ip),
            Some(false) => with.insert(ip),
        };
    }
    match (with.is_empty(), without.is_empty()) {
        (true, true) if !unknown.is_empty() => out.add("DS11_UNDETERMINED_SIGNED_ZONE", &[]),
        (true, false) => out.add("DS11_DS_BUT_UNSIGNED_ZONE", &[]),
        (false, false) => {
            out.add("DS11_INCONSISTENT_SIGNED_ZONE", &[]);
            out.add("DS11_NS_WITH_UNSIGNED_ZONE", &[("ns_ip_list", addresses(&without))]);
            out.add("DS11_NS_WITH_SIGNED_ZONE", &[("ns_ip_list", addresses(&with))]);
        }
        _ => {}
    }
    out.list
}

pub(in crate::checks) async fn dnssec18(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("DNSSEC18");
    let ds = all_ds(c, good).await;
    if ds.is_empty() {
        return out.list;
    }
    let (mut cds, mut cdnskey) = (Servers::new(), Servers::new());
    let answers = key_answers(c).await;
    if answers.iter().all(|(_, a)| good(a).is_none_or(|r| keys_of(r, &c.zone).is_empty())) {
        return out.list;
    }
    for (ip, asked) in answers {
        let keys = good(&asked).map(|r| keys_of(r, &c.zone)).unwrap_or_default();
        for (rtype, unmatched) in [(Rtype::CDS, &mut cds), (Rtype::CDNSKEY, &mut cdnskey)] {
            let asked = c.ask_dnssec(ip, &c.zone, rtype).await;
            // Without a usable answer for CDS the server is passed over.
            let Some(reply) = good(&asked) else { break };
            if reply.answers_of(&c.zone, rtype).next().is_none() {
                continue;
            }
            let sigs = signatures_of(&reply.answers, &c.zone, rtype);
            let named = |d: &Ds| keys.iter().any(|k| k.key_tag == d.key_tag);
            if !ds.iter().any(|d| named(d) && sigs.iter().any(|s| s.key_tag == d.key_tag)) {
                unmatched.insert(ip);
            }
        }
    }
    add_servers(c, &mut out, "DS18_NO_MATCH_CDS_RRSIG_DS", &cds).await;
    add_servers(c, &mut out, "DS18_NO_MATCH_CDNSKEY_RRSIG_DS", &cdnskey).await;
    out.list
}
