//! DNSSEC03 (the parameters of NSEC3).

use super::*;
use crate::sealed::given;

pub const CASES: &[&str] = &["DNSSEC03"];

const HASH: &str = "DS03_LEGAL_HASH_ALGO";
const ITERATIONS: &str = "DS03_LEGAL_ITERATION_VALUE";
const SALT: &str = "DS03_LEGAL_EMPTY_SALT";
const OPT_OUT: &str = "DS03_NSEC3_OPT_OUT_DISABLED";
/// The answer for parameters that are as they should be.
const GOOD_ONES: [&str; 4] = [HASH, ITERATIONS, SALT, OPT_OUT];

/// Two NSEC3 records in one denial.
fn twice() -> Zone {
    let zone = nsec3(NAME);
    let mut denial = zone.denials[&0].clone();
    denial.extend(nsec3(NAME).hashed(1, 0, 1, &[]).denials[&0].clone());
    zone.denied(NSEC, denial)
}

/// A zone of this name with opt-out.
fn opt_out(name: &'static str, servers: [Make; 2], tag: &'static str) -> Behaviour {
    let run = Box::pin(given("DNSSEC03", name, servers, vec![]));
    Behaviour { case: "DNSSEC03", what: name, told: vec![HASH, ITERATIONS, SALT, tag], healthy: false, run }
}

pub fn behaviours() -> Vec<Behaviour> {
    let u = |what, servers, told: &[&'static str]| undelegated("DNSSEC03", what, servers, vec![], told);
    let with = |more: &[&'static str]| [&GOOD_ONES[..], more].concat();
    vec![
        healthy(u("NSEC3 by the recommendations", [WELL3; 2], &GOOD_ONES)),
        healthy(u("NSEC", [WELL; 2], &["DS03_NO_NSEC3"])),
        healthy(u("not signed", [BARE; 2], &["DS03_NO_DNSSEC_SUPPORT"])),
        u("signed on one server", [WELL3, BARE], &with(&["DS03_SERVER_NO_DNSSEC_SUPPORT"])),
        u("NSEC on one server", [WELL3, WELL], &with(&["DS03_SERVER_NO_NSEC3"])),
        u("several records", [|q, r| twice().answer(q, r), WELL3], &with(&["DS03_ERR_MULT_NSEC3"])),
        u(
            "no answer for NSEC",
            [|q, r| nsec3(NAME).fails(NSEC, Failure::Silence).answer(q, r), WELL3],
            &with(&["DS03_NO_RESPONSE_NSEC_QUERY"]),
        ),
        u(
            "an error for NSEC",
            [|q, r| nsec3(NAME).fails(NSEC, Failure::Code(ResponseCode::ServFail)).answer(q, r), WELL3],
            &with(&["DS03_ERROR_RESPONSE_NSEC_QUERY"]),
        ),
        u(
            "no authority for NSEC",
            [|q, r| nsec3(NAME).fails(NSEC, Failure::NoAuthority).answer(q, r), WELL3],
            &with(&["DS03_ERROR_RESPONSE_NSEC_QUERY"]),
        ),
        u(
            "a hash that is not defined",
            [|q, r| nsec3(NAME).hashed(2, 0, 0, &[]).answer(q, r); 2],
            &["DS03_ILLEGAL_HASH_ALGO", ITERATIONS, SALT, OPT_OUT],
        ),
        u(
            "an iteration",
            [|q, r| nsec3(NAME).hashed(1, 0, 1, &[]).answer(q, r); 2],
            &[HASH, "DS03_ILLEGAL_ITERATION_VALUE", SALT, OPT_OUT],
        ),
        u(
            "more iterations than anybody computes",
            [|q, r| nsec3(NAME).hashed(1, 0, u16::MAX, &[]).answer(q, r); 2],
            &[HASH, "DS03_ILLEGAL_ITERATION_VALUE", SALT, OPT_OUT],
        ),
        u(
            "a salt",
            [|q, r| nsec3(NAME).hashed(1, 0, 0, &[0xAB]).answer(q, r); 2],
            &[HASH, ITERATIONS, "DS03_ILLEGAL_SALT_LENGTH", OPT_OUT],
        ),
        u(
            "an unknown flag",
            [|q, r| nsec3(NAME).hashed(1, 0x80, 0, &[]).answer(q, r); 2],
            &with(&["DS03_UNASSIGNED_FLAG_USED"]),
        ),
        u(
            "two hashes",
            [|q, r| nsec3(NAME).hashed(2, 0, 0, &[]).answer(q, r), WELL3],
            &with(&["DS03_ILLEGAL_HASH_ALGO", "DS03_INCONSISTENT_HASH_ALGO"]),
        ),
        u(
            "two numbers of iterations",
            [|q, r| nsec3(NAME).hashed(1, 0, 5, &[]).answer(q, r), WELL3],
            &with(&["DS03_ILLEGAL_ITERATION_VALUE", "DS03_INCONSISTENT_ITERATION"]),
        ),
        u(
            "two lengths of salt",
            [|q, r| nsec3(NAME).hashed(1, 0, 0, &[1]).answer(q, r), WELL3],
            &with(&["DS03_ILLEGAL_SALT_LENGTH", "DS03_INCONSISTENT_SALT_LENGTH"]),
        ),
        u(
            "salts of one length",
            [
                |q, r| nsec3(NAME).hashed(1, 0, 0, &[1]).answer(q, r),
                |q, r| nsec3(NAME).hashed(1, 0, 0, &[2]).answer(q, r),
            ],
            &[HASH, ITERATIONS, "DS03_ILLEGAL_SALT_LENGTH", OPT_OUT],
        ),
        u(
            "two lists of flags",
            [|q, r| nsec3(NAME).hashed(1, 1, 0, &[]).answer(q, r), WELL3],
            &with(&["DS03_NSEC3_OPT_OUT_ENABLED_NON_TLD", "DS03_INCONSISTENT_NSEC3_FLAGS"]),
        ),
        opt_out(
            NAME,
            [|q, r| nsec3(NAME).hashed(1, 1, 0, &[]).answer(q, r); 2],
            "DS03_NSEC3_OPT_OUT_ENABLED_NON_TLD",
        ),
        opt_out(
            "uk",
            [|q, r| nsec3("uk").hashed(1, 1, 0, &[]).answer(q, r); 2],
            "DS03_NSEC3_OPT_OUT_ENABLED_TLD",
        ),
        opt_out(
            "co.uk",
            [|q, r| nsec3("co.uk").hashed(1, 1, 0, &[]).answer(q, r); 2],
            "DS03_NSEC3_OPT_OUT_ENABLED_TLD",
        ),
        opt_out(
            "github.io",
            [|q, r| nsec3("github.io").hashed(1, 1, 0, &[]).answer(q, r); 2],
            "DS03_NSEC3_OPT_OUT_ENABLED_TLD",
        ),
        u("silent", [SILENT, SILENT], &[]),
    ]
}
