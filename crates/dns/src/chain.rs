//! A name and the aliases it leads to, each asked of every server × address of its zone, nothing from a cache.
//! In: a name and types. Out: the steps of `model::fqdn`. RFC 1034 section 3.6.2, RFC 4592 (wildcards).

use crate::classify::server_answer;
use crate::delegation::{child_set, random_label};
use crate::engine::{Engine, wire_name, wire_type};
use crate::error::Error;
use crate::present;
use crate::provider;
use crate::resolve::{MAX_ALIASES, Stuck, alias};
use crate::session::{Manner, Session};
use crate::trace::{Said, ask_all, question};
use crate::wire::{Data, Name, Reply, Rtype};
use futures::future::join_all;
use model::compare::AuthorityServer;
use model::dns::{AnswerKind, NsName, Record, Soa};
use model::fqdn::{ChainStep, TypeAnswer, TypeOutcome};
use model::names::Fqdn;
use std::collections::{BTreeMap, BTreeSet};

/// Steps that are followed in all: those after [`MAX_ALIASES`] only to find out whether they lead in a circle.
const MAX_STEPS: usize = 64;
/// How far up a wildcard is looked for.
const WILDCARD_LEVELS: usize = 4;

/// What is asked along a chain.
#[derive(Debug, Clone)]
pub struct ChainQuestion {
    /// Types asked at every step.
    pub types: Vec<String>,
    /// Types asked too where a step is the apex of its zone.
    pub at_apex: Vec<String>,
    /// Whether it is looked for the wildcard an answer may be made from.
    pub wildcards: bool,
}

impl ChainQuestion {
    /// One type, nothing else: for a comparison.
    pub fn of(rtype: &str) -> Self {
        ChainQuestion { types: vec![rtype.into()], at_apex: Vec::new(), wildcards: false }
    }

    /// What a host name is looked at for.
    pub fn host() -> Self {
        let list = |types: &[&str]| types.iter().map(|t| (*t).to_string()).collect();
        ChainQuestion { types: list(&["A", "AAAA", "HTTPS"]), at_apex: list(&["MX", "TXT"]), wildcards: true }
    }
}

/// A chain as it was seen.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Chain {
    /// The steps, in order.
    pub steps: Vec<ChainStep>,
    /// What holds for the whole, and why it broke off.
    pub notes: Vec<String>,
    /// Milliseconds of the fastest useful server of each step, together.
    pub latency_ms: Option<f64>,
    /// Questions sent.
    pub queries: u32,
}

impl Engine {
    /// Follows a name to the end of its aliases.
    ///
    /// # Errors
    /// [`Error::Name`], [`Error::Type`] and [`Error::Intercepted`]; servers that fail are part of the result.
    pub async fn chain(&self, name: &Fqdn, asked: &ChainQuestion) -> Result<Chain, Error> {
        let name = wire_name(name.as_str())?;
        let read = |types: &[String]| types.iter().map(|t| wire_type(t)).collect::<Result<Vec<_>, _>>();
        let (types, at_apex) = (read(&asked.types)?, read(&asked.at_apex)?);
        let session = self.check_session();
        // The first step asks this again, and is answered from memory.
        if let Some(first) = types.first() {
            let found = session.resolve(name.clone(), *first, false, Vec::new()).await;
            if let Err(Stuck::Intercepted(servers)) = found {
                return Err(Error::Intercepted { servers });
            }
        }
        let walk = Walk { session: &session, types, at_apex, wildcards: asked.wildcards };
        Ok(walk.follow(name).await)
    }
}

struct Walk<'a> {
    session: &'a Session,
    types: Vec<Rtype>,
    at_apex: Vec<Rtype>,
    wildcards: bool,
}

