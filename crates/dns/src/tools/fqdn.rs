//! A host name from several places: each place is a [`Vantage`]; this server is one, remote agents will be others.
//! In: a name. Out: `model::fqdn::FqdnReport`.

use crate::engine::Engine;
use crate::tools::chain::ChainQuestion;
use async_trait::async_trait;
use futures::future::join_all;
use jiff::Timestamp;
use model::cause::Cause;
use model::dns::DnssecStatus;
use model::fqdn::{ChainStep, FqdnReport, TypeOutcome, VantageAnswer, VantageKind, report};
use model::names::Fqdn;
use std::sync::Arc;
use std::time::Duration;

/// How long a place may take; one that is later is shown as silent.
const PATIENCE: Duration = Duration::from_secs(60);

/// Zones of one chain that are validated.
const MAX_ZONES_VALIDATED: usize = 4;

/// A place a name is looked at from.
#[async_trait]
pub trait Vantage: Send + Sync {
    /// Stable word.
    fn id(&self) -> &str;
    /// Name people see.
    fn label(&self) -> &str;
    /// What kind of place.
    fn kind(&self) -> VantageKind;
    /// What is asked of it. A place that can't look says why in `error`.
    async fn look(&self, name: &Fqdn, asked: &ChainQuestion, now: Timestamp) -> VantageAnswer;
}

/// This server: the authoritative servers themselves, uncached.
pub struct Here {
    engine: Engine,
    label: String,
}

impl Here {
    /// With this engine.
    pub fn new(engine: Engine) -> Self {
        Here { engine, label: "This server".into() }
    }

    /// Under another name (`This machine`).
    pub fn called(mut self, label: &str) -> Self {
        self.label = label.into();
        self
    }
}

#[async_trait]
impl Vantage for Here {
    fn id(&self) -> &str {
        "local"
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn kind(&self) -> VantageKind {
        VantageKind::Server
    }

    async fn look(&self, name: &Fqdn, asked: &ChainQuestion, now: Timestamp) -> VantageAnswer {
        let mut answer = silent(self, now, None);
        match self.engine.chain(name, asked).await {
            Ok(chain) => {
                answer.answers = chain.steps.last().map(|s| s.answers.clone()).unwrap_or_default();
                let failed = answer.answers.is_empty()
                    || answer.answers.iter().all(|a| a.outcome == TypeOutcome::Failed);
                answer.error = chain.notes.first().filter(|_| failed).cloned();
                answer.bogus = self.bogus(&chain.steps, failed, now).await;
                answer.chain = chain.steps;
                answer.latency_ms = chain.latency_ms;
            }
            Err(e) => answer.error = Some(e.to_string()),
        }
        answer
    }
}

impl Here {
    /// The first zone of the chain that does not validate. Not looked at where nothing answered: that is the cause then.
    async fn bogus(&self, chain: &[ChainStep], failed: bool, now: Timestamp) -> Option<Cause> {
        let mut zones: Vec<&str> = Vec::new();
        for step in chain.iter().filter(|s| !failed && s.zone != "." && !s.answers.is_empty()) {
            if !zones.contains(&step.zone.as_str()) {
                zones.push(&step.zone);
            }
        }
        let looks = zones.iter().take(MAX_ZONES_VALIDATED).map(|zone| async move {
            let state = self.engine.dnssec(zone, now).await.ok()?;
            let bogus = state.status == DnssecStatus::Bogus;
            bogus.then(|| Cause::Bogus { zone: (*zone).to_string(), reason: state.reason })
        });
        join_all(looks).await.into_iter().flatten().next()
    }
}

fn silent(vantage: &(impl Vantage + ?Sized), now: Timestamp, error: Option<String>) -> VantageAnswer {
    VantageAnswer {
        id: vantage.id().into(),
        label: vantage.label().into(),
        place: None,
        kind: vantage.kind(),
        chain: Vec::new(),
        answers: Vec::new(),
        latency_ms: None,
        asked_at: now,
        error,
        bogus: None,
    }
}

/// Looks at a name from all places at once.
pub async fn analyze(name: &Fqdn, vantages: &[Arc<dyn Vantage>], now: Timestamp) -> FqdnReport {
    let asked = ChainQuestion::host();
    let looks = vantages.iter().map(|v| async {
        let look = tokio::time::timeout(PATIENCE, v.look(name, &asked, now)).await;
        look.unwrap_or_else(|_| silent(&**v, now, Some("no answer in time".into())))
    });
    report(&name.to_string(), join_all(looks).await, now)
}
