//! Passkeys over HTTP: options for the browser and its answers, as JSON, for the script `/passkey.js`.

use super::AppState;
use super::access;
use super::origin;
use super::response::{problem, rejections_as_problems, respond};
use super::sign_in::own_path;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router, middleware};
use model::ids::Caller;
use serde::Deserialize;
use serde_json::{Value, json};
use service::{AccountBackend, ApiError, ApiResult, ErrorKind};

/// Longest request, octets.
const BODY_MAX: usize = 64 << 10;
const SCRIPT: &str = include_str!("passkey.js");

#[derive(Debug, Deserialize)]
struct Password {
    password: String,
}

#[derive(Debug, Deserialize)]
struct NewPasskey {
    name: String,
    answer: Value,
}

#[derive(Debug, Deserialize)]
struct SignIn {
    #[serde(default)]
    to: String,
    answer: Value,
}

/// What a person who is signed in calls.
pub fn settings() -> Router<AppState> {
    Router::new()
        .route("/settings/passkeys/options", post(options))
        .route("/settings/passkeys", post(add))
        .layer(middleware::map_response(rejections_as_problems))
}

/// What the sign-in page calls.
pub fn sign_in() -> Router<AppState> {
    Router::new()
        .route("/sign-in/passkey/options", post(sign_in_options))
        .route("/sign-in/passkey", post(finish_sign_in))
}

/// `GET /passkey.js`.
pub async fn script() -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/javascript; charset=utf-8")),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, SCRIPT).into_response()
}

/// The origin that browsers see: the configured public address, else the one of the request.
pub(super) fn site(state: &AppState, request: &Request) -> String {
    let configured = state.services.deliverer.base().map(|url| url.origin().ascii_serialization());
    configured.unwrap_or_else(|| origin::site(request))
}

async fn body<T: for<'de> Deserialize<'de>>(request: Request) -> ApiResult<T> {
    let bytes = to_bytes(request.into_body(), BODY_MAX).await.unwrap_or_default();
    serde_json::from_slice(&bytes).map_err(|e| ApiError::invalid(format!("The request can't be read: {e}.")))
}

fn caller(request: &Request) -> ApiResult<Caller> {
    let caller = request.extensions().get::<Caller>().cloned();
    caller.ok_or_else(|| ApiError::sign_in_required("Sign in first."))
}

/// JSON of the library, as it is.
fn json_text(text: String) -> Response {
    ([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], Body::from(text)).into_response()
}

async fn options(State(state): State<AppState>, request: Request) -> Response {
    let site = site(&state, &request);
    let begin = async {
        let caller = caller(&request)?;
        let Password { password } = body(request).await?;
        state.services.begin_passkey(&caller, &password, &site).await
    };
    begin.await.map_or_else(|e| respond::<()>(Err(e)), json_text)
}

async fn add(State(state): State<AppState>, request: Request) -> Response {
    let site = site(&state, &request);
    let finish = async {
        let caller = caller(&request)?;
        let NewPasskey { name, answer } = body(request).await?;
        state.services.finish_passkey(&caller, &name, &answer.to_string(), &site).await
    };
    respond(finish.await)
}

async fn sign_in_options(State(state): State<AppState>, request: Request) -> Response {
    if origin::is_cross_site(request.method(), request.headers()) {
        return origin::cross_site_refusal();
    }
    let encrypted = origin::is_encrypted(&request);
    match state.access.identity.begin_passkey_sign_in(&site(&state, &request)).await {
        Ok((secret, options)) => {
            let mut response = json_text(options);
            let cookie = access::passkey_cookie(secret.expose(), encrypted, 300);
            if let Ok(cookie) = HeaderValue::from_str(&cookie) {
                response.headers_mut().insert(SET_COOKIE, cookie);
            }
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            response
        }
        Err(e) => respond::<()>(Err(e)),
    }
}

async fn finish_sign_in(State(state): State<AppState>, request: Request) -> Response {
    if origin::is_cross_site(request.method(), request.headers()) {
        return origin::cross_site_refusal();
    }
    let (client, encrypted) = (access::client(&request), origin::is_encrypted(&request));
    let site = site(&state, &request);
    let secret = access::presented_passkey(request.headers(), encrypted).unwrap_or_default();
    let SignIn { to, answer } = match body(request).await {
        Ok(read) => read,
        Err(e) => return respond::<()>(Err(e)),
    };
    match state.access.identity.passkey_sign_in(&secret, &answer.to_string(), &site, &client).await {
        Ok(session) => {
            let mut headers = HeaderMap::new();
            let session = access::cookie(session.expose(), encrypted, access::COOKIE_SECONDS);
            for cookie in [session, access::passkey_cookie("", encrypted, 0)] {
                if let Ok(cookie) = HeaderValue::from_str(&cookie) {
                    headers.append(SET_COOKIE, cookie);
                }
            }
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            (StatusCode::OK, headers, Json(json!({ "to": own_path(&to) }))).into_response()
        }
        Err(e) => {
            let kind = match e.status() {
                429 => ErrorKind::TooManyRequests,
                503 => ErrorKind::Unavailable,
                403 => ErrorKind::Forbidden,
                _ => ErrorKind::SignInRequired,
            };
            problem(&ApiError::new(kind, e.to_string()))
        }
    }
}
