//! The FQDN analyzer: one host name seen from several places without a cache, its chain of aliases, and when it is safe
//! to change it. In: answers of vantage points. Out: [`FqdnReport`]. RFC 1034 section 3.6.2 (aliases), RFC 4592
//! (wildcards).

mod browser;
mod chain;
mod report;
#[cfg(test)]
mod samples;
mod ttl_plan;

pub use browser::{BROWSER_TYPES, askable, browser_vantage};
pub use chain::{LONG_CHAIN, LONG_TTL, SHORT_TTL, judge_chain};
pub use report::report;
pub use ttl_plan::{PlanStage, StageKind, TtlPlan, ttl_plan};

use crate::compare::AuthorityServer;
use crate::dns::{Provider, Soa};
use crate::finding::Level;
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

/// What is said of one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TypeOutcome {
    /// There are records.
    Records,
    /// The name exists, the type does not.
    NoData,
    /// The name does not exist.
    NxDomain,
    /// No answer that counts.
    Failed,
}

/// The answer for one type at the end of the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeAnswer {
    /// Type mnemonic.
    #[serde(rename = "type")]
    pub rtype: String,
    /// What is said of it.
    pub outcome: TypeOutcome,
    /// RDATA in presentation form, sorted.
    pub data: Vec<String>,
    /// TTL of those records, seconds.
    pub ttl: Option<u32>,
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
}

/// One step of the chain: an alias, or the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChainStep {
    /// The name.
    pub owner: String,
    /// The zone that holds it.
    pub zone: String,
    /// Where the alias leads; `None` at the end.
    pub target: Option<String>,
    /// Record sets at this name that were asked for: the CNAME, or the types at the end.
    pub answers: Vec<TypeAnswer>,
    /// Smallest TTL of this step, seconds.
    pub ttl: Option<u32>,
    /// SOA of the zone, from a negative answer or its apex.
    pub soa: Option<Soa>,
    /// Every server × address of the zone and what it says of the first type asked.
    pub servers: Vec<AuthorityServer>,
    /// True when all servers that answer with authority say the same.
    pub agree: bool,
    /// Who runs the zone's servers.
    pub provider: Option<Provider>,
    /// The wildcard this answer was made from (`*.example.com`), when that could be told.
    pub wildcard: Option<String>,
    /// Types beside the CNAME that some server also gives here: forbidden by RFC 1034 section 3.6.2.
    #[serde(default)]
    pub beside: Vec<String>,
    /// What is wrong at this step.
    #[serde(default)]
    pub problems: Vec<ChainProblem>,
}

impl ChainStep {
    /// Shortest and longest TTL with which some server gives the alias, or the addresses where there is none: what a
    /// visitor's resolver keeps. Other types at the name do not count.
    pub fn ttls(&self) -> Option<(u32, u32)> {
        let counts = |t: &str| match self.target {
            Some(_) => t == "CNAME",
            None => matches!(t, "A" | "AAAA"),
        };
        let own = self.answers.iter().filter(|a| counts(&a.rtype)).filter_map(|a| a.ttl);
        let served = self.servers.iter().filter(|s| s.kind.is_authoritative()).flat_map(|s| &s.records);
        let all: Vec<u32> = own.chain(served.filter(|r| counts(&r.rtype)).map(|r| r.ttl)).collect();
        Some((all.iter().copied().min()?, all.iter().copied().max()?))
    }
}

/// What can be wrong with a step of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// The aliases lead back to a name before.
    Loop,
    /// The last name of the chain does not exist, or has no address.
    Dangling,
    /// A CNAME at the apex of a zone.
    ApexCname,
    /// A CNAME beside other records.
    CnameAndOther,
    /// More steps than resolvers can be trusted to follow.
    TooLong,
    /// The target is in another organisation's hands.
    OtherProvider,
    /// A TTL that makes changes slow.
    LongTtl,
    /// A TTL that makes every visitor wait for the DNS.
    ShortTtl,
    /// Servers of one zone say different things.
    Disagree,
    /// No server of the zone answers usefully.
    NoAnswer,
    /// The name is made from a wildcard.
    Wildcard,
}

/// Something noticed at a step of the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainProblem {
    /// What.
    pub kind: ProblemKind,
    /// How bad.
    pub level: Level,
    /// Two or three words for a pill (`Long TTL`).
    pub label: String,
    /// What it means, in a sentence.
    pub sentence: String,
    /// What to do, in a sentence; empty when nothing is to be done.
    pub fix: String,
}

/// How the name does as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// It resolves everywhere.
    Ok,
    /// It resolves, and not every place is told the same: by location, or from an older copy.
    Notice,
    /// It resolves, and something ought to be looked at.
    Warning,
    /// It does not resolve.
    Critical,
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
    /// Advice for a change, with dates; `None` when there is nothing to change (nothing is served, or nothing answered).
    pub ttl_plan: Option<TtlPlan>,
    /// When the report was made.
    pub now: Timestamp,
}

impl FqdnReport {
    /// The worst of all problems.
    pub fn worst(&self) -> Option<Level> {
        self.chain.iter().flat_map(|s| &s.problems).map(|p| p.level).max()
    }
}
