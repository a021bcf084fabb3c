//! Recognises that a part of the network is out of reach from here: name servers in many networks of several operators
//! cease to answer at the same time. In: the servers of each scan, and those of them that answered before and are silent
//! now; out: whether their silence is ours.

use jiff::Timestamp;
use model::dns::{Delegation, ProviderKind, ServerHealth, ServerState};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Networks that must cease to answer before the cause is looked for here.
const NETWORKS: usize = 4;
/// Operators that must be among them: one with servers in many networks may fail as a whole.
const OPERATORS: usize = 2;
/// Spans that are looked at by themselves, in seconds, beside an interval: what ceased just now is not to be outweighed by
/// what answered long before.
const SPANS_S: [i64; 2] = [5 * 60, 15 * 60];
/// The longest span is an interval and a half, and that of an hour at least: each domain is scanned within it.
const INTERVAL_S: i64 = 3_600;
/// Networks that are remembered.
const REMEMBERED: usize = 5_000;

/// Addresses that fail together: an IPv4 /24, an IPv6 /48. The flag: IPv6.
type Network = (bool, [u8; 6]);

/// When a network was heard of last.
#[derive(Debug)]
struct Seen {
    answered_at: Option<Timestamp>,
    /// When a server in it was silent that answered before.
    silent_at: Option<Timestamp>,
    operator: String,
}

impl Seen {
    /// When it was seen last, and whether it was silent then.
    fn last(&self) -> (Option<Timestamp>, bool) {
        (self.answered_at.max(self.silent_at), self.silent_at > self.answered_at)
    }
}

/// What servers answered lately, by network.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    networks: BTreeMap<Network, Seen>,
    /// Since when a part of the network is out of reach, if one is.
    since: Option<Timestamp>,
    /// How many networks are silent, and how many answer.
    counts: (usize, usize),
}

impl Reach {
    /// Takes the servers of a scan into account; `ceased`: those that answered before, as events name them.
    pub fn note(&mut self, delegation: &Delegation, ceased: &[String], interval_s: i64, now: Timestamp) {
        let longest_s = interval_s.max(INTERVAL_S) * 3 / 2;
        if self.networks.len() >= REMEMBERED {
            self.networks.retain(|_, s| s.last().0.is_some_and(|at| is_within(at, longest_s, now)));
        }
        for server in &delegation.servers {
            let Some(address) = server.address else { continue };
            let silent = match server.health {
                ServerHealth::NotAsked | ServerHealth::Unresolvable => continue,
                ServerHealth::Dead if ceased.contains(&field(server)) => true,
                // Silent before too, and reported as such: it says nothing about the network.
                ServerHealth::Dead => continue,
                _ => false,
            };
            let network = network(address);
            if self.networks.len() >= REMEMBERED && !self.networks.contains_key(&network) {
                continue;
            }
            let operator = operator(delegation, server);
            let seen = self.networks.entry(network).or_insert_with(|| Seen {
                answered_at: None,
                silent_at: None,
                operator: String::new(),
            });
            seen.operator = operator;
            *(if silent { &mut seen.silent_at } else { &mut seen.answered_at }) = Some(now);
        }
        let spans = SPANS_S.into_iter().chain([longest_s]);
        let found = spans.into_iter().find_map(|span_s| self.silence_within(span_s, now));
        self.since = found.map(|_| self.since.unwrap_or(now));
        self.counts = found.unwrap_or_default();
    }

    /// How many networks are silent and how many answer, of those that were asked within so many seconds, when it is many
    /// that are silent.
    fn silence_within(&self, span_s: i64, now: Timestamp) -> Option<(usize, usize)> {
        // By family.
        let (mut silent, mut answering) = ([0_usize; 2], [0_usize; 2]);
        let mut operators: Vec<&str> = Vec::with_capacity(OPERATORS);
        for ((six, _), seen) in &self.networks {
            let (Some(at), is_silent) = seen.last() else { continue };
            if !is_within(at, span_s, now) {
                continue;
            }
            let family = usize::from(*six);
            if !is_silent {
                answering[family] += 1;
                continue;
            }
            silent[family] += 1;
            if operators.len() < OPERATORS && !operators.contains(&seen.operator.as_str()) {
                operators.push(&seen.operator);
            }
        }
        let family_gone = (0..2).any(|f| silent[f] >= NETWORKS && answering[f] == 0);
        let (silent, answering) = (silent.iter().sum::<usize>(), answering.iter().sum::<usize>());
        let many = silent >= NETWORKS && 3 * silent > silent + answering;
        (operators.len() >= OPERATORS && (many || family_gone)).then_some((silent, answering))
    }

    /// Since when a part of the network is out of reach, and in a sentence what was seen.
    pub fn fault(&self) -> Option<(Timestamp, String)> {
        let since = self.since?;
        let (silent, answering) = self.counts;
        let sentence = format!(
            "Name servers of several operators in {silent} networks ceased to answer at the same time; those in \
             {answering} networks answer. Check the routes, the firewall and IPv6 of this machine. Until they answer, \
             silent servers are not reported and what was known of domains is kept."
        );
        Some((since, sentence))
    }
}

