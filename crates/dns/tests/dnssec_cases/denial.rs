//! DNSSEC10 (NSEC or NSEC3, well formed, signed, the same on all servers).

use super::*;

pub const CASES: &[&str] = &["DNSSEC10"];

const CHAIN: &str = "DS10_HAS_NSEC";
const HASHED: &str = "DS10_HAS_NSEC3";

/// The denial signed so; NSEC in an answer keeps its good signature.
fn sealed(zone: Zone, seals: &[Seal]) -> Zone {
    zone.denial(|set| set.seals = seals.to_vec())
}

/// The usual keys and one of an algorithm no one can compute, which signs the denial too.
fn odd_too(zone: Zone) -> Zone {
    let zone = sealed(zone, &[by(By::Zsk), by(By::Stranger).named(odd(200))]);
    let denials = zone.denials.clone();
    Zone { denials, ..zone.keys(vec![ksk(), zsk(), odd(200)], vec![by(By::Ksk)]) }
}

/// The list of types without one, or with one more.
fn listing(change: fn(&mut Vec<u16>)) -> Zone {
    let mut types = nsec(NAME).types(&[]);
    change(&mut types);
    types.sort_unstable();
    nsec(NAME).denial(|set| set.data = vec![nsec_data(&format!("ns1.{NAME}"), &types)])
}

fn listing3(change: fn(&mut Vec<u16>)) -> Zone {
    let zone = nsec3(NAME);
    let mut types = zone.types(&[]);
    change(&mut types);
    types.sort_unstable();
    zone.denial(|set| {
        let data = &mut set.data[0];
        data.truncate(26);
        data.extend(bitmap(&types));
    })
}

/// The record of another name in the denial, signed well.
fn elsewhere(zone: Zone) -> Zone {
    zone.denial(|set| set.owner = format!("0p9mhaveqvm6t7vbl5lop2u3t2rp3tom.{NAME}"))
}

/// The denial holds its record and that of another name.
fn twice(zone: Zone) -> Zone {
    let all = [zone.denials[&0].clone(), elsewhere(zone.clone()).denials[&0].clone()].concat();
    zone.denied(0, all)
}

/// NSEC and NSEC3 at once: NSEC in answers, NSEC3PARAM too.
fn both() -> Zone {
    let mut zone = nsec(NAME);
    zone.sets.insert(NSEC3PARAM, nsec3(NAME).sets[&NSEC3PARAM].clone());
    zone
}

/// An answer for this type with records of another.
fn astray(zone: &Zone, query: &Message, reply: Message, rtype: u16) -> Option<Message> {
    let mut reply = zone.answer(query, reply)?;
    if asked(query) == (NAME.to_string(), rtype) {
        reply.answers.clear();
        add(&mut reply, Part::Answer, &[Raw(NAME.into(), SOA, soa_data(NAME, 7))]);
    }
    Some(reply)
}

pub fn behaviours() -> Vec<Behaviour> {
    let mut all = forms();
    all.extend(records());
    all.extend(seals());
    all
}

fn u(what: &'static str, servers: [Make; 2], told: &[&'static str]) -> Behaviour {
    undelegated("DNSSEC10", what, servers, vec![], told)
}

