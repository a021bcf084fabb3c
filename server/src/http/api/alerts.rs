//! Channels, rules and messages in the REST API. Channels are written as drafts and read without their secrets.

use super::{AppState, all, respond, v1};
use axum::extract::{Path, State};
use axum::response::Response;
use axum::{Extension, Json};
use model::ids::Caller;
use service::AlertBackend;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// `/channels`, `/rules`, `/maintenance`, `/feeds`, `/health`, `/messages`.
pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(channels, save_channel))
        .routes(routes!(remove_channel))
        .routes(routes!(test_channel))
        .routes(routes!(rules, save_rule))
        .routes(routes!(preview))
        .routes(routes!(remove_rule))
        .routes(routes!(maintenance, save_maintenance))
        .routes(routes!(end_maintenance))
        .routes(routes!(feeds, create_feed))
        .routes(routes!(revoke_feed))
        .routes(routes!(health))
        .routes(routes!(failed))
        .routes(routes!(resend))
        .routes(routes!(drop_failed))
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

/// Messages that were given up, oldest first, at most 200. A digest is one message.
#[utoipa::path(get, path = "/messages/failed", tag = "notifications", operation_id = "failed_messages", responses((status = 200, body = Vec<v1::FailedMessageV1>)))]
async fn failed(State(state): Services, Extension(caller): Extension<Caller>) -> Response {
    respond(state.services.notifications(&caller).await.map(|n| all::<_, v1::FailedMessageV1>(n.failed)))
}

/// Maintenance windows, the newest first.
#[utoipa::path(get, path = "/maintenance", tag = "notifications", responses((status = 200, body = Vec<v1::MaintenanceV1>)))]
async fn maintenance(State(state): Services, Extension(caller): Extension<Caller>) -> Response {
    respond(state.services.notifications(&caller).await.map(|n| all::<_, v1::MaintenanceV1>(n.maintenance)))
}

/// Plans maintenance: events of these domains are recorded, and no message about them is sent.
#[utoipa::path(post, path = "/maintenance", tag = "notifications", request_body = v1::MaintenanceRequest, responses((status = 200, body = v1::MaintenanceV1)))]
async fn save_maintenance(
    State(state): Services,
    Extension(caller): Extension<Caller>,
    Json(draft): Json<v1::MaintenanceRequest>,
) -> Response {
    respond(state.services.save_maintenance(&caller, &draft.into()).await.map(v1::MaintenanceV1::from))
}

/// Ends a maintenance window that lasts, or removes one that has not begun.
#[utoipa::path(delete, path = "/maintenance/{id}", tag = "notifications", params(("id" = String, Path, description = "Identifier of the window")), responses((status = 200, body = (), description = "Ended")))]
async fn end_maintenance(
    State(state): Services,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Response {
    respond(state.services.end_maintenance(&caller, &id).await)
}

/// Feeds, newest first; without their addresses.
#[utoipa::path(get, path = "/feeds", tag = "notifications", responses((status = 200, body = Vec<v1::FeedV1>)))]
async fn feeds(State(state): Services, Extension(caller): Extension<Caller>) -> Response {
    respond(state.services.feeds(&caller).await.map(all::<_, v1::FeedV1>))
}

/// Creates a feed; its address is shown once.
#[utoipa::path(post, path = "/feeds", tag = "notifications", request_body = v1::FeedRequest, responses((status = 200, body = v1::NewFeedV1)))]
async fn create_feed(
    State(state): Services,
    Extension(caller): Extension<Caller>,
    Json(draft): Json<v1::FeedRequest>,
) -> Response {
    let kind = match super::super::settings::feed_kind(&draft.kind) {
        Ok(kind) => kind,
        Err(e) => return respond::<()>(Err(e)),
    };
    respond(state.services.create_feed(&caller, &draft.name, kind).await.map(v1::NewFeedV1::from))
}

/// Revokes a feed: its address leads nowhere from then on.
#[utoipa::path(delete, path = "/feeds/{id}", tag = "notifications", params(("id" = String, Path, description = "Identifier of the feed")), responses((status = 200, body = (), description = "Revoked")))]
async fn revoke_feed(
    State(state): Services,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Response {
    respond(state.services.revoke_feed(&caller, &id).await)
}

/// What is wrong with the installation itself, not with a domain.
#[utoipa::path(get, path = "/health", tag = "notifications", responses((status = 200, body = v1::HealthV1)))]
async fn health(State(state): Services, Extension(caller): Extension<Caller>) -> Response {
    respond(state.services.health(&caller).await.map(v1::HealthV1::from))
}

/// Sends one given-up message again, or all of them when the body is `{}`.
#[utoipa::path(post, path = "/messages/resend", tag = "notifications", operation_id = "resend_messages", request_body = v1::ResendRequest, responses((status = 200, body = v1::Resent)))]
async fn resend(
    State(state): Services,
    Extension(caller): Extension<Caller>,
    Json(which): Json<v1::ResendRequest>,
) -> Response {
    let which = match which.message() {
        Ok(which) => which,
        Err(e) => return respond::<()>(Err(e)),
    };
    let resent = state.services.resend(&caller, which).await;
    respond(resent.map(|resent| v1::Resent { resent }))
}

/// Drops one given-up message, or all of them when the body is `{"all": true}`: they are not sent any more.
#[utoipa::path(post, path = "/messages/drop", tag = "notifications", operation_id = "drop_messages", request_body = v1::DropRequest, responses((status = 200, body = v1::Dropped)))]
async fn drop_failed(
    State(state): Services,
    Extension(caller): Extension<Caller>,
    Json(which): Json<v1::DropRequest>,
) -> Response {
    let which = match which.message() {
        Ok(which) => which,
        Err(e) => return respond::<()>(Err(e)),
    };
    let dropped = state.services.drop_failed(&caller, which).await;
    respond(dropped.map(|dropped| v1::Dropped { dropped }))
}
