//! The HTTP server: pages rendered by leptos, server functions, live events, export, the REST API, static files,
//! health and metrics.

mod access;
mod answer;
mod api;
mod assets;
mod crowd;
mod export;
mod health;
mod idle;
mod listen;
mod live;
mod live_tools;
mod stalled;
mod streams;
mod tls;

use crate::backend::Product;
use app::backend::SharedBackend;
use axum::Router;
use axum::extract::{FromRef, Request};
use axum::http::StatusCode;
use axum::middleware;
use axum::routing::{any, get};
use leptos::prelude::{LeptosOptions, provide_context, use_context};
use leptos_axum::{AxumRouteListing, LeptosRoutes, generate_route_list};
use metrics_exporter_prometheus::PrometheusHandle;
use std::sync::{Arc, OnceLock};

pub use access::Access;
pub use assets::{BuiltIn, Bundle};
pub use listen::{Limits, Served, serve};
pub use tls::{Encrypted, Tls};

/// The addresses of the pages. While leptos makes the list it suppresses data loading in the whole process, so it is
/// made once, before anything is rendered.
static ROUTES: OnceLock<Vec<AxumRouteListing>> = OnceLock::new();

/// What every handler may need. Cheap to clone.
#[derive(Clone)]
pub struct Web {
    /// The product.
    pub product: Product,
    /// Who may come in.
    pub access: Arc<Access>,
    /// The browser bundle.
    pub bundle: Arc<Bundle>,
    /// Renders metrics.
    pub metrics: PrometheusHandle,
    leptos: LeptosOptions,
}

impl FromRef<Web> for LeptosOptions {
    fn from_ref(web: &Web) -> Self {
        web.leptos.clone()
    }
}

impl Web {
    /// A server for this product.
    pub fn new(product: Product, access: Access, bundle: Bundle, metrics: PrometheusHandle) -> Self {
        let leptos = LeptosOptions::builder().output_name("domainscope").build();
        Web { product, access: Arc::new(access), bundle: Arc::new(bundle), metrics, leptos }
    }

    /// Health and metrics alone, for a listener of their own.
    pub fn health(self) -> Router {
        health::router(self)
    }

    /// All addresses. Pages and data need a caller; health and static files do not.
    pub fn router(self) -> Router {
        let routes = ROUTES.get_or_init(|| generate_route_list(app::App)).clone();
        let backend: SharedBackend = Arc::new(self.product.clone());
        let context = move || {
            provide_context(backend.clone());
            // The caller was told by the access layer and rides in the request.
            if let Some(parts) = use_context::<axum::http::request::Parts>()
                && let Some(caller) = parts.extensions.get::<model::ids::Caller>()
            {
                provide_context(caller.clone());
            }
        };
        let head = self.bundle.head_tags().to_string();
        let shell = move || app::shell(app::ShellAssets { head_html: head.clone() });
        // An address that no page has is rendered by the application too: its own page says so.
        let lost = leptos_axum::render_app_async_with_context(context.clone(), shell.clone());
        let lost = move |request: Request| async move {
            let mut answer = lost(request).await;
            *answer.status_mut() = StatusCode::NOT_FOUND;
            answer
        };
        let inside = Router::new()
            .route("/api/fn/{*function}", any(answer::no_such_function))
            .route("/live", get(live::live))
            .route(
                "/live/compare",
                get(live_tools::compare).layer(middleware::map_response(answer::of_program)),
            )
            .route("/domains.csv", get(export::csv))
            .route("/domains.json", get(export::json))
            .nest("/api/v1", api::router())
            // The pages, and every server function there is.
            .leptos_routes_with_context(&self, routes, context, shell)
            .fallback(lost)
            .layer(middleware::map_response(answer::of_function))
            .layer(middleware::from_fn_with_state(self.clone(), answer::patience))
            .layer(middleware::from_fn_with_state(self.clone(), access::caller));
        Router::new()
            .merge(inside)
            .route("/setup", get(access::setup))
            .route("/assets/{*file}", get(assets::file))
            .route("/favicon.svg", get(assets::icon))
            .route("/livez", get(health::livez))
            .route("/readyz", get(health::readyz))
            .route("/metrics", get(health::metrics))
            .layer(middleware::from_fn_with_state(self.clone(), access::harden))
            .layer(tower_http::limit::RequestBodyLimitLayer::new(8 << 20))
            .layer(
                tower_http::compression::CompressionLayer::new().compress_when(
                    tower_http::compression::predicate::NotForContentType::new("text/event-stream")
                        .and(tower_http::compression::predicate::DefaultPredicate::new()),
                ),
            )
            .with_state(self)
    }
}

use tower_http::compression::Predicate as _;
