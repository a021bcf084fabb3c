//! The real process killed (SIGKILL) at random points of a scan cycle: the outcome is that of an undisturbed run. No job,
//! event or message is lost or doubled; a message that is sent again carries the same id.
//!
//! Every domain of the cycle expires within the reminder's threshold, so each scan makes one event and one message.
//! `cargo test -p domainscope --test kill -- --ignored --nocapture` runs the long form and prints its figures;
//! `KILL_SEED` repeats one.

#[path = "../../crates/store/tests/story/cluster.rs"]
#[allow(dead_code, reason = "the store's tests use more of it")]
mod cluster;
#[path = "kill/receiver.rs"]
mod receiver;

use jiff::{SignedDuration, Timestamp};
use model::event::{EventQuery, Severity};
use model::ids::{EventId, OrgId};
use model::item::Ownership;
use model::names::DomainName;
use model::notify::{Channel, DeliveryState, Rule, Target};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use receiver::Receiver;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{JobKind, NewItem, SecretKey, Store};

const ORG: OrgId = OrgId::BUILT_IN;
const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
/// How long a cycle may take to end: leases of killed replicas run out meanwhile.
const LIMIT: Duration = Duration::from_secs(420);

/// Where the product keeps its data.
#[derive(Clone)]
enum Place {
    Folder(String),
    Postgres(String),
}

impl Place {
    fn at(&self) -> &str {
        match self {
            Place::Folder(at) | Place::Postgres(at) => at,
        }
    }

    async fn open(&self) -> Arc<dyn Store> {
        store::open_with(self.at(), Some(SecretKey::parse(KEY).unwrap())).await.unwrap()
    }
}

/// What a cycle left behind.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    /// Kept states and events of every domain.
    domains: BTreeMap<String, (u64, u64)>,
    /// Messages that were delivered.
    delivered: usize,
    /// Messages that were not, or not yet.
    open: usize,
    /// Jobs that are suspended.
    suspended: u64,
    /// Domains with a next scan.
    scheduled: usize,
}

struct World {
    lab: lab::Lab,
    folder: tempfile::TempDir,
    names: Vec<DomainName>,
}

