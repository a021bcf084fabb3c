//! Proofs from hand-made rings, and from records that were signed here.

use super::*;

fn verifier() -> &'static Verifier {
    Box::leak(Box::new(Verifier::new(Timestamp::from_second(NOW).unwrap())))
}

/// No record at all.
fn none(zone: &Name) -> Denials<'_> {
    let (nsec, nsec3) = (Vec::new(), Vec::new());
    Denials {
        zone,
        verifier: verifier(),
        nsec,
        nsec3,
        costly: None,
        fault: None,
        undecided: Cell::new(false),
    }
}

/// `a -> d.x -> (apex)`: a zone example with names a, *.w, d.x.
fn spans<'a>(zone: &'a Name, list: &'a [(Name, Name, Vec<Rtype>)]) -> Denials<'a> {
    let nsec = list.iter().map(|(o, n, t)| (o, n, t.as_slice())).collect();
    Denials { nsec, ..none(zone) }
}

#[test]
fn nsec_spans_prove_what_is_between_and_nothing_else() {
    let zone = name("example");
    let list = [
        (name("example"), name("a.example"), vec![Rtype::NS, Rtype::SOA]),
        (name("a.example"), name("sub.example"), vec![Rtype::A]),
        (name("sub.example"), name("*.w.example"), vec![Rtype::NS]),
        (name("*.w.example"), name("d.x.example"), vec![Rtype::TXT]),
        (name("d.x.example"), name("example"), vec![Rtype::A]),
    ];
    let all = spans(&zone, &list);
    assert_eq!(all.no_name(&name("b.example")), Proof::Holds);
    assert_eq!(all.no_name(&name("zz.example")), Proof::Holds, "after the last name");
    assert_eq!(all.no_name(&name("a.example")), Proof::Missing, "it exists");
    assert_eq!(all.no_name(&name("x.example")), Proof::Missing, "it has a name below");
    assert_eq!(all.no_name(&name("q.w.example")), Proof::Missing, "the wildcard stands for it");
    assert_eq!(all.no_name(&name("www.sub.example")), Proof::Missing, "it is delegated away");
    assert_eq!(all.no_type(&name("a.example"), Rtype::AAAA), Proof::Holds);
    assert_eq!(all.no_type(&name("a.example"), Rtype::A), Proof::Missing);
    assert_eq!(all.no_type(&name("x.example"), Rtype::A), Proof::Holds, "nothing but a name below");
    assert_eq!(all.no_type(&name("q.w.example"), Rtype::A), Proof::Holds, "the wildcard has TXT only");
    assert_eq!(all.no_type(&name("q.w.example"), Rtype::TXT), Proof::Missing);
    assert_eq!(all.no_type(&name("sub.example"), Rtype::A), Proof::Missing, "the parent can't say");
    assert_eq!(all.no_type(&name("sub.example"), Rtype::DS), Proof::Holds);
    assert!(all.unsigned_cut(&name("sub.example")));
    assert!(!all.unsigned_cut(&name("a.example")), "no delegation there");
    assert_eq!(all.nothing_closer(&name("q.w.example"), 2), Proof::Holds);
    assert_eq!(all.nothing_closer(&name("d.x.example"), 2), Proof::Missing);
    let first = spans(&zone, &list[..1]);
    assert_eq!(first.no_name(&name("b.example")), Proof::Missing, "without the span there is no proof");
}

fn hashed(text: &str) -> Vec<u8> {
    nsec3_hash(&name(text), &[], 0).unwrap()
}

fn ring(names: &[(&str, Vec<Rtype>)], flags: u8) -> Vec<(Vec<u8>, Nsec3)> {
    let mut list: Vec<_> = names.iter().map(|(n, t)| (hashed(n), t.clone())).collect();
    list.sort();
    let next = |i: usize| list[(i + 1) % list.len()].0.clone();
    let record = |i: usize, types: Vec<Rtype>| Nsec3 {
        hash_algorithm: 1,
        flags,
        iterations: 0,
        salt: Vec::new(),
        next: next(i),
        types,
    };
    (0..list.len()).map(|i| (list[i].0.clone(), record(i, list[i].1.clone()))).collect()
}

