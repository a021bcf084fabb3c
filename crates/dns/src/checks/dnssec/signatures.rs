//! DNSSEC08 and DNSSEC09 (signatures of the DNSKEY and SOA sets; specifications of 2022), DNSSEC04 (their lifetimes),
//! DNSSEC06 (signatures are sent at all), DNSSEC13 (every algorithm signs).

use super::signatures_of;
use super::{
    ByKey, Servers, SignatureStatus, TABLES, add_by_key, add_servers, good, judge, key_answers, keys_of, row,
    set_of,
};
use crate::checks::context::Context;
use crate::dnssec::verifier::Verifier;
use crate::wire::{Dnskey, Name, Reply, Rr, Rrsig, Rtype};
use hickory_proto::dnssec::Algorithm;
use model::finding::Finding;
use model::serial::later;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// As DNSSEC08 and DNSSEC09 have it: the time first, then the algorithm, then the key (DNSSEC10 begins with the key).
pub(super) fn judge_by_time(
    set: &[&Rr],
    sig: &Rrsig,
    keys: &[&Dnskey],
    zone: &Name,
    verifier: &Verifier,
) -> SignatureStatus {
    let seconds = verifier.now().as_second() as u32;
    if later(sig.inception, seconds) {
        return SignatureStatus::NotYet;
    }
    if later(seconds, sig.expiration) {
        return SignatureStatus::Expired;
    }
    match judge(set, sig, keys, zone, verifier) {
        SignatureStatus::NoKey if !Algorithm::from_u8(sig.algorithm).is_supported() => {
            SignatureStatus::Unsupported(sig.algorithm)
        }
        status => status,
    }
}

/// What became of the signatures of one set on all servers.
#[derive(Default)]
struct Signatures {
    missing: Servers,
    no_key: ByKey<u16>,
    expired: ByKey<u16>,
    not_yet: ByKey<u16>,
    invalid: ByKey<u16>,
    unsupported: ByKey<(u16, u8)>,
}

impl Signatures {
    fn add(&mut self, c: &Context<'_>, ip: IpAddr, reply: &Reply, rtype: Rtype, keys: &[&Dnskey]) {
        let mut set: Vec<&Rr> = set_of(reply, &c.zone, rtype);
        if rtype == Rtype::SOA {
            // By the specification the others are ignored.
            set.truncate(1);
        }
        let sigs = signatures_of(&reply.answers, &c.zone, rtype);
        if sigs.is_empty() {
            self.missing.insert(ip);
        }
        for sig in sigs {
            let map = match judge_by_time(&set, sig, keys, &c.zone, &c.verifier) {
                SignatureStatus::Verified | SignatureStatus::Unverified => continue,
                SignatureStatus::Unsupported(algorithm) => {
                    self.unsupported.entry((sig.key_tag, algorithm)).or_default().insert(ip);
                    continue;
                }
                SignatureStatus::NoKey => &mut self.no_key,
                SignatureStatus::Expired => &mut self.expired,
                SignatureStatus::NotYet => &mut self.not_yet,
                SignatureStatus::Invalid => &mut self.invalid,
            };
            map.entry(sig.key_tag).or_default().insert(ip);
        }
    }

    async fn report(&self, c: &Context<'_>, case: &'static str, prefix: &str, set: &str) -> Vec<Finding> {
        let mut out = c.findings(case);
        add_servers(c, &mut out, &format!("{prefix}_MISSING_RRSIG_IN_RESPONSE"), &self.missing).await;
        add_by_key(c, &mut out, &format!("{prefix}_{set}_RRSIG_NOT_YET_VALID"), &self.not_yet).await;
        add_by_key(c, &mut out, &format!("{prefix}_{set}_RRSIG_EXPIRED"), &self.expired).await;
        add_by_key(c, &mut out, &format!("{prefix}_NO_MATCHING_DNSKEY"), &self.no_key).await;
        add_by_key(c, &mut out, &format!("{prefix}_RRSIG_NOT_VALID_BY_DNSKEY"), &self.invalid).await;
        for ((key_tag, algorithm), servers) in &self.unsupported {
            let mnemonic = row(&TABLES.algorithm, *algorithm).map_or("", |r| r.mnemonic.as_str());
            let args = [
                ("ns_list", c.ns_list(servers).await),
                ("keytag", (*key_tag).into()),
                ("algo_num", (*algorithm).into()),
                ("algo_mnemo", mnemonic.into()),
            ];
            out.add(&format!("{prefix}_ALGO_NOT_SUPPORTED_BY_ZM"), &args);
        }
        out.list
    }
}

