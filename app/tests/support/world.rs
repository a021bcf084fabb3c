//! Domains in the states that matter: fresh, expiring, expired, stale, never scanned, not registered, IDN, watched.

mod domains;

pub use domains::*;

use super::now;
use jiff::ToSpan;
use model::Timestamp;
use model::detail::Detail;
use model::dns::{
    AnswerKind, Delegation, Dnssec, DnssecStatus, NsName, Provider, ProviderKind, RrSet, ServerHealth,
    ServerState, Soa, ZoneSnapshot,
};
use model::finding::{Finding, Level};
use model::ids::{OrgId, Vantage};
use model::inventory::Row;
use model::item::{Item, Ownership};
use model::judge::{Thresholds, judge};
use model::names::DomainName;
use model::observation::{Observation, Part, PartError};
use model::registration::{
    DnssecStated, Ds, Party, Protocol, Provenance, Registrar, Registration, RegistrationState,
};
use model::scan::{ScanProgress, Stage, StageResult};
use std::collections::BTreeMap;

pub fn ago(hours: i64) -> Timestamp {
    now().checked_sub(hours.hours()).unwrap()
}

/// A domain as the sample knows it.
#[derive(Clone)]
pub struct Domain {
    pub item: Item,
    pub observation: Option<Observation>,
}

impl Domain {
    /// Judged as the product judges.
    pub fn row(&self) -> Row {
        let o = self.observation.clone();
        let o = o.unwrap_or_else(|| Observation::empty(self.item.name.clone(), Vantage::local()));
        let status = judge(&self.item, &o, &Thresholds::default(), now());
        let unicode = model::names::to_unicode(self.item.name.as_str());
        Row { status, ..Row::of(&self.item, unicode, Some(&o)) }
    }

    pub fn detail(&self) -> Detail {
        Detail {
            item: self.item.clone(),
            row: self.row(),
            observation: self.observation.clone(),
            snapshots: 0,
            events: 0,
            scan: None,
            rv: model::ids::LogPosition(0),
            now: now(),
        }
    }
}

pub fn registration(
    registrar: &str,
    iana: &str,
    created: &str,
    updated: &str,
    expires: Option<&str>,
    flags: &[&str],
) -> Registration {
    let by =
        |server: &str| Provenance { protocol: Protocol::Rdap, party: Party::Registry, server: server.into() };
    let fields = ["registrar", "created", "updated", "expires", "statuses", "nameservers"];
    Registration {
        registrar: Registrar {
            name: Some(registrar.into()),
            iana_id: Some(iana.into()),
            abuse_email: Some("abuse@registrar.example".into()),
            ..Registrar::default()
        },
        created: Some(created.parse().unwrap()),
        updated: Some(updated.parse().unwrap()),
        expires: expires.map(|e| e.parse().unwrap()),
        statuses: Some(flags.iter().map(|f| (*f).into()).collect()),
        dnssec: Some(DnssecStated::default()),
        provenance: fields
            .iter()
            .map(|f| ((*f).to_string(), by("https://rdap.registry.example/")))
            .collect::<BTreeMap<_, _>>(),
        ..Registration::default()
    }
}

pub fn server(name: &str, address: &str, health: ServerHealth, ms: f64) -> ServerState {
    let good = matches!(health, ServerHealth::Authoritative | ServerHealth::Slow);
    ServerState {
        name: name.into(),
        address: address.parse().ok(),
        in_parent: true,
        in_child: good,
        health,
        kind: match health {
            ServerHealth::Lame => AnswerKind::Refused,
            ServerHealth::Dead => AnswerKind::Timeout,
            _ => AnswerKind::Answer,
        },
        serial: good.then_some(2_026_112_001),
        latency_ms: (health != ServerHealth::Dead).then_some(ms),
        tcp: Some(good),
        recursion: Some(false),
        nsid: None,
        problems: vec![],
        notes: vec![],
    }
}

pub fn soa(zone: &str) -> Soa {
    Soa {
        zone: zone.into(),
        mname: "ns1.meridian-dns.example".into(),
        rname: format!("hostmaster.{zone}"),
        serial: 2_026_112_001,
        refresh: 7200,
        retry: 900,
        expire: 1_209_600,
        minimum: 3600,
        ttl: 1800,
    }
}

pub fn delegation(zone: &str, provider: &str, kind: ProviderKind, servers: Vec<ServerState>) -> Delegation {
    let ns = |s: &ServerState| NsName {
        name: s.name.clone(),
        addresses: s.address.into_iter().collect(),
        glue: false,
    };
    let mut parent: Vec<NsName> = servers.iter().map(ns).collect();
    parent.dedup_by(|a, b| a.name == b.name);
    let mut child: Vec<String> = servers.iter().filter(|s| s.in_child).map(|s| s.name.clone()).collect();
    child.dedup();
    Delegation {
        zone: zone.into(),
        parent: zone.split_once('.').map_or(".", |(_, p)| p).into(),
        delegated: true,
        parent_ns: parent,
        child_ns: child,
        ds: vec![],
        servers,
        soa: Some(soa(zone)),
        negative_soa: Some(soa(zone)),
        parents_differ: None,
        provider: Some(Provider { name: provider.into(), kind }),
        latency: model::latency::LatencyHistory::default(),
        notes: vec![],
    }
}

fn healthy(zone: &str, provider: &str) -> Delegation {
    let servers = vec![
        server("ns1.meridian-dns.example", "192.0.2.11", ServerHealth::Authoritative, 12.0),
        server("ns2.meridian-dns.example", "198.51.100.12", ServerHealth::Authoritative, 18.0),
    ];
    delegation(zone, provider, ProviderKind::Known, servers)
}

pub fn domain(name: &str, r: Registration, provider: &str) -> Domain {
    let n = DomainName::read(name).unwrap().name;
    let zone = n.as_str().to_string();
    let mut item = Item::new(OrgId::BUILT_IN, n.clone(), Ownership::Owned, ago(9000));
    item.was_delegated = true;
    let mut o = Observation::empty(n, Vantage::local());
    let read = now().checked_sub(53.minutes()).unwrap();
    let asked = now().checked_sub(4.minutes()).unwrap();
    o.registration =
        Part::good(RegistrationState::Registered(Box::new(r)), read, "RDAP https://rdap.registry.example/");
    o.delegation = Part::good(healthy(&zone, provider), asked, "authoritative servers");
    let insecure = Dnssec {
        status: DnssecStatus::Insecure,
        reason: "The parent proves that there is no DS.".into(),
        ds: vec![],
        key_tags: vec![],
        signatures_expire: None,
        denial: None,
    };
    o.dnssec = Part::good(insecure, asked, "authoritative servers");
    o.zone = Part::good(ZoneSnapshot::default(), asked, "authoritative servers");
    Domain { item, observation: Some(o) }
}

/// A scan under way.
pub fn progress(name: &str) -> ScanProgress {
    ScanProgress {
        name: DomainName::trusted(name),
        running: vec![Stage::Zone],
        done: vec![
            StageResult { stage: Stage::Registration, ok: true, words: "RDAP answered".into(), ms: 412 },
            StageResult {
                stage: Stage::Delegation,
                ok: false,
                words: "1 of 4 servers is lame".into(),
                ms: 1510,
            },
        ],
        started_at: now(),
        result: None,
        suspended: false,
    }
}
