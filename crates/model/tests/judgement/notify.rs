//! Rules: which events go where and when, and never twice to one channel.

use super::*;
use model::event::{Change, Event};
use model::expiry::{REMINDER_DAYS, parse_days, remind};
use model::ids::EventId;
use model::maintenance::{Batch, Closed, Held, Maintenance, NO_RULE, Routing, Scope, route};
use model::notify::{Delivery, Planned, Quiet, Rule, Target, plan};

pub(super) fn event(id: i64, kind: EventKind, severity: Severity) -> Event {
    Event {
        id: EventId(id),
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

pub(super) fn rule(name: &str, channels: &[&str]) -> Rule {
    let channels = channels.iter().map(|c| (*c).to_string()).collect();
    Rule { id: name.into(), name: name.into(), at_least: Severity::Info, channels, ..Rule::default() }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn channels(planned: &[Planned]) -> Vec<&str> {
    planned.iter().map(|p| p.channel.as_str()).collect()
}

/// Events of a scan, as they are routed first.
pub(super) fn fresh<'a>(events: &'a [Event], acknowledged: &'a [Event]) -> Batch<'a> {
    Batch { events, acknowledged, followed_by: None, recoveries: &[] }
}

#[test]
fn a_channel_gets_one_message_of_what_any_rule_wants() {
    let events = [
        event(1, EventKind::RegistrarChanged, Severity::Critical),
        event(2, EventKind::RecordChanged, Severity::Info),
        event(3, EventKind::ExpiresSoon, Severity::Warning),
    ];
    let rules = [
        Rule { kinds: vec![EventKind::RecordChanged], ..rule("Records", &["mail"]) },
        Rule { at_least: Severity::Warning, ..rule("Bad", &["mail", "pager"]) },
        Rule { enabled: false, ..rule("Off", &["slack"]) },
    ];
    let planned = plan(&rules, &item(), &events, now());
    assert_eq!(channels(&planned), ["mail", "pager"]);
    assert_eq!(planned[0].events, [EventId(1), EventId(2), EventId(3)]);
    assert_eq!(planned[0].rules, ["Records", "Bad"]);
    assert_eq!(planned[1].events, [EventId(1), EventId(3)]);
    assert!(planned.iter().all(|p| p.due_at == now() && !p.batch));
}

#[test]
fn rules_are_about_some_domains_and_muted_ones_are_silent() {
    let events = [event(1, EventKind::RegistrarChanged, Severity::Critical)];
    let tagged = [Rule { tags: vec!["prod".into(), "edge".into()], ..rule("Tagged", &["mail"]) }];
    assert!(plan(&tagged, &item(), &events, now()).is_empty());
    let mut prod = item();
    prod.tags = vec!["edge".into()];
    assert_eq!(plan(&tagged, &prod, &events, now()).len(), 1);
    prod.ownership = Ownership::Watched;
    assert!(plan(&tagged, &prod, &events, now()).is_empty(), "owned only");
    let mut muted = item();
    muted.muted_until = Some(now() + jiff::SignedDuration::from_secs(1));
    let all = [rule("All", &["mail"])];
    assert!(plan(&all, &muted, &events, now()).is_empty());
    muted.muted_until = Some(now());
    assert_eq!(plan(&all, &muted, &events, now()).len(), 1);
}

#[test]
fn digests_and_quiet_hours_wait_together_and_the_earliest_wins() {
    let warning = [event(1, EventKind::RegistrarChanged, Severity::Warning)];
    let critical = [event(1, EventKind::RegistrarChanged, Severity::Critical)];
    let night = at("2026-11-20T23:30:20Z");
    let quiet = Rule { quiet: Some(Quiet { from: 22 * 60, to: 7 * 60 }), ..rule("Quiet", &["mail"]) };
    let held = &plan(std::slice::from_ref(&quiet), &item(), &warning, night)[0];
    assert_eq!((held.due_at, held.batch), (at("2026-11-21T07:00:00Z"), true));
    let sent = &plan(std::slice::from_ref(&quiet), &item(), &critical, night)[0];
    assert_eq!((sent.due_at, sent.batch), (night, false), "critical events are sent at once");
    let morning = at("2026-11-21T07:00:00Z");
    assert!(!plan(std::slice::from_ref(&quiet), &item(), &warning, morning)[0].batch);
    // A Friday night.
    let weekly = Rule { delivery: Delivery::Weekly { hour: 8 }, ..rule("Weekly", &["mail"]) };
    let daily = Rule { delivery: Delivery::Daily { hour: 8 }, ..rule("Daily", &["mail"]) };
    let due = |rules: &[Rule]| plan(rules, &item(), &warning, night)[0].due_at;
    assert_eq!(due(std::slice::from_ref(&weekly)), at("2026-11-23T08:00:00Z"));
    assert_eq!(due(&[weekly.clone(), daily.clone()]), at("2026-11-21T08:00:00Z"));
    assert_eq!(due(&[weekly, daily, quiet]), at("2026-11-21T07:00:00Z"));
}

#[test]
fn addresses_are_shown_without_what_is_secret() {
    let shown = |t: Target| t.public();
    assert_eq!(
        shown(Target::Slack { url: "https://hooks.slack.com/services/T0/B0/x".into() }),
        "hooks.slack.com/…"
    );
    assert_eq!(shown(Target::Telegram { token: "1:abc".into(), chat: "-7".into() }), "chat -7");
    assert_eq!(shown(Target::Pagerduty { key: "0123456789abcdef".into() }), "integration key …cdef");
}

#[test]
fn reminders_come_once_a_threshold_and_date_the_most_urgent_first() {
    let o = |expires: &str| {
        let mut r = registration();
        r.expires = Some(expires.parse().unwrap());
        observe(r)
    };
    let mut i = item();
    let at_days = |o: &Observation, i: &mut Item, days: i64| {
        let when = at("2027-01-01T12:00:00Z") - jiff::SignedDuration::from_hours(24 * days);
        remind(i, o, &REMINDER_DAYS, &Thresholds::default(), when).map(|c| (c.kind, c.severity))
    };
    let date = o("2027-01-01");
    let soon = |s| Some((EventKind::ExpiresSoon, s));
    assert_eq!(at_days(&date, &mut i, 31), None);
    assert_eq!(at_days(&date, &mut i, 30), soon(Severity::Warning));
    assert_eq!(at_days(&date, &mut i, 29), None);
    // Off for a fortnight: one reminder, not two.
    assert_eq!(at_days(&date, &mut i, 5), soon(Severity::Critical));
    assert_eq!(at_days(&date, &mut i, 4), None);
    // A source with more precision, or one that states another date in turn, repeats nothing.
    assert_eq!(at_days(&o("2027-01-01T10:00:00Z"), &mut i, 4), None);
    assert_eq!(at_days(&o("2028-01-01"), &mut i, 4), None);
    assert_eq!(at_days(&date, &mut i, 4), None);
    assert_eq!(at_days(&date, &mut i, 3), soon(Severity::Critical));
    assert_eq!(at_days(&date, &mut i, 0), Some((EventKind::Expired, Severity::Critical)));
    assert_eq!(at_days(&date, &mut i, -40), None);
    // A later date begins from the first threshold again.
    assert_eq!(at_days(&o("2027-02-01"), &mut i, 0), None);
    assert_eq!(at_days(&o("2027-02-01"), &mut i, -1), soon(Severity::Warning));
    assert_eq!(i.reminded.len(), 2);

    // Auto-renew softens, watched domains are good to know; nothing is said of a name that is not registered.
    let mut renews = item();
    renews.auto_renew = Some(true);
    assert_eq!(at_days(&date, &mut renews, 30), soon(Severity::Notice));
    assert_eq!(at_days(&date, &mut renews, 1), soon(Severity::Warning));
    let mut watched = item();
    watched.ownership = Ownership::Watched;
    assert_eq!(at_days(&date, &mut watched, 1), soon(Severity::Notice));
    let mut free = date.clone();
    free.registration.value = Some(RegistrationState::Available);
    assert_eq!(at_days(&free, &mut item(), 1), None);
    // A manual date counts where none is published.
    let mut by_hand = item();
    by_hand.manual_expires = Some("2027-01-01".parse().unwrap());
    let mut r = registration();
    r.expires = None;
    assert_eq!(at_days(&observe(r), &mut by_hand, 7), soon(Severity::Critical));
}

#[test]
fn thresholds_are_read_and_wrong_ones_named() {
    assert_eq!(parse_days("7, 30,7,0").unwrap(), [30, 7, 0]);
    for (text, word) in [("", "1 to 12"), ("x", "“x”"), ("400", "365"), ("-1", "0 to 365")] {
        assert!(parse_days(text).unwrap_err().contains(word), "{text}");
    }
}

#[test]
fn a_maintenance_window_keeps_events_from_being_sent_and_says_so() {
    let window = |scope| Maintenance {
        id: "m".into(),
        from: now(),
        to: now() + jiff::SignedDuration::from_hours(1),
        scope,
        note: "New servers".into(),
        by: "Mira".into(),
    };
    let rules = [rule("All", &["mail"])];
    let events = [
        event(1, EventKind::NameserversChanged, Severity::Critical),
        event(2, EventKind::ExpiresSoon, Severity::Warning),
    ];
    let mut tagged = item();
    tagged.tags = vec!["prod".into()];
    let during = |scope: Scope, holding: &Item, events: &[Event]| {
        let routing = route(&rules, &[window(scope)], fresh(events, &[]), holding, now());
        (routing.during, routing.planned.first().map(|p| p.events.clone()).unwrap_or_default())
    };
    let silenced = (vec![(EventId(1), "New servers".to_string())], vec![EventId(2)]);
    let sent = (vec![], vec![EventId(1), EventId(2)]);
    let prod = Scope::Tag { tag: "prod".into() };
    assert_eq!(during(Scope::All, &item(), &events), silenced, "but for the calendar's reminders");
    assert_eq!(during(prod.clone(), &tagged, &events), silenced);
    assert_eq!(during(prod, &item(), &events), sent);
    let domain = |name: &str| Scope::Domain { domain: DomainName::trusted(name) };
    assert_eq!(during(domain("q7.io"), &item(), &events), silenced);
    assert_eq!(during(domain("other.io"), &item(), &events), sent);
    // Before and after it.
    for hours in [-1, 1] {
        let events =
            events.clone().map(|e| Event { at: now() + jiff::SignedDuration::from_hours(hours), ..e });
        assert_eq!(during(Scope::All, &item(), &events), sent, "{hours}");
    }
}

#[test]
fn an_acknowledged_reminder_is_not_repeated_until_it_is_more_urgent() {
    let rules = [rule("All", &["mail"])];
    let reminder = |id, severity, date: &str| {
        let mut e = event(id, EventKind::ExpiresSoon, severity);
        e.change.new = Some(date.into());
        e
    };
    let mut seen = reminder(1, Severity::Warning, "2026-12-20T13:58:57Z");
    seen.acknowledged = Some(model::event::Acknowledged { by: "Mira".into(), at: now() });
    let sent = |e: Event, seen: &Event| {
        let routing = route(&rules, &[], fresh(&[e], std::slice::from_ref(seen)), &item(), now());
        assert_eq!(routing.planned.len(), 1, "a message is planned, or closed with a reason");
        routing.planned[0].skipped.is_none()
    };
    assert!(!sent(reminder(2, Severity::Warning, "2026-12-20T13:58:57Z"), &seen));
    assert!(!sent(reminder(2, Severity::Warning, "2026-12-20"), &seen), "the same date from another source");
    assert!(sent(reminder(2, Severity::Critical, "2026-12-20T13:58:57Z"), &seen));
    assert!(sent(reminder(2, Severity::Warning, "2027-12-20T13:58:57Z"), &seen));
    let mut changed = event(2, EventKind::RegistrarChanged, Severity::Warning);
    changed.change.new = seen.change.new.clone();
    assert!(sent(changed, &seen), "a change is not a repetition");
    // Beside an event that its channel gets a message about, it says why it is not in that.
    let events = [
        reminder(2, Severity::Warning, "2026-12-20"),
        event(3, EventKind::RegistrarChanged, Severity::Warning),
    ];
    let routing = route(&rules, &[], fresh(&events, std::slice::from_ref(&seen)), &item(), now());
    assert_eq!(routing.planned.iter().map(|p| p.events.clone()).collect::<Vec<_>>(), [[EventId(3)]]);
    let reason = "Mira acknowledged an earlier reminder of this date".to_string();
    assert_eq!(routing.closed, [Closed { events: vec![EventId(2)], reason }]);
    let unseen = Event { acknowledged: None, ..seen };
    assert!(sent(reminder(2, Severity::Warning, "2026-12-20T13:58:57Z"), &unseen));
}

/// Routes events again after they were held.
fn again(rules: &[Rule], held: &[Event], followed_by: &[Event]) -> Routing {
    let batch = Batch { events: held, acknowledged: &[], followed_by: Some(followed_by), recoveries: &[] };
    route(rules, &[], batch, &item(), now() + jiff::SignedDuration::from_hours(2))
}

pub(super) fn sent(routing: &Routing) -> Vec<i64> {
    routing.planned.iter().flat_map(|p| p.events.iter().map(|e| e.0)).collect()
}

#[test]
fn a_mute_and_a_window_delay_and_the_later_end_counts() {
    let rules = [rule("All", &["mail"])];
    let hour = |h: i64| now() + jiff::SignedDuration::from_hours(h);
    let window = Maintenance {
        id: "m".into(),
        from: now(),
        to: hour(1),
        scope: Scope::All,
        note: "Move".into(),
        by: "Mira".into(),
    };
    let events = [
        event(1, EventKind::NameserversChanged, Severity::Critical),
        event(2, EventKind::ExpiresSoon, Severity::Warning),
    ];
    let held = |events: &[i64], until, reason: &str| Held {
        events: events.iter().map(|e| EventId(*e)).collect(),
        until,
        reason: reason.into(),
    };
    let windows = std::slice::from_ref(&window);
    let routing = route(&rules, windows, fresh(&events, &[]), &item(), now());
    assert_eq!(routing.held, [held(&[1], hour(1), "Maintenance (Move)")]);
    assert_eq!(sent(&routing), [2], "reminders come from the calendar");

    // A reminder inside a mute is not lost.
    let mut muted = item();
    muted.muted_until = Some(hour(2));
    let routing = route(&rules, windows, fresh(&events, &[]), &muted, now());
    assert_eq!(routing.held, [held(&[1, 2], hour(2), "Muted")]);
    assert!(routing.planned.is_empty() && routing.closed.is_empty());
    muted.muted_until = Some(hour(1) - jiff::SignedDuration::from_secs(1));
    let routing = route(&rules, windows, fresh(&events[..1], &[]), &muted, now());
    assert_eq!(routing.held, [held(&[1], hour(1), "Muted")]);
    assert_eq!(sent(&again(&rules, &events, &[])), [1, 2]);
    // Routed late, by a process that was off: the window has ended.
    let routing = route(&rules, windows, fresh(&events, &[]), &item(), hour(3));
    assert_eq!((sent(&routing), routing.held.len(), routing.during.len()), (vec![1, 2], 0, 1));
}

#[test]
fn what_no_longer_holds_when_a_hold_ends_is_not_sent() {
    let rules = [rule("All", &["mail"])];
    let change = |id, kind, field: &str, old: Option<&str>, new: Option<&str>| {
        let mut e = event(id, kind, Severity::Warning);
        e.change.field = field.into();
        (e.change.old, e.change.new) = (old.map(str::to_string), new.map(str::to_string));
        e
    };
    let health = |id, server: &str, old, new| {
        change(id, EventKind::DelegationHealthChanged, server, Some(old), Some(new))
    };
    // One server is back, the other is still silent, by a change that the first did not state.
    let held = [
        health(1, "ns1", "answers", "silent"),
        health(2, "ns2", "answers", "slow"),
        health(3, "ns1", "silent", "answers"),
        health(4, "ns2", "slow", "silent"),
    ];
    let routing = again(&rules, &held, &[]);
    assert_eq!(sent(&routing), [4]);
    let closed: Vec<_> = routing.closed.iter().flat_map(|c| c.events.clone()).collect();
    assert_eq!(closed, [EventId(1), EventId(2), EventId(3)]);
    // What followed counts too, wherever it was routed.
    assert!(sent(&again(&rules, &held[..1], &[held[2].clone()])).is_empty());

    let flag = |id, kind, old, new| change(id, kind, "status", old, new);
    let hold = Some("clientHold");
    let on = flag(1, EventKind::StatusAdded, None, hold);
    let off = flag(2, EventKind::StatusRemoved, hold, None);
    assert!(sent(&again(&rules, &[on.clone(), off.clone()], &[])).is_empty());
    assert_eq!(sent(&again(&rules, &[on, off, flag(3, EventKind::StatusAdded, None, hold)], &[])), [3]);
    let other = flag(4, EventKind::StatusAdded, None, Some("serverHold"));
    assert_eq!(sent(&again(&rules, &[flag(1, EventKind::StatusAdded, None, hold), other], &[])), [1, 4]);

    // Of two reminders the more urgent one; none after the renewal, which is news.
    let reminder = |id| change(id, EventKind::ExpiresSoon, "expires", None, Some("2026-12-20"));
    let renewed = change(9, EventKind::Renewed, "expires", Some("2026-12-20"), Some("2027-12-20"));
    assert_eq!(sent(&again(&rules, &[reminder(1), reminder(2)], &[])), [2]);
    assert_eq!(sent(&again(&rules, &[reminder(1), renewed], &[])), [9]);
    // A service that drifted and recovered; a claim at risk that was proven.
    let service = |id, kind| change(id, kind, "mail", None, Some("x"));
    let both = [service(1, EventKind::ServiceDrifted), service(2, EventKind::ServiceRecovered)];
    assert!(sent(&again(&rules, &both, &[])).is_empty());
    let both = [service(1, EventKind::OwnershipAtRisk), service(2, EventKind::OwnershipLost)];
    assert_eq!(sent(&again(&rules, &both, &[])), [2]);
}

#[test]
fn an_event_that_no_rule_sends_says_so() {
    let events = [
        event(1, EventKind::RegistrarChanged, Severity::Critical),
        event(2, EventKind::RecordChanged, Severity::Info),
    ];
    let rules = [Rule { at_least: Severity::Warning, ..rule("Bad", &["mail"]) }];
    let routing = route(&rules, &[], fresh(&events, &[]), &item(), now());
    assert_eq!(routing.closed, [Closed { events: vec![EventId(2)], reason: NO_RULE.into() }]);
    assert_eq!(sent(&routing), [1]);
    let none = route(&[], &[], fresh(&events, &[]), &item(), now());
    assert_eq!(none, Routing::default(), "without rules there is nothing to say");
}
