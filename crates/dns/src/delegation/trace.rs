//! The path from the root to the servers that answer for a name: every server of every set is asked, nothing comes
//! from a cache. In: a name and a type. Out: [`model::dns::Trace`].

use super::agreement::{choose, disagreement};
use crate::present;
use crate::resolve::classify::{kind, referral_zone, server_answer};
use crate::resolve::reach::intercepted;
use crate::resolve::{CIRCULAR, MAX_ALIASES, MAX_REFERRALS, alias, referred};
use crate::session::{QueryMode, QueryResult, Session};
use crate::wire::{Data, Edns, Name, Question, Rr, Rtype};
use futures::future::join_all;
use model::dns::{
    AnswerKind, ChainEnd, NsName, Record, Referral, ServerAnswer, Trace, TraceOutcome, TraceStep,
};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

/// The reply of one server × address of a step.
pub(crate) struct ServerReply {
    pub server: String,
    pub address: Option<IpAddr>,
    pub asked: Option<Arc<QueryResult>>,
    pub kind: AnswerKind,
}

/// One step with the replies themselves.
pub(crate) struct Step {
    pub zone: Name,
    pub replies: Vec<ServerReply>,
    pub chosen: Option<usize>,
    pub referral: Option<(Name, Vec<NsName>)>,
    pub notes: Vec<String>,
}

impl Step {
    pub(crate) fn chosen_asked(&self) -> Option<&Arc<QueryResult>> {
        self.replies[self.chosen?].asked.as_ref()
    }
}

/// The question of a trace: with DO, so that referrals show their DS records.
pub(crate) fn question(name: &Name, rtype: Rtype) -> Question {
    let mut question = Question::new(name.clone(), rtype);
    question.edns = Some(Edns::ordinary(true));
    question
}

/// Asks every address of every server in parallel.
pub(crate) async fn ask_all(
    session: &Session,
    zone: &Name,
    servers: &[NsName],
    question: &Question,
    mode: QueryMode,
) -> Vec<ServerReply> {
    let mut list = Vec::new();
    for server in servers {
        if server.addresses.is_empty() {
            list.push((server.name.clone(), None));
        }
        list.extend(server.addresses.iter().map(|ip| (server.name.clone(), Some(*ip))));
    }
    join_all(list.into_iter().map(|(server, address)| async move {
        let Some(ip) = address else {
            return ServerReply { server, address: None, asked: None, kind: AnswerKind::NotAsked };
        };
        let asked = session.ask(ip, question, mode).await;
        ServerReply { server, address, kind: kind(&asked, zone, question), asked: Some(asked) }
    }))
    .await
}

