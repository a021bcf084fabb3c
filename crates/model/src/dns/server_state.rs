//! One address of one name server, as it was met: how it behaves for the zone, and the facts to judge that by.

use super::problem::ServerProblem;
use super::record::AnswerKind;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// How a server behaves for the zone, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerHealth {
    /// Answers with authority.
    Authoritative,
    /// Authoritative but much slower than its peers.
    Slow,
    /// Answers, but not with authority for this zone.
    Lame,
    /// Does not answer.
    Dead,
    /// No address of its name is known ([`ServerState::is_unanswered`] says whether it has none).
    Unresolvable,
    /// Was not asked (no IPv6 here, or a private address).
    NotAsked,
}

impl ServerHealth {
    /// The word people see.
    pub fn label(self) -> &'static str {
        match self {
            ServerHealth::Authoritative => "Authoritative",
            ServerHealth::Slow => "Slow",
            ServerHealth::Lame => "Lame",
            ServerHealth::Dead => "No answer",
            ServerHealth::Unresolvable => "No address",
            ServerHealth::NotAsked => "Not asked",
        }
    }
}

/// The word for a server whose host name could not be resolved because no server answered.
pub const NOT_RESOLVED: &str = "Not resolved";

/// One address of one name server of the zone, asked for the SOA.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerState {
    /// Host name of the server.
    pub name: String,
    /// Address; `None` when the name has none.
    pub address: Option<IpAddr>,
    /// Listed in the parent's NS set.
    pub in_parent: bool,
    /// Listed in the zone's own NS set.
    pub in_child: bool,
    /// How it behaves.
    pub health: ServerHealth,
    /// What its answer over UDP amounts to.
    pub kind: AnswerKind,
    /// SOA serial it serves.
    pub serial: Option<u32>,
    /// Milliseconds of its answer.
    pub latency_ms: Option<f64>,
    /// Whether it answers over TCP; `None` when that was not tried.
    pub tcp: Option<bool>,
    /// Whether it offers recursion to us.
    pub recursion: Option<bool>,
    /// Name server identifier, when it gives one.
    pub nsid: Option<String>,
    /// What is wrong or odd, as facts to judge by.
    #[serde(default)]
    pub problems: Vec<ServerProblem>,
    /// What was wrong or odd, in words.
    pub notes: Vec<String>,
}

impl ServerState {
    /// True when its host name could not be resolved because no server answered: it may well have an address.
    pub fn is_unanswered(&self) -> bool {
        let unanswered = |p: &ServerProblem| matches!(p, ServerProblem::NoAddress { unanswered: true, .. });
        self.health == ServerHealth::Unresolvable && self.problems.iter().any(unanswered)
    }

    /// How it behaves, as people read it.
    pub fn label(&self) -> &'static str {
        if self.is_unanswered() { NOT_RESOLVED } else { self.health.label() }
    }

    /// Its name and address, as events name it; the name alone when it has no address.
    pub fn field(&self) -> String {
        let address = self.address.map(|a| format!(" {a}")).unwrap_or_default();
        format!("{}{address}", self.name)
    }
}
