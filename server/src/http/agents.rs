//! `/agent/v1`: what points of presence ask. A request is authenticated by its signature, a response by the server's.

use super::response::problem;
use super::{AppState, origin, visitors};
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use fleet::{ANSWER_MAX, SignedRequest};
use product::agents::Signed;
use serde::Serialize;
use service::{ApiError, ApiResult};

/// Identity of the agent.
pub(crate) const AGENT: &str = "domainscope-agent";
/// Microseconds of its clock.
pub(crate) const STAMP: &str = "domainscope-stamp";
/// Signature of request or response.
pub(crate) const SIGNATURE: &str = "domainscope-signature";

/// Longest body of a request to join, in octets: anyone can send one.
const JOIN_MAX: usize = 8 << 10;

/// Its addresses.
pub(super) fn router() -> axum::Router<AppState> {
    axum::Router::new()
        .route("/agent/v1/join", post(join))
        .route("/agent/v1/poll", post(poll))
        .route("/agent/v1/answer", post(answer))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
}

/// The parts of a request that are signed.
struct Sent {
    path: String,
    agent: String,
    stamp: i64,
    signature: String,
    /// The network of the client.
    network: String,
    body: Vec<u8>,
}

impl Sent {
    /// Reads a request with a body of at most `limit` octets.
    async fn read(request: Request, limit: usize) -> ApiResult<Self> {
        let network = origin::peer(&request).map(visitors::client_prefix).unwrap_or_default();
        let (parts, body) = request.into_parts();
        let body = to_bytes(body, limit).await.map_err(|_| {
            metrics::counter!("domainscope_agent_requests_refused_total", "reason" => "too_large")
                .increment(1);
            ApiError::invalid(format!("The body is too large: the limit is {limit} octets."))
        })?;
        Ok(Sent {
            path: parts.uri.path().to_string(),
            agent: text(&parts.headers, AGENT).chars().take(63).collect(),
            stamp: text(&parts.headers, STAMP).parse().unwrap_or(0),
            signature: text(&parts.headers, SIGNATURE).to_string(),
            network,
            body: body.to_vec(),
        })
    }

    fn signed(&self) -> Signed<'_> {
        Signed { request: self.request(&self.body), signature: &self.signature, network: &self.network }
    }

    fn request<'a>(&'a self, body: &'a [u8]) -> SignedRequest<'a> {
        SignedRequest { path: &self.path, agent: &self.agent, stamp: self.stamp, body }
    }

    async fn respond<T: Serialize>(&self, state: &AppState, outcome: ApiResult<T>) -> Response {
        let value = match outcome {
            Ok(value) => value,
            Err(e) => return problem(&e),
        };
        let Ok(body) = serde_json::to_vec(&value) else { return problem(&ApiError::internal()) };
        let signature = match state.services.sign_for_agent(self.request(&body)).await {
            Ok(signature) => signature,
            Err(e) => return problem(&e),
        };
        let mut response =
            (StatusCode::OK, [(CONTENT_TYPE, "application/json")], Body::from(body)).into_response();
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Ok(value) = HeaderValue::from_str(&signature) {
            response.headers_mut().insert(SIGNATURE, value);
        }
        response
    }
}

async fn join(State(state): State<AppState>, request: Request) -> Response {
    match Sent::read(request, JOIN_MAX).await {
        Ok(sent) => {
            let outcome = state.services.agent_join(sent.signed()).await;
            sent.respond(&state, outcome).await
        }
        Err(e) => problem(&e),
    }
}

async fn poll(State(state): State<AppState>, request: Request) -> Response {
    match Sent::read(request, ANSWER_MAX).await {
        Ok(sent) => {
            let outcome = state.services.agent_poll(sent.signed()).await;
            sent.respond(&state, outcome).await
        }
        Err(e) => problem(&e),
    }
}

async fn answer(State(state): State<AppState>, request: Request) -> Response {
    match Sent::read(request, ANSWER_MAX).await {
        Ok(sent) => {
            let outcome = state.services.agent_answer(sent.signed()).await;
            sent.respond(&state, outcome).await
        }
        Err(e) => problem(&e),
    }
}
