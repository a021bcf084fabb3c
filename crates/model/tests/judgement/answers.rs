//! What a registry states: an answer that alarms waits for a second look, and servers that state different data in turn are a
//! few reports, not one each time. A value that was never there before is always reported.

use super::*;
use model::confirm::{CONFIRM_S, Confirmed, confirm};
use model::event::Change;
use proptest::prelude::*;

type Make = fn(&mut Registration);

const NOTHING: Make = |_| {};

fn look(make: &dyn Fn(&mut Registration), at: Timestamp) -> Observation {
    let mut r = registration();
    make(&mut r);
    let mut o = observe(r);
    (o.registration.observed_at, o.registration.attempted_at) = (Some(at), Some(at));
    o
}

struct Watch {
    stored: Observation,
    at: Timestamp,
    reported: Vec<(Timestamp, Change)>,
}

impl Watch {
    fn new() -> Watch {
        Watch { stored: look(&NOTHING, now()), at: now(), reported: vec![] }
    }

    /// A look after so many minutes: what is reported, and whether another is wanted soon.
    fn look(&mut self, minutes: i64, make: impl Fn(&mut Registration)) -> (Vec<Change>, bool) {
        self.at = self.at.checked_add(minutes.minutes()).unwrap();
        let at = self.at;
        let current = carry_forward(Some(&self.stored), look(&make, at));
        let Confirmed { observation, changes, look_again_at } =
            confirm(&self.stored, current, |_| Some(at), CONFIRM_S, at);
        self.stored = observation;
        self.reported.extend(changes.iter().map(|c| (at, c.clone())));
        (changes, look_again_at.is_some())
    }

    /// An hour with a look, and a second one where something waits.
    fn hour(&mut self, make: impl Fn(&mut Registration) + Copy) -> Vec<Change> {
        let (mut said, soon) = self.look(55, make);
        if soon {
            said.extend(self.look(5, make).0);
        } else {
            self.at = self.at.checked_add(5.minutes()).unwrap();
        }
        said
    }

    fn stated(&self) -> &Registration {
        self.stored.registration.value.as_ref().and_then(RegistrationState::registration).unwrap()
    }
}

fn flags(flags: &[&str]) -> Option<std::collections::BTreeSet<EppStatus>> {
    Some(flags.iter().map(|f| EppStatus::from(*f)).collect())
}

const CALM: [Make; 5] = [
    |r| r.expires = Some("2030-07-06T13:58:57Z".parse().unwrap()),
    |r| r.updated = Some("2026-11-19T10:00:00Z".parse().unwrap()),
    |r| r.statuses = flags(&["clientTransferProhibited", "clientUpdateProhibited"]),
    |r| r.nameservers = Some(vec!["ns1.meridian-dns.example".into()]),
    |r| r.dnssec = Some(DnssecStated { signed: true, ds: vec![] }),
];

const ALARMING: [Make; 4] = [
    |r| r.registrar.iana_id = Some("9994".into()),
    |r| r.created = Some("2026-11-19T10:00:00Z".parse().unwrap()),
    |r| r.statuses = flags(&["clientTransferProhibited", "serverHold"]),
    // With an alarm waits what the same answer states beside it.
    |r| {
        r.registrar.iana_id = Some("9994".into());
        r.statuses = flags(&[]);
        r.nameservers = Some(vec!["ns1.meridian-dns.example".into()]);
    },
];

#[test]
fn what_alarms_waits_for_a_second_look_and_all_of_its_answer_with_it() {
    for (change, n) in ALARMING.iter().zip([1, 1, 1, 3]) {
        let mut w = Watch::new();
        let before = w.stated().clone();
        assert_eq!(w.look(60, change), (vec![], true));
        assert_eq!(w.stated(), &before);
        assert_eq!(w.look(5, NOTHING), (vec![], false), "one server of the registry was out of date");
        assert_eq!(w.look(60, change), (vec![], true));
        let (said, soon) = w.look(5, change);
        assert_eq!((said.len(), said[0].severity, soon), (n, Severity::Critical, false), "{said:?}");
        assert_eq!(w.look(60, change), (vec![], false), "once");
    }
    for change in CALM {
        assert_eq!(Watch::new().look(60, change).0.len(), 1, "at once");
    }
}

