//! What a signature holds for, and what it does not: one change of anything that was signed breaks it.

use super::*;
use crate::dnssec::signer::{NOW, Signer, name};
use crate::dnssec::verifier::Verifier;
use proptest::prelude::*;
use std::sync::LazyLock;

static SIGNER: LazyLock<Signer> = LazyLock::new(|| Signer::new("zone.example"));

fn rr(owner: &str, raw: &[u8]) -> Rr {
    Rr { name: name(owner), rtype: Rtype(65_280), class: 1, ttl: 300, raw: raw.to_vec(), data: Data::Other }
}

fn verifier() -> Verifier {
    Verifier::new(Timestamp::from_second(NOW).unwrap())
}

fn verdict(set: &[Rr], sig: &Rrsig, keys: &[&Dnskey]) -> Result<(), Fault> {
    let set: Vec<&Rr> = set.iter().collect();
    verifier().check_set(&set, &[sig], keys, &SIGNER.zone)
}

/// A change of one thing.
#[derive(Debug, Clone, Copy)]
enum Change {
    Data,
    Lacking,
    More,
    Owner,
    Type,
    Algorithm,
    Labels,
    Ttl,
    Expiration,
    Inception,
    Tag,
    Signer,
    Signature,
    Key,
}

const CHANGES: [Change; 14] = [
    Change::Data,
    Change::Lacking,
    Change::More,
    Change::Owner,
    Change::Type,
    Change::Algorithm,
    Change::Labels,
    Change::Ttl,
    Change::Expiration,
    Change::Inception,
    Change::Tag,
    Change::Signer,
    Change::Signature,
    Change::Key,
];