/// Which of the two ways, and whether the servers agree.
fn forms() -> Vec<Behaviour> {
    const CODE: Failure = Failure::Code(ResponseCode::ServFail);
    vec![
        healthy(u("NSEC", [WELL; 2], &[CHAIN])),
        healthy(u("NSEC3", [WELL3; 2], &[HASHED])),
        healthy(u("not signed", [BARE; 2], &["DS10_ZONE_NO_DNSSEC"])),
        u("signed on one server", [WELL, BARE], &[CHAIN, "DS10_SERVER_NO_DNSSEC"]),
        u("one is silent", [WELL, SILENT_FOR_KEYS], &[CHAIN]),
        u("NSEC and NSEC3 at once", [|q, r| both().answer(q, r); 2], &["DS10_MIXED_NSEC_NSEC3"]),
        u("NSEC on one server, NSEC3 on the other", [WELL, WELL3], &["DS10_INCONSISTENT_NSEC_NSEC3"]),
        u(
            "both on one server, NSEC on the other",
            [|q, r| both().answer(q, r), WELL],
            &["DS10_MIXED_NSEC_NSEC3"],
        ),
        u(
            "NSEC only when asked for",
            [|q, r| nsec(NAME).denied(0, vec![]).answer(q, r), WELL],
            &[CHAIN, "DS10_INCONSISTENT_NSEC"],
        ),
        u(
            "NSEC only in denials",
            [|q, r| nsec(NAME).without(NSEC).answer(q, r), WELL],
            &[CHAIN, "DS10_INCONSISTENT_NSEC"],
        ),
        u(
            "NSEC3 without parameters",
            [|q, r| nsec3(NAME).without(NSEC3PARAM).answer(q, r), WELL3],
            &[HASHED, "DS10_INCONSISTENT_NSEC3"],
        ),
        u(
            "parameters without NSEC3",
            [|q, r| nsec3(NAME).denied(0, vec![]).answer(q, r), WELL3],
            &[HASHED, "DS10_INCONSISTENT_NSEC3"],
        ),
        u(
            "neither",
            [|q, r| nsec(NAME).without(NSEC).denied(0, vec![]).answer(q, r), WELL],
            &[CHAIN, "DS10_EXPECTED_NSEC_NSEC3_MISSING"],
        ),
        u(
            "an error for NSEC",
            [|q, r| nsec(NAME).fails(NSEC, CODE).answer(q, r), WELL],
            &[CHAIN, "DS10_NSEC_QUERY_RESPONSE_ERR", "DS10_INCONSISTENT_NSEC"],
        ),
        u(
            "no answer for NSEC",
            [|q, r| nsec3(NAME).fails(NSEC, Failure::Silence).answer(q, r), WELL3],
            &[HASHED, "DS10_NSEC_QUERY_RESPONSE_ERR", "DS10_INCONSISTENT_NSEC3"],
        ),
        u(
            "an error for NSEC3PARAM",
            [|q, r| nsec3(NAME).fails(NSEC3PARAM, CODE).answer(q, r), WELL3],
            &[HASHED, "DS10_NSEC3PARAM_QUERY_RESPONSE_ERR", "DS10_INCONSISTENT_NSEC3"],
        ),
        u(
            "no authority for NSEC3PARAM",
            [|q, r| nsec(NAME).fails(NSEC3PARAM, Failure::NoAuthority).answer(q, r), WELL],
            &[CHAIN, "DS10_NSEC3PARAM_QUERY_RESPONSE_ERR", "DS10_INCONSISTENT_NSEC"],
        ),
        u(
            "other records for NSEC",
            [|q, r| astray(&nsec(NAME), q, r, NSEC), WELL],
            &[CHAIN, "DS10_NSEC_GIVES_ERR_ANSWER", "DS10_INCONSISTENT_NSEC"],
        ),
        u(
            "other records for NSEC3PARAM",
            [|q, r| astray(&nsec3(NAME), q, r, NSEC3PARAM), WELL3],
            &[HASHED, "DS10_NSEC3PARAM_GIVES_ERR_ANSWER", "DS10_INCONSISTENT_NSEC3"],
        ),
    ]
}

