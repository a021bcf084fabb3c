//! A registry whose RDAP server denies a name that its zone delegates, in the lab: WHOIS is asked in the same scan.

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use lab::{Command, Lab, Options, Scenario};
use model::detail::RawAnswer;
use model::event::{Event, EventKind, EventQuery};
use model::ids::{OrgId, Vantage};
use model::item::Ownership;
use model::names::{DomainName, Fqdn};
use model::observation::{Observation, Part};
use model::registration::{Protocol, RegistrationState};
use monitor::observer::{InTurn, Progress};
use monitor::{Clock, DnsParts, Hub, NetworkObserver, Observer, Policy, Scanner};
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::NewItem;

const NOW: &str = "2026-11-20T12:00:00Z";
const DOMAIN: &str = "plain.example";

/// Host names are resolved at the lab's authoritative servers.
struct Authoritative(dns::Engine);

#[async_trait]
impl net::Resolve for Authoritative {
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        self.0.lookup(&Fqdn::trusted(host)).await.map_err(|e| e.to_string())
    }
}

/// Registry and name servers of the lab, without its web servers; and a clock that the test moves.
struct World {
    network: NetworkObserver,
    now: Mutex<Timestamp>,
    /// How often WHOIS was asked after RDAP.
    by_whois: Mutex<usize>,
}

#[async_trait]
impl Observer for World {
    async fn registration(
        &self,
        name: &DomainName,
        now: Timestamp,
        progress: &dyn Progress,
    ) -> (Part<RegistrationState>, Vec<RawAnswer>) {
        self.network.registration(name, now, progress).await
    }

    async fn registration_in_turn(
        &self,
        name: &DomainName,
        now: Timestamp,
        progress: &dyn Progress,
    ) -> InTurn {
        self.network.registration_in_turn(name, now, progress).await
    }

    async fn registration_by_whois(
        &self,
        name: &DomainName,
        now: Timestamp,
        asked: bool,
    ) -> Option<(Part<RegistrationState>, Vec<RawAnswer>)> {
        *self.by_whois.lock().unwrap() += 1;
        self.network.registration_by_whois(name, now, asked).await
    }

    async fn dns(&self, name: &DomainName, now: Timestamp, progress: &dyn Progress) -> DnsParts {
        self.network.dns(name, now, progress).await
    }
}

impl Clock for World {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }
}

struct Stage {
    lab: Lab,
    world: Arc<World>,
    scanner: Scanner,
    name: DomainName,
    _folders: [tempfile::TempDir; 2],
}

impl Stage {
    async fn new() -> Stage {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let now: Timestamp = NOW.parse().unwrap();
        let scenario = Scenario::named("small").unwrap();
        let lab = Lab::start(Options::new(scenario, folders[0].path(), now)).await.unwrap();
        let at = lab.endpoints();
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        let map = || at.address_map.as_ref().map(|p| dns::AddressMap::read(p).unwrap()).unwrap_or_default();
        let engine = dns::Engine::new(dns::Settings {
            root_hints: dns::RootHints::parse(&read(&at.root_hints)).unwrap(),
            trust_anchors: dns::TrustAnchors::parse(&read(&at.trust_anchor)).unwrap(),
            port: at.dns_port,
            allow_private: true,
            address_map: map(),
            timeout: Duration::from_millis(1500),
            ..dns::Settings::default()
        });
        let web = net::Dialer::new(net::Settings {
            resolver: Arc::new(Authoritative(engine.clone())),
            allow_private: true,
            extra_ca: Some(std::fs::read(&at.extra_ca).unwrap()),
            address_map: map(),
            ..net::Settings::default()
        })
        .unwrap();
        let settings = registration::Settings {
            rdap_bootstrap: Some(at.rdap_bootstrap.display().to_string()),
            whois_server: Some(at.whois_server.clone()),
            limit: net::Limit::new(2, Duration::ZERO),
            ask_registrar: false,
            ..registration::Settings::default()
        };
        let client = registration::Client::new(settings, web.clone()).unwrap();
        let world = Arc::new(World {
            network: NetworkObserver { client, engine, web, second: None },
            now: Mutex::new(now),
            by_whois: Mutex::default(),
        });
        let scanner = Scanner {
            store: store::open(&folders[1].path().to_string_lossy()).await.unwrap(),
            observer: world.clone(),
            clock: world.clone(),
            hub: Hub::default(),
            policy: Policy::default(),
        };
        let name = DomainName::trusted(DOMAIN);
        let item = NewItem {
            unicode: name.unicode(),
            name: name.clone(),
            ownership: Ownership::Owned,
            tags: vec![],
            note: String::new(),
        };
        scanner.store.add(OrgId::BUILT_IN, &[item], now).await.unwrap();
        Stage { lab, world, scanner, name, _folders: folders }
    }

