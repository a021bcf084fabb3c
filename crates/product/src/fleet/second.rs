//! Points of presence as other places that the schedule asks: one of them before a server counts as dead, all of them now
//! and then for how fast the servers of a domain answer there.

use super::agents::{FEATURE, ask, online, with_room};
use super::places::chosen;
use ::fleet::{Answer, Question};
use async_trait::async_trait;
use features::Gates;
use futures::future::join_all;
use model::latency::{PlaceLatency, PlaceLooks};
use model::names::DomainName;
use monitor::{Clock, Elsewhere, PlaceAnswers, SecondPlace};
use std::sync::Arc;
use std::time::Duration;
use store::{Agent, Store};

/// How long a point of presence may take; a scan has 100 seconds.
const PATIENCE: Duration = Duration::from_secs(12);
/// Points of presence that are asked in turn when one is silent (it may be gone and not yet count as offline) or could not look.
const ATTEMPTS: usize = 3;
/// Questions that a point of presence may have before it is not asked for latencies: these are the least urgent.
const BUSY: u64 = 8;

/// Asks one of the points of presence that are online.
pub struct SecondLook {
    /// The store.
    pub store: Arc<dyn Store>,
    /// Whether points of presence are on.
    pub gates: Gates,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}

/// The question that every version of the protocol knows.
fn soa(name: &DomainName) -> Question {
    Question::Authority { name: name.to_string(), rtype: "SOA".into() }
}

/// One of them for a name: names are spread over all, and a name stays with its place while they are the same.
fn choose<'a>(agents: &'a [Agent], name: &DomainName) -> Option<&'a Agent> {
    let id = ::features::leader(name.as_str(), agents.iter().map(|a| a.id.as_str()))?;
    agents.iter().find(|a| a.id == id)
}

/// Why an answer is no second look: the reason that the agent gives.
fn why(answer: Answer) -> String {
    match answer {
        Answer::Failed { reason } => reason,
        _ => "it answered another question".into(),
    }
}

fn failed(agent: &Agent, reason: &str) {
    tracing::info!(agent = agent.id, reason, "a point of presence gave no second look");
}

#[async_trait]
impl SecondPlace for SecondLook {
    async fn answering(&self, name: &DomainName) -> Option<Elsewhere> {
        let _use = self.gates.enter(FEATURE)?;
        let mut agents = online(&*self.store, self.clock.now()).await.ok()?;
        let question = soa(name);
        for _ in 0..ATTEMPTS {
            let agent = choose(&agents, name)?.clone();
            match ask(&*self.store, &*self.clock, &agent, &question, PATIENCE).await {
                Ok(Answer::Authority { seen }) => {
                    let place = match agent.region.is_empty() {
                        true => agent.id.clone(),
                        false => format!("{} ({})", agent.id, agent.region),
                    };
                    return Some(Elsewhere { place, answering: seen.answering_servers() });
                }
                Ok(answer) => failed(&agent, &why(answer)),
                Err(reason) => failed(&agent, &reason),
            }
            agents.retain(|a| a.id != agent.id);
        }
        None
    }

    async fn latencies(&self, name: &DomainName) -> Option<PlaceAnswers> {
        let held = self.gates.enter(FEATURE)?;
        let now = self.clock.now();
        let members = self.store.agents().await.ok()?;
        if members.is_empty() {
            return None;
        }
        let queues = self.store.agent_queues(now).await.ok()?;
        let ids = members.iter().map(|a| a.id.clone()).collect();
        let (agents, _) = chosen(with_room(members, &queues, BUSY, now));
        let question = soa(name);
        let looks = agents.iter().map(|agent| async {
            match ask(&*self.store, &*self.clock, agent, &question, PATIENCE).await {
                Ok(Answer::Authority { seen }) => {
                    Some(PlaceLatency::of(agent.id.clone(), agent.region.clone(), &seen, now))
                }
                Ok(_) => None,
                Err(reason) => {
                    tracing::debug!(agent = agent.id, reason, "a point of presence measured no latency");
                    None
                }
            }
        });
        let looks: Vec<_> = join_all(looks).await.into_iter().flatten().collect();
        let looks = PlaceLooks { looks, members: ids };
        (!looks.looks.is_empty()).then_some(PlaceAnswers { looks, held: Some(held) })
    }
}
