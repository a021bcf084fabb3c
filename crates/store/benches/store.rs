//! How fast the store answers with 100,000 holdings: `cargo bench -p domainscope-store --bench store`.
//!
//! Fills a SQLite file and, where PostgreSQL is installed, a private cluster with its ordinary durability, then
//! measures lists, sorts, filters, searches, the strip above the list, and recording. Prints p50 and p95 of each.
//! `-- --items N` builds N holdings instead.

#[path = "../tests/story/cluster.rs"]
mod cluster;

use jiff::{Timestamp, ToSpan};
use model::dns::{Provider, ProviderKind};
use model::event::{Change, EventKind, Severity};
use model::ids::{OrgId, Vantage};
use model::inventory::{ExpiryFilter, ListQuery, Row, SortKey};
use model::item::{Item, Ownership};
use model::names::DomainName;
use model::observation::Observation;
use model::status::{Reason, StatusKind};
use model::time::StatedTime;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use store::{ItemOutcome, JobKind, NewItem, Record, Store};

const ORG: OrgId = OrgId(1);
/// Answers measured of each kind.
const ROUNDS: usize = 200;

fn now() -> Timestamp {
    "2026-11-20T12:00:00Z".parse().expect("an instant")
}

/// Xorshift with a fixed seed: the same inventory every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        let i = self.roll(of.len() as u64);
        of[usize::try_from(i).unwrap_or(0)]
    }
}

const WORDS: [&str; 40] = [
    "shop", "cloud", "data", "north", "river", "stone", "market", "green", "light", "pixel", "craft",
    "garden", "travel", "music", "coffee", "studio", "house", "blue", "smart", "fast", "media", "photo",
    "fund", "health", "bike", "wine", "book", "school", "energy", "metal", "bücher", "straße", "labs",
    "works", "point", "view", "bridge", "forest", "silver", "anchor",
];
const TLDS: [&str; 8] = ["com", "com", "com", "net", "org", "de", "io", "co.uk"];

fn names(d: &mut Dice, n: usize) -> Vec<NewItem> {
    let mut seen = std::collections::HashSet::new();
    let mut out = Vec::with_capacity(n);
    while out.len() < n {
        let number = if d.roll(3) == 0 { d.roll(10_000).to_string() } else { String::new() };
        let typed = format!("{}{}{number}.{}", d.pick(&WORDS), d.pick(&WORDS), d.pick(&TLDS));
        let typed = if d.roll(2) == 0 { format!("{}-{typed}", d.pick(&WORDS)) } else { typed };
        let Ok(read) = DomainName::read(&typed) else { continue };
        if seen.insert(read.name.clone()) {
            let tags = ["prod", "shop", "brand", "parked", "legacy"];
            out.push(NewItem {
                unicode: read.name.unicode(),
                name: read.name,
                ownership: if d.roll(10) == 0 { Ownership::Watched } else { Ownership::Owned },
                tags: tags.iter().filter(|_| d.roll(6) == 0).map(|t| (*t).to_string()).collect(),
                note: String::new(),
            });
        }
    }
    out
}

/// What a scan would make of a holding.
fn judged(d: &mut Dice, new: &NewItem) -> (Item, Row) {
    let mut item = Item::new(ORG, new.name.clone(), new.ownership, now());
    item.tags.clone_from(&new.tags);
    item.status.kind = d.pick(&[
        StatusKind::Normal,
        StatusKind::Normal,
        StatusKind::Normal,
        StatusKind::Unlocked,
        StatusKind::Warning,
        StatusKind::Critical,
        StatusKind::Secure,
    ]);
    item.status.reasons = vec![Reason {
        kind: item.status.kind,
        rule: model::status::Rule::ExpiresSoon,
        sentence: "clientTransferProhibited, clientUpdateProhibited and clientDeleteProhibited are set"
            .into(),
    }];
    let minutes = |d: &mut Dice, n| i64::try_from(d.roll(n)).unwrap_or(0).minutes();
    let expires = now() + minutes(d, 1_000_000) - 20.hours();
    let modified = now() - minutes(d, 2_000_000);
    item.last_change_at = (d.roll(5) == 0).then(|| now() - minutes(d, 60_000));
    let row = Row {
        name: item.name.clone(),
        unicode: new.unicode.clone(),
        ownership: item.ownership,
        tags: item.tags.clone(),
        expires: (d.roll(20) > 0).then(|| StatedTime::utc(expires)),
        expires_by_hand: false,
        auto_renew: None,
        registrar: (d.roll(50) > 0).then(|| format!("Registrar {} Inc.", d.roll(12) * d.roll(25))),
        provider: (d.roll(50) > 0).then(|| Provider {
            name: format!("Provider {}", d.roll(9) * d.roll(12)),
            kind: ProviderKind::Known,
        }),
        status: item.status.clone(),
        outcome: None,
        last_change_at: item.last_change_at,
        last_dns_change_at: item.last_dns_change_at,
        modified: Some(StatedTime::utc(modified)),
        certificate_ends: None,
        last_scan_at: Some(now()),
        registered_read_at: Some(now()),
        error: None,
        confirming: 0,
        claim: None,
        transitions: model::inventory::Transitions::default(),
    };
    (item, row)
}

