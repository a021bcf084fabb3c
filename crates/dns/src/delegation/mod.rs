//! The delegation of a zone from both sides: what the parent says, what the zone's own servers say, and how each
//! address of each server behaves. RFC 1034 section 4.2.2, RFC 2308 (negative answers), RFC 7766 (TCP).

mod agreement;
mod parent;
pub(crate) mod provider;
mod record_sets;
pub(crate) mod snapshot;
pub(crate) mod trace;

use crate::error::Error;
use crate::present;
use crate::resolve::classify::{kind, milliseconds, ns_names, plain};
use crate::resolve::{HostAddresses, MAX_SERVERS};
use crate::session::transport::Failure;
use crate::session::{QueryMode, QueryResult, Session};
use crate::wire::{Name, Question, Rtype};
use futures::future::join_all;
use model::dns::{AnswerKind, Delegation, NsName, ServerHealth, ServerProblem, ServerState, Soa};
use model::latency::{ChainServer, LatencyHistory};
use parent::parent_side;
pub(crate) use record_sets::record_sets;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use trace::ask_all;

/// The whole delegation.
pub(crate) async fn delegation(session: &Session, zone: &Name) -> Result<Delegation, Error> {
    let side = parent_side(session, zone).await?;
    let mut notes = side.notes;
    if !side.delegated {
        notes.extend(session.notes());
        return Ok(Delegation {
            zone: zone.to_string(),
            parent: side.parent.to_string(),
            delegated: false,
            parent_ns: Vec::new(),
            child_ns: Vec::new(),
            ds: Vec::new(),
            servers: Vec::new(),
            negative_soa: side.enclosing_soa.clone(),
            soa: side.enclosing_soa,
            parents_differ: None,
            provider: None,
            latency: LatencyHistory { servers: side.chain, ..LatencyHistory::default() },
            notes,
        });
    }
    let mut parent_ns = side.servers;
    notes.extend(session.complete(&mut parent_ns).await);
    session.learn_zone(zone, parent_ns.clone(), 0);
    ask_ahead(session, zone, &parent_ns).await;
    let child_ns = child_set(session, zone, &parent_ns).await;
    let servers = all_servers(session, zone, &parent_ns, &child_ns, &mut notes).await;
    let mut states = join_all(servers.into_iter().map(|s| examine(session, zone, s))).await;
    mark_slow(&mut states);
    let good: Vec<IpAddr> = authoritative_addresses(&states);
    let soa = first_soa(session, zone, &good).await;
    let negative_soa = negative(session, zone, &good).await;
    let names: Vec<String> = if child_ns.is_empty() {
        parent_ns.iter().map(|n| n.name.clone()).collect()
    } else {
        child_ns.clone()
    };
    notes.extend(session.notes());
    notes.dedup();
    let mut chain = side.chain;
    chain.extend(states.iter().filter_map(|s| latency_sample(zone, s)));
    Ok(Delegation {
        latency: LatencyHistory { servers: chain, ..LatencyHistory::default() },
        provider: provider::provider(&names, &zone.to_string()),
        parents_differ: side.differ,
        zone: zone.to_string(),
        parent: side.parent.to_string(),
        delegated: true,
        parent_ns,
        child_ns,
        ds: side.ds,
        servers: states,
        soa,
        negative_soa,
        notes,
    })
}

/// A latency sample of a server of the zone itself.
fn latency_sample(zone: &Name, state: &ServerState) -> Option<ChainServer> {
    Some(ChainServer {
        zone: zone.to_string(),
        server: state.name.clone(),
        address: state.address.filter(|_| state.health != ServerHealth::NotAsked)?,
        ms: vec![state.latency_ms.map(|ms| ms as f32)],
        network: None,
        ids: state.nsid.clone().into_iter().collect(),
    })
}

pub(crate) fn authoritative_addresses(states: &[ServerState]) -> Vec<IpAddr> {
    states
        .iter()
        .filter(|s| matches!(s.health, ServerHealth::Authoritative | ServerHealth::Slow))
        .filter_map(|s| s.address)
        .collect()
}

/// Asks the servers everything at once that is needed of them later: dead ones then cost one timeout, not one per
/// question. The plain questions are those of the health checks. The answers wait in the session's memory.
async fn ask_ahead(session: &Session, zone: &Name, servers: &[NsName]) {
    let ns = trace::question(zone, Rtype::NS);
    let soa = Question::new(zone.clone(), Rtype::SOA);
    let (plain_ns, plain_soa) = (plain(zone, Rtype::NS), plain(zone, Rtype::SOA));
    let questions = [
        (&ns, QueryMode::Resolver),
        (&soa, QueryMode::Resolver),
        (&plain_ns, QueryMode::Exact),
        (&plain_ns, QueryMode::ExactTcp),
        (&plain_soa, QueryMode::Exact),
        (&plain_soa, QueryMode::ExactTcp),
    ];
    let addresses = servers.iter().flat_map(|s| &s.addresses);
    join_all(addresses.flat_map(|ip| questions.map(|(question, mode)| session.ask(*ip, question, mode))))
        .await;
}