fn sets() -> impl Strategy<Value = Vec<Rr>> {
    let data = proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..8), 1..5);
    let owner = proptest::sample::select(vec![
        "zone.example",
        "a.zone.example",
        "*.zone.example",
        "b.a.zone.example",
    ]);
    (owner, data).prop_map(|(owner, data)| data.iter().map(|raw| rr(owner, raw)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_set_is_a_set(set in sets(), turn in 0usize..4, ttl in any::<u32>()) {
        let sig = SIGNER.seal(&set.iter().collect::<Vec<_>>(), None);
        let mut other = [set.clone(), set[..1].to_vec()].concat();
        let by = turn % other.len();
        other.rotate_left(by);
        // The TTL has run down on the way.
        other.iter_mut().for_each(|rr| rr.ttl = ttl);
        prop_assert_eq!(verdict(&other, &sig, &[&SIGNER.dnskey]), Ok(()));
    }

    #[test]
    fn one_change_of_anything_breaks_it(
        set in sets(),
        change in proptest::sample::select(CHANGES.to_vec()),
        at in any::<prop::sample::Index>(),
        bit in 0u32..8,
    ) {
        let good = SIGNER.seal(&set.iter().collect::<Vec<_>>(), None);
        let (mut set, mut sig, mut key) = (set, good, SIGNER.dnskey.clone());
        let flip = |octets: &mut Vec<u8>| {
            let i = at.index(octets.len());
            octets[i] ^= 1 << bit;
        };
        let before = signed_data(&set.iter().collect::<Vec<_>>(), &sig);
        match change {
            Change::Data => set[0].raw.push(0),
            Change::Lacking => {
                set.remove(0);
                // The same record may be there twice.
                let left: Vec<&Rr> = set.iter().collect();
                prop_assume!(!set.is_empty() && signed_data(&left, &sig) != before);
            }
            Change::More => set.push(Rr { raw: vec![0; 9], ..set[0].clone() }),
            Change::Owner => {
                // No name for which a wildcard could stand.
                let other = if set[0].name == SIGNER.zone { "a.zone.example" } else { "zone.example" };
                set.iter_mut().for_each(|rr| rr.name = name(other));
            }
            Change::Type => sig.type_covered.0 ^= 1 << bit,
            Change::Algorithm => sig.algorithm ^= 1 << bit,
            Change::Labels => sig.labels ^= 1 << bit,
            Change::Ttl => sig.original_ttl ^= 1 << bit,
            Change::Expiration => sig.expiration ^= 1 << bit,
            Change::Inception => sig.inception ^= 1 << bit,
            Change::Tag => sig.key_tag ^= 1 << bit,
            Change::Signer => sig.signer = name("example"),
            Change::Signature => flip(&mut sig.signature),
            Change::Key => flip(&mut key.public_key),
        }
        prop_assert!(verdict(&set, &sig, &[&key]).is_err());
    }
}

#[test]
fn a_wildcard_signs_for_names_below_it_and_its_zone_for_none_above() {
    let wildcard = rr("*.w.zone.example", b"x");
    let sig = SIGNER.seal(&[&wildcard], None);
    assert_eq!(sig.labels, 3, "the asterisk does not count");
    let at = |owner: &str| verdict(&[rr(owner, b"x")], &sig, &[&SIGNER.dnskey]);
    assert_eq!(at("*.w.zone.example"), Ok(()), "asked for by name");
    assert_eq!(at("a.w.zone.example"), Ok(()));
    assert_eq!(at("b.a.w.zone.example"), Ok(()));
    let wrong = Err(Fault::Invalid(sig.key_tag));
    assert_eq!(at("w.zone.example"), wrong, "the wildcard does not stand for its parent");
    assert_eq!(at("a.v.zone.example"), wrong);
    // As many labels as the owner has with its asterisk: one too many.
    let whole = SIGNER.seal(&[&rr("a.w.zone.example", b"x")], None);
    assert_eq!(whole.labels, 4);
    assert_eq!(verdict(&[rr("*.w.zone.example", b"x")], &whole, &[&SIGNER.dnskey]), wrong);
    // `*.example` is not this zone's to sign.
    let above = Rrsig { labels: 1, ..sig.clone() };
    assert_eq!(signed_data(&[&rr("a.example", b"x")], &above), None);
}

#[test]
fn keys_of_one_tag_are_told_apart() {
    let set = [rr("a.zone.example", b"x")];
    let sig = SIGNER.seal(&[&set[0]], None);
    // A tag is a sum of octet pairs: their order does not matter.
    let twin = |i: usize| {
        let mut key = SIGNER.dnskey.public_key.clone();
        key.swap(i, i + 2);
        key.swap(i + 1, i + 3);
        Dnskey::new(257, 3, 15, key)
    };
    let twins: Vec<Dnskey> = (0..12).step_by(4).map(twin).collect();
    for twin in &twins {
        assert_eq!(twin.key_tag, SIGNER.dnskey.key_tag);
        assert_eq!(verdict(&set, &sig, &[twin]), Err(Fault::Invalid(sig.key_tag)));
    }
    let all: Vec<&Dnskey> = twins.iter().chain([&SIGNER.dnskey]).collect();
    assert_eq!(verdict(&set, &sig, &all), Ok(()));
}

#[test]
fn one_zone_does_not_speak_for_another_with_the_same_keys() {
    use crate::dnssec::denial::{Denials, Proof};
    let verifier = verifier();
    let own = &*SIGNER;
    // The record of the top of `sub.zone.example`, signed by that zone; `zone.example` has the same key.
    let top = own.nsec("sub.zone.example", "a.sub.zone.example", &[Rtype::NS, Rtype::SOA, Rtype::DNSKEY]);
    let [top, mut seal] = own.sign(top, None);
    if let Data::Rrsig(sig) = &mut seal.data {
        sig.signer = name("sub.zone.example");
    }
    let section = [top, seal];
    let child = name("sub.zone.example");
    let read = Denials::of(&section, &own.zone, &[&own.dnskey], &verifier);
    assert_eq!(read.no_type(&child, Rtype::DS), Proof::Missing);
    assert!(!read.unsigned_cut(&child));
    // Were it signed by the parent, it would be that of a top all the same.
    let top = own.nsec("sub.zone.example", "a.sub.zone.example", &[Rtype::NS, Rtype::SOA, Rtype::DNSKEY]);
    let section = own.sign(top, None);
    let read = Denials::of(&section, &own.zone, &[&own.dnskey], &verifier);
    assert_eq!(read.no_type(&child, Rtype::DS), Proof::Missing);
    assert!(!read.unsigned_cut(&child));
    // And that of a delegation denies DS alone.
    let cut = own.nsec("sub.zone.example", "zz.zone.example", &[Rtype::NS]);
    let section = own.sign(cut, None);
    let read = Denials::of(&section, &own.zone, &[&own.dnskey], &verifier);
    assert_eq!(read.no_type(&child, Rtype::DS), Proof::Holds);
    assert_eq!(read.no_type(&child, Rtype::A), Proof::Missing);
    assert_eq!(read.no_name(&name("www.sub.zone.example")), Proof::Missing);
    assert_eq!(read.nothing_closer(&name("www.sub.zone.example"), 3), Proof::Missing);
}

#[test]
fn of_several_faults_the_most_telling_is_told() {
    let set = [rr("a.zone.example", b"x")];
    let good = SIGNER.seal(&[&set[0]], None);
    let gone = Rrsig { key_tag: good.key_tag ^ 1, ..good.clone() };
    let old = Rrsig { expiration: good.inception, ..good.clone() };
    let wrong = Rrsig { signature: vec![7; 64], ..good.clone() };
    let told = |list: &[&Rrsig]| verifier().check_set(&[&set[0]], list, &[&SIGNER.dnskey], &SIGNER.zone);
    assert_eq!(told(&[&gone]), Err(Fault::NoKey(gone.key_tag)));
    for list in [[&gone, &old], [&old, &gone]] {
        assert_eq!(told(&list), Err(Fault::Expired(old.expiration)));
    }
    for list in [[&gone, &wrong, &old], [&wrong, &old, &gone], [&old, &gone, &wrong]] {
        assert_eq!(told(&list), Err(Fault::Invalid(good.key_tag)));
    }
    assert_eq!(told(&[&gone, &wrong, &old, &good]), Ok(()));
}

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

#[test]
fn of_an_rsa_key_that_cannot_be_computed_nothing_is_said() {
    let set = [rr("a.zone.example", b"x")];
    let told = |algorithm: u8, exponent: &[u8], octets: usize| {
        let length = exponent.len() as u8;
        let public = [&[length][..], exponent, &vec![0xC1; octets]].concat();
        let key = Dnskey::new(257, 3, algorithm, public);
        let sig = Rrsig { algorithm, key_tag: key.key_tag, ..SIGNER.seal(&[&set[0]], None) };
        verdict(&set, &sig, &[&key]).unwrap_err()
    };
    let common = &[1, 0, 1];
    for octets in [64, 127, 1025] {
        assert_eq!(told(8, common, octets), Fault::Unsupported(8), "{octets} octets");
    }
    for octets in [128, 256, 512, 1024] {
        assert!(matches!(told(8, common, octets), Fault::Invalid(_)), "{octets} octets");
    }
    assert!(matches!(told(8, &[1, 0, 0, 0, 1], 256), Fault::Invalid(_)), "an exponent of 33 bits");
    assert_eq!(told(8, &[2, 0, 0, 0, 1], 256), Fault::Unsupported(8), "an exponent of 34 bits");
    assert_eq!(told(8, &[0, 0, 0, 0, 0, 3], 64), Fault::Unsupported(8));
    // A key that makes no sense signs nothing.
    assert!(matches!(told(13, common, 64), Fault::Invalid(_)));
}
