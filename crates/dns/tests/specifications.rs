//! Steps of the DNSSEC and Nameserver specifications that are easily read over: each test is one of them, with servers
//! that answer rightly but for what the test makes of it.

mod fake;
mod scripted;
mod signed;

use hickory_proto::op::{Message, ResponseCode};
use scripted::{Make, ZONE, as_it_is, check, delegated, of, tags};
use signed::*;

/// The answer to a question for the zone's keys, and for one more type the given records.
fn with_keys(query: &Message, mut reply: Message, more: &[(u16, Part, Vec<Raw>)]) -> Message {
    let asked = asked(query);
    dnssec_ok(&mut reply);
    if asked.1 == DNSKEY {
        add(&mut reply, Part::Answer, &[keys()]);
    }
    for (_, part, records) in more.iter().filter(|(rtype, _, _)| *rtype == asked.1) {
        add(&mut reply, *part, records);
    }
    reply
}

fn keys() -> Raw {
    Raw(ZONE.into(), DNSKEY, key(200))
}

fn nsec() -> Raw {
    Raw(ZONE.into(), NSEC, nsec_data(ZONE, &[2, 6, 46, 47, 48]))
}

fn nsec3param(owner: &str) -> Raw {
    Raw(owner.into(), NSEC3PARAM, vec![1, 0, 0, 0, 0])
}

fn only_nsec(query: &Message, reply: Message) -> Option<Message> {
    Some(with_keys(query, reply, &[(NSEC, Part::Answer, vec![nsec()])]))
}

fn only_nsec3(query: &Message, reply: Message) -> Option<Message> {
    Some(with_keys(query, reply, &[(NSEC3PARAM, Part::Answer, vec![nsec3param(ZONE)])]))
}

fn both_ways(query: &Message, reply: Message) -> Option<Message> {
    let more = [(NSEC, Part::Answer, vec![nsec()]), (NSEC3PARAM, Part::Answer, vec![nsec3param(ZONE)])];
    Some(with_keys(query, reply, &more))
}

#[tokio::test]
async fn servers_that_use_both_ways_are_mixed_and_not_inconsistent_with_one_another() {
    let mixed = check("dnssec10", both_ways, both_ways).await;
    assert_eq!(tags(&mixed), ["DS10_MIXED_NSEC_NSEC3"]);
    let beside = check("dnssec10", both_ways, only_nsec).await;
    assert!(!tags(&beside).contains(&"DS10_INCONSISTENT_NSEC_NSEC3"), "{:?}", tags(&beside));
    let apart = check("dnssec10", only_nsec, only_nsec3).await;
    assert!(tags(&apart).contains(&"DS10_INCONSISTENT_NSEC_NSEC3"), "{:?}", tags(&apart));
    assert!(!tags(&apart).contains(&"DS10_MIXED_NSEC_NSEC3"));
}

#[tokio::test]
async fn several_parameter_records_are_told_and_not_where_they_are() {
    let make: Make = |query, reply| {
        let records = vec![nsec3param(ZONE), nsec3param(&format!("sub.{ZONE}"))];
        Some(with_keys(query, reply, &[(NSEC3PARAM, Part::Answer, records)]))
    };
    let found = check("dnssec10", make, make).await;
    assert!(tags(&found).contains(&"DS10_ERR_MULT_NSEC3PARAM"), "{:?}", tags(&found));
    assert!(!tags(&found).contains(&"DS10_NSEC3PARAM_MISMATCHES_APEX"));
}

#[tokio::test]
async fn of_an_old_signature_the_age_counts_before_the_algorithm() {
    fn denial(expiration: u32) -> Vec<Raw> {
        let signature = rrsig(NSEC, 200, key_tag(&key(200)), (1, expiration), ZONE, b"?");
        vec![nsec(), Raw(ZONE.into(), RRSIG, signature)]
    }
    let old: Make = |query, reply| {
        let more = [(NSEC, Part::Answer, vec![nsec()]), (NSEC3PARAM, Part::Authority, denial(1_600_000_000))];
        Some(with_keys(query, reply, &more))
    };
    let found = check("dnssec10", old, old).await;
    assert!(tags(&found).contains(&"DS10_NSEC_RRSIG_EXPIRED"), "{:?}", tags(&found));
    assert!(tags(&found).contains(&"DS10_NSEC_NO_VERIFIED_SIGNATURE"));
    assert!(!tags(&found).contains(&"DS10_ALGO_NOT_SUPPORTED_BY_ZM"));
    let current: Make = |query, reply| {
        let more = [(NSEC, Part::Answer, vec![nsec()]), (NSEC3PARAM, Part::Authority, denial(1_800_000_000))];
        Some(with_keys(query, reply, &more))
    };
    let found = check("dnssec10", current, current).await;
    assert!(tags(&found).contains(&"DS10_ALGO_NOT_SUPPORTED_BY_ZM"), "{:?}", tags(&found));
    assert!(!tags(&found).contains(&"DS10_NSEC_NO_VERIFIED_SIGNATURE"));
}

