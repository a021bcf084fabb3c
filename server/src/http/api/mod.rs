//! The REST API, version 1. In: requests with a caller. Out: JSON of [`v1`] and [`v1_access`], or problem details. Its
//! OpenAPI description is made of handlers and types.

mod access;
mod alerts;
mod events;
mod features;
mod fleet;
mod networks;
mod once;
pub mod reference;
mod services;
pub mod v1;
pub mod v1_access;

use super::AppState;
use super::export::list_query;
use super::response::{rejections_as_problems, respond};
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use axum::{Extension, Json, Router};
use model::ids::{Caller, SnapshotId};
use product::{not_held, read_name};
use serde::Serialize;
use service::{ApiError, Backend};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// All addresses below `/api/v1` that need a caller, with their description.
fn documented() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list, add))
        .routes(routes!(detail, patch, remove))
        .routes(routes!(rescan))
        .routes(routes!(snapshots))
        .routes(routes!(snapshot))
        .routes(routes!(claim, start_claim, withdraw_claim))
        .routes(routes!(check_claim))
        .routes(routes!(claims))
        .routes(routes!(summary))
        .merge(events::router())
        .merge(access::router())
        .merge(super::live_tools::api())
        .merge(services::router())
        .merge(alerts::router())
        .merge(features::router())
        .merge(fleet::router())
        .merge(networks::router())
}

/// The same as a router.
pub fn router() -> Router<AppState> {
    let (router, _) = documented().split_for_parts();
    router
        .fallback(|| async {
            respond::<()>(Err(ApiError::not_found("Unknown address in version 1 of the API.")))
        })
        .layer(axum::middleware::map_response(rejections_as_problems))
}

/// The part of a list that a cursor asks for: what follows the thing it names.
fn page_of<T: Serialize>(
    all: impl Iterator<Item = T>,
    id: impl Fn(&T) -> &String,
    cursor: &access::Cursor,
) -> v1_access::Part<T> {
    let mut items: Vec<T> = all.collect();
    if let Some(after) = &cursor.cursor {
        let at = items.iter().position(|item| id(item) == after).map_or(items.len(), |at| at + 1);
        items.drain(..at);
    }
    let more = items.len() > cursor.limit();
    items.truncate(cursor.limit());
    let next = items.last().filter(|_| more).map(|last| id(last).clone());
    v1_access::Part { items, next }
}

/// A page of the inventory with facet counts.
#[utoipa::path(get, path = "/domains", tag = "domains", params(v1::ListParameters), responses((status = 200, body = v1::DomainPage)))]
async fn list(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    RawQuery(raw): RawQuery,
) -> Response {
    let page = state.services.list(&caller, &list_query(raw.as_deref())).await;
    respond(page.map(v1::DomainPage::from))
}

/// Adds domains; the answer says line by line what became of each.
#[utoipa::path(post, path = "/domains", tag = "domains", request_body = v1::AddRequest, responses((status = 200, body = Vec<v1::AddedEntry>)))]
async fn add(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<v1::AddRequest>,
) -> Response {
    let lines = state.services.add(&caller, &body.text(), body.ownership, &body.tags).await;
    respond(lines.map(all::<_, v1::AddedEntry>))
}

