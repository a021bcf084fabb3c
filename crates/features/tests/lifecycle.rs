//! The lifecycle over a store in memory: every walk of it keeps the promises, whatever process dies when.

mod support;
mod versions;

use features::{
    Declared, FEATURES, Feature, FeatureStore as _, Gates, LIVE_SECONDS, Process, Progress, REPORT_SECONDS,
    ReportedUse, Runner, Stage, State, Task, spec,
};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use support::Memory;
use support::world::{Member, World, now_or_never};

#[test]
fn each_feature_goes_on_off_and_on_again_and_leaves_nothing() {
    for spec in FEATURES {
        let mut w = World::new(3);
        w.store.desire(spec.name, Some(true));
        w.settle();
        assert_eq!(w.state(spec.name), State::On, "{}", spec.name);
        let held = w.members[1].gates.enter(spec.name).expect("it is on");
        for task in spec.tasks() {
            w.store.put(task.data(), 25);
        }
        w.store.desire(spec.name, Some(false));
        (0..4).for_each(|_| w.tick_all());
        assert_eq!(w.state(spec.name), State::TurningOff, "{}: a use runs", spec.name);
        assert!(w.members.iter().all(|m| m.gates.enter(spec.name).is_none()), "{}", spec.name);
        for task in spec.tasks() {
            assert_eq!(w.store.count(task.data()), 25, "nothing is deleted while a process uses it");
        }
        drop(held);
        w.settle();
        // What people have to delete keeps it from being off.
        for task in spec.tasks() {
            if matches!(task, Task::WaitUntilGone { .. }) {
                assert_eq!(w.state(spec.name), State::TurningOff, "{}", spec.name);
                w.store.put(task.data(), 0);
                w.settle();
            }
        }
        assert_eq!(w.state(spec.name), State::Off, "{}", spec.name);
        assert!(spec.tasks().iter().all(|t| w.store.count(t.data()) == 0), "{}", spec.name);
        w.store.desire(spec.name, Some(true));
        w.settle();
        assert_eq!(w.state(spec.name), State::On, "{}", spec.name);
        assert!(w.members.iter().all(|m| m.gates.is_on(spec.name)), "{}", spec.name);
    }
}

#[test]
fn a_process_that_deletes_for_long_announces_itself_and_lets_people_change_their_mind() {
    const NAME: &str = "domain-connect-apply";
    let mut w = World::new(2);
    w.store.put("connect-links", 5_000);
    w.store.desire(NAME, Some(false));
    (0..3).for_each(|_| w.tick_all());
    let left = w.store.count("connect-links");
    assert!(w.state(NAME) == State::TurningOff && 5_000 > left && left > 3_000, "a part of them: {left}");
    // Both announce themselves in every interval, and so stay live for each other.
    for _ in 0..LIVE_SECONDS {
        let before = w.store.count("connect-links");
        w.tick_all();
        assert!(w.store.count("connect-links") < before || before == 0);
        let since = w.now - SignedDuration::from_secs(5);
        assert_eq!(now_or_never(w.store.processes(since)).unwrap().len(), 2);
    }
    w.settle();
    assert_eq!((w.state(NAME), w.store.count("connect-links")), (State::Off, 0));
    // Wanted again in the middle: what is left stays.
    w.store.desire(NAME, Some(true));
    w.settle();
    w.store.put("connect-links", 5_000);
    w.store.desire(NAME, Some(false));
    (0..3).for_each(|_| w.tick_all());
    w.store.desire(NAME, Some(true));
    let left = w.store.count("connect-links");
    w.settle();
    assert_eq!((w.state(NAME), w.store.count("connect-links")), (State::On, left));
    assert!(left > 3_000, "{left}");
}

#[test]
fn nothing_is_deleted_once_another_process_turned_it_on_again() {
    const NAME: &str = "domain-connect-apply";
    let mut w = World::new(2);
    w.store.put("connect-links", 400);
    w.store.want_in_clean(NAME);
    w.store.desire(NAME, Some(false));
    w.settle();
    assert_eq!((w.state(NAME), w.store.count("connect-links")), (State::On, 390), "one step was under way");
}