fn is_within(at: Timestamp, span_s: i64, now: Timestamp) -> bool {
    now.as_second().abs_diff(at.as_second()) <= span_s.unsigned_abs()
}

/// A server as events name it.
fn field(server: &ServerState) -> String {
    let address = server.address.map(|a| format!(" {a}")).unwrap_or_default();
    format!("{}{address}", server.name)
}

/// Who runs a server: the provider of the domain's DNS, else the domain that the server's name is in.
fn operator(delegation: &Delegation, server: &ServerState) -> String {
    let of_name = || {
        let name = model::names::Fqdn::trusted(&server.name);
        name.registrable().map_or_else(|| server.name.clone(), |d| d.as_str().to_string())
    };
    let known = delegation.provider.as_ref().filter(|p| p.kind == ProviderKind::Known);
    known.map_or_else(of_name, |p| p.name.clone())
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
mod tests {
    use super::*;
    use model::dns::AnswerKind;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + 60 * minute).unwrap()
    }

    fn server(name: &str, address: &str, dead: bool) -> ServerState {
        ServerState {
            name: name.into(),
            address: Some(address.parse().unwrap()),
            in_parent: true,
            in_child: true,
            health: if dead { ServerHealth::Dead } else { ServerHealth::Authoritative },
            kind: AnswerKind::Answer,
            serial: None,
            latency_ms: None,
            tcp: None,
            recursion: None,
            nsid: None,
            problems: vec![],
            notes: vec![],
        }
    }

    fn delegation(servers: Vec<ServerState>) -> Delegation {
        Delegation {
            zone: "q7.example".into(),
            parent: "example".into(),
            delegated: true,
            parent_ns: vec![],
            child_ns: vec![],
            ds: vec![],
            servers,
            soa: None,
            negative_soa: None,
            provider: None,
            latency: model::latency::LatencyHistory::default(),
            notes: vec![],
        }
    }

    /// A scan of a domain of this operator, which has a server in each of two networks; `down`: the IPv4, the IPv6 one.
    fn scan(reach: &mut Reach, operator: u8, down: (bool, bool), minute: i64) -> bool {
        let name = format!("ns1.operator{operator}.example");
        let servers = vec![
            server(&name, &format!("192.0.{operator}.1"), down.0),
            server(&name, &format!("2001:db8:{operator}::1"), down.1),
        ];
        let ceased: Vec<String> =
            servers.iter().filter(|s| s.health == ServerHealth::Dead).map(field).collect();
        reach.note(&delegation(servers), &ceased, 3_600, at(minute));
        reach.fault().is_some()
    }

    #[test]
    fn many_networks_that_cease_at_once_are_a_fault_of_ours_until_they_answer() {
        let mut reach = Reach::default();
        for operator in 1..=10 {
            assert!(!scan(&mut reach, operator, (false, false), operator.into()));
        }
        // IPv6 leads nowhere: half of the networks.
        let said: Vec<bool> =
            (1..=10).map(|o| scan(&mut reach, o, (false, true), 60 + i64::from(o))).collect();
        assert_eq!(said[..5], [false, false, false, true, true]);
        assert!(said[5..].iter().all(|s| *s) && reach.fault().unwrap().0 == at(64));
        // One after the other answers again; a single one that stays silent is its own fault.
        let said: Vec<bool> =
            (1..=9).map(|o| scan(&mut reach, o, (false, false), 120 + i64::from(o))).collect();
        assert!(said[0] && !said[8], "{said:?}");
        assert!(!scan(&mut reach, 10, (false, true), 130));
    }

    #[test]
    fn few_servers_and_a_single_operator_are_not() {
        let mut reach = Reach::default();
        for operator in 1..=20 {
            scan(&mut reach, operator, (false, false), 0);
        }
        for operator in 1..=20 {
            let down = operator <= 3;
            assert!(!scan(&mut reach, operator, (down, false), 60), "three of forty");
        }
        // One operator with servers in six networks, all of which fail.
        let mut reach = Reach::default();
        let servers: Vec<_> =
            (1..=6).map(|n| server("ns.one.example", &format!("192.0.{n}.1"), true)).collect();
        let ceased: Vec<_> = servers.iter().map(field).collect();
        reach.note(&delegation(servers), &ceased, 3_600, at(0));
        assert!(reach.fault().is_none());
    }

    #[test]
    fn what_was_silent_before_counts_for_nothing() {
        let mut reach = Reach::default();
        for operator in 1..=10_u8 {
            let servers = vec![server("ns", &format!("192.0.{operator}.1"), true)];
            reach.note(&delegation(servers), &[], 3_600, at(0));
        }
        assert!(reach.fault().is_none());
    }
}
