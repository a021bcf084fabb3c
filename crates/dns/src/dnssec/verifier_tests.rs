//! The budget: what a hostile zone can have computed, that other tasks go on meanwhile, and that what is not computed
//! is never said to be false.

use super::*;
use crate::dnssec::denial::{Denials, Proof};
use crate::dnssec::signer::{NOW, Signer, name};
use crate::wire::{Data, Rtype};
use std::time::{Duration, Instant};

fn verifier() -> Verifier {
    Verifier::new(Timestamp::from_second(NOW).unwrap())
}

fn record(owner: &str, octets: &[u8]) -> Rr {
    Rr {
        name: name(owner),
        rtype: Rtype(65_280),
        class: 1,
        ttl: 300,
        raw: octets.to_vec(),
        data: Data::Other,
    }
}

/// What the signer of the tests signs with.
const ED25519: u8 = 15;

/// Keys with one tag: pairs of octets that are exchanged leave the sum as it was (RFC 4034 appendix B).
fn colliding(count: usize) -> Vec<Dnskey> {
    let mut keys = Vec::new();
    for n in 0..count as u16 {
        let mut octets = vec![0x55; 32];
        let [a, b] = n.to_be_bytes();
        octets[0..2].copy_from_slice(&[a, b]);
        octets[2..4].copy_from_slice(&[0xFF - a, 0xFF - b]);
        keys.push(Dnskey::new(256, 3, ED25519, octets));
    }
    assert!(keys.iter().all(|k| k.key_tag == keys[0].key_tag));
    keys
}

/// So many signatures by keys of this tag that do not hold.
fn forged(signer: &Signer, set: &[&Rr], tag: u16, count: usize) -> Vec<Rrsig> {
    let one = signer.seal(set, None);
    (0..count as u32)
        .map(|n| {
            let signature = n.to_be_bytes().repeat(16);
            Rrsig { key_tag: tag, signature, ..one.clone() }
        })
        .collect()
}

#[test]
fn five_hundred_signatures_and_as_many_keys_of_one_tag_cost_sixty_four_verifications() {
    let signer = Signer::new("zone.example");
    let keys = colliding(580);
    let keys: Vec<&Dnskey> = keys.iter().collect();
    let verifier = verifier();
    let start = Instant::now();
    let mut before = 0;
    for n in 0..50u8 {
        let set = record("zone.example", &[n]);
        let sigs = forged(&signer, &[&set], keys[0].key_tag, 500);
        let sigs: Vec<&Rrsig> = sigs.iter().collect();
        let found = verifier.check_set(&[&set], &sigs, &keys, &signer.zone);
        assert_eq!(found, Err(Fault::OutOfBudget), "what was not computed is not said to be false");
        assert!(verifier.verifications() - before <= MAX_PER_SET, "one set leaves something for the next");
        before = verifier.verifications();
    }
    assert_eq!(verifier.verifications(), MAX_VERIFICATIONS);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    // Nothing holds any more, not even what is right, and nothing is called false.
    let set = record("zone.example", b"right");
    let good = signer.seal(&[&set], None);
    let found = verifier.check_set(&[&set], &[&good], &[&signer.dnskey], &signer.zone);
    assert_eq!(found, Err(Fault::OutOfBudget));
    assert!(verifier.note().unwrap().starts_with("64 signatures were verified"));
}

#[test]
fn what_is_repeated_is_computed_once() {
    let signer = Signer::new("zone.example");
    let set = record("zone.example", b"x");
    let good = signer.seal(&[&set], None);
    let bad = Rrsig { signature: vec![7; 64], ..good.clone() };
    let verifier = verifier();
    // A hundred servers that send the same, each signature twice, each key five times.
    for _ in 0..100 {
        let keys = [&signer.dnskey; 5];
        assert_eq!(verifier.check_set(&[&set], &[&bad, &bad, &good, &good], &keys, &signer.zone), Ok(()));
    }
    assert_eq!((verifier.verifications(), verifier.note()), (2, None));
    // Another set, another signature.
    let other = record("zone.example", b"y");
    let found = verifier.check_set(&[&other], &[&good], &[&signer.dnskey], &signer.zone);
    assert_eq!((found, verifier.verifications()), (Err(Fault::Invalid(good.key_tag)), 3));
}

#[test]
fn what_holds_is_remembered_by_other_operations_and_its_time_is_judged_again() {
    let signer = Signer::new("zone.example");
    let set = record("zone.example", b"remembered");
    let good = signer.seal(&[&set], None);
    let bad = Rrsig { signature: vec![9; 64], ..good.clone() };
    let check = |verifier: &Verifier, sig: &Rrsig| {
        verifier.check_set(&[&set], &[sig], &[&signer.dnskey], &signer.zone)
    };
    let (first, second) = (verifier(), verifier());
    assert_eq!((check(&first, &good), first.verifications()), (Ok(()), 1));
    assert_eq!((check(&second, &good), second.verifications()), (Ok(()), 0));
    // What does not hold is computed by each operation, and what has ended is not asked about.
    for each in [&first, &second] {
        assert_eq!(check(each, &bad), Err(Fault::Invalid(good.key_tag)));
    }
    assert_eq!((first.verifications(), second.verifications()), (2, 1));
    let later = Verifier::new(Timestamp::from_second(NOW + 100_000).unwrap());
    assert_eq!(check(&later, &good), Err(Fault::Expired(good.expiration)));
    // Another set with the same signature.
    let other = record("zone.example", b"forged");
    let found = second.check_set(&[&other], &[&good], &[&signer.dnskey], &signer.zone);
    assert_eq!(found, Err(Fault::Invalid(good.key_tag)));
}

#[test]
fn a_denial_that_was_not_computed_to_the_end_is_undecided() {
    let signer = Signer::new("example");
    let section: Vec<Rr> = (0..200)
        .flat_map(|n| {
            let [record, mut sig] =
                signer.sign(signer.nsec(&format!("a{n}.example"), "z.example", &[Rtype::A]), None);
            if let Data::Rrsig(sig) = &mut sig.data {
                sig.signature = vec![3; 64];
            }
            [record, sig]
        })
        .collect();
    let verifier = verifier();
    let read = Denials::of(&section, &signer.zone, &[&signer.dnskey], &verifier);
    assert_eq!((read.no_name(&name("b.example")), read.is_undecided()), (Proof::Missing, true));
    assert_eq!(verifier.verifications(), MAX_VERIFICATIONS);
}

#[test]
fn hashes_for_nsec3_are_counted_too() {
    let verifier = verifier();
    let hash = |n: u32| verifier.nsec3_hash(&name(&format!("n{n}.example")), b"salt", 100);
    let made = (0..2_000).take_while(|n| hash(*n).is_ok()).count();
    assert_eq!(made, MAX_HASHES as usize);
    assert!(hash(3).is_ok(), "what is known costs nothing");
}

#[test]
fn other_tasks_of_a_worker_go_on_while_signatures_are_verified() {
    // One worker: what blocks it blocks everything.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let (send, receive) = std::sync::mpsc::channel();
    let task = runtime.spawn(async move {
        // Queued behind this task, on the only worker.
        tokio::spawn(async move { send.send(()) });
        off_the_worker(true, || receive.recv_timeout(Duration::from_secs(20)))
    });
    assert_eq!(runtime.block_on(task).unwrap(), Ok(()), "the other task ran during the work");
}

#[tokio::test]
async fn on_a_runtime_of_one_thread_the_work_is_done_in_place() {
    assert_eq!(off_the_worker(true, || 7), 7);
}
