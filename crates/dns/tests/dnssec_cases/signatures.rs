//! DNSSEC04 (lifetimes), DNSSEC08 (signatures of the keys), DNSSEC09 (signatures of the SOA record).

use super::*;

pub const CASES: &[&str] = &["DNSSEC04", "DNSSEC08", "DNSSEC09"];

/// The keys' set signed at these times.
fn lived(times: Times) -> Zone {
    nsec(NAME).seals(DNSKEY, vec![by(By::Ksk).at(times)])
}

/// The usual keys and one of an algorithm no one can compute.
fn with_odd() -> Zone {
    nsec(NAME).keys(vec![ksk(), zsk(), odd(200)], vec![by(By::Ksk)])
}

/// A signature in the name of that key.
fn odd_seal() -> Seal {
    by(By::Stranger).named(odd(200))
}

/// The key has another algorithm than a signature with its tag says.
fn another_algorithm() -> Vec<u8> {
    // The tag is a sum: what is added to the algorithm is taken from an octet in a place of the same weight.
    let mut key = zsk();
    let at = (5..key.len()).step_by(2).find(|i| key[*i] >= 1).unwrap();
    key[at] -= 1;
    key[3] += 1;
    assert_eq!(key_tag(&key), key_tag(&zsk()));
    key
}

