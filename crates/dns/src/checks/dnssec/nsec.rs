//! DNSSEC10 (denial of existence: NSEC or NSEC3, well formed, signed, the same on all servers; specification of 2023,
//! with the tags for NSEC3PARAM that came after it). Both questions are put to every server that has keys.

use super::signatures::judge_by_time;
use super::{
    ByKey, Servers, SignatureStatus, TABLES, add_by_key, add_servers, good, key_answers, keys_of, row,
    signatures_of,
};
use crate::checks::context::Context;
use crate::present::base32hex;
use crate::wire::{Data, Dnskey, Name, Reply, Rr, Rtype};
use model::finding::Finding;
use std::net::IpAddr;

/// Sets for one of the two ways, NSEC or NSEC3.
#[derive(Default)]
struct Way {
    /// The record itself (NSEC), or NSEC3PARAM, in the answer.
    answer: Servers,
    /// The record in the authority section of a NODATA answer.
    nodata: Servers,
    multiple: Servers,
    types: Servers,
    mismatch: Servers,
    unsigned: Servers,
    no_soa: Servers,
    wrong_soa: ByKey<Name>,
    error_answer: Servers,
    error_response: Servers,
    no_key: ByKey<u16>,
    expired: ByKey<u16>,
    not_yet: ByKey<u16>,
    invalid_signature: ByKey<u16>,
    verified: Servers,
}

impl Way {
    fn used(&self) -> Servers {
        self.answer.union(&self.nodata).copied().collect()
    }
}

#[derive(Default)]
struct Sets {
    nsec: Way,
    nsec3: Way,
    unsupported: ByKey<(u16, u8)>,
    many_params: Servers,
    stray_param: Servers,
    with: Servers,
    without: Servers,
}

pub(in crate::checks) async fn dnssec10(c: &Context<'_>) -> Vec<Finding> {
    let mut sets = Sets::default();
    let mut all = Servers::new();
    for (ip, asked) in key_answers(c).await {
        let Some(reply) = good(&asked) else { continue };
        let keys = keys_of(reply, &c.zone);
        if keys.is_empty() {
            sets.without.insert(ip);
            continue;
        }
        sets.with.insert(ip);
        all.insert(ip);
        examine_nsec(c, ip, &keys, &mut sets).await;
        examine_nsec3param(c, ip, &keys, &mut sets).await;
    }
    report(c, &sets, &all).await
}

fn records(section: &[Rr], rtype: Rtype) -> Vec<&Rr> {
    section.iter().filter(|rr| rr.rtype == rtype).collect()
}

/// The question for NSEC: a record in the answer, or an NSEC3 that denies it.
async fn examine_nsec(c: &Context<'_>, ip: IpAddr, keys: &[&Dnskey], sets: &mut Sets) {
    let asked = c.ask_dnssec(ip, &c.zone, Rtype::NSEC).await;
    let Some(reply) = good(&asked) else {
        sets.nsec.error_response.insert(ip);
        return;
    };
    if !reply.answers.is_empty() {
        let found = records(&reply.answers, Rtype::NSEC);
        if found.is_empty() {
            sets.nsec.error_answer.insert(ip);
        } else {
            sets.nsec.answer.insert(ip);
            if found.len() > 1 {
                sets.nsec.multiple.insert(ip);
            } else if found.iter().any(|rr| rr.name != c.zone) {
                sets.nsec.mismatch.insert(ip);
            }
        }
        return;
    }
    let found = records(&reply.authority, Rtype::NSEC3);
    let Some(first) = found.first() else { return };
    sets.nsec3.nodata.insert(ip);
    soa_of_denial(c, ip, reply, &mut sets.nsec3);
    if found.len() > 1 {
        sets.nsec3.multiple.insert(ip);
        return;
    }
    if let Data::Nsec3(n) = &first.data {
        // `None`: more iterations than anybody should be made to compute; whose record it is stays open then.
        let hash =
            c.verifier.nsec3_hash(&c.zone, &n.salt, n.iterations).ok().flatten().map(|h| base32hex(&h));
        let label = first.name.labels().next();
        if hash.is_some_and(|h| label != Some(h.as_bytes())) {
            sets.nsec3.mismatch.insert(ip);
        } else {
            let wanted = [Rtype::SOA, Rtype::NS, Rtype::DNSKEY, Rtype::NSEC3PARAM, Rtype::RRSIG];
            type_list(&n.types, &wanted, &[Rtype::NSEC, Rtype::NSEC3], ip, &mut sets.nsec3);
        }
    }
    check_signatures(c, ip, reply, first, keys, &mut sets.nsec3, &mut sets.unsupported);
}

