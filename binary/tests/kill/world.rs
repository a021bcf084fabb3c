//! A lab with many domains, servers over it, and what a cycle of scans left behind.

use crate::process::Process;
use crate::receiver::Receiver;
use jiff::{SignedDuration, Timestamp};
use model::event::{Change, EventKind, EventQuery, Severity};
use model::ids::OrgId;
use model::item::Ownership;
use model::names::DomainName;
use model::notify::{Channel, DeliveryState, Rule, Target};
use model::ownership::{Claim, ClaimPolicy, Method, Standing};
use model::status::StatusKind;
use monitor::claims;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{ClaimWrite, JobKind, JobPhase, JobState, NewItem, SecretKey, Store, StoredClaim};

pub const ORG: OrgId = OrgId::BUILT_IN;
pub const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
/// How long a cycle may take to end: leases of killed replicas run out meanwhile.
const LIMIT: Duration = Duration::from_secs(900);
/// Of so many domains one is claimed, and its ownership verified, in the same cycle.
const CLAIMED: usize = 5;

/// Where the product keeps its data.
#[derive(Clone)]
pub enum Place {
    Folder(String),
    Postgres(String),
}

impl Place {
    /// An empty folder.
    pub fn folder(world: &World, name: &str) -> Place {
        let path = world.folder.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Place::Folder(path.to_string_lossy().into_owned())
    }

    pub fn at(&self) -> &str {
        match self {
            Place::Folder(at) | Place::Postgres(at) => at,
        }
    }

    pub async fn open(&self) -> Arc<dyn Store> {
        store::open_with(self.at(), Some(SecretKey::parse(KEY).unwrap())).await.unwrap()
    }
}

/// What is stored of a domain.
#[derive(Debug, PartialEq, Eq)]
struct Remaining {
    /// Kept states and events.
    counts: (u64, u64),
    /// Its status, and the parts that could not be read.
    status: StatusKind,
    error: Option<String>,
    /// Its events: kind, severity, field and values, in the order of their sentences: a scan and the check of a claim end in
    /// any order.
    events: Vec<Change>,
    /// Where the claim to it stands.
    claim: Option<Standing>,
}

/// What a cycle left behind.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What is stored of every domain.
    domains: BTreeMap<String, Remaining>,
    /// Messages that were delivered.
    delivered: usize,
    /// Messages that were not, or not yet.
    open: usize,
    /// Jobs that are suspended.
    suspended: u64,
    /// Domains whose next scan waits in the queue, at the time that the inventory shows or sooner.
    scheduled: usize,
    /// Claims whose next check waits in the queue.
    checks: usize,
}

/// What is done to the servers of a cycle.
pub struct Plan {
    /// Servers over one database.
    pub processes: usize,
    /// How often one of them is killed.
    pub kills: usize,
    /// Of the random choices.
    pub seed: u64,
    /// After the last kill all leases end, rather than after the minutes for which a killed replica holds them. Those of
    /// live replicas end too, which then answer late.
    pub leases_end: bool,
}

