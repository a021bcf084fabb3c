//! What is to be said about the speed of a zone's servers. In: looks over time (`model::latency`), from here and from points
//! of presence. Out: how the servers are spread over the network, and findings with their numbers; nothing on too few
//! looks, nothing where several identifiers at one address show anycast.

use crate::dns::latency::{ChainServer, LatencyHistory, LatencyStats};
use crate::dns::place_latency::{MIN_PLACE_LOOKS, PlaceFigure};
use crate::dns::spread::{Spread, slowest};
use crate::finding::{Finding, Level};
use serde_json::{Map, Value};

/// A server is slow when half of its answers take longer than this, in milliseconds.
pub const SLOW_MS: f64 = 100.0;
/// A server is slow at a point of presence when half of its answers there take longer than this, in milliseconds.
const SLOW_AT_PLACE_MS: f64 = crate::tools::places::SLOW_MS;
/// Places that a sentence names.
const NAMED: usize = 6;

impl LatencyHistory {
    /// What is to be said about the speed of `zone`, when there are enough looks.
    pub fn findings(&self, zone: &str) -> Vec<Finding> {
        let of_zone = || self.servers.iter().filter(|s| s.zone == zone);
        let own = slowest(of_zone());
        // A slow anycast server does not hide a slow one that is not.
        let unicast = slowest(of_zone().filter(|s| !self.is_anycast(s)));
        let slow_here = unicast.and_then(|(s, stats)| self.slow_unicast(zone, s, stats));
        let mut out: Vec<Finding> = slow_here.or_else(|| self.slow_elsewhere(zone)).into_iter().collect();
        let above = slowest(self.servers.iter().filter(|s| s.zone != zone));
        if let Some((server, stats)) = above
            && stats.median >= SLOW_MS
            && !self.is_anycast(server)
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
            f.tag == SLOW_ONCE && server.is_some_and(|s| s.judged().is_some() || self.is_anycast(s))
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
        self.add_evidence(zone, server, &mut args);
        let at_places = match named(&self.figures(server)) {
            words if words.is_empty() => words,
            words => format!(" Median from the points of presence: {words}."),
        };
        Some(Finding {
            broken: false,
            tag: SLOW_UNICAST.into(),
            level: if all_slow || one_place { Level::Warning } else { Level::Notice },
            message: format!(
                "The slowest server, {}, takes {} in the median of {} samples (p95 {}); {}; {}.{at_places}",
                server.label(),
                rounded(stats.median),
                stats.looks,
                rounded(stats.p95),
                spread.words(),
                self.machines(server)
            ),
            fix: FIX.into(),
            args,
            test_case: OURS.into(),
            zone: zone.into(),
        })
    }

    /// The server of the zone that is slowest at a point of presence, though fast enough from here.
    fn slow_elsewhere(&self, zone: &str) -> Option<Finding> {
        let unicast = self.servers.iter().filter(|s| s.zone == zone && !self.is_anycast(s));
        let farthest = |server| {
            let figures = self.figures(server);
            let far = figures.iter().rfind(|f| f.looks >= MIN_PLACE_LOOKS).copied()?;
            (far.median >= SLOW_AT_PLACE_MS).then_some((server, far))
        };
        let (server, far) = unicast.filter_map(farthest).max_by(|a, b| a.1.median.total_cmp(&b.1.median))?;
        let mut args = match server.stats() {
            Some(stats) => numbers(server, stats),
            None => Map::from_iter([("ns".to_string(), server.label().into())]),
        };
        self.add_evidence(zone, server, &mut args);
        Some(Finding {
            broken: false,
            tag: SLOW_UNICAST.into(),
            level: Level::Notice,
            message: format!(
                "{} takes {} from {} in the median of {} samples; {}. Median from the points of presence: {}.",
                server.label(),
                rounded(far.median),
                far.place.id,
                far.looks,
                self.machines(server),
                named(&self.figures(server))
            ),
            fix: FIX.into(),
            args,
            test_case: OURS.into(),
            zone: zone.into(),
        })
    }

    /// Adds to the arguments of a finding how the servers are spread, what each place measured, and whether one machine
    /// answers everywhere.
    fn add_evidence(&self, zone: &str, server: &ChainServer, args: &mut Map<String, Value>) {
        let servers = self.servers.iter().filter(|s| s.zone == zone).count();
        args.insert("servers".into(), servers.into());
        args.insert("spread".into(), self.spread(zone).words().into());
        if let Some(network) = &server.network {
            args.insert("prefix".into(), network.prefix.clone().into());
            args.insert(
                "asns".into(),
                network.asns.iter().map(|a| format!("AS{a}")).collect::<Vec<_>>().join(";").into(),
            );
        }
        let figures = self.figures(server);
        if figures.is_empty() {
            return;
        }
        let of_place = |f: &PlaceFigure<'_>| (f.place.id.clone(), tenth(f.median));
        args.insert("places".into(), Value::Object(figures.iter().map(of_place).collect()));
        let one = self.one_machine(server);
        args.insert("routing".into(), if one.is_some() { "unicast" } else { "unknown" }.into());
        if let Some(id) = one {
            args.insert("nsid".into(), id.into());
        }
    }

    /// Whether one machine answers, for the end of a sentence.
    fn machines(&self, server: &ChainServer) -> String {
        match self.one_machine(server) {
            Some(id) => {
                let places = self.identified_at(server);
                format!("unicast, as it is {id} at all {places} places that gave an identifier")
            }
            None => "no sign of anycast".into(),
        }
    }
}

/// What to do about slow servers that are in one place.
const FIX: &str = "Serve the zone from several places or by an anycast DNS service: resolvers meet the slowest \
                   server again and again, and the visitor waits for it.";

/// Figures of places in words, slowest first.
fn named(figures: &[PlaceFigure<'_>]) -> String {
    let one = |f: &PlaceFigure<'_>| format!("{} {}", f.place.id, rounded(f.median));
    let mut words: Vec<_> = figures.iter().rev().take(NAMED).map(one).collect();
    if figures.len() > NAMED {
        words.push(format!("{} more are faster", figures.len() - NAMED));
    }
    words.join(", ")
}

/// Slow servers of the zone itself that nothing shows to be anycast.
pub const SLOW_UNICAST: &str = "LEGACY_DNS_SLOW_UNICAST";
/// A server of the zone itself that was slow in a single look, far behind the others.
pub const SLOW_ONCE: &str = "SLOW_UNICAST_DNS";
/// The slowest server of the chain belongs to a zone above.
pub const SLOW_PARENT: &str = "LEGACY_DNS_SLOW_PARENT";
pub(super) const OURS: &str = "Domainscope";

fn numbers(server: &ChainServer, stats: LatencyStats) -> Map<String, Value> {
    let mut args = Map::new();
    args.insert("ns".into(), server.label().into());
    args.insert("looks".into(), stats.looks.into());
    for (name, ms) in [("min", stats.min), ("median", stats.median), ("p95", stats.p95), ("last", stats.last)]
    {
        args.insert(name.into(), tenth(ms));
    }
    args
}

fn tenth(ms: f64) -> Value {
    Value::from((ms * 10.0).round() / 10.0)
}

fn rounded(ms: f64) -> String {
    format!("{ms:.0} ms")
}

#[cfg(test)]
#[path = "latency_tests.rs"]
mod tests;