#[test]
fn nsec3_rings_prove_the_same_and_opt_out_leaves_it_open() {
    let zone = name("example");
    let names = [
        ("example", vec![Rtype::NS, Rtype::SOA]),
        ("a.example", vec![Rtype::A]),
        ("w.example", vec![]),
        ("*.w.example", vec![Rtype::TXT]),
        ("sub.example", vec![Rtype::NS]),
    ];
    for (flags, closer) in [(0, Proof::Holds), (OPT_OUT, Proof::Open)] {
        let list = ring(&names, flags);
        let nsec3 = list.iter().map(|(h, n)| (h.clone(), n)).collect();
        let all = Denials { nsec3, ..none(&zone) };
        assert_eq!(all.no_name(&name("b.example")), closer);
        assert_eq!(all.no_name(&name("c.b.example")), closer);
        assert_eq!(all.no_name(&name("a.example")), Proof::Missing);
        assert_eq!(all.no_name(&name("q.w.example")), Proof::Missing);
        assert_eq!(all.no_type(&name("a.example"), Rtype::AAAA), Proof::Holds);
        assert_eq!(all.no_type(&name("a.example"), Rtype::A), Proof::Missing);
        assert_eq!(all.no_type(&name("q.w.example"), Rtype::A), closer);
        assert_eq!(all.no_type(&name("sub.example"), Rtype::A), Proof::Missing);
        assert!(all.unsigned_cut(&name("sub.example")));
        assert!(!all.unsigned_cut(&name("a.example")));
        assert_eq!(all.unsigned_cut(&name("other.example")), flags == OPT_OUT);
    }
}

#[test]
fn owner_labels_decode() {
    // RFC 4648 section 10: "foobar" is CPNMUOJ1E8.
    assert_eq!(base32hex(b"cpnmuoj1e8").unwrap(), b"foobar");
    assert_eq!(base32hex(b"cpn!"), None);
}

use crate::dnssec::signer::{NOW, Signer, name};
use crate::dnssec::verify::Fault;
use crate::wire::Rrsig;
use jiff::Timestamp;

fn read<'a>(s: &'a Signer, section: &'a [Rr]) -> Denials<'a> {
    Denials::of(section, &s.zone, &[&s.dnskey], verifier())
}

#[test]
fn only_records_whose_signatures_hold_count() {
    let s = Signer::new("example");
    let good = s.sign(s.nsec("a.example", "c.example", &[Rtype::A]), None);
    let apex = s.sign(s.nsec("example", "a.example", &[Rtype::NS, Rtype::SOA]), None);
    let section = [good.clone(), apex].concat();
    assert_eq!(read(&s, &section).no_name(&name("b.example")), Proof::Holds);
    // Another zone's key, no signature at all, and a signature that was made for a wildcard.
    let other = Signer::new("example");
    assert_eq!(read(&other, &section).no_name(&name("b.example")), Proof::Missing);
    assert!(read(&other, &section).fault().is_some());
    assert_eq!(read(&s, &good[..1]).no_type(&name("a.example"), Rtype::AAAA), Proof::Missing);
    let stretched = s.sign(s.nsec("a.example", "c.example", &[Rtype::A]), Some(1));
    assert_eq!(read(&s, &stretched).no_type(&name("a.example"), Rtype::AAAA), Proof::Missing);
}

#[test]
fn a_denial_without_the_wildcards_denial_is_no_proof() {
    let s = Signer::new("example");
    let span = s.sign(s.nsec("a.example", "c.example", &[Rtype::A]), None);
    assert_eq!(read(&s, &span).no_name(&name("b.example")), Proof::Missing, "*.example may exist");
    // A wildcard's answer needs only that nothing closer exists.
    assert_eq!(read(&s, &span).nothing_closer(&name("b.example"), 1), Proof::Holds);
    assert_eq!(read(&s, &span).nothing_closer(&name("d.example"), 1), Proof::Missing);
}

#[test]
fn many_iterations_count_as_unsigned_but_only_when_signed() {
    let s = Signer::new("example");
    for (iterations, costly) in
        [(0, false), (MAX_ITERATIONS, false), (MAX_ITERATIONS + 1, true), (2500, true)]
    {
        let rr = s.nsec3("example", "example", iterations, 0, &[Rtype::NS, Rtype::SOA]);
        let section = s.sign(rr, None);
        let all = read(&s, &section);
        assert_eq!(all.costly().is_some(), costly, "{iterations}");
        let expected = if costly { Proof::Open } else { Proof::Holds };
        assert_eq!(all.no_name(&name("b.example")), expected, "{iterations}");
        assert_eq!(all.unsigned_cut(&name("sub.example")), costly, "{iterations}");
        // No one can turn a zone insecure by making the number up.
        let forged = Signer::new("example");
        assert_eq!(read(&forged, &section).no_name(&name("b.example")), Proof::Missing);
    }
}