/// Union of the NS sets that the zone's authoritative servers give.
pub(crate) async fn child_set(session: &Session, zone: &Name, parent_ns: &[NsName]) -> Vec<String> {
    let question = trace::question(zone, Rtype::NS);
    let said = ask_all(session, zone, parent_ns, &question, QueryMode::Resolver).await;
    let mut names = BTreeSet::new();
    for s in said.iter().filter(|s| s.kind == AnswerKind::Answer) {
        if let Some(reply) = s.asked.as_ref().and_then(|a| a.reply()) {
            names.extend(ns_names(&reply.answers, zone).iter().map(Name::to_string));
        }
    }
    names.into_iter().take(MAX_SERVERS).collect()
}

/// A server address to be examined.
struct Candidate {
    name: String,
    address: Option<IpAddr>,
    in_parent: bool,
    in_child: bool,
    problems: Vec<ServerProblem>,
    notes: Vec<String>,
}

/// Every name of either side with every address that glue, the zone itself or the DNS gives it.
async fn all_servers(
    session: &Session,
    zone: &Name,
    parent_ns: &[NsName],
    child_ns: &[String],
    notes: &mut Vec<String>,
) -> Vec<Candidate> {
    let names: BTreeSet<String> =
        parent_ns.iter().map(|n| n.name.clone()).chain(child_ns.iter().cloned()).collect();
    // Glue is compared with what the zone itself says; names without were looked up before, and are remembered.
    let (wanted, hosts): (Vec<&String>, Vec<Name>) =
        names.iter().filter_map(|n| Some((n, Name::from_text(n).ok()?))).unzip();
    let found = session.hosts(hosts).await;
    let looked_up: BTreeMap<&String, HostAddresses> = wanted.into_iter().zip(found).collect();
    let mut out = Vec::new();
    for name in &names {
        let found = looked_up.get(name).cloned().unwrap_or_default();
        let listed = parent_ns.iter().find(|n| n.name == *name);
        let glue: &[IpAddr] = listed.map(|n| n.addresses.as_slice()).unwrap_or_default();
        let mut addresses: BTreeSet<IpAddr> = glue.iter().copied().collect();
        addresses.extend(&found.addresses);
        let alias = found.alias.as_ref().map(|target| ServerProblem::Alias { target: target.to_string() });
        let state = |address: Option<IpAddr>, problem: Option<ServerProblem>, notes: Vec<String>| Candidate {
            name: name.clone(),
            address,
            in_parent: listed.is_some(),
            in_child: child_ns.contains(name),
            problems: alias.clone().into_iter().chain(problem).collect(),
            notes,
        };
        if let Some(alias) = &found.alias {
            let words = format!("{name} is an alias of {alias}; a name server's name must not be");
            if !notes.iter().any(|n| n.contains(&words)) {
                notes.push(words);
            }
        }
        let compared = listed.is_some_and(|n| n.glue) && !found.addresses.is_empty();
        for ip in &addresses {
            let (mut problem, mut remarks) = (None, Vec::new());
            if compared && !found.addresses.contains(ip) {
                problem = Some(ServerProblem::GlueOnly);
                remarks.push(format!("{ip} is glue at the parent only: {name} has other addresses now"));
            } else if compared && !glue.contains(ip) {
                problem = Some(ServerProblem::GlueMissing);
                remarks.push(format!("{ip} is missing from the glue at the parent"));
            }
            out.push(state(Some(*ip), problem, remarks));
        }
        if addresses.is_empty() {
            let why = found.problem.unwrap_or_else(|| "no address".into());
            out.push(state(
                None,
                Some(ServerProblem::NoAddress {
                    cyclic: !found.cycle.is_empty(),
                    unanswered: found.unanswered,
                }),
                vec![why],
            ));
        }
    }
    tracing::debug!(zone = %zone, servers = out.len(), "name servers collected");
    out
}