/// Walks down from the root. The last step has no referral, unless `stop` names the zone at whose delegation to stop.
pub(crate) async fn descend(
    session: &Session,
    name: &Name,
    rtype: Rtype,
    stop: Option<&Name>,
) -> (Vec<Step>, TraceOutcome) {
    let question = question(name, rtype);
    let mut zone = Name::root();
    let mut servers = session.settings.root_hints.servers().to_vec();
    let mut steps: Vec<Step> = Vec::new();
    let mut inherited: Vec<String> = Vec::new();
    loop {
        let replies = ask_all(session, &zone, &servers, &question, QueryMode::Resolver).await;
        let mut notes = std::mem::take(&mut inherited);
        let chosen = choose(&replies, &question);
        notes.extend(disagreement(&replies, question.rtype));
        let asked = replies.iter().filter_map(|s| s.asked.as_deref());
        notes.extend(intercepted(&zone, &question, asked).map(|e| e.to_string()));
        let referral = chosen.filter(|i| replies[*i].kind == AnswerKind::Referral).and_then(|i| {
            let reply = replies[i].asked.as_ref()?.reply()?;
            let to = referral_zone(reply)?.clone();
            let next = referred(reply, &to, &zone);
            Some((to, next))
        });
        let kind = chosen.map(|i| replies[i].kind);
        let step = Step { zone: zone.clone(), replies, chosen, referral, notes };
        let onward = step.referral.clone();
        steps.push(step);
        let outcome = match (kind, onward) {
            (Some(AnswerKind::Referral), Some((to, mut next))) => {
                if steps.len() > MAX_REFERRALS {
                    TraceOutcome::Loop
                } else {
                    inherited = session.complete(&mut next).await;
                    session.learn_zone(&to, next.clone(), 0);
                    if let Some(step) = steps.last_mut() {
                        step.referral = Some((to.clone(), next.clone()));
                    }
                    if stop == Some(&to) {
                        if let Some(step) = steps.last_mut() {
                            step.notes.append(&mut inherited);
                        }
                        return (steps, TraceOutcome::Answer);
                    }
                    if next.iter().all(|s| s.addresses.is_empty())
                        && inherited.iter().any(|n| n.contains(CIRCULAR))
                    {
                        let notes = std::mem::take(&mut inherited);
                        let replies = ask_all(session, &to, &next, &question, QueryMode::Resolver).await;
                        steps.push(Step { zone: to, replies, chosen: None, referral: None, notes });
                        return (steps, TraceOutcome::Loop);
                    }
                    zone = to;
                    servers = next;
                    continue;
                }
            }
            (Some(AnswerKind::Answer), _) => TraceOutcome::Answer,
            (Some(AnswerKind::NoData), _) => TraceOutcome::NoData,
            (Some(AnswerKind::NxDomain), _) => TraceOutcome::NxDomain,
            _ if session.exhausted() => TraceOutcome::Exhausted,
            _ => TraceOutcome::Lame,
        };
        return (steps, outcome);
    }
}

pub(crate) async fn trace(session: &Session, name: &Name, rtype: Rtype) -> Trace {
    let (steps, outcome) = descend(session, name, rtype, None).await;
    let mut notes = Vec::new();
    let last = steps.last().and_then(Step::chosen_asked).cloned();
    let reply = last.as_ref().and_then(|a| a.reply());
    let records = match outcome {
        TraceOutcome::Answer => {
            let records = reply.map(|r| once(present::records(&r.answers))).unwrap_or_default();
            if session.budget.charge(octets_of(&records)) { records } else { Vec::new() }
        }
        _ => Vec::new(),
    };
    let complete = rtype == Rtype::CNAME || records.iter().any(|r| r.rtype == rtype.to_string());
    if let Some(target) = reply.and_then(|r| alias(r, name)).filter(|_| !complete) {
        notes.push(format!("{name} is an alias: the answer is to be found at {target}"));
    }
    let soa = match outcome {
        TraceOutcome::NoData | TraceOutcome::NxDomain => reply.and_then(present::soa_of),
        _ => None,
    };
    let steps = steps.into_iter().map(|step| step_of(session, step)).collect();
    notes.splice(0..0, session.notes());
    let mut trace = Trace {
        name: name.to_string(),
        rtype: rtype.to_string(),
        steps,
        outcome,
        records,
        soa,
        queries: session.queries(),
        elapsed_ms: session.elapsed_ms(),
        notes,
        address_space: Vec::new(),
    };
    if let Some(words) = trace.circle().and_then(|end| end.words()) {
        trace.notes.push(format!("the aliases go round in a circle: {words}"));
    }
    trace
}

/// A record that an answer repeats counts once (RFC 2181 section 5).
fn once(mut records: Vec<Record>) -> Vec<Record> {
    let mut seen = BTreeSet::new();
    records.retain(|r| seen.insert((r.name.clone(), r.rtype.clone(), r.data.clone())));
    records
}

