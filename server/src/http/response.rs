//! How results of calls become HTTP responses: JSON, or problem details (RFC 9457, `application/problem+json`) under
//! the status of the error.

use super::AppState;
use super::api::v1::Problem;
use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::http::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use model::ids::Caller;
use serde::Serialize;
use service::{ApiError, ApiResult, ErrorKind};

/// Set by leptos on the response of a server function that failed.
const FUNCTION_FAILED: HeaderName = HeaderName::from_static("serverfnerror");
/// The media type of problem details (RFC 9457 section 6.1).
const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");
/// Longest error body that is read again, octets. An error is a sentence.
const ERROR_MAX: usize = 64 << 10;

/// The response of the REST API, and of streams before they begin. Input that breaks a rule is 422 here: version 1
/// distinguishes it from a request that can't be read (400).
pub fn respond<T: Serialize>(result: ApiResult<T>) -> Response {
    match result {
        Ok(value) => Json(value).into_response(),
        Err(e) if e.kind == ErrorKind::Invalid => problem_with(StatusCode::UNPROCESSABLE_ENTITY, &e),
        Err(e) => problem(&e),
    }
}

/// Problem details under the status of the error.
pub fn problem(error: &ApiError) -> Response {
    problem_with(status(error), error)
}

fn problem_with(status: StatusCode, error: &ApiError) -> Response {
    let body = Json(Problem::new(error, status.as_u16()));
    (status, [(CONTENT_TYPE, PROBLEM_JSON)], body).into_response()
}

fn status(error: &ApiError) -> StatusCode {
    StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Adds `Retry-After` where a limit refused the caller.
pub async fn retry_after(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<Caller>().cloned();
    let mut response = next.run(request).await;
    let limited =
        [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE].contains(&response.status());
    if limited && let Some(seconds) = caller.and_then(|c| state.services.retry_after(&c)) {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// Turns what the framework refuses by itself (a body that is not JSON, a query without a required field, a wrong
/// method) into problem details.
pub async fn rejections_as_problems(response: Response) -> Response {
    let status = response.status();
    let is_json = response.headers().get(CONTENT_TYPE).is_some_and(|t| {
        t.as_bytes().starts_with(b"application/json") || t.as_bytes().starts_with(PROBLEM_JSON.as_bytes())
    });
    if !status.is_client_error() || is_json {
        return response;
    }
    let allowed = response.headers().get(ALLOW).cloned();
    let text = to_bytes(response.into_body(), ERROR_MAX).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).trim().to_string();
    let detail = match status {
        StatusCode::METHOD_NOT_ALLOWED => "This address does not support that method.".to_string(),
        _ if text.is_empty() => status.to_string(),
        _ => text,
    };
    let mut response = problem_with(status, &ApiError::invalid(detail));
    if let Some(allowed) = allowed {
        response.headers_mut().insert(ALLOW, allowed);
    }
    response
}

/// The response for a server function that does not exist.
pub async fn unknown_function() -> Response {
    problem(&ApiError::not_found("Unknown function: this page may be from an older version. Reload it."))
}

/// Gives a failed server function the status of its error; leptos answers 500 whatever the error. A form without
/// script was redirected to its page already and stays as it is.
pub async fn function_status(mut response: Response) -> Response {
    if response.status() != StatusCode::INTERNAL_SERVER_ERROR
        || !response.headers().contains_key(FUNCTION_FAILED)
    {
        return response;
    }
    let body = std::mem::replace(response.body_mut(), Body::empty());
    let Ok(body) = to_bytes(body, ERROR_MAX).await else { return response };
    if let Ok(error) = serde_json::from_slice::<ApiError>(&body) {
        *response.status_mut() = status(&error);
        response.headers_mut().insert(CONTENT_TYPE, PROBLEM_JSON);
    }
    *response.body_mut() = Body::from(body);
    response
}

/// `/problems/KIND`: what a problem type means (RFC 9457 recommends that its URI can be opened).
pub async fn problem_type(Path(word): Path<String>) -> Response {
    let Some(kind) = ErrorKind::from_word(&word) else {
        return (StatusCode::NOT_FOUND, "Unknown problem type.\n").into_response();
    };
    let text = format!("{} (HTTP {})\n\n{}\n", kind.title(), kind.status(), kind.meaning());
    ([(CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}
