//! What every server said at one step of a chain, put together: the view most of them share, and what differs.
//! In: replies by type and server. Out: answers, servers and SOA of `model::fqdn`'s step.

use crate::delegation::trace::ServerReply;
use crate::present;
use crate::resolve::alias;
use crate::resolve::classify::server_answer;
use crate::wire::{Data, Name, Reply, Rtype};
use model::compare::AuthorityServer;
use model::dns::{AnswerKind, Record, Soa};
use model::fqdn::{TypeAnswer, TypeOutcome};
use std::collections::{BTreeMap, BTreeSet};

/// All that one server × address said, by type.
pub(super) struct View<'a> {
    pub replies: Vec<(Rtype, &'a ServerReply)>,
}

pub(super) fn views<'a>(said: &'a [(Rtype, Vec<ServerReply>)]) -> Vec<View<'a>> {
    let count = said.first().map_or(0, |(_, list)| list.len());
    (0..count)
        .map(|i| View { replies: said.iter().filter_map(|(t, list)| Some((*t, list.get(i)?))).collect() })
        .collect()
}

impl View<'_> {
    pub(super) fn of(&self, rtype: Rtype) -> Option<&ServerReply> {
        self.replies.iter().find(|(t, _)| *t == rtype).map(|(_, s)| *s)
    }

    pub(super) fn kind(&self, rtype: Rtype) -> AnswerKind {
        self.of(rtype).map_or(AnswerKind::NotAsked, |s| s.kind)
    }

    pub(super) fn reply(&self, rtype: Rtype) -> Option<&Reply> {
        self.of(rtype)?.asked.as_ref()?.reply()
    }

    /// The alias at `owner` and its TTL, from any authoritative answer.
    pub(super) fn alias(&self, owner: &Name) -> Option<(Name, u32)> {
        self.replies.iter().filter(|(_, s)| s.kind == AnswerKind::Answer).find_map(|(_, s)| {
            let reply = s.asked.as_ref()?.reply()?;
            let target = alias(reply, owner)?;
            let ttl = reply.answers_of(owner, Rtype::CNAME).map(|rr| rr.ttl).min().unwrap_or(0);
            Some((target, ttl))
        })
    }

    pub(super) fn records(&self, owner: &Name, rtype: Rtype) -> Vec<Record> {
        let reply = self.reply(rtype).filter(|_| self.kind(rtype) == AnswerKind::Answer);
        reply.map(|r| r.answers_of(owner, rtype).map(present::record).collect()).unwrap_or_default()
    }

    pub(super) fn gist(&self, owner: &Name, rtype: Rtype) -> Option<String> {
        gist_of(self.reply(rtype)?, owner, rtype)
    }

    /// The wildcard by the label count of a signature (RFC 4034 section 3.1.3); the outer `None` without signatures.
    pub(super) fn signed_wildcard(&self, owner: &Name) -> Option<Option<String>> {
        let signatures =
            self.replies.iter().filter_map(|(_, s)| s.asked.as_ref()?.reply()).flat_map(|r| &r.answers);
        let labels = signatures.filter(|rr| rr.name == *owner).find_map(|rr| match &rr.data {
            Data::Rrsig(s) => Some(usize::from(s.labels)),
            _ => None,
        })?;
        Some((labels < owner.labels().len()).then(|| format!("*.{}", owner.trim_to(labels))))
    }
}

/// What makes two positive answers the same.
pub(super) fn gist_of(reply: &Reply, owner: &Name, rtype: Rtype) -> Option<String> {
    let mut data: Vec<String> = reply
        .answers
        .iter()
        .filter(|rr| rr.name == *owner && (rr.rtype == rtype || rr.rtype == Rtype::CNAME))
        .map(present::data_text)
        .collect();
    data.sort();
    (!data.is_empty()).then(|| data.join(","))
}

