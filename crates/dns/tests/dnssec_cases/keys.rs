//! DNSSEC05 (algorithms), DNSSEC06 (signatures are sent), DNSSEC13 (each algorithm signs), DNSSEC14 (sizes of RSA keys).

use super::*;

pub const CASES: &[&str] = &["DNSSEC05", "DNSSEC06", "DNSSEC13", "DNSSEC14"];

/// A zone whose keys are those of these algorithms beside the usual ones.
fn algorithms(list: &[u8]) -> Zone {
    let more = list.iter().map(|algorithm| odd(*algorithm));
    nsec(NAME).keys([ksk(), zsk()].into_iter().chain(more).collect(), vec![by(By::Ksk)])
}

/// A DNSKEY record with an RSA modulus of so many bits; the length of the exponent takes one octet or three.
pub fn rsa(algorithm: u8, bits: usize, long: bool) -> Vec<u8> {
    let exponent: &[u8] = if long { &[0, 0, 3, 1, 0, 1] } else { &[3, 1, 0, 1] };
    let mut modulus = vec![0xFF; bits.div_ceil(8)];
    modulus[0] >>= (8 - bits % 8) % 8;
    [&[1, 1, 3, algorithm][..], exponent, &modulus].concat()
}

fn rsa_zone(keys: Vec<Vec<u8>>) -> Zone {
    nsec(NAME).keys(keys, vec![by(By::Ksk)])
}

/// Two algorithms among the keys; the sets of these types are signed with both.
fn two_algorithms(with_both: &[u16]) -> Zone {
    let mut zone = nsec(NAME).keys(vec![ksk(), zsk(), odd(200)], vec![by(By::Ksk)]);
    for rtype in with_both {
        zone.sets.get_mut(rtype).unwrap().seals.push(by(By::Stranger).named(odd(200)));
    }
    zone
}

