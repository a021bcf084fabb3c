//! Comparisons: a record that moved a while ago, a name that does not exist yet, servers that disagree, no name at all.

use super::now;
use jiff::ToSpan;
use model::compare::{
    Authority, AuthorityOutcome, AuthorityServer, Carried, Comparison, Earlier, Judged, ResolverAnswer,
    Stopped, authority_sentence, compare, judge,
};
use model::dns::{AnswerKind, Record, Soa};
use model::resolvers::{Filtering, PublicResolver};
use service::{ApiError, ApiResult};

const OWNER: &str = "www.alder.example";
const NEW: &str = "203.0.113.80";
const OLD: &str = "198.51.100.44";

fn soa() -> Soa {
    Soa {
        zone: "alder.example".into(),
        mname: "ns1.alder.example".into(),
        rname: "hostmaster.alder.example".into(),
        serial: 2_026_112_001,
        refresh: 7200,
        retry: 900,
        expire: 1_209_600,
        minimum: 1800,
        ttl: 3600,
    }
}

fn a(data: &str, ttl: u32) -> Record {
    Record { name: OWNER.into(), rtype: "A".into(), ttl, data: data.into() }
}

fn server(owner: &str, n: u8, kind: AnswerKind, records: Vec<Record>) -> AuthorityServer {
    AuthorityServer {
        zone: "alder.example".into(),
        owner: owner.into(),
        server: format!("ns{n}.alder.example"),
        address: format!("192.0.2.{n}").parse().ok(),
        kind,
        ttl: records.first().map(|r| r.ttl),
        records,
        serial: Some(2_026_112_000 + u32::from(n)),
        latency_ms: Some(12.0),
        nsid: None,
        notes: Vec::new(),
    }
}

fn authority(name: &str) -> Authority {
    let exists = name == OWNER;
    let (outcome, kind) = if exists {
        (AuthorityOutcome::Serves, AnswerKind::Answer)
    } else {
        (AuthorityOutcome::NxDomain, AnswerKind::NxDomain)
    };
    let records = if exists { vec![a(NEW, 300)] } else { Vec::new() };
    let mut out = Authority {
        cause: None,
        name: name.into(),
        rtype: "A".into(),
        zone: "alder.example".into(),
        outcome,
        aliases: Vec::new(),
        records: records.clone(),
        ttl: exists.then_some(300),
        negative_ttl: Some(1800),
        soa: Some(soa()),
        servers: vec![server(name, 1, kind, records.clone()), server(name, 2, kind, records)],
        agree: true,
        asked_at: now(),
        notes: Vec::new(),
        sentence: String::new(),
    };
    out.sentence = authority_sentence(&out);
    out
}

fn resolver(id: &str, country: &str, filtering: Filtering) -> PublicResolver {
    PublicResolver {
        id: id.to_lowercase(),
        name: id.into(),
        operator: format!("{id} Ltd"),
        country: country.into(),
        filtering,
        ecs: false,
        doh: Some(format!("https://{}.example/dns-query", id.to_lowercase())),
        json: None,
        dot: None,
        addresses: Vec::new(),
        default: true,
        source: "sample".into(),
    }
}

fn said(r: &PublicResolver, rcode: Option<&str>, records: Vec<Record>, left: u32) -> ResolverAnswer {
    let soa = (rcode == Some("NXDOMAIN")).then(|| Soa { ttl: left, ..soa() });
    ResolverAnswer {
        resolver: r.id.clone(),
        carried: rcode.map(|_| Carried::Doh),
        rcode: rcode.map(Into::into),
        ttl: records.first().map(|r| r.ttl),
        records,
        soa,
        errors: Vec::new(),
        latency_ms: Some(31.0),
        asked_at: now(),
        error: rcode.is_none().then(|| "no answer in time".into()),
    }
}

pub fn table() -> Vec<PublicResolver> {
    use Filtering::{Malware, None};
    [
        ("Kelp", "Norway", None),
        ("Longshore", "Canada", None),
        ("Kestrel", "Chile", None),
        ("Wattle", "Australia", None),
    ]
    .into_iter()
    .chain([("Broom", "Ireland", Malware)])
    .map(|(id, country, filtering)| resolver(id, country, filtering))
    .collect()
}

fn answers(authority: &Authority) -> Vec<Judged> {
    let earlier = Earlier { values: vec![vec![OLD.into()]], answers: Vec::new() };
    let of = |r: PublicResolver| {
        let answer = match r.id.as_str() {
            "longshore" => said(&r, Some("NOERROR"), vec![a(OLD, 1260)], 0),
            "kestrel" => said(&r, Some("NXDOMAIN"), Vec::new(), 600),
            "wattle" => said(&r, Some("SERVFAIL"), Vec::new(), 0),
            "broom" => said(&r, Some("NOERROR"), vec![a("0.0.0.0", 60)], 0),
            _ => said(&r, Some("NOERROR"), vec![a(NEW, 212)], 0),
        };
        judge(authority, &r, Some(&answer), &earlier, now())
    };
    table().into_iter().map(of).collect()
}

fn read(name: &str) -> ApiResult<()> {
    if name.contains(' ') {
        return Err(ApiError::invalid(format!("“{name}” contains a space.")));
    }
    Ok(())
}

/// The first paint: everybody still to be asked, or why no one is.
pub fn first(name: &str) -> ApiResult<Comparison> {
    read(name)?;
    let authority = authority(name);
    let stopped = Stopped::by(&authority);
    let pending = |r: &PublicResolver| judge(&authority, r, None, &Earlier::default(), now());
    let answers = if stopped.is_some() { Vec::new() } else { table().iter().map(pending).collect() };
    Ok(compare(authority, stopped, answers, Vec::new(), now()))
}

/// All of it.
pub fn whole(name: &str, force: bool) -> ApiResult<Comparison> {
    read(name)?;
    let authority = authority(name);
    let stopped = Stopped::by(&authority).filter(|_| !force);
    let answers = if stopped.is_some() { Vec::new() } else { answers(&authority) };
    let at = now().checked_add(1.second()).unwrap_or(now());
    Ok(compare(authority, stopped, answers, Vec::new(), at))
}
