//! A chain of aliases as the authoritative servers give it: each name on the way, its zone and that zone's servers.
//! RFC 1034 section 3.6.2.

use crate::dns::{AnswerKind, Provider, Record, Soa};
use crate::finding::Level;
use crate::judgement::cause::Cause;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// One authoritative server × address and what it says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuthorityServer {
    /// The zone it was asked for.
    pub zone: String,
    /// The name it was asked about: the name itself, or a later one of its aliases.
    pub owner: String,
    /// Host name.
    pub server: String,
    /// Address; `None` when the name has none.
    pub address: Option<IpAddr>,
    /// What its answer amounts to.
    pub kind: AnswerKind,
    /// Records it gave for the owner: of the type asked for, or the CNAME.
    pub records: Vec<Record>,
    /// Smallest TTL of those.
    pub ttl: Option<u32>,
    /// SOA serial of the zone at this server.
    pub serial: Option<u32>,
    /// Milliseconds of its answer.
    pub latency_ms: Option<f64>,
    /// Name server identifier, when it gives one.
    pub nsid: Option<String>,
    /// What was wrong or odd, in words.
    pub notes: Vec<String>,
}

/// The answer for one type.
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
    /// The answer for it.
    pub outcome: TypeOutcome,
    /// RDATA in presentation form, sorted.
    pub data: Vec<String>,
    /// TTL of those records, seconds.
    pub ttl: Option<u32>,
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

/// The loop a chain of aliases ends in.
pub fn alias_loop(chain: &[ChainStep]) -> Option<Cause> {
    let target = chain.last()?.target.as_ref()?;
    let start = chain.iter().position(|s| s.owner.eq_ignore_ascii_case(target))?;
    let names = chain[start..].iter().map(|s| s.owner.clone()).chain([target.clone()]).collect();
    Some(Cause::AliasLoop { names })
}

/// The zone a chain ends in, where none of its name servers has an address.
pub fn no_server_address(chain: &[ChainStep]) -> Option<Cause> {
    let last = chain.last()?;
    let failed = last.answers.iter().all(|a| a.outcome == TypeOutcome::Failed);
    if last.target.is_some() || !failed || last.servers.is_empty() {
        return None;
    }
    let mut servers: Vec<String> = last.servers.iter().map(|s| s.server.clone()).collect();
    servers.dedup();
    let none = last.servers.iter().all(|s| s.address.is_none());
    none.then(|| Cause::NoServerAddress { zone: last.zone.clone(), servers })
}
