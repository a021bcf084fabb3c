//! How fast the resource API answers: `cargo bench -p domainscope-server --bench resources`.
//!
//! Lists 100,000 domains in chunks of 500, and holds watches of claims and of domains open while claims out of one block
//! are made and scans are recorded at a steady rate: the time from the beginning of each to each watcher. On SQLite, through
//! the server's router. Then one organisation is brought to 100,000 allocated prefixes, and at that size claims are made and
//! released, and addresses are looked up. Numbers can be set: `-- --items N --watches N --rate N --seconds N --prefixes N`;
//! 0 items or watches leaves that part out.

#[allow(dead_code, reason = "tests use the rest")]
#[path = "../tests/http/site.rs"]
mod site;

use axum::body::Body;
use axum::http::Request;
use futures::StreamExt as _;
use model::ids::OrgId;
use model::item::Ownership;
use model::names::DomainName;
use serde_json::{Value, json};
use site::{BEARER, Site, site};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use store::NewItem;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

const DOMAINS: &str = "/apis/datumapis.com/v1alpha/domains";
const CLAIMS: &str = "/apis/datumapis.com/v1alpha/namespaces/default/networkclaims";

fn setting(name: &str, default: usize) -> usize {
    let mut words = std::env::args().skip_while(|word| word != name);
    words.nth(1).and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn report(what: &str, times: &mut [Duration]) {
    times.sort();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    println!(
        "{what}: p50 {:.1?}, p99 {:.1?}, longest {:.1?} ({} of them)",
        at(50),
        at(99),
        at(100),
        times.len()
    );
}

async fn lists(site: &Site, items: usize) {
    let now = model::Timestamp::now();
    for part in (0..items).collect::<Vec<_>>().chunks(2_000) {
        let new = |i: &usize| {
            let name = DomainName::trusted(&format!("name-{i:06}.example"));
            NewItem {
                unicode: name.unicode(),
                name,
                ownership: Ownership::Owned,
                tags: vec![],
                note: String::new(),
            }
        };
        site.scanner
            .store
            .add(OrgId::BUILT_IN, &part.iter().map(new).collect::<Vec<_>>(), now)
            .await
            .expect("adds");
    }
    let (mut times, mut listed, mut token) = (Vec::new(), 0, String::new());
    let begin = Instant::now();
    loop {
        let start = Instant::now();
        let (_, page) = site.api("GET", &format!("{DOMAINS}?limit=500&continue={token}"), Value::Null).await;
        times.push(start.elapsed());
        listed += page["items"].as_array().expect("a list").len();
        match page["metadata"]["continue"].as_str() {
            Some(next) => token = next.to_string(),
            None => break,
        }
    }
    assert_eq!(listed, items);
    println!("{items} domains listed in {:.1?}", begin.elapsed());
    report("  a chunk of 500", &mut times);
}

fn claim(name: &str) -> Value {
    json!({
        "apiVersion": "datumapis.com/v1alpha", "kind": "NetworkClaim", "metadata": { "name": name },
        "spec": { "addressSpace": [{ "from": "10.0.0.0/8", "prefixLength": 28, "reference": { "resource": "bench" } }] },
    })
}

/// Instants at which numbered writes began.
type Begun = Arc<Vec<OnceLock<Instant>>>;

/// The number in the name of the object that a line is about.
fn number(line: &[u8], prefix: &str) -> usize {
    let at = line.windows(prefix.len()).position(|w| w == prefix.as_bytes()).expect("a name") + prefix.len();
    line[at..].iter().take_while(|b| b.is_ascii_digit()).fold(0, |n, b| n * 10 + usize::from(b - b'0'))
}

/// Opens a watch and notes how long after its beginning each write is seen. Reads of a line no more than its name, so that
/// the clients of the benchmark do not take the time that is measured.
async fn watcher(
    site: &Site,
    path: &str,
    from: &str,
    prefix: &'static str,
    begun: Begun,
) -> JoinHandle<Vec<Duration>> {
    let request = Request::get(format!("{path}?watch=true&resourceVersion={from}"));
    let request = request.header("host", "localhost:8080").header("authorization", BEARER);
    let answer = site.router.clone().oneshot(request.body(Body::empty()).expect("a request")).await;
    let mut lines = answer.expect("an answer").into_body().into_data_stream();
    tokio::spawn(async move {
        let mut times = Vec::with_capacity(begun.len());
        while times.len() < begun.len() {
            let chunk = lines.next().await.expect("the watch lasts").expect("a line");
            for line in chunk.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
                times.push(begun[number(line, prefix)].get().expect("it began").elapsed());
            }
        }
        times
    })
}

