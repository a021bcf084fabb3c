//! How each name server of a delegation does, compared with the look before.

use super::confirm::Pending;
use super::diff::{DNS, change};
use super::event::{Change, EventKind, Severity};
use crate::dns::{Delegation, ServerHealth, ServerState};
use crate::observation::Observation;
use std::collections::{BTreeMap, BTreeSet};

/// The state of a server that left the set, or of an address that its name no longer has.
pub(super) const NO_LONGER_LISTED: &str = "No longer listed";

/// The health that is compared: slow is not a change, it flaps.
fn ignore_slow(health: ServerHealth) -> ServerHealth {
    if health == ServerHealth::Slow { ServerHealth::Authoritative } else { health }
}

/// The word for it.
fn word(server: &ServerState) -> &'static str {
    if server.health == ServerHealth::Slow { ignore_slow(server.health).label() } else { server.label() }
}

/// Of each name, the address that does best; that without one when it has none.
fn best(d: &Delegation) -> BTreeMap<&str, &ServerState> {
    let rank = |h: ServerHealth| match h {
        ServerHealth::Authoritative | ServerHealth::Slow => 4,
        ServerHealth::Lame => 3,
        ServerHealth::Dead => 2,
        ServerHealth::NotAsked => 1,
        ServerHealth::Unresolvable => 0,
    };
    let mut best: BTreeMap<&str, &ServerState> = BTreeMap::new();
    for s in &d.servers {
        let known = best.entry(s.name.as_str()).or_insert(s);
        if rank(s.health) > rank(known.health) {
            *known = s;
        }
    }
    best
}

/// A server that is listed on both sides and began or ceased to answer or to have an address; one that is new and fails,
/// because its recovery would be reported without its failure; one that failed and is no longer listed, which ends what was
/// reported of it.
pub(super) fn changes(a: &Delegation, b: &Delegation, previous: &Observation, out: &mut Vec<Change>) {
    let mut reported = |server: &str, old: Option<&ServerState>, new: &ServerState| {
        let severity = if fails(new) { Severity::Warning } else { Severity::Info };
        let (old, new) = (old.map(|o| word(o).to_string()), Some(word(new).to_string()));
        out.push(change(EventKind::DelegationHealthChanged, severity, server, old, new, DNS));
    };
    let (before, now) = (best(a), best(b));
    let has_address =
        |d: &Delegation, name: &str| d.servers.iter().any(|s| s.name == name && s.address.is_some());
    // The name lost all of its addresses, or has some again: one change, however many there are.
    let mut by_name = BTreeSet::new();
    for (name, new) in &now {
        let Some(old) = before.get(name).copied() else { continue };
        let lost = new.health == ServerHealth::Unresolvable && has_address(a, name);
        // An address that was not asked (IPv6 from a host without it) is no answer yet.
        let is_asked = new.health != ServerHealth::NotAsked;
        let back = old.health == ServerHealth::Unresolvable && is_asked && has_address(b, name);
        if lost || back {
            by_name.insert(*name);
            reported(name, Some(old), new);
        }
    }
    let listed: BTreeSet<String> = a.servers.iter().map(ServerState::field).collect();
    // New in an earlier look, which was held back because it was the first, or because the server answers elsewhere.
    let waits = |server: &String| {
        let change = |p: &Pending| p.change.as_ref().is_some_and(|c| c.old.is_none());
        let is_about =
            |p: &Pending| p.kind == EventKind::DelegationHealthChanged && p.field == *server && change(p);
        previous.pending.iter().any(is_about) || previous.elsewhere.iter().any(|e| e.server == *server)
    };
    let (x, y) = (asked(a, &by_name), asked(b, &by_name));
    for (server, new) in &y {
        let old = x.get(server).copied();
        let health = ignore_slow(new.health);
        let is_new = health != ServerHealth::Authoritative && (!listed.contains(server) || waits(server));
        let is_same = old.is_some_and(|o| ignore_slow(o.health) == health);
        if !is_same && (old.is_some() || is_new) {
            reported(server, old, new);
        }
    }
    for (server, old) in unlisted(a, b, &now) {
        let (old, new) = (Some(word(old).to_string()), Some(NO_LONGER_LISTED.to_string()));
        out.push(change(EventKind::DelegationHealthChanged, Severity::Info, &server, old, new, DNS));
    }
}

/// True for a server that failed and is no longer listed.
pub(super) fn is_unlisted(change: &Change) -> bool {
    change.kind == EventKind::DelegationHealthChanged && change.new.as_deref() == Some(NO_LONGER_LISTED)
}

fn fails(server: &ServerState) -> bool {
    matches!(server.health, ServerHealth::Lame | ServerHealth::Dead | ServerHealth::Unresolvable)
}

/// The servers that failed before and are no longer listed, as events name them. `now`: the best of each name.
fn unlisted<'d>(
    a: &'d Delegation,
    b: &Delegation,
    now: &BTreeMap<&str, &ServerState>,
) -> BTreeMap<String, &'d ServerState> {
    let listed: BTreeSet<String> = b.servers.iter().map(ServerState::field).collect();
    // While a name has no address, or none is known yet, its addresses may come back.
    let is_known = |s: &ServerState| match now.get(s.name.as_str()) {
        Some(best) => s.address.is_some() && best.address.is_some(),
        None => true,
    };
    let failing = a.servers.iter().filter(|s| fails(s) && is_known(s));
    failing.map(|s| (s.field(), s)).filter(|(server, _)| !listed.contains(server)).collect()
}

/// The servers that were asked, as events name them, but for those of some names.
fn asked<'d>(d: &'d Delegation, without: &BTreeSet<&str>) -> BTreeMap<String, &'d ServerState> {
    let servers = d.servers.iter().filter(|s| s.health != ServerHealth::NotAsked);
    servers.filter(|s| !without.contains(s.name.as_str())).map(|s| (s.field(), s)).collect()
}
