//! What a reply amounts to, for the zone whose server was asked (RFC 1034 section 4.3.2, RFC 2308 section 2).

use crate::present;
use crate::session::QueryResult;
use crate::session::transport::Failure;
use crate::wire::{Data, Name, Question, Reply, Rr, Rtype, rcode_text};
use model::dns::{AnswerKind, ServerAnswer};
use std::net::IpAddr;

/// The kind of what came back.
pub(crate) fn kind(asked: &QueryResult, zone: &Name, question: &Question) -> AnswerKind {
    match &asked.result {
        Ok(reply) => reply_kind(reply, zone, question),
        Err(Failure::Timeout) => AnswerKind::Timeout,
        Err(Failure::Unreachable(_) | Failure::NoRoute) => AnswerKind::Unreachable,
        Err(Failure::Malformed | Failure::TooLarge) => AnswerKind::Malformed,
        Err(Failure::NotAsked(_)) => AnswerKind::NotAsked,
    }
}

fn reply_kind(reply: &Reply, zone: &Name, question: &Question) -> AnswerKind {
    let with_authority = |kind| if reply.aa { kind } else { AnswerKind::NonAuthoritative };
    if answers(reply, question) && matches!(reply.rcode, 0 | 3) {
        return with_authority(AnswerKind::Answer);
    }
    match reply.rcode {
        0 => {}
        2 => return AnswerKind::ServFail,
        3 => return with_authority(AnswerKind::NxDomain),
        5 => return AnswerKind::Refused,
        _ => return AnswerKind::OtherRcode,
    }
    if reply.authority.iter().any(|rr| rr.rtype == Rtype::SOA) {
        return with_authority(AnswerKind::NoData);
    }
    match referral_zone(reply) {
        Some(to) if to.is_below(zone) && question.name.is_at_or_below(to) => AnswerKind::Referral,
        Some(to) if to == zone && reply.aa => AnswerKind::NoData,
        Some(_) => AnswerKind::UpwardReferral,
        None => with_authority(AnswerKind::NoData),
    }
}

/// True when the answer section holds the type asked for or an alias.
fn answers(reply: &Reply, question: &Question) -> bool {
    reply.answers.iter().any(|rr| {
        (rr.name == question.name
            && (rr.rtype == question.rtype || rr.rtype == Rtype::CNAME || question.rtype == Rtype::ANY))
            || (rr.rtype == Rtype::DNAME && question.name.is_below(&rr.name))
    })
}

/// Owner of the NS records in the authority section.
pub(crate) fn referral_zone(reply: &Reply) -> Option<&Name> {
    reply.authority.iter().find(|rr| rr.rtype == Rtype::NS).map(|rr| &rr.name)
}

/// Name servers listed for `zone` in a section.
pub(crate) fn ns_names(section: &[Rr], zone: &Name) -> Vec<Name> {
    let mut names: Vec<Name> = section
        .iter()
        .filter(|rr| rr.name == *zone)
        .filter_map(|rr| match &rr.data {
            Data::Ns(name) => Some(name.clone()),
            _ => None,
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The outcome in the model's words.
pub(crate) fn server_answer(
    server: &str,
    address: IpAddr,
    asked: &QueryResult,
    kind: AnswerKind,
) -> ServerAnswer {
    let mut notes = asked.notes.clone();
    if let Err(Failure::Unreachable(why) | Failure::NotAsked(why)) = &asked.result {
        notes.push(why.clone());
    }
    if asked.result == Err(Failure::TooLarge) {
        notes.push(too_large());
    }
    let reply = asked.reply();
    ServerAnswer {
        server: server.to_string(),
        address: Some(address),
        kind,
        rcode: reply.map(|r| rcode_text(r.rcode)),
        authoritative: reply.is_some_and(|r| r.aa),
        recursion_available: reply.is_some_and(|r| r.ra),
        transport: asked.transport,
        truncated: asked.truncated,
        latency_ms: reply.map(|_| milliseconds(asked.latency)),
        nsid: reply.and_then(Reply::nsid),
        serial: reply.and_then(present::soa_of).map(|soa| soa.serial),
        answers: reply.map(|r| present::records(&r.answers)).unwrap_or_default(),
        authority: reply.map(|r| present::records(&r.authority)).unwrap_or_default(),
        additional: reply.map(|r| present::records(&r.additional)).unwrap_or_default(),
        notes,
    }
}

/// Says that a reply was not read for its size.
pub(crate) fn too_large() -> String {
    format!("its reply was not read: {}", crate::wire::WireError::TooLarge)
}

/// Milliseconds with two decimals: more would be noise.
pub(crate) fn milliseconds(latency: std::time::Duration) -> f64 {
    (latency.as_secs_f64() * 100_000.0).round() / 100.0
}

/// A plain question.
pub(crate) fn plain(name: &Name, rtype: Rtype) -> Question {
    Question { edns: None, ..Question::new(name.clone(), rtype) }
}

/// Records of exactly this name and type in the answer section of a NOERROR reply with AA; `None` for other replies.
pub(crate) fn authoritative<'r>(reply: Option<&'r Reply>, name: &Name, rtype: Rtype) -> Option<Vec<&'r Rr>> {
    let reply = reply.filter(|r| r.rcode == 0 && r.aa)?;
    Some(reply.answers.iter().filter(|rr| rr.rtype == rtype && rr.name == *name).collect())
}

/// True when the reply is an authoritative answer with the SOA of the zone: the server serves it.
pub(crate) fn serves(reply: Option<&Reply>, zone: &Name) -> bool {
    authoritative(reply, zone, Rtype::SOA).is_some_and(|set| !set.is_empty())
}
