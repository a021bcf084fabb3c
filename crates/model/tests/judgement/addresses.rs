//! A name server whose host name has no address any more, or could not be resolved once.

use super::*;
use model::confirm::{CONFIRM_S, Confirmed, baseline, confirm};
use model::event::Change;

/// What resolving the second server's name came to.
#[derive(Debug, Clone, Copy)]
enum Found {
    Both,
    Nothing,
    /// Another address, and its server answers so.
    Moved(ServerHealth),
}

fn look(names: &[&str], found: Found, at: Timestamp) -> Observation {
    let mut o = observe(registration());
    let mut d = delegation(names);
    let last = d.servers.pop().unwrap();
    let with = |address: Option<&str>, health| ServerState {
        address: address.map(|a| a.parse().unwrap()),
        health,
        ..last.clone()
    };
    d.servers.extend(match found {
        Found::Both => vec![
            with(Some("192.0.2.2"), ServerHealth::Authoritative),
            with(Some("2001:db8::2"), ServerHealth::Authoritative),
        ],
        Found::Nothing => vec![with(None, ServerHealth::Unresolvable)],
        Found::Moved(health) => vec![with(Some("198.51.100.2"), health)],
    });
    if let Found::Nothing = found {
        let no_address = Finding { tag: "B02_NS_NO_IP_ADDR".into(), broken: true, ..finding() };
        o.findings = vec![no_address];
    }
    o.delegation = Part::good(d, at, "dns");
    o
}

struct Watch {
    names: &'static [&'static str],
    stored: Observation,
    at: Timestamp,
}

impl Watch {
    fn new(names: &'static [&'static str]) -> Watch {
        Watch { names, stored: look(names, Found::Both, now()), at: now() }
    }

    /// A look after so many minutes; what is reported, and whether something waits.
    fn look(&mut self, minutes: i64, found: Found) -> (Vec<Change>, bool) {
        self.at = self.at.checked_add(minutes.minutes()).unwrap();
        let at = self.at;
        let current = carry_forward(Some(&self.stored), look(self.names, found, at));
        let Confirmed { observation, changes, look_again_at } =
            confirm(&self.stored, current, |_| Some(at), CONFIRM_S, at);
        self.stored = observation;
        (changes, look_again_at.is_some())
    }

    fn status(&self) -> StatusKind {
        status(&self.stored, self.at).0
    }
}

const ONE: &[&str] = &["ns2.q7.io"];
const TWO: &[&str] = &["ns1.q7.io", "ns2.q7.io"];

#[test]
fn one_failed_look_up_changes_nothing_but_that_it_is_being_confirmed() {
    for names in [ONE, TWO] {
        let mut w = Watch::new(names);
        let before = w.stored.clone();
        assert_eq!(w.look(60, Found::Nothing), (vec![], true));
        assert_eq!(w.stored.delegation.value, before.delegation.value);
        assert_eq!((&w.stored.findings, w.status()), (&before.findings, StatusKind::Normal));
        let waiting: Vec<_> = w.stored.pending.iter().filter_map(|p| p.change.as_ref()).collect();
        assert_eq!(waiting.len(), 1);
        assert_eq!(waiting[0].sentence(), "ns2.q7.io went from Authoritative to No address");
        // It passes: nothing was ever said, and nothing waits.
        assert_eq!(w.look(5, Found::Both), (vec![], false));
        assert_eq!(w.look(60, Found::Both), (vec![], false));
        assert_eq!(w.stored.delegation.value, before.delegation.value);
    }
}

