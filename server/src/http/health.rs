//! `/livez`, `/readyz` and `/metrics`.

use super::Web;
use super::access::{is_from_here, peer};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// The process runs.
pub async fn livez() -> &'static str {
    "ok\n"
}

/// The database answers: send traffic.
pub async fn readyz(State(web): State<Web>) -> Response {
    match web.product.store().ping().await {
        Ok(()) => "ok\n".into_response(),
        Err(e) => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("the database does not answer: {e}\n")).into_response()
        }
    }
}

/// What operators' programs ask, for a listener of its own: no sign-in, and none of the product's pages.
pub fn router(web: Web) -> Router {
    Router::new()
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/metrics", get(|State(web): State<Web>| async move { text(&web).await }))
        .with_state(web)
}

/// Prometheus text format, for programs on this machine and whoever shows the key: which registries are asked how
/// often is nobody else's business.
pub async fn metrics(State(web): State<Web>, request: Request) -> Response {
    if is_from_here(request.headers(), peer(&request)) || web.access.has_key(request.headers()) {
        return text(&web).await.into_response();
    }
    let words = "Metrics are for programs on this machine (http://127.0.0.1:PORT/metrics) and for the key of the set-up \
                 link (Authorization: Bearer KEY); --metrics-listen ADDR gives them an address of their own.\n";
    (StatusCode::UNAUTHORIZED, words).into_response()
}

async fn text(web: &Web) -> String {
    if let Ok((due, lag)) = web.product.store().queue_lag("scan", web.product.scanner.clock.now()).await {
        #[expect(clippy::cast_precision_loss, reason = "a gauge of a queue length")]
        metrics::gauge!("domainscope_queue_due").set(due as f64);
        metrics::gauge!("domainscope_queue_lag_seconds").set(lag);
    }
    web.metrics.run_upkeep();
    web.metrics.render()
}
