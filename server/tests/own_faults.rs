//! Faults of the installation itself, with the lab underneath: each is shown as ours, and there is no event about a domain.

use jiff::{SignedDuration, Timestamp};
use model::account::Actor;
use model::event::{EventKind, EventQuery};
use model::health::FaultKind;
use model::ids::OrgId;
use model::item::Ownership;
use model::names::DomainName;
use monitor::{Clock, Hub, Policy, Scanner, SecondPlace};
use server::settings::EngineArgs;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use store::{Agent, NewItem, Store};

const NAMES: [&str; 4] = ["plain.example", "signed.example", "load-00001.example", "load-00002.example"];

struct Now(Mutex<Timestamp>);

impl Clock for Now {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

struct World {
    store: Arc<dyn Store>,
    args: EngineArgs,
    clock: Arc<Now>,
    folder: tempfile::TempDir,
    _lab: lab::Lab,
}

impl World {
    async fn start() -> World {
        let folder = tempfile::tempdir().unwrap();
        let bulk = "[[bulk]]\nprefix = \"load-\"\ntld = \"example\"\ncount = 2\nregistrar = \"reg\"\nprovider = \"one\"\n";
        let small = include_str!("../../crates/lab/scenarios/small.toml");
        let scenario = lab::Scenario::parse(&format!("{small}\n{bulk}"), "own.toml").unwrap();
        let now = Timestamp::now();
        let lab = lab::Lab::start(lab::Options::new(scenario, folder.path().join("lab"), now)).await.unwrap();
        let args = EngineArgs {
            config: Some(lab.endpoints().engine.clone()),
            registry_spacing: Some(1),
            freshness: Some(0),
            ..EngineArgs::default()
        };
        let args = args.resolved().unwrap();
        let store = store::open(&folder.path().to_string_lossy()).await.unwrap();
        for name in NAMES {
            let name = DomainName::trusted(name);
            let item = NewItem {
                unicode: name.unicode(),
                name,
                ownership: Ownership::Owned,
                tags: vec![],
                note: String::new(),
            };
            store.add(OrgId::BUILT_IN, &[item], now).await.unwrap();
        }
        World { store, args, clock: Arc::new(Now(Mutex::new(now))), folder, _lab: lab }
    }

    /// Scans all names with these settings, `times` times six minutes apart, so that what has to be confirmed is; the
    /// faults at the end.
    async fn scan(&self, args: &EngineArgs, times: u32) -> Vec<FaultKind> {
        self.scan_with(args, times, None).await
    }

    /// The same with a second place.
    async fn scan_with(
        &self,
        args: &EngineArgs,
        times: u32,
        second: Option<Arc<dyn SecondPlace>>,
    ) -> Vec<FaultKind> {
        let hub = Hub::default();
        let mut internet = server::wiring::internet(args).unwrap();
        internet.second = second;
        let scanner = Scanner {
            store: self.store.clone(),
            observer: Arc::new(internet),
            clock: self.clock.clone(),
            hub: hub.clone(),
            policy: Policy { freshness_s: 0, ..Policy::default() },
        };
        for _ in 0..times {
            for name in NAMES {
                scanner.scan(&DomainName::trusted(name), true).await.unwrap();
            }
            self.advance(SignedDuration::from_mins(6));
        }
        hub.faults().into_iter().map(|f| f.kind).collect()
    }

    fn advance(&self, by: SignedDuration) {
        *self.clock.0.lock().unwrap() += by;
    }

    async fn events(&self) -> u64 {
        self.store.events(OrgId::BUILT_IN, &EventQuery::default()).await.unwrap().total
    }

    /// What is shown of the names' DNSSEC and registration.
    async fn shown(&self) -> Vec<String> {
        let mut out = Vec::new();
        for name in NAMES {
            let name = DomainName::trusted(name);
            let seen = self.store.observation(&name, &model::ids::Vantage::local()).await.unwrap().unwrap();
            let dnssec = seen.observation.dnssec.value.map(|d| d.status);
            let registered = seen.observation.registration.value.is_some();
            out.push(format!("{name} {dnssec:?} {registered}"));
        }
        out
    }

