//! Observing: the registration client and the DNS engine behind one small trait, the only place where the path
//! touches the network.

use async_trait::async_trait;
use jiff::Timestamp;
use model::detail::RawAnswer;
use model::dns::{Delegation, Dnssec, ZoneSnapshot};
use model::finding::Finding;
use model::names::DomainName;
use model::observation::{Part, PartError};
use model::registration::RegistrationState;
use model::scan::{Stage, StageResult};

/// What the DNS said, part by part.
#[derive(Debug, Clone, Default)]
pub struct DnsParts {
    /// NS sets and name servers.
    pub delegation: Part<Delegation>,
    /// Records.
    pub zone: Part<ZoneSnapshot>,
    /// Chain of trust.
    pub dnssec: Part<Dnssec>,
    /// What the checks noticed.
    pub findings: Vec<Finding>,
}

/// Is told as stages begin and end.
pub trait Progress: Send + Sync {
    /// A stage begins.
    fn started(&self, stage: Stage);
    /// A stage ended.
    fn done(&self, result: StageResult);
}

/// Progress nobody looks at.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn started(&self, _: Stage) {}
    fn done(&self, _: StageResult) {}
}

/// Looks at a name. Never fails as a whole: a part that could not be read carries its error.
#[async_trait]
pub trait Observer: Send + Sync + 'static {
    /// Registration data, with the raw answers.
    async fn registration(
        &self,
        name: &DomainName,
        now: Timestamp,
        progress: &dyn Progress,
    ) -> (Part<RegistrationState>, Vec<RawAnswer>);

    /// Delegation, zone, DNSSEC and findings.
    async fn dns(&self, name: &DomainName, now: Timestamp, progress: &dyn Progress) -> DnsParts;
}

/// The real thing: whatever network the settings point at.
pub struct Internet {
    /// RDAP and WHOIS.
    pub client: registration::Client,
    /// The DNS engine.
    pub engine: dns::Engine,
}

fn failed<T>(now: Timestamp, label: &str, sentence: String) -> Part<T> {
    let error = PartError { label: label.into(), sentence, retry_at: None };
    Part { attempted_at: Some(now), error: Some(error), ..Part::default() }
}
