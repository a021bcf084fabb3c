//! Name servers that fall silent: which ceased to answer, and which of them answer at another place.

use super::diff::diff;
use super::event::{Change, EventKind};
use super::put_back::put_back;
use crate::dns::{NOT_RESOLVED, ServerHealth, ServerState};
use crate::observation::Observation;
use serde::{Deserialize, Serialize};

/// A server that does not answer here, and answers at another place: that is no event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswersElsewhere {
    /// Its name and address, as events name it.
    pub server: String,
    /// The place where it answers.
    pub place: String,
}

/// Servers that ceased to answer, as events name them.
pub fn ceased_servers(previous: &Observation, current: &Observation) -> Vec<String> {
    let is_silent = |s: &ServerState| s.health == ServerHealth::Dead || s.is_unanswered();
    if !current.delegation.value.as_ref().is_some_and(|d| d.servers.iter().any(is_silent)) {
        return Vec::new();
    }
    let ceased = silences(previous, current).into_iter().filter(|c| c.old.is_some());
    ceased.flat_map(|c| addresses_of(previous, &c)).collect()
}

/// The servers that a change is about, as events name them: of a host name that could not be resolved, the addresses that it
/// had before.
pub fn addresses_of(previous: &Observation, change: &Change) -> Vec<String> {
    let servers = previous.delegation.value.iter().flat_map(|d| &d.servers);
    let known = servers.filter(|s| s.name == change.field && s.address.is_some());
    let known: Vec<String> = known.map(ServerState::field).collect();
    if known.is_empty() { vec![change.field.clone()] } else { known }
}

/// Servers that ceased to answer and were silent in an earlier look too: before that is an event, they are asked from
/// another place.
pub fn silent_servers(previous: &Observation, current: &Observation) -> Vec<String> {
    if previous.pending.is_empty() && previous.elsewhere.is_empty() {
        return Vec::new();
    }
    let was_silent = |c: &Change| {
        previous.pending.iter().any(|p| p.change.is_some() && p.is_about(c))
            || previous.elsewhere.iter().any(|e| e.server == c.field)
    };
    silences(previous, current).into_iter().filter(was_silent).map(|c| c.field).collect()
}

fn silences(previous: &Observation, current: &Observation) -> Vec<Change> {
    diff(previous, current).into_iter().filter(is_silence).collect()
}

/// True for a server that ceased to answer, or whose host name can't be resolved because no server answers.
pub fn is_silence(c: &Change) -> bool {
    let is_silent = |new| new == ServerHealth::Dead.label() || new == NOT_RESOLVED;
    c.kind == EventKind::DelegationHealthChanged && c.new.as_deref().is_some_and(is_silent)
}

/// Keeps the state of servers that are silent here and answer at another place, and notes the place.
pub fn keep_answering(previous: &Observation, current: &mut Observation, place: &str, answering: &[String]) {
    for change in silences(previous, current) {
        if addresses_of(previous, &change).iter().any(|server| answering.contains(server)) {
            put_back(previous, current, &change);
            current.elsewhere.push(AnswersElsewhere { server: change.field, place: place.to_string() });
        }
    }
}
