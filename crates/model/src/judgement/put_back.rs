//! A change that waits for its confirmation leaves what is stored as it was.

use super::event::{Change, EventKind};
use super::registration_hold::is_stated;
use crate::dns::{Delegation, ServerHealth, ServerState};
use crate::observation::Observation;
use std::collections::BTreeSet;

/// Puts back what was stored where a change is held.
pub(super) fn put_back(previous: &Observation, current: &mut Observation, change: &Change) {
    match change.kind {
        EventKind::RecordChanged => put_back_record(previous, current, &change.field),
        EventKind::DelegationHealthChanged => {
            if let (Some(old), Some(new)) = (&previous.delegation.value, &mut current.delegation.value) {
                // All addresses of a name, which were lost or are back; else one server.
                let is_it = |s: &ServerState| s.name == change.field || s.field() == change.field;
                let before: Vec<ServerState> = old.servers.iter().filter(|s| is_it(s)).cloned().collect();
                if before.is_empty() {
                    // New: until a second look nothing is known of it.
                    for server in new.servers.iter_mut().filter(|s| is_it(s)) {
                        server.health = ServerHealth::NotAsked;
                    }
                } else if let Some(first) = new.servers.iter().position(is_it) {
                    new.servers.retain(|s| !is_it(s));
                    new.servers.splice(first..first, before);
                } else {
                    // No longer listed: it stays until a second look.
                    new.servers.extend(before);
                }
                let known = |name: &str| old.parent_ns.iter().find(|n| n.name == name);
                for host in new.parent_ns.iter_mut().filter(|n| n.name == change.field) {
                    host.addresses = known(&host.name).map(|n| n.addresses.clone()).unwrap_or_default();
                }
            }
        }
        EventKind::NameserversChanged | EventKind::DnssecChanged | EventKind::ProviderChanged => {
            if let (Some(old), Some(new)) = (&previous.delegation.value, &mut current.delegation.value) {
                match change.kind {
                    EventKind::ProviderChanged => new.provider.clone_from(&old.provider),
                    EventKind::DnssecChanged if new.delegated => new.ds.clone_from(&old.ds),
                    EventKind::NameserversChanged if parent_names(old) != parent_names(new) => {
                        keep_servers(old, new);
                        // The zone's own set moves with the delegation.
                        let field = format!("{} NS", current.name);
                        put_back_record(previous, current, &field);
                    }
                    _ => {}
                }
            }
            if is_stated(change) {
                current.registration.value.clone_from(&previous.registration.value);
            }
        }
        EventKind::CertificateChanged => {
            if let (Some(old), Some(new)) = (&previous.certificates.value, &mut current.certificates.value)
                && let Some(before) = old.of(&change.field)
            {
                match new.hosts.iter_mut().find(|h| h.host == change.field) {
                    Some(host) => *host = before.clone(),
                    // No longer looked at: it stays until a second look.
                    None => new.hosts.push(before.clone()),
                }
            }
        }
        EventKind::DnssecStatusChanged => current.dnssec.value.clone_from(&previous.dnssec.value),
        _ => current.registration.value.clone_from(&previous.registration.value),
    }
}

fn put_back_record(previous: &Observation, current: &mut Observation, field: &str) {
    let about = |name: &str, rtype: &str| format!("{} {rtype}", name.to_ascii_lowercase()) == field;
    if let (Some(old), Some(new)) = (&previous.zone.value, &mut current.zone.value) {
        new.rrsets.retain(|r| !about(&r.name, &r.rtype));
        new.rrsets.extend(old.rrsets.iter().filter(|r| about(&r.name, &r.rtype)).cloned());
        new.rrsets.sort_by(|a, b| (&a.name, &a.rtype).cmp(&(&b.name, &b.rtype)));
    }
}

/// The host names of name servers that are in one of two states only, where a held change of the set keeps those of before.
pub(super) fn names_in_one_set(previous: &Observation, current: &Observation) -> BTreeSet<String> {
    let (Some(old), Some(new)) = (&previous.delegation.value, &current.delegation.value) else {
        return BTreeSet::new();
    };
    if parent_names(old) == parent_names(new) {
        return BTreeSet::new();
    }
    let names = |d: &Delegation| d.servers.iter().map(|s| s.name.clone()).collect::<BTreeSet<_>>();
    names(old).symmetric_difference(&names(new)).cloned().collect()
}

fn parent_names(d: &Delegation) -> BTreeSet<&str> {
    d.parent_ns.iter().map(|n| n.name.as_str()).collect()
}

/// The delegation with the name servers of before, with their current health where they were asked.
fn keep_servers(old: &Delegation, new: &mut Delegation) {
    let mut names = BTreeSet::new();
    let mut servers = Vec::new();
    for before in old.servers.iter().filter(|s| names.insert(s.name.as_str())) {
        let is_it = |s: &&ServerState| s.name == before.name;
        let now = new.servers.iter().filter(is_it).cloned();
        let (in_parent, in_child) = (before.in_parent, before.in_child);
        let now: Vec<_> = now.map(|s| ServerState { in_parent, in_child, ..s }).collect();
        let known = || old.servers.iter().filter(is_it).cloned().collect();
        servers.extend(if now.is_empty() { known() } else { now });
    }
    // A change of the DS records is held by itself; a name that is not delegated has none.
    let ds = if new.delegated { std::mem::take(&mut new.ds) } else { old.ds.clone() };
    let parents_differ = new.parents_differ.take();
    *new =
        Delegation { servers, ds, parents_differ, latency: std::mem::take(&mut new.latency), ..old.clone() };
}
