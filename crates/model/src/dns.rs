//! What the DNS was seen to say: servers, answers, delegation, SOA, trace. Terms of RFC 9499.
//!
//! Names are lower case without the final dot (the root is `.`); TTLs and timers are seconds; latencies are
//! milliseconds.

pub use crate::denial::DenialProof;
use crate::legacy::LegacyDns;
pub use crate::problem::ServerProblem;
use crate::registration::Ds;
pub use crate::server_state::{ServerHealth, ServerState};
pub use crate::trace::{ChainEnd, Trace, TraceOutcome, TraceStep};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// A resource record as it was served.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Record {
    /// Owner name.
    pub name: String,
    /// Type mnemonic (`A`, `MX`, `TYPE65534`).
    #[serde(rename = "type")]
    pub rtype: String,
    /// Time to live, seconds.
    pub ttl: u32,
    /// RDATA in presentation form (RFC 1035 section 5).
    pub data: String,
}

/// The start of authority of a zone (RFC 1035 section 3.3.13).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Soa {
    /// The zone.
    pub zone: String,
    /// Primary name server.
    pub mname: String,
    /// Mailbox of the person responsible, as a name.
    pub rname: String,
    /// Serial number.
    pub serial: u32,
    /// Seconds between the secondaries' checks.
    pub refresh: u32,
    /// Seconds before a failed check is tried again.
    pub retry: u32,
    /// Seconds after which a secondary that can't reach the primary stops answering.
    pub expire: u32,
    /// The last field: bounds negative caching (RFC 2308).
    pub minimum: u32,
    /// TTL of the SOA record itself.
    pub ttl: u32,
}

impl Soa {
    /// Seconds a resolver may remember that a name does not exist: the smaller of the last SOA field and the SOA
    /// record's own TTL (RFC 2308 section 5).
    pub fn negative_ttl(&self) -> u32 {
        self.minimum.min(self.ttl)
    }
}

/// How a question was carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// RFC 1035 section 4.2.1.
    Udp,
    /// RFC 7766.
    Tcp,
}

/// What one answer amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerKind {
    /// Records of the type asked for (or a CNAME), authoritative.
    Answer,
    /// Records of the type asked for, without the AA bit.
    NonAuthoritative,
    /// A referral to a zone below.
    Referral,
    /// A referral to this zone or one above it: the server does not serve the zone.
    UpwardReferral,
    /// The name exists, the type does not (NODATA).
    NoData,
    /// The name does not exist.
    NxDomain,
    /// RCODE REFUSED.
    Refused,
    /// RCODE SERVFAIL.
    ServFail,
    /// Any other RCODE, in `rcode`.
    OtherRcode,
    /// Nothing came in time.
    Timeout,
    /// The network said no (port closed, no route).
    Unreachable,
    /// What came was no DNS message, or not the answer to our question.
    Malformed,
    /// Not asked: the address family or the target is not allowed or not usable here.
    NotAsked,
}

impl AnswerKind {
    /// True when the server said something authoritative about the name.
    pub fn is_authoritative(self) -> bool {
        matches!(self, AnswerKind::Answer | AnswerKind::NoData | AnswerKind::NxDomain)
    }

    /// True when some DNS message came back.
    pub fn responded(self) -> bool {
        !matches!(
            self,
            AnswerKind::Timeout | AnswerKind::Unreachable | AnswerKind::Malformed | AnswerKind::NotAsked
        )
    }

    /// A few plain words for tables and tool tips.
    pub fn words(self) -> &'static str {
        match self {
            AnswerKind::Answer => "authoritative answer",
            AnswerKind::NonAuthoritative => "answer without authority",
            AnswerKind::Referral => "referral",
            AnswerKind::UpwardReferral => "refers upward",
            AnswerKind::NoData => "no such record",
            AnswerKind::NxDomain => "no such name",
            AnswerKind::Refused => "refused",
            AnswerKind::ServFail => "server failure",
            AnswerKind::OtherRcode => "error",
            AnswerKind::Timeout => "no answer in time",
            AnswerKind::Unreachable => "unreachable",
            AnswerKind::Malformed => "garbled answer",
            AnswerKind::NotAsked => "not asked",
        }
    }
}

/// One question to one address, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerAnswer {
    /// Name of the server.
    pub server: String,
    /// Address asked; `None` when the name had none.
    pub address: Option<IpAddr>,
    /// What the answer amounts to.
    pub kind: AnswerKind,
    /// RCODE mnemonic, when a message came.
    pub rcode: Option<String>,
    /// AA bit.
    pub authoritative: bool,
    /// RA bit: the server offers recursion.
    pub recursion_available: bool,
    /// How the answer that counts was carried.
    pub transport: Transport,
    /// True when UDP was truncated and TCP was used.
    pub truncated: bool,
    /// Milliseconds until the answer.
    pub latency_ms: Option<f64>,
    /// Name server identifier (RFC 5001), printable form.
    pub nsid: Option<String>,
    /// SOA serial in the answer or authority section.
    pub serial: Option<u32>,
    /// Answer section.
    pub answers: Vec<Record>,
    /// Authority section.
    pub authority: Vec<Record>,
    /// Additional section without OPT.
    pub additional: Vec<Record>,
    /// What went wrong or was odd, in words (EDNS refused, letter case folded, ...).
    pub notes: Vec<String>,
}

