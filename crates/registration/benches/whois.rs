//! `cargo xtask bench whois`: samples per second of the WHOIS parser on one core, look-ups per second by RDAP and WHOIS
//! against the lab, and the memory all of it took. Recorded answers come from the corpus beside the clone (not part of
//! the repository); without it the answers of `tests/formats.rs`' kind below are parsed.

use async_trait::async_trait;
use lab::{Lab, Options, Scenario};
use model::names::DomainName;
use registration::{Client, LookupError, LookupResult, Settings};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Parsed per second, below which the parser is too slow.
const TARGET: f64 = 20_000.0;

const OWN: [(&str, &str); 3] = [
    (
        "harbour.com",
        "   Domain Name: HARBOUR.COM\r\n   Registrar: Quay Names, Inc.\r\n   Registrar IANA ID: 9999\r\n   Creation Date: \
         1999-09-09T01:02:03Z\r\n   Registry Expiry Date: 2031-09-09T01:02:03Z\r\n   Updated Date: 2024-02-03T04:05:06Z\r\n   \
         Domain Status: clientTransferProhibited https://icann.org/epp#clientTransferProhibited\r\n   Name Server: \
         NS1.HARBOUR.COM\r\n   Name Server: NS2.HARBOUR.COM\r\n   DNSSEC: unsigned\r\n>>> Last update of whois database: \
         2026-11-20T12:00:00Z <<<\r\n\r\nFor more information on Whois status codes, please visit https://icann.org/epp\r\n",
    ),
    (
        "pier.ee",
        "Domain:\nname:       pier.ee\nstatus:     ok (paid and in zone)\nregistered: 2010-07-04 05:06:07 +03:00\nchanged:    \
         2024-01-02 03:04:05 +02:00\nexpire:     2027-07-05\n\nRegistrant:\nname:       Private Person\n\nRegistrar:\nname:       \
         Kai OU\nurl:        http://kai.example\n\nName servers:\nnserver:   ns.pier.ee\nnserver:   ns2.kai.example\n",
    ),
    ("nobody.org", "Domain not found.\n>>> Last update of WHOIS database: 2026-11-20T12:00:00Z <<<\n"),
];

fn main() {
    parsing();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(looking_up());
    println!("memory: {}", rss());
}

fn samples() -> Vec<(String, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/whois");
    let Ok(expected) = std::fs::read_to_string(root.join("expected.jsonl")) else {
        println!("no corpus at {}: parsing three answers of our own", root.display());
        return OWN.iter().map(|(domain, text)| ((*domain).to_string(), text.as_bytes().to_vec())).collect();
    };
    let case = |line: &str| {
        let v: serde_json::Value = serde_json::from_str(line).ok()?;
        Some((v["domain"].as_str()?.to_string(), std::fs::read(root.join(v["raw"].as_str()?)).ok()?))
    };
    expected.lines().filter_map(case).collect()
}

fn parsing() {
    let cases = samples();
    let bytes: usize = cases.iter().map(|(_, raw)| raw.len()).sum();
    let pass = || {
        let read =
            cases.iter().map(|(domain, raw)| registration::parse_whois(domain, None, None, raw).outcome);
        read.filter(|outcome| outcome.as_str() == "registered").count()
    };
    let registered = pass();
    let (mut rounds, mut best) = (0_u32, Duration::MAX);
    let (start, on_cpu) = (Instant::now(), cpu());
    while start.elapsed() < Duration::from_secs(5) {
        let round = Instant::now();
        assert_eq!(std::hint::black_box(pass()), registered);
        best = best.min(round.elapsed());
        rounds += 1;
    }
    // Time on the core, where the system tells: what other programs take is not the parser's.
    let wall = start.elapsed();
    let seconds = on_cpu.and_then(|before| Some(cpu()? - before)).unwrap_or(wall).as_secs_f64();
    let rate = f64::from(rounds) * cases.len() as f64 / seconds;
    println!(
        "parsing: {rate:.0} samples/s on one core (busy {:.0} % of the time; best pass {:.0}/s by the clock), {:.1} MB/s; {} \
         samples, {registered} registered, {rounds} passes",
        100.0 * seconds / wall.as_secs_f64(),
        cases.len() as f64 / best.as_secs_f64(),
        f64::from(rounds) * bytes as f64 / 1e6 / seconds,
        cases.len(),
    );
    println!("parsing: target {TARGET:.0}/s {}", if rate >= TARGET { "reached" } else { "MISSED" });
}