pub(in crate::checks) async fn dnssec08(c: &Context<'_>) -> Vec<Finding> {
    let mut signatures = Signatures::default();
    for (ip, asked) in key_answers(c).await {
        let Some(reply) = good(&asked) else { continue };
        let keys = keys_of(reply, &c.zone);
        if !keys.is_empty() {
            signatures.add(c, ip, reply, Rtype::DNSKEY, &keys);
        }
    }
    signatures.report(c, "DNSSEC08", "DS08", "DNSKEY").await
}

pub(in crate::checks) async fn dnssec09(c: &Context<'_>) -> Vec<Finding> {
    let mut signatures = Signatures::default();
    for (ip, asked) in key_answers(c).await {
        let keys = good(&asked).map(|r| keys_of(r, &c.zone)).unwrap_or_default();
        if keys.is_empty() {
            continue;
        }
        let soa = c.ask_dnssec(ip, &c.zone, Rtype::SOA).await;
        if let Some(reply) = good(&soa).filter(|r| r.answers_of(&c.zone, Rtype::SOA).next().is_some()) {
            signatures.add(c, ip, reply, Rtype::SOA, &keys);
        }
    }
    signatures.report(c, "DNSSEC09", "DS09", "SOA").await
}

const HALF_A_DAY: i64 = 12 * 3_600;
const HALF_A_YEAR: i64 = 180 * 86_400;

pub(in crate::checks) async fn dnssec04(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("DNSSEC04");
    let mut seen = BTreeSet::new();
    // One answer of each kind is looked at, of the first server that gives one: DNSSEC08 and DNSSEC09 compare servers.
    for rtype in [Rtype::DNSKEY, Rtype::SOA] {
        for ip in c.all_ips().await {
            let asked = c.ask_dnssec(ip, &c.zone, rtype).await;
            let Some(reply) = good(&asked) else { continue };
            for sig in signatures_of(&reply.answers, &c.zone, rtype) {
                seen.insert((sig.key_tag, rtype, i64::from(sig.inception), i64::from(sig.expiration)));
            }
            break;
        }
    }
    let now = c.now.as_second();
    for (key_tag, rtype, inception, expiration) in seen {
        let tags = lifetime_tags(expiration - now, expiration - inception);
        for (tag, seconds) in tags {
            let args = [
                ("keytag", key_tag.into()),
                ("types", rtype.to_string().into()),
                ("duration", seconds.into()),
                ("expiration", expiration.into()),
            ];
            out.add(tag, &args);
        }
    }
    out.list
}

/// What a lifetime gives rise to, each with the seconds it is about: those left, or those between inception and
/// expiration. Both limits count, one whatever the other says.
fn lifetime_tags(left: i64, duration: i64) -> Vec<(&'static str, i64)> {
    let remaining = match left {
        ..0 => Some("RRSIG_EXPIRED"),
        0..HALF_A_DAY => Some("REMAINING_SHORT"),
        _ if left > HALF_A_YEAR => Some("REMAINING_LONG"),
        _ => None,
    };
    let long = (duration > HALF_A_YEAR).then_some("DURATION_LONG");
    let mut tags = vec![("RRSIG_EXPIRATION", left)];
    tags.extend(remaining.map(|tag| (tag, left)));
    tags.extend(long.map(|tag| (tag, duration)));
    if tags.len() == 1 {
        tags.push(("DURATION_OK", duration));
    }
    tags
}

pub(in crate::checks) async fn dnssec06(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("DNSSEC06");
    let answers = key_answers(c).await;
    let signed = answers.iter().any(|(_, a)| good(a).is_some_and(|r| !keys_of(r, &c.zone).is_empty()));
    for (ip, asked) in answers.iter().filter(|_| signed) {
        let Some(reply) = asked.reply().filter(|r| r.rcode == 0) else { continue };
        let (keys, sigs) =
            (keys_of(reply, &c.zone).len(), signatures_of(&reply.answers, &c.zone, Rtype::DNSKEY).len());
        let args = [("server", c.ns_list([ip]).await), ("keys", keys.into()), ("sigs", sigs.into())];
        let tag = if keys > 0 && sigs > 0 { "EXTRA_PROCESSING_OK" } else { "EXTRA_PROCESSING_BROKEN" };
        out.add(tag, &args);
    }
    out.list
}

