//! Channels, rules and messages in the REST API. Channels are written as drafts and read without their secrets.

use super::{AppState, all, respond, v1};
use axum::extract::{Path, State};
use axum::response::Response;
use axum::{Extension, Json};
use model::ids::Caller;
use service::AlertBackend;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// `/channels`, `/rules`, `/messages`.
pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(channels, save_channel))
        .routes(routes!(remove_channel))
        .routes(routes!(test_channel))
        .routes(routes!(rules, save_rule))
        .routes(routes!(preview))
        .routes(routes!(remove_rule))
        .routes(routes!(failed))
        .routes(routes!(resend))
}

type Services = State<AppState>;

/// Channels, by name; without their secrets.
#[utoipa::path(get, path = "/channels", tag = "notifications", responses((status = 200, body = Vec<v1::ChannelV1>)))]
async fn channels(State(state): Services, Extension(caller): Extension<Caller>) -> Response {
    respond(state.services.notifications(&caller).await.map(|n| all::<_, v1::ChannelV1>(n.channels)))
}

/// Adds a channel, or changes the one that the draft names.
#[utoipa::path(post, path = "/channels", tag = "notifications", request_body = v1::ChannelRequest, responses((status = 200, body = v1::ChannelV1)))]
async fn save_channel(
    State(state): Services,
    Extension(caller): Extension<Caller>,
    Json(draft): Json<v1::ChannelRequest>,
) -> Response {
    respond(state.services.save_channel(&caller, &draft.into()).await.map(v1::ChannelV1::from))
}

/// Removes a channel, the messages that wait for it, and its mention in rules.
#[utoipa::path(delete, path = "/channels/{id}", tag = "notifications", params(("id" = String, Path, description = "Identifier of the channel")), responses((status = 200, body = (), description = "Removed")))]
async fn remove_channel(
    State(state): Services,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Response {
    respond(state.services.remove_channel(&caller, &id).await)
}

/// Sends a test message and waits for the answer.
#[utoipa::path(post, path = "/channels/{id}/test", tag = "notifications", params(("id" = String, Path, description = "Identifier of the channel")), responses((status = 200, body = v1::TestResultV1)))]
async fn test_channel(
    State(state): Services,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Response {
    respond(state.services.test_channel(&caller, &id).await.map(v1::TestResultV1::from))
}

/// Rules, by name.
#[utoipa::path(get, path = "/rules", tag = "notifications", responses((status = 200, body = Vec<v1::RuleV1>)))]
async fn rules(State(state): Services, Extension(caller): Extension<Caller>) -> Response {
    let rules = state.services.notifications(&caller).await;
    respond(rules.map(|n| n.rules.into_iter().map(|r| v1::RuleV1::from(r.rule)).collect::<Vec<_>>()))
}

/// Adds a rule, or changes the one of the same identifier.
#[utoipa::path(post, path = "/rules", tag = "notifications", request_body = v1::RuleV1, responses((status = 200, body = v1::RuleV1)))]
async fn save_rule(
    State(state): Services,
    Extension(caller): Extension<Caller>,
    Json(rule): Json<v1::RuleV1>,
) -> Response {
    respond(state.services.save_rule(&caller, &rule.into()).await.map(v1::RuleV1::from))
}

/// What a rule would have sent in the last seven days.
#[utoipa::path(post, path = "/rules/preview", tag = "notifications", operation_id = "preview_rule", request_body = v1::RuleV1, responses((status = 200, body = v1::RulePreviewV1)))]
async fn preview(
    State(state): Services,
    Extension(caller): Extension<Caller>,
    Json(rule): Json<v1::RuleV1>,
) -> Response {
    respond(state.services.preview_rule(&caller, &rule.into()).await.map(v1::RulePreviewV1::from))
}

/// Removes a rule.
#[utoipa::path(delete, path = "/rules/{id}", tag = "notifications", params(("id" = String, Path, description = "Identifier of the rule")), responses((status = 200, body = (), description = "Removed")))]
async fn remove_rule(
    State(state): Services,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Response {
    respond(state.services.remove_rule(&caller, &id).await)
}

/// Messages that were given up, oldest first, at most 200.
#[utoipa::path(get, path = "/messages/failed", tag = "notifications", operation_id = "failed_messages", responses((status = 200, body = Vec<v1::FailedMessageV1>)))]
async fn failed(State(state): Services, Extension(caller): Extension<Caller>) -> Response {
    respond(state.services.notifications(&caller).await.map(|n| all::<_, v1::FailedMessageV1>(n.failed)))
}

/// Sends one given-up message again, or all of them when the body is `{}`.
#[utoipa::path(post, path = "/messages/resend", tag = "notifications", operation_id = "resend_messages", request_body = v1::ResendRequest, responses((status = 200, body = v1::Resent)))]
async fn resend(
    State(state): Services,
    Extension(caller): Extension<Caller>,
    Json(which): Json<v1::ResendRequest>,
) -> Response {
    let resent = state.services.resend(&caller, which.message()).await;
    respond(resent.map(|resent| v1::Resent { resent }))
}
