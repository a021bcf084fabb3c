//! One round: every address of every name server of the parent's NS set is asked for the challenge record, and the
//! answers are judged together.

use super::near_miss::{self, NearMiss};
use super::{Challenge, ExpectedRecord, Method};
use crate::dns::DnssecStatus;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// A value found at the name asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Value {
    /// Record type in capitals.
    pub rtype: String,
    /// Text of a TXT record (its strings joined), target of a CNAME without the final dot, presentation form else.
    pub text: String,
}

/// What one address returned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reply {
    /// An authoritative NOERROR; without values the name exists but holds none of the type.
    Records {
        /// Everything in the answer section for the name, whatever its type.
        values: Vec<Value>,
    },
    /// An authoritative NXDOMAIN.
    NoSuchName,
    /// Nothing that counts: no reply, not authoritative, REFUSED, SERVFAIL …
    Unusable {
        /// Why, in words.
        reason: String,
    },
}

impl Reply {
    /// True when the server answered with authority.
    pub fn is_answer(&self) -> bool {
        !matches!(self, Reply::Unusable { .. })
    }
}

/// One address asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerAnswer {
    /// Name of the server, as in the parent's NS set.
    pub nameserver: String,
    /// The address asked; `None` when the name has none.
    pub address: Option<IpAddr>,
    /// SOA serial of the zone at this address, where it was read.
    pub serial: Option<u32>,
    /// What it returned.
    pub reply: Reply,
}

/// Values found at another name than the expected one. Looked for only when the record was missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elsewhere {
    /// The other owner name.
    pub name: String,
    /// Values there.
    pub values: Vec<Value>,
}

/// All that one round saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed {
    /// When.
    pub at: Timestamp,
    /// Every address of every server of the parent's NS set.
    pub servers: Vec<ServerAnswer>,
    /// Validation of the answer from the root down.
    pub dnssec: DnssecStatus,
    /// What near misses were found.
    pub elsewhere: Vec<Elsewhere>,
    /// Negative-cache TTL of the zone in seconds, from the SOA of a real denial (RFC 2308).
    pub negative_ttl: Option<u32>,
}

/// What one address contributes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum ServerVerdict {
    /// It holds the expected value.
    Holds,
    /// It answered with authority, without the value.
    Lacks,
    /// It does not count.
    Unusable {
        /// Why, in words.
        reason: String,
    },
}

/// What a round comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every answer holds the value and more than half of the name servers answered.
    Proven,
    /// Every answer holds the value, but half of the name servers or fewer answered.
    ProvenByFew,
    /// No answer holds the value and more than half of the name servers answered.
    Denied,
    /// No answer holds the value, but half of the name servers or fewer answered.
    DeniedByFew,
    /// Some hold it and some do not (yet).
    Mixed,
    /// No server answered with authority: nothing follows from this round.
    NoAnswer,
    /// The zone ought to validate and does not: the answer can't be believed.
    Bogus,
    /// Whether the zone ought to validate could not be established: nothing follows from this round.
    Indeterminate,
}

impl Outcome {
    /// The outcome of a round of this method in a sentence.
    pub fn sentence(self, method: Method) -> &'static str {
        if method == Method::Http {
            return self.file_sentence();
        }
        match self {
            Outcome::Proven => "All name servers that answered return the expected value.",
            Outcome::ProvenByFew => {
                "Every answer holds the expected value, but half of the name servers or fewer answered. Three such \
                 checks over an hour count as proof."
            }
            Outcome::Denied => "The expected value is not published.",
            Outcome::DeniedByFew => {
                "The name servers that answered do not return the expected value; half of them or more did not answer."
            }
            Outcome::Mixed => "Some name servers return the expected value and some do not yet.",
            Outcome::NoAnswer => "No name server of the domain answered with authority.",
            Outcome::Bogus => "DNSSEC validation of the domain fails, so its answers can't be trusted.",
            Outcome::Indeterminate => "DNSSEC validation of the domain could not be completed.",
        }
    }

    /// The same for a file: each address of the web server is asked.
    fn file_sentence(self) -> &'static str {
        match self {
            Outcome::Proven => "All addresses of the web server that answered return the expected file.",
            Outcome::ProvenByFew => {
                "Every answer is the expected file, but half of the web server's addresses or fewer answered. Three \
                 such checks over an hour count as proof."
            }
            Outcome::Denied => "The expected file is not published.",
            Outcome::DeniedByFew => {
                "The addresses that answered do not return the expected file; half of them or more did not answer."
            }
            Outcome::Mixed => "Some addresses of the web server return the expected file and some do not.",
            Outcome::NoAnswer | Outcome::Bogus | Outcome::Indeterminate => {
                "No address of the web server returned a usable answer."
            }
        }
    }
}