#[test]
fn a_record_of_another_zone_or_hash_says_nothing() {
    let s = Signer::new("example");
    let mut rr = s.nsec3("example", "example", 0, 0, &[Rtype::NS, Rtype::SOA]);
    if let Data::Nsec3(n) = &mut rr.data {
        n.hash_algorithm = 2;
    }
    rr.raw[0] = 2;
    let section = s.sign(rr, None);
    assert_eq!(read(&s, &section).no_name(&name("b.example")), Proof::Missing);
    let far = s.sign(s.nsec("a.test", "c.test", &[Rtype::A]), None);
    assert_eq!(read(&s, &far).no_name(&name("b.test")), Proof::Missing);
}

/// A set with its signature, and what is needed to judge it.
fn sealed(s: &Signer) -> (Rr, Rrsig) {
    let [rr, seal] = s.sign(s.nsec("a.example", "c.example", &[Rtype::A]), None);
    let Data::Rrsig(sig) = seal.data else { panic!("a signature") };
    (rr, sig)
}

#[test]
fn signatures_count_from_their_inception_to_their_expiration_and_over_the_wrap_of_the_clock() {
    let s = Signer::new("example");
    let (rr, sig) = sealed(&s);
    let judge = |sig: &Rrsig, at: i64| {
        let verifier = Verifier::new(Timestamp::from_second(at).unwrap());
        verifier.check_set(&[&rr], &[sig], &[&s.dnskey], &s.zone)
    };
    for (skew, expected) in [
        (0, Ok(())),
        (-1000, Ok(())),
        (1000, Ok(())),
        (-1001, Err(Fault::NotYet(sig.inception))),
        (1001, Err(Fault::Expired(sig.expiration))),
        (-400 * 86_400, Err(Fault::NotYet(sig.inception))),
        (400 * 86_400, Err(Fault::Expired(sig.expiration))),
    ] {
        assert_eq!(judge(&sig, NOW + skew), expected, "{skew}");
    }
    // RFC 4034 section 3.1.5: serial number arithmetic. In 2106 the 32 bits run over.
    let wrap = i64::from(u32::MAX);
    let over = Rrsig { inception: u32::MAX - 100, expiration: 100, ..sig };
    for (at, dated) in [(wrap - 50, true), (wrap + 50, true), (wrap - 200, false), (wrap + 200, false)] {
        // The octets were signed with other dates: where the dates hold, the signature is what is wrong.
        let false_signature = matches!(judge(&over, at), Err(Fault::Invalid(_)));
        assert_eq!(false_signature, dated, "{at}: {:?}", judge(&over, at));
    }
}

#[test]
fn a_crowd_of_keys_or_signatures_is_not_computed() {
    let s = Signer::new("example");
    let (rr, sig) = sealed(&s);
    // Any key can have any tag, with some patience.
    let other = |n: u8| Dnskey { public_key: vec![n; 32], ..s.dnskey.clone() };
    let with_keys = |before: u8| {
        let crowd: Vec<Dnskey> = (0..before).map(other).chain([s.dnskey.clone()]).collect();
        let crowd: Vec<&Dnskey> = crowd.iter().collect();
        verifier().check_set(&[&rr], &[&sig], &crowd, &s.zone)
    };
    assert_eq!(with_keys(3), Ok(()), "keys of one tag do occur");
    assert_eq!(with_keys(4), Err(Fault::OutOfBudget));
    let with_signatures = |before: u8| {
        let forged = |n: u8| Rrsig { signature: vec![n; 64], ..sig.clone() };
        let crowd: Vec<Rrsig> = (0..before).map(forged).chain([sig.clone()]).collect();
        let crowd: Vec<&Rrsig> = crowd.iter().collect();
        verifier().check_set(&[&rr], &crowd, &[&s.dnskey], &s.zone)
    };
    assert_eq!(with_signatures(15), Ok(()));
    assert_eq!(with_signatures(16), Err(Fault::OutOfBudget));
    // Old signatures cost nothing: they are passed over.
    let old = Rrsig { inception: sig.inception - 5000, expiration: sig.inception - 4000, ..sig.clone() };
    let many: Vec<&Rrsig> = std::iter::repeat_n(&old, 500).chain([&sig]).collect();
    assert_eq!(verifier().check_set(&[&rr], &many, &[&s.dnskey], &s.zone), Ok(()));
}

