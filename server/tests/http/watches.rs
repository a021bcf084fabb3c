//! Watches that share the tail of the change log: slow ones, late ones, those of other organisations and replicas.

use crate::site::{Site, site, site_at};
use futures::StreamExt as _;
use futures::stream::BoxStream;
use model::ids::{Caller, OrgId, Role};
use model::item::Ownership;
use model::names::DomainName;
use model::ownership::claim::LapseReason;
use model::ownership::{Claim, ClaimPolicy, ClaimState, Method, Nonce};
use product::Services;
use resources::{Api, Reply, Request, TailLimits, WatchLine};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use store::{ClaimWrite, NewItem, StoredClaim};
use tokio_util::sync::{CancellationToken, DropGuard};

const KINDS: &str = "/apis/datumapis.com/v1alpha";

/// A client of the API without HTTP between.
struct Client {
    api: Api,
    caller: Caller,
}

/// Events of a watch as they come.
struct Events(BoxStream<'static, WatchLine>);

impl Client {
    fn new(services: &Services, org: OrgId) -> Self {
        let limits = TailLimits { changes: 8, ..TailLimits::default() };
        let api = Api::new(Arc::new(services.clone())).with_tails(limits);
        Client { api, caller: Caller::new(org, "test", Role::Admin) }
    }

    /// The same API for another organisation.
    fn of(&self, org: OrgId) -> Self {
        Client { api: self.api.clone(), caller: Caller::new(org, "test", Role::Admin) }
    }

    async fn ask(&self, method: &str, path: &str, query: &str, body: &Value) -> Reply {
        let request = Request {
            method: method.into(),
            path: format!("{KINDS}/{path}"),
            query: query.into(),
            accept: "application/json".into(),
            content_type: "application/json".into(),
            body: body.to_string().into_bytes(),
            ..Request::default()
        };
        self.api.answer(&self.caller, request).await
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let Reply::Whole { status, body, .. } = self.ask(method, path, "", body).await else {
            panic!("not one body")
        };
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert!(status < 300, "{status} {body}");
        body
    }

    async fn claim(&self, n: u8) {
        let claim = json!({
            "metadata": { "name": format!("c{n:02}") },
            "spec": { "addressSpace": [{ "prefix": format!("10.0.{n}.0/24"), "reference": { "resource": "x" } }] },
        });
        self.send("POST", "networkclaims", &claim).await;
    }

    /// A position behind which nothing is missing; of an empty log it would be 0, which stands for the state.
    async fn position(&self) -> String {
        let list = self.send("GET", "networkclaims", &Value::Null).await;
        list["metadata"]["resourceVersion"].as_str().unwrap().to_string()
    }

    async fn watch(&self, plural: &str, query: &str) -> Events {
        match self.ask("GET", plural, &format!("watch=true&{query}"), &Value::Null).await {
            Reply::Watch(lines) => Events(lines),
            Reply::Whole { body, .. } => panic!("{}", String::from_utf8_lossy(&body)),
            Reply::List { .. } => panic!("a list"),
        }
    }

    async fn from(&self, position: &str) -> Events {
        self.watch("networkclaims", &format!("resourceVersion={position}")).await
    }
}

impl Events {
    async fn next(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_secs(30), self.0.next()).await.expect("an event");
        serde_json::from_slice(&line.expect("the watch lasts")).unwrap()
    }

    /// The next events in short.
    async fn short(&mut self, count: usize) -> Vec<String> {
        let mut all = Vec::new();
        for _ in 0..count {
            let event = self.next().await;
            let (word, object) = (event["type"].as_str().unwrap(), &event["object"]);
            let what = object["metadata"]["name"].as_str().or(object["reason"].as_str()).unwrap();
            all.push(format!("{word} {what}"));
        }
        all
    }
}

/// Follows the change log until the guard is dropped.
fn follow(services: &Services) -> DropGuard {
    let stop = CancellationToken::new();
    let (hub, store) = (services.scanner.hub.clone(), services.scanner.store.clone());
    tokio::spawn(hub.follow(store, Duration::from_millis(100), stop.clone()));
    stop.drop_guard()
}

fn added(from: u8, to: u8) -> Vec<String> {
    (from..=to).map(|n| format!("ADDED c{n:02}")).collect()
}

/// The condition `Verified` in a change of a domain: its status, reason and last transition.
fn verified(event: &Value) -> (String, String, String) {
    assert_eq!(event["type"], "MODIFIED", "{event}");
    let conditions = event["object"]["status"]["conditions"].as_array().unwrap();
    let found = conditions.iter().find(|c| c["type"] == "Verified").unwrap();
    let word = |key: &str| found[key].as_str().unwrap().to_string();
    (word("status"), word("reason"), word("lastTransitionTime"))
}

