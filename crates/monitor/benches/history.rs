//! What a year of hourly scans leaves in the database: `cargo xtask bench history`.
//!
//! Observations and raw answers of the demo's lab (the saved database of the store's tests) go through the real path
//! (`monitor::Scanner`: carry forward, confirm, judge, record) with a clock that is moved: every hour a look, with new
//! latencies and times, and a second look where one waits for confirmation. Within the year each domain is renewed, gets
//! six new certificates and is signed again every week. Upkeep runs once a day. Printed: octets that remain for each
//! domain, which is what a user sees (file size without VACUUM, `pg_total_relation_size`) less that of an empty database.
//! `-- --domains N` and `-- --days N` change the size. On PostgreSQL a few domains show mostly the 50 dead rows of each table
//! that autovacuum waits for: take 100 or more there.

#[path = "../../store/tests/story/cluster.rs"]
#[allow(dead_code, reason = "the store's tests use more of it")]
mod cluster;

use async_trait::async_trait;
use flate2::read::GzDecoder;
use jiff::{Timestamp, ToSpan};
use model::certificate::hosts::Certificates;
use model::detail::RawAnswer;
use model::dns::ZoneSnapshot;
use model::ids::{OrgId, Vantage};
use model::item::Ownership;
use model::names::DomainName;
use model::observation::{Observation, Part};
use model::registration::RegistrationState;
use model::time::StatedTime;
use monitor::observer::Progress;
use monitor::{Clock, DnsParts, Hub, Observer, Policy, Scanner};
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;
use store::{NewItem, Store};

const ORG: OrgId = OrgId::BUILT_IN;
const SAVED: &[u8] = include_bytes!("../../store/tests/saved/schema-16.sqlite3.gz");
const HOUR: i64 = 3_600_000_000;

/// What a domain does in the year.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Story {
    Quiet,
    /// Its address is one of eight, another one every hour: recognised as rotation.
    Rotates,
    /// Its address is one that was never seen, every hour: a change each time.
    AlwaysNew,
}

fn start() -> Timestamp {
    "2026-11-22T21:00:00Z".parse().expect("an instant")
}