fn scan(version: i64, item: Item, row: Row, changes: Vec<Change>) -> Record {
    let mut observation = Observation::empty(item.name.clone(), Vantage::local());
    observation.registration.attempted_at = Some(now());
    let outcomes = vec![ItemOutcome { item, row, changes }];
    let snapshot = (version == 0).then(Vec::new);
    Record { expected_version: version, observation, snapshot, raw: Vec::new(), outcomes, at: now() }
}

fn change() -> Change {
    Change {
        kind: EventKind::RegistrarChanged,
        severity: Severity::Warning,
        field: "registrar".into(),
        old: Some("A".into()),
        new: Some("B".into()),
        source: "RDAP".into(),
        note: String::new(),
        first_seen_at: None,
        status_before: None,
    }
}

/// Times a call again and again and prints its line.
async fn time<F: Future<Output = u64>>(what: &str, rounds: usize, mut call: impl FnMut(usize) -> F) {
    let mut took = Vec::with_capacity(rounds);
    let mut found = 0;
    for i in 0..rounds {
        let start = Instant::now();
        found = call(i).await;
        took.push(start.elapsed());
    }
    print(what, took, found);
}

fn print(what: &str, mut took: Vec<Duration>, found: u64) {
    took.sort();
    let ms = |p: usize| took[(took.len() * p / 100).min(took.len() - 1)].as_secs_f64() * 1e3;
    println!("  {what:<46}{:>9.2}{:>9.2}{:>9.2}  {found:>8}", ms(50), ms(95), ms(100));
}

fn queries() -> Vec<(String, ListQuery)> {
    let plain = ListQuery::default();
    let q = |f: &dyn Fn(&mut ListQuery)| {
        let mut q = plain.clone();
        f(&mut q);
        q
    };
    let mut out = vec![("first page".to_string(), plain.clone())];
    for sort in SortKey::ALL {
        for descending in [false, true] {
            let arrow = if descending { "descending" } else { "ascending" };
            out.push((
                format!("sort {} {arrow}", sort.as_str()),
                ListQuery { sort, descending, ..plain.clone() },
            ));
        }
    }
    out.push(("page in the middle".into(), q(&|q| q.page = 1000)));
    out.push(("500 rows a page".into(), q(&|q| q.per_page = 500)));
    out.push(("filter status".into(), q(&|q| q.status = vec![StatusKind::Critical, StatusKind::Warning])));
    out.push((
        "filter registrar".into(),
        q(&|q| q.registrar = vec!["Registrar 12 Inc.".into(), String::new()]),
    ));
    out.push(("filter provider".into(), q(&|q| q.provider = vec!["Provider 8".into()])));
    out.push(("filter tag".into(), q(&|q| q.tag = vec!["prod".into(), "shop".into()])));
    out.push(("filter ownership".into(), q(&|q| q.ownership = Some(Ownership::Watched))));
    out.push(("filter expires within 30 days".into(), q(&|q| q.expires = Some(ExpiryFilter::Within(30)))));
    out.push(("filter expiration unknown".into(), q(&|q| q.expires = Some(ExpiryFilter::Unknown))));
    out.push(("filter changed in 7 days".into(), q(&|q| q.changed_days = Some(7))));
    out.push((
        "six filters together, by change".into(),
        q(&|q| {
            q.status = vec![StatusKind::Normal, StatusKind::Unlocked];
            q.registrar = (0..40).map(|i| format!("Registrar {i} Inc.")).collect();
            q.tag = vec!["prod".into()];
            q.ownership = Some(Ownership::Owned);
            q.expires = Some(ExpiryFilter::Within(300));
            q.search = "shop".into();
            (q.sort, q.descending) = (SortKey::Change, true);
        }),
    ));
    for (what, text) in [
        ("1 character", "s"),
        ("2 characters", "sh"),
        ("3, common", "com"),
        ("3, frequent", "sho"),
        ("3, rare", "k-m"),
        ("3, none", "zzq"),
        ("4, frequent", "clou"),
        ("4, rare", "e777"),
        ("8, frequent", "offeehou"),
        ("8, rare", "ngreen42"),
        ("8, none", "qqqqqqqq"),
        ("U-label", "büch"),
    ] {
        out.push((format!("search {what} “{text}”"), q(&|q| q.search = text.into())));
    }
    out
}