#[test]
fn what_keeps_one_feature_from_going_on_keeps_no_other() {
    let mut w = World::new(1);
    w.store.put("connect-links", 1);
    w.store.set_failing("connect-links");
    let duty = w.members[0].runner.duty("prune");
    for name in ["domain-connect-apply", "doh-server", "open-tools"] {
        w.store.desire(name, Some(false));
    }
    let (mut failed, mut finished) = (Vec::new(), BTreeSet::new());
    for _ in 0..5 {
        w.now += SignedDuration::from_secs(1);
        let tick = now_or_never(w.members[0].runner.tick(w.now)).unwrap();
        assert_eq!((tick.features.len(), tick.live), (FEATURES.len(), 1), "metrics of all are exported");
        failed.extend(tick.failed.iter().map(ToString::to_string));
        finished.extend(tick.finished.into_iter().map(|f| f.name));
    }
    assert!(!failed.is_empty() && failed.iter().all(|e| e.contains("domain-connect-apply: ")), "{failed:?}");
    assert!(finished.iter().eq(["doh-server", "open-tools"]), "{finished:?}");
    assert_eq!((w.state("doh-server"), w.state("open-tools")), (State::Off, State::Off));
    assert_eq!(w.state("domain-connect-apply"), State::TurningOff);
    assert!(duty.is_held());
}

#[test]
fn a_clean_up_deletes_what_is_left_and_turns_nothing_on() {
    const NAME: &str = "domain-connect-apply";
    let tasks = spec(NAME).unwrap().tasks();
    let mut w = World::new(2);
    let asked = |w: &World| {
        let (now, mut begun) = (w.now, false);
        w.store.change(NAME, |f| begun = f.clean_up(&tasks, now));
        begun
    };
    assert!(!asked(&w), "it is on");
    w.store.desire(NAME, Some(false));
    w.settle();
    w.store.put("connect-links", 400);
    assert!(asked(&w) && !asked(&w), "once is enough");
    assert_eq!((w.state(NAME), w.store.feature(NAME).is_clean_up), (State::TurningOff, true));
    // Its leader dies in the middle; the other goes on, and no use begins.
    w.tick_all();
    w.members.remove(0);
    for _ in 0..LIVE_SECONDS + 6 {
        w.tick_all();
        assert!(w.members.iter().all(|m| m.gates.enter(NAME).is_none()));
    }
    assert_eq!((w.state(NAME), w.store.count("connect-links")), (State::Off, 0));
    assert!(!w.store.feature(NAME).is_clean_up, "it is over");
    // What is about to be turned on is not cleaned.
    w.store.desire(NAME, Some(true));
    assert!(!asked(&w));
    w.settle();
    assert_eq!(w.state(NAME), State::On);
    // Turning it on stops a clean-up that runs: the rest stays.
    w.store.desire(NAME, Some(false));
    w.settle();
    w.store.put("connect-links", 5_000);
    assert!(asked(&w));
    (0..4).for_each(|_| w.tick_all());
    w.store.desire(NAME, Some(true));
    let left = w.store.count("connect-links");
    assert!((1..5_000).contains(&left), "{left}");
    w.settle();
    assert_eq!((w.state(NAME), w.store.count("connect-links")), (State::On, left));
}

#[test]
fn a_process_with_a_flag_of_its_own_keeps_the_transition_waiting() {
    let mut w = World::new(2);
    let fixed = BTreeMap::from([("doh-server".to_string(), true)]);
    let gates = Gates::with_fixed(&fixed);
    w.members[0] = Member {
        runner: Runner::new(w.store.clone(), gates.clone(), "fixed".into(), "0.1.0", w.now),
        gates,
        use_held: None,
    };
    w.store.desire("doh-server", Some(false));
    w.settle();
    assert_eq!(w.state("doh-server"), State::TurningOff);
    w.members.remove(0);
    w.settle();
    assert_eq!(w.state("doh-server"), State::Off);
}

#[test]
fn an_unknown_feature_is_kept_for_three_versions() {
    let w = World::new(1);
    let mut foreign = features::Feature::new(spec("doh-server").unwrap(), "0.1.0", w.now);
    foreign.name = "quota-sync".into();
    now_or_never(features::FeatureStore::add_feature(&*w.store, &foreign, w.now)).unwrap();
    let of = |version| Runner::new(w.store.clone(), Gates::default(), "later".into(), version, w.now);
    let names = |tick: features::Tick| tick.features.iter().any(|f| f.name == "quota-sync");
    assert!(names(now_or_never(of("0.4.2").tick(w.now)).unwrap()));
    assert!(!names(now_or_never(of("0.5.0").tick(w.now)).unwrap()));
    // A step of the major version is one release.
    (foreign.name, foreign.known_by) = ("quota-sync".into(), "0.9.0".into());
    now_or_never(features::FeatureStore::add_feature(&*w.store, &foreign, w.now)).unwrap();
    for kept in ["1.0.0", "1.2.0"] {
        assert!(names(now_or_never(of(kept).tick(w.now)).unwrap()), "{kept}");
    }
    assert!(!names(now_or_never(of("1.3.0").tick(w.now)).unwrap()));
}

