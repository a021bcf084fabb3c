//! Channels, rules and messages in the REST API. Channels are written as drafts and read without their secrets; rules and
//! results are the model's own documents.

use super::{AppState, respond};
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::{delete, get, post};
use axum::{Extension, Json, Router};
use model::ids::{Caller, EventId};
use model::notify::Rule;
use serde::{Deserialize, Serialize};
use service::{AlertBackend, ChannelDraft};

/// `/channels`, `/rules`, `/messages`.
pub(super) fn router() -> Router<AppState> {
    Router::new()
        .route("/channels", get(channels).post(save_channel))
        .route("/channels/{id}", delete(remove_channel))
        .route("/channels/{id}/test", post(test_channel))
        .route("/rules", get(rules).post(save_rule))
        .route("/rules/preview", post(preview))
        .route("/rules/{id}", delete(remove_rule))
        .route("/messages/failed", get(failed))
        .route("/messages/resend", post(resend))
}

type Services = State<AppState>;

async fn channels(State(state): Services, Extension(caller): Extension<Caller>) -> Response {
    respond(state.services.notifications(&caller).await.map(|n| n.channels))
}

async fn save_channel(
    State(state): Services,
    Extension(caller): Extension<Caller>,
    Json(draft): Json<ChannelDraft>,
) -> Response {
    respond(state.services.save_channel(&caller, &draft).await)
}

async fn remove_channel(
    State(state): Services,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Response {
    respond(state.services.remove_channel(&caller, &id).await)
}

async fn test_channel(
    State(state): Services,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Response {
    respond(state.services.test_channel(&caller, &id).await)
}

async fn rules(State(state): Services, Extension(caller): Extension<Caller>) -> Response {
    let rules = state.services.notifications(&caller).await;
    respond(rules.map(|n| n.rules.into_iter().map(|r| r.rule).collect::<Vec<_>>()))
}

async fn save_rule(
    State(state): Services,
    Extension(caller): Extension<Caller>,
    Json(rule): Json<Rule>,
) -> Response {
    respond(state.services.save_rule(&caller, &rule).await)
}

async fn preview(
    State(state): Services,
    Extension(caller): Extension<Caller>,
    Json(rule): Json<Rule>,
) -> Response {
    respond(state.services.preview_rule(&caller, &rule).await)
}

async fn remove_rule(
    State(state): Services,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Response {
    respond(state.services.remove_rule(&caller, &id).await)
}

async fn failed(State(state): Services, Extension(caller): Extension<Caller>) -> Response {
    respond(state.services.notifications(&caller).await.map(|n| n.failed))
}

/// One failed message, or all when the body is `{}`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Which {
    id: Option<EventId>,
    channel: Option<String>,
}

#[derive(Debug, Serialize)]
struct Resent {
    resent: u64,
}

async fn resend(
    State(state): Services,
    Extension(caller): Extension<Caller>,
    Json(which): Json<Which>,
) -> Response {
    let resent = state.services.resend(&caller, which.id.zip(which.channel)).await;
    respond(resent.map(|resent| Resent { resent }))
}
