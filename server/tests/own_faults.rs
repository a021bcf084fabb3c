//! Faults of the installation itself, with the lab underneath: each is shown as ours, and there is no event about a domain.

use jiff::{SignedDuration, Timestamp};
use model::account::Actor;
use model::confirm::is_silence;
use model::event::{EventKind, EventQuery};
use model::health::FaultKind;
use model::ids::OrgId;
use model::item::Ownership;
use model::names::DomainName;
use model::status::StatusKind;
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
    names: Vec<&'static str>,
    args: EngineArgs,
    clock: Arc<Now>,
    folder: tempfile::TempDir,
    lab: lab::Lab,
}

impl World {
    async fn start() -> World {
        let bulk = "[[bulk]]\nprefix = \"load-\"\ntld = \"example\"\ncount = 2\nregistrar = \"reg\"\nprovider = \"one\"\n";
        World::start_with(bulk, &NAMES).await
    }

    /// The small lab with this added, and an inventory of these names.
    async fn start_with(more: &str, names: &[&'static str]) -> World {
        let folder = tempfile::tempdir().unwrap();
        let small = include_str!("../../crates/lab/scenarios/small.toml");
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

    async fn add(&mut self, name: &'static str) {
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
        self.scan_as(&Hub::default(), args, times, second).await
    }

    /// The same by a process that runs on.
    async fn scan_as(
        &self,
        hub: &Hub,
        args: &EngineArgs,
        times: u32,
        second: Option<Arc<dyn SecondPlace>>,
    ) -> Vec<FaultKind> {
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
            for name in &self.names {
                scanner.scan(&DomainName::trusted(name), true).await.unwrap();
            }
            self.pass(SignedDuration::from_mins(6));
        }
        hub.faults().into_iter().map(|f| f.kind).collect()
    }

    /// Time passes, here and in the lab.
    fn pass(&self, by: SignedDuration) {
        self.lab.pass(by);
        self.set_clock(by);
    }

    /// Our clock is set, forward or back.
    fn set_clock(&self, by: SignedDuration) {
        *self.clock.0.lock().unwrap() += by;
    }

    async fn events(&self) -> u64 {
        self.store.events(OrgId::BUILT_IN, &EventQuery::default()).await.unwrap().total
    }

    /// What is shown of the names' DNSSEC and registration.
    async fn shown(&self) -> Vec<String> {
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
    async fn status(&self, name: &str) -> StatusKind {
        self.store.scan_grounds(&DomainName::trusted(name)).await.unwrap().holdings[0].0.status.kind
    }

    /// Settings under which these addresses of name servers are out of reach: nothing listens where their packets go.
    fn without(&self, lost: &[std::net::IpAddr]) -> EngineArgs {
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
    w.set_clock(-SignedDuration::from_hours(400 * 24));
    assert_eq!(w.scan(&w.args, 2).await, [FaultKind::RootInvalid, FaultKind::ClockWrong]);
    w.set_clock(SignedDuration::from_hours(400 * 24));
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

/// One domain is enough to see that the network is down, and is not judged by it.
#[tokio::test(flavor = "multi_thread")]
async fn a_network_that_is_down_shows_with_one_domain() {
    let w = World::start_with("", &["plain.example"]).await;
    let hub = Hub::default();
    assert_eq!(w.scan_as(&hub, &w.args, 2, None).await, []);
    let (before, shown, status) = (w.events().await, w.shown().await, w.status("plain.example").await);

    let closed = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let down = EngineArgs { dns_port: Some(closed), ..w.args.clone() };
    assert_eq!(w.scan_as(&hub, &down, 1, None).await, [FaultKind::NetworkDown]);
    let fault = hub.faults().remove(0);
    assert!(fault.sentence.contains("root") && !fault.sentence.contains("Several"), "{}", fault.sentence);
    assert_eq!(w.scan_as(&hub, &down, 2, None).await, [FaultKind::NetworkDown]);
    assert_eq!((w.events().await, w.shown().await), (before, shown.clone()));
    assert_eq!(w.status("plain.example").await, status);

    // It is back: the fault ends with the next scan.
    assert_eq!(w.scan_as(&hub, &w.args, 1, None).await, []);
    assert_eq!((w.events().await, w.shown().await), (before, shown));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_a_month_fast_is_a_fault_of_ours_and_reminds_of_nothing() {
    let domain = |name: &str, expires: &str| {
        format!(
            "[[domain]]\nname = \"{name}\"\nprovider = \"one\"\nregistrar = \"reg\"\ncreated = \"-5y\"\n\
             expires = \"{expires}\"\nstatuses = [\"clientTransferProhibited\"]\n"
        )
    };
    let more = domain("forty.example", "+40d") + &domain("twenty.example", "+20d");
    let mut w = World::start_with(&more, &["signed.example", "forty.example", "plain.example"]).await;
    assert_eq!(w.scan(&w.args, 2).await, []);
    let (before, shown) = (w.events().await, w.shown().await);
    assert_eq!(w.status("forty.example").await, StatusKind::Normal);

    // By this clock ten days are left of the one, and the other has ended.
    let month = SignedDuration::from_hours(30 * 24);
    w.set_clock(month);
    w.add("twenty.example").await;
    let faults = w.scan(&w.args, 3).await;
    assert!(faults.contains(&FaultKind::ClockWrong), "{faults:?}");
    assert_eq!(w.events().await, before, "no event about a domain");
    assert_eq!(w.shown().await[..3], shown, "DNSSEC among it");
    assert_eq!(w.status("forty.example").await, StatusKind::Normal);
    assert_eq!(w.status("twenty.example").await, StatusKind::Warning, "by the time that servers agree on");

    // Right again: what is due comes, and nothing else.
    w.set_clock(-month);
    assert_eq!(w.scan(&w.args, 2).await, []);
    let events = w.store.events(OrgId::BUILT_IN, &EventQuery::default()).await.unwrap();
    assert_eq!(events.total, before + 1, "{:?}", events.events);
    let newest = &events.events[0];
    assert_eq!((newest.domain.as_str(), newest.change.kind), ("twenty.example", EventKind::ExpiresSoon));
}

/// Six operators, each with a domain and two servers in networks of their own.
const OPERATORS: [&str; 6] =
    ["d1.example", "d2.example", "d3.example", "d4.example", "d5.example", "d6.example"];

#[tokio::test(flavor = "multi_thread")]
async fn half_of_the_network_out_of_reach_is_a_fault_of_ours_and_no_event() {
    let mut more = String::new();
    for i in 1..=6 {
        let server = |n: i32| format!("{{ name = \"ns{n}.p{i}.example\", address = \"127.60.{i}{n}.1\" }}");
        more += &format!(
            "[[provider]]\nid = \"p{i}\"\nname = \"P{i}\"\nservers = [{}, {}]\n\
             [[domain]]\nname = \"p{i}.example\"\nprovider = \"p{i}\"\nregistrar = \"reg\"\nlisted = false\n\
             [[domain]]\nname = \"d{i}.example\"\nprovider = \"p{i}\"\nregistrar = \"reg\"\ncreated = \"-5y\"\n\
             expires = \"+200d\"\nrecords = [\"@ 300 A 192.0.2.10\"]\n",
            server(1),
            server(2)
        );
    }
    let w = World::start_with(&more, &OPERATORS).await;
    let hub = Hub::default();
    assert_eq!(w.scan_as(&hub, &w.args, 2, None).await, []);
    let before = w.events().await;
    let address = |i: u8, n: u8| std::net::IpAddr::from([127, 60, 10 * i + n, 1]);

    // Of three operators no server answers from here.
    let lost: Vec<_> = (1..=3).flat_map(|i| [address(i, 1), address(i, 2)]).collect();
    let faults = w.scan_as(&hub, &w.without(&lost), 4, None).await;
    assert!(faults.contains(&FaultKind::PartOfNetworkDown), "{faults:?}");
    assert_eq!(w.events().await, before, "no event about a domain");
    assert_ne!(w.status("d1.example").await, StatusKind::Critical);

    // All answer again but one operator's: its silence is its own.
    let faults = w.scan_as(&hub, &w.without(&lost[..2]), 2, None).await;
    assert!(!faults.contains(&FaultKind::PartOfNetworkDown), "{faults:?}");
    let events = w.store.events(OrgId::BUILT_IN, &EventQuery::default()).await.unwrap().events;
    let about: Vec<_> = events.iter().take(events.len() - usize::try_from(before).unwrap()).collect();
    assert_eq!(about.len(), 2, "{about:?}");
    for event in about {
        assert_eq!((event.domain.as_str(), event.change.new.as_deref()), ("d1.example", Some("No answer")));
    }
    assert_eq!(w.status("d1.example").await, StatusKind::Critical);

    // It answers again; and all do.
    assert_eq!(w.scan_as(&hub, &w.args, 3, None).await, []);
    assert_eq!(w.events().await, before + 4);

    // Three operators fail for good: that is reported after six hours.
    let cut = w.without(&lost);
    let faults = w.scan_as(&hub, &cut, 3, None).await;
    assert!(faults.contains(&FaultKind::PartOfNetworkDown), "{faults:?}");
    assert_eq!(w.events().await, before + 4);
    w.pass(SignedDuration::from_hours(6));
    let faults = w.scan_as(&hub, &cut, 2, None).await;
    assert!(!faults.contains(&FaultKind::PartOfNetworkDown), "{faults:?}");
    let events = w.store.events(OrgId::BUILT_IN, &EventQuery::default()).await.unwrap();
    assert_eq!(events.total, before + 10, "two servers of each");
    let newest = &events.events[0].change;
    assert!(newest.note.starts_with("Held back since ") && is_silence(newest), "{newest:?}");
    assert_eq!(w.status("d3.example").await, StatusKind::Critical);
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
    let cut = w.without(&[lost.address.unwrap()]);

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
    w.pass(SignedDuration::from_mins(5));
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
