//! DNSSEC records for tests, octet by octet (RFC 4034, RFC 5155), and a key that signs. In: owners, types, fields. Out:
//! records in a reply. They know nothing of the crate under test.

#![allow(dead_code)]

use hickory_proto::dnssec::crypto::Ed25519SigningKey;
use hickory_proto::dnssec::{PublicKey, SigningKey, TBS};
use hickory_proto::op::{Edns, Message};
use hickory_proto::rr::rdata::NULL;
use hickory_proto::rr::{Name, RData, Record, RecordType};
use std::sync::LazyLock;

pub const NS: u16 = 2;
pub const SOA: u16 = 6;
pub const DS: u16 = 43;
pub const RRSIG: u16 = 46;
pub const NSEC: u16 = 47;
pub const DNSKEY: u16 = 48;
pub const NSEC3: u16 = 50;
pub const NSEC3PARAM: u16 = 51;
pub const CDS: u16 = 59;
pub const CDNSKEY: u16 = 60;
pub const AXFR: u16 = 252;

/// TTL of all records here.
pub const TTL: u32 = 3600;
/// Inception and expiration.
pub type Times = (u32, u32);

/// Owner, type and data of a record.
#[derive(Clone)]
pub struct Raw(pub String, pub u16, pub Vec<u8>);

/// Where records go.
#[derive(Clone, Copy)]
pub enum Part {
    Answer,
    Authority,
}

/// Name in lower case without final dot, and type.
pub fn asked(query: &Message) -> (String, u16) {
    let question = &query.queries[0];
    let name = question.name.to_string().to_lowercase();
    (name.trim_end_matches('.').to_string(), question.query_type.into())
}

pub fn dnssec_ok(reply: &mut Message) {
    let mut edns = Edns::new();
    edns.set_dnssec_ok(true);
    reply.edns = Some(edns);
}

pub fn add(reply: &mut Message, part: Part, records: &[Raw]) {
    let records = records.iter().map(|Raw(owner, rtype, data)| {
        let data = RData::Unknown { code: RecordType::from(*rtype), rdata: NULL::with(data.clone()) };
        Record::from_rdata(Name::from_ascii(format!("{owner}.")).unwrap(), TTL, data)
    });
    match part {
        Part::Answer => reply.answers.extend(records),
        Part::Authority => reply.authorities.extend(records),
    }
}

pub fn wire(name: &str) -> Vec<u8> {
    let labels = name.split('.').filter(|l| !l.is_empty());
    labels.flat_map(|l| [&[l.len() as u8], l.as_bytes()].concat()).chain([0]).collect()
}

/// A key signing key of this algorithm, with nothing sensible in it.
pub fn key(algorithm: u8) -> Vec<u8> {
    vec![1, 1, 3, algorithm, 0xAB, 0xCD]
}

/// RFC 4034 appendix B.
pub fn key_tag(dnskey: &[u8]) -> u16 {
    let weight = |(i, b): (usize, &u8)| u32::from(*b) << if i % 2 == 0 { 8 } else { 0 };
    let sum: u32 = dnskey.iter().enumerate().map(weight).sum();
    (sum + (sum >> 16)) as u16
}

/// An RRSIG record's data up to the signature.
pub fn rrsig_head(covered: u16, algorithm: u8, tag: u16, labels: u8, times: Times, signer: &str) -> Vec<u8> {
    let mut data = covered.to_be_bytes().to_vec();
    data.extend([algorithm, labels]);
    for number in [TTL, times.1, times.0] {
        data.extend(number.to_be_bytes());
    }
    data.extend(tag.to_be_bytes());
    data.extend(wire(signer));
    data
}

/// A signature of a set at the top of the signer's zone.
pub fn rrsig(covered: u16, algorithm: u8, tag: u16, times: Times, signer: &str, signature: &[u8]) -> Vec<u8> {
    let labels = signer.split('.').count() as u8;
    [&rrsig_head(covered, algorithm, tag, labels, times, signer), signature].concat()
}

/// Type bit maps of types below 256.
pub fn bitmap(types: &[u16]) -> Vec<u8> {
    let mut bits = vec![0; usize::from(types.iter().max().unwrap() / 8) + 1];
    for t in types {
        bits[usize::from(t / 8)] |= 0x80 >> (t % 8);
    }
    [&[0, bits.len() as u8], &bits[..]].concat()
}

pub fn nsec_data(next: &str, types: &[u16]) -> Vec<u8> {
    [wire(next), bitmap(types)].concat()
}

/// SHA-1, no flags, no salt.
pub fn nsec3_data(iterations: u16, types: &[u16]) -> Vec<u8> {
    let [high, low] = iterations.to_be_bytes();
    [&[1, 0, high, low, 0, 20], &[7; 20][..], &bitmap(types)].concat()
}

pub fn soa_data(zone: &str, serial: u32) -> Vec<u8> {
    let numbers = [serial, 14_400, 3_600, 604_800, 300].map(u32::to_be_bytes).concat();
    [wire(zone), wire(zone), numbers].concat()
}

/// One Ed25519 key for the whole run.
static SIGNING: LazyLock<Ed25519SigningKey> =
    LazyLock::new(|| Ed25519SigningKey::from_pkcs8(&Ed25519SigningKey::generate_pkcs8().unwrap()).unwrap());

pub fn signing_dnskey() -> Vec<u8> {
    [&[1, 1, 3, 15][..], SIGNING.to_public_key().unwrap().public_bytes()].concat()
}

/// The signature, by that key, of a set of one record at the zone's top (RFC 4034 section 3.1.8.1).
pub fn signed(zone: &str, rtype: u16, data: &[u8], times: Times) -> Vec<u8> {
    let labels = zone.split('.').count() as u8;
    let head = rrsig_head(rtype, 15, key_tag(&signing_dnskey()), labels, times, zone);
    let mut tbs = head.clone();
    tbs.extend(wire(zone));
    tbs.extend([rtype.to_be_bytes(), [0, 1]].concat());
    tbs.extend(TTL.to_be_bytes());
    tbs.extend((data.len() as u16).to_be_bytes());
    tbs.extend(data);
    let signature = SIGNING.sign(&TBS::from(tbs.as_slice())).unwrap();
    [head, signature].concat()
}
