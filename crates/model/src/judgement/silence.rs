//! Name servers that fall silent: which ceased to answer, and which of them answer at another place.

use super::diff::diff;
use super::event::{Change, EventKind};
use super::put_back::put_back;
use crate::dns::{ServerHealth, ServerState};
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
    let is_dead = |s: &ServerState| s.health == ServerHealth::Dead;
    if !current.delegation.value.as_ref().is_some_and(|d| d.servers.iter().any(is_dead)) {
        return Vec::new();
    }
    silences(previous, current).into_iter().filter(|c| c.old.is_some()).map(|c| c.field).collect()
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

/// True for a server that ceased to answer.
pub fn is_silence(c: &Change) -> bool {
    c.kind == EventKind::DelegationHealthChanged && c.new.as_deref() == Some(ServerHealth::Dead.label())
}

/// Keeps the state of servers that are silent here and answer at another place, and notes the place.
pub fn keep_answering(previous: &Observation, current: &mut Observation, place: &str, answering: &[String]) {
    for change in silences(previous, current) {
        if answering.contains(&change.field) {
            put_back(previous, current, &change);
            current.elsewhere.push(AnswersElsewhere { server: change.field, place: place.to_string() });
        }
    }
}
