//! Record sets as each authoritative server of a zone has them, for zones whose servers may disagree.
//! In: the delegation and the sets (`www.example.com A`). Out: one [`ServerSet`] per server and set.

use crate::present::data_text;
use crate::session::{QueryMode, Session};
use crate::wire::{Name, Question, Rtype};
use futures::future::join_all;
use model::dns::{Delegation, RrSet, ServerHealth, ServerSet, SetAnswer};
use std::collections::BTreeSet;

/// Servers asked and sets asked for at most, which bounds the questions of one look.
const MAX_SERVERS: usize = 8;
const MAX_SETS: usize = 16;

/// Asks every server that the delegation shows to be authoritative, an address of each name before a second one.
pub(crate) async fn record_sets(
    session: &Session,
    delegation: &Delegation,
    fields: &[String],
) -> Vec<ServerSet> {
    let mut names = BTreeSet::new();
    let good = delegation
        .servers
        .iter()
        .filter(|s| matches!(s.health, ServerHealth::Authoritative | ServerHealth::Slow))
        .filter_map(|s| Some((&s.name, s.address?)));
    let (first, further): (Vec<_>, Vec<_>) = good.partition(|(name, _)| names.insert(*name));
    let servers: Vec<_> = first.into_iter().chain(further).take(MAX_SERVERS).collect();
    let questions: Vec<_> = fields
        .iter()
        .filter_map(|field| {
            let (name, rtype) = field.split_once(' ')?;
            Some((field, Question::new(Name::from_text(name).ok()?, Rtype::from_text(rtype)?)))
        })
        .take(MAX_SETS)
        .collect();
    let asked = servers.iter().flat_map(|(name, ip)| {
        questions.iter().map(move |(field, question)| async move {
            let answer = answer(session, *ip, question).await;
            ServerSet { server: format!("{name}/{ip}"), field: (*field).clone(), answer }
        })
    });
    join_all(asked).await
}

async fn answer(session: &Session, ip: std::net::IpAddr, question: &Question) -> SetAnswer {
    let asked = session.ask(ip, question, QueryMode::Resolver).await;
    // A referral, or an answer without authority, says nothing about the set.
    let Some(reply) = asked.reply().filter(|r| r.aa && matches!(r.rcode, 0 | 3)) else {
        return SetAnswer::Unanswered;
    };
    let records: Vec<_> = reply.answers_of(&question.name, question.rtype).collect();
    let mut data: Vec<String> = records.iter().map(|rr| data_text(rr)).collect();
    data.sort();
    data.dedup();
    match records.iter().map(|rr| rr.ttl).min() {
        None => SetAnswer::Absent,
        Some(ttl) => SetAnswer::Set(RrSet {
            name: question.name.to_string(),
            rtype: question.rtype.to_string(),
            ttl,
            data,
        }),
    }
}
