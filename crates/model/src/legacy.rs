//! Legacy DNS: a domain is as fast as the slowest server in its chain of delegation. In: looks at the servers of the
//! chain (the zones between the root and the name, and the zone itself) from one vantage. Out: latency over time,
//! where the servers stand in the network, and a finding when the zone's own servers are slow and in one place.
//!
//! To show it (DNS tab): one table per zone of the chain, a row per server address with [`ChainServer::stats`]
//! (median and p95 of so many looks), a line of [`ChainServer::ms`] over [`LegacyDns::looks`] (gaps where a look got no
//! answer), prefix and AS from `network`, and the ids; "anycast" where [`ChainServer::is_anycast`]. Mark the row of
//! [`LegacyDns::slowest`]; above the table, [`LegacyDns::spread`] in words. Say "not enough looks yet" below
//! [`MIN_LOOKS`] answers.

use crate::finding::{Finding, Level};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Looks that are kept: four days of hourly ones.
pub const MAX_LOOKS: usize = 96;
/// Answers of one server below which nothing is said about its speed.
pub const MIN_LOOKS: usize = 12;
/// A server is slow when half of its answers take longer than this, in milliseconds.
pub const SLOW_MS: f64 = 100.0;
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
    /// Milliseconds of its answer at each of [`LegacyDns::looks`]; `None` without an answer.
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
pub struct LegacyDns {
    /// When the servers were looked at, oldest first, at most [`MAX_LOOKS`].
    pub looks: Vec<Timestamp>,
    /// Every server × address of the chain, from the top down.
    pub servers: Vec<ChainServer>,
}

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
    fn judged(&self) -> Option<LatencyStats> {
        self.stats().filter(|s| s.looks >= MIN_LOOKS)
    }

    /// Several machines answer at this address: it gave several identifiers.
    pub fn is_anycast(&self) -> bool {
        self.ids.len() > 1
    }

    fn label(&self) -> String {
        format!("{}/{}", self.server, self.address)
    }
}

/// True when one address gives different identifiers, over time or from different vantages.
pub fn anycast(views: &[&LegacyDns], address: IpAddr) -> bool {
    let servers = views.iter().flat_map(|v| &v.servers).filter(|s| s.address == address);
    servers.flat_map(|s| &s.ids).collect::<BTreeSet<_>>().len() > 1
}

/// The newest look laid after the looks before it. Servers that left the chain are dropped; what a look does not tell
/// (network, identifiers) is kept from before.
pub fn merge_latency(previous: Option<&LegacyDns>, mut current: LegacyDns) -> LegacyDns {
    let Some(previous) = previous else { return current };
    if current.looks.is_empty() {
        return previous.clone();
    }
    // Laid over itself (a record written again) nothing is counted twice.
    let first = current.looks.first().copied();
    let kept = previous.looks.iter().take_while(|at| first.is_none_or(|first| **at < first)).count();
    let total = kept + current.looks.len();
    let drop = total.saturating_sub(MAX_LOOKS);
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
            ids.extend(server.ids.drain(..));
            server.ids = distinct(ids);
        }
    }
    current.looks = previous.looks[..kept].iter().chain(&current.looks).skip(drop).copied().collect();
    current
}

/// Each once, the newest [`MAX_IDS`], in the order of their first appearance.
fn distinct(ids: Vec<String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for id in ids {
        if !out.contains(&id) {
            out.push(id);
        }
    }
    let extra = out.len().saturating_sub(MAX_IDS);
    out.split_off(extra)
}