async fn measure(what: &str, open: impl AsyncFn() -> Arc<dyn Store>, items: usize) {
    println!("\n{what}, {items} holdings");
    let mut d = Dice(0x00D0_3A12_5C0F_E5EE);
    let s = open().await;
    let new = names(&mut d, items);
    let start = Instant::now();
    for chunk in new.chunks(5000) {
        s.add(ORG, chunk, now()).await.expect("adds");
    }
    println!("  added in {:.1} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let all: Vec<_> = new.iter().map(|n| judged(&mut d, n)).collect();
    for chunk in all.chunks(1000) {
        s.update_judged(chunk, now()).await.expect("judges");
    }
    println!("  judged in {:.1} s", start.elapsed().as_secs_f64());

    // Every fifth was scanned, with a change where it has one.
    let fifth: Vec<_> = all.iter().step_by(5).cloned().collect();
    for tasks in [1usize, 4] {
        let half = fifth.len() / 2;
        let part: Arc<Vec<_>> =
            Arc::new(if tasks == 1 { fifth[..half].to_vec() } else { fifth[half..].to_vec() });
        let start = Instant::now();
        let next = Arc::new(AtomicU64::new(0));
        let mut set = tokio::task::JoinSet::new();
        for _ in 0..tasks {
            let (s, part, next) = (s.clone(), part.clone(), next.clone());
            set.spawn(async move {
                while let Some((item, row)) =
                    part.get(usize::try_from(next.fetch_add(1, Ordering::Relaxed)).unwrap_or(usize::MAX))
                {
                    let changes = item.last_change_at.map(|_| change()).into_iter().collect();
                    s.record(&scan(0, item.clone(), row.clone(), changes)).await.expect("records");
                }
            });
        }
        set.join_all().await;
        let rate = part.len() as f64 / start.elapsed().as_secs_f64();
        println!("  record, {tasks} at a time: {rate:.0} per second");
    }

    drop(s);
    let s = open().await;
    println!("  {:<46}{:>9}{:>9}{:>9}  {:>8}", "ms", "p50", "p95", "max", "found");
    let plain = ListQuery::default();
    time("first list after the start", 1, |_| async {
        s.list(ORG, &plain, now()).await.expect("lists").total
    })
    .await;
    for (what, q) in queries() {
        time(&what, ROUNDS, |_| async { s.list(ORG, &q, now()).await.expect("lists").total }).await;
    }
    time("summary", ROUNDS, |_| async { s.summary(ORG, now()).await.expect("answers").total }).await;
    time("names of all Critical", 50, |_| async {
        let q = ListQuery { status: vec![StatusKind::Critical], ..ListQuery::default() };
        s.names(ORG, &q, 200_000, now()).await.expect("answers").len() as u64
    })
    .await;
    time("one holding", ROUNDS, |i| {
        let (s, name) = (s.clone(), all[i * 37 % all.len()].0.name.clone());
        async move { u64::from(s.item(ORG, &name).await.expect("reads").is_some()) }
    })
    .await;
    time("lease 10 of the queue, complete them", ROUNDS, |_| async {
        let jobs = s.lease(JobKind::Scan, "w", 10, now()).await.expect("leases");
        for j in &jobs {
            s.complete(j, Some(now() + 1.hours()), None, now()).await.expect("completes");
        }
        jobs.len() as u64
    })
    .await;

    // Lists while scans are recorded: 100 a second is 100,000 names scanned every 17 minutes.
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let (s, stop) = (s.clone(), stop.clone());
        let some: Vec<_> = all.iter().skip(1).step_by(5).take(5000).cloned().collect();
        tokio::spawn(async move {
            let mut tick = tokio::time::interval(Duration::from_millis(10));
            let mut done = 0;
            for (item, row) in some {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                tick.tick().await;
                s.record(&scan(0, item, row, vec![])).await.expect("records");
                done += 1;
            }
            done
        })
    };
    let q = ListQuery { search: "sho".into(), ..ListQuery::default() };
    busy(&s, &plain, "first page while 100 scans/s are recorded").await;
    busy(&s, &q, "search “sho” while 100 scans/s are recorded").await;
    stop.store(true, Ordering::Relaxed);
    println!("  ({} scans recorded meanwhile)", writer.await.expect("writes"));
}

/// Lists with pauses between, so that each finds new entries in the log.
async fn busy(s: &Arc<dyn Store>, q: &ListQuery, what: &str) {
    let mut took = Vec::new();
    let mut found = 0;
    for _ in 0..ROUNDS {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let start = Instant::now();
        found = s.list(ORG, q, now()).await.expect("lists").total;
        took.push(start.elapsed());
    }
    print(what, took, found);
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    let items = args
        .iter()
        .position(|a| a == "--items")
        .and_then(|i| args.get(i + 1))
        .and_then(|n| n.parse().ok())
        .unwrap_or(100_000);
    let folder = tempfile::tempdir().expect("a scratch folder");
    let file = folder.path().join("bench.db");
    measure("SQLite", async || store::open_sqlite(&file).await.expect("opens"), items).await;
    if let Some(cluster) = cluster::Cluster::start("") {
        let url = cluster.database("bench").await;
        measure("PostgreSQL", async || store::open_postgres(&url, None).await.expect("opens"), items).await;
    }
}