/// A name server of a set, with the addresses it was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NsName {
    /// Host name.
    pub name: String,
    /// Addresses known for it, sorted.
    pub addresses: Vec<IpAddr>,
    /// True when the addresses came as glue with the referral.
    pub glue: bool,
}

/// A referral from a zone to one below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Referral {
    /// The zone referred to.
    pub zone: String,
    /// Its servers as the parent lists them.
    pub nameservers: Vec<NsName>,
    /// DS records, empty when the delegation is unsigned.
    pub ds: Vec<Ds>,
    /// TTL of the NS set at the parent.
    pub ttl: u32,
}

/// The delegation of a zone, seen from both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delegation {
    /// The zone.
    pub zone: String,
    /// The zone that delegates it.
    pub parent: String,
    /// Whether the parent delegates the name at all.
    pub delegated: bool,
    /// NS set of the parent with glue.
    pub parent_ns: Vec<NsName>,
    /// NS set of the zone itself (union of its authoritative servers).
    pub child_ns: Vec<String>,
    /// DS records at the parent.
    pub ds: Vec<Ds>,
    /// Every name server × address.
    pub servers: Vec<ServerState>,
    /// SOA of the zone, from an authoritative server; of the parent when the name is not delegated.
    pub soa: Option<Soa>,
    /// SOA of a real negative answer for a name below the zone: what resolvers will cache by.
    pub negative_soa: Option<Soa>,
    /// Distinct NSIDs or host names of the servers' operators: patterns for the provider.
    pub provider: Option<Provider>,
    /// Latency and network of the servers in the chain, over the looks of this vantage.
    #[serde(default)]
    pub legacy: LegacyDns,
    /// What holds for the whole (no IPv6 here, ...).
    pub notes: Vec<String>,
}

impl Delegation {
    /// All server names of either side, sorted, each once.
    pub fn server_names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.parent_ns.iter().map(|n| n.name.clone()).chain(self.child_ns.iter().cloned()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// True when at least one server answered with authority.
    pub fn any_authoritative(&self) -> bool {
        self.servers.iter().any(|s| matches!(s.health, ServerHealth::Authoritative | ServerHealth::Slow))
    }

    /// True when servers were asked and none gave any DNS message.
    pub fn all_silent(&self) -> bool {
        let asked: Vec<_> = self.servers.iter().filter(|s| s.health != ServerHealth::NotAsked).collect();
        !asked.is_empty()
            && asked.iter().all(|s| matches!(s.health, ServerHealth::Dead | ServerHealth::Unresolvable))
    }

    /// Seconds a resolver may remember that a name below this zone does not exist.
    pub fn negative_ttl(&self) -> Option<u32> {
        self.negative_soa.as_ref().or(self.soa.as_ref()).map(Soa::negative_ttl)
    }
}

/// Who runs the zone's servers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Provider {
    /// Name as people know it (`Digital Ocean`), `Self-hosted`, or the operator's domain.
    pub name: String,
    /// How it was told.
    pub kind: ProviderKind,
}

/// How a provider was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderKind {
    /// By the table of nameserver names.
    Known,
    /// All servers are inside the zone itself.
    SelfHosted,
    /// The registrable domain of the servers' names.
    OperatorDomain,
    /// Servers of more than one operator.
    Mixed,
}

/// DNSSEC state of a zone (RFC 4035 section 4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DnssecStatus {
    /// A chain of trust from the anchor, all signatures valid.
    Secure,
    /// Proved to be unsigned.
    Insecure,
    /// Ought to validate and does not.
    Bogus,
    /// Could not be told.
    Indeterminate,
}

impl DnssecStatus {
    /// The word people see.
    pub fn label(self) -> &'static str {
        match self {
            DnssecStatus::Secure => "Secure",
            DnssecStatus::Insecure => "Insecure (unsigned)",
            DnssecStatus::Bogus => "Bogus",
            DnssecStatus::Indeterminate => "Indeterminate",
        }
    }
}

/// DNSSEC as seen: the state and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dnssec {
    /// The state.
    pub status: DnssecStatus,
    /// Why, in a sentence.
    pub reason: String,
    /// DS at the parent.
    pub ds: Vec<Ds>,
    /// Key tags of the DNSKEY set.
    pub key_tags: Vec<u16>,
    /// When the first signature of the apex set stops being valid.
    pub signatures_expire: Option<jiff::Timestamp>,
    /// Whether a secure zone proves what is not there; `None` when that was not looked at.
    #[serde(default)]
    pub denial: Option<DenialProof>,
}

/// One RRset of a zone snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RrSet {
    /// Owner name.
    pub name: String,
    /// Type mnemonic.
    #[serde(rename = "type")]
    pub rtype: String,
    /// TTL, seconds.
    pub ttl: u32,
    /// RDATA in presentation form, sorted.
    pub data: Vec<String>,
}

/// The records of a zone that are watched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ZoneSnapshot {
    /// RRsets that exist, sorted by name and type.
    pub rrsets: Vec<RrSet>,
    /// Whether a name that surely does not exist was answered: the zone has a wildcard at its apex.
    pub wildcard: Option<bool>,
    /// Questions no authoritative server answered (`www.example.com AAAA`): unknown, not absent.
    pub unanswered: Vec<String>,
}
