//! Host names for the analyzer: one behind a CDN with a long TTL, one that does not exist, one below a wildcard, one
//! that no one answers for, one that is no name.

use super::now;
use model::address_space::{AddressSpace, Place};
use model::dns::Soa;
use model::fqdn::{
    ChainStep, FqdnReport, TypeAnswer, TypeOutcome, VantageAnswer, VantageKind, report as judged,
};
use service::{ApiError, ApiResult};
use std::net::IpAddr;

fn soa(zone: &str) -> Soa {
    Soa {
        zone: zone.into(),
        mname: format!("ns1.{zone}"),
        rname: format!("hostmaster.{zone}"),
        serial: 2_026_112_001,
        refresh: 7200,
        retry: 900,
        expire: 1_209_600,
        minimum: 1800,
        ttl: 3600,
    }
}

fn answer(rtype: &str, outcome: TypeOutcome, data: &[&str], ttl: u32) -> TypeAnswer {
    let data: Vec<_> = data.iter().map(|d| (*d).to_string()).collect();
    TypeAnswer { rtype: rtype.into(), outcome, ttl: (!data.is_empty()).then_some(ttl), data }
}

fn step(owner: &str, zone: &str, target: Option<&str>, answers: Vec<TypeAnswer>) -> ChainStep {
    ChainStep {
        owner: owner.into(),
        zone: zone.into(),
        target: target.map(Into::into),
        ttl: answers.iter().filter_map(|a| a.ttl).min(),
        answers,
        soa: Some(soa(zone)),
        servers: Vec::new(),
        agree: true,
        provider: None,
        wildcard: None,
        beside: Vec::new(),
        problems: Vec::new(),
    }
}

fn alias(owner: &str, zone: &str, target: &str, ttl: u32) -> ChainStep {
    let data = format!("{target}.");
    step(owner, zone, Some(target), vec![answer("CNAME", TypeOutcome::Records, &[data.as_str()], ttl)])
}

fn chain(name: &str) -> Vec<ChainStep> {
    use TypeOutcome::{Failed, NoData, NxDomain, Records};
    let missing = |outcome| vec![answer("A", outcome, &[], 0), answer("AAAA", outcome, &[], 0)];
    let found = || vec![answer("A", Records, &["203.0.113.80"], 60), answer("AAAA", NoData, &[], 60)];
    match name {
        "www.alder.example" => vec![
            alias("www.alder.example", "alder.example", "edge.cdn.example", 86_400),
            step("edge.cdn.example", "cdn.example", None, found()),
        ],
        "any.apps.example" => {
            let mut one = step("any.apps.example", "apps.example", None, found());
            one.wildcard = Some("*.apps.example".into());
            vec![one]
        }
        "dead.example" => vec![step("dead.example", "dead.example", None, missing(Failed))],
        other => vec![step(other, "alder.example", None, missing(NxDomain))],
    }
}

/// An address in space that a claim released.
fn released(name: &str, address: IpAddr) -> AddressSpace {
    AddressSpace {
        address,
        place: Place::Released,
        prefix: Some("203.0.113.0/24".into()),
        claim: Some("old-edge".into()),
        component: Some("apps/services".into()),
        sentence: format!("{name} points to {address}, in 203.0.113.0/24, which claim old-edge released."),
    }
}

pub fn sample(name: &str) -> ApiResult<FqdnReport> {
    if name.contains(' ') {
        return Err(ApiError::invalid(format!("“{name}” contains a space.")));
    }
    let chain = chain(name);
    let here = VantageAnswer {
        id: "local".into(),
        label: "This server".into(),
        place: None,
        kind: VantageKind::Server,
        answers: chain.last().map(|s| s.answers.clone()).unwrap_or_default(),
        chain,
        latency_ms: Some(11.0),
        asked_at: now(),
        bogus: None,
        error: None,
    };
    let mut report = judged(name, vec![here], now());
    if name == "www.alder.example" {
        report.address_space = report.addresses.iter().map(|a| released(name, *a)).collect();
    }
    Ok(report)
}
