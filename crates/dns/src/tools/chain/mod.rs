//! A name and the aliases it leads to, each asked of every server × address of its zone, nothing from a cache.
//! In: a name and types. Out: the steps of `model::fqdn`. RFC 1034 section 3.6.2, RFC 4592 (wildcards).

mod view;

use crate::delegation::provider;
use crate::delegation::random_label;
use crate::delegation::trace::{ask_all, question};
use crate::engine::{Engine, within_memory};
use crate::error::Error;
use crate::input::{wire_name, wire_type};
use crate::present;
use crate::resolve::{MAX_ALIASES, Stuck, alias};
use crate::session::{QueryMode, Session};
use crate::tools::live::all_servers;
use crate::wire::{Name, Rtype};
use futures::future::join_all;
use model::dns::{NsName, Soa};
use model::fqdn::{ChainStep, TypeAnswer, TypeOutcome};
use model::names::Fqdn;
use std::collections::BTreeSet;
use view::{View, beside, gist_of, majority, negative_soa, servers_of, type_answer, views};

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
        let chain = walk.follow(name.clone()).await;
        within_memory(&session, &name)?;
        Ok(chain)
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
        let servers = all_servers(self.session, &zone).await;
        let types = self.questions(owner, &zone);
        let said = join_all(types.iter().map(|t| async {
            (*t, ask_all(self.session, &zone, &servers, &question(owner, *t), QueryMode::Resolver).await)
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
        let said =
            ask_all(self.session, zone, servers, &question(zone, Rtype::SOA), QueryMode::Resolver).await;
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

    /// In an unsigned zone: whether a random name gets the same answer, and at how many levels above.
    async fn wildcard(
        &self,
        owner: &Name,
        apex: &Name,
        view: Option<&View<'_>>,
        rtype: Rtype,
    ) -> Option<String> {
        let view = view?;
        let address = view.replies.first().and_then(|(_, s)| s.address)?;
        let own = view.gist(owner, rtype)?;
        let mut level = owner.parent();
        let mut found = None;
        for _ in 0..WILDCARD_LEVELS {
            if !owner.is_below(apex) || !level.is_at_or_below(apex) {
                break;
            }
            let sibling = level.child(&random_label())?;
            let asked = self.session.ask(address, &question(&sibling, rtype), QueryMode::Resolver).await;
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
