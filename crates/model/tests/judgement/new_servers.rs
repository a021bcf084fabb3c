//! Name servers that are new in a set and fail at the first look, and a look while a part of the network is out of reach.

use super::*;
use model::confirm::{CONFIRM_S, Confirmed, confirm, confirm_but_silence, keep_answering, silent_servers};

const OLD: &[&str] = &["ns1.q7.io"];
const NEW: &[&str] = &["ns1.q7.io", "ns2.q7.io"];

fn look(names: &[&str], second: ServerHealth, at: Timestamp) -> Observation {
    let mut o = observe(registration());
    let mut d = delegation(names);
    if let Some(server) = d.servers.get_mut(1) {
        server.health = second;
    }
    o.delegation = Part::good(d, at, "dns");
    o
}

struct Watch {
    stored: Observation,
    at: Timestamp,
}

impl Watch {
    fn new() -> Watch {
        Watch { stored: look(OLD, ServerHealth::Authoritative, now()), at: now() }
    }

    /// What is said of servers' health after so many minutes.
    fn look(&mut self, minutes: i64, names: &[&str], second: ServerHealth) -> Vec<String> {
        self.at = self.at.checked_add(minutes.minutes()).unwrap();
        let at = self.at;
        let current = carry_forward(Some(&self.stored), look(names, second, at));
        let Confirmed { observation, changes, .. } =
            confirm(&self.stored, current, |_| Some(at), CONFIRM_S, at);
        self.stored = observation;
        let health = changes.into_iter().filter(|c| c.kind == EventKind::DelegationHealthChanged);
        health.map(|c| c.sentence()).collect()
    }
}

#[test]
fn no_recovery_is_told_without_a_failure() {
    let mut w = Watch::new();
    assert!(w.look(60, NEW, ServerHealth::Dead).is_empty(), "one packet may be lost");
    assert!(w.look(5, NEW, ServerHealth::Authoritative).is_empty());
    assert!(w.look(60, NEW, ServerHealth::Authoritative).is_empty());
    assert!(w.stored.pending.iter().all(|p| p.change.is_none()));
}

#[test]
fn a_new_server_that_stays_silent_is_told_once_and_so_is_its_recovery() {
    for failure in [ServerHealth::Dead, ServerHealth::Lame] {
        let mut w = Watch::new();
        assert!(w.look(60, NEW, failure).is_empty());
        let said = w.look(5, NEW, failure);
        assert!(
            said.len() == 1
                && said[0] == format!("ns2.q7.io 192.0.2.1, new among the name servers: {}", failure.label()),
            "{said:?}"
        );
        assert!(w.look(60, NEW, failure).is_empty());
        assert!(w.look(60, NEW, ServerHealth::Authoritative).is_empty());
        assert_eq!(w.look(5, NEW, ServerHealth::Authoritative).len(), 1, "and its recovery");
    }
}

/// Dead from here and alive from another place: it is not stored as dead when the other place is asked no more.
#[test]
fn a_new_server_that_answers_elsewhere_is_told_once_it_is_silent_there_too() {
    let mut w = Watch::new();
    assert!(w.look(60, NEW, ServerHealth::Dead).is_empty());
    for _ in 0..3 {
        let at = w.at.checked_add(60.minutes()).unwrap();
        let mut seen = carry_forward(Some(&w.stored), look(NEW, ServerHealth::Dead, at));
        let silent = silent_servers(&w.stored, &seen);
        assert_eq!(silent, ["ns2.q7.io 192.0.2.1"], "asked at another place each time");
        keep_answering(&w.stored, &mut seen, "Frankfurt", &silent);
        let seen = confirm(&w.stored, seen, |_| Some(at), CONFIRM_S, at);
        let of_health = seen.changes.iter().find(|c| c.kind == EventKind::DelegationHealthChanged);
        assert_eq!(of_health, None);
        (w.stored, w.at) = (seen.observation, at);
    }
    let mut other = Watch { stored: w.stored.clone(), at: w.at };
    assert!(other.look(60, NEW, ServerHealth::Authoritative).is_empty(), "no recovery without a failure");
    assert!(other.look(5, NEW, ServerHealth::Authoritative).is_empty());
    let said: Vec<String> = [60, 5].into_iter().flat_map(|m| w.look(m, NEW, ServerHealth::Dead)).collect();
    assert_eq!(said.len(), 1, "{said:?}");
}

#[test]
fn a_server_that_could_not_be_asked_from_here_is_not_new() {
    let mut w = Watch { stored: look(NEW, ServerHealth::Dead, now()), at: now() };
    assert!(w.look(60, NEW, ServerHealth::NotAsked).is_empty());
    for _ in 0..3 {
        assert!(w.look(60, NEW, ServerHealth::Dead).is_empty());
    }
}

#[test]
fn a_new_server_that_is_silent_did_not_cease_to_answer() {
    let w = Watch::new();
    let seen = look(NEW, ServerHealth::Dead, now());
    assert!(model::confirm::ceased_servers(&w.stored, &seen).is_empty());
    assert!(silent_servers(&w.stored, &seen).is_empty(), "the first look");
}

/// Silence waits; the registration that did answer does not, nor what our own checks read from answers.
#[test]
fn what_does_not_depend_on_the_silent_servers_is_judged() {
    let at = now().checked_add(60.minutes()).unwrap();
    let own = |tag: &str| Finding { tag: tag.into(), test_case: "Domainscope".into(), ..finding() };
    let mut before = look(NEW, ServerHealth::Authoritative, now());
    before.findings = vec![finding(), own("SIGNATURES_EXPIRE_SOON")];
    let mut seen = look(NEW, ServerHealth::Dead, at);
    let no_answer = Finding { tag: "B02_NS_NO_RESPONSE".into(), test_case: "Basic02".into(), ..finding() };
    seen.findings = vec![no_answer, own("DNSSEC_BOGUS")];
    if let Some(RegistrationState::Registered(r)) = &mut seen.registration.value {
        r.expires = Some("2020-01-01T00:00:00Z".parse().unwrap());
    }
    seen.registration.attempted_at = Some(at);
    let expired = status(&seen, at).0;
    assert_ne!(expired, status(&before, at).0);
    let held = confirm_but_silence(&before, seen, |_| Some(at), CONFIRM_S, at);
    let tags: Vec<&str> = held.observation.findings.iter().map(|f| f.tag.as_str()).collect();
    assert_eq!(tags, ["DNSSEC_BOGUS", "MULTIPLE_SOA_SERIALS"]);
    assert!(held.changes.iter().any(|c| c.field == "expires"), "{:?}", held.changes);
    let findings_gone = Observation { findings: vec![], ..held.observation };
    assert_eq!(status(&findings_gone, at).0, expired, "by the registration of now");
}
