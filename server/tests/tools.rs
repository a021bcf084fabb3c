//! The analysis tools through HTTP, with the lab underneath: the live stream, the API, denials, limits, and that what
//! runs for a page ends with it.

#[path = "tools/address_space.rs"]
mod address_space;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use futures::StreamExt;
use model::compare::{Comparison, EndKind, Ended, Judged, StopReason, VerdictKind};
use model::fqdn::FqdnReport;
use model::ids::OrgId;
use model::item::Ownership;
use model::names::DomainName;
use model::scan::Live;
use monitor::{Hub, Policy, Scanner, SystemClock, Worker};
use product::identity::Identity;
use product::{Bounds, Services, Tools};
use server::http::{Access, AppState, Bundle};
use server::settings::EngineArgs;
use service::Backend;
use std::sync::Arc;
use std::time::Duration;
use store::NewItem;
use tower::ServiceExt;

struct Site {
    services: Services,
    router: axum::Router,
    lab: lab::Lab,
    _folder: tempfile::TempDir,
}

async fn site() -> Site {
    site_with(Bounds::default()).await
}

async fn site_with(bounds: Bounds) -> Site {
    let folder = tempfile::tempdir().unwrap();
    let now = jiff::Timestamp::now();
    let options = lab::Options::new(lab::Scenario::named("demo").unwrap(), folder.path().join("lab"), now);
    let lab = lab::Lab::start(options).await.unwrap();
    let at = lab.endpoints();
    let args = EngineArgs { config: Some(at.engine.clone()), ..EngineArgs::default() }.resolved().unwrap();
    let internet = server::wiring::internet(&args).unwrap();
    let engine = internet.engine.clone();
    let inspector = server::wiring::inspector(&args, &engine).unwrap();
    let tools = Tools::new(server::wiring::comparer(&args, &engine).unwrap(), bounds, inspector);
    let store = store::open(&folder.path().to_string_lossy()).await.unwrap();
    let scanner = Scanner {
        store,
        observer: Arc::new(internet),
        clock: Arc::new(SystemClock),
        hub: Hub::default(),
        policy: Policy::default(),
    };
    let identity = Identity::new(scanner.store.clone(), Arc::new(SystemClock), 1).unwrap();
    let worker = Worker::new(scanner.clone(), "test");
    let dialer = net::Dialer::new(net::Settings::default()).unwrap();
    let deliverer = notify::Deliverer::new(dialer, None, None);
    let services = Services {
        scanner,
        worker,
        engine,
        tools,
        deliverer,
        identity: identity.clone(),
        quotas: product::Quotas::default(),
        overlap: product::OverlapPolicy::default(),
        gates: features::Gates::default(),
        demo: true,
        visitors: None,
    };
    let metrics = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder().handle();
    let state = AppState::new(
        services.clone(),
        Access { identity, demo: Some("mira@alder.example".into()) },
        Bundle::built_in(&[]),
        metrics,
    );
    Site { services, router: state.router(), lab, _folder: folder }
}

impl Site {
    async fn get(&self, path: &str) -> axum::response::Response {
        let request = Request::get(path).header("host", "localhost:8080").body(Body::empty()).unwrap();
        self.router.clone().oneshot(request).await.unwrap()
    }

    async fn json<T: serde::de::DeserializeOwned>(&self, path: &str) -> (StatusCode, Result<T, String>) {
        let answer = self.get(path).await;
        let status = answer.status();
        let body = axum::body::to_bytes(answer.into_body(), 8 << 20).await.unwrap();
        (status, serde_json::from_slice(&body).map_err(|_| String::from_utf8_lossy(&body).into_owned()))
    }

    /// The whole stream as (event, data).
    async fn stream(&self, path: &str) -> Vec<(String, String)> {
        let answer = self.get(path).await;
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        let body = axum::body::to_bytes(answer.into_body(), 8 << 20).await.unwrap();
        let text = String::from_utf8(body.to_vec()).unwrap();
        let field = |block: &str, name: &str| {
            block.lines().find_map(|l| l.strip_prefix(name)).map(|v| v.trim().to_string())
        };
        text.split("\n\n")
            .filter_map(|block| Some((field(block, "event:")?, field(block, "data:")?)))
            .collect()
    }
}

/// The next message of a live page.
async fn next_message(body: &mut axum::body::BodyDataStream) -> Vec<Live> {
    let mut text = String::new();
    loop {
        let chunk = tokio::time::timeout(Duration::from_secs(10), body.next()).await.expect("a message");
        text.push_str(&String::from_utf8_lossy(&chunk.expect("the stream is open").unwrap()));
        if let Some(data) = text.lines().find_map(|l| l.strip_prefix("data:"))
            && text.contains("\n\n")
        {
            return serde_json::from_str(data).unwrap();
        }
    }
}

