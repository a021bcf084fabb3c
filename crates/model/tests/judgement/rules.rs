//! Rules that hold critical events or send nothing for a time, and why a rule sends nothing about an event.

use super::*;
use model::ending::Recovery;
use model::event::{Change, Event};
use model::ids::EventId;
use model::maintenance::{Batch, route};
use model::notify::{NotSent, Quiet, Rule, Unsent, plan, plan_with};

fn event(kind: EventKind, severity: Severity) -> Event {
    Event {
        id: EventId(1),
        org: OrgId::BUILT_IN,
        domain: DomainName::trusted("q7.io"),
        at: now(),
        change: Change {
            kind,
            severity,
            field: "registrar".into(),
            old: None,
            new: Some("B".into()),
            source: "RDAP".into(),
            note: String::new(),
            first_seen_at: None,
            status_before: None,
        },
        acknowledged: None,
        cluster: None,
        clusterset: None,
        maintenance: None,
    }
}

fn rule() -> Rule {
    Rule { name: "Prod".into(), channels: vec!["mail".into()], ..Rule::default() }
}

#[test]
fn quiet_hours_hold_critical_events_only_where_the_rule_says_so() {
    let critical = [event(EventKind::Released, Severity::Critical)];
    let quiet = Rule { quiet: Some(Quiet { from: 12 * 60, to: 18 * 60 }), ..rule() };
    assert!(!plan(std::slice::from_ref(&quiet), &item(), &critical, now())[0].batch, "at once");
    let held = plan(&[Rule { critical_at_once: false, ..quiet }], &item(), &critical, now()).remove(0);
    assert_eq!((held.due_at.to_string().as_str(), held.batch), ("2026-11-20T18:00:00Z", true));
}

#[test]
fn a_muted_rule_sends_nothing_until_its_time_and_others_go_on() {
    let events = [event(EventKind::Released, Severity::Critical)];
    let muted = Rule { muted_until: Some(now() + 1.hour()), ..rule() };
    assert!(plan(std::slice::from_ref(&muted), &item(), &events, now()).is_empty());
    assert_eq!(plan(&[muted.clone(), rule()], &item(), &events, now())[0].rules, ["Prod"]);
    assert_eq!(plan(std::slice::from_ref(&muted), &item(), &events, now() + 1.hour()).len(), 1);
    // What is not sent for that says so; an event that no rule is about says that.
    let batch =
        model::maintenance::Batch { events: &events, acknowledged: &[], followed_by: None, recoveries: &[] };
    let reason =
        |rule: Rule| model::maintenance::route(&[rule], &[], batch, &item(), now()).closed[0].reason.clone();
    assert_eq!(reason(muted.clone()), model::maintenance::MUTED_RULE);
    let other = Rule { kinds: vec![EventKind::Renewed], ..muted };
    assert_eq!(reason(other), model::maintenance::NO_RULE);
}

#[test]
fn the_end_of_what_a_muted_rule_sent_waits_for_the_end_of_its_mute() {
    let begun = event(EventKind::DelegationHealthChanged, Severity::Warning);
    let mut end = event(EventKind::DelegationHealthChanged, Severity::Info);
    end.id = EventId(2);
    let until = now() + 30.hours();
    let muted = Rule { muted_until: Some(until), ..rule() };
    let recovery = Recovery { event: end.id, channel: "mail".into(), of: vec![begun.clone()] };
    let (ends, recoveries) = ([end.clone()], [recovery]);
    let planned = plan_with(std::slice::from_ref(&muted), &item(), &ends, &recoveries, now());
    assert_eq!((planned.len(), planned[0].due_at, planned[0].batch), (1, until, true));
    // Of what it would have sent itself, still nothing; and what no channel was sent has no end.
    let events = [begun, end];
    let planned = plan_with(std::slice::from_ref(&muted), &item(), &events, &recoveries, now());
    assert_eq!(planned[0].events, [EventId(2)]);
    assert!(plan_with(std::slice::from_ref(&muted), &item(), &events, &[], now()).is_empty());
    // Another rule that sends it to the channel does not wait, and it is one message.
    let other = Rule { name: "Other".into(), ..rule() };
    let planned = plan_with(&[muted.clone(), other], &item(), &ends, &recoveries, now());
    assert_eq!(
        (planned.len(), planned[0].due_at, &planned[0].rules[..]),
        (1, now(), &["Other".to_string()][..])
    );
    // It is not said that no rule sends it.
    let batch = Batch { events: &ends, acknowledged: &[], followed_by: None, recoveries: &recoveries };
    assert!(route(&[muted], &[], batch, &item(), now()).closed.is_empty());
}

#[test]
fn what_is_not_sent_has_a_reason() {
    let about = |rule: &Rule, e: Event| rule.unsent(Some(&item()), &e);
    let kinds = Rule { kinds: vec![EventKind::Released], ..rule() };
    let changed = || event(EventKind::RecordChanged, Severity::Warning);
    assert_eq!(about(&rule(), changed()), None);
    assert_eq!(about(&kinds, changed()), Some(Unsent::Kind(EventKind::RecordChanged)));
    assert_eq!(about(&rule(), event(EventKind::Renewed, Severity::Info)), Some(Unsent::Severity));
    let tagged = Rule { tags: vec!["prod".into()], ..kinds };
    assert_eq!(about(&tagged, changed()), Some(Unsent::OtherDomain), "the domain comes first");
    assert_eq!(rule().unsent(None, &changed()), Some(Unsent::OtherDomain), "removed meanwhile");
    let words = |why, count| NotSent { why, count }.words();
    assert_eq!(
        words(Unsent::Kind(EventKind::RecordChanged), 7),
        "7 events “Record changed” (kind not selected)"
    );
    assert_eq!(words(Unsent::OtherDomain, 1), "1 event about other domains");
}

#[test]
fn defaults_are_left_out_of_stored_rules() {
    let stored = serde_json::to_string(&rule()).unwrap();
    assert!(!stored.contains("critical_at_once") && !stored.contains("muted_until"), "{stored}");
    assert_eq!(serde_json::from_str::<Rule>(&stored).unwrap(), rule());
    let other = Rule { critical_at_once: false, muted_until: Some(now()), ..rule() };
    assert_eq!(serde_json::from_str::<Rule>(&serde_json::to_string(&other).unwrap()).unwrap(), other);
}
