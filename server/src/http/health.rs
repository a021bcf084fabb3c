//! `/livez`, `/readyz` and `/metrics`.

use super::Web;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

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

/// Prometheus text format.
pub async fn metrics(State(web): State<Web>) -> String {
    if let Ok((due, lag)) = web.product.store().queue_lag("scan", web.product.scanner.clock.now()).await {
        #[expect(clippy::cast_precision_loss, reason = "a gauge of a queue length")]
        metrics::gauge!("domainscope_queue_due").set(due as f64);
        metrics::gauge!("domainscope_queue_lag_seconds").set(lag);
    }
    web.metrics.run_upkeep();
    web.metrics.render()
}
