//! `cargo xtask bench dns`: traces, whole checks and a half-dead zone on the lab, as ratios against `drill -T` and
//! `zonemaster-cli` asked about the same tree in the same run. A peer that is missing is said so. Loopback only.

use dns::checks::CheckOptions;
use dns::{Engine, RootHints, Settings, TrustAnchors};
use lab::{Endpoints, Lab, Options, Scenario};
use model::names::Fqdn;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Sound zones whose name servers all have glue, which `drill` needs.
const NAMES: [&str; 3] = ["sealed.example", "copperline.example", "juniper-lab.example"];

/// Eight servers of which four never answer.
const HALF_DEAD: &str = r#"
name = "half-dead"
about = "one zone on eight servers, four of them dead"

[[provider]]
id = "eight"
name = "Eight Servers"
servers = [
  { name = "ns1.eight.example" }, { name = "ns2.eight.example" }, { name = "ns3.eight.example" }, { name = "ns4.eight.example" },
  { name = "ns5.eight.example", faults = ["dead"] }, { name = "ns6.eight.example", faults = ["dead"] },
  { name = "ns7.eight.example", faults = ["dead"] }, { name = "ns8.eight.example", faults = ["dead"] },
]

[[registrar]]
id = "reg"
name = "Plain Registrar"
iana_id = 9999
domain = "eight.example"

[[tld]]
name = "example"
registry = "Example Registry"
dnssec = "nsec"
reserved = ["nic.example"]

[[domain]]
name = "eight.example"
provider = "eight"
registrar = "reg"
created = "-5y"
updated = "-100d"
expires = "+200d"
records = ["@ 300 A 192.0.2.10"]
"#;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        against_peers().await;
        half_dead().await;
    });
}

/// A row of the table.
fn row(what: &str, ours: &str, theirs: Option<(String, f64)>) {
    match theirs {
        Some((theirs, ratio)) => println!("{what:<34} {ours:>22}   {theirs:>34}   {ratio:>7.1} ×"),
        None => println!("{what:<34} {ours:>22}"),
    }
}

async fn lab(scenario: Scenario, dir: &Path, port: Option<u16>) -> Result<Lab, lab::Error> {
    Lab::start(Options { dns_port: port, ..Options::new(scenario, dir, jiff::Timestamp::now()) }).await
}

fn engine(at: &Endpoints, timeout: Duration) -> Engine {
    let read = |path: &Path| std::fs::read_to_string(path).expect("a file of the lab");
    Engine::new(Settings {
        root_hints: RootHints::parse(&read(&at.root_hints)).expect("hints"),
        trust_anchors: TrustAnchors::parse(&read(&at.trust_anchor)).expect("anchors"),
        port: at.dns_port,
        allow_private: true,
        timeout,
        address_map: at
            .address_map
            .as_ref()
            .map_or_else(dns::AddressMap::default, |p| dns::AddressMap::read(p).expect("map")),
        ..Settings::default()
    })
}

