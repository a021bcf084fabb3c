//! Confirmation before alarm: scripted looks at a world that changes, flaps, rotates and fails. Every true change is
//! reported once, nothing else.

use super::*;
use model::confirm::{CONFIRM_S, Confirmed, confirm, keep_answering, silent_servers};
use model::event::Change;
use model::observation::PartKind;
use proptest::prelude::*;

/// Looks at a world in turn and keeps what is stored.
pub(super) struct Watch {
    pub stored: Observation,
    at: Timestamp,
    pub reported: Vec<(Timestamp, Change)>,
}

/// What one look sees of the `www` A record, the first server, DNSSEC, and the registration; `None`: not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct World {
    pub www: Option<u8>,
    pub server_up: Option<bool>,
    pub secure: Option<bool>,
    pub registered: Option<bool>,
}

pub(super) const CALM: World =
    World { www: Some(1), server_up: Some(true), secure: Some(true), registered: Some(true) };

fn part<T>(value: Option<T>, at: Timestamp) -> Part<T> {
    match value {
        Some(v) => Part::good(v, at, "dns"),
        None => Part { attempted_at: Some(at), error: Some(failed()), ..Part::default() },
    }
}

fn look(w: World, at: Timestamp) -> Observation {
    let mut o = observe(registration());
    let state = |yes| match yes {
        true => RegistrationState::Registered(Box::new(registration())),
        false => RegistrationState::Available,
    };
    o.registration = part(w.registered.map(state), at);
    let health = |up| if up { ServerHealth::Authoritative } else { ServerHealth::Dead };
    let with = |up| {
        let mut d = delegation(&["ns1.digitalocean.com", "ns2.digitalocean.com"]);
        d.servers[0].health = health(up);
        // The zone drops a name that its registry drops.
        d.delegated = w.registered != Some(false);
        d
    };
    o.delegation = part(w.server_up.map(with), at);
    let record = |n| RrSet {
        name: "www.q7.io".into(),
        rtype: "A".into(),
        ttl: 300,
        data: vec![format!("192.0.2.{n}")],
    };
    o.zone = part(w.www.map(|n| ZoneSnapshot { rrsets: vec![record(n)], ..ZoneSnapshot::default() }), at);
    let signed = |secure| {
        let status = if secure { DnssecStatus::Secure } else { DnssecStatus::Bogus };
        Dnssec {
            status,
            reason: String::new(),
            ds: vec![],
            key_tags: vec![],
            signatures_expire: None,
            denial: None,
        }
    };
    o.dnssec = part(w.secure.map(signed), at);
    o
}

impl Watch {
    pub fn new() -> Watch {
        Watch { stored: look(CALM, now()), at: now(), reported: vec![] }
    }

    /// So many minutes without a look.
    pub fn at_rest(&mut self, minutes: i64) {
        self.at = self.at.checked_add(minutes.minutes()).unwrap();
    }

    /// A look after so many minutes; the number of changes reported, and whether something waits.
    pub fn look(&mut self, minutes: i64, w: World) -> (usize, bool) {
        self.at = self.at.checked_add(minutes.minutes()).unwrap();
        let (seen, at) = (look(w, self.at), self.at);
        let current = carry_forward(Some(&self.stored), seen);
        let c: Confirmed = confirm(&self.stored, current, |_: PartKind| Some(at), CONFIRM_S, at);
        self.reported.extend(c.changes.iter().map(|c| (at, c.clone())));
        self.stored = c.observation;
        (c.changes.len(), c.look_again_at.is_some())
    }
}

#[test]
fn what_is_seen_twice_is_reported_and_what_passes_is_not() {
    for changed in [
        World { www: Some(2), ..CALM },
        World { server_up: Some(false), ..CALM },
        World { secure: Some(false), ..CALM },
        World { registered: Some(false), ..CALM },
    ] {
        let mut w = Watch::new();
        assert_eq!(w.look(60, changed), (0, true), "it waits: {changed:?}");
        assert_eq!(w.look(1, changed), (0, true), "a minute is no second look");
        assert_eq!(w.look(5, changed), (1, false), "confirmed");
        assert_eq!(w.look(60, changed), (0, false), "once");
        assert_eq!(w.look(60, CALM), (0, true));
        assert_eq!(w.look(5, CALM), (1, false), "and back");

        let mut w = Watch::new();
        w.look(60, changed);
        assert_eq!(w.look(5, CALM), (0, false), "it passed");
        assert!(w.reported.is_empty() && w.stored.zone.value == look(CALM, now()).zone.value);
    }
}

#[test]
fn looks_that_fail_confirm_nothing() {
    let gone = World { www: Some(2), server_up: Some(false), secure: Some(false), registered: Some(false) };
    let silent = World { www: None, server_up: None, secure: None, registered: None };
    let mut w = Watch::new();
    assert_eq!(w.look(60, gone), (0, true));
    for _ in 0..30 {
        assert_eq!(w.look(60, silent).0, 0);
    }
    assert_eq!(w.look(60, gone).0, 4, "seen again, hours later");
}

