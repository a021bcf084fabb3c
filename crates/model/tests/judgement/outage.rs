//! A domain that becomes unreachable is a Critical event once that is confirmed, and its return one of Info for each server.

use super::*;
use model::confirm::{CONFIRM_S, Confirmed, confirm};
use model::event::Change;
use model::outage::headline;

/// What a look sees of the two servers, and whether the parent zone delegates the name.
#[derive(Clone, Copy)]
pub(super) struct Seen(ServerHealth, ServerHealth, bool);

const UP: ServerHealth = ServerHealth::Authoritative;
const DEAD: ServerHealth = ServerHealth::Dead;
const WELL: Seen = Seen(UP, UP, true);
pub(super) const GONE: Seen = Seen(UP, UP, false);

fn look(seen: Seen, at: Timestamp) -> Observation {
    let mut o = observe(registration());
    let mut d = delegation(&["ns1.digitalocean.com", "ns2.digitalocean.com"]);
    (d.servers[0].health, d.servers[1].health) = (seen.0, seen.1);
    if !seen.2 {
        let nothing = delegation(&[]);
        d = Delegation { delegated: false, ..nothing };
    }
    o.delegation = Part::good(d, at, "dns");
    o
}

pub(super) struct Watch {
    pub stored: Observation,
    at: Timestamp,
    /// When the last look asked to be repeated.
    pub again_at: Option<Timestamp>,
}

impl Watch {
    pub fn new() -> Watch {
        Watch { stored: look(WELL, now()), at: now(), again_at: None }
    }

    pub fn look(&mut self, minutes: i64, seen: Seen) -> Vec<Change> {
        self.at = self.at.checked_add(minutes.minutes()).unwrap();
        self.compare(look(seen, self.at))
    }

    fn compare(&mut self, seen: Observation) -> Vec<Change> {
        let at = self.at;
        let current = carry_forward(Some(&self.stored), seen);
        let Confirmed { observation, changes, look_again_at } =
            confirm(&self.stored, current, |_| Some(at), CONFIRM_S, at);
        (self.stored, self.again_at) = (observation, look_again_at);
        changes
    }

    /// A look after so many minutes at a delegation to these servers.
    pub fn look_at(&mut self, minutes: i64, servers: &[(&str, ServerHealth)]) -> Vec<Change> {
        self.renumbered(minutes, servers, "192.0.2.1")
    }

    /// The same when the first server has this address.
    pub fn renumbered(
        &mut self,
        minutes: i64,
        servers: &[(&str, ServerHealth)],
        address: &str,
    ) -> Vec<Change> {
        self.at = self.at.checked_add(minutes.minutes()).unwrap();
        let names: Vec<&str> = servers.iter().map(|(name, _)| *name).collect();
        let mut d = delegation(&names);
        for (server, (_, health)) in d.servers.iter_mut().zip(servers) {
            server.health = *health;
        }
        d.servers[0].address = address.parse().ok();
        let mut o = look(WELL, self.at);
        o.delegation = Part::good(d, self.at, "dns");
        self.compare(o)
    }

    fn status(&self) -> StatusKind {
        let mut item = item();
        item.was_delegated = true;
        judge(&item, &self.stored, &Thresholds::default(), self.at).kind
    }
}

fn severities(changes: &[Change]) -> Vec<Severity> {
    changes.iter().map(|c| c.severity).collect()
}

#[test]
fn the_last_server_that_falls_silent_is_critical_and_says_so() {
    let mut w = Watch::new();
    assert_eq!(w.look(60, Seen(DEAD, DEAD, true)), []);
    let said = w.look(5, Seen(DEAD, DEAD, true));
    assert_eq!(severities(&said), [Severity::Critical; 2]);
    assert!(said.iter().all(|c| c.note == "No name server answers"), "{said:?}");
    assert_eq!(headline(&said), Some("No name server answers"));
    assert_eq!(w.status(), StatusKind::Critical);
    assert_eq!(w.look(60, Seen(DEAD, DEAD, true)), [], "once");
    assert_eq!(w.look(60, WELL), []);
    let back = w.look(5, WELL);
    assert_eq!(severities(&back), [Severity::Info; 2], "{back:?}");
    assert_eq!(headline(&back), None);

    // One after the other: the first is a warning, the one with which nothing is left is not.
    let mut w = Watch::new();
    w.look(60, Seen(DEAD, UP, true));
    let said = w.look(5, Seen(DEAD, UP, true));
    assert_eq!((severities(&said), headline(&said)), (vec![Severity::Warning], None));
    w.look(60, Seen(DEAD, DEAD, true));
    let said = w.look(5, Seen(DEAD, DEAD, true));
    assert_eq!(severities(&said), [Severity::Critical]);
    assert_eq!(said[0].field, "ns2.digitalocean.com 192.0.2.1");
}

