//! The verdict on a resolver's answer, as a table: what the servers say, what the resolver says, what is known from
//! before, and what that amounts to.

use crate::samples::*;
use model::compare::{
    AuthorityOutcome, Cause, Comparison, Earlier, ResolverAnswer, Verdict, authority_sentence, compare, judge,
};
use model::dns::{AnswerKind, Soa};
use model::resolvers::{Filtering, PublicResolver};

#[test]
fn the_table() {
    let open = row(Filtering::None, false);
    let ecs = row(Filtering::None, true);
    let guard = row(Filtering::Malware, false);
    let none = Earlier::default();
    let knows_old = Earlier { values: vec![vec!["198.51.100.44".into()]], ..Earlier::default() };
    let serves = serving(&["203.0.113.80"]);
    let pool = serving(&["203.0.113.80", "203.0.113.81"]);
    let gone = denying(AuthorityOutcome::NxDomain);
    let empty = denying(AuthorityOutcome::NoData);
    let mut brief = serving(&["203.0.113.80"]);
    brief.soa = Some(soa("alder.example", 60, 30));
    let mut split = serving(&["203.0.113.80"]);
    split.agree = false;
    split.servers[1] = server(vec![a("198.51.100.44", 300)], AnswerKind::Answer);
    let mut half = serving(&["203.0.113.80"]);
    half.agree = false;
    half.servers[1] = server(vec![], AnswerKind::NxDomain);
    let old = || said(vec![a("198.51.100.44", 2160)]);
    let fresh_looking = || said(vec![a("198.51.100.44", 200)]);
    let zone_soa = || Some(soa("alder.example", 1020, 1800));
    use Verdict::{Different, Failing, Filtered, NegativeCached, Same, Stale};
    let location = |until| Different { cause: Cause::Location, until };
    let disagreement = |until| Different { cause: Cause::Disagreement, until };
    let open_question = |until| Different { cause: Cause::OldOrLocation, until };
    for (what, authority, row, answer, earlier, expected) in [
        ("same", &serves, &open, said(vec![a("203.0.113.80", 212)]), &none, Same),
        (
            "same in any order",
            &pool,
            &open,
            said(vec![a("203.0.113.81", 9), a("203.0.113.80", 9)]),
            &none,
            Same,
        ),
        ("same, TTL raised", &serves, &open, said(vec![a("203.0.113.80", 3600)]), &none, Same),
        ("same, served stale", &serves, &open, with_error(said(vec![a("203.0.113.80", 30)]), 3), &none, Same),
        ("known from before", &serves, &open, fresh_looking(), &knows_old, Stale { until: at("14:08:20") }),
        (
            "known from before, with ECS",
            &serves,
            &ecs,
            fresh_looking(),
            &knows_old,
            Stale { until: at("14:08:20") },
        ),
        ("longer than the servers allow", &serves, &open, old(), &none, Stale { until: at("14:41:00") }),
        (
            "says itself that it is stale",
            &serves,
            &open,
            with_error(fresh_looking(), 3),
            &none,
            Stale { until: at("14:08:20") },
        ),
        ("no one knows", &serves, &open, fresh_looking(), &none, open_question(Some(at("14:08:20")))),
        (
            "part of a pool",
            &pool,
            &open,
            said(vec![a("203.0.113.81", 60)]),
            &none,
            open_question(Some(at("14:06:00"))),
        ),
        ("ECS", &serves, &ecs, fresh_looking(), &none, location(Some(at("14:08:20")))),
        ("what one server says", &split, &open, fresh_looking(), &none, disagreement(Some(at("14:08:20")))),
        (
            "denied by one server",
            &half,
            &open,
            no("NXDOMAIN", zone_soa()),
            &none,
            disagreement(Some(at("14:22:00"))),
        ),
        (
            "negative, zone's SOA",
            &serves,
            &open,
            no("NXDOMAIN", zone_soa()),
            &none,
            NegativeCached { until: Some(at("14:22:00")) },
        ),
        (
            "negative, NODATA",
            &serves,
            &open,
            no("NOERROR", zone_soa()),
            &none,
            NegativeCached { until: Some(at("14:22:00")) },
        ),
        (
            "negative, parent's SOA",
            &serves,
            &open,
            no("NXDOMAIN", Some(soa("example", 60, 900))),
            &none,
            NegativeCached { until: Some(at("14:06:00")) },
        ),
        (
            "negative without SOA",
            &serves,
            &open,
            no("NXDOMAIN", None),
            &none,
            NegativeCached { until: Some(at("14:35:00")) },
        ),
        (
            "a filter may remember too",
            &serves,
            &guard,
            no("NXDOMAIN", zone_soa()),
            &none,
            NegativeCached { until: Some(at("14:22:00")) },
        ),
        ("a filter's no", &serves, &guard, no("NXDOMAIN", None), &none, Filtered),
        (
            "a filter's no with the zone's SOA, as if asked just now",
            &serves,
            &guard,
            no("NXDOMAIN", Some(soa("alder.example", 3600, 1800))),
            &none,
            Filtered,
        ),
        (
            "the same of one that does not filter",
            &serves,
            &open,
            no("NXDOMAIN", Some(soa("alder.example", 3600, 1800))),
            &none,
            NegativeCached { until: Some(at("14:35:00")) },
        ),
        (
            "a filter that asked before the zone changed",
            &serves,
            &guard,
            no("NXDOMAIN", Some(Soa { serial: 0, ..soa("alder.example", 3600, 1800) })),
            &none,
            NegativeCached { until: Some(at("14:35:00")) },
        ),
        (
            "a filter in a zone whose “no” is short: its own minimum would look as fresh",
            &brief,
            &guard,
            no("NXDOMAIN", Some(soa("alder.example", 60, 60))),
            &none,
            NegativeCached { until: Some(at("14:06:00")) },
        ),
        (
            "a filter, while the servers disagree",
            &half,
            &guard,
            no("NXDOMAIN", Some(soa("alder.example", 3600, 1800))),
            &none,
            disagreement(Some(at("14:35:00"))),
        ),
        (
            "a filter's SOA at the name itself, where no zone is",
            &serves,
            &guard,
            no("NXDOMAIN", Some(soa(NAME, 10, 86_400))),
            &none,
            Filtered,
        ),
        (
            "a filter known by its SOA",
            &serves,
            &open,
            no(
                "NXDOMAIN",
                Some(Soa {
                    mname: "fake-for-negative-caching.adguard.com".into(),
                    ..soa("alder.example", 10, 86_400)
                }),
            ),
            &none,
            Filtered,
        ),
        ("a filter's empty answer", &serves, &guard, no("NOERROR", None), &none, Filtered),
        (
            "a filter's own SOA",
            &serves,
            &guard,
            no("NXDOMAIN", Some(soa("rpz.guard.example", 60, 60))),
            &none,
            Filtered,
        ),
        ("a filter's root SOA", &serves, &guard, no("NXDOMAIN", Some(soa(".", 60, 60))), &none, Filtered),
        ("zeros", &serves, &guard, said(vec![a("0.0.0.0", 300)]), &none, Filtered),
        (
            "zeros from one that does not say it filters",
            &serves,
            &open,
            said(vec![a("0.0.0.0", 300)]),
            &none,
            Filtered,
        ),
        ("a page that says blocked", &serves, &guard, said(vec![a("146.112.61.106", 0)]), &none, Filtered),
        ("blocked (15)", &serves, &open, with_error(no("NXDOMAIN", None), 15), &none, Filtered),
        ("censored (16)", &serves, &open, with_error(no("REFUSED", None), 16), &none, Filtered),
        ("filtered (17)", &serves, &guard, with_error(said(vec![a("192.0.2.1", 60)]), 17), &none, Filtered),
        ("forged (4)", &serves, &open, with_error(said(vec![a("192.0.2.1", 60)]), 4), &none, Filtered),
        ("failure", &serves, &open, no("SERVFAIL", None), &none, Failing),
        ("bogus", &serves, &open, with_error(no("SERVFAIL", None), 6), &none, Failing),
        ("refusal", &serves, &guard, no("REFUSED", None), &none, Failing),
        ("silence", &serves, &open, ResolverAnswer { rcode: None, ..said(vec![]) }, &none, Failing),
        ("the same no", &gone, &open, no("NXDOMAIN", zone_soa()), &none, Same),
        ("the same nothing", &empty, &open, no("NOERROR", zone_soa()), &none, Same),
        ("what is gone is remembered", &gone, &open, old(), &none, Stale { until: at("14:41:00") }),
    ] {
        let judged = verdict(authority, row, &answer, earlier);
        assert_eq!(judged.verdict, expected, "{what}");
        assert!(judged.sentence.ends_with('.') && judged.sentence.len() > 20, "{what}: {}", judged.sentence);
        assert!(!judged.sentence.contains("gives ,") && !judged.short.is_empty(), "{what}: {judged:?}");
        assert!(!judged.shows.is_empty(), "{what}");
    }
}

