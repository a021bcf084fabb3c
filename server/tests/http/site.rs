//! A server over a network that is down, and requests to it.

use accounts::{Secret, SecretKind};
use async_trait::async_trait;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use model::Timestamp;
use model::account::{TokenInfo, TokenScope};
use model::detail::RawAnswer;
use model::names::DomainName;
use model::observation::{Part, PartError};
use model::open_tools::OpenTool;
use model::registration::RegistrationState;
use monitor::observer::Progress;
use monitor::{DnsParts, Hub, Observer, Policy, Scanner, SystemClock, Worker};
use product::identity::Identity;
use product::{Bounds, Services, Tools, Visitors};
use serde_json::Value;
use server::http::{Access, AppState, Bundle};
use std::sync::Arc;
use tower::ServiceExt;

/// An API token of the site's organisation, and the header that carries it.
pub const TOKEN: &str = "dst_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
pub const BEARER: &str = "Bearer dst_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";

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
    pub identity: Identity,
    pub services: Services,
    pub state: AppState,
    _folder: tempfile::TempDir,
}

pub async fn site(demo: bool) -> Site {
    site_behind(demo, &[]).await
}

/// A site with tools open to visitors, for pages of these origins too.
pub async fn site_open(tools: &[OpenTool], origins: &[&str]) -> Site {
    site_with(false, &[], tools, origins).await
}

/// A site whose proxies are declared.
pub async fn site_behind(demo: bool, proxies: &[&str]) -> Site {
    site_with(demo, proxies, &[], &[]).await
}

async fn site_with(demo: bool, proxies: &[&str], tools: &[OpenTool], origins: &[&str]) -> Site {
    let folder = tempfile::tempdir().unwrap();
    let store = store::open(&folder.path().to_string_lossy()).await.unwrap();
    site_over(store, folder, demo, proxies, tools, origins, Arc::new(Down)).await
}

/// A site of the demo's visitor that observes the network with this.
#[allow(dead_code, reason = "tests with a lab use it")]
pub async fn site_observing(observer: Arc<dyn Observer>) -> Site {
    let folder = tempfile::tempdir().unwrap();
    let store = store::open(&folder.path().to_string_lossy()).await.unwrap();
    site_over(store, folder, true, &[], &[], &[], observer).await
}

/// A site over the database at this URL.
pub async fn site_at(url: &str) -> Site {
    let folder = tempfile::tempdir().unwrap();
    site_over(store::open(url).await.unwrap(), folder, false, &[], &[], &[], Arc::new(Down)).await
}

async fn site_over(
    store: Arc<dyn store::Store>,
    folder: tempfile::TempDir,
    demo: bool,
    proxies: &[&str],
    tools: &[OpenTool],
    origins: &[&str],
    observer: Arc<dyn Observer>,
) -> Site {
    let scanner = Scanner {
        store,
        observer,
        clock: Arc::new(SystemClock),
        hub: Hub::default(),
        policy: Policy::default(),
    };
    let worker = Worker::new(scanner.clone(), "test");
    let engine = dns::Engine::new(dns::Settings::default());
    let dialer = net::Dialer::new(net::Settings::default()).unwrap();
    let gates = features::Gates::default();
    let deliverer = notify::Deliverer::new(dialer.clone(), None, None).with_gates(gates.clone());
    let recursive = dns::recursive::Recursive::new(dialer, engine.settings());
    let clock = Arc::new(dns::compare::SystemClock);
    let comparer = dns::compare::Comparer::new(engine.clone(), recursive, vec![], clock);
    let open = tools.iter().copied().collect();
    let tools = Tools::new(comparer, Bounds::default(), product::configure::Inspector::new(engine.clone()));
    let metrics = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder().handle();
    let identity = Identity::new(scanner.store.clone(), Arc::new(SystemClock), 1).unwrap();
    let services = Services {
        scanner: scanner.clone(),
        worker,
        engine,
        tools,
        deliverer,
        identity: identity.clone(),
        quotas: product::Quotas::default(),
        overlap: product::OverlapPolicy::default(),
        gates,
        demo,
        visitors: None,
    };
    let mut for_visitors = services.clone();
    for_visitors.tools.limits = product::Limits::new(Bounds::of_visitors(6, 60));
    let services = services.with_visitors(Visitors { tools: open, services: for_visitors });
    let mira = identity.ensure_person("mira@alder.example", "Mira Holt").await.unwrap();
    let now = Timestamp::now();
    let org = scanner.store.create_org("k", "Alder Labs", &mira, now).await.unwrap();
    let secret = Secret::read(SecretKind::ApiToken, TOKEN).expect("has the form of a token");
    let token = TokenInfo {
        id: "t".into(),
        name: "test".into(),
        scope: TokenScope::Admin,
        created_by: "Mira Holt".into(),
        created_at: now,
        expires_at: None,
        last_used_at: None,
        hint: "dst_AAEC".into(),
    };
    scanner.store.create_token(org, secret.hash().as_str(), &token, None).await.unwrap();
    let access = Access { identity: identity.clone(), demo: demo.then(|| "mira@alder.example".to_string()) };
    let state = AppState::new(services.clone(), access, Bundle::built_in(&[]), metrics)
        .behind(proxies.iter().map(|p| p.parse().unwrap()).collect())
        .open_to(origins.iter().map(|o| (*o).to_string()).collect());
    Site {
        health: state.clone().health(),
        router: state.clone().router(),
        state,
        scanner,
        identity,
        services,
        _folder: folder,
    }
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

    /// Status and body of an answer; of a redirection the address.
    pub async fn ask_head(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (StatusCode, String) {
        let mut request = Request::builder().method(method).uri(path);
        for (k, v) in headers {
            request = request.header(*k, *v);
        }
        let answer =
            self.router.clone().oneshot(request.body(Body::from(body.to_string())).unwrap()).await.unwrap();
        let status = answer.status();
        if let Some(to) = answer.headers().get("location") {
            return (status, to.to_str().unwrap().to_string());
        }
        // Streams do not end: what they begin with is enough.
        let is_stream = answer.headers().get("content-type").is_some_and(|t| t == "text/event-stream");
        if is_stream {
            return (status, String::new());
        }
        let bytes = axum::body::to_bytes(answer.into_body(), 8 << 20).await.unwrap();
        (status, String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The entity tag of an address.
    pub async fn etag(&self, path: &str) -> String {
        let request = Request::get(path).header("host", "localhost:8080").header("authorization", BEARER);
        let answer = self.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        answer.headers()["etag"].to_str().unwrap().to_string()
    }

    pub async fn api(&self, method: &str, path: &str, body: Value) -> (StatusCode, Value) {
        let headers = [("authorization", BEARER), ("content-type", "application/json")];
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let (status, text) = self.ask(method, path, &headers, &text).await;
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }
}