/// What happens in a random walk.
#[derive(Debug, Clone)]
enum Happens {
    Desire(Option<bool>),
    Tick(usize),
    /// A process ends without notice.
    Kill(usize),
    Join,
    Use(usize),
    EndUse(usize),
    /// Seconds pass.
    Wait(u8),
    /// The clock is set back by seconds.
    SetBack(u8),
    /// A clean-up of what is left is asked for.
    CleanUp,
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        2 => prop_oneof![Just(None), Just(Some(true)), Just(Some(false))].prop_map(Happens::Desire),
        8 => (0..4_usize).prop_map(Happens::Tick),
        1 => (0..4_usize).prop_map(Happens::Kill),
        1 => Just(Happens::Join),
        2 => (0..4_usize).prop_map(Happens::Use),
        2 => (0..4_usize).prop_map(Happens::EndUse),
        1 => (0..4_u8).prop_map(Happens::Wait),
        1 => (1..90_u8).prop_map(Happens::SetBack),
        1 => Just(Happens::CleanUp),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// While a live process uses the feature it is never Off and none of its data are deleted; and once nothing happens
    /// any more, the state is what is asked for.
    #[test]
    fn nothing_is_deleted_in_use_and_all_walks_end(walk in proptest::collection::vec(happens(), 1..60)) {
        const NAME: &str = "domain-connect-apply";
        let mut w = World::new(3);
        w.store.put("connect-links", 25);
        for what in walk {
            let n = w.members.len();
            match what {
                Happens::Desire(desired) => w.store.desire(NAME, desired),
                Happens::Tick(at) if n > 0 => w.tick(at % n),
                Happens::Kill(at) if n > 1 => { w.members.swap_remove(at % n); }
                Happens::Join if n < 4 => {
                    // A process reads the state before it serves its first request.
                    w.join();
                    w.tick(n);
                }
                Happens::Use(at) if n > 0 => {
                    let member = &mut w.members[at % n];
                    if let Some(begun) = member.gates.enter(NAME) {
                        member.use_held = Some(begun);
                    }
                }
                Happens::EndUse(at) if n > 0 => w.members[at % n].use_held = None,
                // Live processes announce themselves more often than that.
                Happens::Wait(seconds) => for _ in 0..seconds { w.tick_all(); },
                Happens::SetBack(seconds) => w.now -= SignedDuration::from_secs(seconds.into()),
                Happens::CleanUp => {
                    let (now, tasks) = (w.now, spec(NAME).unwrap().tasks());
                    w.store.change(NAME, |f| { f.clean_up(&tasks, now); });
                }
                _ => {}
            }
            if w.members.iter().any(|m| m.use_held.is_some()) {
                prop_assert_ne!(w.state(NAME), State::Off);
                prop_assert_eq!(w.store.count("connect-links"), 25);
            }
            // In a transition one step runs, those before it are done and those after it are not.
            let steps = features::steps(&w.store.feature(NAME), false);
            let rank = |p: Progress| [Progress::Done, Progress::Running, Progress::Queued].iter().position(|q| *q == p);
            prop_assert!(steps.is_sorted_by_key(|s| rank(s.progress)));
            let running = steps.iter().filter(|s| s.progress == Progress::Running).count();
            prop_assert_eq!(running, usize::from(w.state(NAME).is_transition()));
            prop_assert!(steps.iter().all(|s| s.took().is_none_or(|t| !t.is_negative())));
            if w.store.count("connect-links") == 0 {
                w.store.put("connect-links", 25);
            }
        }
        w.settle();
        let feature = w.store.feature(NAME);
        prop_assert_eq!(feature.state, if feature.is_wanted() { State::On } else { State::Off });
        prop_assert!(feature.tasks.is_empty() && feature.done.is_empty() && feature.cleared_at.is_none());
    }
}

