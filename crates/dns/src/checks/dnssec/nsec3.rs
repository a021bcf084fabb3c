//! DNSSEC03 (parameters of NSEC3, RFC 5155 and RFC 9276; specification of 2024). In: the NSEC3 record with which each
//! server denies an NSEC record at the zone's top. Out: what the servers' parameters are, and whether they agree.

use super::{ByKey, Servers, add_servers, good, key_answers, keys_of};
use crate::checks::context::{Context, joined};
use crate::wire::{Data, Nsec3, Rtype, rcode_text};
use model::finding::Finding;
use model::names::Fqdn;
use std::collections::{BTreeMap, BTreeSet};

/// One parameter: its values by server, the value it ought to have, and the tags.
struct Parameter {
    values: ByKey<u32>,
    good: u32,
    /// Inconsistent, as it ought to be, otherwise.
    tags: [&'static str; 3],
    argument: &'static str,
}

pub(in crate::checks) async fn dnssec03(c: &Context<'_>) -> Vec<Finding> {
    let mut out = c.findings("DNSSEC03");
    let (mut unsigned, mut signed) = (Servers::new(), Servers::new());
    let (mut without, mut with) = (Servers::new(), Servers::new());
    let (mut multiple, mut silent) = (Servers::new(), Servers::new());
    let (mut errors, mut rcodes) = (Servers::new(), BTreeSet::new());
    let mut parameters: Vec<(std::net::IpAddr, Nsec3)> = Vec::new();
    for (ip, asked) in key_answers(c).await {
        let Some(reply) = good(&asked) else { continue };
        if keys_of(reply, &c.zone).is_empty() {
            unsigned.insert(ip);
            continue;
        }
        signed.insert(ip);
        let asked = c.ask_dnssec(ip, &c.zone, Rtype::NSEC).await;
        let Some(reply) = asked.reply() else {
            silent.insert(ip);
            continue;
        };
        if reply.rcode != 0 || !reply.aa {
            errors.insert(ip);
            rcodes.insert(rcode_text(reply.rcode));
            continue;
        }
        let records: Vec<&Nsec3> = reply
            .authority
            .iter()
            .filter_map(|rr| match &rr.data {
                Data::Nsec3(n) => Some(n),
                _ => None,
            })
            .collect();
        let Some(first) = records.first() else {
            without.insert(ip);
            continue;
        };
        if records.len() > 1 {
            multiple.insert(ip);
        }
        with.insert(ip);
        parameters.push((ip, (*first).clone()));
    }
    let tag = if signed.is_empty() { "DS03_NO_DNSSEC_SUPPORT" } else { "DS03_SERVER_NO_DNSSEC_SUPPORT" };
    add_servers(c, &mut out, tag, &unsigned).await;
    add_servers(c, &mut out, "DS03_NO_RESPONSE_NSEC_QUERY", &silent).await;
    if !errors.is_empty() {
        let args = [("ns_list", c.ns_list(&errors).await), ("rcode", joined(&rcodes))];
        out.add("DS03_ERROR_RESPONSE_NSEC_QUERY", &args);
    }
    let tag = if with.is_empty() { "DS03_NO_NSEC3" } else { "DS03_SERVER_NO_NSEC3" };
    add_servers(c, &mut out, tag, &without).await;
    add_servers(c, &mut out, "DS03_ERR_MULT_NSEC3", &multiple).await;

    let by = |value: fn(&Nsec3) -> u32| {
        let mut map: ByKey<u32> = BTreeMap::new();
        for (ip, n) in &parameters {
            map.entry(value(n)).or_default().insert(*ip);
        }
        map
    };
    let checks = [
        Parameter {
            values: by(|n| u32::from(n.hash_algorithm)),
            good: 1,
            tags: ["DS03_INCONSISTENT_HASH_ALGO", "DS03_LEGAL_HASH_ALGO", "DS03_ILLEGAL_HASH_ALGO"],
            argument: "algo_num",
        },
        Parameter {
            values: by(|n| u32::from(n.iterations)),
            good: 0,
            tags: [
                "DS03_INCONSISTENT_ITERATION",
                "DS03_LEGAL_ITERATION_VALUE",
                "DS03_ILLEGAL_ITERATION_VALUE",
            ],
            argument: "int",
        },
        Parameter {
            values: by(|n| n.salt.len() as u32),
            good: 0,
            tags: ["DS03_INCONSISTENT_SALT_LENGTH", "DS03_LEGAL_EMPTY_SALT", "DS03_ILLEGAL_SALT_LENGTH"],
            argument: "int",
        },
    ];
    for Parameter { values, good, tags: [inconsistent, legal, illegal], argument } in &checks {
        if values.len() > 1 {
            out.add(inconsistent, &[]);
        }
        for (value, servers) in values {
            let list = ("ns_list", c.ns_list(servers).await);
            if value == good {
                out.add(legal, &[list]);
            } else {
                out.add(illegal, &[list, (argument, (*value).into())]);
            }
        }
    }
    let flags = by(|n| u32::from(n.flags));
    if flags.len() > 1 {
        out.add("DS03_INCONSISTENT_NSEC3_FLAGS", &[]);
    }
    let large = c.zone.labels().len() < 2 || Fqdn::trusted(&c.text).registrable().is_none();
    for (value, servers) in &flags {
        let list = c.ns_list(servers).await;
        // Bits are numbered from the left (RFC 5155 section 3.1.2): bit 7 is opt-out.
        for bit in (0..7).filter(|bit| value & (0x80 >> bit) != 0) {
            out.add("DS03_UNASSIGNED_FLAG_USED", &[("ns_list", list.clone()), ("int", bit.into())]);
        }
        let tag = match (value & 1 == 1, large) {
            (false, _) => "DS03_NSEC3_OPT_OUT_DISABLED",
            (true, true) => "DS03_NSEC3_OPT_OUT_ENABLED_TLD",
            (true, false) => "DS03_NSEC3_OPT_OUT_ENABLED_NON_TLD",
        };
        out.add(tag, &[("ns_list", list)]);
    }
    out.list
}