/// The question for NSEC3PARAM: the record in the answer, or an NSEC that denies it.
async fn examine_nsec3param(c: &Context<'_>, ip: IpAddr, keys: &[&Dnskey], sets: &mut Sets) {
    let asked = c.ask_dnssec(ip, &c.zone, Rtype::NSEC3PARAM).await;
    let Some(reply) = good(&asked) else {
        sets.nsec3.error_response.insert(ip);
        return;
    };
    if !reply.answers.is_empty() {
        let found = records(&reply.answers, Rtype::NSEC3PARAM);
        if found.is_empty() {
            sets.nsec3.error_answer.insert(ip);
            return;
        }
        sets.nsec3.answer.insert(ip);
        if found.len() > 1 {
            sets.many_params.insert(ip);
        } else if found.iter().any(|rr| rr.name != c.zone) {
            sets.stray_param.insert(ip);
        }
        return;
    }
    let found = records(&reply.authority, Rtype::NSEC);
    let Some(first) = found.first() else { return };
    sets.nsec.nodata.insert(ip);
    soa_of_denial(c, ip, reply, &mut sets.nsec);
    if found.len() > 1 {
        sets.nsec.multiple.insert(ip);
        return;
    }
    if first.name != c.zone {
        sets.nsec.mismatch.insert(ip);
    } else if let Data::Nsec(_, types) = &first.data {
        let wanted = [Rtype::SOA, Rtype::NS, Rtype::DNSKEY, Rtype::NSEC, Rtype::RRSIG];
        type_list(types, &wanted, &[Rtype::NSEC3PARAM, Rtype::NSEC3], ip, &mut sets.nsec);
    }
    check_signatures(c, ip, reply, first, keys, &mut sets.nsec, &mut sets.unsupported);
}

fn type_list(types: &[Rtype], wanted: &[Rtype], unwanted: &[Rtype], ip: IpAddr, way: &mut Way) {
    if wanted.iter().any(|t| !types.contains(t)) || unwanted.iter().any(|t| types.contains(t)) {
        way.types.insert(ip);
    }
}

fn soa_of_denial(c: &Context<'_>, ip: IpAddr, reply: &Reply, way: &mut Way) {
    match records(&reply.authority, Rtype::SOA).first() {
        None => {
            way.no_soa.insert(ip);
        }
        Some(rr) if rr.name != c.zone => {
            way.wrong_soa.entry(rr.name.clone()).or_default().insert(ip);
        }
        Some(_) => {}
    }
}

fn check_signatures(
    c: &Context<'_>,
    ip: IpAddr,
    reply: &Reply,
    rr: &Rr,
    keys: &[&Dnskey],
    way: &mut Way,
    unsupported: &mut ByKey<(u16, u8)>,
) {
    let sigs = signatures_of(&reply.authority, &rr.name, rr.rtype);
    if sigs.is_empty() {
        way.unsigned.insert(ip);
    }
    for sig in sigs {
        // The key comes first, then the time, then the algorithm; DNSSEC08 and DNSSEC09 begin with the time.
        let known = keys.iter().any(|k| k.key_tag == sig.key_tag);
        let status = if known {
            judge_by_time(&[rr], sig, keys, &c.zone, &c.verifier)
        } else {
            SignatureStatus::NoKey
        };
        let map = match status {
            // One that was not computed might hold: nothing is said against the server.
            SignatureStatus::Verified | SignatureStatus::Unverified => {
                way.verified.insert(ip);
                continue;
            }
            SignatureStatus::Unsupported(algorithm) => {
                unsupported.entry((sig.key_tag, algorithm)).or_default().insert(ip);
                continue;
            }
            SignatureStatus::NoKey => &mut way.no_key,
            SignatureStatus::Expired => &mut way.expired,
            SignatureStatus::NotYet => &mut way.not_yet,
            SignatureStatus::Invalid => &mut way.invalid_signature,
        };
        map.entry(sig.key_tag).or_default().insert(ip);
    }
}