#[tokio::test]
async fn live_pages_get_bounded_messages_and_are_told_to_read_anew() {
    let site = site().await;
    let (store, hub) = (site.services.store().clone(), site.services.scanner.hub.clone());
    let name = |i: i32| DomainName::trusted(&format!("n{i}.example"));
    let add = async |range: std::ops::Range<i32>| {
        let items: Vec<_> = range
            .map(|i| NewItem {
                name: name(i),
                unicode: name(i).unicode(),
                ownership: Ownership::Owned,
                tags: vec![],
                note: String::new(),
            })
            .collect();
        store.add(OrgId::BUILT_IN, &items, jiff::Timestamp::now()).await.unwrap();
    };
    let open = async |path: &str| {
        let answer = site.get(path).await;
        assert_eq!(answer.status(), StatusCode::OK);
        answer.into_body().into_data_stream()
    };
    add(0..100).await;
    let missed = next_message(&mut open("/live?since=97").await).await;
    let positions: Vec<_> =
        missed.iter().map(|l| if let Live::Changed(e) = l { e.rv.0 } else { 0 }).collect();
    assert_eq!(positions, [98, 99, 100]);

    // What happens at once is one message, of what the organisation holds only, and each thing once.
    let mut body = open("/live").await;
    for _ in 0..3 {
        for i in 0..100 {
            hub.started(&name(i), jiff::Timestamp::now(), &[]);
        }
        hub.started(&DomainName::trusted("not-held.example"), jiff::Timestamp::now(), &[]);
    }
    let message = next_message(&mut body).await;
    assert_eq!(message.len(), 100);
    assert!(message.iter().all(|l| matches!(l, Live::Scan(p) if p.name.as_str() != "not-held.example")));

    // More than one message holds: the page reads its state again and goes on from there.
    for i in 0..600 {
        hub.started(&DomainName::trusted(&format!("many{i}.example")), jiff::Timestamp::now(), &[]);
    }
    let head = store.head().await.unwrap();
    let reset = |rv| vec![Live::Reset { rv }];
    assert_eq!(next_message(&mut body).await, reset(head));
    hub.started(&name(1), jiff::Timestamp::now(), &[]);
    assert_eq!(next_message(&mut body).await.len(), 1);

    // Away too long, of another database, or before what was pruned: the same.
    add(1000..1600).await;
    let head = store.head().await.unwrap();
    assert_eq!(next_message(&mut open("/live?since=100").await).await, reset(head));
    assert_eq!(next_message(&mut open("/live?since=99999").await).await, reset(head));
    let tomorrow = jiff::Timestamp::now() + Duration::from_secs(2 * 86_400);
    store.prune_log(tomorrow, 400).await.unwrap();
    let before = head.0 - 1;
    assert_eq!(next_message(&mut open(&format!("/live?since={before}")).await).await, reset(head));
}

#[tokio::test]
async fn names_types_and_strangers_are_refused_before_anything_is_asked() {
    let site = site().await;
    for path in ["/live/compare?name=a%20b", "/live/compare?name=", "/live/compare?name=q7.io&type=NOTYPE"] {
        assert_eq!(site.get(path).await.status(), StatusCode::UNPROCESSABLE_ENTITY, "{path}");
    }
    assert_eq!(site.get("/live/compare").await.status(), StatusCode::BAD_REQUEST);
    let (status, said) = site.json::<FqdnReport>("/api/v1/fqdn?name=a%20b").await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(said.unwrap_err().contains("contains a space"));
    for path in ["/live/compare?name=q7.io", "/api/v1/compare?name=q7.io", "/api/v1/fqdn?name=q7.io"] {
        let request = Request::get(path).header("host", "elsewhere.example").body(Body::empty()).unwrap();
        let answer = site.router.clone().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{path}");
        let body = axum::body::to_bytes(answer.into_body(), 8 << 20).await.unwrap();
        assert!(!body.starts_with(b"<"), "{path}: a program is not sent a page");
    }
    assert_eq!(site.lab.query_log().per_resolver.len(), 0);
}