/// One domain with all that is known.
#[utoipa::path(get, path = "/domains/{name}", tag = "domains", params(("name" = String, Path, description = "Domain, as people or DNS write it", example = "q7.io")), responses((status = 200, body = v1::DomainDetail)))]
async fn detail(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Response {
    let read = async { state.services.detail(&caller, &read_name(&name)?).await };
    respond(read.await.map(v1::DomainDetail::from))
}

/// Changes what the owner states about a domain. A field that is left out stays, one that is `null` is cleared.
#[utoipa::path(patch, path = "/domains/{name}", tag = "domains", params(("name" = String, Path, description = "Domain, as people or DNS write it", example = "q7.io")), request_body = v1::PatchRequest, responses((status = 200, body = (), description = "Changed")))]
async fn patch(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Json(body): Json<v1::PatchRequest>,
) -> Response {
    let change = async { state.services.patch(&caller, &read_name(&name)?, &body.into()).await };
    respond(change.await)
}

/// Removes a domain from the inventory.
#[utoipa::path(delete, path = "/domains/{name}", tag = "domains", params(("name" = String, Path, description = "Domain, as people or DNS write it", example = "q7.io")), responses((status = 200, body = v1::Removed)))]
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

/// Queues a scan that goes before scheduled ones.
#[utoipa::path(post, path = "/domains/{name}/rescan", tag = "domains", params(("name" = String, Path, description = "Domain, as people or DNS write it", example = "q7.io")), responses((status = 200, body = v1::Queued)))]
async fn rescan(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Response {
    let queue = async { state.services.rescan(&caller, &[read_name(&name)?]).await };
    respond(queue.await.map(|queued| v1::Queued { queued }))
}

/// Kept states of a domain, newest first.
#[utoipa::path(get, path = "/domains/{name}/snapshots", tag = "domains", params(("name" = String, Path, description = "Domain, as people or DNS write it", example = "q7.io")), responses((status = 200, body = Vec<v1::SnapshotEntry>)))]
async fn snapshots(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Response {
    let read = async { state.services.snapshots(&caller, &read_name(&name)?).await };
    respond(read.await.map(all::<_, v1::SnapshotEntry>))
}

/// One kept state.
#[utoipa::path(get, path = "/domains/{name}/snapshots/{id}", tag = "domains", params(("name" = String, Path, description = "Domain, as people or DNS write it", example = "q7.io"), ("id" = i64, Path, description = "Identifier of the snapshot")), responses((status = 200, body = v1::SnapshotDetail)))]
async fn snapshot(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path((name, id)): Path<(String, i64)>,
) -> Response {
    let read = async { state.services.snapshot(&caller, &read_name(&name)?, SnapshotId(id)).await };
    respond(read.await.map(v1::SnapshotDetail::from))
}

/// Ownership claims of the organisation.
#[utoipa::path(get, path = "/ownership", tag = "ownership", responses((status = 200, body = Vec<v1::ClaimEntry>)))]
async fn claims(State(state): State<AppState>, Extension(caller): Extension<Caller>) -> Response {
    respond(state.services.claims(&caller).await.map(all::<_, v1::ClaimEntry>))
}

/// The ownership claim to a name: records to add, result per server.
#[utoipa::path(get, path = "/domains/{name}/ownership", tag = "ownership", params(("name" = String, Path, description = "Domain, as people or DNS write it", example = "q7.io")), responses((status = 200, body = v1::ClaimDetail)))]
async fn claim(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Response {
    respond(state.services.claim(&caller, &name).await.map(v1::ClaimDetail::from))
}

/// Starts a claim, or changes the method of an open one.
#[utoipa::path(put, path = "/domains/{name}/ownership", tag = "ownership", params(("name" = String, Path, description = "Domain, as people or DNS write it", example = "q7.io")), request_body = v1::ClaimRequest, responses((status = 200, body = v1::ClaimDetail)))]
async fn start_claim(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Json(body): Json<v1::ClaimRequest>,
) -> Response {
    respond(state.services.start_claim(&caller, &name, body.method).await.map(v1::ClaimDetail::from))
}

/// Asks the authoritative servers for the proof now.
#[utoipa::path(post, path = "/domains/{name}/ownership/check", tag = "ownership", params(("name" = String, Path, description = "Domain, as people or DNS write it", example = "q7.io")), responses((status = 200, body = v1::ClaimDetail)))]
async fn check_claim(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Response {
    respond(state.services.check_claim(&caller, &name).await.map(v1::ClaimDetail::from))
}

/// Withdraws a claim.
#[utoipa::path(delete, path = "/domains/{name}/ownership", tag = "ownership", params(("name" = String, Path, description = "Domain, as people or DNS write it", example = "q7.io")), responses((status = 200, body = v1::Removed)))]
async fn withdraw_claim(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Response {
    respond(state.services.withdraw_claim(&caller, &name).await.map(|()| v1::Removed { removed: 1 }))
}

/// Totals of the organisation.
#[utoipa::path(get, path = "/summary", tag = "domains", responses((status = 200, body = v1::Totals)))]
async fn summary(State(state): State<AppState>, Extension(caller): Extension<Caller>) -> Response {
    respond(state.services.summary(&caller).await.map(v1::Totals::from))
}

fn all<M, V: From<M>>(list: Vec<M>) -> Vec<V> {
    list.into_iter().map(V::from).collect()
}
