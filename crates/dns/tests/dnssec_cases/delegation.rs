//! DNSSEC01 (digests of DS records), DNSSEC02 (they match keys that sign), DNSSEC07 (a signed zone has them), DNSSEC11 (a
//! zone that has them is signed).

use super::*;
use crate::sealed::given;
use model::registration::Ds;

pub const CASES: &[&str] = &["DNSSEC01", "DNSSEC02", "DNSSEC07", "DNSSEC11"];

/// A DS record's data.
fn data(ds: &Ds) -> Vec<u8> {
    let digest =
        (0..ds.digest.len()).step_by(2).map(|i| u8::from_str_radix(&ds.digest[i..i + 2], 16).unwrap());
    ds.key_tag.to_be_bytes().into_iter().chain([ds.algorithm, ds.digest_type]).chain(digest).collect()
}

/// The DS record of the key signing key with this digest type.
fn ds(digest_type: u8) -> Ds {
    ds_of(NAME, &ksk(), digest_type)
}

/// A server of the parent with these DS records; the signature over them is no one's in particular.
fn parent(query: &Message, mut reply: Message, records: &[Ds]) -> Message {
    if asked(query) == (NAME.to_string(), DS) {
        reply.answers.clear();
        dnssec_ok(&mut reply);
        let raw = |rtype, data| Raw(NAME.into(), rtype, data);
        let set: Vec<Raw> = records.iter().map(|ds| raw(DS, data(ds))).collect();
        add(&mut reply, Part::Answer, &set);
        if !set.is_empty() {
            add(&mut reply, Part::Answer, &[raw(RRSIG, rrsig(DS, 15, 1, GOOD, "test", b"?"))]);
        }
    }
    reply
}

/// The same, changed where it is about DS records.
fn oddly(query: &Message, reply: Message, change: fn(&mut Message)) -> Option<Message> {
    let mut reply = parent(query, reply, &[ds(2)]);
    if asked(query).1 == DS {
        change(&mut reply);
    }
    Some(reply)
}

const HAS: Make = |q, r| Some(parent(q, r, &[ds(2)]));
const HAS_NOT: Make = |q, r| Some(parent(q, r, &[]));
const WEAK: Make = |q, r| Some(parent(q, r, &[ds(1)]));
const BOTH_DIGESTS: Make = |q, r| Some(parent(q, r, &[ds(1), ds(2)]));
const PARENT_REFUSES: Make = |q, r| oddly(q, r, |r| r.metadata.response_code = ResponseCode::Refused);
const PARENT_WITHOUT_AA: Make = |q, r| oddly(q, r, |r| r.metadata.authoritative = false);
const PARENT_WITHOUT_EDNS: Make = |q, r| oddly(q, r, |r| r.edns = None);
const PARENT_WITHOUT_DO: Make = |q, r| oddly(q, r, |r| _ = r.edns.as_mut().unwrap().set_dnssec_ok(false));
const PARENT_SILENT_FOR_DS: Make = |q, r| (asked(q).1 != DS).then_some(r);
const DS_UNSIGNED: Make = |q, r| {
    oddly(q, r, |r| {
        r.answers.pop();
    })
};

pub fn behaviours() -> Vec<Behaviour> {
    let mut all = digests();
    all.extend(matches());
    all.extend(presence());
    all.extend(agreement());
    all
}

