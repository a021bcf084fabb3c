//! How many scans a second one server sustains: `cargo xtask bench scans`.
//!
//! The real process with the lab on the same machine: registered and delegated names, half of them signed (the lab's
//! `[[bulk]]`), all added at once, on SQLite and on PostgreSQL. Printed: scans a second of each fifth of the way, so that
//! what grows with the number of names shows; the peak memory of the server; and the time from a Rescan, as a page or
//! another replica queues it, to its start while all others wait. `-- --names N` takes another number than 10,000 (100,000
//! takes a while), `-- --concurrency N` other than 16 scans at a time, `-- --only sqlite` or `postgres` one database,
//! `-- --rounds 24` scans each name that often, as a day of hourly checks does, and prints the memory after each round;
//! `-- --agents 50` has that many simulated points of presence joined meanwhile, which are asked about each name.

mod agents;
#[path = "../../../crates/store/tests/story/cluster.rs"]
#[allow(dead_code, reason = "the store's tests use more of it")]
mod cluster;

/// The lab runs in this process, and with the allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use jiff::Timestamp;
use model::ids::OrgId;
use model::item::Ownership;
use model::names::DomainName;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{Job, JobKind, JobPhase, NewItem, Priority, SecretKey, Store};

const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
/// Between two manual rescans.
const RESCAN_EVERY: Duration = Duration::from_millis(250);
/// Between two looks at a rescan, and so how exactly its start is known.
const LOOK_EVERY: Duration = Duration::from_millis(3);
/// Longest wait for a rescan to begin, and for the next recorded scan.
const LIMIT: Duration = Duration::from_secs(60);
/// Targets: scans a second, seconds to the start of a rescan.
const TARGET_RATE: f64 = 300.0;
const TARGET_RESCAN: Duration = Duration::from_secs(1);

fn setting(name: &str) -> Option<String> {
    std::env::args().skip_while(|word| word != name).nth(1)
}

