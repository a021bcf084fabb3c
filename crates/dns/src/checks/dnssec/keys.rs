//! DNSSEC05 (algorithms of the keys; specification of 2024) and DNSSEC14 (sizes of RSA keys; 2022).

use super::{ByKey, Servers, TABLES, add_servers, good, key_answers, keys_of, row};
use crate::checks::context::Context;
use crate::dnssec::verify;
use model::finding::Finding;
use std::collections::BTreeMap;

pub(in crate::checks) async fn dnssec05(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("DNSSEC05");
    let (mut ignored, mut without, mut with) = (Servers::new(), Servers::new(), Servers::new());
    let mut seen: ByKey<(u16, u8)> = BTreeMap::new();
    for (ip, asked) in key_answers(c).await {
        let Some(reply) = good(&asked) else {
            ignored.insert(ip);
            continue;
        };
        let keys = keys_of(reply, &c.zone);
        if keys.is_empty() {
            without.insert(ip);
            continue;
        }
        with.insert(ip);
        for key in keys {
            seen.entry((key.key_tag, key.algorithm)).or_default().insert(ip);
        }
    }
    for ((key_tag, algorithm), servers) in &seen {
        let Some(row) = row(&TABLES.algorithm, *algorithm) else { continue };
        let args = [
            ("ns_list", c.ns_list(servers).await),
            ("keytag", (*key_tag).into()),
            ("algo_num", (*algorithm).into()),
            ("algo_descr", row.description.as_str().into()),
            ("algo_mnemo", row.mnemonic.as_str().into()),
        ];
        out.add(&format!("DS05_ALGO_{}", row.class), &args);
    }
    if with.is_empty() && without.is_empty() {
        add_servers(c, &mut out, "DS05_NO_RESPONSE", &ignored).await;
    }
    let tag = if with.is_empty() { "DS05_ZONE_NO_DNSSEC" } else { "DS05_SERVER_NO_DNSSEC" };
    add_servers(c, &mut out, tag, &without).await;
    out.list
}

/// Smallest and largest RSA key of an algorithm, in bits: the table of the specification.
fn rsa_bounds(algorithm: u8) -> Option<(usize, usize)> {
    match algorithm {
        5 | 7 | 8 => Some((512, 4096)),
        10 => Some((1024, 4096)),
        _ => None,
    }
}

/// Shorter RSA keys are advised against (NIST SP 800-57 part 1).
const RECOMMENDED_BITS: usize = 2048;

pub(in crate::checks) async fn dnssec14(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("DNSSEC14");
    let (mut silent, mut without) = (Servers::new(), Servers::new());
    let mut sizes: BTreeMap<(u16, u8, usize), Servers> = BTreeMap::new();
    let mut any = false;
    for (ip, asked) in key_answers(c).await {
        let Some(reply) = asked.reply() else {
            silent.insert(ip);
            continue;
        };
        let keys = keys_of(reply, &c.zone);
        if keys.is_empty() {
            without.insert(ip);
        }
        for key in keys {
            any = true;
            if rsa_bounds(key.algorithm).is_some() {
                // A key without a modulus has no size at all, which is too small.
                let bits = verify::modulus_bits(key).unwrap_or(0);
                sizes.entry((key.key_tag, key.algorithm, bits)).or_default().insert(ip);
            }
        }
    }
    if !any {
        return out.list;
    }
    add_servers(c, &mut out, "NO_RESPONSE", &silent).await;
    add_servers(c, &mut out, "NO_RESPONSE_DNSKEY", &without).await;
    for ((key_tag, algorithm, bits), servers) in &sizes {
        let Some((least, most)) = rsa_bounds(*algorithm) else { continue };
        let tag = match *bits {
            n if n < least => "DNSKEY_TOO_SMALL_FOR_ALGO",
            n if n < RECOMMENDED_BITS => "DNSKEY_SMALLER_THAN_REC",
            n if n > most => "DNSKEY_TOO_LARGE_FOR_ALGO",
            _ => continue,
        };
        let description = row(&TABLES.algorithm, *algorithm).map_or("", |r| r.description.as_str());
        let args = [
            ("ns_list", c.ns_list(servers).await),
            ("keytag", (*key_tag).into()),
            ("algo_num", (*algorithm).into()),
            ("algo_descr", description.into()),
            ("keysize", (*bits).into()),
            ("keysizemin", least.into()),
            ("keysizemax", most.into()),
            ("keysizerec", RECOMMENDED_BITS.into()),
        ];
        out.add(tag, &args);
    }
    if out.list.iter().all(|f| f.tag == "NO_RESPONSE") {
        out.add("KEY_SIZE_OK", &[]);
    }
    out.list
}
