//! Two replicas on one store before five registries on loopback that count: 10,000 due names on SQLite, a fifth of them
//! on PostgreSQL, and no registry sees more than it allows; no one waits behind another registry's queue; a name is
//! asked for once. Time is real: what is measured is when questions arrive over sockets.

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
use monitor::observer::{InTurn, Progress, look_up};
use monitor::{
    DnsParts, Hub, Observer, Policy, Scanner, StoreBootstrapCache, StoreLedger, SystemClock, Worker,
};
use net::Limit;
use registration::{Client, Pace, Settings};
use std::collections::{HashMap, HashSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use store::{NewItem, Store};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// A registry that counts.
#[derive(Default)]
struct Registry {
    open: AtomicUsize,
    most_open: AtomicUsize,
    asked: Mutex<Vec<(Instant, String)>>,
    /// When it last said "come back in a second".
    throttled: Mutex<Option<Instant>>,
    too_soon: AtomicUsize,
}

struct Kind {
    tld: &'static str,
    /// How many of the names are its.
    names: usize,
    limit: Limit,
    takes: Duration,
    /// Every so many questions it wants to be left alone for a second.
    throttles_every: Option<usize>,
}

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

impl Registry {
    async fn start(kind: &'static Kind) -> (Arc<Registry>, SocketAddr) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let registry = Arc::new(Registry::default());
        let kept = registry.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let registry = kept.clone();
                tokio::spawn(async move {
                    let mut question = vec![0; 4096];
                    let n = stream.read(&mut question).await.unwrap_or(0);
                    let line =
                        String::from_utf8_lossy(&question[..n]).lines().next().unwrap_or("").to_string();
                    let open = registry.open.fetch_add(1, Ordering::SeqCst) + 1;
                    registry.most_open.fetch_max(open, Ordering::SeqCst);
                    let answer = registry.answer(kind, line);
                    tokio::time::sleep(kind.takes).await;
                    // Before the end of the answer: who has read it may ask again at once.
                    registry.open.fetch_sub(1, Ordering::SeqCst);
                    let _ = stream.write_all(answer.as_bytes()).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        (registry, address)
    }

    fn answer(&self, kind: &Kind, line: String) -> &'static str {
        let now = Instant::now();
        let mut asked = self.asked.lock().unwrap();
        asked.push((now, line));
        let mut throttled = self.throttled.lock().unwrap();
        // What was under way when it lost its patience comes within a moment.
        if throttled.is_some_and(|t| (ms(100)..ms(950)).contains(&(now - t))) {
            self.too_soon.fetch_add(1, Ordering::SeqCst);
        }
        if kind.throttles_every.is_some_and(|n| asked.len().is_multiple_of(n)) {
            *throttled = Some(now);
            return "HTTP/1.1 429 X\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";
        }
        "HTTP/1.1 404 X\r\nContent-Type: application/rdap+json\r\nContent-Length: 17\r\n\r\n{\"errorCode\":404}"
    }

    fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// The most questions in any window of this length.
    fn most_in(&self, window: Duration) -> usize {
        let mut starts: Vec<_> = self.asked.lock().unwrap().iter().map(|(t, _)| *t).collect();
        starts.sort_unstable();
        let (mut inside, mut most) = (VecDeque::new(), 0);
        for s in starts {
            inside.push_back(s);
            while inside.front().is_some_and(|first| s - *first >= window) {
                inside.pop_front();
            }
            most = most.max(inside.len());
        }
        most
    }
}

struct Names(HashMap<String, IpAddr>);

#[async_trait]
impl net::Resolve for Names {
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        self.0.get(host).map(|a| vec![*a]).ok_or_else(|| "no such host".into())
    }
}

/// The registration client alone: this is about registries.
struct Registries(Client, Arc<AtomicUsize>);

#[async_trait]
impl Observer for Registries {
    async fn registration(
        &self,
        name: &DomainName,
        now: Timestamp,
        progress: &dyn Progress,
    ) -> (Part<RegistrationState>, Vec<RawAnswer>) {
        let seen = look_up(&self.0, name, now, Pace::Asked, progress).await;
        (seen.part, seen.raw)
    }

    async fn registration_in_turn(
        &self,
        name: &DomainName,
        now: Timestamp,
        progress: &dyn Progress,
    ) -> InTurn {
        self.1.fetch_add(1, Ordering::Relaxed);
        look_up(&self.0, name, now, Pace::Scheduled, progress).await
    }

    async fn dns(&self, _: &DomainName, now: Timestamp, _: &dyn Progress) -> DnsParts {
        DnsParts { delegation: Part { attempted_at: Some(now), ..Part::default() }, ..DnsParts::default() }
    }
}

/// Registries with their addresses, and a folder for the store and the bootstrap file.
struct Place {
    folder: tempfile::TempDir,
    /// A PostgreSQL database instead of a file in the folder.
    database: Option<String>,
    kinds: &'static [Kind],
    registries: Vec<Arc<Registry>>,
    names: HashMap<String, IpAddr>,
    map: Vec<(SocketAddr, SocketAddr)>,
    /// Look-ups that were tried, those that were told to come back included.
    tries: Arc<AtomicUsize>,
}

impl Place {
    async fn new(kinds: &'static [Kind], database: Option<String>) -> Place {
        let (mut registries, mut names, mut map) = (Vec::new(), HashMap::new(), Vec::new());
        for (n, kind) in (1..).zip(kinds) {
            let (registry, address) = Registry::start(kind).await;
            let ip = IpAddr::V4(Ipv4Addr::new(127, 78, 0, n));
            names.insert(format!("rdap.nic.{}", kind.tld), ip);
            map.push((SocketAddr::new(ip, 80), address));
            registries.push(registry);
        }
        let services: Vec<String> =
            kinds.iter().map(|k| format!(r#"[["{0}"],["http://rdap.nic.{0}/"]]"#, k.tld)).collect();
        let folder = tempfile::tempdir().unwrap();
        let file = format!(r#"{{"services":[{}]}}"#, services.join(","));
        std::fs::write(folder.path().join("dns.json"), file).unwrap();
        Place { folder, database, kinds, registries, names, map, tries: Arc::default() }
    }

    async fn store(&self) -> Arc<dyn Store> {
        let folder = self.folder.path().to_string_lossy();
        store::open(self.database.as_deref().unwrap_or(&folder)).await.unwrap()
    }

    /// A replica: its own store handle, budgets, client, scanner and worker.
    async fn replica(&self) -> Worker {
        let store = self.store().await;
        let dialer = net::Dialer::new(net::Settings {
            resolver: Arc::new(Names(self.names.clone())),
            allow_private: true,
            address_map: self.map.iter().copied().collect(),
            ..net::Settings::default()
        });
        let agreed = self.kinds.iter().map(|k| (format!("rdap.nic.{}", k.tld), k.limit)).collect();
        let bootstrap = self.folder.path().join("dns.json").display().to_string();
        let settings = Settings {
            rdap_bootstrap: Some(bootstrap),
            whois_server: Some("whois-root.test:1".into()),
            agreed,
            max_waiters: 8,
            ..Settings::default()
        };
        let budgets = net::Budgets::shared(Arc::new(StoreLedger(store.clone())), Timestamp::now);
        let cache = Arc::new(StoreBootstrapCache(store.clone()));
        let client = Client::sharing(settings, dialer.unwrap(), budgets, Some(cache)).unwrap();
        let scanner = Scanner {
            store,
            observer: Arc::new(Registries(client, self.tries.clone())),
            clock: Arc::new(SystemClock),
            hub: Hub::default(),
            policy: Policy::default(),
        };
        Worker::new(scanner, format!("replica-{}", rand::random::<u32>()))
    }
}

async fn add(store: &dyn Store, names: impl Iterator<Item = String>) {
    let items: Vec<_> = names
        .map(|n| NewItem {
            name: DomainName::trusted(&n),
            unicode: n,
            ownership: Ownership::Watched,
            tags: vec![],
            note: String::new(),
        })
        .collect();
    store.add(OrgId::BUILT_IN, &items, Timestamp::now()).await.unwrap();
}

async fn is_done(store: &dyn Store, name: &str) -> bool {
    let stored = store.observation(&DomainName::trusted(name), &Vantage::local()).await.unwrap();
    stored.is_some_and(|s| s.observation.registration.value == Some(RegistrationState::Available))
}

const fn kind(tld: &'static str, names: usize, concurrency: usize, spacing: u64) -> Kind {
    let limit = Limit { concurrency, spacing: ms(spacing), per_day: None };
    Kind { tld, names, limit, takes: ms(2), throttles_every: None }
}

/// 10,000 names: two large registries, a slow one, one with a daily quota, one that throttles now and then.
static FIVE: [Kind; 5] = [
    kind("aa", 4000, 4, 2),
    kind("bb", 3000, 2, 5),
    kind("cc", 1000, 1, 15),
    Kind { limit: Limit { concurrency: 2, spacing: ms(10), per_day: Some(400) }, ..kind("dd", 1000, 2, 0) },
    Kind { throttles_every: Some(350), ..kind("ee", 1000, 3, 8) },
];

/// The same before a fifth of the names.
static FIFTH: [Kind; 5] = [
    kind("aa", 800, 4, 2),
    kind("bb", 600, 2, 5),
    kind("cc", 200, 1, 15),
    Kind { limit: Limit { concurrency: 2, spacing: ms(10), per_day: Some(80) }, ..kind("dd", 200, 2, 0) },
    Kind { throttles_every: Some(70), ..kind("ee", 200, 3, 8) },
];

/// All names, the registries' mixed.
fn all_names(kinds: &'static [Kind]) -> impl Iterator<Item = (usize, String)> {
    (0..4000).flat_map(|i| {
        let kinds = kinds.iter().enumerate().filter(move |(_, k)| i < k.names);
        kinds.map(move |(at, k)| (at, format!("n{i}.{}", k.tld)))
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_due_names_and_no_registry_sees_more_than_its_limits() {
    assert_eq!(all_names(&FIVE).count(), 10_000);
    no_registry_sees_more_than_its_limits(&FIVE, None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_on_postgresql_keep_the_limits_together_too() {
    let Some(cluster) = cluster::Cluster::start("-c fsync=off") else { return };
    let database = cluster.database("rate_limits").await;
    no_registry_sees_more_than_its_limits(&FIFTH, Some(database)).await;
}

async fn no_registry_sees_more_than_its_limits(kinds: &'static [Kind], database: Option<String>) {
    let place = Place::new(kinds, database).await;
    let store = place.store().await;
    add(&*store, all_names(kinds).map(|(_, n)| n)).await;
    let began = Instant::now();
    let stop = CancellationToken::new();
    let (a, b) = (place.replica().await, place.replica().await);
    let work = tokio::spawn({
        let stop = stop.clone();
        async move { futures::join!(a.run(stop.clone()), b.run(stop)) }
    });
    // The four without a quota are asked about everything, the throttled questions again.
    let quota = |k: &Kind| k.limit.per_day.map_or(k.names, |n| usize::try_from(n).unwrap());
    let wanted =
        |i: usize| kinds[i].throttles_every.map_or(quota(&kinds[i]), |n| kinds[i].names + kinds[i].names / n);
    // Only a guard against waiting for ever: how long it takes is the machine's affair.
    let deadline = Duration::from_secs(900);
    while (0..5).any(|i| place.registries[i].count() < wanted(i)) {
        let seen: Vec<_> = place.registries.iter().map(|r| r.count()).collect();
        assert!(began.elapsed() < deadline, "{seen:?} after {deadline:?}");
        tokio::time::sleep(ms(50)).await;
    }
    let took = began.elapsed();
    stop.cancel();
    work.await.unwrap();
    println!("{} names in {took:?}, {} tries", all_names(kinds).count(), place.tries.load(Ordering::Relaxed));

    for (kind, registry) in kinds.iter().zip(&place.registries) {
        let most = registry.most_open.load(Ordering::SeqCst);
        assert!(most <= kind.limit.concurrency, "{}: {most} at a time", kind.tld);
        // The network may bring two questions closer together than they were sent: one more than sent is allowed.
        for window in [ms(250), ms(1000), ms(5000)] {
            let allowed = window.as_millis() / kind.limit.spacing.as_millis() + 1;
            let most = registry.most_in(window);
            let slack = kind.limit.concurrency + usize::try_from(allowed / 20).unwrap();
            assert!(most <= usize::try_from(allowed).unwrap() + slack, "{}: {most} in {window:?}", kind.tld);
        }
        assert_eq!(
            registry.too_soon.load(Ordering::SeqCst),
            0,
            "{} was asked although it asked to wait",
            kind.tld
        );
        println!(
            "{}: {} questions, {most} at a time, {} in a second",
            kind.tld,
            registry.count(),
            registry.most_in(ms(1000))
        );
    }
    assert!(place.registries[3].count() <= quota(&kinds[3]), "more than a day's quota");
    // No name was asked for twice, but where the registry said "later".
    for (kind, registry) in kinds.iter().zip(&place.registries) {
        let asked = registry.asked.lock().unwrap();
        let distinct: HashSet<_> = asked.iter().map(|(_, q)| q).collect();
        let again = kind.throttles_every.map_or(0, |n| asked.len() / n);
        assert!(asked.len() - distinct.len() <= again, "{}: {} of {}", kind.tld, distinct.len(), asked.len());
    }
    // And everything that no quota stopped is recorded; what it stopped knows when its turn comes.
    let mut done = [0; 5];
    for (at, name) in all_names(kinds) {
        if is_done(&*store, &name).await {
            done[at] += 1;
        } else {
            assert_eq!(at, 3, "{name} is not done");
            let stored = store.observation(&DomainName::trusted(&name), &Vantage::local()).await.unwrap();
            if let Some(error) = stored.and_then(|s| s.observation.registration.error) {
                assert_eq!(error.label, "throttled");
                assert!(error.retry_at.unwrap() > Timestamp::now() + jiff::SignedDuration::from_hours(23));
            }
        }
    }
    let all: Vec<usize> = kinds.iter().map(quota).collect();
    assert_eq!(done.to_vec(), all);
}

/// A replica that is killed while it asks: its place is free again when its lease has run out, and what a registry told
/// it holds for those who live.
#[tokio::test]
async fn a_killed_replica_blocks_nobody_for_long() {
    let folder = tempfile::tempdir().unwrap();
    let now = Arc::new(Mutex::new(Timestamp::now()));
    let mut budgets = Vec::new();
    for _ in 0..2 {
        let store = store::open(&folder.path().to_string_lossy()).await.unwrap();
        let now = now.clone();
        budgets.push(net::Budgets::shared(Arc::new(StoreLedger(store)), move || *now.lock().unwrap()));
    }
    let pass = |d: Duration| *now.lock().unwrap() += d;
    let one = Limit::new(1, Duration::ZERO);
    let no_wait = net::Patience::of(Duration::ZERO);
    std::mem::forget(budgets[0].acquire("rdap.nic.aa", one, no_wait).await.unwrap());
    drop(budgets.remove(0));
    let alive = &budgets[0];
    assert!(alive.acquire("rdap.nic.aa", one, no_wait).await.is_err(), "it may still be asking");
    pass(net::budget::LEASE - ms(1));
    assert!(alive.acquire("rdap.nic.aa", one, no_wait).await.is_err());
    pass(ms(2));
    alive.acquire("rdap.nic.aa", one, no_wait).await.unwrap();
    // Told to one, killed at once, honoured by the next process that starts.
    alive.back_off("rdap.nic.bb", Some(Duration::from_secs(600)), ms(1)).await;
    let store = store::open(&folder.path().to_string_lossy()).await.unwrap();
    let clock = now.clone();
    let again = net::Budgets::shared(Arc::new(StoreLedger(store)), move || *clock.lock().unwrap());
    let refused = again.acquire("rdap.nic.bb", one, no_wait).await.unwrap_err();
    assert!(refused.to_string().contains(" s: it asked us to wait"), "{refused}");
}