fn digests() -> Vec<Behaviour> {
    let d = |what, parents, told: &[&'static str]| delegated("DNSSEC01", what, parents, [WELL; 2], told);
    let u = |what, ds, told: &[&'static str]| undelegated("DNSSEC01", what, [WELL; 2], ds, told);
    const MISSING: &str = "DS01_DS_ALGO_2_MISSING";
    let root = Behaviour {
        case: "DNSSEC01",
        what: "the root",
        told: vec!["DS01_ROOT_N_NO_UNDEL_DS"],
        healthy: false,
        run: Box::pin(crate::sealed::delegation_of_root("DNSSEC01")),
    };
    vec![
        healthy(d("SHA-256", [HAS; 2], &["DS01_DS_ALGO_OK"])),
        healthy(d("no DS records", [HAS_NOT; 2], &["DS01_PARENT_ZONE_NO_DS"])),
        d("SHA-1 alone", [WEAK; 2], &["DS01_DS_ALGO_DEPRECATED", MISSING]),
        d("SHA-1 and SHA-256", [BOTH_DIGESTS; 2], &["DS01_DS_ALGO_DEPRECATED", "DS01_DS_ALGO_OK"]),
        d(
            "SHA-256 on one server",
            [BOTH_DIGESTS, WEAK],
            &["DS01_DS_ALGO_DEPRECATED", "DS01_DS_ALGO_OK", MISSING],
        ),
        d(
            "SHA-256 for another key",
            [|q, r| Some(parent(q, r, &[ds(1), ds_of(NAME, &stranger(), 2)])); 2],
            &["DS01_DS_ALGO_DEPRECATED", "DS01_DS_ALGO_OK", MISSING],
        ),
        d("SHA-384 alone", [|q, r| Some(parent(q, r, &[ds(4)])); 2], &["DS01_DS_ALGO_OK", MISSING]),
        d(
            "all classes",
            [|q, r| Some(parent(q, r, &[ds(0), ds(2), ds(3), ds(100), ds(200), ds(253)])); 2],
            &[
                "DS01_DS_ALGO_NOT_DS",
                "DS01_DS_ALGO_OK",
                "DS01_DS_ALGO_DEPRECATED",
                "DS01_DS_ALGO_UNASSIGNED",
                "DS01_DS_ALGO_RESERVED",
                "DS01_DS_ALGO_PRIVATE",
            ],
        ),
        d("one server without", [HAS, HAS_NOT], &["DS01_DS_ALGO_OK", "DS01_PARENT_SERVER_NO_DS"]),
        d("one refuses, one has none", [PARENT_REFUSES, HAS_NOT], &["DS01_PARENT_ZONE_NO_DS"]),
        d("one refuses", [PARENT_REFUSES, HAS], &["DS01_DS_ALGO_OK"]),
        d("all refuse", [PARENT_REFUSES; 2], &["DS01_NO_RESPONSE"]),
        d("all silent", [PARENT_SILENT_FOR_DS; 2], &["DS01_NO_RESPONSE"]),
        d("no authority, no EDNS", [PARENT_WITHOUT_AA, PARENT_WITHOUT_EDNS], &["DS01_NO_RESPONSE"]),
        d("no DO", [PARENT_WITHOUT_DO; 2], &["DS01_NO_RESPONSE"]),
        u("before delegation without DS", vec![], &["DS01_UNDEL_N_NO_UNDEL_DS"]),
        u("before delegation", vec![ds(2)], &["DS01_DS_ALGO_OK"]),
        u("before delegation with SHA-1", vec![ds(1)], &["DS01_DS_ALGO_DEPRECATED", MISSING]),
        root,
    ]
}

/// Signed as it should be but that the keys are these, and this signature is over them.
fn keyed(keys: Vec<Vec<u8>>, seal: Seal) -> Zone {
    nsec(NAME).keys(keys, vec![seal])
}

/// The key signing key without these flags; its tag is another then.
fn without_flags(flags: u16) -> Vec<u8> {
    dnskey(By::Ksk, 257 & !flags)
}

fn matches() -> Vec<Behaviour> {
    let u = |what, servers, ds, told: &[&'static str]| undelegated("DNSSEC02", what, servers, ds, told);
    const NONE_VALID: &str = "DS02_NO_VALID_DNSKEY_FOR_ANY_DS";
    const NONE_SIGNS: &str = "DS02_DNSKEY_NOT_SIGNED_BY_ANY_DS";
    let wrong_digest = || Ds { digest: "AB".repeat(32), ..ds(2) };
    let of = |key: Vec<u8>| vec![ds_of(NAME, &key, 2)];
    vec![
        healthy(u("a DS record of the key that signs", [WELL; 2], vec![ds(2)], &[])),
        healthy(u("not signed, no DS record", [BARE; 2], vec![], &[])),
        u("not signed", [BARE; 2], vec![ds(2)], &[]),
        u(
            "a DS record of a key that is not there",
            [WELL; 2],
            of(stranger()),
            &["DS02_NO_DNSKEY_FOR_DS", NONE_VALID],
        ),
        u(
            "the same beside a good one",
            [WELL; 2],
            [of(stranger()), vec![ds(2)]].concat(),
            &["DS02_NO_DNSKEY_FOR_DS"],
        ),
        u("another digest", [WELL; 2], vec![wrong_digest()], &["DS02_NO_MATCH_DS_DNSKEY"]),
        u("another algorithm", [WELL; 2], vec![Ds { algorithm: 13, ..ds(2) }], &["DS02_NO_MATCH_DS_DNSKEY"]),
        u("a digest no one can compute", [WELL; 2], vec![ds(200)], &[]),
        u(
            "no zone key",
            [|q, r| {
                keyed(vec![without_flags(256), zsk()], by(By::Ksk).named(without_flags(256))).answer(q, r)
            }; 2],
            of(without_flags(256)),
            &["DS02_DNSKEY_NOT_FOR_ZONE_SIGNING", NONE_VALID],
        ),
        // Revoking a key changes its tag (RFC 5011 section 2.1).
        u(
            "a key that is revoked",
            [|q, r| {
                let revoked = dnskey(By::Ksk, 257 | 0x80);
                keyed(vec![revoked.clone(), zsk()], by(By::Ksk).named(revoked)).answer(q, r)
            }; 2],
            vec![ds(2)],
            &["DS02_NO_DNSKEY_FOR_DS", NONE_VALID],
        ),
        u(
            "no secure entry point",
            [|q, r| keyed(vec![without_flags(1), zsk()], by(By::Ksk).named(without_flags(1))).answer(q, r);
                2],
            of(without_flags(1)),
            &["DS02_DNSKEY_NOT_SEP"],
        ),
        u(
            "the keys are signed by another key",
            [|q, r| nsec(NAME).seals(DNSKEY, vec![by(By::Zsk)]).answer(q, r); 2],
            vec![ds(2)],
            &["DS02_NO_MATCHING_DNSKEY_RRSIG", NONE_SIGNS],
        ),
        u(
            "on one server",
            [WELL, |q, r| nsec(NAME).seals(DNSKEY, vec![by(By::Zsk)]).answer(q, r)],
            vec![ds(2)],
            &["DS02_NO_MATCHING_DNSKEY_RRSIG", NONE_SIGNS],
        ),
        u(
            "a false signature",
            [|q, r| nsec(NAME).seals(DNSKEY, vec![by(By::Ksk).spoiled()]).answer(q, r); 2],
            vec![ds(2)],
            &["DS02_RRSIG_NOT_VALID_BY_DNSKEY", NONE_SIGNS],
        ),
        u(
            "an old signature",
            [|q, r| nsec(NAME).seals(DNSKEY, vec![by(By::Ksk).at(PAST)]).answer(q, r); 2],
            vec![ds(2)],
            &["DS02_RRSIG_NOT_VALID_BY_DNSKEY", NONE_SIGNS],
        ),
        u(
            "a false signature and a good one",
            [|q, r| nsec(NAME).seals(DNSKEY, vec![by(By::Ksk).spoiled(), by(By::Ksk)]).answer(q, r); 2],
            vec![ds(2)],
            &[],
        ),
        u(
            "an unknown algorithm",
            [|q, r| keyed(vec![odd(200), zsk()], by(By::Stranger).named(odd(200))).answer(q, r); 2],
            of(odd(200)),
            &["DS02_ALGO_NOT_SUPPORTED_BY_ZM", NONE_SIGNS],
        ),
        u(
            "of two keys the DS records name, one signs",
            [|q, r| keyed(vec![ksk(), stranger(), zsk()], by(By::Ksk)).answer(q, r); 2],
            [of(stranger()), vec![ds(2)]].concat(),
            &["DS02_NO_MATCHING_DNSKEY_RRSIG"],
        ),
        u(
            "no EDNS in the answers",
            [|q, r| {
                let mut reply = nsec(NAME).seals(DNSKEY, vec![]).answer(q, r)?;
                reply.edns = None;
                Some(reply)
            }; 2],
            vec![ds(2)],
            &[],
        ),
        delegated(
            "DNSSEC02",
            "of the parent's DS records",
            [|q, r| Some(parent(q, r, &[ds_of(NAME, &stranger(), 2)])), HAS],
            [WELL; 2],
            &["DS02_NO_DNSKEY_FOR_DS"],
        ),
        healthy(delegated("DNSSEC02", "the parent refuses", [PARENT_REFUSES; 2], [WELL; 2], &[])),
    ]
}

fn presence() -> Vec<Behaviour> {
    let d =
        |what, parents, servers, told: &[&'static str]| delegated("DNSSEC07", what, parents, servers, told);
    let u = |what, ds, told: &[&'static str]| undelegated("DNSSEC07", what, [WELL; 2], ds, told);
    const SIGNED: [&str; 2] = ["DS07_SIGNED", "DS07_SIGNED_ON_SERVER"];
    const FINE: [&str; 2] = ["DS07_DS_FOR_SIGNED_ZONE", "DS07_DS_ON_PARENT_SERVER"];
    const LACKING: [&str; 2] = ["DS07_NO_DS_FOR_SIGNED_ZONE", "DS07_NO_DS_ON_PARENT_SERVER"];
    let signed = |more: &[&'static str]| [&SIGNED[..], more].concat();
    const NO_SOA: Make = |q, r| nsec(NAME).fails(SOA, Failure::Code(ResponseCode::ServFail)).answer(q, r);
    vec![
        healthy(d("signed with DS records", [HAS; 2], [WELL; 2], &signed(&FINE))),
        healthy(d("not signed", [HAS_NOT; 2], [BARE; 2], &["DS07_NOT_SIGNED", "DS07_NOT_SIGNED_ON_SERVER"])),
        d(
            "not signed with DS records",
            [HAS; 2],
            [BARE; 2],
            &["DS07_NOT_SIGNED", "DS07_NOT_SIGNED_ON_SERVER"],
        ),
        d("signed without DS records", [HAS_NOT; 2], [WELL; 2], &signed(&LACKING)),
        d(
            "DS records on one server",
            [HAS, HAS_NOT],
            [WELL; 2],
            &signed(&["DS07_INCONSISTENT_DS", "DS07_DS_ON_PARENT_SERVER", "DS07_NO_DS_ON_PARENT_SERVER"]),
        ),
        d("DS records without signature", [DS_UNSIGNED; 2], [WELL; 2], &signed(&LACKING)),
        d("the parent refuses", [PARENT_REFUSES, PARENT_WITHOUT_DO], [WELL; 2], &SIGNED),
        d(
            "signed on one server",
            [HAS; 2],
            [WELL, BARE],
            &[
                "DS07_INCONSISTENT_SIGNED",
                "DS07_SIGNED_ON_SERVER",
                "DS07_NOT_SIGNED_ON_SERVER",
                "DS07_DS_ON_PARENT_SERVER",
            ],
        ),
        d(
            "keys without a signature",
            [HAS; 2],
            [|q, r| nsec(NAME).seals(DNSKEY, vec![]).answer(q, r); 2],
            &["DS07_NOT_SIGNED", "DS07_NOT_SIGNED_ON_SERVER"],
        ),
        d(
            "one is silent for keys",
            [HAS; 2],
            [WELL, SILENT_FOR_KEYS],
            &[&signed(&FINE)[..], &["DS07_NO_RESPONSE_DNSKEY"]].concat(),
        ),
        d(
            "one refuses keys",
            [HAS; 2],
            [WELL, REFUSES_KEYS],
            &[&signed(&FINE)[..], &["DS07_UNEXP_RCODE_RESP_DNSKEY"]].concat(),
        ),
        d(
            "one gives keys without authority",
            [HAS; 2],
            [WELL, KEYS_WITHOUT_AUTHORITY],
            &[&signed(&FINE)[..], &["DS07_NON_AUTH_RESPONSE_DNSKEY"]].concat(),
        ),
        d(
            "no usable answer for keys",
            [HAS; 2],
            [SILENT_FOR_KEYS, REFUSES_KEYS],
            &["DS07_NOT_SIGNED", "DS07_NO_RESPONSE_DNSKEY", "DS07_UNEXP_RCODE_RESP_DNSKEY"],
        ),
        d("no server serves the zone", [HAS; 2], [NO_SOA; 2], &["DS07_NOT_SIGNED"]),
        u("before delegation with DS records", vec![ds(2)], &signed(&FINE)),
        u("before delegation without DS records", vec![], &SIGNED),
    ]
}

fn agreement() -> Vec<Behaviour> {
    let d =
        |what, parents, servers, told: &[&'static str]| delegated("DNSSEC11", what, parents, servers, told);
    vec![
        healthy(d("signed with DS records", [HAS; 2], [WELL; 2], &[])),
        healthy(d("not signed, no DS records", [HAS_NOT; 2], [BARE; 2], &[])),
        d("not signed", [HAS; 2], [BARE; 2], &["DS11_DS_BUT_UNSIGNED_ZONE"]),
        d(
            "signed on one server",
            [HAS; 2],
            [WELL, BARE],
            &["DS11_INCONSISTENT_SIGNED_ZONE", "DS11_NS_WITH_SIGNED_ZONE", "DS11_NS_WITH_UNSIGNED_ZONE"],
        ),
        d(
            "DS records on one server",
            [HAS, HAS_NOT],
            [WELL; 2],
            &["DS11_INCONSISTENT_DS", "DS11_PARENT_WITH_DS", "DS11_PARENT_WITHOUT_DS"],
        ),
        d(
            "one server of the parent refuses",
            [HAS, PARENT_REFUSES],
            [BARE; 2],
            &["DS11_DS_BUT_UNSIGNED_ZONE"],
        ),
        d(
            "without EDNS it is an answer",
            [PARENT_WITHOUT_EDNS; 2],
            [BARE; 2],
            &["DS11_DS_BUT_UNSIGNED_ZONE"],
        ),
        d(
            "the parent does not say",
            [PARENT_REFUSES, PARENT_WITHOUT_AA],
            [BARE; 2],
            &["DS11_UNDETERMINED_DS"],
        ),
        d("one refuses, one has none", [PARENT_REFUSES, HAS_NOT], [BARE; 2], &[]),
        d(
            "the zone does not say",
            [HAS; 2],
            [SILENT_FOR_KEYS, REFUSES_KEYS],
            &["DS11_UNDETERMINED_SIGNED_ZONE"],
        ),
        d("one is silent, one unsigned", [HAS; 2], [SILENT_FOR_KEYS, BARE], &["DS11_DS_BUT_UNSIGNED_ZONE"]),
        undelegated("DNSSEC11", "before delegation", [BARE; 2], vec![ds(2)], &["DS11_DS_BUT_UNSIGNED_ZONE"]),
        undelegated("DNSSEC11", "before delegation without DS records", [BARE; 2], vec![], &[]),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_servers_that_differ_are_the_ones_named() {
    let report = crate::sealed::delegation("DNSSEC01", NAME, [BOTH_DIGESTS, WEAK], [WELL; 2]).await;
    let of = |tag: &str| report.findings.iter().find(|f| f.tag == tag).unwrap_or_else(|| panic!("{tag}"));
    assert_eq!(of("DS01_DS_ALGO_2_MISSING").args["ns_ip_list"], "192.0.2.3");
    assert_eq!(of("DS01_DS_ALGO_OK").args["ns_ip_list"], "192.0.2.2");
    assert_eq!(of("DS01_DS_ALGO_DEPRECATED").args["ns_ip_list"], "192.0.2.2;192.0.2.3");
    const UNSEALED: Make = |q, r| nsec(NAME).seals(DNSKEY, vec![]).answer(q, r);
    let report = given("DNSSEC02", NAME, [WELL, UNSEALED], vec![ds(2)]).await;
    let list = |tag: &str| {
        let found: Vec<_> = report.findings.iter().filter(|f| f.tag == tag).collect();
        assert_eq!(found.len(), 1, "{tag}: one finding for all servers");
        found[0].args["ns_list"].as_str().unwrap().to_string()
    };
    assert_eq!(list("DS02_NO_MATCHING_DNSKEY_RRSIG"), format!("ns2.{NAME}/192.0.2.12"));
    let report = given("DNSSEC02", NAME, [UNSEALED; 2], vec![ds(2)]).await;
    let one: Vec<_> = report.findings.iter().filter(|f| f.tag == "DS02_NO_MATCHING_DNSKEY_RRSIG").collect();
    assert_eq!(one.len(), 1);
    assert_eq!(one[0].args["ns_list"], format!("ns1.{NAME}/192.0.2.11;ns2.{NAME}/192.0.2.12"));
    assert_eq!(one[0].args["keytag"], key_tag(&ksk()));
}