/// One round, judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// When.
    pub at: Timestamp,
    /// What it comes to.
    pub outcome: Outcome,
    /// Each address with its verdict, in the order asked.
    pub servers: Vec<(ServerAnswer, ServerVerdict)>,
    /// Why the value was not found where it ought to be; empty when it was.
    pub near_misses: Vec<NearMiss>,
    /// How long resolvers may go on denying the record, in seconds: twice the negative-cache TTL.
    pub wait_s: Option<u32>,
}

impl Round {
    /// Judges one round of a DNS method against the challenge's record.
    pub fn judge(challenge: &Challenge, method: Method, expected: &ExpectedRecord, seen: Observed) -> Round {
        let servers: Vec<(ServerAnswer, ServerVerdict)> = seen
            .servers
            .into_iter()
            .map(|server| {
                let verdict = verdict(&server.reply, method, expected);
                (server, verdict)
            })
            .collect();
        let outcome = outcome(&servers, method, seen.dnssec);
        let found = matches!(outcome, Outcome::Proven | Outcome::ProvenByFew);
        let near_misses = if found {
            Vec::new()
        } else {
            near_miss::near_misses(challenge, method, expected, &servers, &seen.elsewhere)
        };
        let wait_s = seen.negative_ttl.filter(|_| !found).map(|ttl| ttl.saturating_mul(2));
        Round { at: seen.at, outcome, servers, near_misses, wait_s }
    }
}

fn verdict(reply: &Reply, method: Method, expected: &ExpectedRecord) -> ServerVerdict {
    match reply {
        Reply::Unusable { reason } => ServerVerdict::Unusable { reason: reason.clone() },
        Reply::NoSuchName => ServerVerdict::Lacks,
        Reply::Records { values } if values.iter().any(|value| matches(value, method, expected)) => {
            ServerVerdict::Holds
        }
        Reply::Records { .. } => ServerVerdict::Lacks,
    }
}

/// TXT values are compared exactly; the target of a CNAME is a name, in which case does not count (RFC 4343).
fn matches(value: &Value, method: Method, expected: &ExpectedRecord) -> bool {
    value.rtype == expected.rtype
        && match method {
            Method::Txt | Method::TxtApex | Method::Http => value.text == expected.value,
            Method::Cname => value.text.trim_end_matches('.').eq_ignore_ascii_case(&expected.value),
        }
}

fn outcome(servers: &[(ServerAnswer, ServerVerdict)], method: Method, dnssec: DnssecStatus) -> Outcome {
    match dnssec {
        DnssecStatus::Bogus => return Outcome::Bogus,
        DnssecStatus::Indeterminate => return Outcome::Indeterminate,
        DnssecStatus::Secure | DnssecStatus::Insecure => {}
    }
    // A name server speaks with any of its addresses. The addresses of a web host can be different machines.
    let mut answered: BTreeMap<(&str, Option<IpAddr>), bool> = BTreeMap::new();
    for (server, _) in servers {
        let address = server.address.filter(|_| method == Method::Http);
        *answered.entry((server.nameserver.as_str(), address)).or_default() |= server.reply.is_answer();
    }
    let majority = answered.values().filter(|yes| **yes).count() * 2 > answered.len();
    let count = |wanted: &ServerVerdict| servers.iter().filter(|(_, verdict)| verdict == wanted).count();
    match (count(&ServerVerdict::Holds), count(&ServerVerdict::Lacks)) {
        (0, 0) => Outcome::NoAnswer,
        (_, 0) if majority => Outcome::Proven,
        (_, 0) => Outcome::ProvenByFew,
        (0, _) if majority => Outcome::Denied,
        (0, _) => Outcome::DeniedByFew,
        _ => Outcome::Mixed,
    }
}