#[test]
fn a_filter_that_says_no_again_after_its_copy_ran_out_filters() {
    let said_no = no("NXDOMAIN", Some(soa("alder.example", 60, 1800)));
    let before = ResolverAnswer { asked_at: at("14:00:00"), ..said_no.clone() };
    let earlier = Earlier { answers: vec![before], ..Earlier::default() };
    let judged = |row: &PublicResolver| verdict(&serving(&["203.0.113.80"]), row, &said_no, &earlier).verdict;
    assert_eq!(judged(&row(Filtering::Ads, false)), Verdict::Filtered);
    let location = Verdict::Different { cause: Cause::Location, until: None };
    assert_eq!(judged(&row(Filtering::None, false)), location);
}

#[test]
fn what_a_browser_is_told_is_judged_with_what_the_server_knows() {
    let knows = Earlier { values: vec![vec!["198.51.100.44".into()]], ..Earlier::default() };
    let open = row(Filtering::None, false);
    let handed = compare(serving(&["203.0.113.80"]), None, vec![], vec![], now()).knowing(&knows);
    let read: Comparison = serde_json::from_str(&serde_json::to_string(&handed).unwrap()).unwrap();
    let old = said(vec![a("198.51.100.44", 200)]);
    let judged = read.judge(&open, Some(&old), now());
    assert_eq!(judged.verdict, Verdict::Stale { until: at("14:08:20") });
    let stranger = compare(serving(&["203.0.113.80"]), None, vec![], vec![], now());
    assert!(matches!(stranger.judge(&open, Some(&old), now()).verdict, Verdict::Different { .. }));
}