#[tokio::test]
async fn a_comparison_is_told_as_it_happens() {
    let site = site().await;
    let events = site.stream("/live/compare?name=orchard.example&type=a").await;
    let names: Vec<&str> = events.iter().map(|(n, _)| n.as_str()).collect();
    let first: Comparison = serde_json::from_str(&events[0].1).unwrap();
    assert_eq!(names[0], "authority");
    assert!(first.answers.iter().all(|j| j.answer.is_none()));
    let answers: Vec<Judged> =
        events.iter().filter(|(n, _)| n == "answer").map(|(_, d)| serde_json::from_str(d).unwrap()).collect();
    assert_eq!(answers.len(), first.answers.len());
    let longshore = answers.iter().find(|j| j.resolver.id == "longshore").unwrap();
    assert_eq!(longshore.verdict.kind(), VerdictKind::Stale);
    assert_eq!(names[names.len() - 2..], ["summary", "end"]);
    let end: Ended = serde_json::from_str(&events.last().unwrap().1).unwrap();
    assert_eq!(end.kind, EndKind::Done);

    let events = site.stream("/live/compare?name=nothing.q7.io").await;
    let stopped: Comparison = serde_json::from_str(&events[0].1).unwrap();
    assert_eq!(stopped.stopped.unwrap().reason, StopReason::Denied);
    assert_eq!(site.lab.query_log().resolvers_asked("nothing.q7.io"), 0);
}

#[tokio::test]
async fn the_api_answers_whole_and_limits_each_caller() {
    let site = site().await;
    let (status, c) = site.json::<Comparison>("/api/v1/compare?name=q7.io").await;
    assert_eq!((status, c.unwrap().summary.total), (StatusCode::OK, 14));
    let (_, c) = site.json::<Comparison>("/api/v1/compare?name=nothing.q7.io").await;
    assert!(c.unwrap().stopped.is_some());
    let (_, r) = site.json::<FqdnReport>("/api/v1/fqdn?name=www.alder.example").await;
    assert_eq!(r.unwrap().chain.len(), 3);
    for _ in 3..20 {
        assert_eq!(site.get("/api/v1/compare?name=nothing.q7.io").await.status(), StatusCode::OK);
    }
    let (status, said) = site.json::<Comparison>("/api/v1/compare?name=q7.io").await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    assert!(said.unwrap_err().contains("Try again in"));
    let call = Request::post("/api/fn/compare")
        .header("host", "localhost:8080")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Body::from("name=q7.io&rtype=A"));
    let answer = site.router.clone().oneshot(call.unwrap()).await.unwrap();
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS, "the page's own way in");
    let check = site.get("/tools/check?zone=q7.io").await;
    assert_eq!(check.status(), StatusCode::TOO_MANY_REQUESTS, "a check asks more servers than any of them");
    assert_eq!(site.get("/live/compare?name=q7.io").await.status(), StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn every_way_to_start_a_look_up_needs_a_permit() {
    // No permit is available: what is not refused did not ask for one.
    let site = site_with(Bounds { at_once: 0, ..Bounds::default() }).await;
    let pages = ["trace?name=q7.io", "scan?name=q7.io", "fqdn?name=www.q7.io", "check?zone=q7.io"]
        .into_iter()
        .chain(["compare?name=q7.io", "compare?name=q7.io&whole=1"])
        .map(|p| (format!("/tools/{p}"), true));
    let tab = [("/domains/q7.io/dns?trace=SOA".to_string(), true)];
    let programs = ["/live/compare?name=q7.io", "/live/compare?name=q7.io&watch=1"]
        .into_iter()
        .chain(["/api/v1/compare?name=q7.io", "/api/v1/fqdn?name=q7.io"])
        .map(|p| (p.to_string(), false));
    let caller = model::ids::Caller::system();
    site.services.add(&caller, "q7.io", model::item::Ownership::Owned, &[]).await.unwrap();
    for (path, page) in pages.chain(tab).chain(programs) {
        let answer = site.get(&path).await;
        let (status, again) = (answer.status(), answer.headers().get("retry-after").cloned());
        let body = axum::body::to_bytes(answer.into_body(), 8 << 20).await.unwrap();
        let body = String::from_utf8_lossy(&body);
        assert!(body.contains("of your look-ups are running already"), "{path}: {body}");
        assert_eq!(body.starts_with('<'), page, "{path}");
        // A part of a page that could not be read does not make the page a failure.
        if path.starts_with("/domains/") {
            continue;
        }
        assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "{path}");
        assert_eq!(again.unwrap(), "5", "{path}");
    }
    for (function, body) in [
        ("look_up", "name=q7.io"),
        ("trace", "name=q7.io&rtype=A"),
        ("authority", "name=q7.io&rtype=A"),
        ("compare", "name=q7.io&rtype=A&force=false"),
        ("fqdn", "name=q7.io"),
        ("check", "zone=q7.io"),
    ] {
        let call = Request::post(format!("/api/fn/{function}"))
            .header("host", "localhost:8080")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(body));
        let answer = site.router.clone().oneshot(call.unwrap()).await.unwrap();
        assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS, "{function}");
        assert_eq!(answer.headers()["retry-after"], "5", "{function}");
    }
    assert_eq!(site.lab.query_log().dns_total(), 0, "no one was asked anything");
}

