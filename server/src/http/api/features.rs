//! Features in the REST API: where each stands, turning them on and off, and cleaning up after them.

use super::AppState;
use crate::cli::{feature_json, features_json};
use crate::http::response::respond;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::{Extension, Json};
use model::ids::Caller;
use serde::Deserialize;
use service::{ApiError, FeatureBackend, FeatureDraft};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Its addresses.
pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(one, set)).routes(routes!(clean))
}

/// What is asked for: `On`, `Off`, or `null` for the default.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FeatureChange)]
struct Change {
    /// `null`: the default. Required, so that a change without it resets nothing.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required = true)]
    desired: Option<Desired>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
enum Desired {
    On,
    Off,
}

/// Features of the installation, where each stands, and whether it is safe to upgrade or downgrade.
#[utoipa::path(get, path = "/features", tag = "features", operation_id = "features", responses((status = 200, body = Object)))]
async fn list(State(state): State<AppState>, Extension(caller): Extension<Caller>) -> Response {
    respond(state.services.features(&caller).await.map(|report| features_json(&report)))
}

/// One feature.
#[utoipa::path(get, path = "/features/{name}", tag = "features", operation_id = "feature", params(("name" = String, Path, description = "Name of the feature", example = "doh-server")), responses((status = 200, body = Object)))]
async fn one(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Response {
    let read = async {
        let found = state.services.feature(&caller, &name).await?;
        let missing = || ApiError::not_found("There is no such feature.");
        found.map(|f| feature_json(&f)).ok_or_else(missing)
    };
    respond(read.await)
}

/// Asks for a feature to be on or off; the transition follows.
#[utoipa::path(patch, path = "/features/{name}", tag = "features", operation_id = "set_feature", params(("name" = String, Path, description = "Name of the feature", example = "doh-server")), request_body = Change, responses((status = 200, body = Object)))]
async fn set(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Json(change): Json<Change>,
) -> Response {
    let desired = change.desired.map(|d| d == Desired::On);
    let draft = FeatureDraft { name, desired, ..FeatureDraft::default() };
    respond(state.services.set_feature(&caller, &draft).await.map(|f| feature_json(&f)))
}

/// Deletes what is left of a feature that is off, without turning it on. Safe to repeat; nothing happens when nothing is left.
#[utoipa::path(post, path = "/features/{name}/clean", tag = "features", operation_id = "clean_feature", params(("name" = String, Path, description = "Name of the feature", example = "third-party-vantages")), responses((status = 200, body = Object)))]
async fn clean(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Response {
    respond(state.services.clean_feature(&caller, &name, None).await.map(|f| feature_json(&f)))
}
