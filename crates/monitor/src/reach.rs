//! Recognises that a part of the network is out of reach from here: name servers in many networks of several operators
//! cease to answer at the same time. In: the servers of each scan, and those of them that answered before and are silent
//! now; out: whether their silence is ours.

use jiff::Timestamp;
use model::dns::{Delegation, ProviderKind, ServerHealth, ServerState};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Networks that must cease to answer before the cause is looked for here.
const NETWORKS: usize = 4;
/// Operators that must be among them: one with servers in many networks may fail as a whole.
const OPERATORS: usize = 2;
/// Domains whose servers must be among them: the servers of one or two may fail as a whole.
const DOMAINS: usize = 3;
/// Networks that must answer for each silent one, so that what another process found does not count here.
const WELL: usize = 10;
/// Spans that are looked at by themselves, in seconds, beside an interval: what ceased just now is not to be outweighed by
/// what answered long before.
const SPANS_S: [i64; 3] = [5 * 60, 15 * 60, 90 * 60];
/// Seconds that silence is held back: an outage that lasts longer is reported, whoever's it is.
const HOLD_S: i64 = 6 * 3_600;
/// Networks that are remembered.
const REMEMBERED: usize = 5_000;
/// Networks that are forgotten when there are as many: those that were asked longest ago.
const FORGOTTEN: usize = REMEMBERED / 10;
/// How long the networks count as they were counted last.
const RECOUNT: Duration = Duration::from_secs(1);

/// Addresses that fail together: an IPv4 /24, an IPv6 /48. The flag: IPv6.
type Network = (bool, [u8; 6]);

/// When a network was heard of last.
#[derive(Debug, Default)]
struct Seen {
    answered_at: Option<Timestamp>,
    /// When a server in it was silent that answered before.
    silent_at: Option<Timestamp>,
    /// Since when it is silent, or the fault lasts that it is part of. Until it answers this stays as it is, so that no
    /// second fault holds its silence back for longer.
    silent_since: Option<Timestamp>,
    /// True when its silence was held back.
    was_held: bool,
    /// The longest span that it counts for, in seconds: an interval and a half of the domain that found it so, which is
    /// scanned again within it.
    span_s: i64,
    /// The domains that found it silent, and when; as many as count.
    domains: Vec<(String, Timestamp)>,
    operator: String,
}

impl Seen {
    /// When it was seen last, and whether it was silent then.
    fn last(&self) -> (Option<Timestamp>, bool) {
        (self.answered_at.max(self.silent_at), self.silent_at > self.answered_at)
    }

    /// True when it has been silent for longer than silence is held back.
    fn is_overdue(&self, now: Timestamp) -> bool {
        self.silent_since.is_some_and(|at| !is_within(at, HOLD_S - 1, now))
    }

    fn ceased(&mut self, domain: &str, since: Timestamp, now: Timestamp) {
        self.silent_at = Some(now);
        self.silent_since.get_or_insert(since);
        self.domains.retain(|(d, _)| d != domain);
        if self.domains.len() >= DOMAINS {
            self.domains.remove(0);
        }
        self.domains.push((domain.to_string(), now));
    }
}

/// Networks of one span.
#[derive(Debug, Default)]
struct Count<'a> {
    /// By family.
    silent: [usize; 2],
    answering: [usize; 2],
    operators: BTreeSet<&'a str>,
    domains: BTreeSet<&'a str>,
}

impl Count<'_> {
    /// How many networks are silent and how many answer, when it is many that are silent.
    fn verdict(&self) -> Option<(usize, usize)> {
        let family_gone = (0..2).any(|f| self.silent[f] >= NETWORKS && self.answering[f] == 0);
        let (silent, answering) = (self.silent.iter().sum::<usize>(), self.answering.iter().sum::<usize>());
        let many = silent >= NETWORKS && 3 * silent > silent + answering;
        let enough = self.operators.len() >= OPERATORS && self.domains.len() >= DOMAINS;
        (enough && (many || family_gone)).then_some((silent, answering))
    }
}

/// What servers answered lately, by network.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    networks: BTreeMap<Network, Seen>,
    /// Since when a part of the network is out of reach, if one is.
    since: Option<Timestamp>,
    /// The same by another process, or by the one before this: since when, and until when that counts.
    pub remote: Option<(Timestamp, Timestamp)>,
    /// How many networks are silent, and how many answer.
    counts: (usize, usize),
    /// The time of the last scan, when the networks have not been counted since.
    uncounted: Option<Timestamp>,
    /// When they were counted last, by our clock and by the time that runs whatever it is set to.
    counted: Option<(Timestamp, Instant)>,
}