async fn against_peers() {
    let dir = tempfile::TempDir::new().expect("a folder");
    let demo = || Scenario::named("demo").expect("ships with the lab");
    // Zonemaster asks on port 53 only.
    let (lab, privileged) = match lab(demo(), dir.path(), Some(53)).await {
        Ok(lab) => (lab, true),
        Err(_) => (lab(demo(), dir.path(), None).await.expect("the lab starts"), false),
    };
    let at = lab.endpoints();
    let reachable = at.address_map.is_none();
    let engine = engine(at, Settings::default().timeout);
    println!("one after the other, {} sound zones of the lab's demo:\n", NAMES.len());

    let mut traced = 0_u32;
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(4) {
        for name in NAMES {
            engine.trace(&Fqdn::trusted(name), "SOA").await.expect("a trace");
            traced += 1;
        }
    }
    let ours = f64::from(traced) / start.elapsed().as_secs_f64();
    let drill = peer("drill", "ldnsutils").filter(|_| reachable);
    let theirs = drill.and_then(|drill| {
        let start = Instant::now();
        for name in NAMES {
            let port = at.dns_port.to_string();
            let hints = at.root_hints.display().to_string();
            let out = run(&drill, &["-T", "-4", "-r", &hints, "-p", &port, name, "SOA"]);
            let said = String::from_utf8_lossy(&out.stdout);
            if !said.contains("\tSOA\t") {
                println!("SKIPPED: drill -T found no SOA record of {name}");
                return None;
            }
        }
        Some(NAMES.len() as f64 / start.elapsed().as_secs_f64())
    });
    row(
        "traces (SOA), every server asked",
        &format!("{ours:.1} a second"),
        theirs.map(|t| (format!("drill -T: {t:.1} a second"), ours / t)),
    );

    let mut checked = 0_u32;
    let mut queries = 0_u32;
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(6) {
        for name in NAMES {
            let options = CheckOptions::new(jiff::Timestamp::now());
            queries += engine.check(name, &options).await.expect("a check").queries;
            checked += 1;
        }
    }
    let ours = f64::from(checked) / start.elapsed().as_secs_f64();
    let zonemaster = peer("zonemaster-cli", "zonemaster-cli").filter(|_| reachable && privileged);
    if !privileged {
        println!("SKIPPED: zonemaster-cli asks on port 53, which may not be bound here (it takes root)");
    }
    let theirs = zonemaster.and_then(|program| {
        let hints = at.root_hints.display().to_string();
        let start = Instant::now();
        for name in NAMES {
            let out =
                run(&program, &["--hints", &hints, "--no-ipv6", "--no-progress", "--level", "NOTICE", name]);
            let said = String::from_utf8_lossy(&out.stdout);
            // What it says when it came nowhere: then there is nothing to compare with.
            if !out.status.success() || said.contains("CRITICAL") {
                println!("SKIPPED: zonemaster-cli could not check {name}: {}", said.trim());
                println!("{}", String::from_utf8_lossy(&out.stderr).trim());
                return None;
            }
        }
        Some(NAMES.len() as f64 / start.elapsed().as_secs_f64())
    });
    row(
        "whole checks of a domain",
        &format!("{ours:.2} a second"),
        theirs.map(|t| (format!("zonemaster-cli: {t:.2} a second"), ours / t)),
    );
    println!("{:<34} {:>22}", "  questions a check", queries / checked.max(1));
    lab.shutdown().await;
}

async fn half_dead() {
    let timeout = Duration::from_secs(2);
    let dir = tempfile::TempDir::new().expect("a folder");
    let scenario = Scenario::parse(HALF_DEAD, "half-dead").expect("a scenario");
    let lab = lab(scenario, dir.path(), None).await.expect("the lab starts");
    let engine = engine(lab.endpoints(), timeout);
    println!(
        "\na zone on 8 servers, 4 of them dead, timeout {} s (target: below 1.5 timeouts):\n",
        timeout.as_secs()
    );
    let ratio = |took: Duration| took.as_secs_f64() / timeout.as_secs_f64();
    let start = Instant::now();
    let trace = engine.trace(&Fqdn::trusted("eight.example"), "SOA").await.expect("a trace");
    let took = start.elapsed();
    row("  trace", &format!("{:.2} timeouts", ratio(took)), None);
    assert_eq!(trace.records.len(), 1, "{trace:#?}");
    let start = Instant::now();
    engine.delegation("eight.example").await.expect("a delegation");
    row("  delegation", &format!("{:.2} timeouts", ratio(start.elapsed())), None);
    let start = Instant::now();
    let report =
        engine.check("eight.example", &CheckOptions::new(jiff::Timestamp::now())).await.expect("a check");
    let took = ratio(start.elapsed());
    row("  whole check", &format!("{took:.2} timeouts"), None);
    println!(
        "  {} questions, {} findings: {}",
        report.queries,
        report.findings.len(),
        if took < 1.5 { "target reached" } else { "target MISSED" }
    );
    lab.shutdown().await;
}

fn peer(program: &str, package: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|p| p.is_file());
    if found.is_none() {
        println!("SKIPPED: {program} is not installed (Debian: apt-get install {package})");
    }
    found
}

fn run(program: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null());
    command.output().unwrap_or_else(|e| panic!("{}: {e}", program.display()))
}
