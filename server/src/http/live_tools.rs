//! `/live/compare`: a comparison as it happens, as server-sent events (`authority`, `answer`, `summary`, `watch`,
//! `end`), and the tools in the REST API. The work ends when the reader disconnects.

use super::AppState;
use super::api::v1;
use super::response::respond;
use axum::Extension;
use axum::extract::{Query, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use dns::compare::Watch;
use futures::stream::{self, Stream};
use model::compare::CompareEvent;
use model::ids::Caller;
use serde::Deserialize;
use serde_json::json;
use service::{Backend, FleetBackend};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Seconds after which a watch on a page stops.
const WATCH_S: i64 = 1800;

/// What is compared.
#[derive(Debug, Deserialize)]
pub struct Question {
    name: String,
    #[serde(default, rename = "type")]
    rtype: String,
    #[serde(default)]
    force: Flag,
    #[serde(default)]
    watch: Flag,
    /// Values that the record must have, separated by `|`.
    #[serde(default)]
    expect: String,
}

/// `1`, `true`, `on` and `yes`, as addresses and forms have them.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(from = "String")]
struct Flag(bool);

impl From<String> for Flag {
    fn from(text: String) -> Self {
        Flag(matches!(text.as_str(), "1" | "true" | "on" | "yes"))
    }
}

/// The stream of one comparison or watch.
pub async fn compare(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(question): Query<Question>,
) -> Response {
    let watch = question.watch.0.then(|| Watch {
        expect: question
            .expect
            .split('|')
            .map(str::trim)
            .filter(|e| !e.is_empty())
            .map(str::to_string)
            .collect(),
        patience_s: WATCH_S,
    });
    let asked = (&*question.name, &*question.rtype, question.force.0);
    let comparison = match state.services.live_comparison(&caller, asked, watch).await {
        Ok(comparison) => comparison,
        Err(error) => return respond::<()>(Err(error)),
    };
    // Events are few and small, so a slow reader delays nothing.
    let (sender, receiver) = mpsc::unbounded_channel();
    let task = tokio::spawn(async move {
        let mut report = |event: CompareEvent| {
            let _ = sender.send(event);
        };
        comparison.run(&mut report).await;
    });
    let events = Box::pin(stream::unfold(receiver, |mut receiver| async move {
        let event = receiver.recv().await?;
        Some((to_sse(&event), receiver))
    }));
    Sse::new(Running { events, _task: AbortOnDropHandle::new(task) })
        .keep_alive(KeepAlive::default())
        .into_response()
}

/// A stream with the work that feeds it: when the reader is gone, so is the work.
struct Running<S> {
    events: Pin<Box<S>>,
    _task: AbortOnDropHandle<()>,
}

impl<S: Stream> Stream for Running<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.events.as_mut().poll_next(context)
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the stream's item type is a Result")]
fn to_sse(event: &CompareEvent) -> Result<Event, Infallible> {
    let data = match event {
        CompareEvent::Authority(c) => serde_json::to_string(c),
        CompareEvent::Answer(j) => serde_json::to_string(j),
        CompareEvent::Summary(s) => serde_json::to_string(s),
        CompareEvent::Watch(w) => serde_json::to_string(w),
        CompareEvent::End(e) => serde_json::to_string(e),
    };
    Ok(Event::default().event(event.name()).data(data.unwrap_or_default()))
}

/// The tools below `/api/v1`.
pub fn api() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(api_scan))
        .routes(routes!(api_check))
        .routes(routes!(api_fqdn))
        .routes(routes!(api_places))
        .routes(routes!(api_readiness))
        .routes(routes!(api_third_parties))
        .routes(routes!(api_compare))
        .routes(routes!(api_trace))
}

/// Registration and DNS of any domain, read now; nothing is stored.
#[utoipa::path(get, path = "/scan", tag = "tools", operation_id = "scan", params(("name" = String, Query, description = "Domain")), responses((status = 200, body = v1::ScanReportV1)))]
async fn api_scan(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(q): Query<Host>,
) -> Response {
    respond(state.services.look_up(&caller, &q.name).await.map(v1::ScanReportV1))
}

/// What is checked.
#[derive(Debug, Deserialize)]
struct Zone {
    zone: String,
    /// Servers of a move, separated by commas: `name` or `name/address`.
    #[serde(default)]
    ns: String,
    /// DS records of a move, separated by spaces: `keytag,algorithm,type,digest`.
    #[serde(default)]
    ds: String,
}