#[tokio::test]
async fn a_hash_too_costly_to_compute_is_no_proof_of_a_wrong_owner() {
    fn denial(iterations: u16) -> Vec<Raw> {
        let owner = format!("0p9mhaveqvm6t7vbl5lop2u3t2rp3tom.{ZONE}");
        vec![Raw(owner, NSEC3, nsec3_data(iterations, &[2, 6, 46, 48, 51]))]
    }
    let costly: Make =
        |query, reply| Some(with_keys(query, reply, &[(NSEC, Part::Authority, denial(60_000))]));
    let cheap: Make = |query, reply| Some(with_keys(query, reply, &[(NSEC, Part::Authority, denial(1))]));
    let found = check("dnssec10", costly, costly).await;
    assert!(!tags(&found).contains(&"DS10_NSEC3_MISMATCHES_APEX"), "{:?}", tags(&found));
    let found = check("dnssec10", cheap, cheap).await;
    assert!(tags(&found).contains(&"DS10_NSEC3_MISMATCHES_APEX"), "{:?}", tags(&found));
}

#[tokio::test]
async fn servers_that_answer_nsec_with_errors_are_told_together() {
    fn failing(query: &Message, reply: Message, rcode: ResponseCode) -> Option<Message> {
        let mut reply = with_keys(query, reply, &[]);
        if asked(query).1 == NSEC {
            reply.metadata.response_code = rcode;
        }
        Some(reply)
    }
    let report = check(
        "dnssec03",
        |query, reply| failing(query, reply, ResponseCode::Refused),
        |query, reply| failing(query, reply, ResponseCode::ServFail),
    )
    .await;
    let told = of(&report, "DS03_ERROR_RESPONSE_NSEC_QUERY");
    assert_eq!(told.len(), 1, "{:?}", tags(&report));
    let list = told[0].args["ns_list"].as_str().unwrap();
    assert!(list.contains("192.0.2.11") && list.contains("192.0.2.12"), "{list}");
    assert_eq!(told[0].args["rcode"], "REFUSED;SERVFAIL");
}

#[tokio::test]
async fn lifetimes_are_those_of_the_first_answer() {
    fn signed_until(query: &Message, reply: Message, expiration: u32) -> Option<Message> {
        let signature = rrsig(DNSKEY, 200, 1, (expiration - 86_400, expiration), ZONE, b"?");
        Some(with_keys(query, reply, &[(DNSKEY, Part::Answer, vec![Raw(ZONE.into(), RRSIG, signature)])]))
    }
    let good: Make = |query, reply| signed_until(query, reply, 1_700_080_000);
    let expired: Make = |query, reply| signed_until(query, reply, 1_600_000_000);
    let found = check("dnssec04", good, expired).await;
    assert_eq!(tags(&found), ["RRSIG_EXPIRATION", "DURATION_OK"]);
    let found = check("dnssec04", expired, good).await;
    assert_eq!(tags(&found), ["RRSIG_EXPIRATION", "RRSIG_EXPIRED"]);
}

#[tokio::test]
async fn keys_and_digests_without_content_are_not_valid() {
    let empty_key: Make = |query, mut reply| {
        dnssec_ok(&mut reply);
        if asked(query).1 == DNSKEY {
            add(&mut reply, Part::Answer, &[Raw(ZONE.into(), DNSKEY, vec![1, 1, 3, 13])]);
        }
        Some(reply)
    };
    assert_eq!(tags(&check("dnssec05", empty_key, empty_key).await), ["DS05_ZONE_NO_DNSSEC"]);
    let empty_ds: Make = |query, reply| Some(with_ds(query, reply, &[0, 1, 13, 2]));
    assert_eq!(tags(&delegated(Some("dnssec01"), empty_ds, as_it_is).await), ["DS01_PARENT_ZONE_NO_DS"]);
}

