//! Features of third parties as their processes report.

use super::*;
use jiff::SignedDuration;

fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
}

fn reported(process: &str, used: bool, seconds: i64) -> Vec<ReportedUse> {
    vec![ReportedUse { process: process.into(), version: "2.1".into(), used, seen_at: at(seconds) }]
}

fn left(n: u64) -> Option<Vec<ReportedRemaining>> {
    let names = (0..n).map(|i| format!("invoice-{i}")).collect();
    Some(vec![ReportedRemaining { data: "invoices".into(), left: Remaining { count: n, names } }])
}

fn feature() -> Feature {
    let declared = Declared {
        default: false,
        stage: Stage::Beta,
        version: "2.1".into(),
        title: "invoices".into(),
        dynamic: true,
    };
    Feature::registered("invoices.billing.example", &declared, "0.1.0", at(0))
}

#[test]
fn it_goes_on_and_off_as_its_processes_report() {
    let mut f = feature();
    assert_eq!(f.state, State::Off);
    f.report(reported("a", false, 1), None, false, at(1));
    f.report(reported("b", false, 1), None, false, at(1));
    f.desired = Some(true);
    assert!(f.settle(at(2)));
    assert_eq!(f.state, State::TurningOn, "two processes report Off");
    f.report(reported("a", true, 3), left(2), false, at(3));
    assert_eq!(f.state, State::TurningOn, "one does");
    f.report(reported("b", true, 4), None, false, at(4));
    assert_eq!(f.state, State::On);
    f.desired = Some(false);
    f.settle(at(5));
    assert_eq!((f.state, f.tasks.len()), (State::TurningOff, 1));
    f.report(reported("a", false, 6), None, false, at(6));
    f.report(reported("b", false, 6), left(1), false, at(6));
    assert_eq!(f.state, State::TurningOff, "an invoice is left");
    assert_eq!(f.registered.as_ref().unwrap().remaining("invoices").names, ["invoice-0"]);
    f.report(reported("b", false, 7), left(0), false, at(7));
    assert_eq!((f.state, f.tasks.len()), (State::Off, 0));
}

#[test]
fn what_was_reported_as_gone_is_a_step_that_is_done() {
    let mut f = feature();
    f.desired = Some(true);
    let two = |n: u64, m: u64| {
        let of = |data: &str, n| ReportedRemaining {
            data: data.into(),
            left: Remaining { count: n, names: vec![] },
        };
        Some(vec![of("drafts", n), of("invoices", m)])
    };
    f.report(reported("a", true, 1), two(1, 1), false, at(1));
    f.desired = Some(false);
    f.settle(at(2));
    f.report(reported("a", false, 3), None, false, at(3));
    assert_eq!((f.state, f.tasks.len(), f.cleared_at), (State::TurningOff, 2, Some(at(3))));
    f.report(reported("a", false, 9), two(0, 1), false, at(9));
    let done = |f: &Feature| f.done.iter().map(|d| (d.task.data().to_string(), d.at)).collect::<Vec<_>>();
    assert_eq!(done(&f), [("drafts".to_string(), at(9))]);
    // It is there again: not done.
    f.report(reported("a", false, 20), two(1, 1), false, at(20));
    assert_eq!((done(&f).len(), f.tasks.len()), (0, 2));
    // Names of data that change with every report don't grow the row.
    for n in 0..60 {
        let one = ReportedRemaining { data: format!("d{n}"), left: Remaining { count: 1, names: vec![] } };
        f.report(reported("a", false, 30 + n), Some(vec![one]), false, at(30 + n));
    }
    assert_eq!(f.done.len(), 20);
    f.report(reported("a", false, 99), Some(vec![]), false, at(99));
    assert_eq!((f.state, f.done.len(), f.cleared_at), (State::Off, 0, None));
}

