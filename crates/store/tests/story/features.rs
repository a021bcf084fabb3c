//! Features on a real database: each walks on, use, off, nothing left, on again; processes die between.

use crate::uses::{remove_it, use_it};
use crate::world::{ONE, Place, TWO, add, now};
use features::{
    Declared, FEATURES, Feature, Gates, LIVE_SECONDS, REGISTERED_MAX, REPORT_SECONDS, Reported, ReportedUse,
    Runner, Stage, State, Task,
};
use jiff::{SignedDuration, Timestamp};
use model::account::{Actor, AuditQuery};
use model::configure::{ServiceKind, ServiceSpec, StoredService};
use model::ids::LogPosition;
use model::notify::TARGET_KINDS;
use std::sync::Arc;
use store::{Error, FeatureReportWrite, FeatureWrite, Store};

/// A process of the server.
pub struct Process {
    pub runner: Runner<dyn Store>,
    pub gates: Gates,
}

pub fn process(store: &Arc<dyn Store>, id: &str) -> Process {
    let gates = Gates::default();
    Process { runner: Runner::new(store.clone(), gates.clone(), id.into(), "0.1.0", now()), gates }
}

pub async fn desire(s: &dyn Store, feature: &str, desired: Option<bool>) {
    let write =
        FeatureWrite { name: feature.into(), desired, expected: None, metadata: None, declared: None };
    s.set_feature(&Actor::system(), ONE, &write, now()).await.expect("it is there");
}

pub async fn feature(s: &dyn Store, wanted: &str) -> Feature {
    let all = s.feature_rows(ONE, "", 99).await.unwrap();
    all.into_iter().map(|f| f.feature).find(|f| f.name == wanted).expect("it is there")
}

/// Enough rounds for a transition that nothing holds up.
pub async fn rounds(all: &[&Process], at: &mut Timestamp) {
    for _ in 0..4 {
        *at += SignedDuration::from_secs(1);
        for p in all {
            let tick = p.runner.tick(*at).await.unwrap();
            assert_eq!(tick.failed, []);
        }
    }
}

pub async fn each_feature_goes_on_off_and_on_again_and_leaves_nothing(place: &Place) {
    let s = place.open().await;
    add(&*s, TWO, &["a.example"]).await;
    let spec = ServiceSpec::new(ServiceKind::Proof, "", [("value", "x=1")]).unwrap();
    s.add_service(TWO, &StoredService::new("one".into(), "a.example", spec, now()), now()).await.unwrap();
    let (one, two) = (process(&s, "one"), process(&place.open().await, "two"));
    let mut at = now();
    rounds(&[&one, &two], &mut at).await;
    assert_eq!(s.feature_rows(ONE, "", 99).await.unwrap().len(), FEATURES.len());
    assert!(s.feature_rows(TWO, "", 99).await.unwrap().is_empty(), "they are the installation's");
    for spec in FEATURES {
        let is = |f: &Feature| (f.state, f.tasks.len());
        if !spec.default {
            assert_eq!(is(&feature(&*s, spec.name).await), (State::Off, 0), "{}", spec.name);
            assert!(one.gates.enter(spec.name).is_none(), "{}", spec.name);
            desire(&*s, spec.name, Some(true)).await;
            rounds(&[&one, &two], &mut at).await;
        }
        assert_eq!(is(&feature(&*s, spec.name).await), (State::On, 0), "{}", spec.name);
        for task in spec.tasks() {
            use_it(&*s, task.data()).await;
        }
        let held = two.gates.enter(spec.name).expect("on");
        desire(&*s, spec.name, Some(false)).await;
        rounds(&[&one, &two], &mut at).await;
        assert_eq!(
            is(&feature(&*s, spec.name).await),
            (State::TurningOff, spec.tasks().len()),
            "{}",
            spec.name
        );
        assert!(one.gates.enter(spec.name).is_none(), "no use begins any more");
        drop(held);
        rounds(&[&one, &two], &mut at).await;
        for task in spec.tasks() {
            let Task::WaitUntilGone { data } = &task else { continue };
            let left = s.remaining(data).await.unwrap();
            assert_eq!((left.count, left.names.len()), (1, 1), "{left:?}");
            assert_eq!(feature(&*s, spec.name).await.state, State::TurningOff, "{}", spec.name);
            remove_it(&*s, data).await;
            rounds(&[&one, &two], &mut at).await;
        }
        assert_eq!(is(&feature(&*s, spec.name).await), (State::Off, 0), "{}", spec.name);
        for task in spec.tasks() {
            assert_eq!(s.remaining(task.data()).await.unwrap().count, 0, "{}", spec.name);
        }
        desire(&*s, spec.name, (!spec.default).then_some(true)).await;
        rounds(&[&one, &two], &mut at).await;
        assert_eq!(is(&feature(&*s, spec.name).await), (State::On, 0), "{}", spec.name);
        assert!(two.gates.enter(spec.name).is_some());
    }
    assert!(s.budget("rdap.example").await.unwrap().is_some(), "budgets of registries are not theirs");
    assert_eq!(TARGET_KINDS.len(), FEATURES.iter().filter(|f| f.name.starts_with("alerts-")).count());
    assert!(matches!(s.remaining("none").await, Err(features::StoreError::UnknownData(_))));
}

