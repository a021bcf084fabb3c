//! The HTTP server: pages rendered by leptos, server functions, live events, export, the REST API, static files,
//! health and metrics.

mod access;
mod activity;
mod agents;
mod api;
mod assets;
mod audit_export;
mod connect;
mod dependents;
mod etag;
mod export;
mod feeds;
mod harden;
mod health;
mod listen;
mod live;
mod live_tools;
mod local_peer;
mod network_export;
mod objects;
mod oidc;
mod origin;
mod passkeys;
mod per_client;
mod records;
mod resources;
mod response;
mod settings;
mod sign_in;
mod streams;
mod tls;
mod traffic;
mod visitors;
mod write_timeout;

use axum::Router;
use axum::extract::{FromRef, Request, State};
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::middleware;
use axum::routing::{any, get, post};
use leptos::prelude::{LeptosOptions, provide_context, use_context};
use leptos_axum::{AxumRouteListing, LeptosRoutes, generate_route_list};
use metrics_exporter_prometheus::PrometheusHandle;
use product::Services;
use service::SharedBackend;
use std::sync::{Arc, OnceLock};

pub use access::Access;
pub(crate) use agents::{AGENT, SIGNATURE, STAMP};
pub(crate) use api::v1::{AddressV1, SpaceV1};
pub use assets::{BuiltIn, Bundle};
pub use listen::{Limits, Served, serve};
pub use origin::ProxyNetwork;
pub use tls::{Encrypted, Tls};

/// The addresses of the pages. While leptos makes the list it suppresses data loading in the whole process, so it is
/// made once, before anything is rendered.
static ROUTES: OnceLock<Vec<AxumRouteListing>> = OnceLock::new();

/// Refuses bodies of more than 8 MiB.
fn body_limit() -> tower_http::limit::RequestBodyLimitLayer {
    tower_http::limit::RequestBodyLimitLayer::new(8 << 20)
}

/// What every handler may need. Cheap to clone.
#[derive(Clone)]
pub struct AppState {
    /// The services.
    pub services: Services,
    /// Authentication of requests.
    pub access: Arc<Access>,
    /// The browser bundle.
    pub bundle: Arc<Bundle>,
    /// Renders metrics.
    pub metrics: PrometheusHandle,
    /// Proxies whose forwarding headers are believed.
    pub proxies: Arc<[ProxyNetwork]>,
    /// Origins whose pages may read and embed open tools.
    pub open_origins: Arc<[String]>,
    /// The resource API.
    pub resources: ::resources::Api,
    leptos: LeptosOptions,
}

impl FromRef<AppState> for LeptosOptions {
    fn from_ref(state: &AppState) -> Self {
        state.leptos.clone()
    }
}

impl AppState {
    /// A server for these services.
    pub fn new(services: Services, access: Access, bundle: Bundle, metrics: PrometheusHandle) -> Self {
        let leptos = LeptosOptions::builder().output_name("domainscope").build();
        AppState {
            resources: ::resources::Api::new(Arc::new(services.clone())),
            services,
            access: Arc::new(access),
            bundle: Arc::new(bundle),
            metrics,
            proxies: Arc::default(),
            open_origins: Arc::default(),
            leptos,
        }
    }

    /// The same behind proxies whose forwarding headers are believed.
    #[must_use]
    pub fn behind(self, proxies: Vec<ProxyNetwork>) -> Self {
        AppState { proxies: proxies.into(), ..self }
    }

    /// The same with open tools for pages of these origins.
    #[must_use]
    pub fn open_to(self, origins: Vec<String>) -> Self {
        AppState { open_origins: origins.into(), ..self }
    }

    /// Health and metrics alone, for a listener of their own.
    pub fn health(self) -> Router {
        health::router(self)
    }

