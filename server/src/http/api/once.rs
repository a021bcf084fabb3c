//! Creation that happens once, whatever the client repeats: the header `Idempotency-Key`
//! (draft-ietf-httpapi-idempotency-key-header).

use crate::http::AppState;
use crate::http::response::{problem, respond};
use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use model::ids::Caller;
use serde::Serialize;
use serde_json::Value;
use service::{ApiError, ApiResult};
use store::Replay;

/// Longest key, characters.
const KEY_MAX: usize = 200;

/// What is done once.
pub struct Once {
    /// The request in words: another one with the same key is refused.
    pub request: String,
    /// The key of the answer that is shown once: it is not kept.
    pub secret: &'static str,
}

fn failed(e: &store::Error) -> Response {
    tracing::error!(error = %e, label = e.label(), "a store call failed");
    problem(&ApiError::unavailable(
        "The database did not respond. Nothing was changed; try again in a moment.",
    ))
}

/// Creates something (201). With an `Idempotency-Key`, a repeated request gets the first answer without its secret, and
/// another request with the same key 409.
pub async fn once<T: Serialize>(
    state: &AppState,
    caller: &Caller,
    headers: &HeaderMap,
    what: Once,
    create: impl Future<Output = ApiResult<T>>,
) -> Response {
    let Some(key) = headers.get("idempotency-key") else { return created(create.await) };
    let key = match key.to_str().map(str::trim) {
        Ok(key) if !key.is_empty() && key.len() <= KEY_MAX => key,
        _ => {
            let words = format!("An Idempotency-Key has 1 to {KEY_MAX} visible ASCII characters.");
            return respond::<()>(Err(ApiError::invalid(words)));
        }
    };
    let store = state.services.store();
    let now = state.services.scanner.clock.now();
    match store.claim_request(caller.org, key, &what.request, now).await {
        Err(e) => failed(&e),
        Ok(Replay::Answered(answer)) => match serde_json::from_str::<Value>(&answer) {
            Ok(answer) => (StatusCode::CREATED, Json(answer)).into_response(),
            Err(_) => problem(&ApiError::internal()),
        },
        Ok(Replay::Running) => {
            problem(&conflict("A request with this Idempotency-Key is being carried out."))
        }
        Ok(Replay::OtherRequest) => {
            problem(&conflict("This Idempotency-Key was used for another request: use a new one."))
        }
        Ok(Replay::New) => {
            let made = create.await;
            let kept = match &made {
                Ok(made) => {
                    let mut answer = serde_json::to_value(made).unwrap_or_default();
                    answer[what.secret] = Value::Null;
                    store.keep_answer(caller.org, key, &answer.to_string()).await
                }
                Err(_) => store.forget_request(caller.org, key).await,
            };
            if let Err(e) = kept {
                tracing::warn!(error = %e, "an idempotency key was not updated");
            }
            created(made)
        }
    }
}

fn conflict(words: &str) -> ApiError {
    ApiError::new(service::ErrorKind::Conflict, words)
}

fn created<T: Serialize>(made: ApiResult<T>) -> Response {
    match made {
        Ok(made) => (StatusCode::CREATED, Json(made)).into_response(),
        Err(e) => respond::<()>(Err(e)),
    }
}
