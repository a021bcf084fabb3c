//! Which event ends which, and who gets the end.

use super::notify::{event, rule, sent};
use super::*;
use model::ending::{Recovery, endings, kinds_of_subjects, recoveries};
use model::event::Event;
use model::ids::EventId;
use model::maintenance::{Batch, NO_RULE, route};
use model::notify::{Delivery, Quiet, Rule, plan_with};
use model::repeat::replaced;
use std::collections::{BTreeMap, BTreeSet};

fn change(id: i64, kind: EventKind, severity: Severity, old: &str, new: &str) -> Event {
    let mut e = event(id, kind, severity);
    let value = |text: &str| (!text.is_empty()).then(|| text.to_string());
    (e.change.field, e.change.old, e.change.new) = ("ns1".into(), value(old), value(new));
    e.at = now() + id.minutes();
    e
}

fn health(id: i64, old: &str, new: &str) -> Event {
    let severity = if new == "answers" { Severity::Info } else { Severity::Warning };
    change(id, EventKind::DelegationHealthChanged, severity, old, new)
}

fn ids(of: &[i64]) -> Vec<EventId> {
    of.iter().map(|id| EventId(*id)).collect()
}

/// What each event ends: its identity, what, whether all is as it was, whether nothing is left.
fn ended(events: &[Event]) -> Vec<(i64, Vec<i64>, bool, bool)> {
    let of = |ids: &[EventId]| ids.iter().map(|id| id.0).collect();
    endings(events, &BTreeSet::new()).iter().map(|(id, e)| (id.0, of(&e.of), e.is_back, e.is_clear)).collect()
}

/// What of a message is over, where everything was sent.
fn over(message: &[EventId], history: &[Event]) -> BTreeMap<EventId, Timestamp> {
    model::ending::over(message, history, &endings(history, &BTreeSet::new()))
}

#[test]
fn an_event_ends_what_it_reverses() {
    let events = [health(1, "answers", "silent"), health(2, "silent", "answers")];
    assert_eq!(ended(&events), [(2, vec![1], true, true)]);
    // The end is no beginning: the same trouble again is trouble.
    let again =
        [events.as_slice(), &[health(3, "answers", "silent"), health(4, "silent", "answers")]].concat();
    assert_eq!(ended(&again), [(2, vec![1], true, true), (4, vec![3], true, true)]);
    // By steps, and only half of the way.
    let steps = [health(1, "answers", "silent"), health(2, "silent", "lame"), health(3, "lame", "answers")];
    assert_eq!(ended(&steps), [(3, vec![1, 2], true, true)]);
    let half = [health(1, "answers", "silent"), health(2, "silent", "lame"), health(3, "lame", "silent")];
    assert_eq!(ended(&half), [(3, vec![2], true, false)]);
    // A server that failed from the beginning.
    assert_eq!(ended(&[health(1, "", "silent"), health(2, "silent", "answers")]), [(2, vec![1], true, true)]);
    // Another server.
    let mut other = health(2, "silent", "answers");
    other.change.field = "ns2".into();
    assert!(ended(&[health(1, "answers", "silent"), other]).is_empty());
}

#[test]
fn an_event_ends_what_it_settles() {
    use EventKind as K;
    let of = |id, kind, severity, old, new| {
        let mut e = change(id, kind, severity, old, new);
        e.change.field = "expires".into();
        e
    };
    let reminders = [
        of(1, K::ExpiresSoon, Severity::Warning, "", "2026-12-20"),
        of(2, K::ExpiresSoon, Severity::Critical, "", "2026-12-20"),
        of(3, K::Renewed, Severity::Info, "2026-12-20", "2027-12-20"),
    ];
    assert_eq!(ended(&reminders), [(3, vec![1, 2], false, true)], "a renewal is news by itself");
    let dnssec = |id, severity, old, new| change(id, K::DnssecStatusChanged, severity, old, new);
    let off = [
        dnssec(1, Severity::Notice, "secure", "insecure"),
        dnssec(2, Severity::Critical, "insecure", "bogus"),
        dnssec(3, Severity::Notice, "bogus", "insecure"),
    ];
    assert_eq!(ended(&off), [(3, vec![2], true, false)], "still insecure");
    assert_eq!(
        ended(&[off[1].clone(), dnssec(3, Severity::Notice, "bogus", "secure")]),
        [(3, vec![2], false, true)]
    );
    let certificate = [
        change(1, K::CertificateEnds, Severity::Warning, "", "It ends soon"),
        change(2, K::CertificateChanged, Severity::Notice, "a", "b"),
    ];
    assert_eq!(ended(&certificate), [(2, vec![1], false, true)]);
}

