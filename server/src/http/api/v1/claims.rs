//! Ownership claims as version 1 shows them.

use super::words;
use model::Timestamp;
use model::ownership::{
    ClaimBadge, ClaimView, Method, Offer, Outcome, Reply, Round, ServerAnswer, ServerVerdict,
};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use utoipa::ToSchema;

/// A claim to start, or the method an open one changes to.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimRequest {
    /// `txt`, `txt_apex`, `cname` or `http`.
    #[schema(schema_with = words::method)]
    pub method: Method,
}

/// A claim in the list of all.
#[derive(Debug, Serialize, ToSchema)]
pub struct ClaimEntry {
    name: String,
    #[schema(schema_with = words::method)]
    method: Method,
    state: &'static str,
    verified: bool,
    next_check_at: Option<Timestamp>,
}

impl From<ClaimBadge> for ClaimEntry {
    fn from(c: ClaimBadge) -> Self {
        ClaimEntry {
            name: c.name,
            method: c.method,
            state: c.standing.as_str(),
            verified: c.standing.counts(),
            next_check_at: c.next_check_at,
        }
    }
}

/// The claim to a name.
#[derive(Debug, Serialize, ToSchema)]
pub struct ClaimDetail {
    name: String,
    domain: String,
    /// `none` where nothing is claimed.
    state: &'static str,
    verified: bool,
    /// The verified name above it that covers it.
    covered_by: Option<String>,
    #[schema(schema_with = words::methods)]
    methods: Vec<Method>,
    /// As in `methods`; `null` where nothing is claimed.
    #[schema(value_type = Option<String>)]
    method: Option<Method>,
    meaning: Option<String>,
    challenge_expires_at: Option<Timestamp>,
    next_check_at: Option<Timestamp>,
    last_proven_at: Option<Timestamp>,
    /// Why scheduled checks are suspended after repeated failures, and how they start again.
    suspended: Option<String>,
    records: Vec<RecordV1>,
    round: Option<RoundV1>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Record)]
struct RecordV1 {
    #[schema(schema_with = words::method)]
    method: Method,
    name: String,
    #[serde(rename = "type")]
    rtype: String,
    value: String,
    host: String,
    hint: String,
}

impl From<Offer> for RecordV1 {
    fn from(o: Offer) -> Self {
        RecordV1 {
            method: o.method,
            name: o.record.name,
            rtype: o.record.rtype,
            value: o.record.value,
            host: o.host,
            hint: o.hint,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Round)]
struct RoundV1 {
    at: Timestamp,
    /// `proven`, `proven_by_few`, `denied`, `denied_by_few`, `mixed`, `no_answer`, `bogus` or `indeterminate`.
    #[schema(value_type = String)]
    outcome: Outcome,
    sentence: &'static str,
    servers: Vec<ServerV1>,
    /// What is wrong with what was found, in sentences.
    problems: Vec<String>,
    wait_seconds: Option<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Server)]
struct ServerV1 {
    server: String,
    #[schema(value_type = Option<String>)]
    address: Option<IpAddr>,
    serial: Option<u32>,
    /// `holds`, `lacks` or `unusable`.
    verdict: &'static str,
    /// Why it does not count.
    reason: Option<String>,
    values: Vec<ValueV1>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Value)]
struct ValueV1 {
    #[serde(rename = "type")]
    rtype: String,
    value: String,
}

fn server((answer, verdict): (ServerAnswer, ServerVerdict)) -> ServerV1 {
    let (verdict, reason) = match verdict {
        ServerVerdict::Holds => ("holds", None),
        ServerVerdict::Lacks => ("lacks", None),
        ServerVerdict::Unusable { reason } => ("unusable", Some(reason)),
    };
    let values = match answer.reply {
        Reply::Records { values } => values,
        Reply::NoSuchName | Reply::Unusable { .. } => Vec::new(),
    };
    ServerV1 {
        server: answer.nameserver,
        address: answer.address,
        serial: answer.serial,
        verdict,
        reason,
        values: values.into_iter().map(|v| ValueV1 { rtype: v.rtype, value: v.text }).collect(),
    }
}

fn round(r: Round, method: Method, provider: Option<&str>) -> RoundV1 {
    RoundV1 {
        at: r.at,
        outcome: r.outcome,
        sentence: r.outcome.sentence(method),
        problems: r.near_misses.iter().map(|m| m.sentence_at(provider)).collect(),
        servers: r.servers.into_iter().map(server).collect(),
        wait_seconds: r.wait_s,
    }
}

impl From<ClaimView> for ClaimDetail {
    fn from(v: ClaimView) -> Self {
        let claim = v.claim.as_ref().map(|r| &r.claim);
        ClaimDetail {
            domain: v.domain.to_string(),
            state: claim.map_or("none", |c| c.standing().as_str()),
            verified: claim.is_some_and(model::ownership::Claim::counts),
            covered_by: v.covered_by,
            methods: v.methods,
            method: claim.map(|c| c.method),
            meaning: claim.map(model::ownership::Claim::meaning),
            challenge_expires_at: claim.map(|c| c.challenge.expires_at),
            next_check_at: claim.and_then(|c| c.next_check_at),
            last_proven_at: claim.and_then(|c| c.last_proven_at),
            suspended: v.suspended,
            name: v.name,
            records: v
                .claim
                .as_ref()
                .map(|r| r.offers.iter().cloned().map(RecordV1::from).collect())
                .unwrap_or_default(),
            round: v.claim.and_then(|r| {
                let method = r.claim.method;
                r.round.map(|r| round(r, method, v.provider.as_deref()))
            }),
        }
    }
}