pub(in crate::checks) async fn dnssec13(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("DNSSEC13");
    let mut lacking: BTreeMap<(&str, u8), Servers> = BTreeMap::new();
    for (ip, asked) in key_answers(c).await {
        let Some(reply) = good(&asked) else { continue };
        let algorithms: BTreeSet<u8> = keys_of(reply, &c.zone).iter().map(|k| k.algorithm).collect();
        if algorithms.is_empty() || signatures_of(&reply.answers, &c.zone, Rtype::DNSKEY).is_empty() {
            continue;
        }
        for (rtype, name) in [(Rtype::DNSKEY, "DNSKEY"), (Rtype::SOA, "SOA"), (Rtype::NS, "NS")] {
            let asked = c.ask_dnssec(ip, &c.zone, rtype).await;
            let Some(reply) = good(&asked).filter(|r| r.answers_of(&c.zone, rtype).next().is_some()) else {
                break;
            };
            let sigs = signatures_of(&reply.answers, &c.zone, rtype);
            if sigs.is_empty() {
                break;
            }
            for algorithm in algorithms.iter().filter(|a| !sigs.iter().any(|s| s.algorithm == **a)) {
                lacking.entry((name, *algorithm)).or_default().insert(ip);
            }
        }
    }
    for ((name, algorithm), servers) in &lacking {
        let mnemonic = row(&TABLES.algorithm, *algorithm).map_or("", |r| r.mnemonic.as_str());
        let args = [
            ("ns_list", c.ns_list(servers).await),
            ("algo_num", (*algorithm).into()),
            ("algo_mnemo", mnemonic.into()),
        ];
        out.add(&format!("DS13_ALGO_NOT_SIGNED_{name}"), &args);
    }
    out.list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_counts_before_the_algorithm_and_the_algorithm_before_the_key() {
        let sig = |algorithm, inception, expiration| Rrsig {
            type_covered: Rtype::SOA,
            algorithm,
            labels: 1,
            original_ttl: 60,
            expiration,
            inception,
            key_tag: 7,
            signer: Name::root(),
            signature: Vec::new(),
        };
        let verifier = Verifier::new(jiff::Timestamp::from_second(1000).unwrap());
        let judged = |s: &Rrsig| judge_by_time(&[], s, &[], &Name::root(), &verifier);
        assert_eq!(judged(&sig(13, 1001, 2000)), SignatureStatus::NotYet);
        assert_eq!(judged(&sig(13, 10, 999)), SignatureStatus::Expired);
        assert_eq!(judged(&sig(200, 10, 999)), SignatureStatus::Expired);
        assert_eq!(judged(&sig(200, 10, 2000)), SignatureStatus::Unsupported(200));
        assert_eq!(judged(&sig(13, 10, 2000)), SignatureStatus::NoKey);
    }

    #[test]
    fn a_lifetime_is_judged_by_what_is_left_and_by_its_length() {
        let tags = |left, duration| -> Vec<&str> {
            lifetime_tags(left, duration).into_iter().map(|(tag, _)| tag).skip(1).collect()
        };
        let day = 86_400;
        assert_eq!(tags(10 * day, 30 * day), ["DURATION_OK"]);
        assert_eq!(tags(-1, 30 * day), ["RRSIG_EXPIRED"]);
        assert_eq!(tags(-1, 200 * day), ["RRSIG_EXPIRED", "DURATION_LONG"]);
        assert_eq!(tags(3_600, 200 * day), ["REMAINING_SHORT", "DURATION_LONG"]);
        assert_eq!(tags(181 * day, 200 * day), ["REMAINING_LONG", "DURATION_LONG"]);
        assert_eq!(tags(180 * day, 180 * day), ["DURATION_OK"]);
        assert_eq!(lifetime_tags(3_600, 30 * day)[1], ("REMAINING_SHORT", 3_600), "the seconds left");
        assert_eq!(lifetime_tags(10 * day, 200 * day)[1], ("DURATION_LONG", 200 * day), "the whole length");
    }
}
