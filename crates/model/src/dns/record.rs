//! Records and answers: what one server said to one question.

use crate::registration::Ds;
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
