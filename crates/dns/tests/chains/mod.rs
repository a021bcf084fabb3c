//! Chains from a trust anchor at `test` to `sealed.test`, with one thing made of it in each case, and the verdict.

use crate::sealed::world::Make;
use crate::sealed::*;
use crate::signed::*;
use hickory_proto::op::{Message, ResponseCode};
use model::dns::DnssecStatus::{self, Bogus, Insecure, Secure};
use model::registration::Ds;

pub const PARENT: &str = "test";
const NS_ALONE: &[u16] = &[NS, RRSIG, NSEC];

/// The parent, which says these things when it is asked for the DS records of the child.
fn parent(query: &Message, reply: Message, link: &[(Part, Set)]) -> Option<Message> {
    let zone = nsec(PARENT);
    if asked(query) != (NAME.to_string(), DS) {
        return zone.answer(query, reply);
    }
    let mut reply = reply;
    reply.answers.clear();
    reply.authorities.clear();
    dnssec_ok(&mut reply);
    for (part, set) in link {
        zone.tell(&mut reply, *part, set, true);
    }
    Some(reply)
}

fn set(owner: &str, rtype: u16, data: Vec<Vec<u8>>, seals: Vec<Seal>) -> Set {
    Set { owner: owner.to_string(), rtype, data, seals }
}

fn data(ds: &Ds) -> Vec<u8> {
    let digest =
        (0..ds.digest.len()).step_by(2).map(|i| u8::from_str_radix(&ds.digest[i..i + 2], 16).unwrap());
    ds.key_tag.to_be_bytes().into_iter().chain([ds.algorithm, ds.digest_type]).chain(digest).collect()
}

/// The DS records, signed so.
fn ds_set(records: &[Ds], seal: Seal) -> Vec<(Part, Set)> {
    vec![(Part::Answer, set(NAME, DS, records.iter().map(data).collect(), vec![seal]))]
}

fn ds(digest_type: u8) -> Ds {
    ds_of(NAME, &ksk(), digest_type)
}

fn soa_of(zone: &str) -> (Part, Set) {
    (Part::Authority, set(zone, SOA, vec![soa_data(zone, 7)], vec![by(By::Zsk)]))
}

/// A denial with an NSEC record of this owner and these types.
fn span(owner: &str, next: &str, types: &[u16], seal: Seal) -> Vec<(Part, Set)> {
    let record = set(owner, NSEC, vec![nsec_data(next, types)], vec![seal]);
    vec![soa_of(PARENT), (Part::Authority, record)]
}

/// A denial by a chain of one NSEC3 record, that of the top: it spans all other names.
fn hashed(flags: u8, iterations: u16, seal: Seal) -> Vec<(Part, Set)> {
    let [high, low] = iterations.to_be_bytes();
    let hash = hash(PARENT, &[], iterations);
    let data =
        [&[1, flags, high, low, 0, 20], &hash[..], &bitmap(&[NS, SOA, RRSIG, DNSKEY, NSEC3PARAM])].concat();
    let record = set(&format!("{}.{PARENT}", hash_label(&hash)), NSEC3, vec![data], vec![seal]);
    vec![soa_of(PARENT), (Part::Authority, record)]
}

/// A denial with the NSEC3 record of the child's own name.
fn hashed_name(types: &[u16], seal: Seal) -> Vec<(Part, Set)> {
    let hash = hash(NAME, &[], 0);
    let data = [&[1, 0, 0, 0, 0, 20], &[7; 20][..], &bitmap(types)].concat();
    let record = set(&format!("{}.{PARENT}", hash_label(&hash)), NSEC3, vec![data], vec![seal]);
    vec![soa_of(PARENT), (Part::Authority, record)]
}

const WELL: Make = |q, r| nsec(NAME).answer(q, r);
const LINK: Make = |q, r| parent(q, r, &ds_set(&[ds(2)], by(By::Zsk)));
const NO_LINK: Make = |q, r| parent(q, r, &span(NAME, "zz.test", NS_ALONE, by(By::Zsk)));
const OTHER_SIGNER: fn() -> Seal = || Seal { signer: Some(NAME), ..by(By::Zsk) };