pub async fn a_process_that_dies_in_a_transition_is_replaced(place: &Place) {
    let s = place.open().await;
    let mut at = now();
    // For each transition: the leader begins it and dies in it; the other ends it once the leader counts as dead.
    for (round, (desired, between, end)) in
        [(Some(false), State::TurningOff, State::Off), (Some(true), State::TurningOn, State::On)]
            .into_iter()
            .enumerate()
    {
        // Those of the round before count as dead, whatever their clocks may have been.
        at += SignedDuration::from_mins(2);
        let ids = [format!("a-{round}"), format!("b-{round}")];
        let leads = features::leader("doh-server", ids.iter().map(String::as_str)).unwrap().to_string();
        let [first, second] = ids.clone().map(|id| process(&s, &id));
        rounds(&[&first, &second], &mut at).await;
        let (dies, stays) = if leads == ids[0] { (first, second) } else { (second, first) };
        desire(&*s, "doh-server", desired).await;
        at += SignedDuration::from_secs(1);
        dies.runner.tick(at).await.unwrap();
        assert_eq!(feature(&*s, "doh-server").await.state, between, "the other still reports the old value");
        drop(dies);
        rounds(&[&stays], &mut at).await;
        assert_eq!(feature(&*s, "doh-server").await.state, between, "the dead one counts as live and leads");
        at += SignedDuration::from_secs(LIVE_SECONDS);
        rounds(&[&stays], &mut at).await;
        assert_eq!(feature(&*s, "doh-server").await.state, end);
        stays.runner.retire(at).await.unwrap();
    }
    assert!(
        s.processes(now()).await.unwrap().iter().all(|p| p.id.starts_with("a-") || p.id.starts_with("b-"))
    );
}

pub async fn asking_is_audited_logged_and_fenced(place: &Place) {
    let s = place.open().await;
    let p = process(&s, "one");
    p.runner.tick(now()).await.unwrap();
    let by = Actor { who: "Ada".into(), ..Actor::system() };
    let mut write = FeatureWrite {
        name: "network-claim".into(),
        desired: Some(false),
        expected: Some(LogPosition(1)),
        metadata: None,
        declared: None,
    };
    let outdated = s.set_feature(&by, ONE, &write, now()).await;
    assert!(matches!(outdated, Err(Error::Conflict)), "{outdated:?}");
    let before = s.feature_rows(ONE, "network-b", 1).await.unwrap().remove(0);
    write.expected = Some(before.rv);
    let after = s.set_feature(&by, ONE, &write, now()).await.unwrap();
    assert!(after.rv > before.rv && after.feature.desired == Some(false));
    let log = crate::world::log(&*s, Some(ONE), before.rv, 99).await;
    assert!(
        log.iter().any(|e| e.kind == "feature" && e.name == "network-claim" && e.rv == after.rv),
        "{log:?}"
    );
    let audit = s.audit_log(ONE, &AuditQuery::default()).await.unwrap();
    assert!(
        audit
            .entries
            .iter()
            .any(|e| e.action == "feature.set" && e.new.as_deref() == Some("off") && e.who == "Ada")
    );
    assert!(matches!(s.set_feature(&by, TWO, &write, now()).await, Err(Error::NotFound)));
}

