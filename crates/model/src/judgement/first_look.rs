//! The first look at a name, or at a part of it, is the baseline. In: what it saw. Out: failures that only it saw, whose end is
//! no event.

use super::confirm::Pending;
use super::event::{Change, EventKind};
use super::rotation::Rotation;
use super::server_health::NO_LONGER_LISTED;
use crate::dns::{DnssecStatus, ServerHealth, ServerState};
use crate::observation::Observation;
use jiff::Timestamp;

/// What a first look is stored with: its state is the baseline, no change. A failure that only this look sees is noted, so
/// that it is not reported as mended when the next one does not see it.
pub fn baseline(mut current: Observation, now: Timestamp) -> Observation {
    let nothing = Observation::empty(current.name.clone(), current.vantage.clone());
    current.pending.extend(first_failures(&nothing, &current, now));
    current
}

/// Failures that the first good reading of a part sees.
pub(super) fn first_failures(previous: &Observation, current: &Observation, now: Timestamp) -> Vec<Pending> {
    let failure = |kind, field| Pending {
        kind,
        field,
        change: None,
        since: now,
        flips: Vec::new(),
        rotation: Rotation::default(),
    };
    let mut failures = Vec::new();
    if let (None, Some(d)) = (&previous.delegation.value, &current.delegation.value) {
        let fails = |s: &&ServerState| {
            !matches!(s.health, ServerHealth::Authoritative | ServerHealth::Slow | ServerHealth::NotAsked)
        };
        let servers = d.servers.iter().filter(fails);
        failures.extend(servers.map(|s| failure(EventKind::DelegationHealthChanged, s.field())));
    }
    if let (None, Some(d)) = (&previous.dnssec.value, &current.dnssec.value)
        && d.status == DnssecStatus::Bogus
    {
        failures.push(failure(EventKind::DnssecStatusChanged, "dnssec_status".into()));
    }
    failures
}

/// True when a server answers again or is no longer listed, or a chain of trust is no longer broken.
pub(super) fn is_mended(change: &Change) -> bool {
    match change.kind {
        EventKind::DelegationHealthChanged => {
            let mended = [ServerHealth::Authoritative.label(), NO_LONGER_LISTED];
            change.new.as_deref().is_some_and(|new| mended.contains(&new))
        }
        EventKind::DnssecStatusChanged => change.old.as_deref() == Some(DnssecStatus::Bogus.label()),
        _ => false,
    }
}