pub fn behaviours() -> Vec<Behaviour> {
    let u = |case, what, servers, told: &[&'static str]| undelegated(case, what, servers, vec![], told);
    let mut all = vec![
        healthy(u("DNSSEC04", "signed for a month", [WELL; 2], &["RRSIG_EXPIRATION", "DURATION_OK"])),
        healthy(u("DNSSEC04", "not signed", [BARE; 2], &[])),
        u(
            "DNSSEC04",
            "expired",
            [|q, r| lived(PAST).answer(q, r); 2],
            &["RRSIG_EXPIRATION", "RRSIG_EXPIRED", "DURATION_OK"],
        ),
        u(
            "DNSSEC04",
            "expires in a second short of twelve hours",
            [|q, r| lived((NOW - DAY, NOW + DAY / 2 - 1)).answer(q, r); 2],
            &["RRSIG_EXPIRATION", "REMAINING_SHORT", "DURATION_OK"],
        ),
        u(
            "DNSSEC04",
            "expires in twelve hours",
            [|q, r| lived((NOW - DAY, NOW + DAY / 2)).answer(q, r); 2],
            &["RRSIG_EXPIRATION", "DURATION_OK"],
        ),
        u(
            "DNSSEC04",
            "for half a year from now",
            [|q, r| lived((NOW, NOW + 180 * DAY)).answer(q, r); 2],
            &["RRSIG_EXPIRATION", "DURATION_OK"],
        ),
        u(
            "DNSSEC04",
            "for long from now",
            [|q, r| lived((NOW, NOW + 180 * DAY + 1)).answer(q, r); 2],
            &["RRSIG_EXPIRATION", "REMAINING_LONG", "DURATION_LONG", "DURATION_OK"],
        ),
        u(
            "DNSSEC04",
            "for long in all",
            [|q, r| lived((NOW - 170 * DAY, NOW + 11 * DAY)).answer(q, r); 2],
            &["RRSIG_EXPIRATION", "DURATION_LONG", "DURATION_OK"],
        ),
        u(
            "DNSSEC04",
            "SOA is looked at too",
            [|q, r| nsec(NAME).seals(SOA, vec![by(By::Zsk).at(PAST)]).answer(q, r); 2],
            &["RRSIG_EXPIRATION", "RRSIG_EXPIRED", "DURATION_OK"],
        ),
        u(
            "DNSSEC04",
            "the first server is silent",
            [SILENT, |q, r| lived(PAST).answer(q, r)],
            &["RRSIG_EXPIRATION", "RRSIG_EXPIRED", "DURATION_OK"],
        ),
    ];
    all.extend([
        healthy(u("DNSSEC08", "signed", [WELL; 2], &[])),
        healthy(u("DNSSEC08", "not signed", [BARE; 2], &[])),
        u(
            "DNSSEC08",
            "no signature",
            [WELL, |q, r| nsec(NAME).seals(DNSKEY, vec![]).answer(q, r)],
            &["DS08_MISSING_RRSIG_IN_RESPONSE"],
        ),
        u("DNSSEC08", "expired", [WELL, |q, r| lived(PAST).answer(q, r)], &["DS08_DNSKEY_RRSIG_EXPIRED"]),
        u(
            "DNSSEC08",
            "not yet",
            [WELL, |q, r| lived(FUTURE).answer(q, r)],
            &["DS08_DNSKEY_RRSIG_NOT_YET_VALID"],
        ),
        u("DNSSEC08", "to the second", [|q, r| lived((NOW, NOW)).answer(q, r); 2], &[]),
        u(
            "DNSSEC08",
            "from the next second",
            [|q, r| lived((NOW + 1, NOW + DAY)).answer(q, r); 2],
            &["DS08_DNSKEY_RRSIG_NOT_YET_VALID"],
        ),
        u(
            "DNSSEC08",
            "until the last second",
            [|q, r| lived((NOW - DAY, NOW - 1)).answer(q, r); 2],
            &["DS08_DNSKEY_RRSIG_EXPIRED"],
        ),
        u(
            "DNSSEC08",
            "by a key that is not there",
            [|q, r| nsec(NAME).seals(DNSKEY, vec![by(By::Ksk), by(By::Stranger)]).answer(q, r), WELL],
            &["DS08_NO_MATCHING_DNSKEY"],
        ),
        u(
            "DNSSEC08",
            "false",
            [|q, r| nsec(NAME).seals(DNSKEY, vec![by(By::Ksk).spoiled()]).answer(q, r), WELL],
            &["DS08_RRSIG_NOT_VALID_BY_DNSKEY"],
        ),
        u(
            "DNSSEC08",
            "unknown algorithm",
            [|q, r| with_odd().seals(DNSKEY, vec![by(By::Ksk), odd_seal()]).answer(q, r), WELL],
            &["DS08_ALGO_NOT_SUPPORTED_BY_ZM"],
        ),
        // Too short to be computed here, which is no reason to call the signature false.
        u(
            "DNSSEC08",
            "a short RSA key",
            [
                |q, r| {
                    let short = super::keys::rsa(8, 512, false);
                    let seals = vec![by(By::Ksk), by(By::Stranger).named(short.clone())];
                    nsec(NAME).keys(vec![ksk(), zsk(), short], seals).answer(q, r)
                },
                WELL,
            ],
            &["DS08_ALGO_NOT_SUPPORTED_BY_ZM"],
        ),
        u(
            "DNSSEC08",
            "expired and unknown",
            [|q, r| with_odd().seals(DNSKEY, vec![by(By::Ksk), odd_seal().at(PAST)]).answer(q, r), WELL],
            &["DS08_DNSKEY_RRSIG_EXPIRED"],
        ),
        u(
            "DNSSEC08",
            "signed by another zone",
            [
                |q, r| {
                    nsec(NAME).seals(DNSKEY, vec![Seal { signer: Some("test"), ..by(By::Ksk) }]).answer(q, r)
                },
                WELL,
            ],
            &["DS08_RRSIG_NOT_VALID_BY_DNSKEY"],
        ),
        u(
            "DNSSEC08",
            "without authority it does not count",
            [WELL, |q, r| lived(PAST).fails(DNSKEY, Failure::NoAuthority).answer(q, r)],
            &[],
        ),
    ]);
    all.extend([
        healthy(u("DNSSEC09", "signed", [WELL; 2], &[])),
        healthy(u("DNSSEC09", "not signed", [BARE; 2], &[])),
        u(
            "DNSSEC09",
            "no signature",
            [WELL, |q, r| nsec(NAME).seals(SOA, vec![]).answer(q, r)],
            &["DS09_MISSING_RRSIG_IN_RESPONSE"],
        ),
        u(
            "DNSSEC09",
            "expired",
            [WELL, |q, r| nsec(NAME).seals(SOA, vec![by(By::Zsk).at(PAST)]).answer(q, r)],
            &["DS09_SOA_RRSIG_EXPIRED"],
        ),
        u(
            "DNSSEC09",
            "not yet",
            [WELL, |q, r| nsec(NAME).seals(SOA, vec![by(By::Zsk).at(FUTURE)]).answer(q, r)],
            &["DS09_SOA_RRSIG_NOT_YET_VALID"],
        ),
        u(
            "DNSSEC09",
            "by a key that is not there",
            [|q, r| nsec(NAME).seals(SOA, vec![by(By::Stranger)]).answer(q, r), WELL],
            &["DS09_NO_MATCHING_DNSKEY"],
        ),
        u(
            "DNSSEC09",
            "false",
            [|q, r| nsec(NAME).seals(SOA, vec![by(By::Zsk).spoiled()]).answer(q, r), WELL],
            &["DS09_RRSIG_NOT_VALID_BY_DNSKEY"],
        ),
        u(
            "DNSSEC09",
            "unknown algorithm",
            [|q, r| with_odd().seals(SOA, vec![by(By::Zsk), odd_seal()]).answer(q, r), WELL],
            &["DS09_ALGO_NOT_SUPPORTED_BY_ZM"],
        ),
        u(
            "DNSSEC09",
            "a key of the same tag and another algorithm",
            [|q, r| nsec(NAME).keys(vec![ksk(), another_algorithm()], vec![by(By::Ksk)]).answer(q, r), WELL],
            &["DS09_RRSIG_NOT_VALID_BY_DNSKEY"],
        ),
        u(
            "DNSSEC09",
            "of two keys of one tag the right one",
            [
                |q, r| {
                    nsec(NAME).keys(vec![ksk(), another_algorithm(), zsk()], vec![by(By::Ksk)]).answer(q, r)
                },
                WELL,
            ],
            &[],
        ),
        u(
            "DNSSEC09",
            "an error for SOA",
            [
                |q, r| {
                    nsec(NAME)
                        .seals(SOA, vec![])
                        .fails(SOA, Failure::Code(ResponseCode::ServFail))
                        .answer(q, r)
                },
                WELL,
            ],
            &[],
        ),
    ]);
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_do_not_fit_over_udp_are_fetched_over_tcp() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static TIMES_ASKED: AtomicUsize = AtomicUsize::new(0);
    const TOO_LONG: Make = |q, r| {
        let mut reply = lived(PAST).answer(q, r)?;
        if asked(q).1 == DNSKEY && TIMES_ASKED.fetch_add(1, Ordering::SeqCst) == 0 {
            reply.answers.clear();
            reply.metadata.truncation = true;
        }
        Some(reply)
    };
    let report = crate::sealed::given("DNSSEC08", NAME, [TOO_LONG, SILENT], vec![]).await;
    let tags: Vec<&str> = report.findings.iter().map(|f| f.tag.as_str()).collect();
    assert_eq!(tags, ["DS08_DNSKEY_RRSIG_EXPIRED"]);
    assert_eq!(TIMES_ASKED.load(Ordering::SeqCst), 2, "once over each");
}
