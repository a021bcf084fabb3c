//! How the servers of a zone are spread over the network, and which of them is the slowest.

use super::latency::{ChainServer, LatencyHistory, LatencyStats, ServerNetwork};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How the servers of a zone are spread over the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "spread", rename_all = "snake_case")]
pub enum Spread {
    /// Not known of every server.
    Unknown,
    /// One prefix in each address family.
    OnePrefix {
        /// The prefix, or one of each family.
        prefixes: Vec<String>,
        /// Who announces them.
        asns: Vec<u32>,
    },
    /// Several prefixes of one autonomous system.
    OneSystem {
        /// The system.
        asn: u32,
    },
    /// Several autonomous systems.
    Several {
        /// The systems.
        asns: Vec<u32>,
    },
}

impl Spread {
    /// In words, for the end of a sentence.
    pub fn words(&self) -> String {
        let systems = |asns: &[u32]| asns.iter().map(|a| format!("AS{a}")).collect::<Vec<_>>().join(", ");
        match self {
            Spread::Unknown => "where its servers stand in the network is not known".into(),
            Spread::OnePrefix { prefixes, asns } => {
                format!("all its servers are in {}, {}", prefixes.join(" and "), systems(asns))
            }
            Spread::OneSystem { asn } => format!("all its servers are in AS{asn}"),
            Spread::Several { asns } => format!("its servers are in {}", systems(asns)),
        }
    }
}

impl LatencyHistory {
    /// The slowest server of the whole chain, by its median.
    pub fn slowest(&self) -> Option<(&ChainServer, LatencyStats)> {
        slowest(self.servers.iter())
    }

    /// How the servers of `zone` are spread.
    pub fn spread(&self, zone: &str) -> Spread {
        let servers: Vec<&ChainServer> = self.servers.iter().filter(|s| s.zone == zone).collect();
        let networks: Vec<&ServerNetwork> = servers.iter().filter_map(|s| s.network.as_ref()).collect();
        let asns: BTreeSet<u32> = networks.iter().flat_map(|n| n.asns.iter().copied()).collect();
        let asns: Vec<u32> = asns.into_iter().collect();
        if asns.len() > 1 {
            return Spread::Several { asns };
        }
        let (Some(asn), true) = (asns.first(), networks.len() == servers.len()) else {
            return Spread::Unknown;
        };
        let prefixes: BTreeSet<(bool, &String)> =
            networks.iter().filter_map(|n| Some((n.address.is_ipv6(), n.prefix.as_ref()?))).collect();
        let of = |v6: bool| prefixes.iter().filter(|(six, _)| *six == v6).count();
        if of(false) <= 1 && of(true) <= 1 {
            let prefixes = prefixes.iter().map(|(_, p)| (*p).clone()).collect();
            return Spread::OnePrefix { prefixes, asns };
        }
        Spread::OneSystem { asn: *asn }
    }
}

pub(crate) fn slowest<'a>(
    servers: impl Iterator<Item = &'a ChainServer>,
) -> Option<(&'a ChainServer, LatencyStats)> {
    servers.filter_map(|s| Some((s, s.judged()?))).max_by(|a, b| a.1.median.total_cmp(&b.1.median))
}