pub async fn third_parties_register_their_own(place: &Place) {
    const NAME: &str = "invoices.billing.example";
    let s = place.open().await;
    let mut at = now();
    let p = process(&s, "one");
    rounds(&[&p], &mut at).await;
    let by = Actor { who: "Ada".into(), ..Actor::system() };
    let declared = Declared {
        default: false,
        stage: Stage::Beta,
        version: "2.1".into(),
        title: String::new(),
        dynamic: true,
    };
    let made = Feature::registered(NAME, &declared, "0.1.0", at);
    // One name in two organisations: two features.
    for org in [ONE, TWO] {
        s.register_feature(&by, org, &made, "{}", at).await.unwrap().expect("there is room");
        let again = s.register_feature(&by, org, &made, "{}", at).await;
        assert!(matches!(again, Err(Error::Conflict)), "{again:?}");
    }
    let row =
        async |org| s.feature_rows(org, "i", 9).await.unwrap().into_iter().find(|r| r.feature.name == NAME);
    let report = |used: bool, seen_at: Timestamp| FeatureReportWrite {
        name: NAME.into(),
        uses: vec![ReportedUse { process: "billing-1".into(), version: "2.1.0".into(), used, seen_at }],
        leftovers: None,
        is_whole: false,
        expected: None,
        dry_run: false,
    };
    for org in [ONE, TWO] {
        let (first, _) = s.report_feature(org, &report(true, at), at).await.unwrap();
        // A sign of life is stored without a position of its own.
        let later = at + SignedDuration::from_secs(30);
        let (seen, reported) = s.report_feature(org, &report(true, later), later).await.unwrap();
        assert_eq!((seen.rv, reported), (first.rv, Reported::Seen));
        assert_eq!(row(org).await.unwrap().feature.registered.unwrap().uses[0].seen_at, later);
        let uses = [report(true, later).uses, report(false, later).uses].concat();
        let twice = FeatureReportWrite { uses, is_whole: true, ..report(true, later) };
        let (refused, reported) = s.report_feature(org, &twice, later).await.unwrap();
        assert_eq!((refused, reported), (row(org).await.unwrap(), Reported::Refused), "nothing was stored");
        let outdated = FeatureReportWrite { expected: Some(LogPosition(1)), ..report(true, later) };
        assert!(matches!(s.report_feature(org, &outdated, later).await, Err(Error::Conflict)));
        let write = |desired| FeatureWrite {
            name: NAME.into(),
            desired: Some(desired),
            expected: None,
            metadata: None,
            declared: None,
        };
        assert_eq!(s.set_feature(&by, org, &write(true), later).await.unwrap().feature.state, State::On);
        assert_eq!(
            s.set_feature(&by, org, &write(false), later).await.unwrap().feature.state,
            State::TurningOff
        );
    }
    // The process ends without notice: processes of the server end the transition, in each organisation.
    rounds(&[&p], &mut at).await;
    assert_eq!(row(TWO).await.unwrap().feature.state, State::TurningOff, "it reported a moment ago");
    at += SignedDuration::from_secs(REPORT_SECONDS + 30);
    rounds(&[&p], &mut at).await;
    for org in [ONE, TWO] {
        let off = row(org).await.unwrap();
        assert_eq!(off.feature.state, State::Off);
        let gone = s.delete_feature(&by, org, NAME, LogPosition(1), at).await;
        assert!(matches!(gone, Err(Error::Conflict)), "{gone:?}");
        let gone = s.delete_feature(&by, org, NAME, off.rv, at).await.unwrap();
        let log = crate::world::log(&*s, Some(org), off.rv, 99).await;
        assert!(log.iter().any(|e| e.kind == "feature" && e.name == NAME && e.rv == gone.rv), "{log:?}");
        assert!(row(org).await.is_none());
    }
    let ours = s.feature_rows(ONE, "", 99).await.unwrap().remove(0);
    for name in [ours.feature.name.as_str(), NAME] {
        let refused = s.delete_feature(&by, ONE, name, ours.rv, at).await;
        assert!(matches!(refused, Err(Error::NotFound)), "{name}: {refused:?}");
    }
    // Versions that are three newer forget features that they do not know, not those of others.
    s.register_feature(&by, ONE, &made, "{}", at).await.unwrap();
    Runner::new(s.clone(), Gates::default(), "new".into(), "0.9.0", at).tick(at).await.unwrap();
    assert!(row(ONE).await.is_some());
}

