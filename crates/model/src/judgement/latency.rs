//! What is to be said about the speed of a zone's servers. In: looks over time (`model::latency`). Out: how the servers
//! are spread over the network, and findings with their numbers; nothing on too few looks, nothing where several
//! identifiers at one address show anycast.

use crate::dns::latency::{ChainServer, LatencyHistory, LatencyStats};
use crate::dns::spread::{Spread, slowest};
use crate::finding::{Finding, Level};
use serde_json::{Map, Value};

/// A server is slow when half of its answers take longer than this, in milliseconds.
pub const SLOW_MS: f64 = 100.0;

impl LatencyHistory {
    /// What is to be said about the speed of `zone`, when there are enough looks.
    pub fn findings(&self, zone: &str) -> Vec<Finding> {
        let of_zone = || self.servers.iter().filter(|s| s.zone == zone);
        let own = slowest(of_zone());
        // A slow anycast server does not hide a slow one that is not.
        let unicast = slowest(of_zone().filter(|s| !s.is_anycast()));
        let mut out: Vec<Finding> =
            unicast.and_then(|(s, stats)| self.slow_unicast(zone, s, stats)).into_iter().collect();
        let above = slowest(self.servers.iter().filter(|s| s.zone != zone));
        if let Some((server, stats)) = above
            && stats.median >= SLOW_MS
            && !server.is_anycast()
            && own.is_none_or(|(_, o)| o.median < stats.median)
        {
            let mut args = numbers(server, stats);
            args.insert("zone".into(), server.zone.clone().into());
            out.push(Finding {
                broken: false,
                tag: SLOW_PARENT.into(),
                level: Level::Info,
                message: format!(
                    "The slowest server of the chain is {} of {}: {} in the median of {} samples.",
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

    /// Puts what is to be said among an observation's findings, instead of what was said before. What a single look
    /// found slow stands until there are enough looks at that server, or until it shows that it is anycast.
    pub fn speak(&self, zone: &str, findings: &mut Vec<Finding>) {
        let over = |f: &Finding| {
            let ns = f.args.get("ns").and_then(Value::as_str);
            let server = self.servers.iter().find(|s| s.zone == zone && Some(s.label().as_str()) == ns);
            f.tag == SLOW_ONCE && server.is_some_and(|s| s.judged().is_some() || s.is_anycast())
        };
        findings.retain(|f| f.tag != SLOW_UNICAST && f.tag != SLOW_PARENT && !over(f));
        findings.extend(self.findings(zone));
    }

    fn slow_unicast(&self, zone: &str, server: &ChainServer, stats: LatencyStats) -> Option<Finding> {
        if stats.median < SLOW_MS {
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
            broken: false,
            tag: SLOW_UNICAST.into(),
            level: if all_slow || one_place { Level::Warning } else { Level::Notice },
            message: format!(
                "The slowest server, {}, takes {} in the median of {} samples (p95 {}); {}; no sign of anycast.",
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
/// A server of the zone itself that was slow in a single look, far behind the others.
pub const SLOW_ONCE: &str = "SLOW_UNICAST_DNS";
/// The slowest server of the chain belongs to a zone above.
pub const SLOW_PARENT: &str = "LEGACY_DNS_SLOW_PARENT";
pub(super) const OURS: &str = "Domainscope";

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
    format!("{ms:.0} ms")
}

#[cfg(test)]
#[path = "latency_tests.rs"]
mod tests;
