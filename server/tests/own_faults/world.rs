//! An installation with the lab underneath: its inventory, its scans, its clock; and points of presence of it.

use jiff::{SignedDuration, Timestamp};
use model::account::Actor;
use model::event::EventQuery;
use model::health::FaultKind;
use model::ids::OrgId;
use model::item::Ownership;
use model::names::DomainName;
use model::observation::Observation;
use model::status::StatusKind;
use monitor::{Clock, Hub, Policy, Scanner, SecondPlace};
use server::settings::EngineArgs;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use store::{Agent, AgentReport, NewItem, Store};

pub const NAMES: [&str; 4] = ["plain.example", "signed.example", "load-00001.example", "load-00002.example"];

pub struct Now(pub Mutex<Timestamp>);

impl Clock for Now {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

pub struct World {
    pub store: Arc<dyn Store>,
    pub names: Vec<&'static str>,
    pub args: EngineArgs,
    pub clock: Arc<Now>,
    pub folder: tempfile::TempDir,
    pub lab: lab::Lab,
}

impl World {
    pub async fn start() -> World {
        let bulk = "[[bulk]]\nprefix = \"load-\"\ntld = \"example\"\ncount = 2\nregistrar = \"reg\"\nprovider = \"one\"\n";
        World::start_with(bulk, &NAMES).await
    }

    /// The small lab with this added, and an inventory of these names.
    pub async fn start_with(more: &str, names: &[&'static str]) -> World {
        let folder = tempfile::tempdir().unwrap();
        let small = include_str!("../../../crates/lab/scenarios/small.toml");
        let scenario = lab::Scenario::parse(&format!("{small}\n{more}"), "own.toml").unwrap();
        let now = Timestamp::now();
        let lab = lab::Lab::start(lab::Options::new(scenario, folder.path().join("lab"), now)).await.unwrap();
        let args = EngineArgs {
            config: Some(lab.endpoints().engine.clone()),
            // By its address: the host of the bootstrap is a second witness of the clock.
            rdap_bootstrap: Some(lab.endpoints().rdap_bootstrap_url.clone()),
            registry_spacing: Some(1),
            freshness: Some(0),
            ..EngineArgs::default()
        };
        let args = args.resolved().unwrap();
        let store = store::open(&folder.path().to_string_lossy()).await.unwrap();
        let clock = Arc::new(Now(Mutex::new(now)));
        let mut w = World { store, names: vec![], args, clock, folder, lab };
        for name in names {
            w.add(name).await;
        }
        w
    }

    pub async fn add(&mut self, name: &'static str) {
        self.names.push(name);
        let name = DomainName::trusted(name);
        let item = NewItem {
            unicode: name.unicode(),
            name,
            ownership: Ownership::Owned,
            tags: vec![],
            note: String::new(),
        };
        self.store.add(OrgId::BUILT_IN, &[item], self.clock.now()).await.unwrap();
    }

    /// Scans all names with these settings, `times` times six minutes apart, so that what has to be confirmed is; the
    /// faults at the end.
    pub async fn scan(&self, args: &EngineArgs, times: u32) -> Vec<FaultKind> {
        self.scan_with(args, times, None).await
    }

    /// The same with a second place.
    pub async fn scan_with(
        &self,
        args: &EngineArgs,
        times: u32,
        second: Option<Arc<dyn SecondPlace>>,
    ) -> Vec<FaultKind> {
        self.scan_as(&Hub::default(), args, times, second).await
    }

    /// The same by a process that runs on.
    pub async fn scan_as(
        &self,
        hub: &Hub,
        args: &EngineArgs,
        times: u32,
        second: Option<Arc<dyn SecondPlace>>,
    ) -> Vec<FaultKind> {
        let scanner = self.scanner(hub, args, second);
        for _ in 0..times {
            for name in &self.names {
                scanner.scan(&DomainName::trusted(name), true).await.unwrap();
            }
            self.pass(SignedDuration::from_mins(6));
        }
        hub.faults().into_iter().map(|f| f.kind).collect()
    }

    pub fn scanner(&self, hub: &Hub, args: &EngineArgs, second: Option<Arc<dyn SecondPlace>>) -> Scanner {
        let mut internet = server::wiring::internet(args).unwrap();
        internet.second = second;
        Scanner {
            store: self.store.clone(),
            observer: Arc::new(internet),
            clock: self.clock.clone(),
            hub: hub.clone(),
            policy: Policy { freshness_s: 0, ..Policy::default() },
        }
    }

    /// What is stored of a name.
    pub async fn observation(&self, name: &DomainName) -> Observation {
        let found = self.store.observation(name, &model::ids::Vantage::local()).await.unwrap();
        found.unwrap().observation
    }

    /// Points of presence as the scans of this installation ask them.
    pub fn second_look(&self, gates: features::Gates) -> Arc<dyn SecondPlace> {
        Arc::new(product::SecondLook { store: self.store.clone(), gates, clock: self.clock.clone() })
    }

    /// Time passes, here and in the lab.
    pub fn pass(&self, by: SignedDuration) {
        self.lab.pass(by);
        self.set_clock(by);
    }

    /// Our clock is set, forward or back.
    pub fn set_clock(&self, by: SignedDuration) {
        *self.clock.0.lock().unwrap() += by;
    }

    pub async fn events(&self) -> u64 {
        self.store.events(OrgId::BUILT_IN, &EventQuery::default()).await.unwrap().total
    }

    /// What is shown of the names' DNSSEC and registration.
    pub async fn shown(&self) -> Vec<String> {
        let mut out = Vec::new();
        for name in &self.names {
            let name = DomainName::trusted(name);
            let seen = self.store.observation(&name, &model::ids::Vantage::local()).await.unwrap().unwrap();
            let dnssec = seen.observation.dnssec.value.map(|d| d.status);
            let registered = seen.observation.registration.value.is_some();
            out.push(format!("{name} {dnssec:?} {registered}"));
        }
        out
    }

    /// The status of a name.
    pub async fn status(&self, name: &str) -> StatusKind {
        self.store.scan_grounds(&DomainName::trusted(name)).await.unwrap().holdings[0].0.status.kind
    }

    /// Settings under which these addresses of name servers are out of reach: nothing listens where their packets go.
    pub fn without(&self, lost: &[std::net::IpAddr]) -> EngineArgs {
        let port = self.args.dns_port.unwrap_or(53);
        let closed = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let map = match &self.args.address_map {
            Some(path) => std::fs::read_to_string(path).unwrap(),
            None => String::new(),
        };
        let from: Vec<_> = lost.iter().map(|address| format!("\"{address}:{port}\" = ")).collect();
        let is_kept = |l: &&str| !from.iter().any(|from| l.starts_with(from));
        let mut map: Vec<_> = map.lines().filter(is_kept).map(str::to_string).collect();
        map.extend(from.iter().map(|from| format!("{from}\"127.0.0.1:{closed}\"")));
        EngineArgs { address_map: self.file("cut.toml", &map.join("\n")), ..self.args.clone() }
    }

    pub fn file(&self, name: &str, text: &str) -> Option<std::path::PathBuf> {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        Some(path)
    }
}

/// A point of presence with an engine of its own: takes questions from the store and answers them until dropped.
pub struct PointOfPresence {
    pub agent: Agent,
    pub stamp: AtomicI64,
    /// Questions it was asked.
    pub asked: Arc<AtomicU32>,
    pub task: tokio::task::JoinHandle<()>,
}

impl PointOfPresence {
    /// The point of presence `fra-1`.
    pub async fn join(w: &World) -> PointOfPresence {
        PointOfPresence::join_as(w, "fra-1", &w.args).await
    }

