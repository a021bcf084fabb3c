//! Two replicas over one database: pages of both agree on which scans wait, run and have ended; scans that fail are
//! retried, suspended with the reason, and started again by a Rescan.

#[path = "../../store/tests/story/cluster.rs"]
mod cluster;

use async_trait::async_trait;
use jiff::Timestamp;
use model::detail::RawAnswer;
use model::ids::{OrgId, Vantage};
use model::item::Ownership;
use model::names::DomainName;
use model::observation::Part;
use model::registration::RegistrationState;
use model::scan::{Live, ScanProgress, Stage};
use monitor::observer::Progress;
use monitor::{Clock, DnsParts, Hub, Observer, Policy, Scanner, SystemClock, Worker};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::{Job, JobKind, JobPhase, NewItem, Priority, Store};
use tokio_util::sync::CancellationToken;

/// Answers after a moment that nothing is registered, or panics while it is broken.
#[derive(Default)]
struct Registry {
    broken: AtomicBool,
    /// Names that were asked about, in order.
    asked: Mutex<Vec<DomainName>>,
}

#[async_trait]
impl Observer for Registry {
    async fn registration(
        &self,
        name: &DomainName,
        now: Timestamp,
        _: &dyn Progress,
    ) -> (Part<RegistrationState>, Vec<RawAnswer>) {
        self.asked.lock().unwrap().push(name.clone());
        assert!(!self.broken.load(Ordering::SeqCst), "the observer is broken");
        tokio::time::sleep(Duration::from_millis(20)).await;
        (Part::good(RegistrationState::Available, now, "test"), vec![])
    }

    async fn dns(&self, _: &DomainName, now: Timestamp, _: &dyn Progress) -> DnsParts {
        DnsParts { delegation: Part { attempted_at: Some(now), ..Part::default() }, ..DnsParts::default() }
    }
}

/// A clock that tests move.
struct Moved(Mutex<Timestamp>);

