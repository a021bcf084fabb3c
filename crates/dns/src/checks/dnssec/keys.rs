//! DNSSEC05 (algorithms of the keys; specification of 2024) and DNSSEC14 (sizes of RSA keys; 2022).

use super::{ByKey, Servers, TABLES, add_servers, good, key_answers, keys_of, row};
use crate::checks::context::Context;
use crate::wire::Dnskey;
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

/// Bits of the modulus (RFC 3110 section 2); `None` when the key makes no sense.
fn modulus_bits(key: &Dnskey) -> Option<usize> {
    let (length, start) = match *key.public_key.first()? {
        0 => (usize::from(u16::from_be_bytes([*key.public_key.get(1)?, *key.public_key.get(2)?])), 3),
        n => (usize::from(n), 1),
    };
    let modulus = key.public_key.get(start + length..)?;
    let zeros = modulus.iter().take_while(|b| **b == 0).count();
    let first = modulus.get(zeros)?;
    Some((modulus.len() - zeros) * 8 - first.leading_zeros() as usize)
}

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
                let bits = modulus_bits(key).unwrap_or(0);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_a_modulus_are_counted_without_leading_zeros() {
        let key = |octets: Vec<u8>| Dnskey::new(257, 3, 8, octets);
        let with = |exponent: &[u8], modulus: Vec<u8>| key([exponent, &modulus].concat());
        assert_eq!(modulus_bits(&with(&[3, 1, 0, 1], [vec![0x80], vec![0; 255]].concat())), Some(2048));
        assert_eq!(modulus_bits(&with(&[1, 3], [vec![0, 0x01], vec![0; 127]].concat())), Some(1017));
        assert_eq!(modulus_bits(&with(&[0, 0, 1, 3], vec![0xFF; 64])), Some(512));
        for bad in [vec![], vec![0], vec![0, 1], vec![5, 1], vec![1, 3], vec![1, 3, 0, 0]] {
            assert_eq!(modulus_bits(&key(bad.clone())), None, "{bad:?}");
        }
    }
}