#[test]
fn how_many_servers_say_it_is_counted() {
    let says = |others: &[&str]| {
        let mut authority = serving(&["203.0.113.80"]);
        authority.servers.truncate(1);
        authority.servers.extend(others.iter().map(|ip| server(vec![a(ip, 300)], AnswerKind::Answer)));
        authority.agree = others.iter().all(|ip| *ip == "203.0.113.80");
        authority_sentence(&authority).split(':').next().unwrap().to_string()
    };
    assert_eq!(says(&["203.0.113.80"]), "Both authoritative servers say");
    assert_eq!(says(&["203.0.113.80", "203.0.113.80"]), "All 3 authoritative servers say");
    assert_eq!(says(&["198.51.100.44"]), "1 of 2 authoritative servers says");
    assert_eq!(says(&["198.51.100.44", "203.0.113.80"]), "2 of 3 authoritative servers say");
    // An alias on which they disagree, and an end on which they do not.
    let mut authority = serving(&["203.0.113.80"]);
    authority.agree = false;
    assert!(authority_sentence(&authority).starts_with("Both authoritative servers say"));
}

#[test]
fn a_copy_that_ran_out_and_came_back_the_same_is_no_old_copy() {
    let before = ResolverAnswer { asked_at: at("13:55:00"), ..said(vec![a("198.51.100.44", 300)]) };
    let earlier = Earlier { answers: vec![before.clone()], ..Earlier::default() };
    let again = said(vec![a("198.51.100.44", 120)]);
    let open = row(Filtering::None, false);
    let judged = verdict(&serving(&["203.0.113.80"]), &open, &again, &earlier);
    assert_eq!(judged.verdict, Verdict::Different { cause: Cause::Location, until: None });
    assert!(!judged.verdict.waits());
    // It has not run out yet: nothing is proved.
    let recent = ResolverAnswer { asked_at: at("14:04:00"), ..before.clone() };
    let earlier = Earlier { answers: vec![recent], ..Earlier::default() };
    assert!(verdict(&serving(&["203.0.113.80"]), &open, &again, &earlier).verdict.waits());
    // Another resolver's answer proves nothing of this one.
    let other = ResolverAnswer { resolver: "another".into(), ..before };
    let earlier = Earlier { answers: vec![other], ..Earlier::default() };
    assert!(verdict(&serving(&["203.0.113.80"]), &open, &again, &earlier).verdict.waits());
}

#[test]
fn words_say_when_it_will_be_right() {
    let open = row(Filtering::None, false);
    let knows = Earlier { values: vec![vec!["198.51.100.44".into()]], ..Earlier::default() };
    let serves = serving(&["203.0.113.80"]);
    let stale = verdict(&serves, &open, &said(vec![a("198.51.100.44", 2160)]), &knows);
    assert_eq!((stale.shows.as_str(), stale.short.as_str()), ("198.51.100.44", "expires 14:41"));
    assert!(stale.sentence.contains("14:41 UTC"), "{}", stale.sentence);
    let no = verdict(&serves, &open, &no("NXDOMAIN", Some(soa("alder.example", 1020, 1800))), &knows);
    assert_eq!((no.shows.as_str(), no.short.as_str()), ("NXDOMAIN", "gone by 14:22"));
    let same = verdict(&serves, &open, &said(vec![a("203.0.113.80", 212)]), &knows);
    assert_eq!(same.short, "TTL 212");
    let raised = verdict(&serves, &open, &said(vec![a("203.0.113.80", 900)]), &knows);
    assert!(raised.sentence.contains("raises short TTLs"), "{}", raised.sentence);
    let unsure = verdict(&serves, &open, &said(vec![a("192.0.2.1", 120)]), &knows);
    assert!(unsure.sentence.contains("14:07 UTC at the latest, or one by location"), "{}", unsure.sentence);
    let blocked = verdict(&serves, &row(Filtering::Malware, false), &said(vec![a("0.0.0.0", 60)]), &knows);
    assert_eq!(blocked.short, "expected");
    let asking = judge(&serves, &open, None, &knows, now());
    assert_eq!((asking.verdict, asking.verdict.kind().label()), (Verdict::Pending, "Querying"));
}