/// The seed of this run, which `KILL_SEED` sets.
pub fn seed() -> u64 {
    std::env::var("KILL_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(20_261_122)
}

pub struct World {
    pub lab: lab::Lab,
    pub folder: tempfile::TempDir,
    pub names: Vec<DomainName>,
}

impl World {
    pub async fn start(count: usize) -> World {
        // A domain of the bulk ends a year after the lab's beginning, and the longest threshold is 365 days.
        let passed = SignedDuration::from_hours(5 * 24);
        let begin = Timestamp::now() - passed;
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "[[bulk]]\nprefix = \"load-\"\ntld = \"example\"\ncount = {count}\nregistrar = \"reg\"\nprovider = \"one\"\n"
        );
        let small = include_str!("../../../crates/lab/scenarios/small.toml");
        let scenario = lab::Scenario::parse(&format!("{small}\n{text}"), "bulk.toml").unwrap();
        let options = lab::Options::new(scenario, folder.path().join("lab"), begin);
        let lab = lab::Lab::start(options).await.unwrap();
        // Its servers' clocks agree with ours.
        lab.pass(passed);
        // Places of a registry that a killed process held come back after 30 seconds. That is a test of its own; here
        // it would make every cycle a test of waiting.
        let limits = "[[limit]]\nhosts = [\"*.nic.example\", \"*.plain-registrar.example\"]\nper_second = 1000\nconcurrency = 64\n";
        std::fs::write(folder.path().join("limits.toml"), limits).unwrap();
        let names = (1..=count).map(|n| DomainName::trusted(&format!("load-{n:05}.example"))).collect();
        World { lab, folder, names }
    }

    /// An inventory, a channel to the receiver, and a rule that sends everything to it.
    pub async fn prepare(&self, place: &Place, receiver: &Receiver) -> Arc<dyn Store> {
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
        self.claim(&*store, now).await;
        store
    }

    /// Domains whose ownership is verified meanwhile.
    pub fn claimed(&self) -> impl Iterator<Item = &DomainName> {
        self.names.iter().step_by(CLAIMED)
    }

    /// Messages of a cycle: one of each scan, one of each claim.
    pub fn messages(&self) -> usize {
        self.names.len() + self.claimed().count()
    }

    /// Claims that are due, with their proofs in the zones.
    async fn claim(&self, store: &dyn Store, now: Timestamp) {
        let mut writes = Vec::new();
        for name in self.claimed() {
            let id = claims::nonce().as_str().to_string();
            let mut claim =
                Claim::new(name.as_str(), claims::nonce(), Method::Txt, now, &ClaimPolicy::default());
            claim.next_check_at = Some(now);
            let expected = claim.challenge.expected(claim.method, None, &id).unwrap();
            let data = format!("\"{}\"", expected.value);
            let record =
                lab::Command::AddRecord { name: expected.name, rtype: expected.rtype, ttl: 300, data };
            self.lab.apply(record).await.unwrap();
            let (name, reviewed_at) = (name.to_string(), now);
            let claim = StoredClaim {
                id,
                org: ORG,
                name,
                claim,
                round: None,
                created_at: now,
                reviewed_at,
                version: 0,
            };
            writes.push(ClaimWrite { claim, changes: vec![] });
        }
        store.write_claims(&writes, now).await.unwrap();
    }

    /// Where the servers write their log.
    pub fn log(&self) -> std::fs::File {
        let path = self.folder.path().join("stderr");
        std::fs::File::options().create(true).append(true).open(path).unwrap()
    }

    /// The log of all servers.
    pub fn log_text(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("stderr")).unwrap_or_default()
    }

    /// The end of the log, for messages of the test.
    pub fn log_tail(&self) -> String {
        self.log_text().lines().rev().take(8).collect::<Vec<_>>().join("\n")
    }

    /// Reads what a cycle left behind.
    pub async fn outcome(&self, store: &dyn Store) -> Outcome {
        let mut domains = BTreeMap::new();
        let (mut scheduled, mut checks) = (0, 0);
        for name in &self.names {
            let counts = store.counts(ORG, name).await.unwrap();
            let (item, row) = store.item(ORG, name).await.unwrap().unwrap();
            let query = EventQuery { domain: Some(name.clone()), per_page: 200, ..EventQuery::default() };
            let events = store.events(ORG, &query).await.unwrap().events;
            let mut events: Vec<_> = events.into_iter().map(|e| e.change).collect();
            for verified in events.iter_mut().filter(|e| e.kind == EventKind::OwnershipVerified) {
                // It names the minute.
                verified.note.clear();
            }
            events.sort_by_key(|e| format!("{e:?}"));
            let claim = store.claims_among(ORG, &[name.to_string()]).await.unwrap().pop();
            if let Some(claim) = &claim {
                let jobs = store.job_states(JobKind::Claim, vec![claim.id.clone()]).await.unwrap();
                checks += usize::from(jobs.iter().any(|j| matches!(j.phase, JobPhase::Waiting { .. })));
            }
            let claim = claim.map(|c| c.claim.standing());
            let left = Remaining { counts, status: item.status.kind, error: row.error, events, claim };
            domains.insert(name.to_string(), left);
            let jobs = store.job_states(JobKind::Scan, vec![name.to_string()]).await.unwrap();
            // The scan and its worker read the clock one after the other.
            let soon = item.next_scan_at.map(|next| next + SignedDuration::from_secs(2));
            let waits = |at| soon.is_some_and(|soon| Timestamp::now() < soon && at <= soon);
            let in_queue = |j: &JobState| matches!(j.phase, JobPhase::Waiting { run_at } if waits(run_at));
            scheduled += usize::from(jobs.iter().any(in_queue));
        }
        let mut states = Vec::new();
        for name in &self.names {
            let query = EventQuery { domain: Some(name.clone()), per_page: 200, ..EventQuery::default() };
            let ids: Vec<_> = store.events(ORG, &query).await.unwrap().events.iter().map(|e| e.id).collect();
            let page = store.message_statuses(ORG, &ids).await.unwrap();
            states.extend(page.into_iter().filter(|m| m.channel != store::LOG).map(|m| m.state));
        }
        let delivered = states.iter().filter(|s| matches!(s, DeliveryState::Delivered { .. })).count();
        let queue = store.queue_stats(JobKind::Scan, Timestamp::now()).await.unwrap();
        Outcome {
            domains,
            delivered,
            open: states.len() - delivered,
            suspended: queue.parked,
            scheduled,
            checks,
        }
    }

    /// Waits until every event was delivered and no scan runs.
    pub async fn settled(&self, store: &dyn Store, receiver: &Receiver, running: &mut [Process]) {
        let begin = Instant::now();
        loop {
            let waiting = store.outbox_stats().await.unwrap().waiting;
            let mut scans = store.active_jobs(JobKind::Scan, 100).await.unwrap().len();
            scans += store.active_jobs(JobKind::Claim, 100).await.unwrap().len();
            let arrived = receiver.count();
            if arrived >= self.messages() && waiting == 0 && scans == 0 {
                return;
            }
            let log = self.log_tail();
            assert!(
                begin.elapsed() < LIMIT,
                "{arrived} messages arrived, {waiting} wait, {scans} scans and checks run: {log}"
            );
            for process in &mut *running {
                assert!(!process.has_ended(), "a process ended: {log}");
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Each event has one message, and the receiver saw each id that was sent, and no other.
    pub async fn check_ids(&self, store: &dyn Store, receiver: &Receiver) {
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

/// A cycle without a kill: one state, one event and one message of every domain, and one more of each that is claimed.
pub async fn undisturbed(world: &World) -> Outcome {
    let receiver = Receiver::start().await;
    let place = Place::folder(world, "undisturbed");
    let store = world.prepare(&place, &receiver).await;
    let mut running = [Process::spawn(world, &place)];
    world.settled(&*store, &receiver, &mut running).await;
    world.check_ids(&*store, &receiver).await;
    let outcome = world.outcome(&*store).await;
    let (n, claimed) = (world.names.len(), world.claimed().count());
    for (name, left) in &outcome.domains {
        let is_claimed = world.claimed().any(|n| n.as_str() == name);
        assert_eq!(left.counts, (1, 1 + u64::from(is_claimed)), "{name}: {left:?}");
        assert_eq!(left.claim, is_claimed.then_some(Standing::Verified), "{name}: {left:?}");
    }
    assert_eq!((outcome.delivered, outcome.open, outcome.suspended), (world.messages(), 0, 0));
    assert_eq!((outcome.scheduled, outcome.checks), (n, claimed));
    outcome
}

/// When servers are killed: each time a random number of messages has arrived, or a little later, so that the kills are
/// spread over the whole cycle however fast the machine is.
pub struct Kills {
    random: StdRng,
    /// How many messages must have arrived before each kill, ascending.
    points: Vec<usize>,
    /// Kills before the last message.
    pub amid: usize,
}

impl Kills {
    pub fn new(world: &World, plan: &Plan) -> Kills {
        let mut random = StdRng::seed_from_u64(plan.seed);
        let last = world.messages() * 19 / 20;
        let mut points: Vec<usize> = (0..plan.kills).map(|_| random.random_range(0..last)).collect();
        points.sort_unstable();
        Kills { random, points, amid: 0 }
    }

    /// Waits for the point of a kill; which process is next.
    pub async fn next(&mut self, n: usize, world: &World, receiver: &Receiver, processes: usize) -> usize {
        let begin = Instant::now();
        // What a killed replica held comes back when its lease ends; killing goes on meanwhile.
        let patience = Duration::from_millis(self.random.random_range(500..2500));
        while receiver.count() < self.points[n] && begin.elapsed() < patience {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(self.random.random_range(0..300))).await;
        self.amid += usize::from(receiver.count() < world.messages());
        self.random.random_range(0..processes)
    }
}

/// A cycle in which the processes over one database are killed as the plan says.
pub async fn killed(world: &World, place: &Place, plan: &Plan) -> Outcome {
    let receiver = Receiver::start().await;
    let store = world.prepare(place, &receiver).await;
    let begin = Instant::now();
    let mut kills = Kills::new(world, plan);
    let mut running: Vec<Process> = (0..plan.processes).map(|_| Process::spawn(world, place)).collect();
    for n in 0..plan.kills {
        let which = kills.next(n, world, &receiver, plan.processes).await;
        running[which].kill();
        running[which] = Process::spawn(world, place);
    }
    if plan.leases_end {
        store.release_lost(Timestamp::now()).await.unwrap();
    }
    world.settled(&*store, &receiver, &mut running).await;
    world.check_ids(&*store, &receiver).await;
    let outcome = world.outcome(&*store).await;
    let again: u32 = receiver.ids().values().map(|n| n - 1).sum();
    println!(
        "seed {}: {} domains, {} processes, {} kills, {} of them before the last message; {} messages, \
         {again} sent again under their id; {:.0} s",
        plan.seed,
        world.names.len(),
        plan.processes,
        plan.kills,
        kills.amid,
        receiver.count(),
        begin.elapsed().as_secs_f64()
    );
    assert!(kills.amid * 10 >= plan.kills * 9, "the cycle was over before the kills");
    outcome
}