#[test]
fn what_is_worse_than_before_is_no_end() {
    use EventKind as K;
    let lock = |id, kind, severity, old, new| {
        let mut e = change(id, kind, severity, old, new);
        e.change.field = "status".into();
        e
    };
    let set = |id| lock(id, K::StatusAdded, Severity::Info, "", "clientTransferProhibited");
    let lost = |id| lock(id, K::StatusRemoved, Severity::Warning, "clientTransferProhibited", "");
    assert!(ended(&[set(1), lost(2)]).is_empty());
    assert_eq!(ended(&[set(1), lost(2), set(3)]), [(3, vec![2], true, true)]);
    // Free again, at the same registrar again: critical, whatever it reverses.
    let registered = change(1, K::Registered, Severity::Warning, "available", "A");
    assert!(ended(&[registered, change(2, K::Released, Severity::Critical, "A", "available")]).is_empty());
    let transfer = |id, old, new| change(id, K::RegistrarChanged, Severity::Critical, old, new);
    assert!(ended(&[transfer(1, "A", "B"), transfer(2, "B", "A")]).is_empty());
    // Bogus again.
    let dnssec = |id, severity, old, new| change(id, K::DnssecStatusChanged, severity, old, new);
    let again = [
        dnssec(1, Severity::Notice, "bogus", "secure"),
        dnssec(2, Severity::Critical, "secure", "bogus"),
        dnssec(3, Severity::Notice, "bogus", "secure"),
    ];
    assert_eq!(ended(&again), [(3, vec![2], true, true)]);
}

#[test]
fn the_end_goes_to_whoever_got_the_beginning() {
    let events = [health(1, "answers", "silent"), health(2, "silent", "answers")];
    let up = &events[1..];
    let rules = [
        Rule { at_least: Severity::Warning, ..rule("Bad", &["mail", "chat"]) },
        Rule { at_least: Severity::Critical, ..rule("Worse", &["pager"]) },
    ];
    let went = |channels: &[&str]| -> Vec<(EventId, String)> {
        channels.iter().map(|c| (EventId(1), (*c).to_string())).collect()
    };
    let planned = |sent: &[(EventId, String)], rules: &[Rule]| {
        let recoveries = recoveries(up, &events, &endings(&events, &BTreeSet::new()), sent);
        let planned = plan_with(rules, &item(), up, &recoveries, now());
        planned.into_iter().map(|p| (p.channel, p.events, p.rules)).collect::<Vec<_>>()
    };
    let end = |channel: &str| (channel.to_string(), ids(&[2]), vec!["Bad".to_string()]);
    assert_eq!(planned(&went(&["mail"]), &rules), [end("mail")], "the other channel got no beginning");
    assert_eq!(planned(&went(&["mail", "chat"]), &rules), [end("chat"), end("mail")]);
    assert!(planned(&[], &rules).is_empty());
    // A rule that is off now, or would not send the beginning, sends no end.
    assert!(planned(&went(&["pager"]), &rules).is_empty());
    assert!(planned(&went(&["mail"]), &[Rule { enabled: false, ..rules[0].clone() }]).is_empty());
    // It waits as any message of its rule.
    let weekly = [Rule { delivery: Delivery::Weekly { hour: 7 }, ..rules[0].clone() }];
    let recovery = recoveries(up, &events, &endings(&events, &BTreeSet::new()), &went(&["mail"]));
    assert_eq!(
        recovery,
        [Recovery { event: EventId(2), channel: "mail".into(), of: vec![events[0].clone()] }]
    );
    assert!(plan_with(&weekly, &item(), up, &recovery, now())[0].batch);
    let night = "2026-11-20T23:30:00Z".parse().unwrap();
    let quiet = [Rule { quiet: Some(Quiet { from: 22 * 60, to: 7 * 60 }), ..rules[0].clone() }];
    assert!(plan_with(&quiet, &item(), up, &recovery, night)[0].batch);
    // Routing says of nothing that is sent that no rule sends it.
    let batch = |recoveries| Batch { events: up, acknowledged: &[], followed_by: None, recoveries };
    let routing = route(&rules, &[], batch(recovery.as_slice()), &item(), now());
    assert_eq!((sent(&routing), routing.closed.len()), (vec![2], 0));
    let routing = route(&rules, &[], batch(&[]), &item(), now());
    assert_eq!(routing.closed[0].reason, NO_RULE);
}

