//! Independent truth on the lab's tree: what dig, kdig and drill read there we read too, record by record, and what
//! delv judges secure, insecure or bogus we judge so. Skipped with a message where these are not installed.

mod peers;

use dns::{Engine, RootHints, Settings, TrustAnchors};
use lab::{Lab, Options, Scenario};
use model::dns::{Trace, TraceOutcome};
use model::names::Fqdn;
use std::net::IpAddr;

/// Asked of every name; what is not there must be missing for all.
const TYPES: [&str; 16] = [
    "SOA",
    "NS",
    "A",
    "AAAA",
    "MX",
    "TXT",
    "CAA",
    "HTTPS",
    "SRV",
    "CNAME",
    "DNSKEY",
    "CDS",
    "CDNSKEY",
    "NSEC3PARAM",
    "TLSA",
    "NAPTR",
];

/// Names of zones that are served alike by all their servers, so that it does not matter which one is asked.
const NAMES: [&str; 18] = [
    "q7.io",
    "alder.example",
    "www.alder.example",
    "sealed.example",
    "www.sealed.example",
    "any.apps.sealed.example",
    "copperline.example",
    "juniper-lab.example",
    "orchard.example",
    "lantern-demo.io",
    "kestrel-demo.com",
    "alder-labs-demo.com",
    "copperworks-demo.de",
    "frei-demo.de",
    "half-life.example",
    "sour-milk.example",
    "example",
    "com",
];

struct World {
    lab: Lab,
    engine: Engine,
    now: jiff::Timestamp,
    dir: tempfile::TempDir,
}

/// The lab as it is now: delv has no clock but the real one. `None`, with a message, where all servers share one
/// address: other programs know no address map.
async fn world() -> Option<World> {
    let now = jiff::Timestamp::now();
    let dir = tempfile::TempDir::new().unwrap();
    let lab = Lab::start(Options::new(Scenario::named("demo").unwrap(), dir.path(), now)).await.unwrap();
    let at = lab.endpoints();
    if at.address_map.is_some() {
        println!("SKIPPED: this system has only 127.0.0.1, so other programs cannot reach the lab's servers");
        return None;
    }
    let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
    let engine = Engine::new(Settings {
        root_hints: RootHints::parse(&read(&at.root_hints)).unwrap(),
        trust_anchors: TrustAnchors::parse(&read(&at.trust_anchor)).unwrap(),
        port: at.dns_port,
        allow_private: true,
        ..Settings::default()
    });
    Some(World { lab, engine, now, dir })
}

impl World {
    async fn trace(&self, name: &str, rtype: &str) -> Trace {
        self.engine.trace(&Fqdn::trusted(name), rtype).await.unwrap()
    }