pub async fn registered_features_have_a_limit_and_their_turns_are_audited(place: &Place) {
    let s = place.open().await;
    let (by, at) = (Actor { who: "Ada".into(), ..Actor::system() }, now());
    let declared = |default| Declared {
        default,
        stage: Stage::Beta,
        version: "2.1".into(),
        title: String::new(),
        dynamic: true,
    };
    let made =
        |n: usize| Feature::registered(&format!("f{n}.billing.example"), &declared(n == 0), "0.1.0", at);
    let add = async |n| s.register_feature(&by, TWO, &made(n), "{}", at).await.unwrap();
    for n in 0..REGISTERED_MAX - 1 {
        assert!(add(n).await.is_some(), "{n}");
    }
    let (a, b, c) = tokio::join!(add(200), add(201), add(202));
    let added = [a, b, c].iter().flatten().count();
    let rows = s.feature_rows(TWO, "", 999).await.unwrap();
    assert_eq!((added, rows.len()), (1, REGISTERED_MAX), "one of three at a time");

    // A feature turns with its default while nothing is asked for.
    for (desired, default) in [(None, false), (None, true), (Some(true), true), (Some(true), false)] {
        let name = made(1).name;
        let write =
            FeatureWrite { name, desired, expected: None, metadata: None, declared: Some(declared(default)) };
        s.set_feature(&by, TWO, &write, at).await.unwrap();
    }
    let audit = s.audit_log(TWO, &AuditQuery { limit: 999, ..AuditQuery::default() }).await.unwrap();
    let lines = |action: &str, n: usize| -> Vec<_> {
        let of = audit.entries.iter().filter(|e| e.action == action && e.object == made(n).name);
        of.map(|e| (e.old.clone().unwrap_or_default(), e.new.clone().unwrap_or_default())).collect()
    };
    let line = |old: &str, new: &str| (old.to_string(), new.to_string());
    let turns = [line("default (on)", "on"), line("default (off)", "default (on)")];
    assert_eq!(lines("feature.set", 1), turns, "the newest first");
    assert_eq!(lines("feature.register", 0), [line("", "2.1, default (on)")]);
    assert_eq!(lines("feature.register", 1), [line("", "2.1, default (off)")]);

    // Those of other organisations that turn are read in the order in which they were written, from a position on.
    let turning = async |after, limit| -> Vec<_> {
        let read = s.turning_elsewhere(after, limit).await.unwrap();
        read.into_iter().map(|f| (f.feature.name, f.rv)).collect()
    };
    let uses = |n: usize| FeatureReportWrite {
        name: made(n).name,
        uses: vec![ReportedUse { process: "a".into(), version: "2".into(), used: false, seen_at: at }],
        leftovers: None,
        is_whole: false,
        expected: None,
        dry_run: false,
    };
    for n in [3, 2] {
        s.report_feature(TWO, &uses(n), at).await.unwrap();
        let desired = Some(true);
        let write =
            FeatureWrite { name: made(n).name, desired, expected: None, metadata: None, declared: None };
        assert_eq!(s.set_feature(&by, TWO, &write, at).await.unwrap().feature.state, State::TurningOn);
    }
    let both = turning(0, 9).await;
    assert_eq!(both.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), [made(3).name, made(2).name]);
    assert_eq!(turning(0, 1).await, both[..1]);
    assert_eq!(turning(both[0].1, 9).await, both[1..]);
}