impl Reach {
    /// Takes the servers of a scan into account; `ceased`: those that answered before, as events name them; `interval_s`:
    /// the seconds between two scans of this domain.
    pub fn note(&mut self, delegation: &Delegation, ceased: &[String], interval_s: i64, now: Timestamp) {
        // What ceases while a fault lasts is held back until the same time.
        let since = self.known_since(now).map_or(now, |since| since.min(now));
        let mut servers: Vec<(IpAddr, bool, String)> = Vec::new();
        for (server, operator) in delegation.servers.iter().zip(operators(delegation)) {
            let is_silent = match server.health {
                // Of a host name that could not be resolved the addresses that it had.
                ServerHealth::Unresolvable if server.is_unanswered() => {
                    let of_name =
                        ceased.iter().filter_map(|c| c.strip_prefix(&server.name)?.trim().parse().ok());
                    servers.extend(of_name.map(|address| (address, true, operator.clone())));
                    continue;
                }
                ServerHealth::NotAsked | ServerHealth::Unresolvable => continue,
                ServerHealth::Dead if ceased.contains(&server.field()) => true,
                // Silent before too, and reported as such: it says nothing about the network.
                ServerHealth::Dead => continue,
                _ => false,
            };
            servers.extend(server.address.map(|address| (address, is_silent, operator)));
        }
        // A network in which one server is silent and another one answers is one that answers.
        servers.sort_by_key(|(_, is_silent, _)| !is_silent);
        for (address, silent, operator) in servers {
            let network = network(address);
            if self.networks.len() >= REMEMBERED && !self.networks.contains_key(&network) {
                self.forget_oldest();
            }
            let seen = self.networks.entry(network).or_default();
            seen.operator = operator;
            seen.span_s = interval_s.saturating_mul(3) / 2;
            if silent {
                seen.ceased(&delegation.zone, since, now);
            } else {
                *seen = Seen {
                    answered_at: Some(now),
                    operator: std::mem::take(&mut seen.operator),
                    span_s: seen.span_s,
                    ..Seen::default()
                };
            }
        }
        self.uncounted = Some(now);
    }

    fn forget_oldest(&mut self) {
        let mut by_age: Vec<_> = self.networks.iter().map(|(network, s)| (s.last().0, *network)).collect();
        by_age.sort_unstable();
        for (_, network) in by_age.iter().take(FORGOTTEN) {
            self.networks.remove(network);
        }
    }