/// The view most servers share (of those the fastest), and whether all share it.
pub(super) fn majority(views: &[View<'_>], owner: &Name, types: &[Rtype]) -> (Option<usize>, bool) {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (i, view) in views.iter().enumerate() {
        if !types.iter().any(|t| view.kind(*t).is_authoritative()) {
            continue;
        }
        let gist = match view.alias(owner) {
            Some((target, _)) => format!("alias {target}"),
            None => {
                let of = |t: &Rtype| {
                    let mut data: Vec<String> = view.records(owner, *t).into_iter().map(|r| r.data).collect();
                    data.sort();
                    format!("{t} {} {}", view.kind(*t).words(), data.join(","))
                };
                types
                    .iter()
                    .filter(|t| view.kind(**t).is_authoritative())
                    .map(of)
                    .collect::<Vec<_>>()
                    .join(";")
            }
        };
        groups.entry(gist).or_default().push(i);
    }
    let agree = groups.len() <= 1;
    let latency =
        |i: &usize| views[*i].replies.first().and_then(|(_, s)| s.asked.as_ref()).map(|a| a.latency);
    let best = groups.into_values().max_by_key(Vec::len);
    (best.and_then(|g| g.into_iter().min_by_key(latency)), agree)
}

pub(super) fn type_answer(
    views: &[View<'_>],
    chosen: Option<&View<'_>>,
    owner: &Name,
    rtype: Rtype,
) -> TypeAnswer {
    let good = |v: &&View<'_>| v.kind(rtype).is_authoritative();
    let view = chosen.filter(good).or_else(|| views.iter().find(good));
    let records = view.map(|v| v.records(owner, rtype)).unwrap_or_default();
    let outcome = match view.map(|v| v.kind(rtype)) {
        Some(AnswerKind::Answer) if !records.is_empty() => TypeOutcome::Records,
        Some(AnswerKind::Answer | AnswerKind::NoData) => TypeOutcome::NoData,
        Some(AnswerKind::NxDomain) => TypeOutcome::NxDomain,
        _ => TypeOutcome::Failed,
    };
    let mut data: Vec<String> = records.iter().map(|r| r.data.clone()).collect();
    data.sort();
    data.dedup();
    TypeAnswer { rtype: rtype.to_string(), outcome, ttl: records.iter().map(|r| r.ttl).min(), data }
}

/// Types that some server gives at a name that is an alias at some server.
pub(super) fn beside(views: &[View<'_>], owner: &Name) -> Vec<String> {
    let mut types = BTreeSet::new();
    for view in views {
        for (rtype, _) in view.replies.iter().filter(|(t, _)| !matches!(*t, Rtype::CNAME | Rtype::SOA)) {
            if !view.records(owner, *rtype).is_empty() {
                types.insert(rtype.to_string());
            }
        }
    }
    types.into_iter().collect()
}

/// SOA of a real negative answer: its TTL is what resolvers cache by.
pub(super) fn negative_soa(views: &[View<'_>]) -> Option<Soa> {
    views.iter().flat_map(|v| &v.replies).find_map(|(_, s)| {
        let negative = matches!(s.kind, AnswerKind::NoData | AnswerKind::NxDomain);
        let reply = s.asked.as_ref()?.reply().filter(|_| negative)?;
        reply.authority.iter().find_map(present::soa)
    })
}

pub(super) fn servers_of(
    views: &[View<'_>],
    soas: &[Option<Soa>],
    owner: &Name,
    types: &[Rtype],
    zone: &Name,
) -> Vec<AuthorityServer> {
    let first = types.first().copied().unwrap_or(Rtype::A);
    let list = views.iter().enumerate().filter_map(|(i, view)| {
        let said = view.of(first)?;
        let mut server = AuthorityServer {
            zone: zone.to_string(),
            owner: owner.to_string(),
            server: said.server.clone(),
            address: said.address,
            kind: said.kind,
            records: Vec::new(),
            ttl: None,
            serial: soas.get(i).and_then(|s| s.as_ref()).map(|s| s.serial),
            latency_ms: None,
            nsid: None,
            notes: Vec::new(),
        };
        match (said.address, &said.asked) {
            (Some(ip), Some(asked)) => {
                let answer = server_answer(&said.server, ip, asked, said.kind);
                server.latency_ms = answer.latency_ms;
                server.nsid = answer.nsid;
                server.notes = answer.notes;
            }
            _ => server.notes.push("no address is known for this name".into()),
        }
        server.records = match view.alias(owner) {
            Some((target, ttl)) => vec![Record {
                name: owner.to_string(),
                rtype: "CNAME".into(),
                ttl,
                data: format!("{target}."),
            }],
            None => types.iter().flat_map(|t| view.records(owner, *t)).collect(),
        };
        server.ttl = server.records.iter().map(|r| r.ttl).min();
        Some(server)
    });
    list.collect()
}