/// The health checks of a zone, or of the servers that it is about to move to.
#[utoipa::path(get, path = "/check", tag = "tools", operation_id = "check", params(v1::CheckParameters), responses((status = 200, body = v1::CheckReportV1)))]
async fn api_check(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(q): Query<Zone>,
) -> Response {
    let list = |text: &str, between: &[char]| -> Vec<String> {
        text.split(between).map(str::trim).filter(|t| !t.is_empty()).map(Into::into).collect()
    };
    let (ns, ds) = (list(&q.ns, &[',', ' ']), list(&q.ds, &[' ']));
    respond(state.services.check(&caller, &q.zone, &ns, &ds).await.map(v1::CheckReportV1))
}

/// What is traced.
#[derive(Debug, Deserialize)]
struct Traced {
    name: String,
    #[serde(default, rename = "type")]
    rtype: String,
}

/// A name followed from the root, every server asked, as `trace --json` prints it.
#[utoipa::path(get, path = "/trace", tag = "tools", operation_id = "trace", params(v1::TraceParameters), responses((status = 200, body = v1::TraceV1)))]
async fn api_trace(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(q): Query<Traced>,
) -> Response {
    let rtype = if q.rtype.trim().is_empty() { "A" } else { q.rtype.trim() };
    respond(state.services.trace(&caller, &q.name, rtype).await.map(v1::TraceV1))
}

/// Authoritative servers beside public resolvers, as `compare --json` prints it.
#[utoipa::path(get, path = "/compare", tag = "tools", operation_id = "compare", params(v1::CompareParameters), responses((status = 200, body = v1::ComparisonV1)))]
async fn api_compare(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(q): Query<Question>,
) -> Response {
    respond(state.services.compare(&caller, &q.name, &q.rtype, q.force.0).await.map(v1::ComparisonV1))
}

/// What is analyzed.
#[derive(Debug, Deserialize)]
struct Host {
    name: String,
}

/// A host name from every vantage point, as `fqdn --json` prints it.
#[utoipa::path(get, path = "/fqdn", tag = "tools", operation_id = "fqdn", params(("name" = String, Query, description = "Host name")), responses((status = 200, body = v1::FqdnReportV1)))]
async fn api_fqdn(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(q): Query<Host>,
) -> Response {
    respond(state.services.fqdn(&caller, &q.name).await.map(v1::FqdnReportV1))
}

/// What the authoritative servers say when asked from this server and from each point of presence.
#[utoipa::path(get, path = "/places", tag = "fleet", operation_id = "places", params(("name" = String, Query, description = "Host name"), ("type" = Option<String>, Query, description = "Record type; `A` unless given")), responses((status = 200, body = Object)))]
async fn api_places(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(q): Query<Question>,
) -> Response {
    let places = state.services.ask_places(&caller, &q.name, &q.rtype).await;
    respond(places.map(|p| json!({ "sentence": p.sentence(), "places": p.places, "left_out": p.left_out })))
}

/// What a web server is asked for.
#[derive(Debug, Deserialize)]
struct WebHost {
    name: String,
    #[serde(default)]
    path: String,
}

/// What a web server answers over HTTPS and HTTP when asked from this server and from each point of presence.
#[utoipa::path(get, path = "/readiness", tag = "fleet", operation_id = "readiness", params(("name" = String, Query, description = "Host name"), ("path" = Option<String>, Query, description = "Path; `/` unless given")), responses((status = 200, body = Object)))]
async fn api_readiness(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(q): Query<WebHost>,
) -> Response {
    let places = state.services.ask_web(&caller, &q.name, &q.path).await;
    respond(places.map(|p| json!({ "sentence": p.sentence(), "places": p.places, "left_out": p.left_out })))
}

/// What places of third parties are asked.
#[derive(Debug, Deserialize)]
struct ThirdPartyQuestion {
    name: String,
    #[serde(default, rename = "type")]
    rtype: String,
    #[serde(default)]
    server: String,
}

/// What places of Globalping and RIPE Atlas get; empty while the feature third-party-vantages is off.
#[utoipa::path(get, path = "/third-parties", tag = "fleet", operation_id = "third_parties", params(("name" = String, Query, description = "Host name"), ("type" = Option<String>, Query, description = "Record type; `A` unless given"), ("server" = Option<String>, Query, description = "Name server to ask; the resolver of each place unless given")), responses((status = 200, body = Object)))]
async fn api_third_parties(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(q): Query<ThirdPartyQuestion>,
) -> Response {
    let look = state.services.ask_third_parties(&caller, &q.name, &q.rtype, &q.server).await;
    respond(look.map(|l| json!({ "sentence": l.sentence(), "look": l })))
}
