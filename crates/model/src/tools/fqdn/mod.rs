//! The FQDN analyzer: one host name seen from several places without a cache, its chain of aliases, and when it is safe
//! to change it. In: answers of vantage points. Out: [`FqdnReport`]. RFC 1034 section 3.6.2 (aliases), RFC 4592
//! (wildcards).

mod browser;
mod chain;
mod report;
#[cfg(test)]
mod samples;
mod ttl_plan;

pub use super::chain::{ChainProblem, ChainStep, ProblemKind, TypeAnswer, TypeOutcome};
pub use crate::finding::Tone;
pub use browser::{BROWSER_TYPES, askable, browser_vantage};
pub use chain::{LONG_CHAIN, LONG_TTL, SHORT_TTL, judge_chain};
pub use report::report;
pub use ttl_plan::{PlanStage, StageKind, TtlPlan, ttl_plan};

use super::address_space::AddressSpace;
use crate::finding::Level;
use crate::judgement::cause::Cause;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// What kind of place a name is looked at from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VantageKind {
    /// This server: uncached, of the authoritative servers.
    Server,
    /// A remote agent of ours: the same from elsewhere.
    Agent,
    /// The visitor's browser, through a public DoH resolver: may be a cached answer.
    Browser,
}

/// What one vantage point sees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VantageAnswer {
    /// Stable word (`local`, an agent's id, `browser`).
    pub id: String,
    /// Name people see (`This server`).
    pub label: String,
    /// Where it is or how it asked (`Frankfurt`, `over DoH, Quad9`).
    pub place: Option<String>,
    /// What kind of place.
    pub kind: VantageKind,
    /// The chain of aliases to its end, as seen from there; a browser's has no servers.
    pub chain: Vec<ChainStep>,
    /// The types asked for, at the end of the chain.
    pub answers: Vec<TypeAnswer>,
    /// Milliseconds of the answer: of the slowest needed server, or of the DoH exchange.
    pub latency_ms: Option<f64>,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// Why nothing could be seen, in words.
    pub error: Option<String>,
    /// A zone of the chain that does not validate, as seen from there; `None` too where that was not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bogus: Option<Cause>,
}

/// Everything about one host name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FqdnReport {
    /// The name.
    pub name: String,
    /// Whether it is well.
    pub tone: Tone,
    /// The headline: `It resolves everywhere, to three addresses.`
    pub headline: String,
    /// The cause in the headline, where one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The differences between vantage points in one sentence; says so when there are none.
    pub differences: String,
    /// What each place sees.
    pub vantages: Vec<VantageAnswer>,
    /// The chain as this server sees it (as the first place that sees one, where this server sees none), with its problems.
    pub chain: Vec<ChainStep>,
    /// Label of the place the chain was seen from.
    pub chain_from: String,
    /// Steps, zones and loop in a few words: `3 steps, 2 zones, no loop`.
    pub chain_words: String,
    /// All addresses any place was given, sorted.
    pub addresses: Vec<IpAddr>,
    /// Where the addresses lie in the registry of the organisation that asks; empty where it registers no address space.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub address_space: Vec<AddressSpace>,
    /// Advice for a change, with dates; `None` when there is nothing to change (nothing is served, or nothing answered).
    pub ttl_plan: Option<TtlPlan>,
    /// When the report was made.
    pub now: Timestamp,
}

impl FqdnReport {
    /// True when the registration of the domain may say why the name does not resolve.
    pub fn wants_registration(&self) -> bool {
        self.tone == Tone::Critical && self.cause.is_none()
    }

    /// Puts a cause found elsewhere (the registration) into the headline.
    #[must_use]
    pub fn because(mut self, cause: Option<Cause>) -> Self {
        if let Some(cause) = cause.filter(|c| self.cause.as_ref().is_none_or(|own| c < own)) {
            self.headline = format!("It does not resolve. {}", cause.headline());
            self.cause = Some(cause);
        }
        self
    }

    /// True when the name does not resolve or its chain has a problem of level WARNING or worse: a command that reports
    /// it ends with exit code 1.
    pub fn is_problem(&self) -> bool {
        self.tone.is_problem() || self.worst() >= Some(Level::Warning)
    }

    /// The worst of all problems.
    pub fn worst(&self) -> Option<Level> {
        self.chain.iter().flat_map(|s| &s.problems).map(|p| p.level).max()
    }
}
