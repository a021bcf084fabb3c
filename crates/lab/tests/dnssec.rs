//! Signed zones: a chain from the exported anchor, and the ways in which it is broken on purpose.

mod common;

use common::*;
use hickory_proto::{
    dnssec::{
        Verifier,
        rdata::{DNSKEY, DNSSECRData, DS, RRSIG},
    },
    op::{Message, ResponseCode},
    rr::{DNSClass, RData, Record, RecordType},
};

fn keys(message: &Message) -> Vec<DNSKEY> {
    message
        .answers
        .iter()
        .filter_map(|r| match &r.data {
            RData::DNSSEC(DNSSECRData::DNSKEY(key)) => Some(key.clone()),
            _ => None,
        })
        .collect()
}

fn ds(message: &Message) -> Vec<DS> {
    let all = message.answers.iter().chain(&message.authorities);
    all.filter_map(|r| match &r.data {
        RData::DNSSEC(DNSSECRData::DS(ds)) => Some(ds.clone()),
        _ => None,
    })
    .collect()
}

fn signatures(records: &[Record]) -> Vec<(Record, RRSIG)> {
    records
        .iter()
        .filter_map(|r| match &r.data {
            RData::DNSSEC(DNSSECRData::RRSIG(s)) => Some((r.clone(), s.clone())),
            _ => None,
        })
        .collect()
}

/// Number of signatures that some key verifies, and of those that none does.
fn verify(keys: &[DNSKEY], records: &[Record]) -> (usize, usize) {
    let (mut good, mut bad) = (0, 0);
    for (owner, signature) in signatures(records) {
        let set: Vec<&Record> = records
            .iter()
            .filter(|r| r.name == owner.name && r.record_type() == signature.input().type_covered)
            .collect();
        let verified = keys.iter().any(|key| {
            key.calculate_key_tag().unwrap() == signature.input().key_tag
                && key.verify_rrsig(&owner.name, DNSClass::IN, &signature, set.iter().copied()).is_ok()
        });
        if verified { good += 1 } else { bad += 1 }
    }
    (good, bad)
}

#[tokio::test]
async fn the_chain_holds_from_the_anchor_to_a_signed_domain() {
    let w = demo().await;
    let anchor = std::fs::read_to_string(&w.lab.endpoints().trust_anchor).unwrap();
    let root_keys = keys(&w.ask_how("a.root.lab", ".", RecordType::DNSKEY, &signed()).await);
    let anchor_line = anchor.lines().last().unwrap();
    assert!(
        root_keys.iter().any(|k| anchor_line.ends_with(&k.to_string())),
        "the exported anchor is a key of the root: {anchor_line}"
    );
    let hops = [
        ("a.root.lab", ".", "example", "a.nic.example"),
        ("a.nic.example", "example", "alder.example", "ns1.meridian-dns.example"),
        ("a.nic.example", "example", "sealed.example", "ns1.meridian-dns.example"),
        ("a.nic.example", "example", "vantage.example", "a.anycast-one.example"),
        ("a.root.lab", ".", "com", "a.nic.com"),
        ("a.nic.com", "com", "kestrel-demo.com", "b.anycast-one.example"),
    ];
    for (parent_server, parent, child, child_server) in hops {
        let parent_keys = keys(&w.ask_how(parent_server, parent, RecordType::DNSKEY, &signed()).await);
        let referral = w.ask_how(parent_server, child, RecordType::DNSKEY, &signed()).await;
        assert_eq!(verify(&parent_keys, &referral.authorities), (1, 0), "DS of {child}");
        let answer = w.ask_how(child_server, child, RecordType::DNSKEY, &signed()).await;
        let child_keys = keys(&answer);
        let covered =
            ds(&referral).iter().any(|ds| child_keys.iter().any(|k| ds.covers(&name(child), k).unwrap()));
        assert!(covered, "the DS of {child} is of one of its keys");
        assert_eq!(verify(&child_keys, &answer.answers), (1, 0), "DNSKEY of {child}");
        let soa = w.ask_how(child_server, child, RecordType::SOA, &signed()).await;
        assert_eq!(verify(&child_keys, &soa.answers), (1, 0), "SOA of {child}");
    }
}

