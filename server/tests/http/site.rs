//! A server over a network that is down, and requests to it.

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
use serde_json::Value;
use server::backend::{Bounds, Product, Tools};
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

pub struct Site {
    pub router: axum::Router,
    pub health: axum::Router,
    pub scanner: Scanner,
    _folder: tempfile::TempDir,
}

pub async fn site(demo: bool) -> Site {
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
    let comparer = dns::compare::Comparer::new(engine.clone(), recursive, vec![], clock);
    let tools = Tools::new(comparer, Bounds::default());
    let product = Product { scanner: scanner.clone(), worker, engine, tools, demo };
    let metrics = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder().handle();
    let access = Access { key: "k3y".into(), demo };
    let web = Web::new(product, access, Bundle::built_in(&[]), metrics);
    Site { health: web.clone().health(), router: web.router(), scanner, _folder: folder }
}

impl Site {
    pub async fn ask(
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

    pub async fn api(&self, method: &str, path: &str, body: Value) -> (StatusCode, Value) {
        let headers = [("authorization", "Bearer k3y"), ("content-type", "application/json")];
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let (status, text) = self.ask(method, path, &headers, &text).await;
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }
}
