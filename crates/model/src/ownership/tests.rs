//! Rounds, near misses and the life of claims.

use super::claim::{ContestReason, LapseReason};
use super::near_miss::other_names;
use super::*;
use crate::dns::DnssecStatus;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

const DOMAIN: &str = "alder.example";

fn at(minutes: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + minutes * 60).unwrap()
}

fn nonce(n: u8) -> Nonce {
    Nonce::new([n; 20])
}

fn challenge() -> Challenge {
    Claim::new(DOMAIN, nonce(7), Method::Txt, at(0), &ClaimPolicy::default()).challenge
}

fn txt(text: &str) -> Reply {
    Reply::Records { values: vec![Value { rtype: "TXT".into(), text: text.into() }] }
}

fn silent() -> Reply {
    Reply::Unusable { reason: "no reply within 5 s".into() }
}

fn round_of(
    method: Method,
    replies: &[(&str, Reply, u32)],
    dnssec: DnssecStatus,
    elsewhere: Vec<Elsewhere>,
) -> Round {
    let challenge = challenge();
    let expected = challenge.expected(method, Some("verify.example.net"), "c1").unwrap();
    let servers = replies
        .iter()
        .enumerate()
        .map(|(i, (name, reply, serial))| ServerAnswer {
            nameserver: (*name).into(),
            address: Some(format!("192.0.2.{i}").parse().unwrap()),
            serial: Some(*serial),
            reply: reply.clone(),
        })
        .collect();
    let seen = Observed { at: at(0), servers, dnssec, elsewhere, negative_ttl: Some(300) };
    Round::judge(&challenge, method, &expected, seen)
}

fn round(replies: &[(&str, Reply, u32)]) -> Round {
    round_of(Method::Txt, replies, DnssecStatus::Insecure, Vec::new())
}

#[test]
fn a_nonce_is_a_label_of_160_bits() {
    let one = Nonce::new(*b"\x00\x01\x02\x03\x04\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00abcde");
    assert_eq!(one.as_str(), "aaaqeaye77777777aaaaaaaamfrggzdf");
    assert_ne!(nonce(1), nonce(2));
}

#[test]
fn every_method_says_what_to_publish() {
    let challenge = challenge();
    let n = challenge.nonce.as_str();
    let row = |method| challenge.expected(method, Some("Verify.Example.NET."), "c1").unwrap();
    assert_eq!(row(Method::Txt).name, "_domainscope-challenge.alder.example");
    assert_eq!(row(Method::TxtApex).value, format!("domainscope-verification={n}"));
    assert_eq!(row(Method::Cname).value, format!("{n}.verify.example.net"));
    assert_eq!(row(Method::Http).name, "http://alder.example/.well-known/domainscope-challenge/c1");
    assert_eq!(challenge.expected(Method::Cname, None, "c1"), None);
}

#[test]
fn every_answer_must_hold_the_value_and_most_servers_must_answer() {
    let n = nonce(7).to_string();
    let holds = || txt(&n);
    let cases = [
        (vec![("a", holds(), 1), ("b", holds(), 1)], Outcome::Proven),
        (vec![("a", holds(), 1), ("a", silent(), 1), ("b", holds(), 1)], Outcome::Proven),
        (vec![("a", holds(), 1), ("b", silent(), 1)], Outcome::ProvenByFew),
        (vec![("a", holds(), 1), ("b", holds(), 1), ("c", silent(), 1)], Outcome::Proven),
        (vec![("a", holds(), 2), ("b", Reply::NoSuchName, 1)], Outcome::Mixed),
        (vec![("a", Reply::NoSuchName, 1), ("b", txt("x"), 1)], Outcome::Denied),
        (vec![("a", Reply::NoSuchName, 1), ("b", silent(), 1)], Outcome::DeniedByFew),
        (vec![("a", silent(), 1), ("b", silent(), 1)], Outcome::NoAnswer),
        (vec![], Outcome::NoAnswer),
    ];
    for (replies, outcome) in cases {
        assert_eq!(round(&replies).outcome, outcome, "{replies:?}");
    }
}

