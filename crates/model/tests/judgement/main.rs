//! The judgement: what counts as a change, and which status follows from it. Examples first, then properties.
//! Here: the observations that all of them start from.

mod addresses;
mod answers;
mod changes;
mod confirm;
mod ending;
mod month;
mod new_servers;
mod notify;
mod outage;
mod parents;
mod properties;
mod registrar_dates;
mod removed_servers;
mod repeat;
mod rotation;
mod rules;
mod statuses;
mod unanswered;

use jiff::{Timestamp, ToSpan};
use model::carry::carry_forward;
use model::diff::diff;
use model::dns::{
    AnswerKind, Delegation, Dnssec, DnssecStatus, NsName, RrSet, ServerHealth, ServerState, ZoneSnapshot,
};
use model::epp::EppStatus;
use model::event::{EventKind, Severity};
use model::finding::{Finding, Level};
use model::ids::{OrgId, Vantage};
use model::item::{Item, Ownership};
use model::judge::{Thresholds, judge};
use model::names::DomainName;
use model::observation::{Observation, Part, PartError};
use model::registration::{
    DnssecStated, Party, Protocol, Provenance, Registrar, Registration, RegistrationState,
};
use model::status::StatusKind;

fn now() -> Timestamp {
    "2026-11-20T14:05:00Z".parse().unwrap()
}

fn registration() -> Registration {
    Registration {
        name: Some("q7.io".into()),
        registrar: Registrar {
            name: Some("NAMECHEAP INC".into()),
            iana_id: Some("1068".into()),
            ..Registrar::default()
        },
        created: Some("2012-07-06T13:58:57Z".parse().unwrap()),
        updated: Some("2019-08-17T16:33:24.36Z".parse().unwrap()),
        expires: Some("2029-07-06T13:58:57Z".parse().unwrap()),
        statuses: Some(["clientTransferProhibited"].into_iter().map(EppStatus::from).collect()),
        nameservers: Some(vec!["ns1.digitalocean.com".into(), "ns2.digitalocean.com".into()]),
        dnssec: Some(DnssecStated::default()),
        ..Registration::default()
    }
}

fn observe(r: Registration) -> Observation {
    let mut o = Observation::empty(DomainName::trusted("q7.io"), Vantage::local());
    o.registration = Part::good(RegistrationState::Registered(Box::new(r)), now(), "RDAP registry");
    o
}

fn server(name: &str, health: ServerHealth) -> ServerState {
    ServerState {
        name: name.into(),
        address: Some("192.0.2.1".parse().unwrap()),
        in_parent: true,
        in_child: true,
        health,
        kind: AnswerKind::Answer,
        serial: Some(1),
        latency_ms: Some(3.0),
        tcp: Some(true),
        recursion: Some(false),
        nsid: None,
        problems: vec![],
        notes: vec![],
    }
}

fn delegation(names: &[&str]) -> Delegation {
    Delegation {
        zone: "q7.io".into(),
        parent: "io".into(),
        delegated: true,
        parent_ns: names
            .iter()
            .map(|n| NsName { name: (*n).into(), addresses: vec![], glue: false })
            .collect(),
        child_ns: names.iter().map(|n| (*n).to_string()).collect(),
        ds: vec![],
        servers: names.iter().map(|n| server(n, ServerHealth::Authoritative)).collect(),
        soa: None,
        negative_soa: None,
        parents_differ: None,
        provider: None,
        latency: model::latency::LatencyHistory::default(),
        notes: vec![],
    }
}

fn item() -> Item {
    Item::new(OrgId::BUILT_IN, DomainName::trusted("q7.io"), Ownership::Owned, now())
}

fn kinds(a: &Observation, b: &Observation) -> Vec<EventKind> {
    diff(a, b).iter().map(|c| c.kind).collect()
}

fn finding() -> Finding {
    Finding {
        broken: false,
        tag: "MULTIPLE_SOA_SERIALS".into(),
        level: Level::Error,
        args: serde_json::Map::new(),
        test_case: "Consistency01".into(),
        zone: "q7.io".into(),
        message: "The servers disagree".into(),
        fix: String::new(),
    }
}

fn failed() -> PartError {
    PartError { label: "timeout".into(), sentence: "rdap.nic.io did not answer".into(), retry_at: None }
}

fn status(o: &Observation, at: Timestamp) -> (StatusKind, String) {
    let s = judge(&item(), o, &Thresholds::default(), at);
    (s.kind, s.why())
}
