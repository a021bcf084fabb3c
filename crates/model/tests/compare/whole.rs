//! All answers together: the reason to stop, counts, when all is right, the next look.

use crate::samples::*;
use jiff::ToSpan;
use model::compare::{
    AuthorityOutcome, Comparison, Earlier, ExtendedError, LOOK_MAX, LOOK_MIN, ResolverAnswer, StopReason,
    Stopped, Verdict, VerdictKind, authority_sentence, compare, judge, next_look,
};
use model::dns::Record;
use model::resolvers::Filtering;
use proptest::prelude::*;

#[test]
fn a_denial_stops_and_says_what_asking_would_do() {
    let stopped = Stopped::by(&denying(AuthorityOutcome::NxDomain)).unwrap();
    assert_eq!(stopped.reason, StopReason::Denied);
    assert!(stopped.sentence.contains("app.alder.example does not exist"), "{}", stopped.sentence);
    assert!(stopped.sentence.contains("30 min"), "{}", stopped.sentence);
    assert!(stopped.consequence.contains("until 14:35 UTC"), "{}", stopped.consequence);
    let stopped = Stopped::by(&denying(AuthorityOutcome::NoData)).unwrap();
    assert!(stopped.sentence.contains("has no A record"), "{}", stopped.sentence);
    let mut alias = denying(AuthorityOutcome::NxDomain);
    alias.aliases = vec![Record { rtype: "CNAME".into(), ..a("gone.cdn.example.", 300) }];
    let said = Stopped::by(&alias).unwrap().sentence;
    assert!(said.contains("leads to gone.cdn.example, which does not exist"), "{said}");
    assert!(authority_sentence(&alias).contains("leads to gone.cdn.example, which does not exist"));
    let mut silent = denying(AuthorityOutcome::NoAnswer);
    silent.servers.clear();
    assert_eq!(Stopped::by(&silent).unwrap().reason, StopReason::NoAuthority);
    assert_eq!(Stopped::by(&serving(&["203.0.113.80"])), None);
}

fn together(answers: &[ResolverAnswer], earlier: &Earlier) -> Comparison {
    let authority = serving(&["203.0.113.80"]);
    let rows = [row(Filtering::None, false), row(Filtering::Malware, false)];
    let judged = answers
        .iter()
        .enumerate()
        .map(|(i, a)| judge(&authority, &rows[i % 2], Some(a), earlier, now()))
        .collect();
    compare(authority, None, judged, Vec::new(), now())
}

#[test]
fn the_summary_counts_and_says_when_all_is_right() {
    let knows = Earlier { values: vec![vec!["198.51.100.44".into()]], ..Earlier::default() };
    let same = || said(vec![a("203.0.113.80", 212)]);
    let c = together(&[same(), same()], &knows);
    assert!(c.summary.everywhere && c.summary.all_right_at.is_none());
    assert_eq!(c.summary.sentence, "All 2 resolvers agree with the authoritative servers.");
    let c = together(
        &[
            same(),
            said(vec![a("0.0.0.0", 60)]),
            said(vec![a("198.51.100.44", 2160)]),
            no("SERVFAIL", None),
            no("NXDOMAIN", Some(soa("alder.example", 1020, 1800))),
        ],
        &knows,
    );
    assert_eq!(
        c.summary.sentence,
        "1 of 5 resolvers agrees with the authoritative servers; 1 still gives an old answer, 1 has cached that it \
         does not exist, 1 blocks it, 1 gives no usable answer. The last old copy is gone by 14:41 UTC, in 36 min."
    );
    assert_eq!(c.summary.all_right_at, Some(at("14:41:00")));
    assert!(!c.summary.everywhere);
    assert_eq!(c.summary.counts[0], (VerdictKind::Same, 1));
    assert_eq!(c.summary.counts.iter().map(|(_, n)| n).sum::<u32>(), c.summary.total);
    // Failing and filtering resolvers alone make nothing visible anywhere.
    let c = together(&[no("SERVFAIL", None), said(vec![a("0.0.0.0", 60)])], &knows);
    assert!(!c.summary.everywhere, "{:?}", c.summary);
}

