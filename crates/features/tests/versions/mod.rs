//! What other versions stored, and clocks that are set back.

use crate::support::world::{World, now_or_never};
use features::{Feature, FeatureStore as _, LIVE_SECONDS, Process, State, Task, leading};
use jiff::SignedDuration;
use std::collections::{BTreeMap, BTreeSet};

fn turning_off(w: &World, name: &str, tasks: &[Task]) {
    let (now, tasks) = (w.now, tasks.to_vec());
    w.store.change(name, |f| {
        (f.state, f.desired, f.tasks, f.changed_at) = (State::TurningOff, Some(false), tasks, now);
    });
}

fn live(w: &World) -> Vec<Process> {
    now_or_never(w.store.processes(w.now - SignedDuration::from_secs(LIVE_SECONDS))).unwrap()
}

#[test]
fn a_task_of_another_version_holds_up_its_feature_alone() {
    let json = |text: &str| serde_json::from_str::<Task>(text).unwrap();
    let of_data = Task::Clean { data: "of-a-newer-version".into() };
    let of_gone = Task::WaitUntilGone { data: "of-a-newer-version".into() };
    let of_kind = json(r#"{"do":"archive","data":"of-a-newer-version","days":3}"#);
    for task in [of_data, of_gone, of_kind] {
        let mut w = World::new(1);
        w.store.set_unknown("of-a-newer-version");
        let duty = w.members[0].runner.duty("prune");
        // The first by name: what comes after it must not stand still.
        turning_off(&w, "alerts-discord", std::slice::from_ref(&task));
        w.store.desire("doh-server", Some(false));
        w.settle();
        let stored = w.store.feature("alerts-discord");
        assert_eq!((stored.state, stored.tasks), (State::TurningOff, vec![task]));
        assert_eq!(w.state("doh-server"), State::Off);
        assert!(duty.is_held());
        // It leads no more, and one that knows the task does.
        let mut all = live(&w);
        assert_eq!((all.len(), leading("alerts-discord", &all)), (1, None));
        assert_eq!(leading("doh-server", &all), Some("p-1"));
        let newer = Process { id: "newer".into(), unable: BTreeSet::new(), ..all[0].clone() };
        all.push(newer);
        assert_eq!(leading("alerts-discord", &all), Some("newer"));
        // Wanted again: the task is not needed for that.
        w.store.desire("alerts-discord", Some(true));
        w.settle();
        assert_eq!((w.state("alerts-discord"), live(&w)[0].unable.len()), (State::On, 0));
    }
}

#[test]
fn a_clock_that_is_set_back_silences_no_process_and_keeps_no_dead_one() {
    let mut w = World::new(2);
    w.settle();
    w.now -= SignedDuration::from_hours(1);
    w.tick_all();
    assert_eq!(live(&w).iter().filter(|p| p.seen_at <= w.now).count(), 2, "both announce themselves");
    let held = w.members.pop().unwrap();
    drop(held);
    (0..LIVE_SECONDS + 2).for_each(|_| w.tick_all());
    let tick = now_or_never(w.members[0].runner.tick(w.now)).unwrap();
    assert_eq!(tick.live, 1);
    // Also one that dies before the clock is set back.
    w.join();
    w.settle();
    w.members.pop();
    w.now -= SignedDuration::from_mins(30);
    (0..LIVE_SECONDS + 2).for_each(|_| w.tick_all());
    let tick = now_or_never(w.members[0].runner.tick(w.now)).unwrap();
    assert_eq!(tick.live, 1);
}

#[test]
fn an_announcement_without_new_fields_reads_and_writes_as_before() {
    let old = r#"{"id":"a","version":"0.1.0","started_at":"2026-11-20T12:00:00Z","seen_at":"2026-11-20T12:00:00Z","uses":{"doh-server":true}}"#;
    let process: Process = serde_json::from_str(old).unwrap();
    assert_eq!(process.uses, BTreeMap::from([("doh-server".to_string(), true)]));
    assert_eq!(serde_json::to_string(&process).unwrap(), old);
}

#[test]
fn a_feature_keeps_its_stored_words() {
    let stored = r#"{"name":"invoices.billing.example","desired":false,"asked":{"by":"Ada","at":"2026-11-20T12:00:00Z"},"default":true,"stage":"beta","since":"2.1","known_by":"0.1.0","state":"TurningOff","tasks":[{"do":"wait_until_gone","data":"invoices"}],"changed_at":"2026-11-20T12:00:00Z","registered":{"title":"","uses":[{"process":"a","version":"2","used":false,"seen_at":"2026-11-20T12:00:00Z"}],"leftovers":[{"data":"invoices","left":{"count":2,"names":["2026-10"]}}]}}"#;
    let feature: Feature = serde_json::from_str(stored).unwrap();
    assert_eq!(feature.desired_by.as_ref().map(|d| d.by.as_str()), Some("Ada"));
    assert_eq!(feature.registered.as_ref().unwrap().remaining("invoices").count, 2);
    assert_eq!(serde_json::to_string(&feature).unwrap(), stored);
}