/// Time this thread was on a core.
fn cpu() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

struct Hosts(Arc<Lab>);

#[async_trait]
impl net::Resolve for Hosts {
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        self.0.address_of(host).map(|ip| vec![IpAddr::V4(ip)]).ok_or_else(|| format!("{host} does not exist"))
    }
}

async fn looking_up() {
    let now = jiff::Timestamp::now();
    let dir = tempfile::TempDir::new().expect("a folder");
    let scenario = Scenario::named("demo").expect("ships with the lab");
    let lab = Arc::new(Lab::start(Options::new(scenario, dir.path(), now)).await.expect("the lab starts"));
    for (name, rdap) in [("RDAP, registry and registrar", true), ("WHOIS alone", false)] {
        let client = client(&lab, dir.path(), rdap);
        // Registries of the demo that are slow, silent or tired would be measured instead of us.
        let mut names = Vec::new();
        for domain in &lab.endpoints().domains {
            let domain = DomainName::trusted(domain);
            let start = Instant::now();
            let answer: LookupResult = client.lookup(&domain, now).await;
            let failed: Option<&LookupError> = answer.outcome.as_ref().err();
            if failed.is_none() && answer.failures.is_empty() && start.elapsed() < Duration::from_millis(500)
            {
                names.push(domain);
            }
        }
        if names.is_empty() {
            println!("look-ups by {name}: no registry of the lab answered");
            continue;
        }
        let (start, mut done) = (Instant::now(), 0_u32);
        while start.elapsed() < Duration::from_secs(4) {
            for some in names.chunks(16) {
                let answers =
                    futures::future::join_all(some.iter().map(|name| client.lookup(name, now))).await;
                done += answers.iter().filter(|a| a.outcome.is_ok()).count() as u32;
            }
        }
        let rate = f64::from(done) / start.elapsed().as_secs_f64();
        println!("look-ups by {name}: {rate:.0}/s ({} domains of the lab, 16 at a time)", names.len());
    }
}

/// A client without spacing between questions: the lab's registries are ours.
fn client(lab: &Arc<Lab>, dir: &Path, rdap: bool) -> Client {
    let at = lab.endpoints();
    let nowhere = dir.join("no-rdap.json");
    std::fs::write(&nowhere, r#"{"services":[[["invalid"],["https://rdap.invalid/"]]]}"#).expect("written");
    let bootstrap = if rdap { &at.rdap_bootstrap } else { &nowhere };
    let map = at.address_map.as_ref().map(|path| net::AddressMap::read(path).expect("the lab's map"));
    let dialer = net::Dialer::new(net::Settings {
        resolver: Arc::new(Hosts(lab.clone())),
        allow_private: true,
        extra_ca: Some(std::fs::read(&at.extra_ca).expect("the lab's authority")),
        address_map: map.unwrap_or_default(),
        ..net::Settings::default()
    })
    .expect("a dialer");
    let settings = Settings {
        rdap_bootstrap: Some(bootstrap.display().to_string()),
        whois_server: Some(at.whois_server.clone()),
        limit: net::Limit::new(64, Duration::ZERO),
        spacing: Some(Duration::ZERO),
        patience: Duration::from_secs(30),
        timeout: Duration::from_secs(30),
        ..Settings::default()
    };
    Client::new(settings, dialer).expect("a client")
}

/// Resident memory now and at its peak, where the system says.
fn rss() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |key: &str| status.lines().find_map(|l| l.strip_prefix(key)).map(|v| v.trim().to_string());
    match (of("VmRSS:"), of("VmHWM:")) {
        (Some(now), Some(peak)) => {
            format!("{now} resident, {peak} at most (parser, client and lab in one process)")
        }
        _ => "not known on this system".to_string(),
    }
}