#[test]
fn clocks_that_differ_by_thirty_seconds_change_nothing() {
    let store: Arc<Memory> = Arc::default();
    let begin: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
    let skews = [-30, 0, 30];
    let mut members: Vec<_> = skews
        .iter()
        .map(|skew| {
            let at = begin + SignedDuration::from_secs(*skew);
            let gates = Gates::default();
            let runner = Runner::new(store.clone(), gates.clone(), format!("p{skew}"), "0.1.0", at);
            (*skew, Member { runner, gates, use_held: None })
        })
        .collect();
    let mut second = 0;
    let mut round = |members: &[(i64, Member)], seconds: i64| {
        let mut live = Vec::new();
        for _ in 0..seconds {
            second += 1;
            let at = |skew: i64| begin + SignedDuration::from_secs(second + skew);
            live = members.iter().map(|(s, m)| now_or_never(m.runner.tick(at(*s))).unwrap().live).collect();
        }
        live
    };
    assert_eq!(round(&members, 3), [3, 3, 3], "each sees all, whatever their clocks say");
    for skew in skews {
        // A use in any of them holds the transition up for as long as it lasts.
        store.desire("doh-server", Some(true));
        round(&members, 4);
        let member = members.iter_mut().find(|(s, _)| *s == skew).unwrap();
        member.1.use_held = member.1.gates.enter("doh-server");
        assert!(member.1.use_held.is_some());
        store.desire("doh-server", Some(false));
        round(&members, LIVE_SECONDS * 4);
        assert_eq!(store.feature("doh-server").state, State::TurningOff, "held by the process at {skew} s");
        members.iter_mut().for_each(|(_, m)| m.use_held = None);
        round(&members, 4);
        assert_eq!(store.feature("doh-server").state, State::Off, "{skew}");
    }
    // One that dies counts as dead after 15 seconds at the others.
    members.remove(0);
    assert_eq!(round(&members, LIVE_SECONDS + 2), [2, 2]);
    // One that comes later and finds what it left counts it as dead as soon, however far ahead its clock was.
    drop(members);
    let ahead = Process {
        id: "ahead".into(),
        version: "0.1.0".into(),
        started_at: begin,
        seen_at: begin + SignedDuration::from_hours(1),
        uses: BTreeMap::new(),
        lacks: BTreeSet::new(),
        fixed: BTreeMap::new(),
        unable: BTreeSet::new(),
    };
    now_or_never(store.announce(&ahead)).unwrap();
    let gates = Gates::default();
    let runner = Runner::new(store.clone(), gates.clone(), "late".into(), "0.1.0", begin);
    let late = [(0, Member { runner, gates, use_held: None })];
    assert_eq!(round(&late, LIVE_SECONDS + 2), [1]);
}

#[test]
fn one_process_looks_at_other_organisations_now_and_then_and_reaches_all() {
    let mut w = World::new(3);
    let declared = Declared {
        default: false,
        stage: Stage::Alpha,
        version: "1".into(),
        title: String::new(),
        dynamic: true,
    };
    let turning = |name: &str, now: Timestamp| {
        let mut f = Feature::registered(name, &declared, "0.1.0", now);
        let process = |seen_at| ReportedUse { process: "a".into(), version: "1".into(), used: true, seen_at };
        f.desired = Some(true);
        f.report(vec![process(now)], None, false, now);
        f.desired = Some(false);
        assert!(f.settle(now) && f.state == State::TurningOff);
        f
    };
    // More than one look reads, and the process of none of them reports again.
    for n in 0..250 {
        w.store.put_elsewhere(turning(&format!("f{n}.billing.example"), w.now));
    }
    let states = |w: &World| w.store.elsewhere().0.iter().filter(|f| f.state == State::TurningOff).count();
    (0..REPORT_SECONDS - 2).for_each(|_| w.tick_all());
    assert_eq!(states(&w), 250, "they reported within a minute");
    let before = w.store.elsewhere().1;
    assert!((4..=9).contains(&before), "a look every ten seconds: {before}");
    (0..42).for_each(|_| w.tick_all());
    assert_eq!(states(&w), 0, "the looks after the first hundred go on where it ended");
    assert!(w.store.elsewhere().1 <= before + 5, "{:?}", w.store.elsewhere().1);
}