fn setting(name: &str, default: i64) -> i64 {
    let mut words = std::env::args().skip_while(|word| word != name);
    words.nth(1).and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// A number of its own for everything that is by chance.
fn chance(of: &str, hour: i64) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64 ^ hour.unsigned_abs().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let h = of.bytes().fold(start, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    (h ^ (h >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
}

/// One domain, as it is observed at the time of its clock.
struct Scripted {
    sample: Observation,
    raw: Vec<RawAnswer>,
    story: Story,
    now: AtomicI64,
}

impl Clock for Scripted {
    fn now(&self) -> Timestamp {
        Timestamp::from_microsecond(self.now.load(Ordering::Relaxed)).expect("an instant")
    }
}

impl Scripted {
    /// Hours since the start.
    fn hour(&self) -> i64 {
        (self.now.load(Ordering::Relaxed) - start().as_microsecond()) / HOUR
    }
}

#[async_trait]
impl Observer for Scripted {
    async fn registration(
        &self,
        _: &DomainName,
        now: Timestamp,
        _: &dyn Progress,
    ) -> (Part<RegistrationState>, Vec<RawAnswer>) {
        let mut part = self.sample.registration.clone();
        (part.observed_at, part.attempted_at) = (Some(now), Some(now));
        if let Some(RegistrationState::Registered(r)) = &mut part.value {
            // 300 days are left at the start; it is renewed after 280.
            let days = if self.hour() < 280 * 24 { 300 } else { 665 };
            r.expires = Some(StatedTime::utc(start() + (24 * days).hours()));
            r.registrar_expires = None;
        }
        let answer = |raw: &RawAnswer| RawAnswer {
            at: now,
            body: format!("{}\n>>> Last update of the registration database: {now} <<<", raw.body),
            ..raw.clone()
        };
        (part, self.raw.iter().map(answer).collect())
    }

    async fn dns(&self, name: &DomainName, now: Timestamp, _: &dyn Progress) -> DnsParts {
        let sample = self.sample.clone();
        let (mut delegation, mut zone, mut dnssec) = (sample.delegation, sample.zone, sample.dnssec);
        (delegation.observed_at, delegation.attempted_at) = (Some(now), Some(now));
        (zone.observed_at, zone.attempted_at) = (Some(now), Some(now));
        (dnssec.observed_at, dnssec.attempted_at) = (Some(now), Some(now));
        if let Some(d) = &mut delegation.value {
            d.latency.looks = vec![now];
            for s in &mut d.latency.servers {
                s.ms = vec![Some(8.0 + chance(&s.server, self.hour()) as f32 % 4_000_000.0 / 1e6)];
            }
            for s in &mut d.servers {
                s.latency_ms =
                    s.latency_ms.map(|_| 8.0 + (chance(&s.name, self.hour()) % 40_000) as f64 / 1e4);
            }
        }
        if let Some(d) = &mut dnssec.value {
            let week = self.hour() / (7 * 24);
            d.signatures_expire = d.signatures_expire.map(|_| start() + ((week * 7 + 21) * 24).hours());
        }
        if let Some(z) = &mut zone.value {
            let hour = self.hour();
            let apex =
                z.rrsets.iter_mut().find(|s| s.rtype == "A" && s.name.trim_end_matches('.') == name.as_str());
            match (self.story, apex) {
                (Story::Rotates, Some(set)) => set.data = vec![format!("192.0.2.{}", hour % 8 + 1)],
                (Story::AlwaysNew, Some(set)) => {
                    set.data = vec![format!("10.{}.{}.{}", hour >> 16, (hour >> 8) & 255, hour & 255)];
                }
                _ => {}
            }
        }
        DnsParts { delegation, zone, dnssec, findings: sample.findings }
    }

    async fn certificates(
        &self,
        _: &DomainName,
        _: &ZoneSnapshot,
        now: Timestamp,
        _: &dyn Progress,
    ) -> Part<Certificates> {
        let mut part = self.sample.certificates.clone();
        (part.observed_at, part.attempted_at) = (Some(now), Some(now));
        // Issued for 90 days and replaced after 60.
        let turn = self.hour() / (60 * 24);
        for host in part.value.iter_mut().flat_map(|c| &mut c.hosts) {
            if let Some(c) = &mut host.certificate {
                c.not_before = start() + (turn * 60 * 24).hours();
                c.not_after = c.not_before + (90 * 24).hours();
                c.serial = format!("{:032x}", u128::from(chance(&host.host, turn)) << 64);
                c.sha256 = format!("{:064x}", chance(&c.serial, turn));
            }
        }
        part
    }
}

/// Observations of the saved demo in which everything was read, with their raw answers.
async fn samples(folder: &Path) -> Vec<(Observation, Vec<RawAnswer>)> {
    let file = folder.join("saved.db");
    let mut bytes = Vec::new();
    GzDecoder::new(SAVED).read_to_end(&mut bytes).expect("unpacks");
    std::fs::write(&file, bytes).expect("writes");
    let s = store::open_with(
        &format!("sqlite:{}", file.display()),
        Some(store::SecretKey::parse(KEY).expect("a key")),
    )
    .await
    .expect("opens");
    let mut out = Vec::new();
    let all = s.names(ORG, &model::inventory::ListQuery::default(), 1000, start()).await.expect("names");
    for name in all {
        let Some(o) = s.observation(&name, &Vantage::local()).await.expect("reads") else { continue };
        let o = o.observation;
        let has_address = o.zone.value.as_ref().is_some_and(|z| {
            z.rrsets.iter().any(|s| s.rtype == "A" && s.name.trim_end_matches('.') == name.as_str())
        });
        let good = o.registration.error.is_none()
            && matches!(o.registration.value, Some(RegistrationState::Registered(_)))
            && o.delegation.error.is_none()
            && o.delegation.value.as_ref().is_some_and(|d| d.delegated)
            && o.dnssec.error.is_none();
        if good && has_address {
            let newest = s.snapshots(ORG, &name, 1).await.expect("reads")[0].id;
            let raw = s.raw(ORG, &name, newest).await.expect("reads");
            out.push((o, raw));
        }
    }
    out
}

/// The key of the saved database.
const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// Octets of a database.
enum Size<'a> {
    Sqlite(&'a Path),
    Postgres(&'a str),
}

impl Size<'_> {
    async fn octets(&self) -> i64 {
        use sqlx::Connection as _;
        match self {
            Size::Sqlite(path) => {
                let mut c = sqlx::SqliteConnection::connect(&format!("sqlite:{}", path.display()))
                    .await
                    .expect("opens");
                sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut c).await.expect("checkpoints");
                c.close().await.expect("closes");
                i64::try_from(std::fs::metadata(path).expect("a file").len()).expect("a size")
            }
            Size::Postgres(url) => {
                let sql = "SELECT SUM(pg_total_relation_size(relid))::BIGINT FROM pg_stat_user_tables";
                let mut c = sqlx::PgConnection::connect(url).await.expect("connects");
                sqlx::query_scalar(sql).fetch_one(&mut c).await.expect("a size")
            }
        }
    }

    /// The largest tables.
    async fn tables(&self) -> Vec<(String, i64)> {
        use sqlx::Connection as _;
        let Size::Postgres(url) = self else { return vec![] };
        let sql = "SELECT relname::TEXT, pg_total_relation_size(relid) FROM pg_stat_user_tables ORDER BY 2 DESC LIMIT 8";
        let mut c = sqlx::PgConnection::connect(url).await.expect("connects");
        sqlx::query_as(sql).fetch_all(&mut c).await.expect("sizes")
    }
}

/// Lives a year and answers octets for each domain.
async fn year(s: Arc<dyn Store>, size: Size<'_>, of: &[(Observation, Vec<RawAnswer>)], story: Story) -> i64 {
    let (days, domains) = (setting("--days", 365), usize::try_from(setting("--domains", 8)).unwrap_or(8));
    let empty = size.octets().await;
    let mut scanners = Vec::new();
    for i in 0..domains {
        let (mut sample, raw) = of[i % of.len()].clone();
        sample.name = DomainName::trusted(&format!("d{i:04}-{}", sample.name));
        let new = NewItem {
            unicode: sample.name.unicode(),
            name: sample.name.clone(),
            ownership: Ownership::Owned,
            tags: vec![],
            note: String::new(),
        };
        s.add(ORG, &[new], start()).await.expect("adds");
        let old = of[i % of.len()].0.name.to_string();
        for set in sample.zone.value.iter_mut().flat_map(|z| &mut z.rrsets) {
            set.name = set.name.replace(&old, sample.name.as_str());
        }
        let (name, now) = (sample.name.clone(), AtomicI64::new(0));
        let world = Arc::new(Scripted { sample, raw, story, now });
        let scanner = Scanner {
            store: s.clone(),
            observer: world.clone(),
            clock: world.clone(),
            hub: Hub::default(),
            policy: Policy::default(),
        };
        scanners.push((name, world, scanner));
    }
    let (began, mut scans) = (Instant::now(), 0_u64);
    for hour in 0..days * 24 {
        for (i, (name, world, scanner)) in (0..).zip(&scanners) {
            // Each at a second of its own.
            let mut at = start().as_microsecond() + hour * HOUR + i * 7_123_457;
            let next = at + HOUR;
            while at < next {
                world.now.store(at, Ordering::Relaxed);
                let scanned = scanner.scan_in_turn(name, false).await.expect("scans");
                scans += 1;
                at = scanned.again_at.map_or(next, |again| again.as_microsecond().max(at + 1_000_000));
            }
        }
        if hour % 24 == 23 {
            let now = start() + (hour + 1).hours();
            for n in s.lease_notifications(10_000, now).await.expect("leases") {
                s.notification_delivered(std::slice::from_ref(&n), "200 OK", now).await.expect("delivers");
            }
            while scanners[0].2.judge_due().await.expect("judges") > 0 {}
            s.prune(now, Policy::default().keep_days).await.expect("prunes");
        }
    }
    let each = (size.octets().await - empty) / i64::try_from(domains).unwrap_or(1);
    let (mut states, mut events) = (0, 0);
    for (name, ..) in &scanners {
        let (s, e) = s.counts(ORG, name).await.expect("counts");
        (states, events) = (states + s, events + e);
    }
    let n = domains as f64;
    println!(
        "  {:<44}{:>9.1} KB  {:>7.0} states, {:>6.0} events; {:.1} ms a scan",
        format!("{story:?} ({domains} domains, {days} days)"),
        each as f64 / 1e3,
        states as f64 / n,
        events as f64 / n,
        began.elapsed().as_secs_f64() * 1e3 / scans as f64
    );
    for (table, octets) in size.tables().await {
        println!("      {table:<30}{:>9.1} KB a domain", octets as f64 / 1e3 / n);
    }
    each
}

/// Target of quiet domains and of a population of which 5 % rotate, octets a year.
const TARGETS: (f64, f64) = (0.1e6, 1e6);

fn summary(quiet: i64, rotates: i64, new: i64) {
    let population = |of: i64| 0.95 * quiet as f64 + 0.05 * of as f64;
    let line = |what: &str, octets: f64, target: f64| {
        let word = if octets <= target { "reached" } else { "MISSED" };
        println!("  {what:<44}{:>9.3} MB a domain-year; at most {:.1}: {word}", octets / 1e6, target / 1e6);
    };
    line("quiet", quiet as f64, TARGETS.0);
    line("5 % rotate among eight addresses", population(rotates), TARGETS.1);
    line("5 % have a new address every hour", population(new), TARGETS.1);
}

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let of = samples(folder.path()).await;
    println!("{} kinds of domains from the demo's lab", of.len());
    let stories = [Story::Quiet, Story::Rotates, Story::AlwaysNew];
    println!("SQLite");
    let mut sizes = Vec::new();
    for story in stories {
        let file = folder.path().join(format!("{story:?}.db"));
        let s = store::open_sqlite(&file).await.expect("opens");
        sizes.push(year(s, Size::Sqlite(&file), &of, story).await);
    }
    summary(sizes[0], sizes[1], sizes[2]);
    // A year takes minutes here: autovacuum has to come as often as it would in a year.
    let Some(cluster) = cluster::Cluster::start("-c fsync=off -c autovacuum_naptime=1s") else { return };
    println!("PostgreSQL");
    sizes.clear();
    for story in stories {
        let url = cluster.database(&format!("{story:?}").to_lowercase()).await;
        let s = store::open_postgres(&url, None).await.expect("opens");
        sizes.push(year(s, Size::Postgres(&url), &of, story).await);
    }
    summary(sizes[0], sizes[1], sizes[2]);
}
