//! The path from the root to the servers that answer for a name: every server of every set is asked, nothing comes
//! from a cache. In: a name and a type. Out: [`model::dns::Trace`].

use crate::classify::{kind, referral_zone, server_answer};
use crate::present;
use crate::reach::intercepted;
use crate::resolve::{MAX_ALIASES, MAX_REFERRALS, alias, referred};
use crate::session::{Asked, Manner, Session};
use crate::wire::Reply;
use crate::wire::{Data, Edns, Name, Question, Rtype};
use futures::future::join_all;
use model::dns::{
    AnswerKind, ChainEnd, NsName, Record, Referral, ServerAnswer, Trace, TraceOutcome, TraceStep,
};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

/// One server × address of a step and what it said.
pub(crate) struct Said {
    pub server: String,
    pub address: Option<IpAddr>,
    pub asked: Option<Arc<Asked>>,
    pub kind: AnswerKind,
}

/// One step with the replies themselves.
pub(crate) struct Step {
    pub zone: Name,
    pub said: Vec<Said>,
    pub chosen: Option<usize>,
    pub referral: Option<(Name, Vec<NsName>)>,
    pub notes: Vec<String>,
}

impl Step {
    pub(crate) fn chosen_asked(&self) -> Option<&Arc<Asked>> {
        self.said[self.chosen?].asked.as_ref()
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
    manner: Manner,
) -> Vec<Said> {
    let mut list = Vec::new();
    for server in servers {
        if server.addresses.is_empty() {
            list.push((server.name.clone(), None));
        }
        list.extend(server.addresses.iter().map(|ip| (server.name.clone(), Some(*ip))));
    }
    join_all(list.into_iter().map(|(server, address)| async move {
        let Some(ip) = address else {
            return Said { server, address: None, asked: None, kind: AnswerKind::NotAsked };
        };
        let asked = session.ask(ip, question, manner).await;
        Said { server, address, kind: kind(&asked, zone, question), asked: Some(asked) }
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
        let said = ask_all(session, &zone, &servers, &question, Manner::Resolver).await;
        let mut notes = std::mem::take(&mut inherited);
        let chosen = choose(&said, &question);
        notes.extend(disagreement(&said, question.rtype));
        let asked = said.iter().filter_map(|s| s.asked.as_deref());
        notes.extend(intercepted(&zone, &question, asked).map(|e| e.to_string()));
        let referral = chosen.filter(|i| said[*i].kind == AnswerKind::Referral).and_then(|i| {
            let reply = said[i].asked.as_ref()?.reply()?;
            let to = referral_zone(reply)?.clone();
            let next = referred(reply, &to, &zone);
            Some((to, next))
        });
        let kind = chosen.map(|i| said[i].kind);
        let step = Step { zone: zone.clone(), said, chosen, referral, notes };
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
                        && inherited.iter().any(|n| n.contains("cyclic:"))
                    {
                        let notes = std::mem::take(&mut inherited);
                        let said = ask_all(session, &to, &next, &question, Manner::Resolver).await;
                        steps.push(Step { zone: to, said, chosen: None, referral: None, notes });
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

/// The answer to follow: the most usual one among those that count, from the fastest server that gave it.
fn choose(said: &[Said], question: &Question) -> Option<usize> {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (i, s) in said.iter().enumerate() {
        if s.kind.is_authoritative() || s.kind == AnswerKind::Referral {
            groups.entry(gist(s, question)).or_default().push(i);
        }
    }
    let best = groups.into_values().max_by_key(Vec::len)?;
    best.into_iter().min_by_key(|i| said[*i].asked.as_ref().map(|a| a.latency))
}

/// What makes two answers the same for choosing.
fn gist(said: &Said, question: &Question) -> String {
    let reply = said.asked.as_ref().and_then(|a| a.reply());
    match said.kind {
        AnswerKind::Referral => {
            format!("referral {}", reply.and_then(referral_zone).map_or(String::new(), Name::to_string))
        }
        AnswerKind::Answer => format!("answer {}", answered(reply, question.rtype).join(",")),
        kind => kind.words().to_string(),
    }
}

/// The data of an answer, aliases on the way included, sorted.
fn answered(reply: Option<&Reply>, rtype: Rtype) -> Vec<String> {
    let answers = reply.map_or(&[][..], |r| &r.answers);
    let of_use = answers.iter().filter(|rr| rr.rtype == rtype || rr.rtype == Rtype::CNAME);
    let data: BTreeSet<String> = of_use.map(present::data_text).collect();
    data.into_iter().collect()
}

/// One sentence when the servers of a set say different things.
fn disagreement(said: &[Said], rtype: Rtype) -> Option<String> {
    let mut groups: BTreeMap<String, usize> = BTreeMap::new();
    let data = |s: &Said| answered(s.asked.as_ref().and_then(|a| a.reply()), rtype);
    let answers: BTreeSet<Vec<String>> =
        said.iter().filter(|s| s.kind == AnswerKind::Answer).map(data).collect();
    for s in said.iter().filter(|s| s.kind.responded()) {
        let what = match s.asked.as_ref().and_then(|a| a.reply()) {
            Some(reply) if s.kind == AnswerKind::Referral => {
                let to = referral_zone(reply);
                let names = to.map(|z| crate::classify::ns_names(&reply.authority, z)).unwrap_or_default();
                let names: Vec<String> = names.iter().map(Name::to_string).collect();
                format!("referral to {} at {}", to.map_or(String::new(), Name::to_string), names.join(", "))
            }
            _ if s.kind == AnswerKind::Answer && answers.len() > 1 => {
                format!("{} {}", s.kind.words(), data(s).join(", "))
            }
            _ => s.kind.words().to_string(),
        };
        *groups.entry(what).or_default() += 1;
    }
    (groups.len() > 1).then(|| {
        let parts: Vec<String> = groups.iter().map(|(what, n)| format!("{n} × {what}")).collect();
        format!("the servers of this set disagree: {}", parts.join("; "))
    })
}

pub(crate) async fn trace(session: &Session, name: &Name, rtype: Rtype) -> Trace {
    let (steps, outcome) = descend(session, name, rtype, None).await;
    let mut notes = session.notes();
    let last = steps.last().and_then(Step::chosen_asked).cloned();
    let reply = last.as_ref().and_then(|a| a.reply());
    let records = match outcome {
        TraceOutcome::Answer => reply.map(|r| once(present::records(&r.answers))).unwrap_or_default(),
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
    let mut trace = Trace {
        name: name.to_string(),
        rtype: rtype.to_string(),
        steps: steps.into_iter().map(step_of).collect(),
        outcome,
        records,
        soa,
        queries: session.queries(),
        elapsed_ms: session.elapsed_ms(),
        notes,
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

fn step_of(step: Step) -> TraceStep {
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
        answers: step.said.iter().map(answer_of).collect(),
        chosen: step.chosen,
        referral,
        notes: step.notes,
    }
}

/// DS records of `zone` in a section.
pub(crate) fn ds_of(section: &[crate::wire::Rr], zone: &Name) -> Vec<model::registration::Ds> {
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

fn answer_of(said: &Said) -> ServerAnswer {
    match (&said.asked, said.address) {
        (Some(asked), Some(ip)) => server_answer(&said.server, ip, asked, said.kind),
        _ => ServerAnswer {
            server: said.server.clone(),
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
