//! How fast the resource API answers: `cargo bench -p domainscope-server --bench resources`.
//!
//! Lists 100,000 domains in chunks of 500, claims prefixes out of one block, and holds watches open while claims are made
//! at a steady rate: the time from the request to each watcher. On SQLite, through the server's router. Numbers can be
//! set: `-- --items N --watches N --rate N --seconds N`.

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
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use store::NewItem;
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

async fn watches(site: &Site, count: usize, rate: usize, seconds: usize) {
    let begun: Arc<Mutex<HashMap<String, Instant>>> = Arc::default();
    let (_, list) = site.api("GET", CLAIMS, Value::Null).await;
    let from = list["metadata"]["resourceVersion"].as_str().expect("a position").to_string();
    let expected = rate * seconds;
    let mut watchers = tokio::task::JoinSet::new();
    for _ in 0..count {
        let request = Request::get(format!("{CLAIMS}?watch=true&resourceVersion={from}"));
        let request = request.header("host", "localhost:8080").header("authorization", BEARER);
        let answer = site.router.clone().oneshot(request.body(Body::empty()).expect("a request")).await;
        let mut lines = answer.expect("an answer").into_body().into_data_stream();
        let begun = begun.clone();
        watchers.spawn(async move {
            let mut times = Vec::with_capacity(expected);
            while times.len() < expected {
                let chunk = lines.next().await.expect("the watch lasts").expect("a line");
                for line in chunk.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
                    let event: Value = serde_json::from_slice(line).expect("an event");
                    let name = event["object"]["metadata"]["name"].as_str().expect("a name");
                    times.push(begun.lock().expect("no panic")[name].elapsed());
                }
            }
            times
        });
    }
    let begin = Instant::now();
    let mut clock = tokio::time::interval(Duration::from_secs(1) / u32::try_from(rate).expect("a rate"));
    let mut writes = Vec::new();
    for i in 0..expected {
        clock.tick().await;
        let name = format!("claim-{i:06}");
        begun.lock().expect("no panic").insert(name.clone(), Instant::now());
        let start = Instant::now();
        let (status, made) = site.api("POST", CLAIMS, claim(&name)).await;
        writes.push(start.elapsed());
        assert_eq!(status.as_u16(), 201, "{made}");
    }
    let rate = f64::from(u32::try_from(expected).expect("a number")) / begin.elapsed().as_secs_f64();
    println!("{expected} claims out of one block, {rate:.0} a second, {count} watches open");
    report("  a claim", &mut writes);
    let mut times: Vec<Duration> = watchers.join_all().await.into_iter().flatten().collect();
    report("  from the request to a watcher", &mut times);
}

#[tokio::main]
async fn main() {
    let site = site(false).await;
    let stop = CancellationToken::new();
    let (hub, store) = (site.scanner.hub.clone(), site.scanner.store.clone());
    tokio::spawn(hub.follow(store, Duration::from_millis(500), stop.clone()));
    lists(&site, setting("--items", 100_000)).await;
    watches(&site, setting("--watches", 1_000), setting("--rate", 100), setting("--seconds", 10)).await;
    stop.cancel();
}
