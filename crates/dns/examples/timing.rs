//! How long traces, delegations and whole checks take on the lab's demo Internet, one after the other. Ratios against
//! other programs are the benchmark's business; this says where the time of ours goes.

use dns::checks::CheckOptions;
use dns::{Engine, RootHints, Settings, TrustAnchors};
use lab::{Lab, Options, Scenario};
use model::names::Fqdn;
use std::error::Error;
use std::time::Instant;

const HEALTHY: [&str; 6] = [
    "q7.io",
    "copperline.example",
    "juniper-lab.example",
    "sealed.example",
    "orchard.example",
    "kestrel-demo.com",
];
const ROUNDS: usize = 10;

fn main() -> Result<(), Box<dyn Error>> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run())
}

async fn run() -> Result<(), Box<dyn Error>> {
    let now = jiff::Timestamp::now();
    let dir = tempfile::TempDir::new()?;
    let lab = Lab::start(Options::new(Scenario::named("demo")?, dir.path(), now)).await?;
    let at = lab.endpoints();
    let engine = Engine::new(Settings {
        root_hints: RootHints::parse(&std::fs::read_to_string(&at.root_hints)?)?,
        trust_anchors: TrustAnchors::parse(&std::fs::read_to_string(&at.trust_anchor)?)?,
        port: at.dns_port,
        allow_private: true,
        ..Settings::default()
    });
    let count = (HEALTHY.len() * ROUNDS) as f64;
    let start = Instant::now();
    let mut queries = 0;
    for name in HEALTHY.iter().cycle().take(HEALTHY.len() * ROUNDS) {
        queries += engine.trace(&Fqdn::trusted(name), "SOA").await?.queries;
    }
    report("traces", count, start, queries);
    let start = Instant::now();
    for name in HEALTHY.iter().cycle().take(HEALTHY.len() * ROUNDS) {
        engine.delegation(name).await?;
    }
    report("delegations", count, start, 0);
    let start = Instant::now();
    let mut queries = 0;
    for name in HEALTHY.iter().cycle().take(HEALTHY.len() * ROUNDS) {
        queries += engine.check(name, &CheckOptions::new(now)).await?.queries;
    }
    report("checks", count, start, queries);
    let start = Instant::now();
    for name in HEALTHY.iter().cycle().take(HEALTHY.len() * ROUNDS) {
        engine.dnssec(name, now).await?;
    }
    report("DNSSEC chains", count, start, 0);
    lab.shutdown().await;
    Ok(())
}

fn report(what: &str, count: f64, start: Instant, queries: u32) {
    let seconds = start.elapsed().as_secs_f64();
    let asked = if queries > 0 {
        format!(", {:.0} questions each", f64::from(queries) / count)
    } else {
        String::new()
    };
    println!("{what}: {:.1} per second, {:.1} ms each{asked}", count / seconds, seconds * 1000.0 / count);
}