pub struct Chain {
    pub what: &'static str,
    pub anchors: Vec<Vec<u8>>,
    pub parent: Make,
    pub child: Make,
    pub verdict: DnssecStatus,
    /// Unbound's, where it is another.
    pub theirs: Option<DnssecStatus>,
}

impl Chain {
    fn but_unbound(self, verdict: DnssecStatus) -> Self {
        Chain { theirs: Some(verdict), ..self }
    }
}

fn linked(what: &'static str, parent: Make, verdict: DnssecStatus) -> Chain {
    Chain { what, anchors: vec![ksk()], parent, child: WELL, verdict, theirs: None }
}

fn child(what: &'static str, child: Make, verdict: DnssecStatus) -> Chain {
    Chain { what, anchors: vec![ksk()], parent: LINK, child, verdict, theirs: None }
}

fn anchored(what: &'static str, anchors: Vec<Vec<u8>>, verdict: DnssecStatus) -> Chain {
    Chain { what, anchors, parent: LINK, child: WELL, verdict, theirs: None }
}

/// The link between the zones: DS records and denials of them.
pub fn links() -> Vec<Chain> {
    vec![
        linked("all is right", LINK, Secure),
        linked("SHA-384", |q, r| parent(q, r, &ds_set(&[ds(4)], by(By::Zsk))), Secure),
        linked("SHA-1 alone", |q, r| parent(q, r, &ds_set(&[ds(1)], by(By::Zsk))), Secure),
        linked(
            "a DS record of an unknown digest alone",
            |q, r| parent(q, r, &ds_set(&[ds(200)], by(By::Zsk))),
            Insecure,
        ),
        linked(
            "a DS record of an unknown algorithm alone",
            |q, r| parent(q, r, &ds_set(&[Ds { algorithm: 200, ..ds(2) }], by(By::Zsk))),
            Insecure,
        ),
        linked(
            "an unknown one beside a good one",
            |q, r| parent(q, r, &ds_set(&[ds(200), ds(2)], by(By::Zsk))),
            Secure,
        ),
        linked(
            "an unknown one beside one of no key",
            |q, r| parent(q, r, &ds_set(&[ds(200), ds_of(NAME, &stranger(), 2)], by(By::Zsk))),
            Bogus,
        ),
        linked(
            "SHA-1 right, SHA-256 wrong",
            |q, r| parent(q, r, &ds_set(&[ds(1), Ds { digest: "AB".repeat(32), ..ds(2) }], by(By::Zsk))),
            Bogus,
        ),
        linked(
            "an old key's DS record beside it",
            |q, r| parent(q, r, &ds_set(&[ds_of(NAME, &stranger(), 2), ds(2)], by(By::Zsk))),
            Secure,
        ),
        linked(
            "DS records in the child's name",
            |q, r| parent(q, r, &ds_set(&[ds(2)], OTHER_SIGNER())),
            Bogus,
        ),
        linked(
            "DS records that were signed",
            |q, r| parent(q, r, &ds_set(&[ds(2)], by(By::Zsk).at(PAST))),
            Bogus,
        ),
        linked(
            "DS records that will be signed",
            |q, r| parent(q, r, &ds_set(&[ds(2)], by(By::Zsk).at(FUTURE))),
            Bogus,
        ),
        linked(
            "DS records, falsely signed",
            |q, r| parent(q, r, &ds_set(&[ds(2)], by(By::Zsk).spoiled())),
            Bogus,
        ),
        linked("DS records of a stranger", |q, r| parent(q, r, &ds_set(&[ds(2)], by(By::Stranger))), Bogus),
        linked("a proof that there are none", NO_LINK, Insecure),
        linked("no DS record and no proof", |q, r| parent(q, r, &[soa_of(PARENT)]), Bogus),
        linked("nothing at all", |q, r| parent(q, r, &[]), Bogus),
        linked(
            "the name is denied without a proof",
            |q, r| {
                let mut reply = parent(q, r, &[soa_of(PARENT)])?;
                if asked(q) == (NAME.to_string(), DS) {
                    reply.metadata.response_code = ResponseCode::NXDomain;
                }
                Some(reply)
            },
            Bogus,
        ),
        linked(
            "the proof is by a stranger",
            |q, r| parent(q, r, &span(NAME, "zz.test", NS_ALONE, by(By::Stranger))),
            Bogus,
        ),
        linked(
            "the proof is old",
            |q, r| parent(q, r, &span(NAME, "zz.test", NS_ALONE, by(By::Zsk).at(PAST))),
            Bogus,
        ),
        linked(
            "the proof lists DS",
            |q, r| parent(q, r, &span(NAME, "zz.test", &[NS, DS, RRSIG, NSEC], by(By::Zsk))),
            Bogus,
        ),
        linked(
            "the proof is the record of the child's top",
            |q, r| {
                parent(q, r, &span(NAME, "ns1.sealed.test", &[NS, SOA, RRSIG, NSEC, DNSKEY], OTHER_SIGNER()))
            },
            Bogus,
        ),
        linked(
            "the same in the parent's name",
            |q, r| parent(q, r, &span(NAME, "ns1.sealed.test", &[NS, SOA, RRSIG, NSEC, DNSKEY], by(By::Zsk))),
            Bogus,
        ),
        linked(
            "the proof is of a name beside it",
            |q, r| parent(q, r, &span("ns1.test", "zz.test", &[1, RRSIG, NSEC], by(By::Zsk))),
            Bogus,
        ),
        linked(
            "NSEC3: a proof that there are none",
            |q, r| parent(q, r, &hashed_name(&[NS], by(By::Zsk))),
            Insecure,
        ),
        linked(
            "NSEC3: the record lists DS",
            |q, r| parent(q, r, &hashed_name(&[NS, DS, RRSIG], by(By::Zsk))),
            Bogus,
        ),
        linked(
            "NSEC3: the record is of a zone's top",
            |q, r| parent(q, r, &hashed_name(&[NS, SOA, RRSIG, DNSKEY], by(By::Zsk))),
            Bogus,
        ),
        linked("NSEC3: an opt-out span", |q, r| parent(q, r, &hashed(1, 0, by(By::Zsk))), Insecure),
        linked(
            "NSEC3: a span that leaves nothing out",
            |q, r| parent(q, r, &hashed(0, 0, by(By::Zsk))),
            Bogus,
        ),
        linked(
            "NSEC3: an opt-out span, falsely signed",
            |q, r| parent(q, r, &hashed(1, 0, by(By::Zsk).spoiled())),
            Bogus,
        ),
        linked("NSEC3: too many iterations", |q, r| parent(q, r, &hashed(0, 400, by(By::Zsk))), Insecure),
        linked(
            "NSEC3: too many iterations, falsely signed",
            |q, r| parent(q, r, &hashed(0, 400, by(By::Zsk).spoiled())),
            Bogus,
        ),
    ]
}

