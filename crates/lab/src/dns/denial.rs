//! Authenticated denial of existence: NSEC (RFC 4034 4) and NSEC3 (RFC 5155, no salt, no iterations, no opt-out).
//! In: a zone and what is to be denied. Out: the records that prove it, with their signatures.

use hickory_proto::{
    dnssec::{
        Nsec3HashAlgorithm,
        rdata::{DNSSECRData, NSEC, NSEC3},
    },
    rr::{Name, RData, Record, RecordType},
};
use jiff::Timestamp;

use super::zone::{RrSet, Zone};
use crate::scenario::Signing;

/// The ordered chain of a zone.
pub(crate) enum Chain {
    /// Owners in canonical order with their types.
    Nsec(Vec<(Name, Vec<RecordType>)>),
    /// Hashes in order with the types of the name behind each.
    Nsec3(Vec<(Vec<u8>, Vec<RecordType>)>),
}

/// What a negative or wildcard answer has to prove.
pub(crate) enum Denied<'a> {
    /// The name exists, the type does not.
    Type(&'a Name),
    /// The name does not exist, nor does a wildcard.
    Name(&'a Name),
    /// The name was made from a wildcard: it does not exist itself.
    Expanded(&'a Name),
    /// A wildcard matches, but lacks the type.
    WildcardType(&'a Name),
}

fn types_at(zone: &Zone, name: &Name) -> Vec<RecordType> {
    let mut types: Vec<_> = zone.nodes.get(name).map(|n| n.keys().copied().collect()).unwrap_or_default();
    let is_cut = *name != zone.origin && types.contains(&RecordType::NS);
    if is_cut {
        types.retain(|t| matches!(t, RecordType::NS | RecordType::DS));
    }
    if !types.is_empty() && (!is_cut || types.contains(&RecordType::DS) || zone.signing != Signing::Nsec3) {
        types.push(RecordType::RRSIG);
    }
    types
}

fn hash(name: &Name) -> Vec<u8> {
    Nsec3HashAlgorithm::SHA1
        .hash(&[], &name.to_lowercase(), 0)
        .map(|d| d.as_ref().to_vec())
        .unwrap_or_default()
}

fn base32hex(bytes: &[u8]) -> String {
    data_encoding::BASE32_DNSSEC.encode(bytes)
}

impl Chain {
    fn of(zone: &Zone) -> Self {
        if zone.signing == Signing::Nsec3 {
            let mut hashes = std::collections::BTreeMap::new();
            for name in zone.nodes.keys() {
                hashes.insert(hash(name), types_at(zone, name));
                let mut above = name.clone();
                while above != zone.origin && !above.is_root() {
                    above = above.base_name();
                    if !zone.nodes.contains_key(&above) {
                        hashes.entry(hash(&above)).or_default();
                    }
                }
            }
            return Self::Nsec3(hashes.into_iter().collect());
        }
        Self::Nsec(
            zone.nodes
                .keys()
                .map(|name| {
                    let mut types = types_at(zone, name);
                    types.push(RecordType::NSEC);
                    (name.clone(), types)
                })
                .collect(),
        )
    }
}

/// Collects proofs, each once.
struct Proofs<'z> {
    zone: &'z Zone,
    now: Timestamp,
    seen: Vec<Name>,
    out: Vec<Record>,
}

impl Proofs<'_> {
    fn push(&mut self, owner: Name, data: RData) {
        if self.seen.contains(&owner) {
            return;
        }
        let set = RrSet { ttl: self.zone.negative_ttl(), data: vec![data] };
        self.out.extend(Zone::records(&owner, &set));
        self.out.extend(self.zone.rrsig(&owner, &owner, &set, self.now));
        self.seen.push(owner);
    }

    /// The NSEC of the name, or the one that covers it.
    fn nsec(&mut self, chain: &[(Name, Vec<RecordType>)], name: &Name) {
        let after = chain.partition_point(|(owner, _)| owner <= name);
        let index = after.checked_sub(1).unwrap_or(chain.len().saturating_sub(1));
        let Some((owner, types)) = chain.get(index) else { return };
        let next = chain.get(index + 1).or_else(|| chain.first()).map_or(owner, |(n, _)| n);
        let data = NSEC::new(next.clone(), types.iter().copied());
        self.push(owner.clone(), RData::DNSSEC(DNSSECRData::NSEC(data)));
    }

    /// The NSEC3 of the name, or the one that covers its hash.
    fn nsec3(&mut self, chain: &[(Vec<u8>, Vec<RecordType>)], name: &Name) {
        let wanted = hash(name);
        let after = chain.partition_point(|(hash, _)| *hash <= wanted);
        let index = after.checked_sub(1).unwrap_or(chain.len().saturating_sub(1));
        let Some((owner, types)) = chain.get(index) else { return };
        let next = chain.get(index + 1).or_else(|| chain.first()).map_or(owner, |(h, _)| h);
        let data =
            NSEC3::new(Nsec3HashAlgorithm::SHA1, false, 0, Vec::new(), next.clone(), types.iter().copied());
        let Ok(shown) = self.zone.origin.prepend_label(base32hex(owner).as_str()) else { return };
        self.push(shown, RData::DNSSEC(DNSSECRData::NSEC3(data)));
    }
}

/// The NSEC RRset of a name that has one, for those who ask for it by type.
pub(crate) fn nsec_at(zone: &Zone, name: &Name, now: Timestamp) -> Vec<Record> {
    let mut proofs = Proofs { zone, now, seen: Vec::new(), out: Vec::new() };
    match zone.chain.get_or_init(|| Chain::of(zone)) {
        Chain::Nsec(chain) if zone.is_signed() && zone.nodes.contains_key(name) => proofs.nsec(chain, name),
        _ => {}
    }
    proofs.out
}

/// The records for the authority section; none when the zone is not signed.
pub(crate) fn prove(zone: &Zone, denied: &Denied<'_>, now: Timestamp) -> Vec<Record> {
    if !zone.is_signed() {
        return Vec::new();
    }
    let mut proofs = Proofs { zone, now, seen: Vec::new(), out: Vec::new() };
    let wildcard = |encloser: &Name| encloser.prepend_label("*").unwrap_or_else(|_| encloser.clone());
    match (zone.chain.get_or_init(|| Chain::of(zone)), denied) {
        (Chain::Nsec(chain), Denied::Type(name) | Denied::Expanded(name)) => proofs.nsec(chain, name),
        (Chain::Nsec(chain), Denied::Name(name) | Denied::WildcardType(name)) => {
            proofs.nsec(chain, name);
            let (encloser, _) = zone.encloser(name);
            proofs.nsec(chain, &wildcard(&encloser));
        }
        (Chain::Nsec3(chain), Denied::Type(name)) => proofs.nsec3(chain, name),
        (Chain::Nsec3(chain), Denied::Expanded(name)) => {
            let (_, next) = zone.encloser(name);
            proofs.nsec3(chain, &next);
        }
        (Chain::Nsec3(chain), Denied::Name(name) | Denied::WildcardType(name)) => {
            let (encloser, next) = zone.encloser(name);
            proofs.nsec3(chain, &encloser);
            proofs.nsec3(chain, &next);
            proofs.nsec3(chain, &wildcard(&encloser));
        }
    }
    proofs.out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base32hex_is_that_of_rfc_4648() {
        assert_eq!(base32hex(b"foobar"), "cpnmuoj1e8");
        assert_eq!(base32hex(b"f"), "co");
    }

    #[test]
    fn the_hash_is_that_of_rfc_5155() {
        // RFC 5155 appendix A uses salt aabbccdd and 12 iterations; this checks the plumbing with those.
        let name = Name::from_ascii("example.").unwrap();
        let hash = Nsec3HashAlgorithm::SHA1.hash(&[0xaa, 0xbb, 0xcc, 0xdd], &name, 12).unwrap();
        assert_eq!(base32hex(hash.as_ref()), "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom");
    }
}