#[test]
fn a_process_that_reports_no_more_is_not_waited_for() {
    let mut f = feature();
    f.desired = Some(true);
    f.report(reported("a", true, 1), None, false, at(1));
    assert_eq!(f.state, State::On);
    f.desired = Some(false);
    assert!(f.settle(at(2)) && !f.settle(at(REPORT_SECONDS)));
    assert_eq!(f.state, State::TurningOff);
    assert!(f.settle(at(1 + REPORT_SECONDS)));
    assert_eq!(f.state, State::Off);
    // The next report takes it out of the list.
    f.report(reported("b", false, 90), None, false, at(90));
    assert_eq!(f.registered.unwrap().uses.len(), 1);
}

#[test]
fn a_clock_that_is_set_back_keeps_no_report_for_longer() {
    let mut f = feature();
    f.report(reported("a", true, 5_000), None, false, at(5_000));
    assert_eq!(f.registered.as_ref().unwrap().live(at(1_000)).count(), 0);
    assert_eq!(f.registered.as_ref().unwrap().live(at(4_990)).count(), 1, "another server's clock");
    assert_eq!(f.report(reported("a", true, 4_970), None, false, at(4_970)), Reported::Seen);
    assert_eq!(f.registered.unwrap().uses[0].seen_at, at(4_970));
}

#[test]
fn a_report_that_says_the_same_is_stored_every_few_seconds_only() {
    let mut f = feature();
    assert_eq!(f.report(reported("a", false, 1), left(0), false, at(1)), Reported::Changed);
    assert_eq!(f.clone().report(reported("a", false, 3), None, false, at(3)), Reported::Again);
    assert_eq!(f.report(reported("a", false, 7), None, false, at(7)), Reported::Seen);
    let whole = f.report(reported("b", false, 8), None, true, at(8));
    assert_eq!((whole, f.registered.unwrap().uses.len()), (Reported::Changed, 1), "a is gone");
}

#[test]
fn a_process_that_comes_back_is_a_change() {
    let mut f = feature();
    assert_eq!(f.report(reported("a", true, 1), None, false, at(1)), Reported::Changed);
    assert_eq!(f.report(reported("a", true, 50), None, false, at(50)), Reported::Seen);
    let back = 50 + REPORT_SECONDS;
    assert_eq!(f.report(reported("a", true, back), None, false, at(back)), Reported::Changed);
}

#[test]
fn a_report_with_too_many_processes_or_one_twice_is_not_taken() {
    let mut f = feature();
    let many = |n: usize, from: usize| -> Vec<_> {
        (from..from + n).flat_map(|i| reported(&format!("p-{i}"), true, 1)).collect()
    };
    assert_eq!(f.report(many(REPORTERS_MAX, 0), None, false, at(1)), Reported::Changed);
    let before = f.clone();
    for (uses, is_whole) in [
        (reported("one-more", true, 2), false),
        (many(REPORTERS_MAX + 1, 0), true),
        ([reported("a", true, 2), reported("a", false, 2)].concat(), true),
    ] {
        assert_eq!(f.report(uses, left(1), is_whole, at(2)), Reported::Refused);
        assert_eq!(f, before, "nothing of it was taken");
    }
    assert_eq!(f.report(many(REPORTERS_MAX, 50), None, true, at(2)), Reported::Changed);
    let later = 2 + REPORT_SECONDS;
    assert_eq!(f.report(reported("one-more", true, later), None, false, at(later)), Reported::Changed);
}

#[test]
fn names_have_a_domain_that_is_not_ours() {
    assert_eq!(check_name("invoices.billing.example"), Ok(()));
    for name in ["doh-server", "invoices.billing"] {
        assert_eq!(check_name(name), Err(NameError::Unqualified), "{name}");
    }
    for name in ["", "A.billing.example", "a..example", "-a.billing.example", &"a.".repeat(127)] {
        assert_eq!(check_name(name), Err(NameError::Syntax), "{name}");
    }
    for suffix in RESERVED {
        assert_eq!(check_name(&format!("a.b.{suffix}")), Err(NameError::Reserved(suffix)));
    }
    assert_eq!(check_name("a.notk8s.io"), Ok(()));
    assert!(crate::FEATURES.iter().all(|s| !is_registered_name(s.name)));
}
