//! Services in the REST API: a plan without keeping anything, kept services, and links of customer pages.

use super::{AppState, all, v1};
use crate::http::response::respond;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::{Extension, Json};
use model::ids::Caller;
use product::read_name;
use service::Backend;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Addresses below `/domains/{name}`.
pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(configure))
        .routes(routes!(list, add))
        .routes(routes!(check, remove))
        .routes(routes!(link))
        .routes(routes!(templates, save_template))
        .routes(routes!(remove_template))
}

/// Compares the records a service needs with the live ones, and plans the change. Nothing is kept.
#[utoipa::path(post, path = "/domains/{name}/configure", tag = "services", params(("name" = String, Path, description = "Domain, as people or DNS write it", example = "q7.io")), request_body = v1::ServiceSpecV1, responses((status = 200, body = v1::ServiceReportV1)))]
async fn configure(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Json(spec): Json<v1::ServiceSpecV1>,
) -> Response {
    respond(state.services.configure(&caller, &name, &spec.into()).await.map(v1::ServiceReportV1))
}

/// Kept services of a domain.
#[utoipa::path(get, path = "/domains/{name}/services", tag = "services", operation_id = "services", params(("name" = String, Path, description = "Domain, as people or DNS write it", example = "q7.io")), responses((status = 200, body = Vec<v1::ServiceV1>)))]
async fn list(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Response {
    let read = async { state.services.services(&caller, &read_name(&name)?).await };
    respond(read.await.map(all::<_, v1::ServiceV1>))
}

/// Keeps a service; it is checked again over time.
#[utoipa::path(post, path = "/domains/{name}/services", tag = "services", operation_id = "add_service", params(("name" = String, Path, description = "Domain, as people or DNS write it", example = "q7.io")), request_body = v1::ServiceSpecV1, responses((status = 200, body = v1::ServiceV1)))]
async fn add(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Json(spec): Json<v1::ServiceSpecV1>,
) -> Response {
    respond(state.services.add_service(&caller, &name, &spec.into()).await.map(v1::ServiceV1::from))
}

/// Compares the records of a kept service with the live ones now.
#[utoipa::path(get, path = "/domains/{name}/services/{id}", tag = "services", operation_id = "check_service", params(("name" = String, Path, description = "Domain, as people or DNS write it", example = "q7.io"), ("id" = String, Path, description = "Identifier of the service")), responses((status = 200, body = v1::ServiceReportV1)))]
async fn check(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path((name, id)): Path<(String, String)>,
) -> Response {
    let look = async { state.services.check_service(&caller, &read_name(&name)?, &id).await };
    respond(look.await.map(v1::ServiceReportV1))
}

/// Removes a kept service.
#[utoipa::path(delete, path = "/domains/{name}/services/{id}", tag = "services", operation_id = "remove_service", params(("name" = String, Path, description = "Domain, as people or DNS write it", example = "q7.io"), ("id" = String, Path, description = "Identifier of the service")), responses((status = 200, body = (), description = "Removed")))]
async fn remove(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path((name, id)): Path<(String, String)>,
) -> Response {
    let remove = async { state.services.remove_service(&caller, &read_name(&name)?, &id).await };
    respond(remove.await)
}

/// Makes a link to the page on which a person without an account sets the service up.
#[utoipa::path(post, path = "/domains/{name}/services/{id}/links", tag = "services", operation_id = "create_link", params(("name" = String, Path, description = "Domain, as people or DNS write it", example = "q7.io"), ("id" = String, Path, description = "Identifier of the service")), request_body = v1::LinkRequest, responses((status = 200, body = v1::LinkV1)))]
async fn link(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path((name, id)): Path<(String, String)>,
    Json(new): Json<v1::LinkRequest>,
) -> Response {
    let request = new.of(id);
    let make = async { state.services.connect_link(&caller, &read_name(&name)?, &request).await };
    respond(make.await.map(v1::LinkV1::from))
}

/// Domain Connect templates that the organisation keeps.
#[utoipa::path(get, path = "/templates", tag = "services", operation_id = "templates", responses((status = 200, body = Vec<v1::TemplateV1>)))]
async fn templates(State(state): State<AppState>, Extension(caller): Extension<Caller>) -> Response {
    respond(state.services.templates(&caller).await.map(all::<_, v1::TemplateV1>))
}

/// Checks a template and saves it in place of that of the same provider and service.
#[utoipa::path(post, path = "/templates", tag = "services", operation_id = "save_template", request_body = v1::TemplateRequest, responses((status = 200, body = v1::TemplateV1)))]
async fn save_template(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(new): Json<v1::TemplateRequest>,
) -> Response {
    respond(state.services.save_template(&caller, &new.into()).await.map(v1::TemplateV1::from))
}

/// Removes a template. Services that were set up with it stay.
#[utoipa::path(delete, path = "/templates/{provider}/{service}", tag = "services", operation_id = "remove_template", params(("provider" = String, Path, description = "providerId of the template"), ("service" = String, Path, description = "serviceId of the template")), responses((status = 200, body = (), description = "Removed")))]
async fn remove_template(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path((provider, service)): Path<(String, String)>,
) -> Response {
    respond(state.services.remove_template(&caller, &format!("{provider}/{service}")).await)
}