#[test]
fn each_address_of_a_web_server_counts_by_itself() {
    let n = nonce(7).to_string();
    let file =
        |text: &str| Reply::Records { values: vec![Value { rtype: "HTTP".into(), text: text.into() }] };
    let round = |replies: &[Reply]| {
        let replies: Vec<_> = replies.iter().map(|reply| (DOMAIN, reply.clone(), 0)).collect();
        round_of(Method::Http, &replies, DnssecStatus::Insecure, Vec::new())
    };
    assert_eq!(round(&[file(&n), file(&n)]).outcome, Outcome::Proven);
    assert_eq!(
        round(&[file(&n), silent()]).outcome,
        Outcome::ProvenByFew,
        "half of them is not most of them"
    );
    assert_eq!(round(&[file(&n), file(&n), silent()]).outcome, Outcome::Proven);
    assert_eq!(round(&[file("x"), silent()]).outcome, Outcome::DeniedByFew);
    for other in [Reply::NoSuchName, Reply::Records { values: vec![] }, file("It works!")] {
        let mixed = round(&[file(&n), other]);
        assert_eq!(mixed.outcome, Outcome::Mixed);
        let addresses = vec!["192.0.2.1".to_string()];
        assert_eq!(mixed.near_misses, [NearMiss::OtherAddresses { addresses }]);
    }
    let denied = round(&[file("It works!"), file(nonce(8).as_str())]);
    assert_eq!(denied.outcome, Outcome::Denied);
    assert_eq!(denied.near_misses, [NearMiss::OtherChallenge { found: nonce(8).to_string() }]);
}

#[test]
fn a_zone_that_does_not_validate_proves_nothing() {
    let n = nonce(7).to_string();
    let replies = [("a", txt(&n), 1)];
    for (status, outcome) in [
        (DnssecStatus::Bogus, Outcome::Bogus),
        (DnssecStatus::Indeterminate, Outcome::Indeterminate),
        (DnssecStatus::Secure, Outcome::Proven),
    ] {
        assert_eq!(round_of(Method::Txt, &replies, status, Vec::new()).outcome, outcome);
    }
}

#[test]
fn near_misses_are_named() {
    let n = nonce(7).to_string();
    let kind = |miss: &NearMiss| serde_json::to_value(miss).unwrap()["kind"].as_str().unwrap().to_string();
    let cases = [
        (Method::Txt, format!("\"{n}\""), "quotes_in_value"),
        (Method::Txt, format!(" {n}"), "white_space"),
        (Method::Txt, format!("{} {}", &n[..10], &n[10..]), "white_space"),
        (Method::Txt, n[..20].to_string(), "truncated"),
        (Method::Txt, n[3..].to_string(), "truncated"),
        (Method::Txt, n.to_uppercase(), "letter_case"),
        (Method::Txt, format!("domainscope-verification={n}"), "prefix"),
        (Method::Txt, nonce(9).to_string(), "other_challenge"),
        (Method::TxtApex, n.clone(), "prefix"),
        (Method::TxtApex, format!("domainscope-verification={}", &n[..12]), "truncated"),
        (Method::TxtApex, format!("domainscope-verification={}", nonce(9)), "other_challenge"),
    ];
    for (method, text, expected) in cases {
        let round = round_of(method, &[("a", txt(&text), 1)], DnssecStatus::Insecure, Vec::new());
        assert_eq!(round.outcome, Outcome::Denied, "{text}");
        let kinds: Vec<String> = round.near_misses.iter().map(kind).collect();
        assert_eq!(kinds, [expected], "{method:?} {text}");
        assert!(!round.near_misses[0].sentence().is_empty());
    }
    let spf = round_of(Method::TxtApex, &[("a", txt("v=spf1 -all"), 1)], DnssecStatus::Insecure, Vec::new());
    assert_eq!(kind(&spf.near_misses[0]), "not_found");
    let cname = |target: &str, method| {
        let reply = Reply::Records { values: vec![Value { rtype: "CNAME".into(), text: target.into() }] };
        round_of(method, &[("a", reply, 1)], DnssecStatus::Insecure, Vec::new())
    };
    let wrong = cname(&format!("{n}.other.example"), Method::Cname);
    assert_eq!(kind(&wrong.near_misses[0]), "wrong_suffix");
    assert_eq!(kind(&cname(&format!("{n}.verify.example.net"), Method::Txt).near_misses[0]), "wrong_type");
    assert_eq!(
        cname(&format!("{}.VERIFY.example.net.", n.to_uppercase()), Method::Cname).outcome,
        Outcome::Proven
    );
}

#[test]
fn the_zone_appended_twice_says_what_to_type() {
    let challenge = challenge();
    let expected = challenge.expected(Method::Txt, None, "c1").unwrap();
    let twice = format!("{}.{DOMAIN}", expected.name);
    assert!(other_names(&challenge, &expected).contains(&twice));
    let values = vec![Value { rtype: "TXT".into(), text: nonce(7).to_string() }];
    let elsewhere = vec![Elsewhere { name: twice.clone(), values }];
    let seen = round_of(Method::Txt, &[("a", Reply::NoSuchName, 1)], DnssecStatus::Insecure, elsewhere);
    let host = "_domainscope-challenge".to_string();
    assert_eq!(seen.near_misses, [NearMiss::ZoneAppendedTwice { found_at: twice, host }]);
    assert_eq!(seen.wait_s, Some(600));
}

