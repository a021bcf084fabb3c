//! DNSSEC test cases: what they share. Keys and parents' answers are asked once; sets of servers become findings.

mod cds;
mod ds;
mod keys;
mod nsec;
mod nsec3;
mod signatures;
mod trust;

pub(super) use cds::{dnssec15, dnssec16, dnssec17};
pub(super) use ds::{dnssec01, dnssec07};
pub(super) use keys::{dnssec05, dnssec14};
pub(super) use nsec::dnssec10;
pub(super) use nsec3::dnssec03;
pub(super) use signatures::{dnssec04, dnssec06, dnssec08, dnssec09, dnssec13};
pub(super) use trust::{dnssec02, dnssec11, dnssec18};

use super::context::{Context, authoritative, joined};
use super::tags::Findings;
use crate::delegation::trace::ds_of;
use crate::dnssec::verifier::Verifier;
use crate::dnssec::verify::{self, Fault};
use crate::session::QueryResult;
use crate::wire::{Dnskey, Name, Reply, Rr, Rrsig, Rtype};
use hickory_proto::dnssec::Algorithm;
use model::registration::Ds;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

/// Servers by what was found with them.
type Servers = BTreeSet<IpAddr>;
/// Servers by a key tag (and more).
type ByKey<K> = BTreeMap<K, Servers>;

/// A row of the algorithm tables.
#[derive(Debug, Deserialize)]
struct Row {
    from: u8,
    to: u8,
    mnemonic: String,
    description: String,
    class: String,
}

#[derive(Debug, Default, Deserialize)]
struct Tables {
    algorithm: Vec<Row>,
    digest: Vec<Row>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    toml::from_str(include_str!("../../../data/dnssec-algorithms.toml")).unwrap_or_default()
});

fn row(table: &'static [Row], number: u8) -> Option<&'static Row> {
    table.iter().find(|r| (r.from..=r.to).contains(&number))
}

/// Adds a finding with its servers when there are any.
async fn add_servers(c: &Context<'_>, out: &mut Findings<'_>, tag: &str, servers: &Servers) {
    if !servers.is_empty() {
        out.add(tag, &[("ns_list", c.ns_list(servers).await)]);
    }
}

/// The same, one finding per key tag.
async fn add_by_key(c: &Context<'_>, out: &mut Findings<'_>, tag: &str, map: &ByKey<u16>) {
    for (key_tag, servers) in map {
        out.add(tag, &[("keytag", (*key_tag).into()), ("ns_list", c.ns_list(servers).await)]);
    }
}

/// Addresses of parents' servers as text; they have no names in our sets.
fn addresses(servers: &Servers) -> Value {
    joined(servers)
}

/// A "DNSSEC Query" to each of these servers; those that cannot be asked from here are left out.
async fn ask_each(
    c: &Context<'_>,
    ips: impl IntoIterator<Item = IpAddr>,
    rtype: Rtype,
) -> Vec<(IpAddr, Arc<QueryResult>)> {
    let all = ips.into_iter().map(|ip| async move { (ip, c.ask_dnssec(ip, &c.zone, rtype).await) });
    let mut asked = futures::future::join_all(all).await;
    asked.retain(|(ip, _)| !c.is_disabled(*ip));
    asked
}

/// The DNSKEY answers of all servers.
async fn key_answers(c: &Context<'_>) -> Vec<(IpAddr, Arc<QueryResult>)> {
    ask_each(c, c.all_ips().await, Rtype::DNSKEY).await
}

/// A NOERROR reply with AA.
fn good(asked: &QueryResult) -> Option<&Reply> {
    asked.reply().filter(|r| r.aa && r.rcode == 0)
}

/// A "DNSSEC response": such a reply with EDNS and the DO flag.
fn good_dnssec(asked: &QueryResult) -> Option<&Reply> {
    good(asked).filter(|r| r.edns.as_ref().is_some_and(|e| e.dnssec_ok))
}

/// The DNSKEY records of a reply; one without a key in it is not valid.
fn keys_of<'r>(reply: &'r Reply, zone: &'r Name) -> Vec<&'r Dnskey> {
    verify::keys(&reply.answers, zone).filter(|k| !k.public_key.is_empty()).collect()
}

/// The DS records of a reply; one without a digest in it is not valid.
fn valid_ds(reply: &Reply, zone: &Name) -> Vec<Ds> {
    ds_of(&reply.answers, zone).into_iter().filter(|d| !d.digest.is_empty()).collect()
}

fn signatures_of<'r>(section: &'r [Rr], owner: &'r Name, rtype: Rtype) -> Vec<&'r Rrsig> {
    verify::signatures(section, owner, rtype).collect()
}

fn set_of<'r>(reply: &'r Reply, zone: &Name, rtype: Rtype) -> Vec<&'r Rr> {
    authoritative(Some(reply), zone, rtype).unwrap_or_default()
}

/// The status of one signature over a set, verified with the keys of its zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SignatureStatus {
    Verified,
    NoKey,
    Expired,
    NotYet,
    Unsupported(u8),
    Invalid,
    /// Not computed for want of budget: nothing is said about it.
    Unverified,
}

/// Key tags find the key; the algorithm and the signer's name have to be those of the zone's key too (RFC 4035 section
/// 5.3.1).
fn judge(set: &[&Rr], sig: &Rrsig, keys: &[&Dnskey], zone: &Name, verifier: &Verifier) -> SignatureStatus {
    let mine: Vec<&&Dnskey> = keys.iter().filter(|k| k.key_tag == sig.key_tag).collect();
    if mine.is_empty() {
        return SignatureStatus::NoKey;
    }
    if !Algorithm::from_u8(sig.algorithm).is_supported() {
        return SignatureStatus::Unsupported(sig.algorithm);
    }
    let mut status = SignatureStatus::Invalid;
    for key in mine.into_iter().filter(|k| k.algorithm == sig.algorithm && sig.signer == *zone) {
        match verifier.check_signature(set, sig, key) {
            Ok(()) => return SignatureStatus::Verified,
            Err(Fault::Expired(_)) => status = SignatureStatus::Expired,
            Err(Fault::NotYet(_)) => status = SignatureStatus::NotYet,
            Err(Fault::Unsupported(algorithm)) => status = SignatureStatus::Unsupported(algorithm),
            Err(Fault::OutOfBudget) => return SignatureStatus::Unverified,
            Err(_) => {}
        }
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_exactly_one_row() {
        for table in [&TABLES.algorithm, &TABLES.digest] {
            for number in 0..=255u8 {
                let rows = table.iter().filter(|r| (r.from..=r.to).contains(&number)).count();
                assert_eq!(rows, 1, "{number}");
            }
            assert!(table.iter().all(|r| !r.mnemonic.is_empty() && !r.description.is_empty()));
        }
    }
}
