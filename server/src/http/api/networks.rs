//! Address space in the REST API: the claims that cover a domain's addresses, who holds what of a prefix, and the names that
//! point into it. Claims themselves are objects of the resource API.

use super::{AppState, v1};
use crate::http::response::respond;
use axum::Extension;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use model::ids::Caller;
use product::read_name;
use serde::Deserialize;
use service::ApiError;
use service::numbers::prefix::parse;
use service::resources::ResourceBackend;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Its addresses.
pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(addresses)).routes(routes!(space)).routes(routes!(names))
}

/// The addresses that a domain's records hold, each with the claim that covers it; empty while no address space is claimed.
#[utoipa::path(get, path = "/domains/{name}/addresses", tag = "networks", operation_id = "addresses", params(("name" = String, Path, description = "Domain, as people or DNS write it", example = "q7.io")), responses((status = 200, body = Vec<v1::AddressV1>)))]
async fn addresses(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Response {
    let read = async { state.services.addresses(&caller, &read_name(&name)?).await };
    respond(read.await.map(|all| all.into_iter().map(v1::AddressV1::from).collect::<Vec<_>>()))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Block {
    /// The prefix, such as 192.0.2.0/24.
    #[param(example = "192.0.2.0/24")]
    prefix: String,
}

/// Who holds what of a prefix: the claims inside it and those that cover it, and what is free. Lists have at most 200 entries;
/// the rest is counted.
#[utoipa::path(get, path = "/networks/space", tag = "networks", operation_id = "space", params(Block), responses((status = 200, body = v1::SpaceV1)))]
async fn space(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(block): Query<Block>,
) -> Response {
    let read = async {
        let prefix = parse(&block.prefix).map_err(|e| ApiError::invalid(e.to_string()))?;
        state.services.prefix_space(&caller, &prefix).await
    };
    respond(read.await.map(v1::SpaceV1::from))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct NamesAfter {
    /// `next` of the part before.
    after: Option<String>,
}

/// The names whose records point into a prefix, by address, and whether their PTR records agree; 200 at once.
#[utoipa::path(get, path = "/networks/names", tag = "networks", operation_id = "pointing", params(Block, NamesAfter), responses((status = 200, body = v1::PointersV1)))]
async fn names(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(block): Query<Block>,
    Query(NamesAfter { after }): Query<NamesAfter>,
) -> Response {
    let read = async {
        let prefix = parse(&block.prefix).map_err(|e| ApiError::invalid(e.to_string()))?;
        let after = after.as_deref().map(str::parse).transpose()?;
        state.services.pointing(&caller, &prefix, after.as_ref()).await
    };
    respond(read.await.map(v1::PointersV1::from))
}
