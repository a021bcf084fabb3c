//! The fleet and the lifecycle of features at scale: `cargo bench -p domainscope-server --bench fleet` (`cargo xtask bench fleet`).
//!
//! Agents join over the server's router and answer at once, so that what is measured is the server. Printed: CPU of the
//! server for agents that wait, questions answered per second while every domain is asked about, the time from the loss of an
//! agent to the answer of another one to the same question, and how long it takes to turn a feature off over many stored
//! objects with the latency of an inventory page meanwhile. On SQLite. Numbers can be set: `-- --agents N --domains N
//! --objects N --idle SECONDS`.

#[allow(dead_code, reason = "tests use the rest")]
#[path = "../tests/http/site.rs"]
mod site;

use axum::body::Body;
use axum::http::Request;
use features::{Gates, Runner, State};
use fleet::{
    Answer, AnswerSent, Join, JoinToken, KeyPair, PROTOCOL, Poll, PollReply, Question, SignedRequest,
};
use futures::StreamExt as _;
use model::Timestamp;
use model::account::Actor;
use model::configure::{ConnectLink, ServiceKind, ServiceSpec, StoredService};
use model::ids::OrgId;
use model::item::Ownership;
use model::list_query::ListQuery;
use model::names::DomainName;
use monitor::{SecondPlace as _, SystemClock};
use serde_json::Value;
use site::{Site, site};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use store::{FeatureWrite, NewItem, Store};
use tower::ServiceExt as _;

/// Turned off; its data are links to customer pages.
const FEATURE: &str = "domain-connect-apply";
/// Questions asked at the same time.
const PARALLEL: usize = 64;

fn setting(name: &str, default: usize) -> usize {
    let mut words = std::env::args().skip_while(|word| word != name);
    words.nth(1).and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Seconds of CPU that this process has used.
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = text.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    let field = |n: usize| after.split_whitespace().nth(n).and_then(|v| v.parse::<f64>().ok()).unwrap_or(0.0);
    // utime and stime are fields 14 and 15 of proc_pid_stat(5), in hundredths of a second.
    (field(11) + field(12)) / 100.0
}

struct Agent {
    router: axum::Router,
    id: String,
    key: KeyPair,
    answered: Arc<AtomicUsize>,
}