#[test]
fn a_denial_of_hundreds_of_records_is_no_proof() {
    let s = Signer::new("example");
    let names = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "na", "nb"];
    let useless =
        |n: &&str| s.sign(s.nsec(&format!("{n}.example"), &format!("{n}0.example"), &[Rtype::A]), None);
    let useful = || s.sign(s.nsec("example", "c.example", &[Rtype::NS, Rtype::SOA]), None);
    let few: Vec<Rr> = names[..11].iter().flat_map(useless).chain(useful()).collect();
    assert_eq!(read(&s, &few).no_name(&name("b.example")), Proof::Holds);
    let many: Vec<Rr> = names.iter().flat_map(useless).chain(useful()).collect();
    assert_eq!(read(&s, &many).no_name(&name("b.example")), Proof::Missing);
}

#[test]
fn records_of_another_chain_or_with_unknown_flags_do_not_help() {
    let s = Signer::new("example");
    let apex = || s.nsec3("example", "example", 0, 0, &[Rtype::NS, Rtype::SOA]);
    assert_eq!(read(&s, &s.sign(apex(), None)).no_name(&name("b.example")), Proof::Holds);
    let mut odd = apex();
    let Data::Nsec3(n) = &mut odd.data else { panic!("NSEC3") };
    n.flags = 2;
    odd.raw[1] = 2;
    assert_eq!(read(&s, &s.sign(odd, None)).no_name(&name("b.example")), Proof::Missing);
    // The first record says what the chain's parameters are; one with others is of no use beside it.
    let section = [s.sign(s.nsec3("q.example", "q.example", 7, 0, &[]), None), s.sign(apex(), None)].concat();
    assert_eq!(read(&s, &section).no_type(&name("example"), Rtype::A), Proof::Missing);
}

#[test]
fn weak_digests_do_not_count_beside_strong_ones() {
    use crate::dnssec::verify::usable;
    let ds = |digest_type: u8, algorithm: u8| model::registration::Ds {
        key_tag: 1,
        algorithm,
        digest_type,
        digest: String::new(),
    };
    let types = |list: &[model::registration::Ds]| -> Vec<u8> {
        usable(list).iter().map(|ds| ds.digest_type).collect()
    };
    assert_eq!(types(&[ds(1, 13), ds(2, 13)]), [2]);
    assert_eq!(types(&[ds(1, 13)]), [1]);
    assert_eq!(
        types(&[ds(1, 13), ds(200, 13), ds(2, 250)]),
        [1],
        "what is unknown here does not count at all"
    );
    assert_eq!(types(&[ds(200, 13)]), [0u8; 0]);
}

#[test]
fn the_compact_no_is_a_no() {
    let s = Signer::new("example");
    let compact = |types: &[Rtype]| s.sign(s.nsec("a.example", "\\000.a.example", types), None);
    let no_name = compact(&[Rtype::RRSIG, Rtype::NSEC, Rtype(NXNAME)]);
    assert!(read(&s, &no_name).compact_no_name(&name("a.example")));
    assert!(!read(&s, &no_name).compact_no_name(&name("b.example")));
    assert_eq!(read(&s, &no_name).no_type(&name("a.example"), Rtype::A), Proof::Holds);
    let no_type = compact(&[Rtype::TXT, Rtype::RRSIG, Rtype::NSEC]);
    assert!(!read(&s, &no_type).compact_no_name(&name("a.example")));
    assert!(!read(&Signer::new("example"), &no_name).compact_no_name(&name("a.example")), "only when signed");
}

#[test]
fn keys_that_are_not_for_zones_sign_nothing() {
    let s = Signer::new("example");
    let (rr, sig) = sealed(&s);
    let with = |change: fn(&mut Dnskey)| {
        let mut key = s.dnskey.clone();
        change(&mut key);
        verifier().check_set(&[&rr], &[&sig], &[&key], &s.zone)
    };
    assert_eq!(with(|_| {}), Ok(()));
    let no_key = Err(Fault::NoKey(s.dnskey.key_tag));
    assert_eq!(with(|k| k.flags &= !0x0100), no_key, "no zone key");
    assert_eq!(with(|k| k.flags |= 0x0080), no_key, "revoked");
    assert_eq!(with(|k| k.protocol = 2), no_key, "of another protocol");
    assert_eq!(with(|k| k.algorithm = 13), no_key);
}