#[tokio::test]
async fn denial_is_signed_in_nsec_and_in_nsec3() {
    let w = demo().await;
    for (zone, server, proofs) in [
        ("alder.example", "ns1.meridian-dns.example", RecordType::NSEC),
        ("sealed.example", "ns1.meridian-dns.example", RecordType::NSEC3),
    ] {
        let keys = keys(&w.ask_how(server, zone, RecordType::DNSKEY, &signed()).await);
        let none = w.ask_how(server, &format!("nope.{zone}"), RecordType::A, &signed()).await;
        assert_eq!(code(&none), ResponseCode::NXDomain);
        let count = none.authorities.iter().filter(|r| r.record_type() == proofs).count();
        assert!(count >= 1, "{zone}: {:?}", none.authorities);
        assert_eq!(verify(&keys, &none.authorities), (count + 1, 0), "{zone}");
        let plain = w.ask(server, &format!("nope.{zone}"), RecordType::A).await;
        assert!(plain.authorities.iter().all(|r| r.record_type() == RecordType::SOA), "only with DO");
    }
    let nsec = w.ask_how("ns1.meridian-dns.example", "alder.example", RecordType::NSEC, &signed()).await;
    assert_eq!(nsec.answers[0].record_type(), RecordType::NSEC);
    let insecure = w.ask_how("a.nic.example", "juniper-lab.example", RecordType::A, &signed()).await;
    let tld_keys = keys(&w.ask_how("a.nic.example", "example", RecordType::DNSKEY, &signed()).await);
    assert!(insecure.authorities.iter().any(|r| r.record_type() == RecordType::NSEC));
    assert_eq!(verify(&tld_keys, &insecure.authorities), (1, 0), "the absence of a DS is signed");
}

#[tokio::test]
async fn a_wildcard_answer_verifies_under_the_wildcard() {
    let w = demo().await;
    let server = "ns2.meridian-dns.example";
    let keys = keys(&w.ask_how(server, "sealed.example", RecordType::DNSKEY, &signed()).await);
    let answer = w.ask_how(server, "x.y.apps.sealed.example", RecordType::A, &signed()).await;
    let (_, signature) = &signatures(&answer.answers)[0];
    assert_eq!(signature.input().num_labels, 3, "apps.sealed.example: the label count tells of the wildcard");
    assert_eq!(verify(&keys, &answer.answers), (1, 0));
    assert!(answer.authorities.iter().any(|r| r.record_type() == RecordType::NSEC3));
}

#[tokio::test]
async fn broken_zones_are_broken_in_the_way_they_say() {
    let w = demo().await;
    let now = u32::try_from(NOW.parse::<jiff::Timestamp>().unwrap().as_second()).unwrap();
    let bogus = w.ask_how("ns1.meridian-dns.example", "forged.example", RecordType::DNSKEY, &signed()).await;
    assert_eq!(verify(&keys(&bogus), &bogus.answers), (0, 1), "the signature is wrong");

    let late = w.ask_how("ns1.quarry-dns.example", "sour-milk.example", RecordType::SOA, &signed()).await;
    assert!(signatures(&late.answers)[0].1.input().sig_expiration.get() < now - 29 * 86_400);

    let soon = w.ask_how("a.anycast-one.example", "half-life.example", RecordType::SOA, &signed()).await;
    let left = signatures(&soon.answers)[0].1.input().sig_expiration.get() - now;
    assert!((86_400..3 * 86_400).contains(&left), "{left}");

    let parent = w.ask_how("a.nic.example", "wrong-key.example", RecordType::DS, &signed()).await;
    let child = w.ask_how("a.anycast-one.example", "wrong-key.example", RecordType::DNSKEY, &signed()).await;
    assert_eq!(ds(&parent).len(), 1);
    assert_eq!(verify(&keys(&child), &child.answers), (1, 0), "the zone itself is sound");
    assert!(!keys(&child).iter().any(|k| ds(&parent)[0].covers(&name("wrong-key.example"), k).unwrap()));

    let island = w.ask_how("a.nic.example", "unsealed.example", RecordType::DS, &signed()).await;
    assert!(ds(&island).is_empty());
}

#[tokio::test]
async fn signing_and_unsigning_move_the_ds_with_the_zone() {
    let w = small().await;
    let tag = |m: &Message| ds(m).first().map(DS::key_tag);
    assert_eq!(tag(&w.ask_how("a.nic.example", "plain.example", RecordType::DS, &signed()).await), None);
    w.command("sign plain.example nsec3").await;
    let parent = w.ask_how("a.nic.example", "plain.example", RecordType::DS, &signed()).await;
    let child = w.ask_how("ns1.one.example", "plain.example", RecordType::DNSKEY, &signed()).await;
    assert!(keys(&child).iter().any(|k| Some(k.calculate_key_tag().unwrap()) == tag(&parent)));
    w.command("unsign plain.example").await;
    let parent = w.ask_how("a.nic.example", "plain.example", RecordType::DS, &signed()).await;
    assert_eq!(tag(&parent), None);
    let child = w.ask_how("ns1.one.example", "plain.example", RecordType::DNSKEY, &signed()).await;
    assert!(keys(&child).is_empty());
}

#[tokio::test]
async fn a_server_that_lags_behind_still_signs_its_old_soa() {
    let w = small().await;
    w.command("fault ns2.one.example/signed.example serial-lag 5").await;
    let new = w.ask_how("ns1.one.example", "signed.example", RecordType::SOA, &signed()).await;
    let old = w.ask_how("ns2.one.example", "signed.example", RecordType::SOA, &signed()).await;
    assert_eq!(serial_of(&new).unwrap() - serial_of(&old).unwrap(), 5);
    let keys = keys(&w.ask_how("ns1.one.example", "signed.example", RecordType::DNSKEY, &signed()).await);
    assert_eq!(verify(&keys, &old.answers), (1, 0));
}