impl Walk<'_> {
    async fn follow(&self, name: Name) -> Chain {
        let mut steps: Vec<ChainStep> = Vec::new();
        let mut notes = Vec::new();
        let mut seen = BTreeSet::new();
        let mut current = name;
        loop {
            seen.insert(current.to_string());
            let full = steps.len() <= MAX_ALIASES;
            let (step, trouble) =
                if full { self.step(&current).await } else { self.thin_step(&current).await };
            notes.extend(trouble);
            let target = step.target.as_deref().and_then(|t| Name::from_text(t).ok());
            steps.push(step);
            let Some(target) = target else { break };
            if seen.contains(&target.to_string()) {
                break;
            }
            if steps.len() >= MAX_STEPS {
                notes.push(format!("more than {MAX_STEPS} aliases"));
                break;
            }
            current = target;
        }
        notes.extend(self.session.notes());
        let latency =
            steps.iter().filter_map(fastest).fold(None, |sum: Option<f64>, l| Some(sum.unwrap_or(0.0) + l));
        let latency_ms = latency.map(|l| (l * 100.0).round() / 100.0);
        Chain { steps, notes, latency_ms, queries: self.session.queries() }
    }

    /// One step, asked of everybody.
    async fn step(&self, owner: &Name) -> (ChainStep, Option<String>) {
        let Some(first) = self.types.first() else { return (empty(owner, &Name::root()), None) };
        let resolved = self.session.resolve(owner.clone(), *first, false, Vec::new()).await;
        let trouble = resolved.as_ref().err().map(Stuck::words);
        let zone = resolved.map_or_else(|_| self.session.closest_zone(owner).0, |r| r.zone);
        let servers = self.servers(&zone).await;
        let types = self.questions(owner, &zone);
        let said = join_all(types.iter().map(|t| async {
            (*t, ask_all(self.session, &zone, &servers, &question(owner, *t), Manner::Resolver).await)
        }))
        .await;
        let views = views(&said);
        let soas = self.serials(owner, &zone, &servers, &views).await;
        let apex = soas.iter().flatten().map(|s| s.zone.clone()).max_by_key(String::len);
        let apex = apex.and_then(|z| Name::from_text(&z).ok()).filter(|z| owner.is_at_or_below(z));
        let apex = apex.unwrap_or_else(|| zone.clone());
        let asked: Vec<Rtype> = types.iter().copied().filter(|t| self.is_wanted(*t, owner, &apex)).collect();
        let (chosen, agree) = majority(&views, owner, &asked);
        let mut step = empty(owner, &apex);
        step.agree = agree;
        step.servers = servers_of(&views, &soas, owner, &asked, &apex);
        let names: Vec<String> = servers.iter().map(|s| s.name.clone()).collect();
        step.provider = provider::provider(&names, &apex.to_string());
        let chosen = chosen.map(|i| &views[i]);
        step.target = chosen.and_then(|v| v.alias(owner)).map(|(target, _)| target.to_string());
        match (&step.target, chosen) {
            (Some(target), Some(view)) => {
                let ttl = view.alias(owner).map(|(_, ttl)| ttl);
                step.ttl = ttl;
                step.answers = vec![TypeAnswer {
                    rtype: "CNAME".into(),
                    outcome: TypeOutcome::Records,
                    data: vec![format!("{target}.")],
                    ttl,
                }];
                step.beside = beside(&views, owner);
            }
            _ => {
                step.answers = asked.iter().map(|t| type_answer(&views, chosen, owner, *t)).collect();
                step.ttl = step.answers.iter().filter_map(|a| a.ttl).min();
            }
        }
        step.soa = negative_soa(&views).or_else(|| soas.into_iter().flatten().next());
        if self.wildcards {
            step.wildcard = match chosen.and_then(|v| v.signed_wildcard(owner)) {
                Some(known) => known,
                None => self.wildcard(owner, &apex, chosen, *first).await,
            };
        }
        (step, trouble)
    }

    fn is_wanted(&self, rtype: Rtype, owner: &Name, apex: &Name) -> bool {
        self.types.contains(&rtype) || (owner == apex && self.at_apex.contains(&rtype))
    }

    /// What is asked at a step: the types, whether it is an alias, and the SOA for serial and negative TTL.
    fn questions(&self, owner: &Name, zone: &Name) -> Vec<Rtype> {
        let mut types = self.types.clone();
        if owner == zone {
            types.extend(&self.at_apex);
        }
        types.extend([Rtype::CNAME, Rtype::SOA]);
        let mut seen = BTreeSet::new();
        types.retain(|t| seen.insert(*t));
        types
    }

    /// Every server of either side, with addresses.
    async fn servers(&self, zone: &Name) -> Vec<NsName> {
        let (_, known) = self.session.closest_zone(zone);
        let mut servers = (*known).clone();
        self.session.complete(&mut servers).await;
        let child = child_set(self.session, zone, &servers).await;
        let mut more: Vec<NsName> = child
            .into_iter()
            .filter(|n| servers.iter().all(|s| s.name != *n))
            .map(|name| NsName { name, addresses: Vec::new(), glue: false })
            .collect();
        self.session.complete(&mut more).await;
        servers.extend(more);
        servers
    }

    /// The SOA each server gives; asked of the apex where the name itself is an alias.
    async fn serials(
        &self,
        owner: &Name,
        zone: &Name,
        servers: &[NsName],
        views: &[View<'_>],
    ) -> Vec<Option<Soa>> {
        let own: Vec<Option<Soa>> =
            views.iter().map(|v| v.reply(Rtype::SOA).and_then(present::soa_of)).collect();
        if own.iter().any(Option::is_some) || owner == zone {
            return own;
        }
        let said = ask_all(self.session, zone, servers, &question(zone, Rtype::SOA), Manner::Resolver).await;
        said.iter().map(|s| s.asked.as_ref().and_then(|a| a.reply()).and_then(present::soa_of)).collect()
    }

    /// Far down a chain only the alias itself is looked for.
    async fn thin_step(&self, owner: &Name) -> (ChainStep, Option<String>) {
        match self.session.resolve(owner.clone(), Rtype::CNAME, false, Vec::new()).await {
            Ok(found) => {
                let mut step = empty(owner, &found.zone);
                let target = found.asked.reply().and_then(|r| alias(r, owner));
                step.target = target.map(|t| t.to_string());
                (step, None)
            }
            Err(stuck) => (empty(owner, &Name::root()), Some(stuck.words())),
        }
    }

    /// In an unsigned zone: whether a name nobody can have made gets the same answer, and how far up that goes.
    async fn wildcard(
        &self,
        owner: &Name,
        apex: &Name,
        view: Option<&View<'_>>,
        rtype: Rtype,
    ) -> Option<String> {
        let view = view?;
        let address = view.said.first().and_then(|(_, s)| s.address)?;
        let own = view.gist(owner, rtype)?;
        let mut level = owner.parent();
        let mut found = None;
        for _ in 0..WILDCARD_LEVELS {
            if !owner.is_below(apex) || !level.is_at_or_below(apex) {
                break;
            }
            let sibling = level.child(&random_label())?;
            let asked = self.session.ask(address, &question(&sibling, rtype), Manner::Resolver).await;
            let reply = asked.reply().filter(|r| r.aa && r.rcode == 0);
            if reply.and_then(|r| gist_of(r, &sibling, rtype)).as_ref() != Some(&own) {
                break;
            }
            found = Some(format!("*.{level}"));
            level = level.parent();
        }
        found
    }
}

