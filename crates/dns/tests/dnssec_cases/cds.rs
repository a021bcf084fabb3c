//! DNSSEC15 (CDS and CDNSKEY agree), DNSSEC16 (CDS), DNSSEC17 (CDNSKEY), DNSSEC18 (signed by a key of the DS records).

use super::*;

pub const CASES: &[&str] = &["DNSSEC15", "DNSSEC16", "DNSSEC17", "DNSSEC18"];

/// "Remove the DS records" (RFC 8078 section 4).
const NO_CDS: [u8; 5] = [0, 0, 0, 0, 0];
const NO_CDNSKEY: [u8; 5] = [0, 0, 3, 0, 0];

/// The CDS record of a key.
fn cds(key: &[u8], digest_type: u8) -> Vec<u8> {
    let ds = ds_of(NAME, key, digest_type);
    let digest =
        (0..ds.digest.len()).step_by(2).map(|i| u8::from_str_radix(&ds.digest[i..i + 2], 16).unwrap());
    ds.key_tag.to_be_bytes().into_iter().chain([ds.algorithm, ds.digest_type]).chain(digest).collect()
}

fn with_cds(data: Vec<Vec<u8>>) -> Zone {
    nsec(NAME).set(CDS, data, vec![by(By::Ksk)])
}

fn with_cdnskey(data: Vec<Vec<u8>>) -> Zone {
    nsec(NAME).set(CDNSKEY, data, vec![by(By::Ksk)])
}

fn with_both(cds_data: Vec<Vec<u8>>, cdnskey_data: Vec<Vec<u8>>) -> Zone {
    with_cds(cds_data).set(CDNSKEY, cdnskey_data, vec![by(By::Ksk)])
}

/// Both, of the key signing key, signed by it.
const BOTH: Make = |q, r| with_both(vec![cds(&ksk(), 2)], vec![ksk()]).answer(q, r);
const REMOVAL: Make = |q, r| with_both(vec![NO_CDS.to_vec()], vec![NO_CDNSKEY.to_vec()]).answer(q, r);

pub fn behaviours() -> Vec<Behaviour> {
    let mut all = agreement();
    all.extend(of_cds());
    all.extend(of_cdnskey());
    all.extend(trust());
    all
}

