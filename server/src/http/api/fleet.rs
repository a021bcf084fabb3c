//! The fleet in the REST API: points of presence, and tokens to join with.

use super::AppState;
use crate::http::response::respond;
use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use model::ids::Caller;
use serde_json::json;
use service::FleetBackend;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Its addresses.
pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(token)).routes(routes!(revoke))
}

/// The installation, its set, and its points of presence.
#[utoipa::path(get, path = "/fleet", tag = "fleet", operation_id = "fleet", responses((status = 200, body = Object)))]
async fn list(State(state): State<AppState>, Extension(caller): Extension<Caller>) -> Response {
    let report = state.services.fleet(&caller).await;
    respond(report.map(|f| json!({ "id": f.id, "set": f.set, "version": f.version, "protocols": f.protocols, "agents": f.agents, "refused": f.refused, "third_parties": f.third_parties })))
}

/// Makes a token with which one point of presence can join.
#[utoipa::path(post, path = "/fleet/tokens", tag = "fleet", operation_id = "invite_agent", responses((status = 200, body = Object)))]
async fn token(State(state): State<AppState>, Extension(caller): Extension<Caller>) -> Response {
    respond(state.services.invite_agent(&caller, "").await)
}

/// Revokes a point of presence.
#[utoipa::path(delete, path = "/fleet/{id}", tag = "fleet", operation_id = "revoke_agent", params(("id" = String, Path, description = "Identity of the point of presence", example = "fra-1")), responses((status = 200, body = Object)))]
async fn revoke(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Response {
    respond(state.services.revoke_agent(&caller, &id).await.map(|()| json!({ "revoked": id })))
}