#[test]
fn a_delegation_that_ends_is_critical_though_the_registry_lists_the_servers() {
    let mut w = Watch::new();
    assert_eq!(w.look(60, GONE), [], "one server of the parent zone may be out of date");
    assert!(w.stored.delegation.value.as_ref().unwrap().delegated);
    assert_eq!(w.status(), StatusKind::Normal);
    assert_eq!(w.look(5, WELL), []);
    let mut w = Watch::new();
    assert_eq!(w.look(60, GONE), []);
    let said = w.look(5, GONE);
    assert_eq!(severities(&said), [Severity::Critical]);
    assert_eq!((said[0].kind, said[0].new.as_deref()), (EventKind::NameserversChanged, None));
    assert_eq!(headline(&said), Some("The parent zone no longer delegates the domain"));
    assert_eq!(w.status(), StatusKind::Critical);
    assert_eq!(w.look(60, GONE), [], "once");
    assert_eq!(w.look(60, WELL), []);
    let back = w.look(5, WELL);
    assert_eq!(severities(&back), [Severity::Info], "{back:?}");
    assert_eq!(w.status(), StatusKind::Normal);
}

#[test]
fn an_outage_of_servers_that_flap_is_reported_within_the_hour() {
    let mut w = Watch::new();
    let mut said = Vec::new();
    for hour in 0..20 {
        let seen = if hour % 2 == 0 { Seen(DEAD, DEAD, true) } else { WELL };
        said.extend(w.look(55, seen));
        said.extend(w.look(5, seen));
    }
    let told = said.len();
    assert!(told <= 6, "two servers, three changes each: {told}");
    // Up for a day, and calm; then flapping begins again, and ends in silence.
    for _ in 0..30 {
        said.extend(w.look(60, WELL));
    }
    for _ in 0..4 {
        w.look(10, Seen(DEAD, DEAD, true));
        w.look(1, WELL);
    }
    assert_eq!(w.look(6, Seen(DEAD, DEAD, true)), []);
    assert_eq!(w.again_at, w.at.checked_add(60.minutes()).ok(), "however long the interval is");
    let down: Vec<Change> = (0..12).flat_map(|_| w.look(6, Seen(DEAD, DEAD, true))).collect();
    assert_eq!(severities(&down), [Severity::Critical; 2], "{down:?}");
    assert_eq!(w.again_at, None);
    // The return is one more change of values that change too often; it is not held for a day either.
    assert_eq!(w.look(6, WELL), []);
    assert_eq!(w.again_at, w.at.checked_add(60.minutes()).ok());
    let up: Vec<Change> = (0..12).flat_map(|_| w.look(6, WELL)).collect();
    assert_eq!(severities(&up), [Severity::Info; 2], "{up:?}");
    assert_eq!(w.status(), StatusKind::Normal);
}

#[test]
fn a_delegation_that_leaves_only_the_silent_server_is_critical() {
    let (ns1, ns2) = (("ns1.digitalocean.com", DEAD), ("ns2.digitalocean.com", UP));
    let mut w = Watch::new();
    w.look_at(60, &[ns1, ns2]);
    assert_eq!(severities(&w.look_at(5, &[ns1, ns2])), [Severity::Warning]);
    assert_eq!(w.look_at(60, &[ns1]), []);
    let said = w.look_at(5, &[ns1]);
    assert_eq!((severities(&said), said[0].kind), (vec![Severity::Critical], EventKind::NameserversChanged));
    assert_eq!(headline(&said), Some("No name server answers"));
    assert_eq!(w.status(), StatusKind::Critical);
    assert_eq!(w.look_at(60, &[ns1]), [], "once");
}