    /// Counts the networks, if something was noted since and the last count is not of just now.
    fn count(&mut self, at: Instant) {
        let Some(now) = self.uncounted else { return };
        // A clock that was set counts as time that passed.
        let fresh = |(then, before): (Timestamp, Instant)| {
            at.saturating_duration_since(before) < RECOUNT
                && now.duration_since(then).unsigned_abs() < RECOUNT
        };
        if self.counted.is_some_and(fresh) {
            return;
        }
        (self.counted, self.uncounted) = (Some((now, at)), None);
        let mut counts: [Count<'_>; SPANS_S.len() + 1] = Default::default();
        for ((six, _), seen) in &self.networks {
            let (Some(last), is_silent) = seen.last() else { continue };
            if is_silent && seen.is_overdue(now) {
                continue;
            }
            let family = usize::from(*six);
            let spans = SPANS_S.into_iter().chain([seen.span_s]);
            for (count, span_s) in counts.iter_mut().zip(spans).filter(|(_, s)| is_within(last, *s, now)) {
                if !is_silent {
                    count.answering[family] += 1;
                    continue;
                }
                count.silent[family] += 1;
                if count.operators.len() < OPERATORS {
                    count.operators.insert(&seen.operator);
                }
                if count.domains.len() < DOMAINS {
                    let lately = seen.domains.iter().filter(|(_, at)| is_within(*at, span_s, now));
                    count.domains.extend(lately.map(|(domain, _)| domain.as_str()));
                }
            }
        }
        let found = counts.iter().find_map(Count::verdict);
        self.since = found.map(|_| self.since.unwrap_or(now));
        self.counts = found.unwrap_or_default();
    }

    /// Since when a part of the network is out of reach, and in a sentence what was seen.
    pub fn fault(&mut self, at: Instant) -> Option<(Timestamp, String)> {
        self.count(at);
        let since = self.since?;
        let (silent, answering) = self.counts;
        let sentence = format!(
            "Name servers of several operators in {silent} networks ceased to answer at the same time; those in \
             {answering} networks answer. Check the routes, the firewall and IPv6 of this machine. Until they answer, \
             and for {} hours at most, silent servers are not reported and what was known of domains is kept.",
            HOLD_S / 3_600
        );
        Some((since, sentence))
    }

    /// True when what this process asked lately, and since the fault that another process found, nearly all answers: then the
    /// fault is one of that process's network alone.
    fn is_well_connected(&self, since: Timestamp, now: Timestamp) -> bool {
        let lately = |at: Timestamp| at > since && is_within(at, SPANS_S[1], now);
        let (mut silent, mut answering) = ([0_usize; 2], [0_usize; 2]);
        for ((six, _), seen) in &self.networks {
            match seen.last() {
                (Some(last), true) if lately(last) => silent[usize::from(*six)] += 1,
                (Some(last), false) if lately(last) => answering[usize::from(*six)] += 1,
                _ => {}
            }
        }
        let family_gone = (0..2).any(|f| silent[f] > 0 && answering[f] == 0);
        let (silent, answering): (usize, usize) = (silent.iter().sum(), answering.iter().sum());
        answering >= NETWORKS && WELL * silent <= answering && !family_gone
    }

    /// Since when a part of the network is out of reach, by this process or another.
    fn known_since(&self, now: Timestamp) -> Option<Timestamp> {
        let remote =
            self.remote.filter(|(since, until)| now <= *until && !self.is_well_connected(*since, now));
        let remote = remote.map(|(since, _)| since);
        self.since.into_iter().chain(remote).min()
    }

    /// Until when it is held back that these servers are silent, which events name so; `None` when it is not.
    pub fn hold(&mut self, ceased: &[String], now: Timestamp, at: Instant) -> Option<Timestamp> {
        self.count(at);
        let fault_since = self.known_since(now)?;
        let networks: Vec<_> = networks_of(ceased).collect();
        // One that is due to be reported is not held back for the sake of another.
        if networks.iter().filter_map(|n| self.networks.get(n)).any(|seen| seen.is_overdue(now)) {
            return None;
        }
        let mut first = None;
        for network in &networks {
            let Some(seen) = self.networks.get_mut(network) else { continue };
            seen.was_held = true;
            // It may answer by now: scans take a while.
            let since = seen.silent_since.unwrap_or(fault_since);
            first = Some(first.map_or(since, |f: Timestamp| f.min(since)));
        }
        first?.checked_add(jiff::SignedDuration::from_secs(HOLD_S)).ok()
    }

    /// Since when it was held back that one of these servers is silent, if it was.
    pub fn held_since(&self, servers: &[String]) -> Option<Timestamp> {
        let seen = networks_of(servers).filter_map(|network| self.networks.get(&network));
        seen.filter(|seen| seen.was_held).filter_map(|seen| seen.silent_since).min()
    }
}

/// The networks of servers that events name so.
fn networks_of(servers: &[String]) -> impl Iterator<Item = Network> {
    servers.iter().filter_map(|s| s.rsplit(' ').next()?.parse().ok()).map(network)
}

fn is_within(at: Timestamp, span_s: i64, now: Timestamp) -> bool {
    now.as_second().abs_diff(at.as_second()) <= span_s.unsigned_abs()
}

/// Who runs each server: its known provider. The names of the others tell nothing apart, since one operator may name
/// servers below several domains: of those domains the first, so that delegations to the same servers have the same.
fn operators(delegation: &Delegation) -> Vec<String> {
    let known = |server: &ServerState| {
        let provider = dns::provider(std::slice::from_ref(&server.name), &delegation.zone);
        provider.filter(|p| p.kind == ProviderKind::Known).map(|p| p.name)
    };
    let known: Vec<_> = delegation.servers.iter().map(known).collect();
    let unknown = delegation.servers.iter().zip(&known).filter(|(_, known)| known.is_none());
    let common = unknown.map(|(server, _)| party(&server.name)).min().unwrap_or_default();
    known.into_iter().map(|known| known.unwrap_or_else(|| common.clone())).collect()
}

/// Who a host belongs to, as far as its name says: its registrable domain.
pub(crate) fn party(host: &str) -> String {
    let domain = model::names::Fqdn::trusted(host).registrable();
    // An address is no name, though a list of suffixes finds one in it.
    let domain = domain.filter(|_| host.parse::<IpAddr>().is_err());
    domain.map_or_else(|| host.to_string(), |d| d.as_str().to_string())
}

fn network(address: IpAddr) -> Network {
    let mut prefix = [0; 6];
    match address {
        IpAddr::V4(a) => prefix[..3].copy_from_slice(&a.octets()[..3]),
        IpAddr::V6(a) => prefix.copy_from_slice(&a.octets()[..6]),
    }
    (address.is_ipv6(), prefix)
}

#[cfg(test)]
mod tests;
