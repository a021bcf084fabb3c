//! Name servers that were reported as failing and leave the delegation, and health that waits for a held set of servers.

use super::outage::Watch;
use super::*;
use model::ending::endings;
use model::event::{Change, Event};
use model::ids::EventId;
use std::collections::BTreeSet;

const UP: ServerHealth = ServerHealth::Authoritative;
const DEAD: ServerHealth = ServerHealth::Dead;
const NS1: &str = "ns1.digitalocean.com";
const NS2: &str = "ns2.digitalocean.com";
const NS3: &str = "ns3.digitalocean.com";

fn of_health(changes: &[Change]) -> Vec<(&str, Option<&str>, Severity)> {
    let health = changes.iter().filter(|c| c.kind == EventKind::DelegationHealthChanged);
    health.map(|c| (c.field.as_str(), c.new.as_deref(), c.severity)).collect()
}

/// Events of these changes, and how many of them end an earlier one.
fn ended(changes: &[Change]) -> usize {
    let events: Vec<Event> = (1..)
        .zip(changes)
        .map(|(id, change)| {
            let mut e = super::notify::event(id, change.kind, change.severity);
            e.change = change.clone();
            e
        })
        .collect();
    let endings = endings(&events, &BTreeSet::new());
    assert!(endings.values().all(|e| e.is_clear && e.of == [EventId(1)]), "{endings:?}");
    endings.len()
}

/// ns1 is silent and that was reported.
fn with_dead_server() -> (Watch, Vec<Change>) {
    let mut w = Watch::new();
    w.look_at(60, &[(NS1, DEAD), (NS2, UP)]);
    let said = w.look_at(5, &[(NS1, DEAD), (NS2, UP)]);
    assert_eq!(of_health(&said).len(), 1);
    (w, said)
}

#[test]
fn the_alarm_of_a_server_ends_when_it_leaves_the_delegation() {
    let gone = [("ns1.digitalocean.com 192.0.2.1", Some("No longer listed"), Severity::Info)];
    let (mut w, mut all) = with_dead_server();
    assert_eq!(w.look_at(60, &[(NS3, UP), (NS2, UP)]), []);
    assert!(w.stored.delegation.value.as_ref().unwrap().servers.iter().any(|s| s.name == NS1));
    let said = w.look_at(5, &[(NS3, UP), (NS2, UP)]);
    assert_eq!((said.len(), of_health(&said)), (2, gone.to_vec()), "together with the change of the set");
    all.extend(said);
    assert_eq!(ended(&all), 1);
    assert_eq!(w.look_at(60, &[(NS3, UP), (NS2, UP)]), [], "once");

    // One look that does not list it is no removal.
    let (mut w, _) = with_dead_server();
    assert_eq!(w.look_at(60, &[(NS2, UP)]), []);
    assert_eq!(w.look_at(5, &[(NS1, DEAD), (NS2, UP)]), []);
    assert_eq!(w.look_at(60, &[(NS1, DEAD), (NS2, UP)]), []);

    // The delegation ends.
    let (mut w, mut all) = with_dead_server();
    w.look(60, super::outage::GONE);
    let said = w.look(5, super::outage::GONE);
    assert_eq!(of_health(&said), gone);
    all.extend(said);
    assert_eq!(ended(&all), 1);
}

#[test]
fn the_alarm_of_an_address_ends_when_the_name_has_another_one() {
    let (mut w, mut all) = with_dead_server();
    let mut look = |minutes| w.renumbered(minutes, &[(NS1, UP), (NS2, UP)], "198.51.100.7");
    assert_eq!(look(60), []);
    let said = look(5);
    assert_eq!(
        of_health(&said),
        [("ns1.digitalocean.com 192.0.2.1", Some("No longer listed"), Severity::Info)]
    );
    all.extend(said);
    assert_eq!(ended(&all), 1);
    assert_eq!(look(60), []);
}

#[test]
fn the_health_of_a_new_server_waits_for_a_set_that_is_held() {
    let mut w = Watch::new();
    let (old, new) = ([(NS1, UP), (NS2, UP)], [(NS3, DEAD), (NS2, UP)]);
    let mut said = Vec::new();
    // The set changes too often to be believed at once.
    for _ in 0..3 {
        said.extend(w.look_at(30, &[(NS2, UP)]));
        said.extend(w.look_at(1, &old));
    }
    assert_eq!(said, []);
    for _ in 0..22 {
        said.extend(w.look_at(60, &new));
        assert_eq!(w.again_at, None, "the set is not confirmed soon, so its servers are not");
    }
    assert_eq!(said, []);
    for _ in 0..4 {
        said.extend(w.look_at(60, &new));
    }
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(of_health(&said), [("ns3.digitalocean.com 192.0.2.1", Some("No answer"), Severity::Warning)]);
}
