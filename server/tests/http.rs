//! The HTTP server as a program meets it: who may come in, what bad input gets, what a page says without script.

use async_trait::async_trait;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use model::Timestamp;
use model::detail::RawAnswer;
use model::names::DomainName;
use model::observation::{Part, PartError};
use model::registration::RegistrationState;
use monitor::observer::Progress;
use monitor::{DnsParts, Hub, Observer, Policy, Scanner, SystemClock, Worker};
use serde_json::{Value, json};
use server::backend::{Product, Tools};
use server::http::{Access, Bundle, Web};
use std::sync::Arc;
use tower::ServiceExt;

/// A network that is down.
struct Down;

#[async_trait]
impl Observer for Down {
    async fn registration(
        &self,
        _: &DomainName,
        now: Timestamp,
        _: &dyn Progress,
    ) -> (Part<RegistrationState>, Vec<RawAnswer>) {
        let error =
            PartError { label: "unreachable".into(), sentence: "The network is down".into(), retry_at: None };
        (Part { attempted_at: Some(now), error: Some(error), ..Part::default() }, vec![])
    }

    async fn dns(&self, _: &DomainName, _: Timestamp, _: &dyn Progress) -> DnsParts {
        DnsParts::default()
    }
}

struct Site {
    router: axum::Router,
    scanner: Scanner,
    _folder: tempfile::TempDir,
}

async fn site(demo: bool) -> Site {
    let folder = tempfile::tempdir().unwrap();
    let store = store::open(&folder.path().to_string_lossy()).await.unwrap();
    let scanner = Scanner {
        store,
        observer: Arc::new(Down),
        clock: Arc::new(SystemClock),
        hub: Hub::default(),
        policy: Policy::default(),
    };
    let worker = Worker::new(scanner.clone(), "test");
    let engine = dns::Engine::new(dns::Settings::default());
    let dialer = net::Dialer::new(net::Settings::default()).unwrap();
    let recursive = dns::recursive::Recursive::new(dialer, engine.settings());
    let clock = Arc::new(dns::compare::SystemClock);
    let tools = Tools::new(dns::compare::Comparer::new(engine.clone(), recursive, vec![], clock));
    let product = Product { scanner: scanner.clone(), worker, engine, tools, demo };
    let metrics = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder().handle();
    let access = Access { key: "k3y".into(), demo };
    let web = Web::new(product, access, Bundle::built_in(&[]), metrics);
    Site { router: web.router(), scanner, _folder: folder }
}

impl Site {
    async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (StatusCode, String) {
        let mut request = Request::builder().method(method).uri(path).header("host", "localhost:8080");
        for (k, v) in headers {
            request = request.header(*k, *v);
        }
        let answer =
            self.router.clone().oneshot(request.body(Body::from(body.to_string())).unwrap()).await.unwrap();
        let status = answer.status();
        let bytes = axum::body::to_bytes(answer.into_body(), 8 << 20).await.unwrap();
        (status, String::from_utf8_lossy(&bytes).into_owned())
    }

    async fn api(&self, method: &str, path: &str, body: Value) -> (StatusCode, Value) {
        let headers = [("authorization", "Bearer k3y"), ("content-type", "application/json")];
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let (status, text) = self.ask(method, path, &headers, &text).await;
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }
}