/// A report that only renews a time changes no position: what was read before it must not be written over it.
pub async fn reports_of_third_parties_survive_the_writes_of_runners(place: &Place) {
    const NAME: &str = "invoices.billing.example";
    let (s, other) = (place.open().await, place.open().await);
    let by = Actor::system();
    let declared = Declared {
        default: true,
        stage: Stage::Beta,
        version: "2.1".into(),
        title: String::new(),
        dynamic: true,
    };
    let report = |process: &str, used: bool, seen_at: Timestamp| FeatureReportWrite {
        name: NAME.into(),
        uses: vec![ReportedUse { process: process.into(), version: "2".into(), used, seen_at }],
        leftovers: None,
        is_whole: false,
        expected: None,
        dry_run: false,
    };
    let made = Feature::registered(NAME, &declared, "0.1.0", now());
    let second = |n: i64| now() + SignedDuration::from_secs(n);
    for org in [ONE, TWO] {
        s.register_feature(&by, org, &made, "{}", now()).await.unwrap().expect("there is room");
        for process in ["a", "b"] {
            s.report_feature(org, &report(process, true, now()), now()).await.unwrap();
        }
        let off = FeatureWrite {
            name: NAME.into(),
            desired: Some(false),
            expected: None,
            metadata: None,
            declared: None,
        };
        assert_eq!(s.set_feature(&by, org, &off, now()).await.unwrap().feature.state, State::TurningOff);
        // A runner has read both processes; then "a" renews its time, while "b" is silent until it counts as gone.
        let read = s.feature_row(org, NAME).await.unwrap().unwrap();
        let (seen, reported) =
            s.report_feature(org, &report("a", true, second(50)), second(50)).await.unwrap();
        assert_eq!((seen.rv, reported), (read.rv, Reported::Seen));
        let expired = second(REPORT_SECONDS + 20);
        assert!(read.feature.clone().settle(expired), "by what it read, none uses it any more");
        assert!(!s.settle_feature(read.rv.0, NAME, expired).await.unwrap(), "\"a\" still uses it");
        assert_eq!(s.feature_row(org, NAME).await.unwrap().unwrap(), seen);
    }
    // Both at once, on two replicas: no report is lost, whatever comes between.
    let ids: Vec<_> = (0..8).map(|n| format!("p-{n}")).collect();
    let start = second(60);
    let reports = ids.iter().map(|id| {
        let s = s.clone();
        let report = &report;
        async move {
            for n in 0..10 {
                let at = start + SignedDuration::from_secs(n * 6);
                s.report_feature(TWO, &report(id, n % 2 == 0, at), at).await.unwrap();
            }
        }
    });
    let settles = async {
        for _ in 0..40 {
            for stored in other.turning_elsewhere(0, 9).await.unwrap() {
                let at = start + SignedDuration::from_secs(54);
                other.settle_feature(stored.rv, NAME, at).await.unwrap();
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::join!(futures::future::join_all(reports), settles);
    let uses = s.feature_row(TWO, NAME).await.unwrap().unwrap().feature.registered.unwrap().uses;
    let last = start + SignedDuration::from_secs(54);
    let kept: Vec<_> =
        uses.iter().filter(|u| u.seen_at == last && !u.used).map(|u| u.process.clone()).collect();
    assert_eq!(kept, ids);
}