fn keyed(keys: Vec<Vec<u8>>, seals: Vec<Seal>) -> Zone {
    nsec(NAME).keys(keys, seals)
}

/// The child itself, and the anchors.
pub fn zones() -> Vec<Chain> {
    let old_first = vec![stranger(), ksk()];
    vec![
        child("NSEC3 in the child", |q, r| nsec3(NAME).answer(q, r), Secure),
        child("names in capitals", |q, r| Zone { loud: true, ..nsec(NAME) }.answer(q, r), Secure),
        child(
            "the keys are signed by another key",
            |q, r| nsec(NAME).seals(DNSKEY, vec![by(By::Zsk)]).answer(q, r),
            Bogus,
        ),
        child(
            "the keys are signed by a stranger too",
            |q, r| nsec(NAME).seals(DNSKEY, vec![by(By::Stranger), by(By::Zsk), by(By::Ksk)]).answer(q, r),
            Secure,
        ),
        child(
            "the keys have a false signature too",
            |q, r| nsec(NAME).seals(DNSKEY, vec![by(By::Ksk).spoiled(), by(By::Ksk)]).answer(q, r),
            Secure,
        ),
        child(
            "the keys have an old signature too",
            |q, r| nsec(NAME).seals(DNSKEY, vec![by(By::Ksk).at(PAST), by(By::Ksk)]).answer(q, r),
            Secure,
        ),
        child(
            "the key is no zone key",
            |q, r| {
                let key = dnskey(By::Ksk, 1);
                keyed(vec![key.clone(), zsk()], vec![by(By::Ksk).named(key)]).answer(q, r)
            },
            Bogus,
        ),
        child(
            "the key is revoked",
            |q, r| {
                let key = dnskey(By::Ksk, 257 | 0x80);
                keyed(vec![key.clone(), zsk()], vec![by(By::Ksk).named(key)]).answer(q, r)
            },
            Bogus,
        ),
        child(
            "the zone signing key is revoked",
            |q, r| {
                let key = dnskey(By::Zsk, 256 | 0x80);
                let zone = keyed(vec![ksk(), key.clone()], vec![by(By::Ksk)]);
                zone.seals(SOA, vec![by(By::Zsk).named(key)]).answer(q, r)
            },
            Bogus,
        )
        // RFC 5011 section 2.1: a revoked key is of no use for anything but its revocation. Unbound minds it in anchors
        // only.
        .but_unbound(Secure),
        child("no keys", |q, r| unsigned(NAME).answer(q, r), Bogus),
        child(
            "keys of unknown algorithms beside",
            |q, r| keyed(vec![odd(200), ksk(), zsk(), odd(16)], vec![by(By::Ksk)]).answer(q, r),
            Secure,
        ),
        child("the SOA record is not signed", |q, r| nsec(NAME).seals(SOA, vec![]).answer(q, r), Bogus),
        child(
            "the SOA record was signed",
            |q, r| nsec(NAME).seals(SOA, vec![by(By::Zsk).at(PAST)]).answer(q, r),
            Bogus,
        ),
        child(
            "the SOA record is signed in the parent's name",
            |q, r| nsec(NAME).seals(SOA, vec![Seal { signer: Some(PARENT), ..by(By::Zsk) }]).answer(q, r),
            Bogus,
        )
        // RFC 4035 section 5.3.1: the signer is the zone that has the records. Unbound does not look whose these are when
        // the parent, which could say anything of its child, has signed them.
        .but_unbound(Secure),
        child(
            "the SOA record is signed in a name beside it",
            |q, r| {
                nsec(NAME).seals(SOA, vec![Seal { signer: Some("other.test"), ..by(By::Zsk) }]).answer(q, r)
            },
            Bogus,
        ),
        child(
            "the SOA record is signed by a key that is not there",
            |q, r| nsec(NAME).seals(SOA, vec![by(By::Stranger)]).answer(q, r),
            Bogus,
        ),
        child(
            "the SOA record is signed by the key signing key",
            |q, r| nsec(NAME).seals(SOA, vec![by(By::Ksk)]).answer(q, r),
            Secure,
        ),
        child(
            "the SOA record is signed in another algorithm's name",
            |q, r| {
                let mut key = zsk();
                // A tag is a sum: what one octet has more another of the same weight has less.
                let at = (5..key.len()).step_by(2).find(|i| key[*i] >= 1).unwrap();
                key[at] -= 1;
                key[3] += 1;
                assert_eq!(key_tag(&key), key_tag(&zsk()));
                nsec(NAME).seals(SOA, vec![by(By::Zsk).named(key)]).answer(q, r)
            },
            Bogus,
        ),
        anchored("the anchor is another key", vec![stranger()], Bogus),
        anchored("two anchors, the old one first", old_first, Secure),
        anchored("two anchors, the old one last", vec![ksk(), stranger()], Secure),
    ]
}