#[test]
fn servers_with_an_older_copy_are_told_with_their_serials() {
    let n = nonce(7).to_string();
    let seen = round(&[("a", txt(&n), 42), ("b", Reply::NoSuchName, 41)]);
    let old = NearMiss::OldCopy { servers: vec!["b".into()], serial: Some(41), newest: Some(42) };
    assert_eq!(seen.near_misses, [old]);
}

fn verified() -> Claim {
    let policy = ClaimPolicy::default();
    let claim = Claim::new(DOMAIN, nonce(7), Method::Txt, at(0), &policy);
    let (claim, event) = claim.after(Outcome::Proven, at(1), false, &policy);
    assert_eq!(event, Some(ClaimEvent::Verified));
    claim
}

fn play(mut claim: Claim, script: &[(i64, Outcome)]) -> (Claim, Vec<(i64, ClaimEvent)>) {
    let mut events = Vec::new();
    for (minute, outcome) in script {
        let (next, event) = claim.after(*outcome, at(*minute), false, &ClaimPolicy::default());
        events.extend(event.map(|event| (*minute, event)));
        claim = next;
    }
    (claim, events)
}

const DAY: i64 = 24 * 60;

#[test]
fn one_failed_read_takes_nothing_away() {
    for outcome in [
        Outcome::Denied,
        Outcome::DeniedByFew,
        Outcome::Mixed,
        Outcome::NoAnswer,
        Outcome::Bogus,
        Outcome::Indeterminate,
    ] {
        let (claim, events) = play(verified(), &[(10, outcome), (11, Outcome::Proven)]);
        assert_eq!((events, claim.counts()), (vec![], true), "{outcome:?}");
    }
    // Silence and bogus answers for a month are no denial either.
    let month: Vec<(i64, Outcome)> = (1..30).map(|day| (day * DAY, Outcome::NoAnswer)).collect();
    assert!(play(verified(), &month).1.is_empty());
}

#[test]
fn two_denials_an_hour_apart_begin_the_grace_period_and_seven_days_end_it() {
    let (claim, events) = play(verified(), &[(10, Outcome::Denied), (40, Outcome::Denied)]);
    assert!(events.is_empty() && claim.first_denied_at.is_some());
    let (claim, events) = play(claim, &[(70, Outcome::Denied)]);
    assert_eq!(events, [(70, ClaimEvent::ProofGone)]);
    assert!(claim.counts());
    let (back, events) = play(claim.clone(), &[(2 * DAY, Outcome::Proven)]);
    assert_eq!(events, [(2 * DAY, ClaimEvent::ProofBack)]);
    assert_eq!(back.state, ClaimState::Verified { since: at(1) });
    let (gone, events) = play(claim, &[(6 * DAY, Outcome::Denied), (70 + 7 * DAY, Outcome::Denied)]);
    assert_eq!(events, [(70 + 7 * DAY, ClaimEvent::Lapsed)]);
    assert_eq!((gone.counts(), gone.next_check_at), (false, None));
}

#[test]
fn half_of_the_servers_need_three_rounds_over_an_hour() {
    let policy = ClaimPolicy::default();
    let claim = Claim::new(DOMAIN, nonce(7), Method::Txt, at(0), &policy);
    let few = Outcome::ProvenByFew;
    let (claim, events) = play(claim, &[(1, few), (2, few), (3, few), (30, few)]);
    assert!(events.is_empty() && !claim.counts());
    assert_eq!(play(claim.clone(), &[(61, few)]).1, [(61, ClaimEvent::Verified)]);
    let (claim, _) = play(claim, &[(40, Outcome::Denied)]);
    assert!(play(claim, &[(61, few)]).1.is_empty(), "a denial begins the count again");
}

#[test]
fn a_challenge_that_is_not_answered_in_time_is_closed() {
    let policy = ClaimPolicy::default();
    let claim = Claim::new(DOMAIN, nonce(7), Method::Txt, at(0), &policy);
    let (claim, events) = play(claim, &[(31 * DAY, Outcome::Proven)]);
    assert_eq!(events, [(31 * DAY, ClaimEvent::Expired)]);
    assert!(!claim.counts() && claim.is_over());
}