pub fn behaviours() -> Vec<Behaviour> {
    let u = |case, what, servers, told: &[&'static str]| undelegated(case, what, servers, vec![], told);
    let mut all = vec![
        healthy(u("DNSSEC05", "signed", [WELL; 2], &["DS05_ALGO_OK"])),
        healthy(u("DNSSEC05", "not signed", [BARE; 2], &["DS05_ZONE_NO_DNSSEC"])),
        u("DNSSEC05", "signed on one server", [WELL, BARE], &["DS05_ALGO_OK", "DS05_SERVER_NO_DNSSEC"]),
        u("DNSSEC05", "no one answers", [SILENT_FOR_KEYS, REFUSES_KEYS], &["DS05_NO_RESPONSE"]),
        u("DNSSEC05", "no authority", [KEYS_WITHOUT_AUTHORITY; 2], &["DS05_NO_RESPONSE"]),
        u("DNSSEC05", "one is silent", [WELL, SILENT_FOR_KEYS], &["DS05_ALGO_OK"]),
        u("DNSSEC05", "one is silent, one unsigned", [BARE, SILENT_FOR_KEYS], &["DS05_ZONE_NO_DNSSEC"]),
        u(
            "DNSSEC05",
            "all classes",
            [|q, r| algorithms(&[3, 4, 2, 10, 20, 253]).answer(q, r), WELL],
            &[
                "DS05_ALGO_OK",
                "DS05_ALGO_DEPRECATED",
                "DS05_ALGO_RESERVED",
                "DS05_ALGO_NOT_ZONE_SIGN",
                "DS05_ALGO_NOT_RECOMMENDED",
                "DS05_ALGO_UNASSIGNED",
                "DS05_ALGO_PRIVATE",
            ],
        ),
    ];
    all.extend([
        healthy(u("DNSSEC06", "signed", [WELL; 2], &["EXTRA_PROCESSING_OK"])),
        healthy(u("DNSSEC06", "not signed", [BARE; 2], &[])),
        u(
            "DNSSEC06",
            "keys without signatures",
            [WELL, |q, r| nsec(NAME).seals(DNSKEY, vec![]).answer(q, r)],
            &["EXTRA_PROCESSING_OK", "EXTRA_PROCESSING_BROKEN"],
        ),
        u(
            "DNSSEC06",
            "no keys on one server",
            [WELL, BARE],
            &["EXTRA_PROCESSING_OK", "EXTRA_PROCESSING_BROKEN"],
        ),
        u("DNSSEC06", "an error is no lack of signatures", [WELL, REFUSES_KEYS], &["EXTRA_PROCESSING_OK"]),
    ]);
    const NOT_DNSKEY: &str = "DS13_ALGO_NOT_SIGNED_DNSKEY";
    const NOT_SOA: &str = "DS13_ALGO_NOT_SIGNED_SOA";
    const NOT_NS: &str = "DS13_ALGO_NOT_SIGNED_NS";
    all.extend([
        healthy(u("DNSSEC13", "one algorithm", [WELL; 2], &[])),
        healthy(u("DNSSEC13", "not signed", [BARE; 2], &[])),
        u("DNSSEC13", "all with both", [|q, r| two_algorithms(&[DNSKEY, SOA, NS]).answer(q, r), WELL], &[]),
        u(
            "DNSSEC13",
            "nothing with both",
            [|q, r| two_algorithms(&[]).answer(q, r), WELL],
            &[NOT_DNSKEY, NOT_SOA, NOT_NS],
        ),
        u("DNSSEC13", "not the keys", [|q, r| two_algorithms(&[SOA, NS]).answer(q, r), WELL], &[NOT_DNSKEY]),
        u("DNSSEC13", "not SOA", [|q, r| two_algorithms(&[DNSKEY, NS]).answer(q, r), WELL], &[NOT_SOA]),
        u("DNSSEC13", "not NS", [WELL, |q, r| two_algorithms(&[DNSKEY, SOA]).answer(q, r)], &[NOT_NS]),
        // What lacks any signature is for DNSSEC08 and DNSSEC09 to tell, and ends it for that server.
        u(
            "DNSSEC13",
            "SOA is unsigned",
            [|q, r| two_algorithms(&[DNSKEY]).seals(SOA, vec![]).answer(q, r), WELL],
            &[],
        ),
        u(
            "DNSSEC13",
            "keys unsigned",
            [|q, r| two_algorithms(&[]).seals(DNSKEY, vec![]).answer(q, r), WELL],
            &[],
        ),
    ]);
    all.extend([
        healthy(u("DNSSEC14", "no RSA", [WELL; 2], &["KEY_SIZE_OK"])),
        healthy(u("DNSSEC14", "not signed", [BARE; 2], &[])),
        u("DNSSEC14", "no keys on one server", [WELL, BARE], &["NO_RESPONSE_DNSKEY"]),
        u("DNSSEC14", "one is silent", [WELL, SILENT_FOR_KEYS], &["NO_RESPONSE", "KEY_SIZE_OK"]),
        u("DNSSEC14", "an error has no keys in it", [WELL, REFUSES_KEYS], &["NO_RESPONSE_DNSKEY"]),
        u(
            "DNSSEC14",
            "as recommended",
            [
                |q, r| {
                    rsa_zone(vec![rsa(8, 2048, false), rsa(5, 2048, true), rsa(7, 3072, false)]).answer(q, r)
                },
                |q, r| rsa_zone(vec![rsa(10, 4096, true)]).answer(q, r),
            ],
            &["KEY_SIZE_OK"],
        ),
        u(
            "DNSSEC14",
            "one bit short of the recommendation",
            [|q, r| rsa_zone(vec![rsa(8, 2047, false)]).answer(q, r), WELL],
            &["DNSKEY_SMALLER_THAN_REC"],
        ),
        u(
            "DNSSEC14",
            "the least there may be",
            [
                |q, r| {
                    rsa_zone(vec![
                        rsa(5, 512, false),
                        rsa(7, 512, true),
                        rsa(8, 512, true),
                        rsa(10, 1024, false),
                    ])
                    .answer(q, r)
                },
                WELL,
            ],
            &["DNSKEY_SMALLER_THAN_REC"],
        ),
        u(
            "DNSSEC14",
            "a bit less than the least",
            [|q, r| rsa_zone(vec![rsa(8, 511, false)]).answer(q, r), WELL],
            &["DNSKEY_TOO_SMALL_FOR_ALGO"],
        ),
        u(
            "DNSSEC14",
            "the least of another algorithm",
            [|q, r| rsa_zone(vec![rsa(10, 1023, false)]).answer(q, r), WELL],
            &["DNSKEY_TOO_SMALL_FOR_ALGO"],
        ),
        u(
            "DNSSEC14",
            "a bit more than the most",
            [|q, r| rsa_zone(vec![rsa(8, 4097, false)]).answer(q, r), WELL],
            &["DNSKEY_TOO_LARGE_FOR_ALGO"],
        ),
        u(
            "DNSSEC14",
            "an RSA key with no modulus in it",
            [|q, r| rsa_zone(vec![vec![1, 1, 3, 8, 5, 1]]).answer(q, r), WELL],
            &["DNSKEY_TOO_SMALL_FOR_ALGO"],
        ),
        u(
            "DNSSEC14",
            "sizes of deprecated algorithms are of no interest",
            [|q, r| rsa_zone(vec![rsa(1, 256, false)]).answer(q, r), WELL],
            &["KEY_SIZE_OK"],
        ),
    ]);
    all
}