#[tokio::test]
async fn a_watch_sees_the_proof_of_ownership_come_and_go() {
    let site = site(false).await;
    let _follow = follow(&site.services);
    let client = Client::new(&site.services, OrgId::BUILT_IN);
    let domain = json!({ "metadata": { "name": "q7.io" }, "spec": { "name": "q7.io" } });
    let added = client.send("POST", "domains", &domain).await;
    let from = added["metadata"]["resourceVersion"].as_str().unwrap();
    let mut events = client.watch("domains", &format!("resourceVersion={from}")).await;
    let at = |minute: i64| model::Timestamp::now() + jiff::SignedDuration::from_mins(minute);
    let text = |at: model::Timestamp| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let (proven, lapsed, withdrawn) = (at(1), at(2), at(3));
    let policy = ClaimPolicy::default();
    let mut claim = StoredClaim {
        id: "c1".into(),
        org: OrgId::BUILT_IN,
        name: "q7.io".into(),
        claim: Claim::new("q7.io", Nonce::new([1; 20]), Method::Txt, at(0), &policy),
        round: None,
        created_at: at(0),
        reviewed_at: at(0),
        version: 0,
    };
    let first = added["metadata"]["creationTimestamp"].as_str().unwrap().to_string();
    let states = [
        (ClaimState::Pending, at(0), ("False", "Pending", first)),
        (ClaimState::Verified { since: proven }, proven, ("True", "Verified", text(proven))),
        (ClaimState::Grace { since: proven, until: lapsed }, proven, ("True", "Lapsing", text(proven))),
        (
            ClaimState::Lapsed { at: lapsed, reason: LapseReason::ProofGone },
            lapsed,
            ("False", "Lapsed", text(lapsed)),
        ),
        (ClaimState::Verified { since: withdrawn }, withdrawn, ("True", "Verified", text(withdrawn))),
    ];
    let store = &site.scanner.store;
    for (state, now, (status, reason, since)) in states {
        claim.claim.state = state;
        store.write_claims(&[ClaimWrite { claim: claim.clone(), changes: vec![] }], now).await.unwrap();
        claim.version += 1;
        assert_eq!(verified(&events.next().await), (status.into(), reason.into(), since));
    }
    let gone = at(4);
    assert!(store.remove_claim(OrgId::BUILT_IN, "q7.io", gone).await.unwrap());
    assert_eq!(verified(&events.next().await), ("False".into(), "NotClaimed".into(), text(gone)));
}

#[tokio::test]
async fn slow_and_late_watches_read_the_log_until_the_tail_reaches_back() {
    let site = site(false).await;
    let _follow = follow(&site.services);
    let client = Client::new(&site.services, OrgId::BUILT_IN);
    client.claim(0).await;
    let begin = client.position().await;
    let (mut fast, mut slow) = (client.from(&begin).await, client.from(&begin).await);
    client.claim(1).await;
    assert_eq!((fast.short(1).await, slow.short(1).await), (added(1, 1), added(1, 1)));
    // Twenty more, of which eight are kept; the slow one reads none of them meanwhile.
    let mut between = String::new();
    for n in 2..=21 {
        client.claim(n).await;
        assert_eq!(fast.short(1).await, added(n, n));
        if n == 17 {
            between = client.position().await;
        }
    }
    assert_eq!(slow.short(20).await, added(2, 21));
    // From the beginning, which only the log has, and from a position that is kept.
    let (mut late, mut joined) = (client.from(&begin).await, client.from(&between).await);
    assert_eq!((late.short(21).await, joined.short(4).await), (added(1, 21), added(18, 21)));
    client.send("DELETE", "networkclaims/c05", &Value::Null).await;
    client.claim(22).await;
    for watch in [&mut fast, &mut slow, &mut late, &mut joined] {
        assert_eq!(watch.short(2).await, ["DELETED c05", "ADDED c22"]);
    }
}

