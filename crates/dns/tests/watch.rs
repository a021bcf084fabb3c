//! A watch until a record is visible everywhere, against the lab's resolvers; its clock moves their caches.

#[allow(dead_code)]
mod resolvers;

use dns::compare::{Asking, Watch};
use model::compare::{Cause, CompareEvent, EndKind, StopReason, Verdict, VerdictKind, WatchPhase};
use model::names::Fqdn;
use resolvers::{of, world};

fn asking(name: &str, rtype: &str) -> Asking {
    Asking::new(Fqdn::trusted(name), rtype)
}

#[tokio::test]
async fn a_watch_waits_for_the_servers_and_then_for_the_caches() {
    let w = world("small").await;
    // Both resolvers remember that the record is missing; the guard withholds it for good.
    w.command("resolver all prime-negative new.plain.example A nxdomain 600").await;
    w.command("resolver guard filter blocked new.plain.example").await;
    w.command("reset-log").await;
    let later: jiff::Timestamp = "2026-11-20T14:05:30Z".parse().unwrap();
    w.clock.plan.lock().unwrap().push((later, "add new.plain.example 300 A 192.0.2.77".into()));
    let watch = Watch { expect: vec!["192.0.2.77".into()], patience_s: 3600 };
    let mut events = Vec::new();
    let mut asked_early = 0;
    let lab = w.lab.clone();
    let (c, end) = w
        .comparer()
        .watch(&asking("new.plain.example", "A"), &watch, &mut |e| {
            if matches!(&e, CompareEvent::Watch(p) if p.phase == WatchPhase::Authority) {
                asked_early += lab.query_log().per_resolver.values().sum::<u64>();
            }
            events.push(e);
        })
        .await
        .unwrap();
    assert_eq!(end.kind, EndKind::Everywhere, "{end:?} {:#?}", c.summary);
    assert_eq!(asked_early, 0, "no resolver is asked before the servers serve it");
    assert_eq!(of(&c, "first").verdict, Verdict::Same);
    assert_eq!(of(&c, "guard").verdict, Verdict::Filtered);
    let waits = w.clock.waits.lock().unwrap().clone();
    assert!(waits.iter().all(|s| (5..=300).contains(s)), "{waits:?}");
    assert!(waits.iter().sum::<i64>() >= 600, "{waits:?}");
    let log = w.lab.query_log();
    // First look, the look when the copy has run out, and no more than the bound of the pause brings.
    assert!((2..=5).contains(&log.of_resolver("first")), "{:?}", log.per_resolver);
    assert_eq!(log.of_resolver("guard"), 1, "a filter is not asked again");
    let phases: Vec<_> = events
        .iter()
        .filter_map(|e| if let CompareEvent::Watch(p) = e { Some(p.phase) } else { None })
        .collect();
    assert!(phases.contains(&WatchPhase::Authority) && phases.contains(&WatchPhase::Resolvers), "{phases:?}");
    assert_eq!(events.last().map(CompareEvent::name), Some("end"));
}

#[tokio::test]
async fn a_watch_learns_old_values_and_tells_them_from_answers_by_location() {
    let w = world("small").await;
    w.command("resolver first prime plain.example A").await;
    w.command("resolver second geo plain.example 60 A 203.0.113.5").await;
    let later: jiff::Timestamp = "2026-11-20T14:05:08Z".parse().unwrap();
    {
        let mut plan = w.clock.plan.lock().unwrap();
        plan.push((later, "remove plain.example A".into()));
        plan.push((later, "add plain.example 300 A 192.0.2.99".into()));
    }
    let watch = Watch { expect: vec!["192.0.2.99".into()], patience_s: 3600 };
    let mut seen_stale = false;
    let (c, end) = w
        .comparer()
        .watch(&asking("plain.example", "A"), &watch, &mut |e| {
            if let CompareEvent::Answer(j) = e {
                seen_stale |= j.resolver.id == "first" && j.verdict.kind() == VerdictKind::Stale;
            }
        })
        .await
        .unwrap();
    assert!(seen_stale, "the value before the change was learnt while waiting");
    assert_eq!(end.kind, EndKind::Everywhere, "{end:?} {:#?}", c.answers);
    assert_eq!(of(&c, "first").verdict, Verdict::Same);
    let geo = of(&c, "second");
    assert_eq!(geo.verdict, Verdict::Different { cause: Cause::Location, until: None }, "{geo:#?}");
}

#[tokio::test]
async fn an_answer_by_location_is_believed_once_it_comes_again() {
    let w = world("demo").await;
    let one_look = w.comparer().run(&asking("q7.io", "A"), &mut |_| ()).await.unwrap();
    assert!(!one_look.summary.everywhere, "an old copy would look the same");
    let watch = Watch { expect: vec![], patience_s: 3600 };
    let (c, end) = w.comparer().watch(&asking("q7.io", "A"), &watch, &mut |_| ()).await.unwrap();
    assert_eq!(end.kind, EndKind::Everywhere, "{:?}", c.summary);
    assert_eq!(of(&c, "monsoon").verdict, Verdict::Different { cause: Cause::Location, until: None });
    assert_eq!(of(&c, "wattle").verdict, Verdict::Failing);
}

#[tokio::test]
async fn a_watch_ends_when_its_time_is_over() {
    let w = world("small").await;
    let watch = Watch { expect: vec!["192.0.2.200".into()], patience_s: 60 };
    let (c, end) = w.comparer().watch(&asking("plain.example", "A"), &watch, &mut |_| ()).await.unwrap();
    assert_eq!(end.kind, EndKind::GaveUp);
    assert_eq!(c.stopped.unwrap().reason, StopReason::NotServedYet);
    assert_eq!(w.lab.query_log().per_resolver.values().sum::<u64>(), 0);
    assert!(w.clock.waits.lock().unwrap().iter().sum::<i64>() <= 60);
}
