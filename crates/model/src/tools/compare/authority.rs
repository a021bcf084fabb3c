//! The authoritative answer out of the steps of a chain: aliases, records, servers, and a sentence.

use super::{Authority, AuthorityOutcome, AuthorityServer, same_rrset};
use crate::base::time::human_seconds;
use crate::dns::{AnswerKind, Record};
use crate::tools::chain::{ChainStep, TypeOutcome, alias_loop, no_server_address};
use jiff::Timestamp;

/// Puts the steps of a chain together as the answer to one question.
pub fn authority(
    name: &str,
    rtype: &str,
    chain: &[ChainStep],
    asked_at: Timestamp,
    notes: Vec<String>,
) -> Authority {
    let last = chain.last();
    let answer = last.and_then(|s| s.answers.iter().find(|a| a.rtype.eq_ignore_ascii_case(rtype)));
    let unfinished = last.is_none_or(|s| s.target.is_some() && !rtype.eq_ignore_ascii_case("CNAME"));
    let outcome = match answer.map(|a| a.outcome) {
        _ if unfinished => AuthorityOutcome::NoAnswer,
        Some(TypeOutcome::Records) => AuthorityOutcome::Serves,
        Some(TypeOutcome::NoData) => AuthorityOutcome::NoData,
        Some(TypeOutcome::NxDomain) => AuthorityOutcome::NxDomain,
        Some(TypeOutcome::Failed) | None => AuthorityOutcome::NoAnswer,
    };
    let alias = |s: &ChainStep| {
        let target = s.target.as_ref()?;
        Some(Record {
            name: s.owner.clone(),
            rtype: "CNAME".into(),
            ttl: s.ttl.unwrap_or(0),
            data: format!("{target}."),
        })
    };
    let wants_alias = rtype.eq_ignore_ascii_case("CNAME");
    let aliases: Vec<Record> = chain.iter().filter(|_| !wants_alias).filter_map(alias).collect();
    let records: Vec<Record> = match (last, answer) {
        (Some(step), Some(a)) if !unfinished => a
            .data
            .iter()
            .map(|d| Record {
                name: step.owner.clone(),
                rtype: a.rtype.clone(),
                ttl: a.ttl.unwrap_or(0),
                data: d.clone(),
            })
            .collect(),
        _ => Vec::new(),
    };
    let mut out = Authority {
        name: name.into(),
        rtype: rtype.to_ascii_uppercase(),
        zone: last.map(|s| s.zone.clone()).unwrap_or_default(),
        outcome,
        ttl: aliases.iter().chain(&records).map(|r| r.ttl).min(),
        aliases,
        records,
        negative_ttl: last.and_then(|s| s.soa.as_ref()).map(crate::dns::Soa::negative_ttl),
        soa: last.and_then(|s| s.soa.clone()),
        servers: chain.iter().flat_map(|s| s.servers.iter().cloned()).collect(),
        agree: chain.iter().all(|s| s.agree),
        asked_at,
        cause: alias_loop(chain).filter(|_| unfinished).or_else(|| no_server_address(chain)),
        notes,
        sentence: String::new(),
    };
    out.sentence = authority_sentence(&out);
    out
}

/// Whether a server says what the whole is said to say.
fn says_so(a: &Authority, server: &AuthorityServer) -> bool {
    match a.outcome {
        AuthorityOutcome::Serves => {
            server.kind.is_authoritative() && same_rrset(&server.records, &a.records, &a.rtype)
        }
        AuthorityOutcome::NxDomain => server.kind == AnswerKind::NxDomain,
        AuthorityOutcome::NoData => server.kind.is_authoritative() && server.kind != AnswerKind::NxDomain,
        AuthorityOutcome::NoAnswer => false,
    }
}

/// What the authoritative servers say, in a sentence.
pub fn authority_sentence(a: &Authority) -> String {
    // Where the name is an alias, those count that answer for its end.
    let last = a.servers.last().map(|s| s.owner.clone()).unwrap_or_default();
    let at_end = || a.servers.iter().filter(|s| s.owner == last);
    let good = at_end().filter(|s| s.kind.is_authoritative()).count();
    let silent = at_end()
        .filter(|s| s.address.is_some() && s.kind != AnswerKind::NotAsked && !s.kind.is_authoritative());
    let silent = match silent.count() {
        0 => String::new(),
        1 => "; 1 server does not answer usefully".into(),
        n => format!("; {n} servers do not answer usefully"),
    };
    // They may disagree about an alias before the end and be at one there.
    let with = at_end().filter(|s| says_so(a, s)).count();
    let who = match (with, good) {
        (_, 1) => "The one authoritative server that answers says".to_string(),
        (a, b) if a == b && b == 2 => "Both authoritative servers say".into(),
        (a, b) if a == b => format!("All {b} authoritative servers say"),
        (1, n) => format!("1 of {n} authoritative servers says"),
        (with, n) => format!("{with} of {n} authoritative servers say"),
    };
    let (name, rtype) = (&a.name, &a.rtype);
    let end = a.aliases.last().map(|r| r.data.trim_end_matches('.'));
    let subject = end.map_or_else(|| name.clone(), |t| format!("{name} leads to {t}, which"));
    let ttl = a.ttl.map(|t| format!(", TTL {}", human_seconds(t.into()))).unwrap_or_default();
    match a.outcome {
        AuthorityOutcome::Serves => format!(
            "{who}: {name} {rtype} is {}{ttl}{}{silent}.",
            super::words::data(&a.records, rtype),
            if a.agree { "" } else { "; they disagree" }
        ),
        AuthorityOutcome::NoData => format!("{who}: {subject} has no {rtype} record{silent}."),
        AuthorityOutcome::NxDomain => format!("{who}: {subject} does not exist{silent}."),
        AuthorityOutcome::NoAnswer if a.cause.is_some() => {
            let cause = a.cause.as_ref().map(crate::judgement::cause::Cause::headline).unwrap_or_default();
            format!("{name} does not resolve. {cause}")
        }
        AuthorityOutcome::NoAnswer => match a.notes.first() {
            Some(why) => format!("No authoritative answer for {name} {rtype}: {why}."),
            None => format!("No authoritative server answers usefully for {name} {rtype}."),
        },
    }
}
