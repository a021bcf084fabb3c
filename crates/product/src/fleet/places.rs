//! A name from all places: this server and every point of presence that is online.

use super::web::web_question;
use crate::{Services, Work, query_error};
use ::fleet::{Answer, PROTOCOL, Question};
use async_trait::async_trait;
use dns::ChainQuestion;
use dns::fqdn::Vantage;
use futures::future::{join, join_all};
use model::Timestamp;
use model::compare::{Authority, Earlier, Judged, ResolverAnswer, Stopped, judge};
use model::fqdn::{VantageAnswer, VantageKind};
use model::ids::Caller;
use model::names::Fqdn;
use model::places::{Looked, PlaceAnswer};
use service::{ApiError, ApiResult};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use store::Agent;

/// How long an agent may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// Places that one look asks.
const PLACES_MAX: usize = 16;

/// The points of presence that one look asks, as many of each region as of the others, and how many it leaves out.
pub(super) fn chosen(agents: Vec<Agent>) -> (Vec<Agent>, usize) {
    let left_out = agents.len().saturating_sub(PLACES_MAX);
    let mut of_region = HashMap::<String, usize>::new();
    let rank = |agent: Agent| {
        let rank = of_region.entry(agent.region.clone()).or_default();
        *rank += 1;
        (*rank, agent)
    };
    let mut ranked: Vec<_> = agents.into_iter().map(rank).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.truncate(PLACES_MAX);
    let mut chosen: Vec<Agent> = ranked.into_iter().map(|(_, agent)| agent).collect();
    chosen.sort_by(|a, b| a.id.cmp(&b.id));
    (chosen, left_out)
}

/// A point of presence as a place of the analyzer.
pub(crate) struct Remote {
    services: Services,
    agent: Agent,
}

#[async_trait]
impl Vantage for Remote {
    fn id(&self) -> &str {
        &self.agent.id
    }

    fn label(&self) -> &str {
        &self.agent.id
    }

    fn kind(&self) -> VantageKind {
        VantageKind::Agent
    }

    async fn look(&self, name: &Fqdn, _: &ChainQuestion, now: Timestamp) -> VantageAnswer {
        let question = Question::Host { name: name.to_string() };
        let answer = self.services.ask(&self.agent, &question, PATIENCE).await;
        let (mut seen, error) = match answer {
            Ok(Answer::Host { seen }) => (Some(*seen), None),
            Ok(Answer::Failed { reason }) | Err(reason) => (None, Some(reason)),
            Ok(_) => (None, Some("the answer is of another kind".into())),
        };
        let mut out = seen.take().unwrap_or_else(|| VantageAnswer {
            id: String::new(),
            label: String::new(),
            place: None,
            kind: VantageKind::Agent,
            chain: Vec::new(),
            answers: Vec::new(),
            latency_ms: None,
            asked_at: now,
            error,
            bogus: None,
        });
        // Who it is, is what this server knows, not what it says.
        (out.id, out.label, out.kind) = (self.agent.id.clone(), self.agent.id.clone(), VantageKind::Agent);
        out.place = (!self.agent.region.is_empty()).then(|| self.agent.region.clone());
        out.asked_at = now;
        out
    }
}

impl Services {
    /// The points of presence to look from.
    pub(crate) async fn remote_places(&self) -> Vec<Arc<dyn Vantage>> {
        // Without them the look is made from here alone.
        let agents = self.online_agents().await.unwrap_or_default();
        let remote = |agent| Arc::new(Remote { services: self.clone(), agent }) as Arc<dyn Vantage>;
        chosen(agents).0.into_iter().map(remote).collect()
    }

    pub(super) async fn places(
        &self,
        caller: &Caller,
        name: &str,
        rtype: &str,
    ) -> ApiResult<Looked<PlaceAnswer>> {
        let name = Fqdn::read(name).map_err(|e| ApiError::invalid(e.to_string()))?.name;
        let rtype = if rtype.trim().is_empty() { "A" } else { rtype.trim() };
        dns::known_type(rtype).map_err(|e| query_error(&e))?;
        let (agents, left_out) = chosen(self.online_agents().await?);
        if agents.is_empty() {
            return Ok(Looked { places: Vec::new(), left_out });
        }
        let _permit = self.tools.limits.enter(caller, Work::Authority).await?;
        let here = self.tools.comparer.authority(&name, rtype).await;
        // Resolvers are not asked about a name that is denied, nor about the serial, of which each keeps another one.
        let caches = here.as_ref().ok().filter(|a| Stopped::by(a).is_none() && rtype != "SOA");
        let remote = join_all(agents.iter().map(|agent| self.place(agent, &name, rtype, caches))).await;
        let here = PlaceAnswer {
            id: "local".into(),
            label: "This server".into(),
            region: String::new(),
            error: here.as_ref().err().map(ToString::to_string),
            authority: here.ok(),
            caches: None,
        };
        Ok(Looked { places: std::iter::once(here).chain(remote).collect(), left_out })
    }