/// The trace of a name and, when it is an alias, of each name it leads to. The second part says why it broke off.
pub(crate) async fn chain(session: &Session, name: &Name, rtype: Rtype) -> (Vec<Trace>, ChainEnd) {
    let mut traces: Vec<Trace> = Vec::new();
    let mut current = name.clone();
    loop {
        let trace = trace(session, &current, rtype).await;
        let data = trace
            .records
            .iter()
            .find(|r| r.rtype == "CNAME" && r.name == current.to_string())
            .map(|r| r.data.clone())
            .filter(|_| rtype != Rtype::CNAME);
        traces.push(trace);
        let Some(target) = data.and_then(|d| Name::from_text(&d).ok()) else {
            return (traces, ChainEnd::Complete);
        };
        if traces.iter().any(|t| t.name == target.to_string()) {
            return (traces, ChainEnd::Circle { from: current.to_string(), to: target.to_string() });
        }
        if traces.len() > MAX_ALIASES {
            return (traces, ChainEnd::TooLong { limit: MAX_ALIASES });
        }
        current = target;
    }
}

fn step_of(session: &Session, step: Step) -> TraceStep {
    let referral = step.referral.as_ref().map(|(to, servers)| {
        let authority =
            step.chosen_asked().and_then(|a| a.reply()).map(|r| r.authority.as_slice()).unwrap_or_default();
        Referral {
            zone: to.to_string(),
            nameservers: servers.clone(),
            ds: ds_of(authority, to),
            ttl: authority.iter().find(|rr| rr.rtype == Rtype::NS && rr.name == *to).map_or(0, |rr| rr.ttl),
        }
    });
    TraceStep {
        zone: step.zone.to_string(),
        answers: step.replies.iter().map(|reply| within_budget(session, answer_of(reply))).collect(),
        chosen: step.chosen,
        referral,
        notes: step.notes,
    }
}

/// DS records of `zone` in a section.
pub(crate) fn ds_of(section: &[Rr], zone: &Name) -> Vec<model::registration::Ds> {
    let mut list: Vec<_> = section
        .iter()
        .filter(|rr| rr.rtype == Rtype::DS && rr.name == *zone)
        .filter_map(|rr| match &rr.data {
            Data::Ds(ds) => Some(ds.clone()),
            _ => None,
        })
        .collect();
    list.sort_by_key(|ds| (ds.key_tag, ds.algorithm, ds.digest_type, ds.digest.clone()));
    list.dedup();
    list
}

/// The answer as it is when the operation may still keep its records, else without them.
fn within_budget(session: &Session, mut answer: ServerAnswer) -> ServerAnswer {
    let sections = [&answer.answers, &answer.authority, &answer.additional];
    if !session.budget.charge(sections.into_iter().map(|section| octets_of(section)).sum()) {
        for section in [&mut answer.answers, &mut answer.authority, &mut answer.additional] {
            *section = Vec::new();
        }
        answer.notes.push(format!("its records are left out: {}", session.budget.words()));
    }
    answer
}

/// Octets of memory that records take as text.
fn octets_of(records: &[Record]) -> usize {
    records.iter().map(|r| size_of::<Record>() + r.name.len() + r.rtype.len() + r.data.len()).sum()
}

fn answer_of(from: &ServerReply) -> ServerAnswer {
    match (&from.asked, from.address) {
        (Some(asked), Some(ip)) => server_answer(&from.server, ip, asked, from.kind),
        _ => ServerAnswer {
            server: from.server.clone(),
            address: None,
            kind: AnswerKind::NotAsked,
            rcode: None,
            authoritative: false,
            recursion_available: false,
            transport: model::dns::Transport::Udp,
            truncated: false,
            latency_ms: None,
            nsid: None,
            serial: None,
            answers: Vec::new(),
            authority: Vec::new(),
            additional: Vec::new(),
            notes: vec!["no address is known for this name".into()],
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cname(name: &str, data: &str) -> Record {
        Record { name: name.into(), rtype: "CNAME".into(), ttl: 60, data: data.into() }
    }

    #[test]
    fn a_repeated_record_is_shown_once() {
        let twice = vec![cname("a.test", "b.test."), cname("a.test", "b.test."), cname("b.test", "a.test.")];
        assert_eq!(once(twice).len(), 2);
    }
}