#[test]
fn what_ended_before_it_was_sent_is_over() {
    let night =
        [health(1, "answers", "silent"), health(2, "silent", "answers"), health(3, "answers", "silent")];
    let all = over(&ids(&[1, 2, 3]), &night);
    assert_eq!(all.into_iter().collect::<Vec<_>>(), [(EventId(1), night[1].at), (EventId(2), night[1].at)]);
    // The beginning was sent before: its end is news.
    assert!(over(&ids(&[2]), &night[..2]).is_empty());
    // The end is told elsewhere.
    assert_eq!(over(&ids(&[1]), &night[..2]).len(), 1);
    // A renewal is told even where its reminder is not.
    let reminder = change(1, EventKind::ExpiresSoon, Severity::Warning, "", "2026-12-20");
    let renewed = change(2, EventKind::Renewed, Severity::Info, "2026-12-20", "2027-12-20");
    let left = over(&ids(&[1, 2]), &[reminder, renewed]);
    assert_eq!(left.into_keys().collect::<Vec<_>>(), [EventId(1)]);
}

/// A server failed, was back and failed again while nothing was sent: for who got the alarm it never was back.
#[test]
fn an_end_that_was_sent_nowhere_ends_nothing_once_it_is_undone() {
    let all = [
        health(1, "answers", "silent"),
        health(2, "silent", "answers"),
        health(3, "answers", "silent"),
        health(4, "silent", "answers"),
    ];
    let unsent: BTreeSet<EventId> = ids(&[2, 3]).into_iter().collect();
    let found = |events: &[Event]| {
        let found = endings(events, &unsent);
        found.into_iter().map(|(id, e)| (id, e.of, e.is_back, e.is_clear)).collect::<Vec<_>>()
    };
    let end = |id: i64, of: &[i64]| vec![(EventId(id), ids(of), true, true)];
    assert_eq!(found(&all[..2]), end(2, &[1]), "it is over as long as nothing follows");
    assert!(found(&all[..3]).is_empty(), "the alarm goes on");
    assert!(!replaced(&all[..3], &unsent).contains(&EventId(1)), "and is repeated");
    assert_eq!(found(&all), end(4, &[1]));
    let sent = [(EventId(1), "mail".to_string())];
    let recovery = recoveries(&all[3..], &all, &endings(&all, &unsent), &sent);
    assert_eq!(recovery, [Recovery { event: EventId(4), channel: "mail".into(), of: vec![all[0].clone()] }]);
    // Another trouble than before, which was sent: both end.
    let other = [all[0].clone(), all[1].clone(), health(3, "answers", "lame"), health(4, "lame", "answers")];
    let unsent: BTreeSet<EventId> = ids(&[2]).into_iter().collect();
    assert_eq!(endings(&other, &unsent)[&EventId(4)].of, ids(&[1, 3]));
    // What came and went unsent is part of no later end.
    let unsent: BTreeSet<EventId> = ids(&[1, 2]).into_iter().collect();
    assert_eq!(endings(&all, &unsent)[&EventId(4)].of, ids(&[3]));
}

#[test]
fn the_kinds_of_a_subject_belong_together() {
    use EventKind as K;
    let kinds = |kinds: &[EventKind]| {
        let events: Vec<_> = kinds.iter().map(|k| event(1, *k, Severity::Info)).collect();
        let mut found = kinds_of_subjects(events.iter().map(|e| &e.change));
        found.sort();
        found
    };
    let mut reminders = vec![K::ExpirationChanged, K::Renewed, K::ExpiresSoon, K::Expired];
    reminders.sort();
    assert_eq!(kinds(&[K::Renewed]), reminders);
    assert_eq!(kinds(&[K::RecordChanged]), [K::RecordChanged]);
    assert_eq!(kinds(&[K::RecordChanged, K::StatusAdded]).len(), 3);
}