#[test]
fn servers_of_a_registry_that_are_out_of_step_are_a_few_reports() {
    for change in CALM.into_iter().chain(ALARMING) {
        let mut w = Watch::new();
        let mut said: Vec<Vec<Change>> = Vec::new();
        for hour in 0..24 * 6 {
            said.push(w.hour(if hour % 2 == 0 { change } else { NOTHING }));
        }
        let reports = said.iter().filter(|s| !s.is_empty()).count();
        assert_eq!(reports, 3, "there, back, and there again: {:#?}", w.reported);
        assert!(w.stored.pending.iter().any(|p| p.rotation.sets() == Some(2)), "one finding");
        // They agree on either: said within a day where it is not what was said last, and soon no more is remembered.
        let expected = w.stated() != &registration();
        let end: Vec<Change> = (0..26).flat_map(|_| w.hour(NOTHING)).collect();
        assert_eq!(!end.is_empty(), expected, "{end:?}");
        assert_eq!(w.stated(), &registration());
        for _ in 0..24 * 8 {
            assert_eq!(w.hour(NOTHING), []);
        }
        assert!(w.stored.pending.is_empty(), "{:?}", w.stored.pending);
        assert!(!w.hour(change).is_empty(), "a change is a change again");
    }
}

/// What an attempt before hid without a bound: a registrar that is new while other data go to and fro.
#[test]
fn what_never_was_before_is_reported_while_others_go_to_and_fro() {
    let lock: Make = |r| r.statuses = flags(&["clientTransferProhibited", "clientUpdateProhibited"]);
    let mut w = Watch::new();
    for hour in 0..24 * 4 {
        w.hour(if hour % 2 == 0 { lock } else { NOTHING });
    }
    let before = w.reported.len();
    let stolen = |r: &mut Registration| r.registrar.iana_id = Some("9994".into());
    let said = w.hour(stolen);
    assert!(said.iter().any(|c| c.kind == EventKind::RegistrarChanged), "{said:?}");
    // The servers that are behind now state it too.
    for hour in 0..24 * 2 {
        w.hour(|r| {
            stolen(r);
            if hour % 2 == 0 {
                lock(r);
            }
        });
    }
    let later = w.reported[before..].iter().filter(|(_, c)| c.kind == EventKind::RegistrarChanged);
    assert_eq!(later.count(), 1);
}

#[test]
fn no_change_is_hidden_for_longer_than_a_week() {
    // All the time to and fro, and at the end never as it was reported last.
    let lock: Make = |r| r.statuses = flags(&["clientTransferProhibited", "clientUpdateProhibited"]);
    let mut w = Watch::new();
    for hour in 0..24 * 30 {
        w.hour(if hour % 2 == 0 { lock } else { NOTHING });
    }
    assert!((3..=8).contains(&w.reported.len()), "one a week: {}", w.reported.len());
    // Another registrar with each look.
    let mut w = Watch::new();
    for hour in 0..30 {
        w.look(60, |r| r.registrar.iana_id = Some(format!("{}", 9000 + hour)));
    }
    assert_eq!(w.reported.len(), 1, "other than the reported one for a day");
}

/// Between what an older version stored and what this one does: a value without memory is reported as ever.
#[test]
fn what_is_remembered_is_small_and_reads_again() {
    let mut w = Watch::new();
    for hour in 0..24 * 3 {
        w.hour(|r| {
            r.updated = Some(format!("2026-{:02}-19T10:00:00Z", 1 + hour % 12).parse().unwrap());
        });
    }
    let text = serde_json::to_string(&w.stored.pending).unwrap();
    assert!(text.len() < 4_000, "{}", text.len());
    assert_eq!(serde_json::from_str::<Vec<model::confirm::Pending>>(&text).unwrap(), w.stored.pending);
    assert_eq!(Watch::new().stored.pending, []);
}