fn fastest(step: &ChainStep) -> Option<f64> {
    let good = step.servers.iter().filter(|s| s.kind.is_authoritative()).filter_map(|s| s.latency_ms);
    good.min_by(f64::total_cmp)
}

fn empty(owner: &Name, zone: &Name) -> ChainStep {
    ChainStep {
        owner: owner.to_string(),
        zone: zone.to_string(),
        target: None,
        answers: Vec::new(),
        ttl: None,
        soa: None,
        servers: Vec::new(),
        agree: true,
        provider: None,
        wildcard: None,
        beside: Vec::new(),
        problems: Vec::new(),
    }
}

/// All that one server × address said, by type.
struct View<'a> {
    said: Vec<(Rtype, &'a Said)>,
}

fn views<'a>(said: &'a [(Rtype, Vec<Said>)]) -> Vec<View<'a>> {
    let count = said.first().map_or(0, |(_, list)| list.len());
    (0..count)
        .map(|i| View { said: said.iter().filter_map(|(t, list)| Some((*t, list.get(i)?))).collect() })
        .collect()
}

impl View<'_> {
    fn of(&self, rtype: Rtype) -> Option<&Said> {
        self.said.iter().find(|(t, _)| *t == rtype).map(|(_, s)| *s)
    }

    fn kind(&self, rtype: Rtype) -> AnswerKind {
        self.of(rtype).map_or(AnswerKind::NotAsked, |s| s.kind)
    }

    fn reply(&self, rtype: Rtype) -> Option<&Reply> {
        self.of(rtype)?.asked.as_ref()?.reply()
    }

    /// The alias at `owner` and its TTL, from any authoritative answer.
    fn alias(&self, owner: &Name) -> Option<(Name, u32)> {
        self.said.iter().filter(|(_, s)| s.kind == AnswerKind::Answer).find_map(|(_, s)| {
            let reply = s.asked.as_ref()?.reply()?;
            let target = alias(reply, owner)?;
            let ttl = reply.answers_of(owner, Rtype::CNAME).map(|rr| rr.ttl).min().unwrap_or(0);
            Some((target, ttl))
        })
    }

    fn records(&self, owner: &Name, rtype: Rtype) -> Vec<Record> {
        let reply = self.reply(rtype).filter(|_| self.kind(rtype) == AnswerKind::Answer);
        reply.map(|r| r.answers_of(owner, rtype).map(present::record).collect()).unwrap_or_default()
    }

    fn gist(&self, owner: &Name, rtype: Rtype) -> Option<String> {
        gist_of(self.reply(rtype)?, owner, rtype)
    }

    /// The wildcard by the label count of a signature (RFC 4034 section 3.1.3); the outer `None` without signatures.
    fn signed_wildcard(&self, owner: &Name) -> Option<Option<String>> {
        let signatures =
            self.said.iter().filter_map(|(_, s)| s.asked.as_ref()?.reply()).flat_map(|r| &r.answers);
        let labels = signatures.filter(|rr| rr.name == *owner).find_map(|rr| match &rr.data {
            Data::Rrsig(s) => Some(usize::from(s.labels)),
            _ => None,
        })?;
        Some((labels < owner.labels().len()).then(|| format!("*.{}", owner.trim_to(labels))))
    }
}