#[tokio::test]
async fn each_watch_has_its_own_selector_form_and_organisation() {
    let site = site(false).await;
    let _follow = follow(&site.services);
    let one = Client::new(&site.services, OrgId::BUILT_IN);
    let noa = site.identity.ensure_person("noa@birch.example", "Noa Birch").await.unwrap();
    let other = site.scanner.store.create_org("k2", "Birch", &noa, model::Timestamp::now()).await.unwrap();
    let two = one.of(other);
    one.claim(0).await;
    let begin = one.position().await;
    let mut all = one.from(&begin).await;
    let mut only = one
        .watch("networkclaims", &format!("resourceVersion={begin}&fieldSelector=metadata.name%3Dc02"))
        .await;
    let mut labelled =
        one.watch("networkclaims", &format!("resourceVersion={begin}&labelSelector=a%3D1")).await;
    let mut theirs = two.from(&begin).await;
    for n in 1..=2 {
        one.claim(n).await;
    }
    two.claim(3).await;
    assert_eq!(all.short(2).await, added(1, 2));
    for labels in [json!({ "a": "1" }), json!({ "a": "2" })] {
        let mut claim = one.send("GET", "networkclaims/c01", &Value::Null).await;
        claim["metadata"]["labels"] = labels;
        one.send("PUT", "networkclaims/c01", &claim).await;
        // Read at once: what changes again before it is read is reported once, as it is then.
        assert_eq!(all.short(1).await, ["MODIFIED c01"]);
    }
    assert_eq!(only.short(1).await, ["ADDED c02"]);
    assert_eq!(labelled.short(2).await, ["ADDED c01", "DELETED c01"]);
    assert_eq!(theirs.short(1).await, ["ADDED c03"]);
    // Who may not read the objects gets no watch, whatever others read.
    let mut visitor = one.of(OrgId::BUILT_IN);
    visitor.caller.visitor = Some(model::open_tools::ToolSet::default());
    let Reply::Whole { status, .. } = visitor.ask("GET", "networkclaims", "watch=true", &Value::Null).await
    else {
        panic!("a visitor watches");
    };
    assert_eq!(status, 401);
}

async fn add(site: &Site, count: usize) {
    let new = |i: usize| {
        let name = DomainName::trusted(&format!("name-{i:04}.example"));
        NewItem {
            unicode: name.unicode(),
            name,
            ownership: Ownership::Owned,
            tags: vec![],
            note: String::new(),
        }
    };
    let items: Vec<_> = (0..count).map(new).collect();
    site.scanner.store.add(OrgId::BUILT_IN, &items, model::Timestamp::now()).await.unwrap();
}

#[tokio::test]
async fn a_watch_that_begins_with_the_state_gets_each_object_once_and_what_changed_meanwhile() {
    let site = site(false).await;
    let _follow = follow(&site.services);
    let client = Client::new(&site.services, OrgId::BUILT_IN);
    add(&site, 1_200).await;
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = client.watch("domains", query).await;
    let first = watch.next().await;
    assert_eq!(first["object"]["metadata"]["name"], "name-0000.example");
    // The first chunk is on its way, the last one is not read yet: it shows the object as it is then.
    for name in ["name-0000.example", "name-1100.example"] {
        let mut domain = client.send("GET", &format!("domains/{name}"), &Value::Null).await;
        domain["metadata"]["labels"] = json!({ "changed": "yes" });
        client.send("PUT", &format!("domains/{name}"), &domain).await;
    }
    let mut names = BTreeSet::from(["name-0000.example".to_string()]);
    for _ in 1..1_200 {
        let event = watch.next().await;
        let name = event["object"]["metadata"]["name"].as_str().unwrap().to_string();
        assert_eq!((event["type"].as_str(), names.insert(name)), (Some("ADDED"), true), "{event}");
    }
    let mark = watch.next().await;
    assert_eq!(mark["type"], "BOOKMARK");
    assert_eq!(mark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    assert_eq!(watch.short(1).await, ["MODIFIED name-0000.example"]);
    client.send("DELETE", "domains/name-1100.example", &Value::Null).await;
    assert_eq!(watch.short(1).await, ["DELETED name-1100.example"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn watches_of_two_replicas_report_the_same() {
    let Some(cluster) = cluster::Cluster::start("-c fsync=off") else { return };
    let url = cluster.database("watches").await;
    let site = site_at(&url).await;
    let mut there = site.services.clone();
    there.scanner.store = store::open(&url).await.unwrap();
    there.scanner.hub = monitor::Hub::default();
    let _follow = (follow(&site.services), follow(&there));
    let replicas = [&site.services, &there].map(|s| Client::new(s, OrgId::BUILT_IN));
    replicas[0].claim(0).await;
    let begin = replicas[0].position().await;
    let mut watches = Vec::new();
    for replica in &replicas {
        for _ in 0..3 {
            watches.push(replica.from(&begin).await);
        }
    }
    for n in 1..=20 {
        replicas[usize::from(n % 2)].claim(n).await;
    }
    for events in futures::future::join_all(watches.iter_mut().map(|watch| watch.short(20))).await {
        assert_eq!(events, added(1, 20));
    }
    replicas[1].send("DELETE", "networkclaims/c03", &Value::Null).await;
    for events in futures::future::join_all(watches.iter_mut().map(|watch| watch.short(1))).await {
        assert_eq!(events, ["DELETED c03"]);
    }
}

#[path = "../../../crates/store/tests/story/cluster.rs"]
mod cluster;
