//! A domain that becomes unreachable: none of its name servers answers any more, or the parent zone no longer delegates it. In:
//! the states before and after, and the changes to report. Out: those that say so, made Critical.

use super::event::{Change, EventKind, Severity};
use crate::observation::Observation;

/// No name server gives any answer.
const NO_SERVER: &str = "No name server answers";
/// The parent zone has no delegation.
const NOT_DELEGATED: &str = "The parent zone no longer delegates the domain";

/// Why nothing of a domain can be resolved, as its status says it too; `None` where a server answers or nothing is known.
fn outage(o: &Observation) -> Option<&'static str> {
    let d = o.delegation.value.as_ref()?;
    match d.delegated {
        false => Some(NOT_DELEGATED),
        true => d.all_silent().then_some(NO_SERVER),
    }
}

/// True for a change that is part of an outage.
pub(super) fn is_part(change: &Change, words: &str) -> bool {
    match change.kind {
        EventKind::DelegationHealthChanged => words == NO_SERVER && change.severity >= Severity::Warning,
        EventKind::NameserversChanged => words == NOT_DELEGATED && change.new.is_none(),
        _ => false,
    }
}

/// Why nothing of a domain can be resolved since this look: it could be before, or could not for another reason.
pub(super) fn begins(previous: &Observation, current: &Observation) -> Option<&'static str> {
    outage(current).filter(|words| outage(previous) != Some(words))
}

/// True when a server of the domain answers again since this look.
pub(super) fn ends(previous: &Observation, current: &Observation) -> bool {
    outage(previous).is_some() && outage(current).is_none()
}

/// True for a change that may be part of the end of an outage.
pub(super) fn is_end(change: &Change) -> bool {
    match change.kind {
        EventKind::DelegationHealthChanged => change.severity == Severity::Info,
        EventKind::NameserversChanged => change.new.is_some(),
        _ => false,
    }
}

/// Makes the changes Critical with which a domain became unreachable, and says so in their notes. `current`: what is stored.
pub(super) fn mark(previous: &Observation, current: &Observation, changes: &mut [Change]) {
    let Some(words) = begins(previous, current) else { return };
    // Without a server that fell silent it is the set of servers that changed: those that answered are no longer in it.
    let by_set = !changes.iter().any(|c| is_part(c, words));
    let is_cause = |c: &Change| is_part(c, words) || by_set && c.kind == EventKind::NameserversChanged;
    for change in changes.iter_mut().filter(|c| is_cause(c)) {
        change.severity = Severity::Critical;
        change.note = words.into();
    }
}

/// What several changes come to when one of them made the domain unreachable.
pub fn headline<'a>(changes: impl IntoIterator<Item = &'a Change>) -> Option<&'static str> {
    let is_cause = |c: &Change, words: &str| {
        is_part(c, words) || c.kind == EventKind::NameserversChanged && c.note == words
    };
    let marked = changes.into_iter().filter(|c| c.severity == Severity::Critical);
    marked.into_iter().find_map(|c| [NO_SERVER, NOT_DELEGATED].into_iter().find(|words| is_cause(c, words)))
}