#[test]
fn two_failed_look_ups_are_one_event_and_so_is_the_return() {
    for back in [Found::Both, Found::Moved(ServerHealth::Authoritative)] {
        let mut w = Watch::new(ONE);
        assert_eq!(w.look(60, Found::Nothing), (vec![], true));
        let (told, waits) = w.look(5, Found::Nothing);
        assert_eq!((told.len(), told[0].severity, waits), (1, Severity::Critical, false), "{told:?}");
        let words = "ns2.q7.io went from Authoritative to No address. No name server answers";
        assert_eq!(told[0].sentence(), words, "none is left");
        assert_eq!(w.status(), StatusKind::Critical, "now no name server is left");
        assert!(w.stored.findings.iter().any(|f| f.tag == "B02_NS_NO_IP_ADDR"));
        assert_eq!(w.look(60, Found::Nothing), (vec![], false), "once");
        assert_eq!(w.look(60, back), (vec![], true));
        let (told, _) = w.look(5, back);
        assert_eq!(
            (told.len(), told[0].severity),
            (1, Severity::Info),
            "both addresses, one event: {told:?}"
        );
        assert_eq!(told[0].sentence(), "ns2.q7.io went from No address to Authoritative");
        assert_eq!(w.status(), StatusKind::Normal);
        assert_eq!(w.look(60, back), (vec![], false), "once");
    }
}

#[test]
fn a_name_that_is_resolved_only_now_and_then_is_reported_a_few_times_at_most() {
    let mut w = Watch::new(TWO);
    let mut told = 0;
    for hour in 0..24 * 7 {
        let found = if hour % 2 == 0 { Found::Nothing } else { Found::Both };
        told += w.look(55, found).0.len() + w.look(5, found).0.len();
    }
    assert!(told <= 3, "{told} reports in a week");
}

#[test]
fn a_server_that_moves_to_an_address_where_none_answers_is_reported_once_confirmed() {
    let mut w = Watch::new(ONE);
    assert_eq!(w.look(60, Found::Moved(ServerHealth::Dead)), (vec![], true));
    assert_eq!(w.status(), StatusKind::Normal);
    let (told, _) = w.look(5, Found::Moved(ServerHealth::Dead));
    assert_eq!((told.len(), told[0].field.as_str()), (1, "ns2.q7.io 198.51.100.2"), "{told:?}");
    assert_eq!(w.status(), StatusKind::Critical);
}

/// The first look is the baseline: what only it saw is not reported as mended.
#[test]
fn a_failure_of_the_first_look_alone_has_no_recovery() {
    for first in [Found::Nothing, Found::Moved(ServerHealth::Dead), Found::Moved(ServerHealth::Lame)] {
        let back =
            if let Found::Nothing = first { Found::Both } else { Found::Moved(ServerHealth::Authoritative) };
        let stored = baseline(look(TWO, first, now()), now());
        let mut w = Watch { names: TWO, stored: stored.clone(), at: now() };
        assert_eq!(w.look(60, back), (vec![], false));
        assert_eq!(w.look(60, back), (vec![], false));
        assert!(w.stored.pending.is_empty());
        // A second look sees it too: then its end is a change, reported once.
        let mut w = Watch { names: TWO, stored, at: now() };
        assert_eq!(w.look(60, first), (vec![], false), "the state of the first look is no change");
        assert_eq!(w.look(60, back), (vec![], true));
        assert_eq!(w.look(5, back).0.len(), 1);
    }
}

/// A chain of trust that only the first look found broken; and a look between that could not ask.
#[test]
fn a_bogus_first_look_has_no_recovery_either() {
    let look = |status, at| {
        let mut o = observe(registration());
        let dnssec = Dnssec {
            status,
            reason: String::new(),
            ds: vec![],
            key_tags: vec![],
            signatures_expire: None,
            denial: None,
        };
        o.dnssec = Part::good(dnssec, at, "dns");
        o
    };
    let at = |hours: i64| now().checked_add(hours.hours()).unwrap();
    let first = baseline(look(DnssecStatus::Bogus, now()), now());
    let mut unread = look(DnssecStatus::Secure, at(1));
    unread.dnssec = Part { attempted_at: Some(at(1)), error: Some(failed()), ..Part::default() };
    let second = confirm(&first, carry_forward(Some(&first), unread), |_| Some(at(1)), CONFIRM_S, at(1));
    assert_eq!(status(&second.observation, at(1)).0, StatusKind::Critical, "what is known stays");
    let third = look(DnssecStatus::Secure, at(2));
    let third = confirm(&second.observation, third, |_| Some(at(2)), CONFIRM_S, at(2));
    assert_eq!((third.changes, third.look_again_at), (vec![], None));
    assert_eq!(status(&third.observation, at(2)).0, StatusKind::Normal);
}
