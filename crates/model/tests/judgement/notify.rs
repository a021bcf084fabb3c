//! Rules: which events go where and when, and never twice to one channel.

use super::*;
use model::event::{Change, Event};
use model::expiry::{REMINDER_DAYS, parse_days, remind};
use model::ids::EventId;
use model::maintenance::{Maintenance, Scope, route};
use model::notify::{Delivery, Planned, Quiet, Rule, Target, plan};

fn event(id: i64, kind: EventKind, severity: Severity) -> Event {
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
        },
        acknowledged: None,
        maintenance: None,
    }
}

fn rule(name: &str, channels: &[&str]) -> Rule {
    let channels = channels.iter().map(|c| (*c).to_string()).collect();
    Rule { id: name.into(), name: name.into(), at_least: Severity::Info, channels, ..Rule::default() }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn channels(planned: &[Planned]) -> Vec<&str> {
    planned.iter().map(|p| p.channel.as_str()).collect()
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
        let routing = route(&rules, &[window(scope)], &[], holding, events, now());
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
        let routing = route(&rules, &[], std::slice::from_ref(seen), &item(), &[e], now());
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
    let unseen = Event { acknowledged: None, ..seen };
    assert!(sent(reminder(2, Severity::Warning, "2026-12-20T13:58:57Z"), &unseen));
}
