//! Measurement networks of third parties, with the lab in their place: on, used, off, nothing left, on again; keys, caps
//! and answers that are not to the question.

use jiff::Timestamp;
use model::account::Actor;
use model::ids::{Caller, OrgId, Role};
use monitor::{Hub, Policy, Scanner, SystemClock, Worker};
use product::identity::Identity;
use product::{Bounds, Services, ThirdParties, ThirdPartyKind, ThirdPartyNetwork, Tools};
use server::settings::EngineArgs;
use service::{ErrorKind, FleetBackend};
use std::sync::Arc;
use store::{FeatureWrite, Store};

const FEATURE: &str = "third-party-vantages";
const SITES: &str = r#"
[[web]]
host = "api.networks.plain.example"
[web.measurements]
key = "lab-key"
credits = 4200
addresses = ["192.0.2.20", "192.0.2.20", "203.0.113.9"]
[[web]]
host = "partly.networks.plain.example"
[web.measurements]
addresses = ["192.0.2.20"]
absent = 1
[[web]]
host = "silent.networks.plain.example"
[web.measurements]
"#;

struct World {
    services: Services,
    runner: features::Runner<dyn Store>,
    at: Timestamp,
    dialer: net::Dialer,
    lab: lab::Lab,
    _folder: tempfile::TempDir,
}

impl World {
    fn network(&self, kind: ThirdPartyKind, host: &str, key: Option<&str>) -> ThirdPartyNetwork {
        let port = self.lab.endpoints().https_port;
        let base = format!("https://{host}.networks.plain.example:{port}/").parse().unwrap();
        ThirdPartyNetwork { kind, base, key: key.map(str::to_owned) }
    }

    async fn start() -> World {
        let folder = tempfile::tempdir().unwrap();
        let text = include_str!("../../crates/lab/scenarios/small.toml").to_string() + SITES;
        let scenario = lab::Scenario::parse(&text, "networks.toml").unwrap();
        let now = Timestamp::now();
        let options = lab::Options::new(scenario, folder.path().join("lab"), now);
        let lab = lab::Lab::start(options).await.unwrap();
        let config = Some(lab.endpoints().engine.clone());
        let args = EngineArgs { config, ..EngineArgs::default() }.resolved().unwrap();
        let internet = server::wiring::internet(&args).unwrap();
        let engine = internet.engine.clone();
        let dialer = server::wiring::dialer(&args, &engine).unwrap();
        let inspector = server::wiring::inspector(&args, &engine).unwrap();
        let comparer = server::wiring::comparer(&args, &engine).unwrap();
        let tools = Tools::new(comparer, Bounds::default(), inspector);
        let store = store::open(&folder.path().join("data").to_string_lossy()).await.unwrap();
        let scanner = Scanner {
            store: store.clone(),
            observer: Arc::new(internet),
            clock: Arc::new(SystemClock),
            hub: Hub::default(),
            policy: Policy::default(),
        };
        let identity = Identity::new(store.clone(), Arc::new(SystemClock), 1).unwrap();
        let gates = features::Gates::default();
        let services = Services {
            worker: Worker::new(scanner.clone(), "test"),
            scanner,
            engine,
            tools,
            deliverer: notify::Deliverer::new(dialer.clone(), None, None),
            identity,
            quotas: product::Quotas::default(),
            overlap: product::OverlapPolicy::default(),
            gates: gates.clone(),
            demo: false,
            visitors: None,
        };
        let runner = features::Runner::new(store, gates, "one".into(), "0.1.0", now);
        World { services, runner, at: now, dialer, lab, _folder: folder }
    }

    fn asks(&mut self, networks: Vec<ThirdPartyNetwork>, places: u32, daily: u32) {
        let dialer = self.dialer.clone();
        self.services.tools.third_parties =
            Some(ThirdParties { networks: networks.into(), places, daily, dialer });
    }

    async fn turn(&mut self, on: bool) {
        let write = FeatureWrite {
            name: FEATURE.into(),
            desired: Some(on),
            expected: None,
            metadata: None,
            declared: None,
        };
        let store = self.services.scanner.store.clone();
        self.rounds().await;
        store.set_feature(&Actor::system(), OrgId::BUILT_IN, &write, self.at).await.unwrap();
        self.rounds().await;
    }

    async fn rounds(&mut self) {
        for _ in 0..5 {
            self.at += jiff::SignedDuration::from_secs(1);
            assert_eq!(self.runner.tick(self.at).await.unwrap().failed, []);
        }
    }

    async fn look(&self, name: &str, server: &str) -> model::third_party::ThirdPartyLook {
        self.services.ask_third_parties(&caller(), name, "A", server).await.unwrap()
    }
}

fn caller() -> Caller {
    Caller::new(OrgId::BUILT_IN, "Ann", Role::Owner)
}