/// The records themselves: owner, number, list of types, the SOA record beside them.
fn records() -> Vec<Behaviour> {
    vec![
        u("two NSEC records", [|q, r| twice(nsec(NAME)).answer(q, r), WELL], &[CHAIN, "DS10_ERR_MULT_NSEC"]),
        u(
            "two NSEC3 records",
            [|q, r| twice(nsec3(NAME)).answer(q, r), WELL3],
            &[HASHED, "DS10_ERR_MULT_NSEC3"],
        ),
        u(
            "two NSEC3PARAM records",
            [
                |q, r| {
                    let mut zone = nsec3(NAME);
                    zone.sets.get_mut(&NSEC3PARAM).unwrap().data.push(vec![1, 0, 0, 5, 0]);
                    zone.answer(q, r)
                },
                WELL3,
            ],
            &[HASHED, "DS10_ERR_MULT_NSEC3PARAM"],
        ),
        u(
            "NSEC of another name",
            [|q, r| elsewhere(nsec(NAME)).answer(q, r), WELL],
            &[CHAIN, "DS10_NSEC_MISMATCHES_APEX"],
        ),
        u(
            "NSEC of another name in the answer",
            [
                |q, r| {
                    let mut zone = nsec(NAME);
                    zone.sets.get_mut(&NSEC).unwrap().owner = format!("ns1.{NAME}");
                    zone.answer(q, r)
                },
                WELL,
            ],
            &[CHAIN, "DS10_NSEC_MISMATCHES_APEX"],
        ),
        u(
            "NSEC3 of another name",
            [|q, r| elsewhere(nsec3(NAME)).answer(q, r), WELL3],
            &[HASHED, "DS10_NSEC3_MISMATCHES_APEX"],
        ),
        u(
            "NSEC3PARAM of another name",
            [
                |q, r| {
                    let mut zone = nsec3(NAME);
                    zone.sets.get_mut(&NSEC3PARAM).unwrap().owner = format!("ns1.{NAME}");
                    zone.answer(q, r)
                },
                WELL3,
            ],
            &[HASHED, "DS10_NSEC3PARAM_MISMATCHES_APEX"],
        ),
        u(
            "a type is not listed",
            [|q, r| listing(|types| types.retain(|t| *t != DNSKEY)).answer(q, r), WELL],
            &[CHAIN, "DS10_NSEC_ERR_TYPE_LIST"],
        ),
        u(
            "a type too many is listed",
            [|q, r| listing(|types| types.push(NSEC3PARAM)).answer(q, r), WELL],
            &[CHAIN, "DS10_NSEC_ERR_TYPE_LIST"],
        ),
        u(
            "a type that may be there is listed",
            [|q, r| listing(|types| types.push(16)).answer(q, r), WELL],
            &[CHAIN],
        ),
        u(
            "NSEC3: a type is not listed",
            [|q, r| listing3(|types| types.retain(|t| *t != NSEC3PARAM)).answer(q, r), WELL3],
            &[HASHED, "DS10_NSEC3_ERR_TYPE_LIST"],
        ),
        u(
            "NSEC3: a type too many is listed",
            [|q, r| listing3(|types| types.push(NSEC)).answer(q, r), WELL3],
            &[HASHED, "DS10_NSEC3_ERR_TYPE_LIST"],
        ),
        u(
            "no SOA record",
            [|q, r| Zone { denial_soa: None, ..nsec(NAME) }.answer(q, r), WELL],
            &[CHAIN, "DS10_NSEC_NODATA_MISSING_SOA"],
        ),
        u(
            "NSEC3: no SOA record",
            [|q, r| Zone { denial_soa: None, ..nsec3(NAME) }.answer(q, r), WELL3],
            &[HASHED, "DS10_NSEC3_NODATA_MISSING_SOA"],
        ),
        u(
            "another zone's SOA record",
            [|q, r| Zone { denial_soa: Some("test".into()), ..nsec(NAME) }.answer(q, r), WELL],
            &[CHAIN, "DS10_NSEC_NODATA_WRONG_SOA"],
        ),
        u(
            "NSEC3: another zone's SOA record",
            [|q, r| Zone { denial_soa: Some("test".into()), ..nsec3(NAME) }.answer(q, r), WELL3],
            &[HASHED, "DS10_NSEC3_NODATA_WRONG_SOA"],
        ),
    ]
}