#[test]
fn a_resolver_that_says_why_it_failed_is_believed() {
    let bogus = || with_error(no("SERVFAIL", None), 7);
    let c = together(&[bogus(), bogus()], &Earlier::default());
    assert_eq!(
        c.summary.sentence,
        "None of 2 resolvers agrees with the authoritative servers; 2 give no usable answer because DNSSEC does not \
         validate."
    );
    assert!(
        c.answers[0].sentence.ends_with("because DNSSEC does not validate (signature expired)."),
        "{}",
        c.answers[0].sentence
    );
    let c = together(&[bogus(), no("SERVFAIL", None)], &Earlier::default());
    let sentence = &c.summary.sentence;
    assert!(
        sentence.ends_with("2 give no usable answer (1 because DNSSEC does not validate)."),
        "{sentence}"
    );
    assert!(
        c.answers[1].sentence.contains("can’t reach the servers, or DNSSEC"),
        "{}",
        c.answers[1].sentence
    );
}

#[test]
fn a_watch_looks_again_when_the_first_copy_runs_out() {
    let knows = Earlier { values: vec![vec!["198.51.100.44".into()]], ..Earlier::default() };
    let look = |ttl| {
        let c = together(&[said(vec![a("198.51.100.44", ttl)]), said(vec![a("203.0.113.80", 1)])], &knows);
        next_look(&c.answers, now()).as_second() - now().as_second()
    };
    assert_eq!((look(0), look(60), look(86_400)), (LOOK_MIN, 61, LOOK_MAX));
    assert_eq!(next_look(&[], now()), now() + 300.seconds());
}

proptest! {
    #[test]
    fn any_answer_is_judged_and_nothing_that_is_same_waits(
        octets in proptest::collection::vec(any::<[u8; 4]>(), 0..4),
        ttl in any::<u32>(),
        rcode in "(NOERROR|NXDOMAIN|SERVFAIL|REFUSED|RCODE9)",
        ede in proptest::option::of(0u16..30),
        minimum in any::<u32>(),
        ecs in any::<bool>(),
    ) {
        let records = octets.iter().map(|o| a(&std::net::Ipv4Addr::from(*o).to_string(), ttl)).collect();
        let mut answer = ResolverAnswer { rcode: Some(rcode), ..said(records) };
        answer.soa = Some(soa("alder.example", ttl, minimum));
        answer.errors = ede.map(|code| ExtendedError { code, text: "x".into() }).into_iter().collect();
        for authority in [serving(&["203.0.113.80"]), denying(AuthorityOutcome::NxDomain)] {
            let judged = verdict(&authority, &row(Filtering::None, ecs), &answer, &Earlier::default());
            prop_assert!(judged.verdict != Verdict::Pending);
            prop_assert!(!(judged.verdict == Verdict::Same && judged.verdict.waits()));
            prop_assert!(judged.verdict.right_at().is_none_or(|t| t >= answer.asked_at));
            let c = compare(authority, None, vec![judged], vec![], now());
            let text = serde_json::to_string(&c).unwrap();
            prop_assert_eq!(serde_json::from_str::<Comparison>(&text).unwrap(), c);
        }
    }
}

#[test]
fn filters_and_failures_alone_are_no_disagreement() {
    let same = || said(vec![a("203.0.113.80", 212)]);
    let with = |answers: &[ResolverAnswer]| together(answers, &Earlier::default()).agrees();
    assert!(with(&[same(), same()]) && with(&[same(), no("SERVFAIL", None), said(vec![a("0.0.0.0", 60)])]));
    assert!(!with(&[same(), said(vec![a("198.51.100.44", 60)])]), "one that differs");
    assert!(!with(&[no("SERVFAIL", None)]), "no one says the same");
}
