//! A name from all places: this server and every point of presence that is online.

use crate::{Services, Work, query_error};
use ::fleet::{Answer, Question};
use async_trait::async_trait;
use dns::ChainQuestion;
use dns::fqdn::Vantage;
use futures::future::{join, join_all};
use model::Timestamp;
use model::fqdn::{VantageAnswer, VantageKind};
use model::ids::Caller;
use model::names::Fqdn;
use model::places::PlaceAnswer;
use service::{ApiError, ApiResult};
use std::sync::Arc;
use std::time::Duration;
use store::Agent;

/// How long an agent may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// Places that one look asks.
const PLACES_MAX: usize = 16;

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
            Ok(Answer::Failed { reason }) => (None, Some(reason)),
            Ok(Answer::Authority { .. }) => (None, Some("the answer is of another kind".into())),
            Err(reason) => (None, Some(reason)),
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
        agents.into_iter().take(PLACES_MAX).map(remote).collect()
    }

    pub(super) async fn places(
        &self,
        caller: &Caller,
        name: &str,
        rtype: &str,
    ) -> ApiResult<Vec<PlaceAnswer>> {
        let name = Fqdn::read(name).map_err(|e| ApiError::invalid(e.to_string()))?.name;
        let rtype = if rtype.trim().is_empty() { "A" } else { rtype.trim() };
        dns::known_type(rtype).map_err(|e| query_error(&e))?;
        let agents: Vec<Agent> = self.online_agents().await?.into_iter().take(PLACES_MAX).collect();
        if agents.is_empty() {
            return Ok(Vec::new());
        }
        let _permit = self.tools.limits.enter(caller, Work::Authority).await?;
        let here = self.tools.comparer.authority(&name, rtype);
        let remote = join_all(agents.iter().map(|agent| self.place(agent, &name, rtype)));
        let (here, remote) = join(here, remote).await;
        let here = PlaceAnswer {
            id: "local".into(),
            label: "This server".into(),
            region: String::new(),
            error: here.as_ref().err().map(ToString::to_string),
            authority: here.ok(),
        };
        Ok(std::iter::once(here).chain(remote).collect())
    }

    async fn place(&self, agent: &Agent, name: &Fqdn, rtype: &str) -> PlaceAnswer {
        let question = Question::Authority { name: name.to_string(), rtype: rtype.to_ascii_uppercase() };
        let (authority, error) = match self.ask(agent, &question, PATIENCE).await {
            Ok(Answer::Authority { seen }) => (Some(*seen), None),
            Ok(Answer::Failed { reason }) => (None, Some(reason)),
            Ok(Answer::Host { .. }) => (None, Some("the answer is of another kind".to_string())),
            Err(reason) => (None, Some(reason)),
        };
        PlaceAnswer {
            id: agent.id.clone(),
            label: agent.id.clone(),
            region: agent.region.clone(),
            authority,
            error,
        }
    }
}

/// The answer of an agent's own engine to a question.
///
/// Never fails: what can't be answered is an answer that says why.
pub async fn answer(
    engine: &dns::Engine,
    comparer: &dns::compare::Comparer,
    question: &Question,
    now: Timestamp,
) -> Answer {
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
    }
}