/// Asks one address for the SOA over UDP and TCP at once.
async fn examine(session: &Session, zone: &Name, c: Candidate) -> ServerState {
    let mut state = ServerState {
        name: c.name,
        address: c.address,
        in_parent: c.in_parent,
        in_child: c.in_child,
        health: ServerHealth::Unresolvable,
        kind: AnswerKind::NotAsked,
        serial: None,
        latency_ms: None,
        tcp: None,
        recursion: None,
        nsid: None,
        problems: c.problems,
        notes: c.notes,
    };
    let Some(ip) = c.address else { return state };
    let question = Question::new(zone.clone(), Rtype::SOA);
    let bare = plain(zone, Rtype::SOA);
    let (udp, tcp) = futures::join!(
        session.ask(ip, &question, QueryMode::Resolver),
        session.ask(ip, &bare, QueryMode::ExactTcp)
    );
    let authoritative = |asked: &QueryResult| {
        asked.reply().is_some_and(|r| r.aa && r.rcode == 0 && r.answers_of(zone, Rtype::SOA).next().is_some())
    };
    state.kind = kind(&udp, zone, &question);
    state.notes.extend(udp.notes.iter().cloned());
    if let Err(Failure::Unreachable(why) | Failure::NotAsked(why)) = &udp.result {
        state.notes.push(why.clone());
    }
    if udp.result == Err(Failure::TooLarge) {
        state.notes.push(crate::resolve::classify::too_large());
    }
    state.tcp = match &tcp.result {
        Ok(_) => Some(true),
        Err(Failure::NotAsked(_)) => None,
        Err(_) => Some(false),
    };
    state.health = match state.kind {
        _ if authoritative(&udp) => ServerHealth::Authoritative,
        AnswerKind::NotAsked => ServerHealth::NotAsked,
        AnswerKind::Timeout | AnswerKind::Unreachable | AnswerKind::Malformed => ServerHealth::Dead,
        _ => ServerHealth::Lame,
    };
    if state.health == ServerHealth::Dead && state.tcp == Some(true) {
        state.problems.push(ServerProblem::TcpOnly);
        state.notes.push("answers over TCP but not over UDP".into());
    }
    if let Some(reply) = udp.reply() {
        state.latency_ms = Some(milliseconds(udp.latency));
        state.recursion = Some(reply.ra);
        state.nsid = reply.nsid();
        state.serial = present::soa_of(reply).filter(|s| s.zone == zone.to_string()).map(|s| s.serial);
    }
    state
}

/// A server is slow when it takes five times the median of its peers and at least 100 ms.
pub(crate) const SLOW_FACTOR: f64 = 5.0;
pub(crate) const SLOW_FLOOR_MS: f64 = 100.0;

/// Median of the latencies of the servers other than `index`.
pub(crate) fn peers_median(states: &[ServerState], index: usize) -> Option<f64> {
    let mut peers: Vec<f64> = states
        .iter()
        .enumerate()
        .filter(|(i, s)| *i != index && s.kind.is_authoritative())
        .filter_map(|(_, s)| s.latency_ms)
        .collect();
    peers.sort_by(f64::total_cmp);
    (!peers.is_empty()).then(|| peers[(peers.len() - 1) / 2])
}

fn mark_slow(states: &mut [ServerState]) {
    let slow: Vec<usize> = (0..states.len())
        .filter(|i| {
            let latency = states[*i].latency_ms.unwrap_or(0.0);
            states[*i].health == ServerHealth::Authoritative
                && latency >= SLOW_FLOOR_MS
                && peers_median(states, *i).is_some_and(|m| latency >= SLOW_FACTOR * m)
        })
        .collect();
    for i in slow {
        states[i].health = ServerHealth::Slow;
    }
}

async fn first_soa(session: &Session, zone: &Name, good: &[IpAddr]) -> Option<Soa> {
    let question = Question::new(zone.clone(), Rtype::SOA);
    for ip in good {
        let asked = session.ask(*ip, &question, QueryMode::Resolver).await;
        let soa = asked.reply().and_then(|r| r.answers_of(zone, Rtype::SOA).find_map(present::soa));
        if soa.is_some() {
            return soa;
        }
    }
    None
}

/// The SOA of a real negative answer: of a name that does not exist, or, where a wildcard answers for every name, of
/// a type that the apex does not have.
async fn negative(session: &Session, zone: &Name, good: &[IpAddr]) -> Option<Soa> {
    let missing = zone.child(&random_label()).map(|n| Question::new(n, Rtype::A));
    let odd_type = Question::new(zone.clone(), Rtype::AFSDB);
    for question in missing.into_iter().chain([odd_type]) {
        for ip in good.iter().take(3) {
            let asked = session.ask(*ip, &question, QueryMode::Resolver).await;
            let Some(reply) = asked.reply() else { continue };
            let denied = matches!(kind(&asked, zone, &question), AnswerKind::NxDomain | AnswerKind::NoData);
            let soa = reply.authority.iter().find_map(present::soa);
            if denied && soa.is_some() {
                return soa;
            }
            if !denied && reply.rcode == 0 {
                break;
            }
        }
    }
    None
}

/// A label that exists in no zone: 64 random bits.
pub(crate) fn random_label() -> String {
    format!("domainscope-{:016x}", rand::random::<u64>())
}
