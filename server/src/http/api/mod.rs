//! The REST API, version 1. In: requests with a caller. Out: JSON of [`v1`], or problem details.

mod alerts;
pub mod v1;

use super::AppState;
use super::export::list_query;
use super::response::{rejections_as_problems, respond};
use axum::extract::{Path, Query, RawQuery, State};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use model::event::{EventKind, EventQuery, Severity};
use model::ids::{Caller, SnapshotId};
use product::{not_held, read_name};
use service::{ApiError, ApiResult, Backend};
use std::collections::HashMap;

/// All addresses below `/api/v1`.
pub fn router() -> Router<AppState> {
    Router::new()
        .route("/domains", get(list).post(add))
        .route("/domains/{name}", get(detail).patch(patch).delete(remove))
        .route("/domains/{name}/rescan", post(rescan))
        .route("/domains/{name}/snapshots", get(snapshots))
        .route("/domains/{name}/snapshots/{id}", get(snapshot))
        .route("/events", get(events))
        .route("/summary", get(summary))
        .merge(super::live_tools::api())
        .merge(alerts::router())
        .fallback(|| async {
            respond::<()>(Err(ApiError::not_found("Unknown address in version 1 of the API.")))
        })
        .layer(axum::middleware::map_response(rejections_as_problems))
}

async fn list(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    RawQuery(raw): RawQuery,
) -> Response {
    let page = state.services.list(&caller, &list_query(raw.as_deref())).await;
    respond(page.map(v1::DomainPage::from))
}

async fn add(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<v1::AddRequest>,
) -> Response {
    let lines = state.services.add(&caller, &body.text(), body.ownership, &body.tags).await;
    respond(lines.map(all::<_, v1::AddedEntry>))
}

async fn detail(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Response {
    let read = async { state.services.detail(&caller, &read_name(&name)?).await };
    respond(read.await.map(v1::DomainDetail::from))
}

async fn patch(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Json(body): Json<v1::PatchRequest>,
) -> Response {
    let change = async { state.services.patch(&caller, &read_name(&name)?, &body.into()).await };
    respond(change.await)
}

async fn remove(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Response {
    let remove = async {
        let name = read_name(&name)?;
        match state.services.remove(&caller, std::slice::from_ref(&name)).await?.len() {
            0 => Err(not_held(&name)),
            removed => Ok(v1::Removed { removed }),
        }
    };
    respond(remove.await)
}

async fn rescan(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Response {
    let queue = async { state.services.rescan(&caller, &[read_name(&name)?]).await };
    respond(queue.await.map(|queued| v1::Queued { queued }))
}

async fn snapshots(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Response {
    let read = async { state.services.snapshots(&caller, &read_name(&name)?).await };
    respond(read.await.map(all::<_, v1::SnapshotEntry>))
}

async fn snapshot(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path((name, id)): Path<(String, i64)>,
) -> Response {
    let read = async { state.services.snapshot(&caller, &read_name(&name)?, SnapshotId(id)).await };
    respond(read.await.map(v1::SnapshotDetail::from))
}

async fn events(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    let read = async { state.services.events(&caller, &event_query(&query)?).await };
    respond(read.await.map(v1::EventList::from))
}

fn event_query(query: &HashMap<String, String>) -> ApiResult<EventQuery> {
    let number = |key: &str, default| query.get(key).and_then(|v| v.parse().ok()).unwrap_or(default);
    let kinds = query.get("kind").map_or("", String::as_str).split(',');
    Ok(EventQuery {
        domain: query.get("domain").map(|d| read_name(d)).transpose()?,
        kinds: kinds.filter_map(EventKind::from_word).collect(),
        at_least: query.get("severity").and_then(|s| Severity::from_word(s)),
        unacknowledged: query.get("open").is_some_and(|v| v == "true"),
        page: number("page", 1),
        per_page: number("per_page", 50).clamp(1, 200),
    })
}

async fn summary(State(state): State<AppState>, Extension(caller): Extension<Caller>) -> Response {
    respond(state.services.summary(&caller).await.map(v1::Totals::from))
}

fn all<M, V: From<M>>(list: Vec<M>) -> Vec<V> {
    list.into_iter().map(V::from).collect()
}
