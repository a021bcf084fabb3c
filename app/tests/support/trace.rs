//! A trace that ends in a denial: root and TLD refer, the zone's servers say NXDOMAIN, one of them is dead.

use super::world;
use model::dns::{AnswerKind, NsName, Referral, ServerAnswer, Trace, TraceOutcome, TraceStep, Transport};

fn said(server: &str, address: &str, kind: AnswerKind, ms: f64) -> ServerAnswer {
    ServerAnswer {
        server: server.into(),
        address: address.parse().ok(),
        kind,
        rcode: Some("NOERROR".into()),
        authoritative: kind.is_authoritative(),
        recursion_available: false,
        transport: Transport::Udp,
        truncated: false,
        latency_ms: kind.responded().then_some(ms),
        nsid: None,
        serial: None,
        answers: vec![],
        authority: vec![],
        additional: vec![],
        notes: vec![],
    }
}

fn step(zone: &str, to: Option<&str>, answers: Vec<ServerAnswer>) -> TraceStep {
    let referral = to.map(|to| Referral {
        zone: to.into(),
        nameservers: vec![NsName { name: format!("ns1.{to}"), addresses: vec![], glue: true }],
        ds: vec![],
        ttl: 172_800,
    });
    TraceStep { zone: zone.into(), answers, chosen: Some(0), referral, notes: vec![] }
}

pub fn sample(name: &str, rtype: &str) -> Trace {
    Trace {
        name: name.into(),
        rtype: rtype.into(),
        steps: vec![
            step(".", Some("example"), vec![said("k.root.example", "192.0.2.1", AnswerKind::Referral, 9.0)]),
            step(
                "example",
                Some("alder.example"),
                vec![said("b.nic.example", "192.0.2.2", AnswerKind::Referral, 14.0)],
            ),
            step(
                "alder.example",
                None,
                vec![
                    said("ns1.meridian-dns.example", "192.0.2.11", AnswerKind::NxDomain, 12.0),
                    said("old-ns.alder.example", "192.0.2.77", AnswerKind::Timeout, 0.0),
                ],
            ),
        ],
        outcome: TraceOutcome::NxDomain,
        records: vec![],
        soa: Some(world::soa("alder.example")),
        queries: 7,
        elapsed_ms: 41.0,
        notes: vec!["No IPv6 on this host.".into()],
        address_space: vec![],
    }
}
