//! The delegation of a zone: the NS sets of parent and zone, every server, and who runs them.

use super::latency::LatencyHistory;
use super::record::{NsName, Soa};
use super::server_state::{ServerHealth, ServerState};
use crate::registration::Ds;
use serde::{Deserialize, Serialize};

/// The delegation of a zone, seen from both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delegation {
    /// The zone.
    pub zone: String,
    /// The zone that delegates it.
    pub parent: String,
    /// Whether the parent delegates the name at all.
    pub delegated: bool,
    /// NS set of the parent with glue.
    pub parent_ns: Vec<NsName>,
    /// NS set of the zone itself (union of its authoritative servers).
    pub child_ns: Vec<String>,
    /// DS records at the parent.
    pub ds: Vec<Ds>,
    /// Every name server × address.
    pub servers: Vec<ServerState>,
    /// SOA of the zone, from an authoritative server; of the parent when the name is not delegated.
    pub soa: Option<Soa>,
    /// SOA of a real negative answer for a name below the zone: what resolvers will cache by.
    pub negative_soa: Option<Soa>,
    /// How the parent's servers disagree about the delegation, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parents_differ: Option<String>,
    /// Distinct NSIDs or host names of the servers' operators: patterns for the provider.
    pub provider: Option<Provider>,
    /// Latency and network of the servers in the chain, over the looks of this vantage.
    #[serde(default, rename = "legacy", alias = "latency")]
    pub latency: LatencyHistory,
    /// What holds for the whole (no IPv6 here, ...).
    pub notes: Vec<String>,
}

impl Delegation {
    /// All server names of either side, sorted, each once.
    pub fn server_names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.parent_ns.iter().map(|n| n.name.clone()).chain(self.child_ns.iter().cloned()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// True when at least one server answered with authority.
    pub fn any_authoritative(&self) -> bool {
        self.servers.iter().any(|s| matches!(s.health, ServerHealth::Authoritative | ServerHealth::Slow))
    }

    /// True when servers were asked and none gave any DNS message.
    pub fn all_silent(&self) -> bool {
        let asked: Vec<_> = self.servers.iter().filter(|s| s.health != ServerHealth::NotAsked).collect();
        !asked.is_empty()
            && asked.iter().all(|s| matches!(s.health, ServerHealth::Dead | ServerHealth::Unresolvable))
    }

    /// Seconds a resolver may remember that a name below this zone does not exist.
    pub fn negative_ttl(&self) -> Option<u32> {
        self.negative_soa.as_ref().or(self.soa.as_ref()).map(Soa::negative_ttl)
    }
}

/// Who runs the zone's servers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Provider {
    /// Name as people know it (`Digital Ocean`), `Self-hosted`, or the operator's domain.
    pub name: String,
    /// How it was told.
    pub kind: ProviderKind,
}

/// How a provider was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderKind {
    /// By the table of nameserver names.
    Known,
    /// All servers are inside the zone itself.
    SelfHosted,
    /// The registrable domain of the servers' names.
    OperatorDomain,
    /// Servers of more than one operator.
    Mixed,
}
