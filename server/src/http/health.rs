//! `/livez`, `/readyz` and `/metrics`.

use super::AppState;
use super::access::{Parts, Presented, presented};
use super::origin::{is_encrypted, is_local};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use store::JobKind;

/// The process runs.
pub async fn livez() -> &'static str {
    "ok\n"
}

/// The database answers: send traffic.
pub async fn readyz(State(state): State<AppState>) -> Response {
    // Reading the identity shows that the database answers.
    match state.services.cluster_id().await {
        Ok(id) => (id.map(|id| [("domainscope-cluster", id)]), "ok\n").into_response(),
        Err(e) => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("the database does not answer: {e}\n")).into_response()
        }
    }
}

/// What operators' programs ask, for a listener of its own: no sign-in, and none of the product's pages.
pub fn router(state: AppState) -> Router {
    Router::new()
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/metrics", get(|State(state): State<AppState>| async move { text(&state).await }))
        .with_state(state)
}

/// Prometheus text format, for programs on this machine and for API tokens: the labels disclose which
/// registries are queried.
pub async fn metrics(State(state): State<AppState>, request: Request) -> Response {
    let (parts, is_local) = (Parts::of(&request), is_local(&request));
    let is_token = matches!(presented(request.headers(), is_encrypted(&request)), Some(Presented::Bearer(_)));
    let is_known = is_token && matches!(state.access.caller(&parts).await, Ok(Some(_)));
    if is_known || is_local {
        return text(&state).await.into_response();
    }
    let words = "Metrics are for programs on this machine (http://127.0.0.1:PORT/metrics) and for API tokens \
                 (Authorization: Bearer TOKEN); --metrics-listen ADDR gives them an address of their own.\n";
    (StatusCode::UNAUTHORIZED, words).into_response()
}

async fn text(state: &AppState) -> String {
    let store = state.services.store();
    #[expect(clippy::cast_precision_loss, reason = "gauges of queue lengths")]
    if let Ok(queue) = store.queue_stats(JobKind::Scan, state.services.scanner.clock.now()).await {
        metrics::gauge!("domainscope_queue_due").set(queue.due as f64);
        metrics::gauge!("domainscope_queue_lag_seconds").set(queue.lag_seconds);
        metrics::gauge!("domainscope_queue_parked").set(queue.parked as f64);
    }
    #[expect(clippy::cast_precision_loss, reason = "gauges of queue lengths")]
    if let Ok(outbox) = store.outbox_stats().await {
        metrics::gauge!("domainscope_notifications_waiting").set(outbox.waiting as f64);
        metrics::gauge!("domainscope_notifications_failed").set(outbox.failed as f64);
    }
    state.metrics.run_upkeep();
    state.metrics.render()
}