#[tokio::test]
async fn nobody_comes_in_without_a_key_and_other_sites_change_nothing() {
    let site = site(false).await;
    for path in ["/domains", "/api/v1/domains", "/live", "/domains.csv", "/domains/q7.io", "/events"] {
        let (status, text) = site.ask("GET", path, &[], "").await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{path}");
        assert!(text.contains("set-up link"), "{path}: {text}");
    }
    assert_eq!(site.ask("GET", "/setup?key=wrong", &[], "").await.0, StatusCode::FORBIDDEN);
    assert_eq!(site.ask("GET", "/setup?key=k3y", &[], "").await.0, StatusCode::SEE_OTHER);
    let cookie = ("cookie", "domainscope_key=k3y");
    assert_eq!(site.ask("GET", "/domains", &[cookie], "").await.0, StatusCode::OK);
    let evil = [cookie, ("origin", "https://evil.example"), ("content-type", "application/json")];
    let (status, _) = site.ask("POST", "/api/v1/domains", &evil, r#"{"names":["q7.io"]}"#).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert_eq!(site.ask("GET", "/livez", &[], "").await.0, StatusCode::OK);
    assert_eq!(site.ask("GET", "/readyz", &[], "").await.0, StatusCode::OK);
}

#[tokio::test]
async fn bad_names_are_refused_line_by_line_and_the_rest_goes_in() {
    let site = site(false).await;
    let names = json!({ "names": [
        "http://WWW.Example.COM/path", "exa mple.com", "co.uk", format!("{}.com", "a".repeat(300)),
        "i❤.ws", "xn--0000000000.com", "q7.io", "Q7.IO.", "192.0.2.1", "alder"
    ]});
    let (status, lines) = site.api("POST", "/api/v1/domains", names).await;
    assert_eq!(status, StatusCode::OK, "{lines}");
    let result = |i: usize| lines[i]["result"]["result"].as_str().unwrap().to_string();
    let words: Vec<_> = (0..10).map(result).collect();
    assert_eq!(
        words,
        [
            "added",
            "refused",
            "refused",
            "refused",
            "added",
            "refused",
            "added",
            "duplicate",
            "refused",
            "refused"
        ]
    );
    assert_eq!(lines[0]["result"]["name"], "example.com");
    assert!(lines[0]["result"]["note"].as_str().unwrap().contains("www.example.com"));
    assert!(lines[1]["result"]["reason"].as_str().unwrap().contains("contains a space"));
    assert!(lines[2]["result"]["reason"].as_str().unwrap().contains("public suffix"));
    assert!(lines[3]["result"]["reason"].as_str().unwrap().contains("304 characters"));
    let (_, page) = site.api("GET", "/api/v1/domains", Value::Null).await;
    assert_eq!(page["total"], 3);
    let (_, again) = site.api("POST", "/api/v1/domains", json!({ "text": "q7.io" })).await;
    assert_eq!(again[0]["result"]["result"], "duplicate");
    let (status, e) = site.api("POST", "/api/v1/domains", json!({ "text": " \n " })).await;
    assert_eq!((status, e["failure"].as_str()), (StatusCode::UNPROCESSABLE_ENTITY, Some("invalid")));
    let (status, _) = site.api("GET", "/api/v1/domains/nothere.example", Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (status, e) = site.api("GET", "/api/v1/domains/exa%20mple.com", Value::Null).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(e["sentence"].as_str().unwrap().contains("exa mple.com"), "{e}");
}

#[tokio::test]
async fn a_network_that_is_down_is_said_and_never_looks_healthy() {
    let site = site(false).await;
    site.api("POST", "/api/v1/domains", json!({ "names": ["q7.io"], "tags": ["core"] })).await;
    let name = DomainName::trusted("q7.io");
    let result = site.scanner.scan(&name, true).await.unwrap();
    assert!(result.failed && result.sentence.contains("The network is down"), "{}", result.sentence);
    let (_, detail) = site.api("GET", "/api/v1/domains/q7.io", Value::Null).await;
    assert_eq!(detail["item"]["status"]["kind"], "unknown");
    assert_eq!(detail["observation"]["registration"]["error"]["label"], "unreachable");
    let cookie = ("cookie", "domainscope_key=k3y");
    let (status, page) = site.ask("GET", "/domains/q7.io", &[cookie], "").await;
    assert_eq!(status, StatusCode::OK);
    assert!(page.contains("The network is down") && page.contains("Unknown"), "the page says so");
    let (status, list) = site.ask("GET", "/domains?q=q7", &[cookie], "").await;
    assert_eq!(status, StatusCode::OK);
    assert!(
        list.contains("q7.io") && list.contains("Last Change Detected"),
        "the table reads without script"
    );
}

#[tokio::test]
async fn export_holds_the_current_filter_and_no_formula() {
    let site = site(false).await;
    let body = json!({ "names": ["alder.example", "q7.io"], "tags": ["=cmd"] });
    site.api("POST", "/api/v1/domains", body).await;
    let key = ("authorization", "Bearer k3y");
    let (status, csv) = site.ask("GET", "/domains.csv?q=alder", &[key], "").await;
    assert_eq!(status, StatusCode::OK);
    let lines: Vec<_> = csv.lines().collect();
    assert_eq!(lines.len(), 2, "{csv}");
    assert!(lines[1].starts_with("alder.example,") && lines[1].contains("'=cmd"), "{csv}");
    let (_, all) = site.ask("GET", "/domains.json", &[key], "").await;
    assert_eq!(serde_json::from_str::<Value>(&all).unwrap()["domains"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn owners_words_are_checked_and_kept() {
    let site = site(false).await;
    site.api("POST", "/api/v1/domains", json!({ "names": ["q7.io"] })).await;
    let patch =
        json!({ "note": "paid by card", "tags": ["prod", " prod ", "core"], "manual_expires": "2027-03-01" });
    let (status, _) = site.api("PATCH", "/api/v1/domains/q7.io", patch).await;
    assert_eq!(status, StatusCode::OK);
    let (_, detail) = site.api("GET", "/api/v1/domains/q7.io", Value::Null).await;
    assert_eq!(detail["item"]["tags"], json!(["core", "prod"]));
    assert_eq!(detail["row"]["expires"], "2027-03-01");
    assert_eq!(detail["row"]["expires_by_hand"], true);
    let (status, e) = site.api("PATCH", "/api/v1/domains/q7.io", json!({ "tags": ["a,b"] })).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{e}");
    let (status, _) = site.api("PATCH", "/api/v1/domains/other.example", json!({ "note": "x" })).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (status, _) = site.api("DELETE", "/api/v1/domains/q7.io", Value::Null).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(site.api("GET", "/api/v1/domains/q7.io", Value::Null).await.0, StatusCode::NOT_FOUND);
}
