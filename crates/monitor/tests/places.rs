//! How fast servers answer at points of presence: kept beside what scans see, and never in the way of a scan.

mod support;

use async_trait::async_trait;
use jiff::{Timestamp, ToSpan};
use model::detail::RawAnswer;
use model::dns::Delegation;
use model::ids::{OrgId, Vantage};
use model::latency::{ChainServer, LatencyHistory, PlaceLatency, PlaceLooks};
use model::names::DomainName;
use model::observation::Part;
use model::registration::RegistrationState;
use monitor::observer::Progress;
use monitor::{Clock, DnsParts, Observer, PlaceAnswers, Policy, Scanner, Worker};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::{Job, JobKind, Priority};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// One server for each zone, and one point of presence that answers while it has permits.
struct World {
    now: Mutex<Timestamp>,
    permits: Semaphore,
    asked: AtomicU32,
    open: AtomicU32,
    most_open: AtomicU32,
    gates: features::Gates,
}

fn server(zone: &str, ms: f32) -> ChainServer {
    ChainServer {
        zone: zone.into(),
        server: format!("ns1.{zone}"),
        address: "192.0.2.1".parse().unwrap(),
        ms: vec![Some(ms)],
        network: None,
        ids: vec![],
    }
}

fn seen(zone: &str, at: Timestamp, ms: f32) -> LatencyHistory {
    LatencyHistory { looks: vec![at], servers: vec![server(zone, ms)], places: vec![] }
}

#[async_trait]
impl Observer for World {
    async fn registration(
        &self,
        _: &DomainName,
        now: Timestamp,
        _: &dyn Progress,
    ) -> (Part<RegistrationState>, Vec<RawAnswer>) {
        (Part::good(RegistrationState::Available, now, "RDAP"), vec![])
    }

    async fn dns(&self, name: &DomainName, now: Timestamp, _: &dyn Progress) -> DnsParts {
        let delegation = Delegation {
            zone: name.to_string(),
            parent: "example".into(),
            delegated: true,
            parent_ns: vec![],
            child_ns: vec![],
            ds: vec![],
            servers: vec![],
            soa: None,
            negative_soa: None,
            parents_differ: None,
            provider: None,
            latency: seen(name.as_str(), now, 9.0),
            notes: vec![],
        };
        DnsParts { delegation: Part::good(delegation, now, "servers"), ..DnsParts::default() }
    }

    async fn place_latencies(&self, name: &DomainName) -> Option<PlaceAnswers> {
        let at = self.now();
        self.asked.fetch_add(1, Ordering::SeqCst);
        let open = self.open.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_open.fetch_max(open, Ordering::SeqCst);
        self.permits.acquire().await.unwrap().forget();
        self.open.fetch_sub(1, Ordering::SeqCst);
        let place =
            PlaceLatency { id: "sin-1".into(), region: String::new(), seen: seen(name.as_str(), at, 412.0) };
        let looks = PlaceLooks { looks: vec![place], members: vec!["sin-1".into()] };
        Some(PlaceAnswers { looks, held: self.gates.enter("fleet-agents") })
    }
}

impl Clock for World {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }
}

struct Stage {
    world: Arc<World>,
    scanner: Scanner,
    names: Vec<DomainName>,
    _folder: tempfile::TempDir,
}

impl Stage {
    /// An inventory of so many names that are scanned once a day, so that each scan asks the places.
    async fn new(names: usize, permits: usize) -> Stage {
        let world = Arc::new(World {
            now: Mutex::new("2026-11-20T14:05:00Z".parse().unwrap()),
            permits: Semaphore::new(permits),
            asked: AtomicU32::new(0),
            open: AtomicU32::new(0),
            most_open: AtomicU32::new(0),
            gates: features::Gates::default(),
        });
        let folder = tempfile::tempdir().unwrap();
        let scanner = support::scanner(
            &folder,
            world.clone(),
            world.clone(),
            Policy { interval_s: 86_400, ..Policy::default() },
        )
        .await;
        let names: Vec<_> = (0..names).map(|n| DomainName::trusted(&format!("d{n}.example"))).collect();
        support::own(&scanner, OrgId::BUILT_IN, &names).await;
        Stage { world, scanner, names, _folder: folder }
    }