fn number(name: &str, default: usize) -> usize {
    setting(name).and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// The server as a process of its own, killed at the end.
struct Server {
    child: Child,
    listen: SocketAddr,
    metrics: SocketAddr,
}

impl Server {
    fn spawn(folder: &Path, engine: &Path, place: &[&str]) -> Server {
        let free = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
        let [listen, metrics] = free.each_ref().map(|l| l.local_addr().expect("its number"));
        drop(free);
        let log = std::fs::File::create(folder.join("server.log")).expect("a log");
        let mut command = Command::new(env!("CARGO_BIN_EXE_domainscope"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("DOMAINSCOPE_") {
                command.env_remove(name);
            }
        }
        command
            .args([
                "serve",
                "--listen",
                &listen.to_string(),
                "--interval",
                "86400",
                "--registry-limits",
                "limits.toml",
            ])
            .args(["--concurrency", &number("--concurrency", 16).to_string()])
            .args(["--metrics-listen", &metrics.to_string()])
            .arg("--config")
            .arg(engine)
            .args(place)
            .env("DOMAINSCOPE_SECRET_KEY", KEY)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        Server { child: command.spawn().expect("the server starts"), listen, metrics }
    }

    /// Scans that were recorded so far.
    fn recorded(&self) -> Option<usize> {
        let mut stream = TcpStream::connect_timeout(&self.metrics, Duration::from_secs(5)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
        write!(stream, "GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.metrics)
            .ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let is_recorded =
            |l: &&str| l.starts_with("domainscope_scans_total{") && l.contains("outcome=\"recorded\"");
        let (_, found) = text.lines().find(is_recorded)?.rsplit_once(' ')?;
        found.trim().parse::<f64>().ok().map(|n| n as usize)
    }

    /// Seconds of CPU that it has used; none where the system does not tell.
    fn cpu(&self) -> f64 {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        let after = text.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
        let field =
            |n: usize| after.split_whitespace().nth(n).and_then(|v| v.parse::<f64>().ok()).unwrap_or(0.0);
        // utime and stime are fields 14 and 15 of proc_pid_stat(5), in hundredths of a second.
        (field(11) + field(12)) / 100.0
    }

    /// Resident memory in megabytes, now (`VmRSS:`) or at its peak (`VmHWM:`), where the system tells.
    fn memory(&self, which: &str) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|l| l.strip_prefix(which))?;
        line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kb| kb / 1024)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Rescans names in turn until it is stopped; the time of each to its start.
async fn rescans(
    store: Arc<dyn Store>,
    names: Arc<Vec<DomainName>>,
    stop: Arc<std::sync::atomic::AtomicBool>,
) -> Vec<Duration> {
    let mut random = StdRng::seed_from_u64(1);
    let mut took = Vec::new();
    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
        tokio::time::sleep(RESCAN_EVERY).await;
        let name = names[random.random_range(0..names.len())].clone();
        let key = name.to_string();
        let begin = Instant::now();
        store.enqueue(&[(Job::Scan(name), Timestamp::now())], Priority::Requested).await.expect("queues");
        loop {
            let states = store.job_states(JobKind::Scan, vec![key.clone()]).await.expect("reads");
            // It runs, or was so quick that it is over.
            let begun = states.first().is_none_or(|s| {
                matches!(s.phase, JobPhase::Running { .. }) || s.priority != Priority::Requested
            });
            if begun {
                break;
            }
            assert!(begin.elapsed() < LIMIT, "a rescan of {key} does not begin");
            tokio::time::sleep(LOOK_EVERY).await;
        }
        took.push(begin.elapsed());
    }
    took.sort();
    took
}

async fn measure(what: &str, folder: &Path, engine: &Path, names: &Arc<Vec<DomainName>>, place: &[&str]) {
    let store = store::open_with(place[1], Some(SecretKey::parse(KEY).expect("a key"))).await.expect("opens");
    let item = |name: &DomainName| NewItem {
        unicode: name.unicode(),
        name: name.clone(),
        ownership: Ownership::Owned,
        tags: vec![],
        note: String::new(),
    };
    let items: Vec<NewItem> = names.iter().map(item).collect();

    let server = Server::spawn(folder, engine, place);
    let begin = Instant::now();
    while TcpStream::connect(server.listen).is_err() {
        assert!(begin.elapsed() < LIMIT, "the server does not listen");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let agents = agents::Agents::join(number("--agents", 0), server.listen, place, KEY).await;
    store.add(OrgId::BUILT_IN, &items, Timestamp::now()).await.expect("adds");
    let begin = Instant::now();
    while server.recorded().is_none_or(|n| n == 0) {
        let log = std::fs::read_to_string(folder.join("server.log")).unwrap_or_default();
        assert!(begin.elapsed() < LIMIT, "no scan was recorded: {log}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let cpu = server.cpu();
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let asking = tokio::spawn(rescans(store.clone(), names.clone(), stop.clone()));
    let (begin, first) = (Instant::now(), server.recorded().unwrap_or(0));
    // How many were recorded, and when.
    let mut points = vec![(0.0, first)];
    let (rounds, mut round, mut memory) = (number("--rounds", 1), 1, Vec::new());
    while let Some((at, n)) = points.last().copied().filter(|(_, n)| *n < names.len() * rounds) {
        if n >= names.len() * round {
            round += 1;
            memory.extend(server.memory("VmRSS:"));
            let due = |name: &DomainName| (Job::Scan(name.clone()), Timestamp::now());
            let jobs: Vec<_> = names.iter().map(due).collect();
            store.enqueue(&jobs, Priority::Scheduled).await.expect("queues");
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        let elapsed = begin.elapsed().as_secs_f64();
        match server.recorded().filter(|found| *found > n) {
            Some(found) => points.push((elapsed, found)),
            None => assert!(elapsed - at < LIMIT.as_secs_f64(), "scans stopped at {n}"),
        }
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let took = asking.await.expect("rescans");

    let total = names.len() * rounds - first;
    let rate = |from: usize, to: usize| {
        let at = |n: usize| {
            points.iter().find(|(_, found)| *found >= n).copied().unwrap_or(points[points.len() - 1])
        };
        let (a, b) = (at(first + from), at(first + to));
        (b.1 - a.1) as f64 / (b.0 - a.0).max(0.001)
    };
    let fifths: Vec<String> =
        (0..5).map(|i| format!("{:.0}", rate(total * i / 5, total * (i + 1) / 5))).collect();
    let all = rate(0, total);
    let word = |reached: bool| if reached { "reached" } else { "MISSED" };
    println!("{what}: {} names, half of them signed, {rounds} rounds", names.len());
    println!(
        "  {all:.0} scans a second (at least {TARGET_RATE:.0}: {}); by fifths {}",
        word(all >= TARGET_RATE),
        fifths.join(", ")
    );
    let spent = (server.cpu() - cpu) * 1000.0 / total as f64;
    println!(
        "  {spent:.2} ms of CPU of the server for a scan; {} questions answered by agents",
        agents.answered()
    );
    if let Some(peak) = server.memory("VmHWM:") {
        memory.extend(server.memory("VmRSS:"));
        println!("  peak memory {peak} MB; after each round {memory:?}");
    }
    if let Some(longest) = took.last() {
        let p99 = took[(took.len() - 1) * 99 / 100];
        println!(
            "  a Rescan begins after {:.0?} (p50), {p99:.0?} (p99, below {TARGET_RESCAN:.0?}: {}), {longest:.0?} at most; {} of them",
            took[took.len() / 2],
            word(p99 < TARGET_RESCAN),
            took.len()
        );
    }
}

#[tokio::main]
async fn main() {
    let count = number("--names", 10_000);
    let folder = tempfile::tempdir().expect("a scratch folder");
    let bulk = |prefix: &str, signed: &str| {
        format!(
            "[[bulk]]\nprefix = \"{prefix}\"\ntld = \"example\"\ncount = {}\nregistrar = \"reg\"\nprovider = \"one\"\ndnssec = \"{signed}\"\n",
            count / 2
        )
    };
    let small = include_str!("../../../crates/lab/scenarios/small.toml");
    let text = format!("{small}\n{}{}", bulk("plain-", "none"), bulk("signed-", "nsec"));
    let scenario = lab::Scenario::parse(&text, "scans.toml").expect("a scenario");
    let options = lab::Options::new(scenario, folder.path().join("lab"), Timestamp::now());
    let lab = lab::Lab::start(options).await.expect("the lab starts");
    let limits = "[[limit]]\nhosts = [\"*.nic.example\", \"*.plain-registrar.example\"]\nper_second = 100000\nconcurrency = 64\n";
    std::fs::write(folder.path().join("limits.toml"), limits).expect("writes");
    let kinds = ["plain", "signed"];
    let each = (1..=count / 2)
        .flat_map(|n| kinds.map(|kind| DomainName::trusted(&format!("{kind}-{n:05}.example"))));
    let names = Arc::new(each.collect::<Vec<_>>());
    let engine = &lab.endpoints().engine;
    let only = setting("--only");
    let wanted = |database: &str| only.as_deref().is_none_or(|o| o == database);
    if wanted("sqlite") {
        let data = folder.path().join("data");
        std::fs::create_dir_all(&data).expect("a folder");
        measure("SQLite", folder.path(), engine, &names, &["--data", &data.to_string_lossy()]).await;
    }
    if wanted("postgres")
        && let Some(cluster) = cluster::Cluster::start("")
    {
        let url = cluster.database("scans").await;
        measure("PostgreSQL", folder.path(), engine, &names, &["--database", &url]).await;
    }
}
