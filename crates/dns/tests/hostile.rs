//! Zones that try to make us compute: keys of one tag with signatures that do not hold (CVE-2023-50387), thousands of
//! DNAME records. Every operation verifies a bounded number of signatures, and other tasks of the runtime go on. The
//! longest wait of another task is printed, not asserted: machines differ.

mod support;

use dns::checks::CheckOptions;
use dns::dnssec::verifier::{MAX_VERIFICATIONS, verifications};
use dns::{ChainQuestion, Engine, Settings};
use lab::{Lab, Options, Scenario};
use model::dns::DnssecStatus;
use model::names::Fqdn;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const NOW: &str = "2026-11-20T12:00:00Z";
const ZONE: &str = "sealed.example";

/// One test at a time: verifications are counted for the whole process.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// The demo Internet; all servers of the zone have this fault.
async fn world(fault: &str) -> (Lab, Engine, TempDir) {
    let dir = TempDir::new().unwrap();
    let options = Options::new(Scenario::named("demo").unwrap(), dir.path(), NOW.parse().unwrap());
    let lab = Lab::start(options).await.unwrap();
    let (asn_zone, timeout) = (lab.endpoints().asn_zone.clone(), Settings::default().timeout);
    let settings = Settings { asn_zone, timeout, ..support::settings(&lab) };
    let engine = Engine::new(settings);
    let servers = engine.delegation(ZONE).await.unwrap().server_names();
    for server in servers {
        lab.apply(format!("fault {server}/{ZONE} {fault}").parse().unwrap()).await.unwrap();
    }
    (lab, engine, dir)
}

/// Runs an operation beside a task that wants to run every five milliseconds. Returns what it returned.
async fn measured<T>(what: &str, operation: impl Future<Output = T>) -> T {
    let longest = Arc::new(AtomicU64::new(0));
    let other = tokio::spawn({
        let longest = longest.clone();
        async move {
            loop {
                let start = Instant::now();
                tokio::time::sleep(Duration::from_millis(5)).await;
                longest.fetch_max(start.elapsed().as_millis() as u64, Ordering::Relaxed);
            }
        }
    });
    let (before, start) = (verifications(), Instant::now());
    let done = operation.await;
    let made = verifications() - before;
    other.abort();
    eprintln!(
        "{what}: {made} verifications, {:?}; the other task waited {} ms at most",
        start.elapsed(),
        longest.load(Ordering::Relaxed)
    );
    assert!(made <= u64::from(MAX_VERIFICATIONS), "{what}: {made} verifications");
    done
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_of_one_tag_cost_a_bounded_number_of_verifications() {
    let _alone = ALONE.lock().await;
    let (_lab, engine, _dir) = world("colliding-keys").await;
    let now = NOW.parse().unwrap();
    let before = verifications();
    let chain = measured("chain of trust", engine.dnssec(ZONE, now)).await.unwrap();
    assert!(verifications() - before > 8, "the zone has to cost something, or the test shows nothing");
    assert!(matches!(chain.status, DnssecStatus::Bogus | DnssecStatus::Indeterminate), "{chain:?}");
    let (delegation, _) = measured("scan", engine.scan(ZONE, now)).await.unwrap();
    assert!(delegation.any_authoritative(), "{delegation:?}");
    let report = measured("check", engine.check(ZONE, &CheckOptions::new(now))).await.unwrap();
    assert!(report.notes.iter().any(|n| n.contains("signatures were verified")), "{:?}", report.notes);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_dnames_are_read_once_and_followed_nowhere() {
    let _alone = ALONE.lock().await;
    let (_lab, engine, _dir) = world("dnames").await;
    let (host, now) = (Fqdn::trusted("www.sealed.example"), NOW.parse().unwrap());
    let _ = measured("trace", engine.trace(&host, "A")).await.unwrap();
    let _ = measured("chain of aliases", engine.chain(&host, &ChainQuestion::host())).await.unwrap();
    let _ = measured("chain of trust", engine.dnssec(ZONE, now)).await.unwrap();
    let _ = measured("check", engine.check(ZONE, &CheckOptions::new(now))).await;
}
