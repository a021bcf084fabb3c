//! Observations: what was seen, from where, when, from which source, each part with its own time and error.
//!
//! A part that failed keeps its last good value, is stale, and never produces a change.

use crate::base::ids::Vantage;
use crate::base::names::DomainName;
use crate::certificate::hosts::Certificates;
use crate::dns::{Delegation, Dnssec, ZoneSnapshot};
use crate::finding::Finding;
use crate::judgement::confirm::{AnswersElsewhere, Pending};
use crate::registration::RegistrationState;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// The parts of an observation; each is looked up, fails and ages by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartKind {
    /// RDAP or WHOIS.
    Registration,
    /// NS sets and name servers.
    Delegation,
    /// Records of the zone.
    Zone,
    /// DNSSEC chain.
    Dnssec,
    /// Certificates of the domain's host names.
    Certificates,
}

impl PartKind {
    /// All parts in the order they are looked up.
    pub const ALL: [PartKind; 5] = [
        PartKind::Registration,
        PartKind::Delegation,
        PartKind::Zone,
        PartKind::Dnssec,
        PartKind::Certificates,
    ];

    /// The word people see.
    pub fn label(self) -> &'static str {
        match self {
            PartKind::Registration => "Registration",
            PartKind::Delegation => "Delegation",
            PartKind::Zone => "Zone",
            PartKind::Dnssec => "DNSSEC",
            PartKind::Certificates => "Certificates",
        }
    }
}

/// Why a part could not be read. `label` values are stable (metrics, API).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartError {
    /// `timeout`, `throttled`, `refused`, `unparsable`, `unreachable`, `too_large`, `blocked`, `no_server`, `internal`.
    pub label: String,
    /// In a sentence: what failed, at which server.
    pub sentence: String,
    /// Earliest instant to ask again, when the server said so.
    #[serde(default)]
    pub retry_at: Option<Timestamp>,
}

/// One part of an observation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part<T> {
    /// The last good value.
    pub value: Option<T>,
    /// When `value` was seen.
    pub observed_at: Option<Timestamp>,
    /// Who said it (`RDAP https://…`, `WHOIS whois.nic.io`, `authoritative servers`).
    pub source: Option<String>,
    /// When it was last tried.
    pub attempted_at: Option<Timestamp>,
    /// Why the last try failed; `None` when it did not.
    pub error: Option<PartError>,
}

impl<T> Default for Part<T> {
    fn default() -> Self {
        Part { value: None, observed_at: None, source: None, attempted_at: None, error: None }
    }
}

impl<T> Part<T> {
    /// A part that was read well.
    pub fn good(value: T, at: Timestamp, source: impl Into<String>) -> Self {
        Part {
            value: Some(value),
            observed_at: Some(at),
            source: Some(source.into()),
            attempted_at: Some(at),
            error: None,
        }
    }

    /// The last good value of `previous`, with the error of a new attempt.
    pub fn failed(previous: Part<T>, at: Timestamp, error: PartError) -> Self {
        Part { attempted_at: Some(at), error: Some(error), ..previous }
    }

    /// True when there is a value and the last attempt failed.
    pub fn is_stale(&self) -> bool {
        self.value.is_some() && self.error.is_some()
    }
}

/// Everything seen about a name from one vantage. A public fact: kept once, however many organisations hold the name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// The name.
    pub name: DomainName,
    /// From where.
    pub vantage: Vantage,
    /// RDAP or WHOIS.
    #[serde(default)]
    pub registration: Part<RegistrationState>,
    /// NS sets and name servers.
    #[serde(default)]
    pub delegation: Part<Delegation>,
    /// Records of the zone.
    #[serde(default)]
    pub zone: Part<ZoneSnapshot>,
    /// DNSSEC chain.
    #[serde(default)]
    pub dnssec: Part<Dnssec>,
    /// Certificates of the domain's host names. Looked at less often than the rest.
    #[serde(default)]
    pub certificates: Part<Certificates>,
    /// What the checks noticed in this observation.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// Changes that wait for a second look, and what changed lately.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<Pending>,
    /// Servers that do not answer here, and answer at another place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<AnswersElsewhere>,
    /// Identity of the installation that observed it (`id.k8s.io`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The set that the installation was a member of (`clusterset.k8s.io`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusterset: Option<String>,
}

impl Observation {
    /// A name nothing is known about yet.
    pub fn empty(name: DomainName, vantage: Vantage) -> Self {
        Observation {
            name,
            vantage,
            registration: Part::default(),
            delegation: Part::default(),
            zone: Part::default(),
            dnssec: Part::default(),
            certificates: Part::default(),
            findings: Vec::new(),
            pending: Vec::new(),
            elsewhere: Vec::new(),
            cluster: None,
            clusterset: None,
        }
    }

    /// The addresses that records hold and those of the name servers, each once with its owner.
    pub fn addresses(&self) -> impl Iterator<Item = (&str, IpAddr)> {
        let records =
            self.zone.value.iter().flat_map(ZoneSnapshot::addresses).map(|(set, a)| (set.name.as_str(), a));
        let servers = self.delegation.value.iter().flat_map(|d| {
            let asked = d.servers.iter().filter_map(|s| Some((s.name.as_str(), s.address?)));
            asked.chain(d.parent_ns.iter().flat_map(|n| n.addresses.iter().map(|a| (n.name.as_str(), *a))))
        });
        let mut seen = BTreeSet::new();
        records.chain(servers).filter(move |found| seen.insert(*found))
    }

    /// The latest time any part was tried.
    pub fn last_scan(&self) -> Option<Timestamp> {
        [
            self.registration.attempted_at,
            self.delegation.attempted_at,
            self.zone.attempted_at,
            self.dnssec.attempted_at,
        ]
        .into_iter()
        .flatten()
        .max()
    }

    /// How many changes wait for a second look; those that go to and fro are not among them.
    pub fn confirming(&self) -> usize {
        self.pending.iter().filter(|p| p.change.is_some() && !p.takes_long()).count()
    }

    /// The error of a part's last attempt.
    pub fn error_of(&self, part: PartKind) -> Option<&PartError> {
        match part {
            PartKind::Registration => self.registration.error.as_ref(),
            PartKind::Delegation => self.delegation.error.as_ref(),
            PartKind::Zone => self.zone.error.as_ref(),
            PartKind::Dnssec => self.dnssec.error.as_ref(),
            PartKind::Certificates => self.certificates.error.as_ref(),
        }
    }
}
