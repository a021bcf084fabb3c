//! REST about access: members, invitations, tokens, the organisation, the audit log.

use super::once::{Once, once};
use super::v1_access as v1;
use super::{page_of, respond};
use crate::http::AppState;
use crate::http::etag::{check, tagged};
use axum::extract::{Path, Query, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::{Extension, Json};
use model::account::{AuditQuery, UserId};
use model::checks::Checks;
use model::ids::Caller;
use serde::Deserialize;
use service::{AccountBackend, ApiError, ApiResult};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// `/members`, `/invitations`, `/tokens`, `/organisation`, `/audit`.
pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(members))
        .routes(routes!(member, set_role, remove_member))
        .routes(routes!(invitations, invite))
        .routes(routes!(revoke_invitation))
        .routes(routes!(tokens, create_token))
        .routes(routes!(revoke_token))
        .routes(routes!(organisation, rename))
        .routes(routes!(audit))
}

/// Where a list begins, and how long its part is.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct Cursor {
    /// `next` of the part before.
    pub cursor: Option<String>,
    /// Entries of a part, 1 to 500; 100 unless given.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

impl Cursor {
    pub(super) fn limit(&self) -> usize {
        self.limit.unwrap_or(100).clamp(1, 500) as usize
    }
}

/// Members, by name.
#[utoipa::path(get, path = "/members", tag = "access", params(Cursor), responses((status = 200, body = v1::Part<v1::MemberV1>)))]
async fn members(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(cursor): Query<Cursor>,
) -> Response {
    let read = state.services.members(&caller).await;
    respond(read.map(|all| page_of(all.into_iter().map(v1::MemberV1::from), |m| &m.id, &cursor)))
}

async fn member_of(state: &AppState, caller: &Caller, id: &str) -> ApiResult<v1::MemberV1> {
    let all = state.services.members(caller).await?;
    let found = all.into_iter().find(|m| m.user.id.0 == id);
    found
        .map(Into::into)
        .ok_or_else(|| ApiError::not_found("This person is not a member of the organisation."))
}

/// One member, with an ETag for `If-Match`.
#[utoipa::path(get, path = "/members/{id}", tag = "access", params(("id" = String, Path, description = "Identifier"), ("If-None-Match" = Option<String>, Header, description = "Entity tag of a known state; the same state is answered with 304")), responses((status = 200, body = v1::MemberV1, headers(("ETag" = String, description = "Entity tag of this state"))), (status = 304, description = "The state of If-None-Match, unchanged")))]
async fn member(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    tagged(&headers, member_of(&state, &caller, &id).await)
}

/// Changes the role of a member.
#[utoipa::path(patch, path = "/members/{id}", tag = "access", params(("id" = String, Path, description = "Identifier"), ("If-Match" = Option<String>, Header, description = "Entity tag of the state the change is meant for; another state is refused with 412")), request_body = v1::RoleRequest, responses((status = 200, body = v1::MemberV1)))]
async fn set_role(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Json(body): Json<v1::RoleRequest>,
) -> Response {
    let change = async {
        check(&headers, member_of(&state, &caller, &id)).await?;
        state.services.set_role(&caller, &UserId(id.clone()), body.role).await?;
        member_of(&state, &caller, &id).await
    };
    respond(change.await)
}

/// Removes a member; their sessions in the organisation end.
#[utoipa::path(delete, path = "/members/{id}", tag = "access", params(("id" = String, Path, description = "Identifier"), ("If-Match" = Option<String>, Header, description = "Entity tag of the state the change is meant for; another state is refused with 412")), responses((status = 200, body = (), description = "Removed")))]
async fn remove_member(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let remove = async {
        check(&headers, member_of(&state, &caller, &id)).await?;
        state.services.remove_member(&caller, &UserId(id.clone())).await
    };
    respond(remove.await)
}

/// Invitations that were not accepted yet.
#[utoipa::path(get, path = "/invitations", tag = "access", params(Cursor), responses((status = 200, body = v1::Part<v1::InvitationV1>)))]
async fn invitations(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(cursor): Query<Cursor>,
) -> Response {
    let read = state.services.invitations(&caller).await;
    respond(read.map(|all| page_of(all.into_iter().map(v1::InvitationV1::from), |i| &i.id, &cursor)))
}

/// Invites a person. The answer has the link, once.
#[utoipa::path(post, path = "/invitations", tag = "access", params(("Idempotency-Key" = Option<String>, Header, description = "1 to 200 visible ASCII characters; a repeated request with the same key creates once")), request_body = v1::InviteRequest, responses((status = 201, body = v1::NewInvitationV1)))]
async fn invite(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Json(body): Json<v1::InviteRequest>,
) -> Response {
    let what = Once { request: format!("invite {} {}", body.email, body.role.as_str()), secret: "path" };
    once(&state, &caller, &headers, what, async {
        state.services.invite(&caller, &body.email, body.role).await.map(v1::NewInvitationV1::from)
    })
    .await
}

