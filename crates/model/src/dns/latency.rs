//! Legacy DNS: a domain is as fast as the slowest server in its chain of delegation. In: looks at the servers of the
//! chain (the zones between the root and the name, and the zone itself) from one vantage. Out: latency over time,
//! where the servers stand in the network, and a finding when the zone's own servers are slow and in one place.
//!
//! To show it (DNS tab): one table per zone of the chain, a row per server address with [`ChainServer::stats`]
//! (median and p95 of so many looks), a line of [`ChainServer::ms`] over [`LatencyHistory::looks`] (gaps where a look got no
//! answer), prefix and AS from `network`, and the ids; "anycast" where [`LatencyHistory::is_anycast`]. Mark the row of
//! [`LatencyHistory::slowest`]; above the table, [`LatencyHistory::spread`] in words. Say "not enough looks yet" below
//! [`MIN_LOOKS`] answers.

use super::place_latency::PlaceLatency;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Looks that are kept: four days of hourly ones.
pub const MAX_LOOKS: usize = 96;
/// Answers of one server below which nothing is said about its speed.
pub const MIN_LOOKS: usize = 12;
/// Identifiers remembered per server address.
const MAX_IDS: usize = 8;

/// Where an address stands in the network, and what its server calls itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerNetwork {
    /// The address.
    pub address: IpAddr,
    /// Autonomous systems that announce it, sorted; empty when unknown.
    #[serde(default)]
    pub asns: Vec<u32>,
    /// The announced prefix.
    #[serde(default)]
    pub prefix: Option<String>,
    /// NSID (RFC 5001), else `hostname.bind` (RFC 4892).
    #[serde(default)]
    pub id: Option<String>,
}

/// One address of one server of one zone in the chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChainServer {
    /// The zone it serves here (`io`, `q7.io`).
    pub zone: String,
    /// Host name.
    pub server: String,
    /// Address.
    pub address: IpAddr,
    /// Milliseconds of its answer at each of [`LatencyHistory::looks`]; `None` without an answer.
    pub ms: Vec<Option<f32>>,
    /// Where it stands.
    #[serde(default)]
    pub network: Option<ServerNetwork>,
    /// Distinct identifiers it gave, oldest first.
    #[serde(default)]
    pub ids: Vec<String>,
}

/// Latency in numbers, milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LatencyStats {
    /// Answers the numbers are of.
    pub looks: usize,
    /// The fastest.
    pub min: f64,
    /// Half are faster.
    pub median: f64,
    /// 95 of 100 are faster.
    pub p95: f64,
    /// The newest.
    pub last: f64,
}

/// The chain's servers over time, from one vantage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LatencyHistory {
    /// When the servers were looked at, oldest first, at most [`MAX_LOOKS`].
    pub looks: Vec<Timestamp>,
    /// Every server × address of the chain, from the top down.
    pub servers: Vec<ChainServer>,
    /// What points of presence see of the zone's own servers, by identity, at most
    /// [`MAX_PLACES`](super::place_latency::MAX_PLACES).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<PlaceLatency>,
}

impl ChainServer {
    /// The numbers of its answers; `None` when it never answered.
    pub fn stats(&self) -> Option<LatencyStats> {
        let seen: Vec<f64> = self.ms.iter().flatten().map(|ms| f64::from(*ms)).collect();
        let last = *seen.last()?;
        let mut sorted = seen;
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let rank = (share * sorted.len() as f64).ceil() as usize;
            sorted[rank.clamp(1, sorted.len()) - 1]
        };
        Some(LatencyStats { looks: sorted.len(), min: sorted[0], median: at(0.5), p95: at(0.95), last })
    }

    /// The numbers, when there are enough to judge by.
    pub(crate) fn judged(&self) -> Option<LatencyStats> {
        self.stats().filter(|s| s.looks >= MIN_LOOKS)
    }

    /// Several machines answer at this address: it gave several identifiers.
    pub fn is_anycast(&self) -> bool {
        self.ids.len() > 1
    }

    pub(crate) fn label(&self) -> String {
        format!("{}/{}", self.server, self.address)
    }
}

/// True when one address gives different identifiers, over time or from different vantages.
pub fn anycast(views: &[&LatencyHistory], address: IpAddr) -> bool {
    let servers = views.iter().flat_map(|v| &v.servers).filter(|s| s.address == address);
    servers.flat_map(|s| &s.ids).collect::<BTreeSet<_>>().len() > 1
}

/// The newest look laid after the looks before it. Servers that left the chain are dropped; what a look does not tell
/// (network, identifiers, places) is kept from before.
pub fn merge_latency(previous: Option<&LatencyHistory>, current: LatencyHistory) -> LatencyHistory {
    let mut merged = merge(previous, current, (MAX_LOOKS, MAX_IDS));
    if let Some(previous) = previous {
        merged.places.clone_from(&previous.places);
    }
    if let Some(now) = merged.looks.last().copied() {
        merged.drop_old_places(now);
    }
    merged
}

/// The same without places, with the most looks and identifiers that are kept.
pub(super) fn merge(
    previous: Option<&LatencyHistory>,
    mut current: LatencyHistory,
    (most_looks, most_ids): (usize, usize),
) -> LatencyHistory {
    let Some(previous) = previous else { return current };
    if current.looks.is_empty() {
        return previous.clone();
    }
    // Laid over itself (a record written again) nothing is counted twice.
    let first = current.looks.first().copied();
    let kept = previous.looks.iter().take_while(|at| first.is_none_or(|first| **at < first)).count();
    let total = kept + current.looks.len();
    let drop = total.saturating_sub(most_looks);
    for server in &mut current.servers {
        let same = |s: &&ChainServer| {
            s.zone == server.zone && s.server == server.server && s.address == server.address
        };
        let before = previous.servers.iter().find(same);
        let old = (0..kept).map(|i| before.and_then(|b| b.ms.get(i).copied().flatten()));
        server.ms = old.chain(server.ms.iter().copied()).skip(drop).collect();
        if let Some(before) = before {
            server.network = server.network.take().or_else(|| before.network.clone());
            let mut ids = before.ids.clone();
            ids.append(&mut server.ids);
            server.ids = distinct(ids, most_ids);
        }
    }
    current.looks = previous.looks[..kept].iter().chain(&current.looks).skip(drop).copied().collect();
    current
}

/// Each once, the newest `most`, in the order of their first appearance.
fn distinct(ids: Vec<String>, most: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for id in ids {
        if !out.contains(&id) {
            out.push(id);
        }
    }
    let extra = out.len().saturating_sub(most);
    out.split_off(extra)
}

impl LatencyHistory {
    /// Completes one look: when it was, and what is known of the addresses.
    pub fn stamp(&mut self, now: Timestamp, networks: &[ServerNetwork]) {
        self.looks = vec![now];
        self.add_networks(networks);
    }

    /// Adds what is known of the addresses.
    pub fn add_networks(&mut self, networks: &[ServerNetwork]) {
        for server in &mut self.servers {
            let Some(network) = networks.iter().find(|n| n.address == server.address) else { continue };
            server.ids.extend(network.id.clone());
            server.ids = distinct(std::mem::take(&mut server.ids), MAX_IDS);
            if network.prefix.is_some() {
                server.network = Some(network.clone());
            }
        }
    }
}