    /// One of this identity, whose engine has these settings.
    pub async fn join_as(w: &World, id: &'static str, args: &EngineArgs) -> PointOfPresence {
        let now = w.clock.now();
        let later = now + SignedDuration::from_mins(5);
        w.store.add_agent_token(&Actor::system(), id, "", later, now).await.unwrap();
        let agent = Agent {
            id: id.into(),
            region: "Frankfurt".into(),
            key: "key".into(),
            version: "0.1.0".into(),
            protocol: 1,
            joined_at: now,
            seen_at: now,
            first_answer_at: None,
            latency_ms: None,
            latency: Default::default(),
            running: 0,
            draining: false,
        };
        let set = store::ClusterClaimWrite {
            name: fleet::CLUSTERSET_CLAIM.into(),
            expected: None,
            metadata: "{}".into(),
            value: "alder-fleet".into(),
            dry_run: false,
        };
        if w.store.agents().await.unwrap().is_empty() {
            w.store.write_cluster_claim(&Actor::system(), &set, now).await.unwrap().unwrap();
        }
        assert_eq!(w.store.join_agent(id, &agent, now).await.unwrap(), store::JoinOutcome::Joined);
        let internet = server::wiring::internet(args).unwrap();
        let comparer = server::wiring::comparer(args, &internet.engine).unwrap();
        let place = product::AgentEngine { engine: internet.engine, comparer, web: internet.web };
        let (store, clock) = (w.store.clone(), w.clock.clone());
        let asked = Arc::new(AtomicU32::new(0));
        let count = asked.clone();
        let task = tokio::spawn(async move {
            loop {
                for (work, question, _) in store.take_agent_work(id, 9, clock.now()).await.unwrap() {
                    count.fetch_add(1, Ordering::SeqCst);
                    let question = serde_json::from_str(&question).unwrap();
                    let answer = product::answer_question(&place, &question, clock.now()).await;
                    let answer = serde_json::to_string(&answer).unwrap();
                    store.answer_agent_work(id, &work, &answer, clock.now()).await.unwrap();
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        });
        PointOfPresence { agent, stamp: AtomicI64::new(1), asked, task }
    }

    /// Its poll: it is online.
    pub async fn polls(&self, w: &World) {
        let agent = self.agent.clone();
        let report = AgentReport {
            id: agent.id,
            version: agent.version,
            protocol: agent.protocol,
            seen_at: w.clock.now(),
            latency_ms: agent.latency_ms,
            running: agent.running,
            draining: agent.draining,
        };
        assert!(w.store.agent_seen(&report, self.stamp.fetch_add(1, Ordering::SeqCst)).await.unwrap());
    }
}

impl Drop for PointOfPresence {
    fn drop(&mut self) {
        self.task.abort();
    }
}
