//! The parent's side of a delegation: NS set, glue and DS as the parent's servers give them, or who denies the name.
//! In: a zone. Out: [`ParentSide`]. RFC 1034 section 4.2.1.

use crate::delegation::agreement::parents_differ;
use crate::delegation::trace::{self, ServerReply, Step, descend, ds_of};
use crate::dnssec::NXDOMAIN;
use crate::error::Error;
use crate::present;
use crate::resolve::classify::{kind, ns_names, plain, referral_zone};
use crate::resolve::reach::{intercepted, root_is_there};
use crate::resolve::{MAX_SERVERS, glued};
use crate::session::{QueryMode, Session};
use crate::wire::{Name, Question, Reply, Rtype};
use futures::future::join_all;
use model::dns::{AnswerKind, NsName, Soa, TraceOutcome};
use model::latency::ChainServer;
use model::registration::Ds;
use std::collections::{BTreeMap, BTreeSet};

/// What the parent's side says.
pub(crate) struct ParentSide {
    pub parent: Name,
    pub delegated: bool,
    pub servers: Vec<NsName>,
    pub ds: Vec<Ds>,
    /// SOA of the enclosing zone, when the name is not delegated.
    pub enclosing_soa: Option<Soa>,
    /// How the servers of the parent disagree about it.
    pub differ: Option<String>,
    /// The servers of the zones between the root and this one, with the time they took.
    pub chain: Vec<ChainServer>,
    pub notes: Vec<String>,
}

/// Walks down to the zone and reads its parent's NS set, glue and DS.
pub(crate) async fn parent_side(session: &Session, zone: &Name) -> Result<ParentSide, Error> {
    let (steps, outcome) = descend(session, zone, Rtype::NS, Some(zone)).await;
    let mut notes: Vec<String> = Vec::new();
    let chain = chain_of(&steps, zone);
    for step in &steps {
        notes.extend(step.notes.iter().map(|n| format!("{}: {n}", step.zone)));
    }
    if let Some(step) = steps.iter().find(|s| s.referral.as_ref().is_some_and(|(to, _)| to == zone)) {
        let mut ds = step
            .chosen_asked()
            .and_then(|a| a.reply())
            .map(|r| ds_of(&r.authority, zone))
            .unwrap_or_default();
        if ds.is_empty() {
            ds = ask_ds(session, step, zone).await?;
        }
        let servers = step.referral.as_ref().map(|(_, s)| s.clone()).unwrap_or_default();
        return Ok(ParentSide {
            differ: parents_differ(&step.replies, zone),
            parent: step.zone.clone(),
            delegated: true,
            servers,
            ds,
            enclosing_soa: None,
            chain,
            notes,
        });
    }
    let Some(last) = steps.last() else {
        return Err(Error::Hints("no root server".into()));
    };
    let reply = last.chosen_asked().and_then(|a| a.reply());
    match outcome {
        TraceOutcome::Answer => {
            let reply = reply.cloned();
            let servers = reply.as_ref().map(|r| same_servers(r, zone)).unwrap_or_default();
            let parent =
                if zone == &last.zone { zone.parent() } else { enclosing(session, last, zone).await };
            let ds = ask_ds(session, last, zone).await?;
            notes.push(format!(
                "the servers of {parent} also serve {zone}: the delegation itself cannot be seen"
            ));
            Ok(ParentSide {
                differ: None,
                parent,
                delegated: !servers.is_empty(),
                servers,
                ds,
                enclosing_soa: None,
                chain,
                notes,
            })
        }
        TraceOutcome::NoData | TraceOutcome::NxDomain => {
            denial_counts(session, last, zone).await?;
            let soa = reply.and_then(present::soa_of);
            let parent = soa
                .as_ref()
                .and_then(|s| Name::from_text(&s.zone).ok())
                .filter(|p| zone.is_at_or_below(p))
                .unwrap_or_else(|| last.zone.clone());
            Ok(ParentSide {
                differ: None,
                parent,
                delegated: false,
                servers: Vec::new(),
                ds: Vec::new(),
                enclosing_soa: soa,
                chain,
                notes,
            })
        }
        TraceOutcome::Exhausted => Err(Error::Exhausted {
            name: zone.to_string(),
            queries: session.queries(),
            elapsed_ms: session.elapsed_ms() as u64,
        }),
        TraceOutcome::Lame | TraceOutcome::Loop => {
            let asked = last.replies.iter().filter_map(|s| s.asked.as_deref());
            let question = trace::question(zone, Rtype::NS);
            if let Some(e) = intercepted(&last.zone, &question, asked) {
                return Err(e);
            }
            // The way down begins at a zone of which the servers are known: where they are silent, so may all others be.
            if outcome == TraceOutcome::Lame {
                root_is_there(session).await?;
            }
            Err(Error::Unreachable { zone: last.zone.to_string(), detail: tally(last) })
        }
    }
}