/// The parent's answers with this DS record, signed by no one in particular.
fn with_ds(query: &Message, mut reply: Message, ds: &[u8]) -> Message {
    dnssec_ok(&mut reply);
    if asked(query) == (ZONE.to_string(), DS) {
        let signature = rrsig(DS, 13, 1, (1, 1_800_000_000), "test", b"?");
        let records = [Raw(ZONE.into(), DS, ds.to_vec()), Raw(ZONE.into(), RRSIG, signature)];
        add(&mut reply, Part::Answer, &records);
    }
    reply
}

const SOME_DS: [u8; 36] = {
    let mut ds = [7; 36];
    ds[2] = 13;
    ds[3] = 2;
    ds
};

#[tokio::test]
async fn servers_of_the_parent_are_named() {
    let parent: Make = |query, reply| Some(with_ds(query, reply, &SOME_DS));
    let child: Make = |query, reply| {
        let signature = rrsig(DNSKEY, 200, 1, (1, 1_800_000_000), ZONE, b"?");
        Some(with_keys(query, reply, &[(DNSKEY, Part::Answer, vec![Raw(ZONE.into(), RRSIG, signature)])]))
    };
    let report = delegated(Some("dnssec07"), parent, child).await;
    let told = of(&report, "DS07_DS_ON_PARENT_SERVER");
    assert_eq!(told[0].args["ns_list"], "ns.test/192.0.2.2", "{:?}", tags(&report));
}

#[tokio::test]
async fn a_ds_answer_without_the_do_flag_is_no_dnssec_response() {
    let child: Make = |query, reply| Some(with_keys(query, reply, &[]));
    let good: Make = |query, reply| Some(with_ds(query, reply, &SOME_DS));
    let found = delegated(Some("dnssec02"), good, child).await;
    assert!(tags(&found).contains(&"DS02_NO_DNSKEY_FOR_DS"), "{:?}", tags(&found));
    let without: Make = |query, reply| {
        let mut reply = with_ds(query, reply, &SOME_DS);
        reply.edns = None;
        Some(reply)
    };
    assert_eq!(tags(&delegated(Some("dnssec02"), without, child).await), Vec::<&str>::new());
}

#[tokio::test]
async fn a_ds_record_for_an_unsigned_zone_is_told_in_a_whole_check() {
    let parent: Make = |query, reply| Some(with_ds(query, reply, &SOME_DS));
    let report = delegated(None, parent, as_it_is).await;
    let dnssec: Vec<&str> = report
        .findings
        .iter()
        .filter(|f| f.test_case.starts_with("DNSSEC"))
        .map(|f| f.tag.as_str())
        .collect();
    assert!(
        dnssec.contains(&"DS07_NOT_SIGNED") && dnssec.contains(&"DS11_DS_BUT_UNSIGNED_ZONE"),
        "{dnssec:?}"
    );
    assert!(!dnssec.contains(&"DS05_ZONE_NO_DNSSEC"), "{dnssec:?}");
}

#[tokio::test]
async fn of_several_soa_records_one_is_verified() {
    fn two_soas(query: &Message, mut reply: Message, sealed: u32) -> Option<Message> {
        dnssec_ok(&mut reply);
        match asked(query).1 {
            DNSKEY => add(&mut reply, Part::Answer, &[Raw(ZONE.into(), DNSKEY, signing_dnskey())]),
            SOA => {
                reply.answers.clear();
                let seal = signed(ZONE, SOA, &soa_data(ZONE, sealed), (1, 1_800_000_000));
                let soa = |serial| Raw(ZONE.into(), SOA, soa_data(ZONE, serial));
                add(&mut reply, Part::Answer, &[soa(7), soa(8), Raw(ZONE.into(), RRSIG, seal)]);
            }
            _ => {}
        }
        Some(reply)
    }
    let first: Make = |query, reply| two_soas(query, reply, 7);
    let none: Make = |query, reply| two_soas(query, reply, 9);
    assert_eq!(tags(&check("dnssec09", first, first).await), Vec::<&str>::new());
    assert_eq!(tags(&check("dnssec09", none, none).await), ["DS09_RRSIG_NOT_VALID_BY_DNSKEY"]);
}

