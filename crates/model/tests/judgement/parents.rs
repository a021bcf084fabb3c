//! What the parent zone says of a delegation waits for a second look: one server of it with an old copy, or one answer, is no
//! change. What the registry and the parent zone say together is reported at once.

use super::*;
use model::confirm::{CONFIRM_S, Confirmed, confirm};
use model::dns::{Provider, ProviderKind};
use model::event::Change;
use model::registration::Ds;

const OLD: &[&str] = &["ns1.digitalocean.com", "ns2.digitalocean.com"];
const THREE: &[&str] = &["ns1.digitalocean.com", "ns2.digitalocean.com", "ns3.digitalocean.com"];
const NEW: &[&str] = &["ns1.meridian-dns.example", "ns2.meridian-dns.example"];

fn ds(key_tag: u16) -> Ds {
    Ds { key_tag, algorithm: 13, digest_type: 2, digest: "AB".repeat(32) }
}

fn look(names: &[&str], keys: &[u16], at: Timestamp) -> Observation {
    let dnssec = Some(DnssecStated { signed: true, ds: vec![] });
    let mut o = observe(Registration { dnssec, ..registration() });
    let mut d = delegation(names);
    d.ds = keys.iter().map(|k| ds(*k)).collect();
    let name = if names == OLD { "Digital Ocean" } else { "Meridian" };
    d.provider = Some(Provider { name: name.into(), kind: ProviderKind::Known });
    o.delegation = Part::good(d, at, "dns");
    let data = names.iter().map(|n| format!("{n}.")).collect();
    let ns = RrSet { name: "q7.io".into(), rtype: "NS".into(), ttl: 300, data };
    o.zone = Part::good(ZoneSnapshot { rrsets: vec![ns], ..ZoneSnapshot::default() }, at, "dns");
    o
}

struct Watch {
    stored: Observation,
    at: Timestamp,
}

impl Watch {
    fn new() -> Watch {
        Watch { stored: look(OLD, &[1], now()), at: now() }
    }

    fn look(&mut self, minutes: i64, seen: impl Fn(Timestamp) -> Observation) -> (Vec<Change>, bool) {
        self.at = self.at.checked_add(minutes.minutes()).unwrap();
        let at = self.at;
        let current = carry_forward(Some(&self.stored), seen(at));
        let Confirmed { observation, changes, look_again_at } =
            confirm(&self.stored, current, |_| Some(at), CONFIRM_S, at);
        self.stored = observation;
        (changes, look_again_at.is_some())
    }
}

fn kinds_of(changes: &[Change]) -> Vec<EventKind> {
    changes.iter().map(|c| c.kind).collect()
}

#[test]
fn a_set_that_one_look_sees_at_the_parent_changes_nothing() {
    for (names, keys) in [(NEW, &[1][..]), (OLD, &[2]), (OLD, &[]), (NEW, &[])] {
        let mut w = Watch::new();
        let before = w.stored.clone();
        assert_eq!(w.look(60, |at| look(names, keys, at)), (vec![], true));
        let (was, is) =
            (before.delegation.value.as_ref().unwrap(), w.stored.delegation.value.as_ref().unwrap());
        assert_eq!((&is.parent_ns, &is.servers, &is.ds), (&was.parent_ns, &was.servers, &was.ds));
        assert_eq!((&is.provider, &w.stored.zone.value), (&was.provider, &before.zone.value));
        assert_eq!(w.look(5, |at| look(OLD, &[1], at)), (vec![], false), "it passed");
        for _ in 0..3 {
            assert_eq!(w.look(60, |at| look(OLD, &[1], at)), (vec![], false));
        }
    }
}

#[test]
fn a_move_is_reported_once_by_the_second_look() {
    let mut w = Watch::new();
    assert_eq!(w.look(60, |at| look(NEW, &[2], at)), (vec![], true));
    let (said, _) = w.look(5, |at| look(NEW, &[2], at));
    let kinds = [EventKind::NameserversChanged, EventKind::DnssecChanged, EventKind::ProviderChanged];
    assert_eq!(kinds_of(&said), kinds, "{said:?}");
    assert_eq!(said[0].source, "parent zone");
    assert_eq!(w.look(60, |at| look(NEW, &[2], at)), (vec![], false));
    // The registry catches up: it was told.
    let both = |at| {
        let mut o = look(NEW, &[2], at);
        if let Some(RegistrationState::Registered(r)) = &mut o.registration.value {
            r.nameservers = Some(NEW.iter().map(|n| (*n).into()).collect());
        }
        o.registration.attempted_at = Some(at);
        o
    };
    assert_eq!(w.look(60, both), (vec![], false));

    // Registry and parent zone say it in one look: there is nothing to wait for.
    let mut w = Watch::new();
    let (said, _) =
        w.look(60, |at| Observation { registration: both(at).registration, ..look(NEW, &[1], at) });
    assert_eq!(kinds_of(&said), [EventKind::NameserversChanged, EventKind::ProviderChanged], "{said:?}");
}

/// A server fails while the set of servers is in doubt: that is one event, and stays told.
#[test]
fn the_health_of_known_servers_is_judged_while_the_set_waits() {
    let mut w = Watch::new();
    let dead = |names, at| {
        let mut o = look(names, &[1], at);
        if let Some(s) = o.delegation.value.as_mut().unwrap().servers.first_mut() {
            s.health = ServerHealth::Dead;
        }
        o
    };
    assert_eq!(w.look(60, |at| dead(OLD, at)), (vec![], true));
    let (said, _) = w.look(5, |at| dead(OLD, at));
    assert_eq!(kinds_of(&said), [EventKind::DelegationHealthChanged]);
    assert_eq!(w.look(60, |at| dead(THREE, at)).0, []);
    let kept = w.stored.delegation.value.as_ref().unwrap();
    assert_eq!((kept.servers.len(), kept.servers[0].health), (2, ServerHealth::Dead));
    assert_eq!(w.look(5, |at| dead(OLD, at)).0, []);
    assert_eq!(w.look(60, |at| dead(OLD, at)).0, []);
}
