//! What the servers of one set say together: which answer is followed, and how they disagree.

use super::trace::ServerReply;
use crate::present;
use crate::resolve::classify::{ns_names, referral_zone};
use crate::wire::{Name, Question, Reply, Rr, Rtype};
use model::dns::AnswerKind;
use std::collections::{BTreeMap, BTreeSet};

/// The answer to follow: the most usual one among those that count, from the fastest server that gave it. Of referrals to one
/// zone the most usual set of name servers, then of DS records: one server with an old copy of the zone, however fast, does not
/// change what is seen. A referral counts more than as many denials. Servers are counted, not their addresses: one with an old
/// copy is not two because it has IPv4 and IPv6.
pub(crate) fn choose(replies: &[ServerReply], question: &Question) -> Option<usize> {
    let mut groups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (i, s) in replies.iter().enumerate() {
        if s.kind.is_authoritative() || s.kind == AnswerKind::Referral {
            groups.entry(gist(s, question)).or_default().push(i);
        }
    }
    let best = groups
        .into_iter()
        .max_by_key(|((what, ..), group)| (servers_of(replies, group), *what == REFERRAL))?
        .1;
    let of_names = most_usual(replies, best, |s| delegated(s).map(|(names, _)| names));
    let agreed = most_usual(replies, of_names, |s| delegated(s).map(|(_, ds)| ds));
    agreed.into_iter().min_by_key(|i| replies[*i].asked.as_ref().map(|a| a.latency))
}

/// Those of `indices` that have the value that most servers have.
fn most_usual<'a, K: Ord>(
    replies: &'a [ServerReply],
    indices: Vec<usize>,
    value: impl Fn(&'a ServerReply) -> K,
) -> Vec<usize> {
    let mut groups: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    for i in indices {
        groups.entry(value(&replies[i])).or_default().push(i);
    }
    groups.into_values().max_by_key(|group| servers_of(replies, group)).unwrap_or_default()
}

/// How many servers these replies are from; one with several addresses counts once.
fn servers_of(replies: &[ServerReply], indices: &[usize]) -> usize {
    indices.iter().map(|i| replies[*i].server.as_str()).collect::<BTreeSet<_>>().len()
}

/// What a referral says of a delegation: the names of the servers and the data of the DS records, sorted.
fn delegated(from: &ServerReply) -> Option<(Vec<Name>, Vec<&[u8]>)> {
    let reply = from.asked.as_ref().filter(|_| from.kind == AnswerKind::Referral)?.reply()?;
    let zone = referral_zone(reply)?;
    let ds = reply.authority.iter().filter(|rr| rr.rtype == Rtype::DS && rr.name == *zone);
    let mut ds: Vec<&[u8]> = ds.map(|rr| rr.raw.as_slice()).collect();
    ds.sort_unstable();
    ds.dedup();
    Some((ns_names(&reply.authority, zone), ds))
}

const REFERRAL: &str = "referral";

/// What makes two answers the same for choosing: the kind, where a referral leads, the data of an answer.
fn gist<'a>(from: &'a ServerReply, question: &Question) -> (&'static str, Option<&'a Name>, Vec<&'a [u8]>) {
    let reply = from.asked.as_ref().and_then(|a| a.reply());
    match from.kind {
        AnswerKind::Referral => (REFERRAL, reply.and_then(referral_zone), Vec::new()),
        AnswerKind::Answer => ("answer", None, answered(reply, question.rtype)),
        kind => (kind.words(), None, Vec::new()),
    }
}

/// The data of an answer as octets, aliases on the way included, sorted. Text would take several times as much.
fn answered(reply: Option<&Reply>, rtype: Rtype) -> Vec<&[u8]> {
    let answers = reply.map_or(&[][..], |r| &r.answers);
    let of_use = answers.iter().filter(|rr| rr.rtype == rtype || rr.rtype == Rtype::CNAME);
    let mut data: Vec<&[u8]> = of_use.map(|rr| rr.raw.as_slice()).collect();
    data.sort_unstable();
    data.dedup();
    data
}

/// Items of a list, and groups of servers, that a note about differing servers names.
const NAMED: usize = 16;