    /// The server whose answer the trace went by.
    fn chosen(trace: &Trace) -> IpAddr {
        let step = trace.steps.last().unwrap();
        let answer = step.chosen.unwrap_or_else(|| panic!("{} has no server: {trace:#?}", trace.name));
        step.answers[answer].address.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dig_and_kdig_read_the_same_records() {
    let programs: Vec<_> = [("dig", "bind9-dnsutils"), ("kdig", "knot-dnsutils")]
        .iter()
        .filter_map(|(program, package)| peers::find(program, package))
        .collect();
    if programs.is_empty() {
        return;
    }
    let Some(w) = world().await else { return };
    let port = w.lab.endpoints().dns_port;
    let (mut compared, mut types) = (0, std::collections::BTreeSet::new());
    for name in NAMES {
        let server = World::chosen(&w.trace(name, "SOA").await);
        let said: Vec<String> =
            programs.iter().map(|program| peers::ask(program, server, port, name, &TYPES)).collect();
        for rtype in TYPES {
            let trace = w.trace(name, rtype).await;
            let ours = peers::ours(&trace.records, name, rtype);
            for (program, said) in programs.iter().zip(&said) {
                let theirs = peers::theirs(said, name, rtype);
                assert_eq!(ours, theirs, "{name} {rtype}: ours and {}'s", program.display());
                compared += theirs.len();
            }
            types.extend(ours.first().map(|_| rtype));
        }
    }
    println!("{compared} records of the types {types:?} are the same");
    assert!(compared >= 150 && types.len() >= 9, "only {compared} records of {types:?} were compared");
}

#[tokio::test(flavor = "multi_thread")]
async fn dig_sees_the_same_denials() {
    let Some(dig) = peers::find("dig", "bind9-dnsutils") else { return };
    let Some(w) = world().await else { return };
    for (name, rtype, rcode, outcome) in [
        ("nobody.q7.io", "A", "NXDOMAIN", TraceOutcome::NxDomain),
        ("q7.io", "SRV", "NOERROR", TraceOutcome::NoData),
        ("nope.sealed.example", "A", "NXDOMAIN", TraceOutcome::NxDomain),
        ("any.apps.sealed.example", "TXT", "NOERROR", TraceOutcome::NoData),
        ("vacant-demo.com", "A", "NXDOMAIN", TraceOutcome::NxDomain),
    ] {
        let trace = w.trace(name, rtype).await;
        assert_eq!(trace.outcome, outcome, "{name} {rtype}");
        let theirs = peers::rcode(&dig, World::chosen(&trace), w.lab.endpoints().dns_port, name, rtype);
        assert_eq!(theirs, rcode, "{name} {rtype}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn drill_comes_down_the_same_way_to_the_same_records() {
    let Some(drill) = peers::find("drill", "ldnsutils") else { return };
    let Some(w) = world().await else { return };
    let at = w.lab.endpoints();
    // drill takes seconds for a name, so all are asked at once.
    let names = [
        "sealed.example",
        "www.sealed.example",
        "copperline.example",
        "juniper-lab.example",
        "kestrel-demo.com",
    ];
    let questions =
        names.into_iter().flat_map(|name| ["SOA", "A", "MX", "DNSKEY"].map(|rtype| (name, rtype)));
    let asked: Vec<_> = questions
        .map(|(name, rtype)| {
            let (drill, hints, port) = (drill.clone(), at.root_hints.clone(), at.dns_port);
            let run = move || peers::drill_trace(&drill, &hints, port, name, rtype);
            (name, rtype, tokio::task::spawn_blocking(run))
        })
        .collect();
    let mut compared = 0;
    for (name, rtype, run) in asked {
        let trace = w.trace(name, rtype).await;
        let Some(traced) = run.await.unwrap() else {
            println!("drill gave up on {name} {rtype}");
            continue;
        };
        let theirs = peers::theirs(&traced, name, rtype);
        assert_eq!(peers::ours(&trace.records, name, rtype), theirs, "{name} {rtype}: {traced}");
        let zones: Vec<String> =
            trace.steps.iter().map(|s| s.zone.trim_end_matches('.').to_string()).collect();
        assert_eq!(zones, peers::zones_of(&traced), "{name} {rtype}: {traced}");
        compared += theirs.len();
    }
    println!("{compared} records are the same");
    assert!(compared >= 10, "only {compared} records were compared");
}

#[tokio::test(flavor = "multi_thread")]
async fn delv_judges_every_domain_as_we_do() {
    let Some(delv) = peers::find("delv", "bind9-dnsutils") else { return };
    let Some(w) = world().await else { return };
    let at = w.lab.endpoints();
    let anchors = w.dir.path().join("delv.keys");
    let key = std::fs::read_to_string(&at.trust_anchor).unwrap();
    std::fs::write(&anchors, peers::delv_anchor(&key)).unwrap();
    // The lab's first resolver hands on what it finds when validation is left to the client (CD).
    let resolver: IpAddr = "127.8.0.1".parse().unwrap();
    let mut verdicts = std::collections::BTreeMap::<&str, usize>::new();
    let mut silent = Vec::new();
    for name in &at.domains {
        let (theirs, said) = peers::delv(&delv, &anchors, resolver, at.dns_port, name, "SOA");
        let Some(theirs) = theirs else {
            silent.push(name.as_str());
            continue;
        };
        let ours = w.engine.dnssec(name, w.now).await.unwrap();
        assert_eq!(ours.status, theirs, "{name}: {}\n{said}", ours.reason);
        *verdicts.entry(theirs.label()).or_default() += 1;
    }
    println!("{verdicts:?}; no answer for delv: {silent:?}");
    assert!(verdicts.len() == 3 && verdicts.values().sum::<usize>() >= 50, "{verdicts:?} {silent:?}");
}