fn agreement() -> Vec<Behaviour> {
    let u = |what, servers, told: &[&'static str]| undelegated("DNSSEC15", what, servers, vec![], told);
    const HAS: &str = "DS15_HAS_CDS_AND_CDNSKEY";
    const MISMATCH: &str = "DS15_MISMATCH_CDS_CDNSKEY";
    vec![
        healthy(u("neither", [WELL; 2], &["DS15_NO_CDS_CDNSKEY"])),
        healthy(u("not signed", [BARE; 2], &["DS15_NO_CDS_CDNSKEY"])),
        healthy(u("both of one key", [BOTH; 2], &[HAS])),
        healthy(u("both ask for removal", [REMOVAL; 2], &[HAS])),
        u(
            "several digests of one key",
            [|q, r| with_both(vec![cds(&ksk(), 2), cds(&ksk(), 4)], vec![ksk()]).answer(q, r); 2],
            &[HAS],
        ),
        u(
            "a digest no one can compute",
            [|q, r| with_both(vec![cds(&ksk(), 200)], vec![ksk()]).answer(q, r); 2],
            &[HAS],
        ),
        u("CDS alone", [|q, r| with_cds(vec![cds(&ksk(), 2)]).answer(q, r); 2], &["DS15_HAS_CDS_NO_CDNSKEY"]),
        u("CDNSKEY alone", [|q, r| with_cdnskey(vec![ksk()]).answer(q, r); 2], &["DS15_HAS_CDNSKEY_NO_CDS"]),
        u(
            "of two keys",
            [|q, r| with_both(vec![cds(&ksk(), 2)], vec![stranger()]).answer(q, r); 2],
            &[HAS, MISMATCH],
        ),
        u(
            "one CDNSKEY more",
            [|q, r| with_both(vec![cds(&ksk(), 2)], vec![ksk(), stranger()]).answer(q, r); 2],
            &[HAS, MISMATCH],
        ),
        u(
            "one CDS more",
            [|q, r| with_both(vec![cds(&ksk(), 2), cds(&stranger(), 2)], vec![ksk()]).answer(q, r); 2],
            &[HAS, MISMATCH],
        ),
        u(
            "removal in CDS only",
            [|q, r| with_both(vec![NO_CDS.to_vec()], vec![ksk()]).answer(q, r); 2],
            &[HAS, MISMATCH],
        ),
        u(
            "a false digest",
            [|q, r| {
                let mut data = cds(&ksk(), 2);
                data[9] ^= 1;
                with_both(vec![data], vec![ksk()]).answer(q, r)
            }; 2],
            &[HAS, MISMATCH],
        ),
        u(
            "two sets of CDS",
            [BOTH, |q, r| with_both(vec![cds(&ksk(), 2), cds(&ksk(), 4)], vec![ksk()]).answer(q, r)],
            &[HAS, "DS15_INCONSISTENT_CDS"],
        ),
        u("both on one server", [BOTH, WELL], &[HAS, "DS15_INCONSISTENT_CDS", "DS15_INCONSISTENT_CDNSKEY"]),
        u(
            "two sets of CDNSKEY",
            [
                |q, r| with_cdnskey(vec![ksk()]).answer(q, r),
                |q, r| with_cdnskey(vec![stranger()]).answer(q, r),
            ],
            &["DS15_HAS_CDNSKEY_NO_CDS", "DS15_INCONSISTENT_CDNSKEY"],
        ),
        u(
            "one in another order",
            [
                |q, r| with_cdnskey(vec![ksk(), stranger()]).answer(q, r),
                |q, r| with_cdnskey(vec![stranger(), ksk()]).answer(q, r),
            ],
            &["DS15_HAS_CDNSKEY_NO_CDS"],
        ),
        u("silent servers don't count", [BOTH, SILENT], &[HAS]),
    ]
}

fn of_cds() -> Vec<Behaviour> {
    let u = |what, servers, told: &[&'static str]| undelegated("DNSSEC16", what, servers, vec![], told);
    vec![
        healthy(u("no CDS", [WELL; 2], &[])),
        healthy(u("not signed", [BARE; 2], &[])),
        healthy(u("of the key that signs", [BOTH; 2], &[])),
        u("removal", [REMOVAL; 2], &["DS16_DELETE_CDS"]),
        u(
            "removal and more",
            [|q, r| with_cds(vec![NO_CDS.to_vec(), cds(&ksk(), 2)]).answer(q, r); 2],
            &["DS16_MIXED_DELETE_CDS"],
        ),
        u(
            "no keys",
            [|q, r| unsigned(NAME).set(CDS, vec![cds(&ksk(), 2)], vec![]).answer(q, r); 2],
            &["DS16_CDS_WITHOUT_DNSKEY"],
        ),
        u(
            "removal without keys",
            [|q, r| unsigned(NAME).set(CDS, vec![NO_CDS.to_vec()], vec![]).answer(q, r); 2],
            &["DS16_DELETE_CDS", "DS16_CDS_WITHOUT_DNSKEY"],
        ),
        u(
            "an error for the keys",
            [BOTH, |q, r| {
                with_cds(vec![cds(&ksk(), 2)])
                    .fails(DNSKEY, Failure::Code(ResponseCode::ServFail))
                    .answer(q, r)
            }],
            &["DS16_CDS_WITHOUT_DNSKEY"],
        ),
        u(
            "of a key that is not there",
            [|q, r| with_cds(vec![cds(&stranger(), 2)]).answer(q, r); 2],
            &["DS16_CDS_MATCHES_NO_DNSKEY"],
        ),
        u(
            "of no zone key",
            [|q, r| {
                let key = dnskey(By::Stranger, 1);
                with_cds(vec![cds(&key, 2)]).keys(vec![ksk(), zsk(), key], vec![by(By::Ksk)]).answer(q, r)
            }; 2],
            &["DS16_CDS_MATCHES_NON_ZONE_DNSKEY"],
        ),
        u(
            "of a key that is no secure entry point",
            [|q, r| {
                nsec(NAME)
                    .seals(DNSKEY, vec![by(By::Zsk)])
                    .set(CDS, vec![cds(&zsk(), 2)], vec![by(By::Zsk)])
                    .answer(q, r)
            }; 2],
            &["DS16_CDS_MATCHES_NON_SEP_DNSKEY"],
        ),
        u(
            "of a key that does not sign the keys",
            [|q, r| with_cds(vec![cds(&ksk(), 2)]).seals(DNSKEY, vec![by(By::Zsk)]).answer(q, r); 2],
            &["DS16_DNSKEY_NOT_SIGNED_BY_CDS"],
        ),
        u(
            "signed by another key than it names",
            [|q, r| with_cds(vec![cds(&ksk(), 2)]).seals(CDS, vec![by(By::Zsk)]).answer(q, r); 2],
            &["DS16_CDS_NOT_SIGNED_BY_CDS"],
        ),
        u(
            "not signed at all",
            [|q, r| with_cds(vec![cds(&ksk(), 2)]).seals(CDS, vec![]).answer(q, r), WELL],
            &["DS16_CDS_UNSIGNED", "DS16_CDS_NOT_SIGNED_BY_CDS"],
        ),
        u(
            "signed by a key that is not there too",
            [|q, r| {
                with_cds(vec![cds(&ksk(), 2)]).seals(CDS, vec![by(By::Ksk), by(By::Stranger)]).answer(q, r)
            }; 2],
            &["DS16_CDS_SIGNED_BY_UNKNOWN_DNSKEY"],
        ),
        u(
            "a false signature",
            [|q, r| with_cds(vec![cds(&ksk(), 2)]).seals(CDS, vec![by(By::Ksk).spoiled()]).answer(q, r); 2],
            &["DS16_CDS_INVALID_RRSIG"],
        ),
        u(
            "an old signature",
            [|q, r| with_cds(vec![cds(&ksk(), 2)]).seals(CDS, vec![by(By::Ksk).at(PAST)]).answer(q, r); 2],
            &["DS16_CDS_INVALID_RRSIG"],
        ),
        u(
            "removal, falsely signed",
            [|q, r| with_cds(vec![NO_CDS.to_vec()]).seals(CDS, vec![by(By::Ksk).spoiled()]).answer(q, r); 2],
            &["DS16_DELETE_CDS", "DS16_CDS_INVALID_RRSIG"],
        ),
        u(
            "without authority it does not count",
            [|q, r| with_cds(vec![NO_CDS.to_vec()]).fails(CDS, Failure::NoAuthority).answer(q, r); 2],
            &[],
        ),
    ]
}

fn of_cdnskey() -> Vec<Behaviour> {
    let u = |what, servers, told: &[&'static str]| undelegated("DNSSEC17", what, servers, vec![], told);
    vec![
        healthy(u("no CDNSKEY", [WELL; 2], &[])),
        healthy(u("not signed", [BARE; 2], &[])),
        healthy(u("of the key that signs", [BOTH; 2], &[])),
        u("removal", [REMOVAL; 2], &["DS17_DELETE_CDNSKEY"]),
        u(
            "removal and more",
            [|q, r| with_cdnskey(vec![NO_CDNSKEY.to_vec(), ksk()]).answer(q, r); 2],
            &["DS17_MIXED_DELETE_CDNSKEY"],
        ),
        u(
            "no keys",
            [|q, r| unsigned(NAME).set(CDNSKEY, vec![ksk()], vec![]).answer(q, r); 2],
            &["DS17_CDNSKEY_WITHOUT_DNSKEY"],
        ),
        u(
            "of a key that is not there",
            [|q, r| with_cdnskey(vec![stranger()]).answer(q, r); 2],
            &["DS17_CDNSKEY_MATCHES_NO_DNSKEY"],
        ),
        u(
            "another flag than the key's",
            [|q, r| with_cdnskey(vec![dnskey(By::Ksk, 256)]).answer(q, r); 2],
            &["DS17_CDNSKEY_MATCHES_NO_DNSKEY", "DS17_CDNSKEY_IS_NON_SEP"],
        ),
        u(
            "no zone key",
            [|q, r| with_cdnskey(vec![dnskey(By::Ksk, 1)]).answer(q, r); 2],
            &["DS17_CDNSKEY_IS_NON_ZONE"],
        ),
        u(
            "no secure entry point",
            [|q, r| {
                nsec(NAME)
                    .seals(DNSKEY, vec![by(By::Zsk)])
                    .set(CDNSKEY, vec![zsk()], vec![by(By::Zsk)])
                    .answer(q, r)
            }; 2],
            &["DS17_CDNSKEY_IS_NON_SEP"],
        ),
        u(
            "of a key that does not sign the keys",
            [|q, r| with_cdnskey(vec![ksk()]).seals(DNSKEY, vec![by(By::Zsk)]).answer(q, r); 2],
            &["DS17_DNSKEY_NOT_SIGNED_BY_CDNSKEY"],
        ),
        u(
            "signed by another key than it is",
            [|q, r| with_cdnskey(vec![ksk()]).seals(CDNSKEY, vec![by(By::Zsk)]).answer(q, r); 2],
            &["DS17_CDNSKEY_NOT_SIGNED_BY_CDNSKEY"],
        ),
        u(
            "not signed at all",
            [|q, r| with_cdnskey(vec![ksk()]).seals(CDNSKEY, vec![]).answer(q, r), WELL],
            &["DS17_CDNSKEY_UNSIGNED", "DS17_CDNSKEY_NOT_SIGNED_BY_CDNSKEY"],
        ),
        u(
            "signed by a key that is not there too",
            [|q, r| {
                with_cdnskey(vec![ksk()]).seals(CDNSKEY, vec![by(By::Ksk), by(By::Stranger)]).answer(q, r)
            }; 2],
            &["DS17_CDNSKEY_SIGNED_BY_UNKNOWN_DNSKEY"],
        ),
        u(
            "a false signature",
            [|q, r| with_cdnskey(vec![ksk()]).seals(CDNSKEY, vec![by(By::Ksk).spoiled()]).answer(q, r); 2],
            &["DS17_CDNSKEY_INVALID_RRSIG"],
        ),
    ]
}

fn trust() -> Vec<Behaviour> {
    let ds = || vec![ds_of(NAME, &ksk(), 2)];
    let u = |what, servers, ds, told: &[&'static str]| undelegated("DNSSEC18", what, servers, ds, told);
    const NO_CDS_TRUST: &str = "DS18_NO_MATCH_CDS_RRSIG_DS";
    const NO_CDNSKEY_TRUST: &str = "DS18_NO_MATCH_CDNSKEY_RRSIG_DS";
    vec![
        healthy(u("signed by the key of the DS record", [BOTH; 2], ds(), &[])),
        healthy(u("neither", [WELL; 2], ds(), &[])),
        healthy(u("not signed", [BARE; 2], vec![], &[])),
        u(
            "no DS record",
            [|q, r| with_cds(vec![cds(&ksk(), 2)]).seals(CDS, vec![]).answer(q, r); 2],
            vec![],
            &[],
        ),
        u(
            "CDS signed by another key",
            [|q, r| with_both(vec![cds(&ksk(), 2)], vec![ksk()]).seals(CDS, vec![by(By::Zsk)]).answer(q, r);
                2],
            ds(),
            &[NO_CDS_TRUST],
        ),
        u(
            "CDNSKEY signed by another key",
            [|q, r| {
                with_both(vec![cds(&ksk(), 2)], vec![ksk()]).seals(CDNSKEY, vec![by(By::Zsk)]).answer(q, r)
            }; 2],
            ds(),
            &[NO_CDNSKEY_TRUST],
        ),
        u(
            "a DS record of a key that is not there",
            [BOTH; 2],
            vec![ds_of(NAME, &stranger(), 2)],
            &[NO_CDS_TRUST, NO_CDNSKEY_TRUST],
        ),
        u("one of two DS records", [BOTH; 2], [ds(), vec![ds_of(NAME, &stranger(), 2)]].concat(), &[]),
        u(
            "no keys",
            [|q, r| unsigned(NAME).set(CDS, vec![cds(&ksk(), 2)], vec![]).answer(q, r); 2],
            ds(),
            &[],
        ),
        u(
            "no keys on one server",
            [BOTH, |q, r| {
                with_cds(vec![cds(&ksk(), 2)])
                    .fails(DNSKEY, Failure::Code(ResponseCode::ServFail))
                    .answer(q, r)
            }],
            ds(),
            &[NO_CDS_TRUST],
        ),
    ]
}