    async fn latency(&self, name: &DomainName) -> Option<LatencyHistory> {
        let stored = self.scanner.store.observation(name, &Vantage::local()).await.unwrap()?;
        Some(stored.observation.delegation.value?.latency)
    }

    fn a_day_later(&self) {
        *self.world.now.lock().unwrap() += 24.hours();
    }
}

#[tokio::test]
async fn places_that_never_answer_hold_up_no_scan_and_no_stop() {
    let s = Stage::new(12, 0).await;
    let now = s.world.now();
    let jobs: Vec<_> = s.names.iter().map(|n| (Job::Scan(n.clone()), now)).collect();
    s.scanner.store.enqueue(&jobs, Priority::Requested).await.unwrap();
    let stop = CancellationToken::new();
    let worker = Worker::new(s.scanner.clone(), "w");
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { worker.run(stop).await }
    });
    let all_scanned = async {
        for name in &s.names {
            while s.latency(name).await.is_none() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        while s.scanner.store.queue_stats(JobKind::Scan, now).await.unwrap().due > 0
            || s.world.asked.load(Ordering::SeqCst) == 0
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), all_scanned).await.expect("scans go on");
    let most = s.world.most_open.load(Ordering::SeqCst);
    assert!((1..=4).contains(&most), "{most} names at once");
    stop.cancel();
    tokio::time::timeout(Duration::from_secs(2), running).await.expect("it stops at once").unwrap();
    for name in &s.names {
        assert_eq!(s.latency(name).await.unwrap().places, [], "nothing is stored");
    }
}

#[tokio::test]
async fn what_places_say_is_kept_by_scans_and_asked_for_once_a_day() {
    let s = Stage::new(1, 9).await;
    let name = &s.names[0];
    let first = s.scanner.scan_in_turn(name, true).await.unwrap();
    assert!(first.places_due && s.scanner.sample_places(name).await.unwrap());
    let places = s.latency(name).await.unwrap().places;
    assert_eq!((places.len(), &places[0].seen.servers[0].ms), (1, &vec![Some(412.0)]));
    // A rescan keeps it and asks for nothing.
    assert!(!s.scanner.scan_in_turn(name, true).await.unwrap().places_due);
    assert_eq!(s.latency(name).await.unwrap().places, places);
    for _ in 0..2 {
        s.a_day_later();
        assert!(s.scanner.scan_in_turn(name, true).await.unwrap().places_due);
        s.scanner.sample_places(name).await.unwrap();
    }
    // Three looks are enough for the finding of the next scan.
    s.scanner.scan(name, true).await.unwrap();
    let stored = s.scanner.store.observation(name, &Vantage::local()).await.unwrap().unwrap().observation;
    let finding = stored.findings.iter().find(|f| f.tag == model::latency::SLOW_UNICAST).expect("it is slow");
    assert_eq!(finding.args["places"]["sin-1"], 412.0);
    assert_eq!(s.latency(name).await.unwrap().places[0].seen.looks.len(), 3);
}

#[tokio::test]
async fn a_scan_that_ends_meanwhile_and_what_places_say_are_both_kept() {
    let s = Stage::new(1, 0).await;
    let name = s.names[0].clone();
    s.scanner.scan(&name, true).await.unwrap();
    let asking = tokio::spawn({
        let (scanner, name) = (s.scanner.clone(), name.clone());
        async move { scanner.sample_places(&name).await.unwrap() }
    });
    while s.world.open.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    *s.world.now.lock().unwrap() += 1.hours();
    s.scanner.scan(&name, true).await.unwrap();
    s.world.permits.add_permits(1);
    assert!(asking.await.unwrap());
    let kept = s.latency(&name).await.unwrap();
    assert_eq!((kept.looks.len(), kept.places.len()), (2, 1));
    // A name that was removed meanwhile is not written again.
    s.world.permits.add_permits(1);
    s.scanner.store.remove(OrgId::BUILT_IN, std::slice::from_ref(&name), s.world.now()).await.unwrap();
    s.scanner.store.prune(s.world.now(), 400).await.unwrap();
    assert!(!s.scanner.sample_places(&name).await.unwrap());
    assert!(s.latency(&name).await.is_none());
}
