//! When a channel is sent again what is open, and what of it.

use super::notify::{event, rule};
use super::*;
use model::event::{Acknowledged, Event};
use model::ids::EventId;
use model::maintenance::{Maintenance, Scope, kept_until};
use model::notify::{Delivery, Quiet, Rule};
use model::repeat::{next, replaced};
use std::collections::BTreeSet;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn every(hours: u16) -> Rule {
    Rule { repeat_hours: Some(hours), ..rule("Bad", &["mail"]) }
}

#[test]
fn what_is_open_is_sent_again_after_the_hours_of_the_rule() {
    let open = [
        event(1, EventKind::RegistrarChanged, Severity::Critical),
        event(2, EventKind::RecordChanged, Severity::Notice),
        Event {
            acknowledged: Some(Acknowledged { by: "Mira".into(), at: now() }),
            ..event(3, EventKind::RegistrarChanged, Severity::Critical)
        },
    ];
    let next = |rules: &[Rule], channel: &str, events: &[Event]| next(rules, &item(), channel, events, now());
    let planned = next(&[every(24)], "mail", &open).remove(0);
    assert_eq!((planned.due_at, planned.batch), (now() + 24.hours(), false));
    assert_eq!((planned.events, planned.rules), (vec![EventId(1)], vec!["Bad".to_string()]));
    assert!(next(&[every(24)], "other", &open).is_empty());
    assert!(next(&[every(24)], "mail", &open[1..]).is_empty());
    assert!(next(&[rule("Bad", &["mail"])], "mail", &open).is_empty());
    assert!(next(&[Rule { enabled: false, ..every(24) }], "mail", &open).is_empty());
    // The earliest of several rules.
    let earliest = next(&[every(24), every(6)], "mail", &open);
    assert_eq!(earliest.iter().map(|p| p.due_at).collect::<Vec<_>>(), [now() + 6.hours()]);
}

#[test]
fn each_event_is_repeated_after_the_hours_of_its_own_rules() {
    let open = [
        event(1, EventKind::RegistrarChanged, Severity::Critical),
        event(2, EventKind::RecordChanged, Severity::Warning),
        event(3, EventKind::RegistrarChanged, Severity::Critical),
    ];
    let worst = Rule { at_least: Severity::Critical, name: "Worst".into(), ..every(2) };
    let planned = next(&[every(24), worst.clone()], &item(), "mail", &open, now());
    let found: Vec<_> = planned.into_iter().map(|p| (p.due_at, p.events, p.rules)).collect();
    let due = |hours: i64, events: &[i64], rule: &str| {
        (now() + hours.hours(), events.iter().map(|e| EventId(*e)).collect(), vec![rule.to_string()])
    };
    assert_eq!(found, [due(2, &[1, 3], "Worst"), due(24, &[2], "Bad")]);
    // What is due at the same time is one message.
    let planned = next(&[every(2), worst], &item(), "mail", &open, now());
    assert_eq!((planned.len(), planned[0].events.len(), planned[0].rules.len()), (1, 3, 2));
}

#[test]
fn a_repeat_waits_for_quiet_hours_and_digests() {
    let open = [event(1, EventKind::RegistrarChanged, Severity::Warning)];
    let due = |rule: Rule, from: &str| next(&[rule], &item(), "mail", &open, at(from)).remove(0);
    let quiet = Rule { quiet: Some(Quiet { from: 22 * 60, to: 7 * 60 }), ..every(12) };
    let planned = due(quiet, "2026-11-20T13:30:00Z");
    assert_eq!((planned.due_at, planned.batch), (at("2026-11-21T07:00:00Z"), true));
    // The digest of the next day, although this one took a minute to be sent.
    let daily = Rule { delivery: Delivery::Daily { hour: 7 }, ..every(24) };
    assert_eq!(due(daily, "2026-11-20T07:01:00Z").due_at, at("2026-11-21T07:00:00Z"));
}

#[test]
fn the_newest_event_of_a_subject_is_repeated() {
    let mut events = [
        event(1, EventKind::ExpiresSoon, Severity::Warning),
        event(2, EventKind::RegistrarChanged, Severity::Critical),
        event(3, EventKind::ExpiresSoon, Severity::Critical),
    ];
    assert_eq!(replaced(&events, &BTreeSet::new()).into_iter().collect::<Vec<_>>(), [EventId(1)]);
    events.reverse();
    assert_eq!(
        replaced(&events, &BTreeSet::new()).into_iter().collect::<Vec<_>>(),
        [EventId(1)],
        "in any order"
    );
}

#[test]
fn a_mute_and_a_window_keep_a_repeat_back() {
    let window = Maintenance {
        id: "m".into(),
        from: now() - 1.hours(),
        to: now() + 2.hours(),
        scope: Scope::All,
        note: String::new(),
        by: "Mira".into(),
    };
    let mut muted = item();
    assert_eq!(kept_until(&[], &muted, now()), None);
    assert_eq!(kept_until(std::slice::from_ref(&window), &muted, now()), Some((window.to, "Maintenance")));
    muted.muted_until = Some(now() + 5.hours());
    assert_eq!(kept_until(std::slice::from_ref(&window), &muted, now()), Some((now() + 5.hours(), "Muted")));
    assert_eq!(kept_until(&[window], &muted, now() + 5.hours()), None);
}
