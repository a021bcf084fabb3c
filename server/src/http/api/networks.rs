//! Address space in the REST API: the claims that cover a domain's addresses, who holds what of a prefix, and the names that
//! point into it. Claims themselves are objects of the resource API.

use super::{AppState, v1};
use crate::http::response::respond;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use axum::{Extension, Json};
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
    OpenApiRouter::new()
        .routes(routes!(addresses))
        .routes(routes!(space))
        .routes(routes!(names))
        .routes(routes!(blocks, save_block, remove_block))
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

/// The blocks that the organisation lists by itself, with what of each is used and free.
#[utoipa::path(get, path = "/networks/blocks", tag = "networks", operation_id = "listed_blocks", responses((status = 200, body = Vec<v1::BlockV1>)))]
async fn blocks(State(state): State<AppState>, Extension(caller): Extension<Caller>) -> Response {
    let read = async {
        let view = state.services.registry(&caller).await?.view;
        let blocks = state.services.listed_blocks(&caller).await?;
        // Each takes a survey: not on a thread that serves others.
        let survey = move || blocks.into_iter().map(|b| v1::BlockV1::of(b, &view)).collect::<Vec<_>>();
        tokio::task::spawn_blocking(survey).await.map_err(|_| ApiError::internal())
    };
    respond(read.await)
}

/// Lists a block, or changes the description of one that is listed; at most 1,000. It reserves nothing.
#[utoipa::path(post, path = "/networks/blocks", tag = "networks", operation_id = "save_block", request_body = v1::BlockRequest, responses((status = 200, body = v1::BlockV1)))]
async fn save_block(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(new): Json<v1::BlockRequest>,
) -> Response {
    let write = async {
        let block = state.services.save_block(&caller, &new.prefix, &new.description).await?;
        Ok(v1::BlockV1::of(block, &state.services.registry(&caller).await?.view))
    };
    respond(write.await)
}

/// Takes a block off the list. Claims out of it stay, and it stays a block as long as they name it.
#[utoipa::path(delete, path = "/networks/blocks", tag = "networks", operation_id = "remove_block", params(Block), responses((status = 200, body = (), description = "Removed")))]
async fn remove_block(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(block): Query<Block>,
) -> Response {
    let write = async {
        let prefix = parse(&block.prefix).map_err(|e| ApiError::invalid(e.to_string()))?;
        state.services.remove_block(&caller, &prefix).await
    };
    respond(write.await)
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
