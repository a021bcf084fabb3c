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
        Ok(id) => {
            let set = Some(state.services.deliverer.cluster().set).filter(|set| !set.is_empty());
            let fields = (
                id.map(|id| [("domainscope-cluster", id)]),
                set.map(|set| [("domainscope-clusterset", set)]),
            );
            (fields.0, fields.1, "ok\n").into_response()
        }
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
    for kind in [JobKind::Claim, JobKind::Service] {
        #[expect(clippy::cast_precision_loss, reason = "gauges of queue lengths")]
        if let Ok(queue) = store.queue_stats(kind, state.services.scanner.clock.now()).await {
            metrics::gauge!("domainscope_checks_suspended", "kind" => kind.as_str()).set(queue.parked as f64);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "gauges of queue lengths")]
    if let Ok(outbox) = store.outbox_stats().await {
        metrics::gauge!("domainscope_notifications_waiting").set(outbox.waiting as f64);
        metrics::gauge!("domainscope_notifications_failed").set(outbox.failed as f64);
    }
    state.metrics.run_upkeep();
    let cluster = state.services.deliverer.cluster();
    identified(&state.metrics.render(), &[("cluster", &cluster.id), ("clusterset", &cluster.set)])
}

/// Adds labels to every sample of a text in the format of Prometheus, those without a value excepted. The identity of an
/// installation may change while it runs, which labels of the exporter can't. The values need no escapes.
fn identified(text: &str, labels: &[(&str, &str)]) -> String {
    let labels: Vec<_> =
        labels.iter().filter(|(_, v)| !v.is_empty()).map(|(k, v)| format!("{k}=\"{v}\"")).collect();
    if labels.is_empty() {
        return text.to_string();
    }
    let labels = labels.join(",");
    let mut out = String::with_capacity(text.len() * 2);
    for line in text.lines() {
        // A name ends at its labels or at its value.
        match line.find(['{', ' ']).filter(|_| !line.starts_with('#')) {
            Some(end) if line[end..].starts_with('{') => {
                out.extend([&line[..=end], &labels, ",", &line[end + 1..]]);
            }
            Some(end) => out.extend([&line[..end], "{", &labels, "}", &line[end..]]),
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::identified;

    #[test]
    fn every_sample_carries_the_identity() {
        let text = "# HELP a_total {b} c\n# TYPE a_total counter\na_total 1\na_total{x=\"y z\"} 2\n\n";
        let both = [("cluster", "alder-main"), ("clusterset", "alder-fleet")];
        let labels = "cluster=\"alder-main\",clusterset=\"alder-fleet\"";
        assert_eq!(
            identified(text, &both),
            format!(
                "# HELP a_total {{b}} c\n# TYPE a_total counter\na_total{{{labels}}} 1\na_total{{{labels},x=\"y z\"}} 2\n\n"
            )
        );
        assert_eq!(identified("a 1\n", &[("cluster", "one"), ("clusterset", "")]), "a{cluster=\"one\"} 1\n");
        assert_eq!(identified(text, &[("cluster", "")]), text);
    }
}