/// The data of an answer in words, the first of many.
fn data_words(reply: &Reply, rtype: Rtype) -> String {
    let of_use = |rr: &&Rr| rr.rtype == rtype || rr.rtype == Rtype::CNAME;
    let data: BTreeSet<String> =
        reply.answers.iter().filter(of_use).take(NAMED).map(present::data_text).collect();
    few(data.into_iter().collect(), reply.answers.iter().filter(of_use).count())
}

/// Some of `total` items as one list.
fn few(mut items: Vec<String>, total: usize) -> String {
    items.truncate(NAMED);
    let more = if total > NAMED { format!(" and {} more", total - NAMED) } else { String::new() };
    items.join(", ") + &more
}

/// One sentence when the servers of a set say different things. Servers are counted, not their addresses.
pub(crate) fn disagreement(replies: &[ServerReply], rtype: Rtype) -> Option<String> {
    let mut groups: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let answers: BTreeSet<Vec<&[u8]>> = replies
        .iter()
        .filter(|s| s.kind == AnswerKind::Answer)
        .map(|s| answered(s.asked.as_ref().and_then(|a| a.reply()), rtype))
        .collect();
    for s in replies.iter().filter(|s| s.kind.responded()) {
        let what = match s.asked.as_ref().and_then(|a| a.reply()) {
            Some(reply) if s.kind == AnswerKind::Referral => {
                let to = referral_zone(reply);
                let names = to.map(|z| ns_names(&reply.authority, z)).unwrap_or_default();
                let total = names.len();
                let names = few(names.iter().take(NAMED).map(Name::to_string).collect(), total);
                format!("referral to {} at {names}", to.map_or(String::new(), Name::to_string))
            }
            Some(reply) if s.kind == AnswerKind::Answer && answers.len() > 1 => {
                format!("{} {}", s.kind.words(), data_words(reply, rtype))
            }
            _ => s.kind.words().to_string(),
        };
        groups.entry(what).or_default().insert(&s.server);
    }
    (groups.len() > 1).then(|| {
        let parts: Vec<String> =
            groups.iter().map(|(what, servers)| format!("{} × {what}", servers.len())).collect();
        let more = parts.len().saturating_sub(NAMED);
        let parts = parts[..parts.len() - more].join("; ");
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        format!("the servers of this set disagree: {parts}{more}")
    })
}

/// How many servers of a parent zone say what of the delegation of `zone`, when they disagree about its name servers, its DS
/// records, or whether there is one.
pub(crate) fn parents_differ(replies: &[ServerReply], zone: &Name) -> Option<String> {
    let of_zone = |s: &&ServerReply| {
        let reply = s.asked.as_ref().and_then(|a| a.reply());
        reply.and_then(referral_zone) == Some(zone)
    };
    let referrals: Vec<_> =
        replies.iter().filter(of_zone).filter_map(|s| Some((s.server.as_str(), delegated(s)?))).collect();
    let denies = |s: &&ServerReply| matches!(s.kind, AnswerKind::NxDomain | AnswerKind::NoData);
    let denials: BTreeSet<&str> = replies.iter().filter(denies).map(|s| s.server.as_str()).collect();
    let ds_differ = referrals.windows(2).any(|pair| pair[0].1.1 != pair[1].1.1);
    let mut groups: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (server, (names, ds)) in &referrals {
        let list = few(names.iter().take(NAMED).map(Name::to_string).collect(), names.len());
        let signed = match (ds_differ, ds.len()) {
            (false, _) => String::new(),
            (true, 0) => " without DS records".into(),
            (true, _) => {
                // A key tag is the first two octets of the data (RFC 4034 section 5.1).
                let tag = |data: &&[u8]| data.first_chunk().map(|tag| u16::from_be_bytes(*tag).to_string());
                let tags = ds.iter().take(NAMED).filter_map(tag).collect();
                format!(" with DS records of key {}", few(tags, ds.len()))
            }
        };
        groups.entry(list + &signed).or_default().insert(server);
    }
    if !denials.is_empty() && !groups.is_empty() {
        groups.insert("no delegation".into(), denials);
    }
    (groups.len() > 1).then(|| {
        let parts: Vec<String> =
            groups.iter().map(|(what, servers)| format!("{} × {what}", servers.len())).collect();
        parts[..parts.len().min(NAMED)].join("; ")
    })
}