    /// Whether a server of the registry, `rdap` or `whois`, denies the name.
    async fn denies(&self, server: &str, denies: bool) {
        let fault = denies.then(|| "not-found".parse().unwrap());
        let target = format!("{server}:example/{DOMAIN}").parse().unwrap();
        self.lab.apply(Command::SetFault { target, fault }).await.unwrap();
    }

    /// A scheduled scan after so many hours.
    async fn scan_after(&self, hours: i64) -> Observation {
        *self.world.now.lock().unwrap() += SignedDuration::from_hours(hours);
        self.scanner.scan(&self.name, false).await.unwrap();
        let stored = self.scanner.store.observation(&self.name, &Vantage::local()).await.unwrap();
        stored.unwrap().observation
    }

    async fn events_of_registration(&self) -> Vec<Event> {
        let page = self.scanner.store.events(OrgId::BUILT_IN, &EventQuery::default()).await.unwrap();
        page.events.into_iter().filter(|e| e.change.kind.is_registration_change()).collect()
    }

    fn by_whois(&self) -> usize {
        *self.world.by_whois.lock().unwrap()
    }
}

/// Who states the registration, and who denies it.
fn stated(o: &Observation) -> (Protocol, Vec<(&str, Protocol)>) {
    let r = o.registration.value.as_ref().and_then(RegistrationState::registration).expect("registered");
    let denials = r.disagreements.iter().map(|d| (d.value.as_str(), d.by.protocol)).collect();
    (r.provenance["created"].protocol, denials)
}

#[tokio::test(flavor = "multi_thread")]
async fn whois_is_asked_about_a_delegated_name_that_rdap_denies() {
    let s = Stage::new().await;
    assert_eq!(stated(&s.scan_after(0).await), (Protocol::Rdap, vec![]));
    assert_eq!(s.by_whois(), 0, "nothing speaks against it");

    // The registry disagrees with itself, and its own zone has the name.
    s.denies("rdap", true).await;
    let seen = s.scan_after(7).await;
    assert_eq!(stated(&seen), (Protocol::Whois, vec![("not registered", Protocol::Rdap)]));
    assert!(seen.pending.iter().all(|p| p.kind != EventKind::Released), "{:?}", seen.pending);
    assert_eq!(s.by_whois(), 1);

    // Both deny it: that is believed after a day, as long as the zone has it.
    s.denies("whois", true).await;
    let seen = s.scan_after(7).await;
    assert!(seen.pending.iter().any(|p| p.kind == EventKind::Released && p.change.is_some()));
    assert!(seen.registration.value.as_ref().is_some_and(|v| v.registration().is_some()), "held");
    assert_eq!((s.by_whois(), s.events_of_registration().await), (2, vec![]));

    // RDAP is right again.
    s.denies("rdap", false).await;
    let seen = s.scan_after(7).await;
    assert_eq!(stated(&seen), (Protocol::Rdap, vec![]));
    assert_eq!((s.by_whois(), s.events_of_registration().await), (2, vec![]));

    s.denies("rdap", true).await;
    for _ in 0..5 {
        s.scan_after(7).await;
    }
    let events = s.events_of_registration().await;
    let told: Vec<_> = events.iter().map(|e| (e.change.kind, e.change.note.as_str())).collect();
    assert_eq!(told, [(EventKind::Released, "The parent zone still delegates it")]);
}