#[tokio::test]
async fn what_runs_for_a_page_ends_when_the_page_goes_away() {
    let site = site().await;
    // Three watches that can't end: no server serves that value.
    let mut open = Vec::new();
    for _ in 0..3 {
        let answer = site.get("/live/compare?name=q7.io&watch=1&expect=192.0.2.250").await;
        assert_eq!(answer.status(), StatusCode::OK);
        let mut body = answer.into_body().into_data_stream();
        assert!(
            String::from_utf8_lossy(&body.next().await.unwrap().unwrap()).starts_with("event: authority")
        );
        open.push(body);
    }
    assert_eq!(site.get("/live/compare?name=q7.io").await.status(), StatusCode::TOO_MANY_REQUESTS);
    drop(open);
    // The work notices at its next turn of the runtime; how soon is not ours to say, that it does is.
    let freed = async {
        while site.get("/api/v1/compare?name=nothing.q7.io").await.status() != StatusCode::OK {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), freed).await.unwrap();
    assert_eq!(site.lab.query_log().per_resolver.len(), 0, "a watch that waits for servers asks no resolver");
}

#[tokio::test]
async fn values_the_inventory_knew_tell_old_answers_from_those_by_location() {
    let site = site().await;
    let kind = |c: &Comparison| c.answers.iter().find(|j| j.resolver.id == "monsoon").unwrap().verdict.kind();
    let (_, c) = site.json::<Comparison>("/api/v1/compare?name=copperline.example").await;
    assert_eq!(kind(&c.unwrap()), VerdictKind::Different, "monsoon answers by location");
    // The same value, once it stands among the kept states of the inventory, is an old one.
    let name = model::names::DomainName::trusted("copperline.example");
    let caller = model::ids::Caller::system();
    site.services.add(&caller, name.as_str(), model::item::Ownership::Owned, &[]).await.unwrap();
    for value in ["203.0.113.124", "203.0.113.24"] {
        site.lab.apply("remove copperline.example A".parse().unwrap()).await.unwrap();
        let add = format!("add copperline.example 300 A {value}");
        site.lab.apply(add.parse().unwrap()).await.unwrap();
        site.services.scanner.scan(&name, true).await.unwrap();
    }
    let (_, c) = site.json::<Comparison>("/api/v1/compare?name=copperline.example").await;
    assert_eq!(kind(&c.unwrap()), VerdictKind::Stale);
}

#[tokio::test]
async fn a_table_of_resolvers_that_breaks_a_rule_is_refused_with_its_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let row = "[[resolver]]\nid = \"x\"\nname = \"X\"\noperator = \"X\"\ncountry = \"X\"\ndoh = \"http://192.0.2.1/q\"\n";
    std::fs::write(&path, row).unwrap();
    let args = EngineArgs { resolvers: Some(path.clone()), ..EngineArgs::default() };
    let engine = dns::Engine::new(dns::Settings::default());
    let said = format!("{:#}", server::wiring::comparer(&args, &engine).err().unwrap());
    assert!(said.contains("mine.toml") && said.contains("“x”") && said.contains("https"), "{said}");
    std::fs::write(&path, row.replace("http://192.0.2.1", "https://dns.example")).unwrap();
    assert_eq!(server::wiring::comparer(&args, &engine).unwrap().resolvers().len(), 1);
    std::fs::remove_file(&path).unwrap();
    assert!(format!("{:#}", server::wiring::comparer(&args, &engine).err().unwrap()).contains("mine.toml"));
    assert!(server::wiring::comparer(&EngineArgs::default(), &engine).unwrap().resolvers().len() >= 24);
}

#[tokio::test]
async fn addresses_of_a_closed_network_are_reachable_inside_it_and_only_there() {
    let site = site().await;
    let args = EngineArgs { config: Some(site.lab.endpoints().engine.clone()), ..EngineArgs::default() };
    let inside = args.resolved().unwrap();
    let outside = EngineArgs { own_networks: vec![], ..inside.clone() };
    let tags = |args: EngineArgs| async move {
        let engine = server::wiring::internet(&args).unwrap().engine;
        let mut options = dns::checks::CheckOptions::new(jiff::Timestamp::now());
        options.test_cases = Some(vec!["address01".into()]);
        let report = engine.check("sealed.example", &options).await.unwrap();
        report.findings.into_iter().map(|f| f.tag).filter(|t| t.starts_with("A01_")).collect::<Vec<_>>()
    };
    assert_eq!(tags(inside).await, ["A01_GLOBALLY_REACHABLE_ADDR"]);
    assert_eq!(tags(outside).await, ["A01_LOCAL_USE_ADDR", "A01_NO_GLOBALLY_REACHABLE_ADDR"]);
}
