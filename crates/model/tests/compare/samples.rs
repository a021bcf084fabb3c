//! Answers of servers and resolvers as the tests need them.

use jiff::Timestamp;
use model::compare::{
    Authority, AuthorityOutcome, AuthorityServer, Carried, Earlier, ExtendedError, Judged, ResolverAnswer,
    authority_sentence, judge,
};
use model::dns::{AnswerKind, Record, Soa};
use model::resolvers::{Filtering, PublicResolver};

pub const NAME: &str = "app.alder.example";

pub fn now() -> Timestamp {
    "2026-11-20T14:05:00Z".parse().unwrap()
}

pub fn at(clock: &str) -> Timestamp {
    format!("2026-11-20T{clock}Z").parse().unwrap()
}

pub fn a(data: &str, ttl: u32) -> Record {
    Record { name: NAME.into(), rtype: "A".into(), ttl, data: data.into() }
}

pub fn soa(zone: &str, ttl: u32, minimum: u32) -> Soa {
    Soa {
        zone: zone.into(),
        mname: "ns1.alder.example".into(),
        rname: "hostmaster.alder.example".into(),
        serial: 1,
        refresh: 7200,
        retry: 900,
        expire: 1_209_600,
        minimum,
        ttl,
    }
}

pub fn server(records: Vec<Record>, kind: AnswerKind) -> AuthorityServer {
    AuthorityServer {
        zone: "alder.example".into(),
        owner: NAME.into(),
        server: "ns1.meridian-dns.example".into(),
        address: Some("192.0.2.53".parse().unwrap()),
        kind,
        ttl: records.first().map(|r| r.ttl),
        records,
        serial: Some(1),
        latency_ms: Some(12.0),
        nsid: None,
        notes: Vec::new(),
    }
}

/// The servers serve these addresses with a TTL of 300, all of them.
pub fn serving(addresses: &[&str]) -> Authority {
    let records: Vec<Record> = addresses.iter().map(|d| a(d, 300)).collect();
    let mut authority = Authority {
        cause: None,
        name: NAME.into(),
        rtype: "A".into(),
        zone: "alder.example".into(),
        outcome: AuthorityOutcome::Serves,
        aliases: Vec::new(),
        ttl: Some(300),
        negative_ttl: Some(1800),
        soa: Some(soa("alder.example", 3600, 1800)),
        servers: vec![
            server(records.clone(), AnswerKind::Answer),
            server(records.clone(), AnswerKind::Answer),
        ],
        records,
        agree: true,
        asked_at: now(),
        notes: Vec::new(),
        sentence: String::new(),
    };
    authority.sentence = authority_sentence(&authority);
    authority
}

pub fn denying(outcome: AuthorityOutcome) -> Authority {
    let kind = if outcome == AuthorityOutcome::NxDomain { AnswerKind::NxDomain } else { AnswerKind::NoData };
    let mut authority = serving(&[]);
    (authority.outcome, authority.ttl) = (outcome, None);
    authority.servers = vec![server(vec![], kind), server(vec![], kind)];
    authority.sentence = authority_sentence(&authority);
    authority
}

pub fn row(filtering: Filtering, ecs: bool) -> PublicResolver {
    PublicResolver { filtering, ecs, ..PublicResolver::of_machine("192.0.2.9".parse().unwrap()) }
}

pub fn said(records: Vec<Record>) -> ResolverAnswer {
    ResolverAnswer {
        resolver: "system-192.0.2.9".into(),
        carried: Some(Carried::Doh),
        rcode: Some("NOERROR".into()),
        ttl: records.iter().map(|r| r.ttl).min(),
        records,
        soa: None,
        errors: Vec::new(),
        latency_ms: Some(20.0),
        asked_at: now(),
        error: None,
    }
}

pub fn no(rcode: &str, soa: Option<Soa>) -> ResolverAnswer {
    ResolverAnswer { rcode: Some(rcode.into()), soa, ..said(vec![]) }
}

pub fn with_error(answer: ResolverAnswer, code: u16) -> ResolverAnswer {
    ResolverAnswer { errors: vec![ExtendedError { code, text: String::new() }], ..answer }
}

pub fn verdict(
    authority: &Authority,
    row: &PublicResolver,
    answer: &ResolverAnswer,
    earlier: &Earlier,
) -> Judged {
    judge(authority, row, Some(answer), earlier, now())
}