impl World {
    async fn start(count: usize) -> World {
        // A domain of the bulk ends a year after the lab's beginning, and the longest threshold is 365 days.
        let begin = Timestamp::now() - SignedDuration::from_hours(5 * 24);
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "[[bulk]]\nprefix = \"load-\"\ntld = \"example\"\ncount = {count}\nregistrar = \"reg\"\nprovider = \"one\"\n"
        );
        let small = include_str!("../../crates/lab/scenarios/small.toml");
        let scenario = lab::Scenario::parse(&format!("{small}\n{text}"), "bulk.toml").unwrap();
        let options = lab::Options::new(scenario, folder.path().join("lab"), begin);
        let lab = lab::Lab::start(options).await.unwrap();
        let names = (1..=count).map(|n| DomainName::trusted(&format!("load-{n:05}.example"))).collect();
        World { lab, folder, names }
    }

    /// An inventory, a channel to the receiver, and a rule that sends everything to it.
    async fn prepare(&self, place: &Place, receiver: &Receiver) {
        let (store, now) = (place.open().await, Timestamp::now());
        let item = |name: &DomainName| NewItem {
            unicode: name.unicode(),
            name: name.clone(),
            ownership: Ownership::Owned,
            tags: vec![],
            note: String::new(),
        };
        let items: Vec<NewItem> = self.names.iter().map(item).collect();
        store.add(ORG, &items, now).await.unwrap();
        let target = Target::Webhook { url: receiver.url(), secret: "whsec_c2VjcmV0c2VjcmV0c2VjcmV0".into() };
        let channel = Channel { id: "hook".into(), name: "Hook".into(), target, created_at: now };
        store.save_channel(ORG, &channel, now).await.unwrap();
        let rule = Rule {
            id: "all".into(),
            name: "All".into(),
            at_least: Severity::Info,
            channels: vec!["hook".into()],
            ..Rule::default()
        };
        store.save_rule(ORG, &rule, now).await.unwrap();
    }

    /// What the processes wrote.
    fn log(&self) -> std::fs::File {
        let path = self.folder.path().join("stderr");
        std::fs::File::options().create(true).append(true).open(path).unwrap()
    }

    /// The end of it, for messages.
    fn said(&self) -> String {
        let text = std::fs::read_to_string(self.folder.path().join("stderr")).unwrap_or_default();
        text.lines().rev().take(5).collect::<Vec<_>>().join("\n")
    }

    fn spawn(&self, place: &Place) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_domainscope"));
        let config = &self.lab.endpoints().engine;
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--interval", "86400", "--expiry-days", "365"])
            .args(["--concurrency", "6", "--registry-spacing", "1", "--config"])
            .arg(config)
            .args([if matches!(place, Place::Folder(_)) { "--data" } else { "--database" }, place.at()])
            .env("DOMAINSCOPE_SECRET_KEY", KEY)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(self.log());
        Running(command.spawn().unwrap())
    }

    async fn outcome(&self, store: &dyn Store) -> Outcome {
        let mut domains = BTreeMap::new();
        let mut scheduled = 0;
        for name in &self.names {
            domains.insert(name.to_string(), store.counts(ORG, name).await.unwrap());
            let (item, _) = store.item(ORG, name).await.unwrap().unwrap();
            scheduled += usize::from(item.next_scan_at.is_some_and(|at| at > Timestamp::now()));
        }
        let mut states = Vec::new();
        let mut last = EventId(i64::MAX);
        // At most 1,000 at once, newest first.
        loop {
            let page = store.message_statuses(ORG, EventId(0), last).await.unwrap();
            let Some(oldest) = page.iter().map(|m| m.id.0).min() else { break };
            last = EventId(oldest - 1);
            states.extend(page.into_iter().map(|m| m.state));
        }
        let delivered = states.iter().filter(|s| matches!(s, DeliveryState::Delivered { .. })).count();
        let queue = store.queue_stats(JobKind::Scan, Timestamp::now()).await.unwrap();
        Outcome { domains, delivered, open: states.len() - delivered, suspended: queue.parked, scheduled }
    }

    /// Waits until every event was delivered and no scan runs.
    async fn settled(&self, store: &dyn Store, receiver: &Receiver, running: &mut [Running]) {
        let begin = Instant::now();
        loop {
            let waiting = store.outbox_stats().await.unwrap().waiting;
            let scans = store.active_jobs(JobKind::Scan, 100).await.unwrap().len();
            if receiver.ids().len() >= self.names.len() && waiting == 0 && scans == 0 {
                return;
            }
            let seen = receiver.ids().len();
            let said = self.said();
            assert!(
                begin.elapsed() < LIMIT,
                "{seen} messages arrived, {waiting} wait, {scans} scans run: {said}"
            );
            for process in &mut *running {
                assert!(process.0.try_wait().unwrap().is_none(), "a process ended: {said}");
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Each event has one message, and the receiver saw each id that was sent, and no other.
    async fn check_ids(&self, store: &dyn Store, receiver: &Receiver) {
        let mut sent = BTreeSet::new();
        for page in 1.. {
            let query = EventQuery { page, per_page: 200, ..EventQuery::default() };
            let events = store.events(ORG, &query).await.unwrap().events;
            if events.is_empty() {
                break;
            }
            sent.extend(events.iter().map(|e| format!("hook-{ORG}-{}", e.id.0)));
        }
        let got: BTreeSet<String> = receiver.ids().into_keys().collect();
        assert_eq!(got, sent);
    }
}

/// A process that is killed when the test ends, however it ends.
struct Running(Child);

impl Running {
    /// SIGKILL.
    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A cycle without a kill.
async fn undisturbed(world: &World) -> Outcome {
    let receiver = Receiver::start().await;
    let place = Place::Folder(folder(world.folder.path(), "undisturbed"));
    world.prepare(&place, &receiver).await;
    let store = place.open().await;
    let mut running = [world.spawn(&place)];
    world.settled(&*store, &receiver, &mut running).await;
    world.check_ids(&*store, &receiver).await;
    world.outcome(&*store).await
}

fn folder(parent: &Path, name: &str) -> String {
    let path = parent.join(name);
    std::fs::create_dir_all(&path).unwrap();
    path.to_string_lossy().into_owned()
}

/// A cycle in which `processes` processes over one database are killed in turn, `kills` times in all.
async fn killed(world: &World, place: &Place, processes: usize, kills: u32, seed: u64) -> Outcome {
    let receiver = Receiver::start().await;
    world.prepare(place, &receiver).await;
    let store = place.open().await;
    let mut random = StdRng::seed_from_u64(seed);
    let begin = Instant::now();
    let mut running: Vec<Running> = (0..processes).map(|_| world.spawn(place)).collect();
    let mut amid = 0;
    for _ in 0..kills {
        tokio::time::sleep(Duration::from_millis(random.random_range(150..1200))).await;
        amid += u32::from(receiver.ids().len() < world.names.len());
        let which = random.random_range(0..processes);
        running[which].kill();
        running[which] = world.spawn(place);
    }
    world.settled(&*store, &receiver, &mut running).await;
    world.check_ids(&*store, &receiver).await;
    let outcome = world.outcome(&*store).await;
    let again: u32 = receiver.ids().values().map(|n| n - 1).sum();
    println!(
        "seed {seed}: {} domains, {processes} processes, {kills} kills, {amid} of them before the last message; \
         {} messages, {again} sent again under their id; {:.0} s",
        world.names.len(),
        receiver.ids().len(),
        begin.elapsed().as_secs_f64()
    );
    outcome
}

fn seed() -> u64 {
    std::env::var("KILL_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(20_261_122)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_killed_six_times_loses_and_doubles_nothing() {
    let world = World::start(150).await;
    let expected = undisturbed(&world).await;
    assert!(expected.domains.values().all(|c| *c == (1, 1)), "{expected:?}");
    let place = Place::Folder(folder(world.folder.path(), "killed"));
    assert_eq!(killed(&world, &place, 1, 6, seed()).await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes: 2,000 domains, 100 kills"]
async fn a_server_killed_a_hundred_times_loses_and_doubles_nothing() {
    let world = World::start(2000).await;
    let expected = undisturbed(&world).await;
    let place = Place::Folder(folder(world.folder.path(), "killed"));
    assert_eq!(killed(&world, &place, 1, 100, seed()).await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes: leases of killed replicas run out"]
async fn two_replicas_killed_a_hundred_times_lose_and_double_nothing() {
    let Some(cluster) = cluster::Cluster::start("-c fsync=off") else { return };
    let world = World::start(2000).await;
    let expected = undisturbed(&world).await;
    let place = Place::Postgres(cluster.url("postgres"));
    assert_eq!(killed(&world, &place, 2, 100, seed()).await, expected);
}