#[tokio::test(flavor = "multi_thread")]
async fn networks_are_asked_while_their_feature_is_on_and_leave_nothing() {
    let mut w = World::start().await;
    let both = vec![
        w.network(ThirdPartyKind::Globalping, "api", Some("lab-key")),
        w.network(ThirdPartyKind::Atlas, "api", Some("lab-key")),
    ];
    w.asks(both, 3, 3);
    w.rounds().await;
    let off = w.look("www.plain.example", "").await;
    assert!(off.answers.is_empty() && off.problems.is_empty(), "off by default: {off:?}");
    assert!(w.services.fleet(&caller()).await.unwrap().third_parties.is_empty());

    for round in 0..2 {
        w.turn(true).await;
        let seen = w.look("www.plain.example", "").await;
        assert_eq!(seen.problems, [""; 0], "{seen:?}");
        let places: Vec<_> = seen.answers.iter().map(|a| (a.source.as_str(), a.place.as_str())).collect();
        let expected = [
            ("Globalping", "Sydney, AU"),
            ("Globalping", "Falkenstein, DE"),
            ("Globalping", "Lima, PE"),
            ("RIPE Atlas", "probe 1, AU"),
            ("RIPE Atlas", "probe 2, DE"),
            ("RIPE Atlas", "probe 3, PE"),
        ];
        assert_eq!(places, expected);
        assert_eq!(seen.answers[3].data("A"), ["192.0.2.20"], "read from the DNS message of the probe");
        assert_eq!(seen.answers[0].nsid.as_deref(), Some("lab-AU"));
        let sentence = seen.sentence();
        assert!(sentence.contains("different answers") && sentence.contains("probe 3, PE"), "{sentence}");
        let direct = w.look("www.plain.example", "ns1.plain.example").await;
        assert_eq!(direct.answers[0].server, "ns1.plain.example");

        let views = w.services.fleet(&caller()).await.unwrap().third_parties;
        let used: Vec<_> = views.iter().map(|v| (v.used_today, v.daily, v.credits)).collect();
        assert_eq!(used, [(2, 3, Some(4200)); 2], "round {round}");
        let text = serde_json::to_string(&views).unwrap();
        assert!(!text.contains("lab-key"), "{text}");
        // The third is the last of the day.
        w.look("www.plain.example", "").await;
        let over = w.look("www.plain.example", "").await;
        assert!(over.answers.is_empty() && over.problems.len() == 2, "{over:?}");
        assert!(over.sentence().contains("3 measurements of today are used up"), "{}", over.sentence());

        let store = w.services.scanner.store.clone();
        assert_eq!(store.remaining("third-party-usage").await.unwrap().count, 2);
        w.turn(false).await;
        assert_eq!(store.remaining("third-party-usage").await.unwrap().count, 0, "nothing is left");
        assert!(w.look("www.plain.example", "").await.answers.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_and_silence_are_said_without_the_key() {
    let mut w = World::start().await;
    w.turn(true).await;
    let wrong = vec![
        w.network(ThirdPartyKind::Globalping, "api", Some("wrong-key")),
        w.network(ThirdPartyKind::Atlas, "api", None),
    ];
    w.asks(wrong, 2, 50);
    let seen = w.look("www.plain.example", "").await;
    assert_eq!(seen.problems[0], "Globalping: status 403: Unauthorized.", "{seen:?}");
    assert!(seen.problems[1].contains("You do not have permission"), "{seen:?}");
    assert!(!format!("{seen:?}").contains("wrong-key"));
    let networks = vec![w.network(ThirdPartyKind::Globalping, "silent", None)];
    w.asks(networks, 2, 50);
    let seen = w.look("www.plain.example", "").await;
    assert!(
        seen.answers.iter().all(|a| a.error.as_deref().is_some_and(|e| e.contains("timed out"))),
        "{seen:?}"
    );
    assert_eq!(seen.sentence(), "No place answered.");
    let networks = vec![w.network(ThirdPartyKind::Globalping, "absent", None)];
    w.asks(networks, 2, 50);
    let seen = w.look("www.plain.example", "").await;
    assert_eq!((seen.answers.len(), seen.problems.len()), (0, 1), "{seen:?}");
    let views = w.services.fleet(&caller()).await.unwrap().third_parties;
    assert_eq!(views[0].used_today, 1, "what was refused or not reached is no measurement");
    for (name, server) in [("a..b", ""), (".", ""), ("www.plain.example", "n..s")] {
        let e = w.services.ask_third_parties(&caller(), name, "A", server).await.unwrap_err();
        assert_eq!(e.kind, ErrorKind::Invalid, "{e}");
    }
    let e = w.services.ask_third_parties(&caller(), "www.plain.example", "NONE", "").await.unwrap_err();
    assert_eq!(e.kind, ErrorKind::Invalid, "{e}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_that_sends_nothing_is_not_waited_for_to_the_end() {
    let mut w = World::start().await;
    w.turn(true).await;
    let networks = vec![w.network(ThirdPartyKind::Atlas, "partly", None)];
    w.asks(networks, 3, 50);
    let started = std::time::Instant::now();
    let seen = w.look("www.plain.example", "").await;
    assert_eq!((seen.answers.len(), seen.problems.len()), (2, 0), "{seen:?}");
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
}