    /// All addresses. Pages and data need a caller; health and static files do not.
    pub fn router(self) -> Router {
        let routes = ROUTES.get_or_init(|| generate_route_list(app::App)).clone();
        let backend: SharedBackend = Arc::new(self.services.clone());
        let context = move || {
            provide_context(backend.clone());
            // The access layer stored the caller in the request.
            if let Some(parts) = use_context::<axum::http::request::Parts>()
                && let Some(caller) = parts.extensions.get::<model::ids::Caller>()
            {
                provide_context(caller.clone());
            }
        };
        let bundle = self.bundle.clone();
        let shell = move || {
            let request = use_context::<axum::http::request::Parts>();
            let path = request.as_ref().map_or("", |request| request.uri.path());
            // A page in another site's frame runs no script: nothing there can act for a visitor who is signed in.
            let head_html = match visitors::is_embedded(path) {
                true => bundle.style_tags().to_string(),
                false => bundle.head_tags(app::parts_of(path)),
            };
            app::shell(app::ShellAssets { head_html })
        };
        // Unknown addresses are rendered by the application: it has a page for them.
        let not_found = leptos_axum::render_app_async_with_context(context.clone(), shell.clone());
        let not_found = move |request: Request| async move {
            let mut answer = not_found(request).await;
            *answer.status_mut() = StatusCode::NOT_FOUND;
            answer
        };
        let page = {
            let (context, shell) = (context.clone(), shell.clone());
            move |outcome: app::server_fns::FormOutcome, request: Request| {
                let context = context.clone();
                let with_outcome = move || {
                    context();
                    provide_context(outcome.clone());
                };
                leptos_axum::render_app_async_with_context(with_outcome, shell.clone())(request)
            }
        };
        let form = move |State(state): State<AppState>, request: Request| {
            let page = page.clone();
            async move {
                match settings::submit(&state, request).await {
                    settings::Answer::Respond(response) => response,
                    settings::Answer::Page(shown) => {
                        let mut response = page(shown.outcome, shown.request).await;
                        *response.status_mut() = shown.status;
                        response.headers_mut().extend(shown.cookie.map(|value| (SET_COOKIE, value)));
                        response
                    }
                }
            }
        };
        let forms = settings::PATHS.iter().fold(Router::new(), |r, path| r.route(path, post(form.clone())));
        let authenticated = Router::new()
            .merge(forms)
            .merge(passkeys::settings())
            .route("/objects/{kind}", post(objects::create))
            .route("/objects/{kind}/{name}", get(objects::page).post(objects::save))
            .route("/settings/audit.csv", get(audit_export::csv))
            .route("/settings/audit.json", get(audit_export::json))
            .route("/api/fn/{*function}", any(response::unknown_function))
            .route("/live", get(live::live))
            .route(
                "/live/compare",
                get(live_tools::compare).layer(middleware::map_response(response::rejections_as_problems)),
            )
            .route("/domains.csv", get(export::csv).post(export::csv_of_selected))
            .route("/domains.json", get(export::json))
            .route("/networks.csv", get(network_export::csv))
            .route("/networks.json", get(network_export::json))
            .nest("/api/v1", api::router())
            // The pages, and every server function there is.
            .leptos_routes_with_context(&self, routes, context, shell)
            .fallback(not_found)
            .layer(body_limit())
            // It has a limit of its own, and says who may not write before it reads a body.
            .merge(resources::router())
            .layer(middleware::map_response(response::function_status))
            .layer(middleware::from_fn_with_state(self.clone(), response::retry_after))
            .layer(middleware::from_fn_with_state(self.clone(), origin::confirm_queries))
            .layer(middleware::from_fn_with_state(self.clone(), access::caller))
            .layer(middleware::from_fn_with_state(self.clone(), visitors::cors));
        Router::new()
            .route("/sign-in", get(sign_in::sign_in_page).post(sign_in::sign_in))
            .merge(passkeys::sign_in())
            .merge(oidc::router())
            .route(app::PASSKEY_SCRIPT, get(passkeys::script))
            .route(app::OBJECT_SCRIPT, get(objects::script))
            .route("/sign-out", post(sign_in::sign_out))
            .route("/switch-organisation", post(sign_in::switch_org))
            .route("/setup", get(sign_in::link_page))
            .route("/invite", get(sign_in::link_page))
            .route("/reset", get(sign_in::link_page))
            .route("/accept", post(sign_in::accept))
            .route("/forgot-password", get(sign_in::forgot_page).post(sign_in::forgot))
            .route("/connect/{token}", get(connect::page))
            .route("/api/v1/openapi.json", get(api::reference::openapi))
            .route("/api/docs", get(api::reference::page))
            .merge(agents::router())
            .route("/feeds/{file}", get(feeds::feed))
            .route("/assets/{*file}", get(assets::file))
            .route("/favicon.svg", get(assets::icon))
            .route("/problems/{kind}", get(response::problem_type))
            .route("/livez", get(health::livez))
            .route("/readyz", get(health::readyz))
            .route("/metrics", get(health::metrics))
            .layer(body_limit())
            .merge(authenticated)
            .layer(middleware::from_fn_with_state(self.clone(), harden::harden))
            .layer(middleware::from_fn_with_state(self.clone(), origin::resolve))
            .layer(
                tower_http::compression::CompressionLayer::new().compress_when(
                    tower_http::compression::predicate::NotForContentType::new("text/event-stream")
                        .and(tower_http::compression::predicate::NotForContentType::new(
                            ::resources::WATCH_TYPE,
                        ))
                        .and(tower_http::compression::predicate::DefaultPredicate::new()),
                ),
            )
            .layer(middleware::from_fn(traffic::count))
            .with_state(self)
    }
}

use tower_http::compression::Predicate as _;