    /// What an agent sees; `here` is what this server saw, where the resolvers are to be asked too.
    async fn place(&self, agent: &Agent, name: &Fqdn, rtype: &str, here: Option<&Authority>) -> PlaceAnswer {
        let (name, rtype) = (name.to_string(), rtype.to_ascii_uppercase());
        let authority = Question::Authority { name: name.clone(), rtype: rtype.clone() };
        let caches = Question::Caches { name, rtype };
        let caches = async {
            match here {
                Some(_) if agent.protocol >= caches.since() => self.ask(agent, &caches, PATIENCE).await.ok(),
                _ => None,
            }
        };
        let (authority, caches) = join(self.ask(agent, &authority, PATIENCE), caches).await;
        let (authority, error) = match authority {
            Ok(Answer::Authority { seen }) => (Some(*seen), None),
            Ok(Answer::Failed { reason }) | Err(reason) => (None, Some(reason)),
            Ok(_) => (None, Some("the answer is of another kind".to_string())),
        };
        PlaceAnswer {
            id: agent.id.clone(),
            label: agent.id.clone(),
            region: agent.region.clone(),
            caches: match (authority.as_ref().or(here), caches) {
                (Some(right), Some(Answer::Caches { seen })) => Some(self.judged(right, &seen)),
                _ => None,
            },
            authority,
            error,
        }
    }

    /// What resolvers said, beside what is right; those that this server does not know are left out.
    fn judged(&self, right: &Authority, seen: &[ResolverAnswer]) -> Vec<Judged> {
        let known = self.tools.comparer.resolvers();
        let (earlier, now) = (Earlier::default(), self.now());
        let judged = |a: &ResolverAnswer| {
            Some(judge(right, known.iter().find(|r| r.id == a.resolver)?, Some(a), &earlier, now))
        };
        seen.iter().filter_map(judged).collect()
    }
}

/// What an agent answers with: the engine, limits and dial guard that a server has.
pub struct AgentEngine {
    /// DNS, host names and their chains.
    pub engine: dns::Engine,
    /// What the authoritative servers say.
    pub comparer: dns::compare::Comparer,
    /// Connections to web servers.
    pub web: net::Dialer,
}

/// The answer of an agent's own engine to a question.
///
/// Never fails: what can't be answered is an answer that says why.
pub async fn answer(place: &AgentEngine, question: &Question, now: Timestamp) -> Answer {
    let AgentEngine { engine, comparer, web } = place;
    let failed = |reason: String| Answer::Failed { reason };
    match question {
        Question::Host { name } => match Fqdn::read(name) {
            Ok(read) => {
                let here = dns::fqdn::Here::new(engine.clone());
                let seen = here.look(&read.name, &ChainQuestion::host(), now).await;
                Answer::Host { seen: Box::new(seen) }
            }
            Err(e) => failed(e.to_string()),
        },
        Question::Authority { name, rtype } => match Fqdn::read(name) {
            Ok(read) => match comparer.authority(&read.name, rtype).await {
                Ok(seen) => Answer::Authority { seen: Box::new(seen) },
                Err(e) => failed(e.to_string()),
            },
            Err(e) => failed(e.to_string()),
        },
        Question::Caches { name, rtype } => match Fqdn::read(name) {
            Ok(read) => match comparer.caches(&read.name, rtype).await {
                Ok(seen) => Answer::Caches { seen },
                Err(e) => failed(e.to_string()),
            },
            Err(e) => failed(e.to_string()),
        },
        Question::Web { name, path } => match web_question(name, path) {
            Ok((name, path)) => {
                Answer::Web { seen: Box::new(probe::web_answer(web, name.as_str(), &path, now).await) }
            }
            Err(e) => failed(e.detail),
        },
        Question::Unknown => {
            failed(format!("the agent speaks protocol {PROTOCOL} and does not know this question: update it"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(id: usize, region: &str) -> Agent {
        Agent {
            id: format!("a-{id:02}"),
            region: region.into(),
            key: String::new(),
            version: String::new(),
            protocol: PROTOCOL,
            joined_at: Timestamp::UNIX_EPOCH,
            seen_at: Timestamp::UNIX_EPOCH,
            latency_ms: None,
            latency: Default::default(),
            running: 0,
            draining: false,
            first_answer_at: None,
        }
    }

    #[test]
    fn a_look_asks_so_many_and_leaves_no_region_out() {
        let many = (0..30).map(|n| agent(n, "eu")).chain([agent(30, "sa"), agent(31, "sa"), agent(32, "")]);
        let (asked, left_out) = chosen(many.collect());
        assert_eq!((asked.len(), left_out), (PLACES_MAX, 33 - PLACES_MAX));
        let ids: Vec<_> = asked.iter().map(|a| a.id.as_str()).collect();
        assert!(["a-00", "a-12", "a-30", "a-31", "a-32"].iter().all(|id| ids.contains(id)), "{ids:?}");
        assert!(ids.is_sorted());
        assert_eq!(chosen(vec![agent(1, "eu")]), (vec![agent(1, "eu")], 0));
    }
}