/// What makes two positive answers the same.
fn gist_of(reply: &Reply, owner: &Name, rtype: Rtype) -> Option<String> {
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
fn majority(views: &[View<'_>], owner: &Name, types: &[Rtype]) -> (Option<usize>, bool) {
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
    let latency = |i: &usize| views[*i].said.first().and_then(|(_, s)| s.asked.as_ref()).map(|a| a.latency);
    let best = groups.into_values().max_by_key(Vec::len);
    (best.and_then(|g| g.into_iter().min_by_key(latency)), agree)
}

fn type_answer(views: &[View<'_>], chosen: Option<&View<'_>>, owner: &Name, rtype: Rtype) -> TypeAnswer {
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
fn beside(views: &[View<'_>], owner: &Name) -> Vec<String> {
    let mut types = BTreeSet::new();
    for view in views {
        for (rtype, _) in view.said.iter().filter(|(t, _)| !matches!(*t, Rtype::CNAME | Rtype::SOA)) {
            if !view.records(owner, *rtype).is_empty() {
                types.insert(rtype.to_string());
            }
        }
    }
    types.into_iter().collect()
}

/// SOA of a real negative answer: its TTL is what resolvers cache by.
fn negative_soa(views: &[View<'_>]) -> Option<Soa> {
    views.iter().flat_map(|v| &v.said).find_map(|(_, s)| {
        let negative = matches!(s.kind, AnswerKind::NoData | AnswerKind::NxDomain);
        let reply = s.asked.as_ref()?.reply().filter(|_| negative)?;
        reply.authority.iter().find_map(present::soa)
    })
}

fn servers_of(
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