async fn report(c: &Context<'_>, sets: &Sets, all: &Servers) -> Vec<Finding> {
    let mut out = c.findings("DNSSEC10");
    let (nsec, nsec3) = (sets.nsec.used(), sets.nsec3.used());
    for (name, way, other) in [("NSEC", &sets.nsec, &nsec3), ("NSEC3", &sets.nsec3, &nsec)] {
        add_servers(c, &mut out, &format!("DS10_ERR_MULT_{name}"), &way.multiple).await;
        let uneven: Servers =
            way.answer.symmetric_difference(&way.nodata).copied().filter(|ip| !other.contains(ip)).collect();
        add_servers(c, &mut out, &format!("DS10_INCONSISTENT_{name}"), &uneven).await;
        if other.is_empty() {
            add_servers(c, &mut out, &format!("DS10_HAS_{name}"), &way.used()).await;
        }
        add_servers(c, &mut out, &format!("DS10_{name}_ERR_TYPE_LIST"), &way.types).await;
        add_servers(c, &mut out, &format!("DS10_{name}_MISMATCHES_APEX"), &way.mismatch).await;
        for (owner, servers) in &way.wrong_soa {
            let args = [("domain", owner.to_string().into()), ("ns_list", c.ns_list(servers).await)];
            out.add(&format!("DS10_{name}_NODATA_WRONG_SOA"), &args);
        }
        add_servers(c, &mut out, &format!("DS10_{name}_NODATA_MISSING_SOA"), &way.no_soa).await;
        add_servers(c, &mut out, &format!("DS10_{name}_MISSING_SIGNATURE"), &way.unsigned).await;
        let asked = if name == "NSEC" { "NSEC" } else { "NSEC3PARAM" };
        add_servers(c, &mut out, &format!("DS10_{asked}_GIVES_ERR_ANSWER"), &way.error_answer).await;
        add_servers(c, &mut out, &format!("DS10_{asked}_QUERY_RESPONSE_ERR"), &way.error_response).await;
        let mut failed = Servers::new();
        for (what, map) in [
            ("NO_DNSKEY", &way.no_key),
            ("EXPIRED", &way.expired),
            ("NOT_YET_VALID", &way.not_yet),
            ("VERIFY_ERROR", &way.invalid_signature),
        ] {
            add_by_key(c, &mut out, &format!("DS10_{name}_RRSIG_{what}"), map).await;
            failed.extend(map.values().flatten());
        }
        failed.retain(|ip| !way.verified.contains(ip));
        add_servers(c, &mut out, &format!("DS10_{name}_NO_VERIFIED_SIGNATURE"), &failed).await;
    }
    add_servers(c, &mut out, "DS10_ERR_MULT_NSEC3PARAM", &sets.many_params).await;
    add_servers(c, &mut out, "DS10_NSEC3PARAM_MISMATCHES_APEX", &sets.stray_param).await;
    let mixed: Servers = nsec.intersection(&nsec3).copied().collect();
    add_servers(c, &mut out, "DS10_MIXED_NSEC_NSEC3", &mixed).await;
    // Servers that use both are told above: here one has to use NSEC alone and another NSEC3 alone.
    if !nsec.is_subset(&nsec3) && !nsec3.is_subset(&nsec) {
        let args = [("ns_list_nsec", c.ns_list(&nsec).await), ("ns_list_nsec3", c.ns_list(&nsec3).await)];
        out.add("DS10_INCONSISTENT_NSEC_NSEC3", &args);
    }
    for ((key_tag, algorithm), servers) in &sets.unsupported {
        let mnemonic = row(&TABLES.algorithm, *algorithm).map_or("", |r| r.mnemonic.as_str());
        let args = [
            ("ns_list", c.ns_list(servers).await),
            ("keytag", (*key_tag).into()),
            ("algo_num", (*algorithm).into()),
            ("algo_mnemo", mnemonic.into()),
        ];
        out.add("DS10_ALGO_NOT_SUPPORTED_BY_ZM", &args);
    }
    let tag = if sets.with.is_empty() { "DS10_ZONE_NO_DNSSEC" } else { "DS10_SERVER_NO_DNSSEC" };
    add_servers(c, &mut out, tag, &sets.without).await;
    let missing: Servers =
        all.iter().copied().filter(|ip| !nsec.contains(ip) && !nsec3.contains(ip)).collect();
    add_servers(c, &mut out, "DS10_EXPECTED_NSEC_NSEC3_MISSING", &missing).await;
    out.list
}