/// A latency sample of the servers above the zone, without those of the root, which all zones share.
fn chain_of(steps: &[Step], zone: &Name) -> Vec<ChainServer> {
    let mut chain = Vec::new();
    for step in steps.iter().filter(|s| !s.zone.is_root() && s.zone != *zone) {
        for said in step.replies.iter().take(MAX_SERVERS) {
            let (Some(address), Some(asked)) = (said.address, said.asked.as_ref()) else { continue };
            let reply = asked.reply();
            chain.push(ChainServer {
                zone: step.zone.to_string(),
                server: said.server.clone(),
                address,
                ms: vec![reply.map(|_| asked.latency.as_secs_f32() * 1000.0)],
                network: None,
                ids: reply.and_then(Reply::nsid).into_iter().collect(),
            });
        }
    }
    chain
}

fn tally(step: &Step) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for said in &step.replies {
        let what = if said.address.is_none() { "no address" } else { said.kind.words() };
        *counts.entry(what).or_default() += 1;
    }
    if counts.is_empty() {
        return "it has no name servers".into();
    }
    counts.iter().map(|(what, n)| format!("{n} × {what}")).collect::<Vec<_>>().join(", ")
}

/// NS set in the answer of a server that serves parent and zone alike.
fn same_servers(reply: &Reply, zone: &Name) -> Vec<NsName> {
    ns_names(&reply.answers, zone).iter().take(MAX_SERVERS).map(|n| glued(reply, n, &Name::root())).collect()
}

/// The zone that encloses `zone` on servers that serve both.
async fn enclosing(session: &Session, step: &Step, zone: &Name) -> Name {
    let Some(said) = step.chosen.and_then(|i| step.replies[i].address) else { return step.zone.clone() };
    let mut candidate = zone.parent();
    while candidate.is_below(&step.zone) {
        let asked =
            session.ask(said, &Question::new(candidate.clone(), Rtype::SOA), QueryMode::Resolver).await;
        if asked.reply().is_some_and(|r| r.aa && r.answers_of(&candidate, Rtype::SOA).next().is_some()) {
            return candidate;
        }
        candidate = candidate.parent();
    }
    step.zone.clone()
}

/// Servers of a parent zone that are asked for what one of them is not asked for.
const ASKED: usize = 4;

/// The DS records of the zone, from a server that agrees with most others where there is one. Silence and failures (SERVFAIL,
/// REFUSED) say nothing of them; a referral is the answer of a server that does not know the type (RFC 4035 section 3.1.4).
async fn ask_ds(session: &Session, step: &Step, zone: &Name) -> Result<Vec<Ds>, Error> {
    let question = trace::question(zone, Rtype::DS);
    let chosen = step.chosen.and_then(|i| step.replies.get(i));
    let others = step.replies.iter().filter(|s| s.kind.responded());
    let mut asked_any = false;
    let mut answered = false;
    for ip in chosen.into_iter().chain(others).filter_map(|s| s.address).take(ASKED) {
        let asked = session.ask(ip, &question, QueryMode::Resolver).await;
        if let Some(reply) = asked.reply().filter(|r| r.aa && r.rcode == 0) {
            return Ok(ds_of(&reply.answers, zone));
        }
        asked_any = true;
        answered |= asked
            .reply()
            .is_some_and(|r| r.aa && r.rcode == NXDOMAIN || r.rcode == 0 && referral_zone(r) == Some(zone));
    }
    if asked_any && !answered {
        let detail = format!("none answers the question for the DS records of {zone}");
        return Err(Error::Unreachable { zone: step.zone.to_string(), detail });
    }
    Ok(Vec::new())
}

/// Fails when that a zone is not delegated is said by one server alone while others are silent: it may have an old copy. The
/// silent ones are asked once more, over TCP.
async fn denial_counts(session: &Session, step: &Step, zone: &Name) -> Result<(), Error> {
    let denies = |s: &&ServerReply| matches!(s.kind, AnswerKind::NoData | AnswerKind::NxDomain);
    let denying: BTreeSet<&str> = step.replies.iter().filter(denies).map(|s| s.server.as_str()).collect();
    let is_silent = |s: &&ServerReply| matches!(s.kind, AnswerKind::Timeout | AnswerKind::Unreachable);
    let silent: Vec<&ServerReply> = step.replies.iter().filter(is_silent).collect();
    let not_heard: BTreeSet<&str> =
        silent.iter().map(|s| s.server.as_str()).filter(|s| !denying.contains(s)).collect();
    if denying.len() > 1 || not_heard.is_empty() {
        return Ok(());
    }
    let question = plain(zone, Rtype::NS);
    let others = silent.iter().filter(|s| not_heard.contains(s.server.as_str()));
    let others = others.filter_map(|s| s.address).take(ASKED);
    let replies = join_all(others.map(|ip| session.ask(ip, &question, QueryMode::ExactTcp))).await;
    let kinds: Vec<AnswerKind> = replies.iter().map(|asked| kind(asked, &step.zone, &question)).collect();
    let unreachable = |detail: String| Err(Error::Unreachable { zone: step.zone.to_string(), detail });
    if kinds.iter().any(|k| matches!(k, AnswerKind::Referral | AnswerKind::Answer)) {
        return unreachable(format!("they disagree whether {zone} is delegated, and few answer"));
    }
    let agrees = kinds.iter().any(|k| matches!(k, AnswerKind::NoData | AnswerKind::NxDomain));
    // Of two servers one may well be down for good.
    if !agrees && not_heard.len() > 1 {
        return unreachable(format!("only one says that {zone} is not delegated: {}", tally(step)));
    }
    Ok(())
}