#[test]
fn what_flaps_is_reported_a_few_times_a_day_at_most_and_then_when_it_is_calm() {
    let down = World { server_up: Some(false), ..CALM };
    let mut w = Watch::new();
    for hour in 0..24 * 14 {
        let world = if hour % 2 == 0 { down } else { CALM };
        w.look(55, world);
        w.look(5, world);
    }
    assert!(w.reported.len() <= 3, "{} reports of a flapping server in a fortnight", w.reported.len());
    // It stays down: said once, a day later.
    let before = w.reported.len();
    for _ in 0..48 {
        w.look(60, down);
    }
    let last = w.reported.last().unwrap();
    let is_down = last.1.new.as_deref() == Some(ServerHealth::Dead.label());
    assert!(is_down && w.reported.len() <= before + 1, "{:?}", w.reported);
    assert!(w.stored.pending.is_empty());
}

#[test]
fn rotating_answers_are_silent() {
    // Another address with every look, and one that changes by the hour.
    let mut w = Watch::new();
    for n in 0..500_u16 {
        let www = Some(u8::try_from(n % 200).unwrap());
        w.look(if n % 2 == 0 { 55 } else { 5 }, World { www, ..CALM });
    }
    assert!(w.reported.is_empty(), "{:?}", w.reported.len());
    let mut w = Watch::new();
    for n in 0..200_u8 {
        w.look(55, World { www: Some(n % 4), ..CALM });
        w.look(5, World { www: Some(n % 4), ..CALM });
    }
    assert!(w.reported.len() <= 3, "{}", w.reported.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// A script of states, each of which lasts for some hourly looks (with the quick second look where something waits),
    /// with single looks that see something else or nothing. Each state that lasts long enough is reported once, also one
    /// that had been there before (`rotation.rs` has those that come back more often than twice).
    #[test]
    fn every_true_change_once_and_nothing_else(
        script in prop::collection::vec((any::<bool>(), 30_usize..60), 1..8),
        noise in prop::collection::vec((0_usize..7, any::<bool>()), 0..400),
    ) {
        let mut w = Watch::new();
        let mut truth = 1_u8;
        let mut expected = Vec::new();
        let mut noise = noise.into_iter().cycle();
        let mut quiet = 0;
        let (mut before, mut newest, mut returns) = (1, 1, 0);
        for (back, hours) in script {
            let value = if back && returns < 2 && before != truth {
                returns += 1;
                before
            } else {
                newest += 1;
                newest
            };
            expected.push(format!("192.0.2.{value}"));
            (before, truth) = (truth, value);
            let world = World { www: Some(truth), ..CALM };
            for hour in 0..hours {
                // At most one odd look in 26 hours, so that it is an accident and no flapping.
                quiet += 1;
                let odd = noise.next().filter(|n| n.0 == 0 && quiet > 26 && hour > 1 && hour < hours - 2);
                let seen = match odd {
                    Some((_, true)) => World { www: Some(99), server_up: Some(false), ..world },
                    Some((_, false)) => World { www: None, server_up: None, secure: None, registered: None },
                    None => world,
                };
                if odd.is_some() {
                    quiet = 0;
                }
                if w.look(60, seen).1 {
                    w.look(5, world);
                }
            }
        }
        let reported: Vec<_> = w.reported.iter().filter_map(|(_, c)| c.new.clone()).collect();
        prop_assert_eq!(reported, expected);
    }
}

#[test]
fn a_server_that_answers_at_another_place_is_not_dead() {
    let down = World { server_up: Some(false), ..CALM };
    let mut w = Watch::new();
    // The first look waits, and asks no other place yet.
    let first = carry_forward(Some(&w.stored), look(down, w.at));
    assert!(silent_servers(&w.stored, &first).is_empty());
    assert_eq!(w.look(60, down), (0, true));
    for _ in 0..50 {
        w.at = w.at.checked_add(60.minutes()).unwrap();
        let at = w.at;
        let mut current = carry_forward(Some(&w.stored), look(down, at));
        let silent = silent_servers(&w.stored, &current);
        assert_eq!(silent.len(), 1, "asked again each time");
        keep_answering(&w.stored, &mut current, "fra-1", &silent);
        let c = confirm(&w.stored, current, |_: PartKind| Some(at), CONFIRM_S, at);
        assert!(c.changes.is_empty() && c.look_again_at.is_none(), "{:?}", c.changes);
        assert_eq!(c.observation.elsewhere[0].place, "fra-1");
        w.stored = c.observation;
    }
    // Silent there too: it is reported, once.
    assert_eq!(w.look(60, down), (0, true));
    assert!(w.stored.elsewhere.is_empty());
    assert_eq!(w.look(5, down), (1, false));
    assert_eq!(w.look(60, down), (0, false));
}