/// Revokes an invitation.
#[utoipa::path(delete, path = "/invitations/{id}", tag = "access", params(("id" = String, Path, description = "Identifier")), responses((status = 200, body = (), description = "Revoked")))]
async fn revoke_invitation(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Response {
    respond(state.services.revoke_invitation(&caller, &id).await)
}

/// API tokens, newest first.
#[utoipa::path(get, path = "/tokens", tag = "access", params(Cursor), responses((status = 200, body = v1::Part<v1::TokenV1>)))]
async fn tokens(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(cursor): Query<Cursor>,
) -> Response {
    let read = state.services.tokens(&caller).await;
    respond(read.map(|all| page_of(all.into_iter().map(v1::TokenV1::from), |t| &t.id, &cursor)))
}

/// Creates an API token. The answer has its secret, once.
#[utoipa::path(post, path = "/tokens", tag = "access", params(("Idempotency-Key" = Option<String>, Header, description = "1 to 200 visible ASCII characters; a repeated request with the same key creates once")), request_body = v1::TokenRequestV1, responses((status = 201, body = v1::NewTokenV1)))]
async fn create_token(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Json(body): Json<v1::TokenRequestV1>,
) -> Response {
    let request = format!("token {} {} {}", body.name, body.scope.as_str(), body.days);
    once(&state, &caller, &headers, Once { request, secret: "secret" }, async {
        state.services.create_token(&caller, &body.into()).await.map(v1::NewTokenV1::from)
    })
    .await
}

/// Revokes an API token.
#[utoipa::path(delete, path = "/tokens/{id}", tag = "access", params(("id" = String, Path, description = "Identifier")), responses((status = 200, body = (), description = "Revoked")))]
async fn revoke_token(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Response {
    respond(state.services.revoke_token(&caller, &id).await)
}

/// The organisation and its quotas, with an ETag for `If-Match`.
#[utoipa::path(get, path = "/organisation", tag = "access", params(("If-None-Match" = Option<String>, Header, description = "Entity tag of a known state; the same state is answered with 304")), responses((status = 200, body = v1::OrganisationV1, headers(("ETag" = String, description = "Entity tag of this state"))), (status = 304, description = "The state of If-None-Match, unchanged")))]
async fn organisation(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Response {
    tagged(&headers, organisation_of(&state, &caller).await)
}

async fn organisation_of(state: &AppState, caller: &Caller) -> ApiResult<v1::OrganisationV1> {
    state.services.organisation(caller).await.map(Into::into)
}

/// Renames the organisation, or changes the schedule of its domains' checks.
#[utoipa::path(patch, path = "/organisation", tag = "access", params(("If-Match" = Option<String>, Header, description = "Entity tag of the state the change is meant for; another state is refused with 412")), request_body = v1::RenameRequest, responses((status = 200, body = v1::OrganisationV1)))]
async fn rename(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Json(body): Json<v1::RenameRequest>,
) -> Response {
    let change = async {
        check(&headers, organisation_of(&state, &caller)).await?;
        // The checks first: bounds are refused there, and then nothing is renamed.
        if body.scan_interval.is_some() || body.expiry_days.is_some() {
            let set = state.services.organisation(&caller).await?.checks;
            let checks = Checks {
                interval_s: body.scan_interval.unwrap_or(set.interval_s),
                expiry_days: body.expiry_days.unwrap_or(set.expiry_days),
            };
            state.services.set_checks(&caller, &checks).await?;
        }
        if let Some(name) = &body.name {
            state.services.rename_organisation(&caller, name).await?;
        }
        organisation_of(&state, &caller).await
    };
    respond(change.await)
}

/// The audit log, newest first.
#[utoipa::path(get, path = "/audit", tag = "access", params(Cursor, v1::AuditParameters), responses((status = 200, body = v1::Part<v1::AuditEntryV1>)))]
async fn audit(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(cursor): Query<Cursor>,
    RawQuery(raw): RawQuery,
) -> Response {
    let read = async {
        let before = cursor.cursor.as_deref().map(|text| {
            text.parse().map_err(|_| ApiError::invalid(format!("“{text}” is not a cursor of the audit log.")))
        });
        let query = app::audit_query(raw.as_deref().unwrap_or_default())?;
        let limit = u32::try_from(cursor.limit()).unwrap_or(100);
        let query = AuditQuery { before: before.transpose()?, limit, ..query };
        state.services.audit_log(&caller, &query).await
    };
    respond(read.await.map(|page| v1::Part {
        items: page.entries.into_iter().map(v1::AuditEntryV1::from).collect(),
        next: page.next.map(|id| id.to_string()),
    }))
}