/// Two RDAP servers that deny a name which its registry's zone still delegates.
#[test]
fn a_name_that_its_zone_delegates_is_not_released_for_a_day() {
    let seen = |available: bool, delegated: bool, at: Timestamp| {
        let mut o = look(&NOTHING, at);
        if available {
            o.registration = Part::good(RegistrationState::Available, at, "RDAP registry");
        }
        let d = if delegated { delegation(&["ns1.digitalocean.com"]) } else { delegation(&[]) };
        o.delegation = Part::good(Delegation { delegated, ..d }, at, "dns");
        o
    };
    struct Stored(Observation, Timestamp);
    impl Stored {
        fn look(&mut self, minutes: i64, seen: impl Fn(Timestamp) -> Observation) -> (Vec<Change>, bool) {
            self.1 = self.1.checked_add(minutes.minutes()).unwrap();
            let at = self.1;
            let current = carry_forward(Some(&self.0), seen(at));
            let c = confirm(&self.0, current, |_| Some(at), CONFIRM_S, at);
            self.0 = c.observation;
            (c.changes, c.look_again_at.is_some())
        }
    }
    let new = || Stored(seen(false, true, now()), now());
    // Denied for hours, and there again: nothing happened.
    let mut w = new();
    for _ in 0..12 {
        assert_eq!(w.look(60, |at| seen(true, true, at)), (vec![], false), "the schedule is soon enough");
    }
    assert_eq!(w.look(60, |at| seen(false, true, at)), (vec![], false));
    // The zone drops it too: then it is released, after a second look.
    let mut w = new();
    for _ in 0..3 {
        assert_eq!(w.look(60, |at| seen(true, true, at)).0, []);
    }
    assert_eq!(w.look(60, |at| seen(true, false, at)).0.len(), 1, "denied for hours, and no delegation");
    let (said, _) = w.look(5, |at| seen(true, false, at));
    assert_eq!(said.len(), 1, "{said:?}");
    let mut w = new();
    assert_eq!(w.look(60, |at| seen(true, false, at)), (vec![], true));
    let said: Vec<EventKind> = w.look(5, |at| seen(true, false, at)).0.iter().map(|c| c.kind).collect();
    assert_eq!(said, [EventKind::Released, EventKind::NameserversChanged]);
    // Both stand for a day: the registry has the last word.
    let mut w = new();
    let said: Vec<Change> = (0..26).flat_map(|_| w.look(60, |at| seen(true, true, at)).0).collect();
    assert_eq!((said.len(), said[0].kind), (1, EventKind::Released), "{said:?}");
    assert_eq!(said[0].note, "The parent zone still delegates it");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// However two or three servers of a registry go to and fro for five days: each of their values is reported once when it
    /// is new, and two returns; and a day after they agree what is stored is what they state.
    #[test]
    fn servers_in_turn_make_few_reports_and_hide_nothing_for_long(
        servers in 2_usize..4,
        script in prop::collection::vec((0_usize..3, 1_usize..9), 1..24),
        end in 0_usize..3,
    ) {
        let state = |i: usize| move |r: &mut Registration| {
            r.updated = Some(format!("2026-10-{:02}T10:00:00Z", 10 + i).parse().unwrap());
            if i > 0 {
                r.expires = Some(format!("20{}-07-06T13:58:57Z", 29 + i).parse().unwrap());
            }
        };
        let mut w = Watch { stored: look(&state(0), now()), at: now(), reported: vec![] };
        for (i, hours) in script {
            for _ in 0..hours {
                w.hour(state(i % servers));
            }
        }
        let reports: std::collections::BTreeSet<Timestamp> = w.reported.iter().map(|(at, _)| *at).collect();
        // By each of the two values; the answer counts as a whole when all of it returns.
        prop_assert!(reports.len() <= 2 * (servers + 1), "{} reports of {servers} servers", reports.len());
        for _ in 0..26 {
            w.hour(state(end % servers));
        }
        let mut expected = registration();
        state(end % servers)(&mut expected);
        prop_assert_eq!((w.stated().expires, w.stated().updated), (expected.expires, expected.updated));
    }
}