/// The signatures over them.
fn seals() -> Vec<Behaviour> {
    vec![
        u(
            "no signature",
            [|q, r| sealed(nsec(NAME), &[]).answer(q, r), WELL],
            &[CHAIN, "DS10_NSEC_MISSING_SIGNATURE"],
        ),
        u(
            "NSEC3: no signature",
            [|q, r| sealed(nsec3(NAME), &[]).answer(q, r), WELL3],
            &[HASHED, "DS10_NSEC3_MISSING_SIGNATURE"],
        ),
        u(
            "by a key that is not there",
            [|q, r| sealed(nsec(NAME), &[by(By::Stranger)]).answer(q, r), WELL],
            &[CHAIN, "DS10_NSEC_RRSIG_NO_DNSKEY", "DS10_NSEC_NO_VERIFIED_SIGNATURE"],
        ),
        u(
            "by it and a good one",
            [|q, r| sealed(nsec(NAME), &[by(By::Stranger), by(By::Zsk)]).answer(q, r), WELL],
            &[CHAIN, "DS10_NSEC_RRSIG_NO_DNSKEY"],
        ),
        u(
            "NSEC3: by a key that is not there",
            [|q, r| sealed(nsec3(NAME), &[by(By::Stranger)]).answer(q, r), WELL3],
            &[HASHED, "DS10_NSEC3_RRSIG_NO_DNSKEY", "DS10_NSEC3_NO_VERIFIED_SIGNATURE"],
        ),
        u(
            "expired",
            [|q, r| sealed(nsec(NAME), &[by(By::Zsk).at(PAST)]).answer(q, r), WELL],
            &[CHAIN, "DS10_NSEC_RRSIG_EXPIRED", "DS10_NSEC_NO_VERIFIED_SIGNATURE"],
        ),
        u(
            "NSEC3: expired",
            [|q, r| sealed(nsec3(NAME), &[by(By::Zsk).at(PAST)]).answer(q, r), WELL3],
            &[HASHED, "DS10_NSEC3_RRSIG_EXPIRED", "DS10_NSEC3_NO_VERIFIED_SIGNATURE"],
        ),
        u(
            "not yet",
            [|q, r| sealed(nsec(NAME), &[by(By::Zsk).at(FUTURE)]).answer(q, r), WELL],
            &[CHAIN, "DS10_NSEC_RRSIG_NOT_YET_VALID", "DS10_NSEC_NO_VERIFIED_SIGNATURE"],
        ),
        u(
            "NSEC3: not yet",
            [|q, r| sealed(nsec3(NAME), &[by(By::Zsk).at(FUTURE)]).answer(q, r), WELL3],
            &[HASHED, "DS10_NSEC3_RRSIG_NOT_YET_VALID", "DS10_NSEC3_NO_VERIFIED_SIGNATURE"],
        ),
        u(
            "false",
            [|q, r| sealed(nsec(NAME), &[by(By::Zsk).spoiled()]).answer(q, r), WELL],
            &[CHAIN, "DS10_NSEC_RRSIG_VERIFY_ERROR", "DS10_NSEC_NO_VERIFIED_SIGNATURE"],
        ),
        u(
            "NSEC3: false",
            [|q, r| sealed(nsec3(NAME), &[by(By::Zsk).spoiled()]).answer(q, r), WELL3],
            &[HASHED, "DS10_NSEC3_RRSIG_VERIFY_ERROR", "DS10_NSEC3_NO_VERIFIED_SIGNATURE"],
        ),
        u(
            "signed by another zone",
            [|q, r| sealed(nsec(NAME), &[Seal { signer: Some("test"), ..by(By::Zsk) }]).answer(q, r), WELL],
            &[CHAIN, "DS10_NSEC_RRSIG_VERIFY_ERROR", "DS10_NSEC_NO_VERIFIED_SIGNATURE"],
        ),
        u(
            "unknown algorithm",
            [|q, r| odd_too(nsec(NAME)).answer(q, r), WELL],
            &[CHAIN, "DS10_ALGO_NOT_SUPPORTED_BY_ZM"],
        ),
    ]
}