impl Agent {
    async fn join(site: &Site, id: String, answered: Arc<AtomicUsize>) -> Agent {
        let made = site.api("POST", "/api/v1/fleet/tokens", Value::Null).await.1;
        let token = JoinToken::read(made["token"].as_str().expect("a token")).expect("reads");
        let key = KeyPair::generate().expect("a key");
        let mut agent = Agent { router: site.router.clone(), id: String::new(), key, answered };
        let join = Join {
            protocol: PROTOCOL,
            token: token.secret,
            id: id.clone(),
            region: String::new(),
            version: "0.1.0".into(),
            key: agent.key.public(),
        };
        loop {
            if agent.send("/agent/v1/join", &join).await.is_some() {
                break;
            }
            // Joining has a limit per second.
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        agent.id = id;
        agent
    }

    async fn send(&self, path: &str, body: &impl serde::Serialize) -> Option<Vec<u8>> {
        let body = serde_json::to_vec(body).expect("JSON");
        let stamp = Timestamp::now().as_microsecond();
        let signed = SignedRequest { path, agent: &self.id, stamp, body: &body };
        let request = Request::post(path)
            .header("host", "scope.example")
            .header("domainscope-agent", &self.id)
            .header("domainscope-stamp", stamp.to_string())
            .header("domainscope-signature", self.key.sign(&signed.of_agent()))
            .body(Body::from(body))
            .expect("a request");
        let answer = self.router.clone().oneshot(request).await.expect("an answer");
        let is_ok = answer.status().is_success();
        let bytes = axum::body::to_bytes(answer.into_body(), 8 << 20).await.expect("a body");
        is_ok.then(|| bytes.to_vec())
    }

    async fn work(self) {
        let poll = Poll {
            protocol: PROTOCOL,
            version: "0.1.0".into(),
            capacity: 16,
            wait_ms: 15_000,
            ..Poll::default()
        };
        loop {
            let Some(reply) = self.send("/agent/v1/poll", &poll).await else {
                tokio::time::sleep(Duration::from_millis(200)).await;
                continue;
            };
            let reply: PollReply = serde_json::from_slice(&reply).expect("a reply");
            for work in reply.work {
                let answer = simulated(&work.question);
                let sent = AnswerSent { work: work.id, answer };
                // Counted first: the question is answered as soon as the server has read it.
                self.answered.fetch_add(1, Ordering::Relaxed);
                while self.send("/agent/v1/answer", &sent).await.is_none() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
    }
}

/// The answer of an agent for which no server answers.
fn simulated(question: &Question) -> Answer {
    let Question::Authority { name, rtype } = question else {
        return Answer::Failed { reason: "simulated".into() };
    };
    let seen = serde_json::json!({ "answer": "authority", "seen": {
        "name": name, "type": rtype, "zone": name, "outcome": "serves", "aliases": [], "records": [], "ttl": null,
        "negative_ttl": null, "soa": null, "servers": [], "agree": true, "asked_at": Timestamp::now(), "notes": [],
        "sentence": "" } });
    serde_json::from_value(seen).expect("an answer")
}

async fn questions(site: &Site, agents: usize, domains: usize, idle: Duration) {
    let answered = Arc::new(AtomicUsize::new(0));
    let mut tasks = Vec::new();
    for n in 0..agents {
        let agent = Agent::join(site, format!("pop-{n:03}"), answered.clone()).await;
        tasks.push((agent.id.clone(), tokio::spawn(agent.work())));
    }
    println!("{agents} agents joined");
    let before = cpu();
    tokio::time::sleep(idle).await;
    let share = (cpu() - before) / idle.as_secs_f64() / agents as f64 * 100.0;
    println!("  CPU of the server for an agent that waits: {share:.3} % of a core");

    let store: Arc<dyn Store> = site.scanner.store.clone();
    let second =
        product::SecondLook { store: store.clone(), gates: Gates::default(), clock: Arc::new(SystemClock) };
    let (began, cpu_before) = (Instant::now(), cpu());
    futures::stream::iter(0..domains)
        .for_each_concurrent(PARALLEL, |n| {
            let second = &second;
            async move {
                let name = DomainName::trusted(&format!("name-{n:06}.example"));
                assert!(second.answering(&name).await.is_some());
            }
        })
        .await;
    let took = began.elapsed().as_secs_f64();
    let done = answered.load(Ordering::Relaxed);
    println!(
        "  {domains} domains asked about in {took:.1} s: {:.0} a second, {:.2} ms of CPU each; {done} answers",
        domains as f64 / took,
        (cpu() - cpu_before) * 1000.0 / domains as f64
    );

    // The agent that a name belongs to ends without notice; the question then goes to another one.
    let name = DomainName::trusted("moved.example");
    let chosen = features::leader(name.as_str(), tasks.iter().map(|(id, _)| id.as_str())).map(str::to_owned);
    let lost = tasks.iter().find(|(id, _)| Some(id) == chosen.as_ref()).expect("it is one of them");
    lost.1.abort();
    let (began, before) = (Instant::now(), answered.load(Ordering::Relaxed));
    while answered.load(Ordering::Relaxed) == before {
        let _ = second.answering(&name).await;
    }
    println!(
        "  an agent was lost: its work was done by another one after {:.1} s",
        began.elapsed().as_secs_f64()
    );
    tasks.iter().for_each(|(_, task)| task.abort());
}

async fn feature_off(site: &Site, objects: usize) {
    let store: Arc<dyn Store> = site.scanner.store.clone();
    let now = Timestamp::now();
    let names: Vec<_> = (0..500)
        .map(|i| {
            let name = DomainName::trusted(&format!("held-{i:03}.example"));
            let (unicode, note) = (name.unicode(), String::new());
            NewItem { name, unicode, ownership: Ownership::Owned, tags: vec![], note }
        })
        .collect();
    store.add(OrgId::BUILT_IN, &names, now).await.expect("adds");
    let spec = ServiceSpec::new(ServiceKind::Proof, "", [("value", "x=1")]).expect("a service");
    let service = StoredService::new("one".into(), "held-000.example", spec, now);
    store.add_service(OrgId::BUILT_IN, &service, now).await.expect("adds");
    let gates = Gates::default();
    let runner = Runner::new(store.clone(), gates, "bench".into(), "0.1.0", now);
    runner.tick(now).await.expect("a tick");
    let began = Instant::now();
    for n in 0..objects {
        let link = ConnectLink {
            service: "one".into(),
            domain: "held-000.example".into(),
            brand: "Northlake".into(),
            accent: "#1f6feb".into(),
            help: String::new(),
            expires_at: now + jiff::SignedDuration::from_hours(24),
        };
        store.put_connect_link(OrgId::BUILT_IN, &format!("hash-{n}"), &link).await.expect("stores");
    }
    println!("{objects} links stored in {:.1} s", began.elapsed().as_secs_f64());
    let page = async || {
        let began = Instant::now();
        store.list(OrgId::BUILT_IN, &ListQuery::default(), Timestamp::now()).await.expect("a page");
        began.elapsed()
    };
    let report = |what: &str, mut times: Vec<Duration>| {
        times.sort();
        let at = |percent: usize| times[(times.len() - 1) * percent / 100];
        println!(
            "  inventory page {what}: p50 {:.1?}, p99 {:.1?}, longest {:.1?} ({} of them)",
            at(50),
            at(99),
            at(100),
            times.len()
        );
    };
    let mut calm = Vec::new();
    for _ in 0..100 {
        calm.push(page().await);
    }
    report("before", calm);
    let write = FeatureWrite {
        name: FEATURE.into(),
        desired: Some(false),
        expected: None,
        metadata: None,
        declared: None,
    };
    store.set_feature(&Actor::system(), OrgId::BUILT_IN, &write, now).await.expect("is set");
    let began = Instant::now();
    let turning = tokio::spawn(async move {
        loop {
            let tick = runner.tick(Timestamp::now()).await.expect("a tick");
            if tick.features.iter().any(|f| f.name == FEATURE && f.state == State::Off) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    let mut meanwhile = Vec::new();
    while !turning.is_finished() {
        meanwhile.push(page().await);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    turning.await.expect("it ends");
    println!("{FEATURE} turned off over {objects} objects in {:.2} s", began.elapsed().as_secs_f64());
    report("meanwhile", meanwhile);
    assert_eq!(store.remaining("connect-links").await.expect("counts").count, 0);
}

#[tokio::main]
async fn main() {
    // `cargo test --benches` runs it small, to see that it still works.
    let is_bench = std::env::args().any(|word| word == "--bench");
    let or = |all: usize, few: usize| if is_bench { all } else { few };
    let site = site(false).await;
    let idle = Duration::from_secs(setting("--idle", or(10, 2)) as u64);
    questions(&site, setting("--agents", or(50, 3)), setting("--domains", or(10_000, 50)), idle).await;
    feature_off(&site, setting("--objects", or(100_000, 2_500))).await;
}
