//! Services in the REST API: a plan without keeping anything, kept services, and links of customer pages.

use super::AppState;
use crate::http::response::respond;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use model::configure::ServiceSpec;
use model::ids::Caller;
use product::read_name;
use serde::Deserialize;
use service::{Backend, ConnectRequest};

/// Addresses below `/domains/{name}`.
pub(super) fn router() -> Router<AppState> {
    Router::new()
        .route("/domains/{name}/configure", post(configure))
        .route("/domains/{name}/services", get(list).post(add))
        .route("/domains/{name}/services/{id}", get(check).delete(remove))
        .route("/domains/{name}/services/{id}/links", post(link))
}

/// Body of a new link.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewLink {
    brand: String,
    #[serde(default)]
    accent: String,
    #[serde(default)]
    help: String,
    days: Option<u32>,
}

async fn configure(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Json(spec): Json<ServiceSpec>,
) -> Response {
    respond(state.services.configure(&caller, &name, &spec).await)
}

async fn list(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Response {
    let read = async { state.services.services(&caller, &read_name(&name)?).await };
    respond(read.await)
}

async fn add(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Json(spec): Json<ServiceSpec>,
) -> Response {
    respond(state.services.add_service(&caller, &name, &spec).await)
}

async fn check(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path((name, id)): Path<(String, String)>,
) -> Response {
    let look = async { state.services.check_service(&caller, &read_name(&name)?, &id).await };
    respond(look.await)
}

async fn remove(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path((name, id)): Path<(String, String)>,
) -> Response {
    let remove = async { state.services.remove_service(&caller, &read_name(&name)?, &id).await };
    respond(remove.await)
}

async fn link(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path((name, id)): Path<(String, String)>,
    Json(new): Json<NewLink>,
) -> Response {
    let request = ConnectRequest {
        service: id,
        brand: new.brand,
        accent: new.accent,
        help: new.help,
        days: new.days.unwrap_or(7),
    };
    let make = async { state.services.connect_link(&caller, &read_name(&name)?, &request).await };
    respond(make.await)
}
