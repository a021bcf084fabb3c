//! A change that waits for its confirmation leaves what is stored as it was.

use super::event::{Change, EventKind};
use crate::dns::{ServerHealth, ServerState};
use crate::observation::Observation;
use crate::registration::RegistrationState;

/// Puts back what was stored where a change is held.
pub(super) fn put_back(previous: &Observation, current: &mut Observation, change: &Change) {
    match change.kind {
        EventKind::RecordChanged => {
            let about =
                |name: &str, rtype: &str| format!("{} {rtype}", name.to_ascii_lowercase()) == change.field;
            if let (Some(old), Some(new)) = (&previous.zone.value, &mut current.zone.value) {
                new.rrsets.retain(|r| !about(&r.name, &r.rtype));
                new.rrsets.extend(old.rrsets.iter().filter(|r| about(&r.name, &r.rtype)).cloned());
                new.rrsets.sort_by(|a, b| (&a.name, &a.rtype).cmp(&(&b.name, &b.rtype)));
            }
        }
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
                }
                let known = |name: &str| old.parent_ns.iter().find(|n| n.name == name);
                for host in new.parent_ns.iter_mut().filter(|n| n.name == change.field) {
                    host.addresses = known(&host.name).map(|n| n.addresses.clone()).unwrap_or_default();
                }
            }
        }
        EventKind::StatusAdded => {
            if let Some(RegistrationState::Registered(r)) = &mut current.registration.value
                && let (Some(flags), Some(new)) = (&mut r.statuses, &change.new)
            {
                flags.retain(|f| f.as_str() != new);
            }
        }
        EventKind::CertificateChanged => {
            if let (Some(old), Some(new)) = (&previous.certificates.value, &mut current.certificates.value)
                && let Some(before) = old.of(&change.field)
            {
                for host in new.hosts.iter_mut().filter(|h| h.host == change.field) {
                    *host = before.clone();
                }
            }
        }
        EventKind::DnssecStatusChanged => current.dnssec.value.clone_from(&previous.dnssec.value),
        _ => current.registration.value.clone_from(&previous.registration.value),
    }
}