async fn watches(site: &Site, count: usize, rate: usize, seconds: usize) {
    let (_, list) = site.api("GET", CLAIMS, Value::Null).await;
    let from = list["metadata"]["resourceVersion"].as_str().expect("a position").to_string();
    let each = (rate * seconds / 2).max(1);
    let new = || -> Begun { Arc::new((0..each).map(|_| OnceLock::new()).collect()) };
    let (claims, scans) = (new(), new());
    let mut watchers = (Vec::new(), Vec::new());
    for i in 0..count {
        if i % 2 == 0 {
            watchers.0.push(watcher(site, CLAIMS, &from, "\"name\":\"claim-", claims.clone()).await);
        } else {
            watchers.1.push(watcher(site, DOMAINS, &from, "\"name\":\"name-", scans.clone()).await);
        }
    }
    let begin = Instant::now();
    let mut clock = tokio::time::interval(Duration::from_secs(2) / u32::try_from(rate).expect("a rate"));
    let (mut claimed, mut scanned) = (Vec::new(), Vec::new());
    for i in 0..each {
        clock.tick().await;
        let start = *claims[i].get_or_init(Instant::now);
        let (status, made) = site.api("POST", CLAIMS, claim(&format!("claim-{i:06}"))).await;
        claimed.push(start.elapsed());
        assert_eq!(status.as_u16(), 201, "{made}");
        let start = *scans[i].get_or_init(Instant::now);
        let name = DomainName::trusted(&format!("name-{i:06}.example"));
        site.scanner.scan(&name, true).await.expect("records");
        scanned.push(start.elapsed());
    }
    let rate = f64::from(u32::try_from(2 * each).expect("a number")) / begin.elapsed().as_secs_f64();
    println!(
        "{each} claims out of one block and {each} scans, {rate:.0} a second together, {count} watches open"
    );
    report("  a claim", &mut claimed);
    report("  a scan recorded", &mut scanned);
    for (what, watchers) in [("claim", watchers.0), ("scan", watchers.1)] {
        let mut times = Vec::new();
        for watcher in watchers {
            times.extend(watcher.await.expect("the watcher ends"));
        }
        report(&format!("  from the beginning of a {what} to a watcher"), &mut times);
    }
}

/// Entries of each claim that fills the registry; the most that a claim may have is 256.
const ENTRIES: usize = 250;

/// Fills a block with `count` prefixes out of a pool that leaves gaps, then measures single claims and look-ups.
async fn prefixes(site: &Site, count: usize) {
    let entry = |prefix: String| json!({ "prefix": prefix, "from": "10.0.0.0/8", "reference": { "resource": "fill" } });
    let object = |name: String, entries: Vec<Value>| {
        json!({
            "apiVersion": "datumapis.com/v1alpha", "kind": "NetworkClaim", "metadata": { "name": name },
            "spec": { "addressSpace": entries },
        })
    };
    // Every second /28 from 10.128.0.0 on.
    let prefix = |i: usize| {
        let first = 0x0a80_0000 + u32::try_from(i).expect("a number") * 32;
        format!("{}/28", std::net::Ipv4Addr::from(first))
    };
    let (begin, mut filled) = (Instant::now(), Vec::new());
    for (i, part) in (0..count).collect::<Vec<_>>().chunks(ENTRIES).enumerate() {
        let entries = part.iter().map(|i| entry(prefix(*i))).collect();
        let start = Instant::now();
        let (status, made) = site.api("POST", CLAIMS, object(format!("fill-{i:06}"), entries)).await;
        filled.push(start.elapsed());
        assert_eq!(status.as_u16(), 201, "{made}");
    }
    println!("{count} prefixes allocated in {:.1?}, {ENTRIES} a claim", begin.elapsed());
    let tenth = (filled.len() / 10).max(1);
    let mut late = filled.split_off(filled.len() - tenth);
    filled.truncate(tenth);
    report("  a claim of the first tenth", &mut filled);
    report("  a claim of the last tenth", &mut late);
    let (mut made, mut gone) = (Vec::new(), Vec::new());
    for i in 0..1_000 {
        let name = format!("one-{i:06}");
        let start = Instant::now();
        let (status, claim) = site.api("POST", CLAIMS, claim(&name)).await;
        made.push(start.elapsed());
        assert_eq!(status.as_u16(), 201, "{claim}");
        if i % 2 == 0 {
            let start = Instant::now();
            let (status, e) = site.api("DELETE", &format!("{CLAIMS}/{name}"), Value::Null).await;
            gone.push(start.elapsed());
            assert_eq!(status.as_u16(), 200, "{e}");
        }
    }
    report("  a claim of one prefix at that size", &mut made);
    report("  a release at that size", &mut gone);
    let (mut covered, mut uncovered) = (Vec::new(), Vec::new());
    for i in 0..2_000 {
        let at = |offset: u32| {
            // In the second half: the gaps that single claims took come first.
            let place = count / 2 + i * count / 4_000;
            let first = 0x0a80_0000 + u32::try_from(place).expect("a number") * 32;
            std::net::IpAddr::from(std::net::Ipv4Addr::from(first + offset))
        };
        for (offset, times) in [(5, &mut covered), (21, &mut uncovered)] {
            let start = Instant::now();
            let found = site.scanner.store.covering(OrgId::BUILT_IN, &[at(offset)]).await.expect("reads");
            times.push(start.elapsed());
            assert_eq!(found[0].is_some(), offset == 5);
        }
    }
    report("  who covers an address that a claim holds", &mut covered);
    report("  who covers one that none holds", &mut uncovered);
    let mut blocks = Vec::new();
    for _ in 0..200 {
        let start = Instant::now();
        let found = site.scanner.store.network_blocks(OrgId::BUILT_IN, 10_000).await.expect("reads");
        blocks.push(start.elapsed());
        assert_eq!(found.len(), 1);
    }
    report("  the blocks of all claims", &mut blocks);
}

#[tokio::main]
async fn main() {
    let site = site(false).await;
    let stop = CancellationToken::new();
    let (hub, store) = (site.scanner.hub.clone(), site.scanner.store.clone());
    tokio::spawn(hub.follow(store, Duration::from_millis(500), stop.clone()));
    let (items, count) = (setting("--items", 100_000), setting("--watches", 1_000));
    if items > 0 {
        lists(&site, items).await;
    }
    if count > 0 {
        watches(&site, count, setting("--rate", 100), setting("--seconds", 10)).await;
    }
    prefixes(&site, setting("--prefixes", 100_000)).await;
    stop.cancel();
}