impl Clock for Moved {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

fn scanner(store: Arc<dyn Store>, observer: Arc<dyn Observer>, clock: Arc<dyn Clock>) -> Scanner {
    Scanner { store, observer, clock, hub: Hub::default(), policy: Policy::default() }
}

/// Starts a replica: its worker, and its hub with a short interval.
fn start(scanner: &Scanner, name: &str, stop: &CancellationToken) {
    let worker = Worker::new(scanner.clone(), name);
    let (hub, store) = (scanner.hub.clone(), scanner.store.clone());
    let (a, b) = (stop.clone(), stop.clone());
    tokio::spawn(async move { worker.run(a).await });
    tokio::spawn(hub.follow(store, Duration::from_millis(50), b));
}

fn item(name: &DomainName) -> NewItem {
    NewItem {
        name: name.clone(),
        unicode: name.unicode(),
        ownership: Ownership::Owned,
        tags: vec![],
        note: String::new(),
    }
}

async fn until(what: &str, mut done: impl AsyncFnMut() -> bool) {
    for _ in 0..600 {
        if done().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("not within 15 s: {what}");
}

async fn progress(s: &Scanner, name: &DomainName) -> Option<ScanProgress> {
    s.progress(std::slice::from_ref(name)).await.unwrap().pop()
}

async fn every_row_is_scanned_on_both_replicas(url: &str) {
    let stop = CancellationToken::new();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let open = async || store::open(url).await.unwrap();
    let one = scanner(open().await, Arc::new(Registry::default()), clock.clone());
    let two = scanner(open().await, Arc::new(Registry::default()), clock.clone());
    start(&one, "one", &stop);
    start(&two, "two", &stop);
    let mut heard = two.hub.subscribe();
    // 44 names are added on one, as its pages do it.
    let names: Vec<_> = (0..44).map(|i| DomainName::trusted(&format!("n{i}.example"))).collect();
    let now = clock.now();
    let items: Vec<_> = names.iter().map(item).collect();
    one.store.add(OrgId::BUILT_IN, &items, now).await.unwrap();
    for name in &names {
        one.hub.queued(name, now);
    }
    for (which, replica) in [("one", &one), ("two", &two)] {
        until(which, async || {
            let all = replica.progress(&names).await.unwrap();
            replica.hub.running(100).is_empty() && all.iter().all(ScanProgress::finished)
        })
        .await;
    }
    for name in &names {
        assert!(one.hub.progress(name).is_some_and(|p| p.finished()), "{name:?} is shown as scanned");
    }
    // A Rescan asked for on one is seen on the other, with what it came to.
    while heard.try_recv().is_ok() {}
    let name = &names[7];
    one.store.enqueue(&[(Job::Scan(name.clone()), clock.now())], Priority::Requested).await.unwrap();
    one.hub.queued(name, clock.now());
    let mut ended = None;
    until("the Rescan ends on both", async || {
        while let Ok(live) = heard.try_recv() {
            if let Live::Scan(p) = live
                && p.name == *name
                && p.finished()
            {
                ended = p.result;
            }
        }
        ended.is_some() && one.hub.progress(name).is_some_and(|p| p.finished())
    })
    .await;
    let sentence = ended.unwrap().sentence;
    assert_eq!(sentence, "Nothing changed");
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_row_is_scanned_on_both_replicas_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    every_row_is_scanned_on_both_replicas(&folder.path().to_string_lossy()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_row_is_scanned_on_both_replicas_on_postgresql() {
    let Some(cluster) = cluster::Cluster::start("-c fsync=off") else { return };
    every_row_is_scanned_on_both_replicas(&cluster.database("replicas").await).await;
}

/// A scan that fails every time is suspended with the reason on every replica; a Rescan starts it again.
#[tokio::test]
async fn a_scan_that_fails_every_time_is_suspended_and_a_rescan_starts_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let open = async || store::open(&folder.path().to_string_lossy()).await.unwrap();
    let clock = Arc::new(Moved(Mutex::new("2026-11-20T14:05:00Z".parse().unwrap())));
    let registry = Arc::new(Registry { broken: AtomicBool::new(true), ..Registry::default() });
    let one = scanner(open().await, registry.clone(), clock.clone());
    let two = scanner(open().await, registry.clone(), clock.clone());
    let name = DomainName::trusted("bomb.example");
    one.store.add(OrgId::BUILT_IN, &[item(&name)], clock.now()).await.unwrap();
    let stop = CancellationToken::new();
    start(&one, "one", &stop);
    for attempt in 1..=JobKind::Scan.policy().retry.max_attempts {
        until("an attempt has failed", async || {
            let state = &one.store.job_states(JobKind::Scan, vec![name.as_str().into()]).await.unwrap()[0];
            // The reason of an earlier attempt stays while the next one runs, and the clock must not move then: an hour
            // later its lease has run out and the other replica takes it, so that attempts are skipped here.
            let runs = matches!(state.phase, JobPhase::Running { .. });
            !runs && state.attempts >= attempt && state.last_error.is_some()
        })
        .await;
        *clock.0.lock().unwrap() += Duration::from_secs(3600);
    }
    for replica in [&one, &two] {
        let p = progress(replica, &name).await.unwrap();
        assert!(p.suspended, "the page shows it however old it is");
        let result = p.result.unwrap();
        assert!(result.failed && result.sentence.contains("suspended"), "{result:?}");
        assert!(result.sentence.contains("the observer is broken"), "the reason: {result:?}");
        assert!(result.sentence.contains("Rescan"), "what to do: {result:?}");
    }
    assert_eq!(one.store.queue_stats(JobKind::Scan, clock.now()).await.unwrap().parked, 1);
    // Other domains go on, and a Rescan, asked for on the other replica, starts this one again.
    registry.broken.store(false, Ordering::SeqCst);
    two.store.enqueue(&[(Job::Scan(name.clone()), clock.now())], Priority::Requested).await.unwrap();
    assert_eq!(progress(&two, &name).await.unwrap().running, [Stage::Queued]);
    until("it is scanned", async || two.store.observation(&name, &Vantage::local()).await.unwrap().is_some())
        .await;
    until("and shown as done", async || {
        progress(&two, &name).await.is_some_and(|p| p.result.is_some_and(|r| !r.failed))
    })
    .await;
    stop.cancel();
}

/// A replica whose position in the log was pruned tells its pages to read their state again.
#[tokio::test]
async fn a_hub_whose_position_in_the_log_was_pruned_tells_pages_to_read_anew() {
    let folder = tempfile::tempdir().unwrap();
    let store = store::open(&folder.path().to_string_lossy()).await.unwrap();
    let hub = Hub::default();
    let mut heard = hub.subscribe();
    let stop = CancellationToken::new();
    tokio::spawn(hub.clone().follow(store.clone(), Duration::from_secs(3600), stop.clone()));
    let now: Timestamp = "2026-11-20T14:05:00Z".parse().unwrap();
    let add = async |n: String| {
        store.add(OrgId::BUILT_IN, &[item(&DomainName::trusted(&n))], now).await.unwrap();
    };
    // It follows from the moment it has found the head: until then nothing is heard.
    let mut i = 0;
    loop {
        add(format!("n{i}.example")).await;
        hub.recorded();
        i += 1;
        if tokio::time::timeout(Duration::from_millis(50), heard.recv()).await.is_ok() {
            break;
        }
    }
    add("missed.example".into()).await;
    assert!(store.prune_log(now + Duration::from_secs(3 * 86_400), 400).await.unwrap() > 0);
    hub.recorded();
    let rv = store.head().await.unwrap();
    let reset = async { while heard.recv().await.unwrap() != (Live::Reset { rv }) {} };
    tokio::time::timeout(Duration::from_secs(10), reset).await.unwrap();
    stop.cancel();
}

/// The system's clock, off by some seconds.
struct Skewed(i64);

impl Clock for Skewed {
    fn now(&self) -> Timestamp {
        Timestamp::now() + jiff::SignedDuration::from_secs(self.0)
    }
}

/// Three replicas whose clocks differ by up to a minute: each name is scanned, once, and a Rescan from any of them is
/// carried out at once.
async fn clocks_that_differ_lose_and_double_nothing(url: &str) {
    let stop = CancellationToken::new();
    let registry = Arc::new(Registry::default());
    let mut replicas = Vec::new();
    for skew in [-30, 0, 30] {
        let store = store::open(url).await.unwrap();
        let replica = scanner(store, registry.clone(), Arc::new(Skewed(skew)));
        replicas.push(Scanner { policy: Policy { freshness_s: 0, ..Policy::default() }, ..replica });
    }
    let names: Vec<_> = (0..60).map(|i| DomainName::trusted(&format!("n{i}.example"))).collect();
    for (replica, names) in replicas.iter().zip(names.chunks(20)) {
        let items: Vec<_> = names.iter().map(item).collect();
        replica.store.add(OrgId::BUILT_IN, &items, replica.clock.now()).await.unwrap();
    }
    for (i, replica) in replicas.iter().enumerate() {
        start(replica, &format!("replica-{i}"), &stop);
    }
    let is_scanned = async |name: &DomainName| {
        replicas[0].store.observation(name, &Vantage::local()).await.unwrap().is_some()
    };
    until("all are scanned", async || {
        for name in &names {
            if !is_scanned(name).await {
                return false;
            }
        }
        true
    })
    .await;
    let count = |name: &DomainName| registry.asked.lock().unwrap().iter().filter(|n| *n == name).count();
    assert!(names.iter().all(|n| count(n) == 1), "each once: {:?}", registry.asked.lock().unwrap());
    for (replica, name) in replicas.iter().zip(&names) {
        replica
            .store
            .enqueue(&[(Job::Scan(name.clone()), replica.clock.now())], Priority::Requested)
            .await
            .unwrap();
        until("the Rescan is carried out", async || count(name) == 2).await;
    }
    until("and is over", async || {
        let stats = replicas[1].store.queue_stats(JobKind::Scan, replicas[1].clock.now()).await.unwrap();
        stats.parked == 0 && stats.due == 0
    })
    .await;
    assert!(names.iter().skip(3).all(|n| count(n) == 1), "nothing else was scanned again");
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clocks_that_differ_lose_and_double_nothing_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    clocks_that_differ_lose_and_double_nothing(&folder.path().to_string_lossy()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clocks_that_differ_lose_and_double_nothing_on_postgresql() {
    let Some(cluster) = cluster::Cluster::start("-c fsync=off") else { return };
    clocks_that_differ_lose_and_double_nothing(&cluster.database("skewed").await).await;
}

/// PostgreSQL fails over to its standby, which takes over the address: replicas stay up, what was stored is there, and
/// what comes then is scanned.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_go_on_after_postgresql_failed_over() {
    let Some(mut cluster) = cluster::Cluster::start("-c fsync=off") else { return };
    let url = cluster.database("failover").await;
    cluster.add_standby();
    let (stop, clock): (_, Arc<dyn Clock>) = (CancellationToken::new(), Arc::new(SystemClock));
    let mut replicas = Vec::new();
    for i in 0..3 {
        let store = store::open(&url).await.unwrap();
        replicas.push(scanner(store, Arc::new(Registry::default()), clock.clone()));
        start(&replicas[i], &format!("replica-{i}"), &stop);
    }
    let names: Vec<_> = (0..30).map(|i| DomainName::trusted(&format!("n{i}.example"))).collect();
    let (before, after) = names.split_at(15);
    let all_are_scanned = async |names: &[DomainName], store: &Arc<dyn Store>| {
        for name in names {
            if !store.observation(name, &Vantage::local()).await.is_ok_and(|o| o.is_some()) {
                return false;
            }
        }
        store.queue_stats(JobKind::Scan, clock.now()).await.is_ok_and(|q| q.due == 0)
    };
    let items = |names: &[DomainName]| names.iter().map(item).collect::<Vec<_>>();
    replicas[0].store.add(OrgId::BUILT_IN, &items(before), clock.now()).await.unwrap();
    until("the first are scanned", async || all_are_scanned(before, &replicas[0].store).await).await;
    cluster.fail_over();
    // A pool finds its broken connections one by one.
    until("the store answers again", async || {
        replicas[1].store.add(OrgId::BUILT_IN, &items(after), clock.now()).await.is_ok()
    })
    .await;
    for replica in &replicas {
        until("all are scanned", async || all_are_scanned(&names, &replica.store).await).await;
    }
    stop.cancel();
}