impl LegacyDns {
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
            server.ids = distinct(std::mem::take(&mut server.ids));
            if network.prefix.is_some() {
                server.network = Some(network.clone());
            }
        }
    }

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

    /// What is to be said about the speed of `zone`, when there are enough looks.
    pub fn findings(&self, zone: &str) -> Vec<Finding> {
        let of_zone = || self.servers.iter().filter(|s| s.zone == zone);
        let own = slowest(of_zone());
        let mut out: Vec<Finding> =
            own.and_then(|(s, stats)| self.slow_unicast(zone, s, stats)).into_iter().collect();
        let above = slowest(self.servers.iter().filter(|s| s.zone != zone));
        if let Some((server, stats)) = above
            && stats.median >= SLOW_MS
            && !server.is_anycast()
            && own.is_none_or(|(_, o)| o.median < stats.median)
        {
            let mut args = numbers(server, stats);
            args.insert("zone".into(), server.zone.clone().into());
            out.push(Finding {
                tag: SLOW_PARENT.into(),
                level: Level::Info,
                message: format!(
                    "The slowest server of the chain is {} of {}: {} in the median of {} looks.",
                    server.label(),
                    server.zone,
                    rounded(stats.median),
                    stats.looks
                ),
                fix: String::new(),
                args,
                test_case: OURS.into(),
                zone: zone.into(),
            });
        }
        out
    }

    fn slow_unicast(&self, zone: &str, server: &ChainServer, stats: LatencyStats) -> Option<Finding> {
        if stats.median < SLOW_MS || server.is_anycast() {
            return None;
        }
        let spread = self.spread(zone);
        let servers: Vec<&ChainServer> = self.servers.iter().filter(|s| s.zone == zone).collect();
        let all_slow = servers.iter().filter_map(|s| s.judged()).all(|s| s.median >= SLOW_MS);
        let one_place = matches!(spread, Spread::OnePrefix { .. } | Spread::OneSystem { .. });
        let mut args = numbers(server, stats);
        args.insert("servers".into(), servers.len().into());
        args.insert("spread".into(), spread.words().into());
        if let Some(network) = &server.network {
            args.insert("prefix".into(), network.prefix.clone().into());
            args.insert(
                "asns".into(),
                network.asns.iter().map(|a| format!("AS{a}")).collect::<Vec<_>>().join(";").into(),
            );
        }
        Some(Finding {
            tag: SLOW_UNICAST.into(),
            level: if all_slow || one_place { Level::Warning } else { Level::Notice },
            message: format!(
                "The slowest server, {}, takes {} in the median of {} looks ({} in the worst 5 %); {}; nothing says anycast.",
                server.label(),
                rounded(stats.median),
                stats.looks,
                rounded(stats.p95),
                spread.words()
            ),
            fix:
                "Serve the zone from several places or by an anycast DNS service: resolvers meet the slowest \
                  server again and again, and the visitor waits for it."
                    .into(),
            args,
            test_case: OURS.into(),
            zone: zone.into(),
        })
    }
}

/// Slow servers of the zone itself that nothing shows to be anycast.
pub const SLOW_UNICAST: &str = "LEGACY_DNS_SLOW_UNICAST";
/// The slowest server of the chain belongs to a zone above.
pub const SLOW_PARENT: &str = "LEGACY_DNS_SLOW_PARENT";
const OURS: &str = "Domainscope";

fn slowest<'a>(servers: impl Iterator<Item = &'a ChainServer>) -> Option<(&'a ChainServer, LatencyStats)> {
    servers.filter_map(|s| Some((s, s.judged()?))).max_by(|a, b| a.1.median.total_cmp(&b.1.median))
}

fn numbers(server: &ChainServer, stats: LatencyStats) -> Map<String, Value> {
    let tenth = |ms: f64| Value::from((ms * 10.0).round() / 10.0);
    let mut args = Map::new();
    args.insert("ns".into(), server.label().into());
    args.insert("looks".into(), stats.looks.into());
    for (name, ms) in [("min", stats.min), ("median", stats.median), ("p95", stats.p95), ("last", stats.last)]
    {
        args.insert(name.into(), tenth(ms));
    }
    args
}

fn rounded(ms: f64) -> String {
    format!("{:.0} ms", ms)
}

#[cfg(test)]
#[path = "legacy_tests.rs"]
mod tests;
