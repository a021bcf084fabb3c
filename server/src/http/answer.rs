//! What an answer of the backend looks like over HTTP. In: `Answer`. Out: JSON, and for a failure
//! `{"failure": kind, "sentence": words}` under a status code that fits it.

use super::Web;
use app::answer::{Answer, Failure};
use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use model::ids::Caller;
use serde::Serialize;

/// Written by leptos into the answer of a server function that failed.
const FUNCTION_FAILED: HeaderName = HeaderName::from_static("serverfnerror");
/// A failure is a sentence; more is none.
const FAILURE_MAX: usize = 64 << 10;

/// The answer of the REST API and of what is asked before a stream begins.
pub fn answer<T: Serialize>(result: Answer<T>) -> Response {
    match result {
        Ok(value) => Json(value).into_response(),
        // Version 1 of the API has always told names that break a rule from requests that can't be read.
        Err(failure @ Failure::Invalid(_)) => {
            (StatusCode::UNPROCESSABLE_ENTITY, Json(failure)).into_response()
        }
        Err(failure) => failed(&failure),
    }
}

/// A caller that is sent away is told in a header too when to come again.
pub async fn patience(State(web): State<Web>, request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<Caller>().cloned();
    let mut response = next.run(request).await;
    let away = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE].contains(&response.status());
    if away && let Some(seconds) = caller.and_then(|c| web.product.tools.limits.again(&c)) {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// A failure under its own status code.
pub fn failed(failure: &Failure) -> Response {
    (status(failure), Json(failure)).into_response()
}

fn status(failure: &Failure) -> StatusCode {
    StatusCode::from_u16(failure.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// What the framework refuses by itself (a body that is no JSON, a query that lacks a field, a method) in the form of
/// every other refusal.
pub async fn of_program(response: Response) -> Response {
    let status = response.status();
    let json =
        response.headers().get(CONTENT_TYPE).is_some_and(|t| t.as_bytes().starts_with(b"application/json"));
    if !status.is_client_error() || json {
        return response;
    }
    let allowed = response.headers().get(ALLOW).cloned();
    let said = to_bytes(response.into_body(), FAILURE_MAX).await.unwrap_or_default();
    let said = String::from_utf8_lossy(&said).trim().to_string();
    let sentence = match status {
        StatusCode::METHOD_NOT_ALLOWED => "This address does not answer to that method.".to_string(),
        _ if said.is_empty() => status.to_string(),
        _ => said,
    };
    let mut response = (status, Json(Failure::Invalid(sentence))).into_response();
    if let Some(allowed) = allowed {
        response.headers_mut().insert(ALLOW, allowed);
    }
    response
}

/// The refusal of a server function that does not exist.
pub async fn no_such_function() -> Response {
    failed(&Failure::NotFound(
        "There is no such function: the page may be of an older version. Reload it.".into(),
    ))
}

/// A refused server function leaves leptos as status 500 whatever the reason; here it gets the one that fits. A form
/// without script was sent back to its page already and stays as it is.
pub async fn of_function(mut response: Response) -> Response {
    if response.status() != StatusCode::INTERNAL_SERVER_ERROR
        || !response.headers().contains_key(FUNCTION_FAILED)
    {
        return response;
    }
    let body = std::mem::replace(response.body_mut(), Body::empty());
    let Ok(body) = to_bytes(body, FAILURE_MAX).await else { return response };
    if let Ok(failure) = serde_json::from_slice::<Failure>(&body) {
        *response.status_mut() = status(&failure);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    *response.body_mut() = Body::from(body);
    response
}
