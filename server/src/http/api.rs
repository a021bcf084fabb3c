//! The REST API, version 1: the model's own types as JSON. Errors are `{"failure": kind, "sentence": words}`.

use super::Web;
use super::answer::answer;
use super::export::list_query;
use app::answer::{Answer, Failure};
use app::backend::Backend;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use model::event::{EventQuery, Severity};
use model::ids::{Caller, SnapshotId};
use model::item::{ItemPatch, Ownership};
use model::names::DomainName;
use serde::Deserialize;
use std::collections::HashMap;

/// All addresses below `/api/v1`.
pub fn router() -> Router<Web> {
    Router::new()
        .route("/domains", get(list).post(add))
        .route("/domains/{name}", get(detail).patch(patch).delete(remove))
        .route("/domains/{name}/rescan", post(rescan))
        .route("/domains/{name}/snapshots", get(snapshots))
        .route("/domains/{name}/snapshots/{id}", get(snapshot))
        .route("/events", get(events))
        .route("/summary", get(summary))
        .merge(super::live_tools::api())
        .fallback(|| async {
            answer::<()>(Err(Failure::NotFound("There is no such address in version 1 of the API.".into())))
        })
        .layer(axum::middleware::map_response(super::answer::of_program))
}

fn name(text: &str) -> Answer<DomainName> {
    crate::backend::read_name(text)
}

async fn list(
    State(web): State<Web>,
    Extension(caller): Extension<Caller>,
    RawQuery(raw): RawQuery,
) -> Response {
    answer(web.product.list(&caller, &list_query(raw.as_deref())).await)
}

/// Names to add: a pasted text or a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AddBody {
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    text: String,
    #[serde(default)]
    ownership: Ownership,
    #[serde(default)]
    tags: Vec<String>,
}

async fn add(
    State(web): State<Web>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<AddBody>,
) -> Response {
    let text = if body.names.is_empty() { body.text } else { body.names.join("\n") };
    answer(web.product.add(&caller, &text, body.ownership, &body.tags).await)
}

async fn detail(
    State(web): State<Web>,
    Extension(caller): Extension<Caller>,
    Path(n): Path<String>,
) -> Response {
    match name(&n) {
        Ok(n) => answer(web.product.detail(&caller, &n).await),
        Err(e) => answer::<()>(Err(e)),
    }
}

async fn patch(
    State(web): State<Web>,
    Extension(caller): Extension<Caller>,
    Path(n): Path<String>,
    Json(body): Json<ItemPatch>,
) -> Response {
    match name(&n) {
        Ok(n) => answer(web.product.patch(&caller, &n, &body).await),
        Err(e) => answer::<()>(Err(e)),
    }
}

async fn remove(
    State(web): State<Web>,
    Extension(caller): Extension<Caller>,
    Path(n): Path<String>,
) -> Response {
    match name(&n) {
        Ok(n) => match web.product.remove(&caller, std::slice::from_ref(&n)).await {
            Ok(gone) if gone.is_empty() => answer::<()>(Err(crate::backend::not_held(&n))),
            other => answer(other.map(|gone| serde_json::json!({ "removed": gone.len() }))),
        },
        Err(e) => answer::<()>(Err(e)),
    }
}

async fn rescan(
    State(web): State<Web>,
    Extension(caller): Extension<Caller>,
    Path(n): Path<String>,
) -> Response {
    match name(&n) {
        Ok(n) => {
            let queued = web.product.rescan(&caller, &[n]).await;
            answer(queued.map(|n| serde_json::json!({ "queued": n })))
        }
        Err(e) => answer::<()>(Err(e)),
    }
}

async fn snapshots(
    State(web): State<Web>,
    Extension(caller): Extension<Caller>,
    Path(n): Path<String>,
) -> Response {
    match name(&n) {
        Ok(n) => answer(web.product.snapshots(&caller, &n).await),
        Err(e) => answer::<()>(Err(e)),
    }
}

async fn snapshot(
    State(web): State<Web>,
    Extension(caller): Extension<Caller>,
    Path((n, id)): Path<(String, i64)>,
) -> Response {
    match name(&n) {
        Ok(n) => answer(web.product.snapshot(&caller, &n, SnapshotId(id)).await),
        Err(e) => answer::<()>(Err(e)),
    }
}

async fn events(
    State(web): State<Web>,
    Extension(caller): Extension<Caller>,
    axum::extract::Query(q): axum::extract::Query<HashMap<String, String>>,
) -> Response {
    let number = |key: &str, default| q.get(key).and_then(|v| v.parse().ok()).unwrap_or(default);
    let domain = match q.get("domain").map(|d| name(d)).transpose() {
        Ok(d) => d,
        Err(e) => return answer::<()>(Err(e)),
    };
    let query = EventQuery {
        domain,
        kinds: q
            .get("kind")
            .map(|k| k.split(',').filter_map(model::event::EventKind::from_word).collect())
            .unwrap_or_default(),
        at_least: q.get("severity").and_then(|s| Severity::from_word(s)),
        unacknowledged: q.get("open").is_some_and(|v| v == "true"),
        page: number("page", 1),
        per_page: number("per_page", 50).clamp(1, 200),
    };
    answer(web.product.events(&caller, &query).await)
}

async fn summary(State(web): State<Web>, Extension(caller): Extension<Caller>) -> Response {
    answer(web.product.summary(&caller).await)
}
