//! A point of presence as the second place that scheduled scans ask before a server counts as dead.

use super::agents::{FEATURE, ask, online};
use ::fleet::{Answer, Question};
use async_trait::async_trait;
use features::Gates;
use model::names::DomainName;
use monitor::{Clock, Elsewhere, SecondPlace};
use std::sync::Arc;
use std::time::Duration;
use store::{Agent, Store};

/// How long a point of presence may take; a scan has 100 seconds.
const PATIENCE: Duration = Duration::from_secs(12);
/// Points of presence that are asked in turn when one is silent: it may be gone and not yet count as offline.
const ATTEMPTS: usize = 3;

/// Asks one of the points of presence that are online.
pub struct SecondLook {
    /// The store.
    pub store: Arc<dyn Store>,
    /// Whether points of presence are on.
    pub gates: Gates,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}

/// One of them for a name: names are spread over all, and a name stays with its place while they are the same.
fn choose<'a>(agents: &'a [Agent], name: &DomainName) -> Option<&'a Agent> {
    let id = ::features::leader(name.as_str(), agents.iter().map(|a| a.id.as_str()))?;
    agents.iter().find(|a| a.id == id)
}

#[async_trait]
impl SecondPlace for SecondLook {
    async fn answering(&self, name: &DomainName) -> Option<Elsewhere> {
        let _use = self.gates.enter(FEATURE)?;
        let mut agents = online(&*self.store, self.clock.now()).await.ok()?;
        let question = Question::Authority { name: name.to_string(), rtype: "SOA".into() };
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
                Ok(_) => return None,
                Err(reason) => {
                    tracing::info!(agent = agent.id, reason, "a point of presence gave no second look");
                    agents.retain(|a| a.id != agent.id);
                }
            }
        }
        None
    }
}