#[test]
fn a_holder_that_answers_the_new_challenge_keeps_the_name() {
    let policy = ClaimPolicy::default();
    let rival = Claim::new(DOMAIN, nonce(8), Method::Txt, at(0), &policy);
    let (rival, event) = rival.after(Outcome::Proven, at(60), true, &policy);
    assert_eq!((event, rival.counts()), (None, false));
    let (holder, event) = verified().contest(ContestReason::OtherProof, nonce(9), at(60), &policy);
    assert_eq!((event, holder.counts()), (Some(ClaimEvent::Contested), true));
    assert_eq!(holder.challenge.nonce, nonce(9), "the leftover record proves nothing any more");
    let (again, event) = holder.clone().contest(ContestReason::OtherProof, nonce(10), at(90), &policy);
    assert_eq!((event, again), (None, holder.clone()), "a contest can't be prolonged");
    let (holder, events) = play(holder, &[(DAY, Outcome::Denied), (2 * DAY, Outcome::Proven)]);
    assert_eq!(events, [(2 * DAY, ClaimEvent::ContestAnswered)]);
    assert!(holder.counts());
    let (rival, event) = rival.refuse(at(2 * DAY));
    assert_eq!((event, rival.is_over()), (Some(ClaimEvent::Refused), true));
}

#[test]
fn a_holder_that_does_not_answer_lapses_and_the_rival_takes_over() {
    let policy = ClaimPolicy::default();
    let rival = Claim::new(DOMAIN, nonce(8), Method::Txt, at(0), &policy);
    let (rival, _) = rival.after(Outcome::Proven, at(60), true, &policy);
    let (holder, _) = verified().contest(ContestReason::OtherProof, nonce(9), at(60), &policy);
    let week = 60 + 7 * DAY;
    let (holder, events) = play(holder, &[(week - 1, Outcome::Denied), (week, Outcome::Denied)]);
    assert_eq!(events, [(week, ClaimEvent::Lapsed)]);
    let reason = LapseReason::ChallengeNotAnswered;
    assert_eq!(holder.state, ClaimState::Lapsed { at: at(week), reason });
    let (rival, event) = rival.after(Outcome::Proven, at(week), false, &policy);
    assert_eq!((event, rival.counts()), (Some(ClaimEvent::Verified), true));
}

#[test]
fn a_fault_of_ours_at_the_end_of_the_contest_waits() {
    let (holder, _) =
        verified().contest(ContestReason::RegistrarChanged, nonce(9), at(60), &ClaimPolicy::default());
    let week = 60 + 7 * DAY;
    assert!(play(holder.clone(), &[(week, Outcome::NoAnswer), (week + DAY, Outcome::Proven)]).0.counts());
    assert!(!play(holder, &[(week, Outcome::NoAnswer), (week + 7 * DAY, Outcome::NoAnswer)]).0.counts());
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    use Outcome::*;
    prop::sample::select(vec![
        Proven,
        ProvenByFew,
        Denied,
        DeniedByFew,
        Mixed,
        NoAnswer,
        Bogus,
        Indeterminate,
    ])
}

proptest! {
    /// Whatever happens: a claim that never saw a proof never counts, one that is not over has a next check in the
    /// future and within a day, and a verified one is lost only after a denial.
    #[test]
    fn claims_stay_sound(script in prop::collection::vec((1_i64..3000, outcomes()), 1..60)) {
        let policy = ClaimPolicy::default();
        let mut claim = Claim::new(DOMAIN, nonce(7), Method::Txt, at(0), &policy);
        let (mut minute, mut proofs, mut denials) = (0, 0, 0);
        for (pause, outcome) in script {
            minute += pause;
            proofs += u32::from(matches!(outcome, Outcome::Proven | Outcome::ProvenByFew));
            denials += u32::from(matches!(outcome, Outcome::Denied | Outcome::DeniedByFew));
            let counted = claim.counts();
            let (next, event) = claim.after(outcome, at(minute), false, &policy);
            prop_assert!(!next.counts() || proofs > 0);
            prop_assert!(!counted || next.counts() || denials >= 2);
            prop_assert!(event != Some(ClaimEvent::Verified) || next.counts());
            match next.next_check_at {
                None => prop_assert!(next.is_over()),
                Some(due) => {
                    prop_assert!(due > at(minute) && due <= at(minute) + SignedDuration::from_hours(24));
                }
            }
            let kept: Claim = serde_json::from_str(&serde_json::to_string(&next).unwrap()).unwrap();
            prop_assert_eq!(&kept, &next);
            claim = next;
        }
    }
}
