//! A zone's key that signs what tests make up.

use super::denial::nsec3_hash;
use super::verify::{label_count, signed_data};
use crate::wire::{Data, Dnskey, Name, Nsec3, Rr, Rrsig, Rtype};
use hickory_proto::dnssec::{Algorithm, SigningKey, crypto::Ed25519SigningKey};

pub fn name(text: &str) -> Name {
    Name::from_text(text).unwrap()
}

/// A zone's key and what it signs.
pub struct Signer {
    key: Ed25519SigningKey,
    pub dnskey: Dnskey,
    pub zone: Name,
}

pub const NOW: i64 = 1_800_000_000;

impl Signer {
    pub fn new(zone: &str) -> Self {
        let key = {
            let der = Ed25519SigningKey::generate_pkcs8().unwrap();
            Ed25519SigningKey::from_pkcs8(&der).unwrap()
        };
        let public = key.to_public_key().unwrap();
        let octets = hickory_proto::dnssec::PublicKey::public_bytes(&public).to_vec();
        Signer { key, dnskey: Dnskey::new(257, 3, 15, octets), zone: name(zone) }
    }

    /// The record with its signature; `labels` other than its own pretends it came from a wildcard.
    pub fn sign(&self, rr: Rr, labels: Option<u8>) -> [Rr; 2] {
        let sig = self.seal(&[&rr], labels);
        let seal = Rr { rtype: Rtype::RRSIG, data: Data::Rrsig(sig), ..rr.clone() };
        [rr, seal]
    }

    /// The signature over a set.
    pub fn seal(&self, set: &[&Rr], labels: Option<u8>) -> Rrsig {
        assert_eq!(self.key.algorithm(), Algorithm::ED25519);
        let rr = set[0];
        let sig = Rrsig {
            type_covered: rr.rtype,
            algorithm: 15,
            labels: labels.unwrap_or(label_count(&rr.name) as u8),
            original_ttl: rr.ttl,
            expiration: (NOW + 1000) as u32,
            inception: (NOW - 1000) as u32,
            key_tag: self.dnskey.key_tag,
            signer: self.zone.clone(),
            signature: Vec::new(),
        };
        let data = signed_data(set, &sig).unwrap();
        let signature = self.key.sign(&hickory_proto::dnssec::TBS::from(data.as_slice())).unwrap();
        Rrsig { signature, ..sig }
    }

    pub fn nsec3(&self, owner: &str, next: &str, iterations: u16, flags: u8, types: &[Rtype]) -> Rr {
        let hash = |text: &str| nsec3_hash(&name(text), &[], iterations.min(500)).unwrap();
        let n = Nsec3 {
            hash_algorithm: 1,
            flags,
            iterations,
            salt: Vec::new(),
            next: hash(next),
            types: types.to_vec(),
        };
        let [high, low] = iterations.to_be_bytes();
        let raw = [&[1, flags, high, low, 0, 20][..], &n.next].concat();
        let owner = self.zone.child(&crate::present::base32hex(&hash(owner))).unwrap();
        Rr { name: owner, rtype: Rtype::NSEC3, class: 1, ttl: 60, raw, data: Data::Nsec3(n) }
    }

    pub fn nsec(&self, owner: &str, next: &str, types: &[Rtype]) -> Rr {
        let raw = name(next).to_wire();
        let data = Data::Nsec(name(next), types.to_vec());
        Rr { name: name(owner), rtype: Rtype::NSEC, class: 1, ttl: 60, raw, data }
    }
}