    fn file(&self, name: &str, text: &str) -> Option<std::path::PathBuf> {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        Some(path)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_ours_are_shown_as_ours_and_are_no_events() {
    let w = World::start().await;
    assert_eq!(w.scan(&w.args, 2).await, []);
    let (before, shown) = (w.events().await, w.shown().await);
    assert!(shown[1].contains("Secure") && shown.iter().all(|s| s.ends_with("true")), "{shown:?}");

    // A trust anchor that is not the root's.
    let anchor = ". 3600 IN DS 1 13 2 0000000000000000000000000000000000000000000000000000000000000000\n";
    let stale = EngineArgs { trust_anchor: w.file("stale.key", anchor), ..w.args.clone() };
    assert_eq!(w.scan(&stale, 2).await, [FaultKind::RootInvalid]);
    assert_eq!((w.events().await, w.shown().await), (before, shown.clone()), "a stale anchor");

    // A clock that is more than a year slow.
    w.advance(-SignedDuration::from_hours(400 * 24));
    assert_eq!(w.scan(&w.args, 2).await, [FaultKind::RootInvalid]);
    w.advance(SignedDuration::from_hours(400 * 24));
    assert_eq!((w.events().await, w.shown().await), (before, shown.clone()), "a slow clock");

    // No name server answers: nothing listens on this port.
    let closed = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let down = EngineArgs { dns_port: Some(closed), ..w.args.clone() };
    let faults = w.scan(&down, 2).await;
    assert!(faults.contains(&FaultKind::NetworkDown), "{faults:?}");
    assert_eq!((w.events().await, w.shown().await), (before, shown.clone()), "no network");

    // The registry is out of order, by RDAP and WHOIS.
    let bootstrap = r#"{"version":"1.0","publication":"2026-01-01T00:00:00Z","services":[[["example"],["https://127.0.0.1:9/"]]]}"#;
    let out = EngineArgs {
        rdap_bootstrap: w.file("dns.json", bootstrap).map(|p| p.to_string_lossy().into_owned()),
        whois_server: Some("127.0.0.1:9".into()),
        ..w.args.clone()
    };
    assert_eq!(w.scan(&out, 2).await, [FaultKind::RegistryDown]);
    assert_eq!((w.events().await, w.shown().await), (before, shown.clone()), "no registry");

    // All is well again: no fault, and still no event.
    assert_eq!(w.scan(&w.args, 2).await, []);
    assert_eq!((w.events().await, w.shown().await), (before, shown));
}

/// A point of presence with an engine of its own: takes questions from the store and answers them until dropped.
struct PointOfPresence {
    agent: Agent,
    stamp: AtomicI64,
    task: tokio::task::JoinHandle<()>,
}

impl PointOfPresence {
    async fn join(w: &World) -> PointOfPresence {
        let now = w.clock.now();
        let later = now + SignedDuration::from_mins(5);
        w.store.add_agent_token(&Actor::system(), "hash", later, now).await.unwrap();
        let agent = Agent {
            id: "fra-1".into(),
            region: "Frankfurt".into(),
            key: "key".into(),
            version: "0.1.0".into(),
            protocol: 1,
            joined_at: now,
            seen_at: now,
            latency_ms: None,
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
        w.store.write_cluster_claim(&Actor::system(), &set, now).await.unwrap().unwrap();
        assert_eq!(w.store.join_agent("hash", &agent, now).await.unwrap(), store::JoinOutcome::Joined);
        let internet = server::wiring::internet(&w.args).unwrap();
        let comparer = server::wiring::comparer(&w.args, &internet.engine).unwrap();
        let place = product::AgentEngine { engine: internet.engine, comparer, web: internet.web };
        let (store, clock) = (w.store.clone(), w.clock.clone());
        let task = tokio::spawn(async move {
            loop {
                for (id, question, _) in store.take_agent_work("fra-1", 9, clock.now()).await.unwrap() {
                    let question = serde_json::from_str(&question).unwrap();
                    let answer = product::answer_question(&place, &question, clock.now()).await;
                    let answer = serde_json::to_string(&answer).unwrap();
                    store.answer_agent_work("fra-1", &id, &answer, clock.now()).await.unwrap();
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        });
        PointOfPresence { agent, stamp: AtomicI64::new(1), task }
    }

    /// Its poll: it is online.
    async fn polls(&self, w: &World) {
        let agent = Agent { seen_at: w.clock.now(), ..self.agent.clone() };
        assert!(w.store.agent_seen(&agent, self.stamp.fetch_add(1, Ordering::SeqCst)).await.unwrap());
    }
}

impl Drop for PointOfPresence {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_server_out_of_reach_from_here_alone_is_no_event() {
    let w = World::start().await;
    w.scan(&w.args, 2).await;
    let before = w.events().await;
    let name = DomainName::trusted("plain.example");
    let stored = async || {
        let found = w.store.observation(&name, &model::ids::Vantage::local()).await.unwrap().unwrap();
        found.observation
    };
    let servers = stored().await.delegation.value.unwrap().servers;
    let lost = servers.iter().find(|s| s.address.is_some_and(|a| a.is_ipv4())).unwrap().clone();
    // Nothing listens where this server's packets go now.
    let port = w.args.dns_port.unwrap_or(53);
    let closed = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let map = match &w.args.address_map {
        Some(path) => std::fs::read_to_string(path).unwrap(),
        None => String::new(),
    };
    let from = format!("\"{}:{port}\" = ", lost.address.unwrap());
    let mut map: Vec<_> = map.lines().filter(|l| !l.starts_with(&from)).map(str::to_string).collect();
    map.push(format!("{from}\"127.0.0.1:{closed}\""));
    let cut = EngineArgs { address_map: w.file("cut.toml", &map.join("\n")), ..w.args.clone() };

    let point = PointOfPresence::join(&w).await;
    let second: Arc<dyn SecondPlace> = Arc::new(product::SecondLook {
        store: w.store.clone(),
        gates: features::Gates::default(),
        clock: w.clock.clone(),
    });
    for _ in 0..4 {
        point.polls(&w).await;
        w.scan_with(&cut, 1, Some(second.clone())).await;
    }
    assert_eq!(w.events().await, before, "it answers at the other place");
    let field = format!("{} {}", lost.name, lost.address.unwrap());
    let elsewhere = stored().await.elsewhere;
    assert_eq!(elsewhere.len(), 1, "{elsewhere:?}");
    assert_eq!((elsewhere[0].server.as_str(), elsewhere[0].place.as_str()), (&*field, "fra-1 (Frankfurt)"));

    // The point of presence is gone: what is seen twice from here is an event again.
    w.advance(SignedDuration::from_mins(5));
    w.scan_with(&cut, 2, Some(second)).await;
    let events = w.store.events(OrgId::BUILT_IN, &EventQuery::default()).await.unwrap().events;
    let about: Vec<_> = events
        .iter()
        .filter(|e| e.domain == name && e.change.kind == EventKind::DelegationHealthChanged)
        .map(|e| (e.change.field.clone(), e.change.new.clone()))
        .collect();
    assert_eq!(about, [(field, Some("No answer".to_string()))]);
    assert!(stored().await.elsewhere.is_empty());
}
