//! Steps for the tests of this module.

use super::{ChainStep, TypeAnswer, TypeOutcome};
use crate::dns::Soa;

pub(super) fn soa(zone: &str, minimum: u32, ttl: u32) -> Soa {
    Soa {
        zone: zone.into(),
        mname: format!("ns1.{zone}"),
        rname: format!("hostmaster.{zone}"),
        serial: 1,
        refresh: 7200,
        retry: 900,
        expire: 1_209_600,
        minimum,
        ttl,
    }
}

pub(super) fn alias(owner: &str, zone: &str, target: &str, ttl: u32) -> ChainStep {
    ChainStep {
        owner: owner.into(),
        zone: zone.into(),
        target: Some(target.into()),
        answers: vec![TypeAnswer {
            rtype: "CNAME".into(),
            outcome: TypeOutcome::Records,
            data: vec![format!("{target}.")],
            ttl: Some(ttl),
        }],
        ttl: Some(ttl),
        soa: None,
        servers: Vec::new(),
        agree: true,
        provider: None,
        wildcard: None,
        beside: Vec::new(),
        problems: Vec::new(),
    }
}

/// The end of a chain; a type without data is NODATA.
pub(super) fn end(owner: &str, zone: &str, types: &[(&str, &[&str])], ttl: u32) -> ChainStep {
    let answers = types
        .iter()
        .map(|(rtype, data)| TypeAnswer {
            rtype: (*rtype).into(),
            outcome: if data.is_empty() { TypeOutcome::NoData } else { TypeOutcome::Records },
            data: data.iter().map(|d| (*d).to_string()).collect(),
            ttl: (!data.is_empty()).then_some(ttl),
        })
        .collect();
    ChainStep { target: None, answers, soa: Some(soa(zone, 1800, 3600)), ..alias(owner, zone, owner, ttl) }
}