#[tokio::test]
async fn a_signature_without_its_records_says_nothing_of_algorithms() {
    fn two_algorithms(query: &Message, reply: Message, with_soa: bool) -> Option<Message> {
        let sig = |rtype| Raw(ZONE.into(), RRSIG, rrsig(rtype, 200, 1, (1, 1_800_000_000), ZONE, b"?"));
        let more_keys = vec![Raw(ZONE.into(), DNSKEY, key(201)), sig(DNSKEY)];
        let mut reply = reply;
        if asked(query).1 == SOA && !with_soa {
            reply.answers.clear();
        }
        let more = [(DNSKEY, Part::Answer, more_keys), (SOA, Part::Answer, vec![sig(SOA)])];
        Some(with_keys(query, reply, &more))
    }
    let whole: Make = |query, reply| two_algorithms(query, reply, true);
    let lacking: Make = |query, reply| two_algorithms(query, reply, false);
    let found = check("dnssec13", whole, whole).await;
    assert_eq!(tags(&found), ["DS13_ALGO_NOT_SIGNED_DNSKEY", "DS13_ALGO_NOT_SIGNED_SOA"]);
    assert_eq!(tags(&check("dnssec13", lacking, lacking).await), ["DS13_ALGO_NOT_SIGNED_DNSKEY"]);
}

/// CDNSKEY records, and this RCODE for CDS.
fn cdnskey_alone(query: &Message, reply: Message, rcode: ResponseCode) -> Option<Message> {
    let cdnskey = Raw(ZONE.into(), CDNSKEY, key(200));
    let mut reply = with_keys(query, reply, &[(CDNSKEY, Part::Answer, vec![cdnskey])]);
    if asked(query).1 == CDS {
        reply.metadata.response_code = rcode;
    }
    Some(reply)
}

#[tokio::test]
async fn a_server_that_gives_no_answer_for_cds_is_passed_over() {
    let refused: Make = |query, reply| cdnskey_alone(query, reply, ResponseCode::Refused);
    let none: Make = |query, reply| cdnskey_alone(query, reply, ResponseCode::NoError);
    let keys_only: Make = |query, reply| Some(with_keys(query, reply, &[]));
    let told = ["DS15_HAS_CDNSKEY_NO_CDS", "DS15_INCONSISTENT_CDNSKEY"];
    assert_eq!(tags(&check("dnssec15", none, keys_only).await), told);
    assert_eq!(tags(&check("dnssec15", refused, keys_only).await), ["DS15_NO_CDS_CDNSKEY"]);
    let parent: Make = |query, reply| Some(with_ds(query, reply, &SOME_DS));
    let found = delegated(Some("dnssec18"), parent, none).await;
    assert_eq!(tags(&found), ["DS18_NO_MATCH_CDNSKEY_RRSIG_DS"]);
    assert_eq!(tags(&delegated(Some("dnssec18"), parent, refused).await), Vec::<&str>::new());
}

#[tokio::test]
async fn a_recursor_that_does_not_answer_everything_is_told_as_both() {
    let make: Make = |query, mut reply| {
        let name = asked(query).0;
        reply.metadata.recursion_available = name.ends_with("iis.se");
        (!name.ends_with("ripe.net")).then_some(reply)
    };
    let found = check("nameserver01", make, as_it_is).await;
    assert_eq!(tags(&found), ["NO_RESPONSE", "IS_A_RECURSOR", "NO_RECURSOR"]);
}

#[tokio::test]
async fn a_zone_transfer_begins_with_the_soa_record() {
    let later: Make = |query, mut reply| {
        if asked(query).1 == AXFR {
            reply.answers.clear();
            let records =
                [Raw(ZONE.into(), 1, vec![192, 0, 2, 80]), Raw(ZONE.into(), SOA, soa_data(ZONE, 7))];
            add(&mut reply, Part::Answer, &records);
        }
        Some(reply)
    };
    let first: Make = |query, mut reply| {
        if asked(query).1 == AXFR {
            reply.answers.clear();
            add(&mut reply, Part::Answer, &[Raw(ZONE.into(), SOA, soa_data(ZONE, 7))]);
        }
        Some(reply)
    };
    assert_eq!(tags(&check("nameserver03", later, first).await), ["AXFR_FAILURE", "AXFR_AVAILABLE"]);
}

#[tokio::test]
async fn a_question_answered_in_one_letter_case_only_is_told() {
    let mixed_only: Make = |query, reply| {
        let exact = query.queries[0].name.to_string();
        let lower = exact == exact.to_lowercase();
        (!(asked(query).1 == SOA && lower)).then_some(reply)
    };
    let found = check("nameserver09", mixed_only, as_it_is).await;
    let told = ["CASE_QUERY_NO_ANSWER", "CASE_QUERY_SAME_ANSWER", "CASE_QUERIES_RESULTS_DIFFER"];
    assert_eq!(tags(&found), told);
}
