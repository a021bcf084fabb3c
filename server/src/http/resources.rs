//! The resource API at `/apis`: requests handed to [`resources::Api`], and its replies as HTTP.

use super::AppState;
use super::access::{Access, Parts};
use axum::Extension;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT, CONTENT_TYPE, HeaderName, RETRY_AFTER, USER_AGENT, WARNING, WWW_AUTHENTICATE,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use futures::{Stream, StreamExt as _, stream};
use model::ids::Caller;
use resources::{Api, BODY_MAX, Failure, Reply, WATCH_TYPE, WatchLine};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Watches of one process.
const WATCHES_MAX: usize = 4_000;

/// Characters of a warning, and octets of all warnings of a reply: clients refuse replies whose headers are long.
const WARNING_MAX: usize = 256;
const WARNINGS_MAX: usize = 4 << 10;

/// Time between two checks that the credentials of an open watch are still valid: it may last an hour.
const RECHECK: Duration = Duration::from_secs(30);

static WATCHES: Semaphore = Semaphore::const_new(WATCHES_MAX);

/// Namespaces of the core group, beside the REST API: it has no such address, and none of its addresses changes.
const NAMESPACES: &str = "/api/v1/namespaces";

/// Its addresses.
pub(super) fn router() -> axum::Router<AppState> {
    axum::Router::new()
        .route("/api", any(answer))
        // The REST API begins at the slash behind it; clients of Kubernetes look here for the core group.
        .route("/api/v1", any(answer))
        .route(NAMESPACES, any(answer))
        .route("/api/v1/namespaces/{name}", any(answer))
        .route("/apis", any(answer))
        .route("/apis/", any(answer))
        .route("/apis/{*rest}", any(answer))
        .route("/openapi/{*rest}", any(answer))
        .route("/version", any(answer))
}

/// True for an address of the API.
pub(super) fn is_resource(path: &str) -> bool {
    matches!(path, "/api" | "/api/v1" | NAMESPACES | "/apis" | "/version")
        || path.strip_prefix(NAMESPACES).is_some_and(|rest| rest.starts_with('/'))
        || path.starts_with("/apis/")
        || path.starts_with("/openapi/")
}

async fn answer(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    let credentials = Parts::of(&request);
    let (parts, body) = request.into_parts();
    // Who may not do it is refused before the body is read.
    let permitted = Api::precheck(&caller, parts.method.as_str(), parts.uri.path());
    if let Err(reply) = permitted {
        return response(reply, std::future::pending());
    }
    let Ok(body) = to_bytes(body, BODY_MAX).await else { return too_large() };
    let text = |name: HeaderName| header(&parts.headers, &name);
    let request = resources::Request {
        method: parts.method.to_string(),
        path: parts.uri.path().to_string(),
        query: parts.uri.query().unwrap_or_default().to_string(),
        accept: text(ACCEPT),
        content_type: text(CONTENT_TYPE),
        user_agent: text(USER_AGENT),
        body: body.to_vec(),
    };
    let reply = state.resources.answer(&caller, request).await;
    let expired = async move {
        loop {
            tokio::time::sleep(RECHECK).await;
            if !is_still(&state.access, &credentials, &caller).await {
                return;
            }
        }
    };
    response(reply, expired)
}

/// Whether credentials are still those of a caller. While the store can't be asked, they are.
async fn is_still(access: &Access, credentials: &Parts, caller: &Caller) -> bool {
    match access.caller(credentials).await {
        Ok(now) => now.is_some_and(|now| (now.org, now.role) == (caller.org, caller.role)),
        Err(_) => true,
    }
}

/// What is sent, until the credentials are `expired`: then `end`, and nothing more.
fn while_valid<T: Send + 'static>(
    parts: impl Stream<Item = T> + Send + Unpin + 'static,
    expired: impl Future<Output = ()> + Send + 'static,
    end: T,
) -> impl Stream<Item = T> + Send {
    let open = (parts, Some((Box::pin(expired), end)));
    stream::unfold(open, |(mut parts, open)| async move {
        let (mut expired, end) = open?;
        tokio::select! {
            part = parts.next() => part.map(|part| (part, (parts, Some((expired, end))))),
            () = &mut expired => Some((end, (parts, None))),
        }
    })
}

/// The words for a client whose credentials end while it is sent something.
fn no_longer_valid() -> Failure {
    Failure::new(401, "Unauthorized", "the credentials of this request are no longer valid")
}

/// The last line of a watch whose credentials expire.
fn end_of_watch() -> WatchLine {
    let end = format!("{}\n", json!({ "type": "ERROR", "object": no_longer_valid().status() }));
    end.into_bytes().into()
}

/// A list that is read as it is sent. One that can't be read to its end is cut off: its length is not known before, so that
/// only a complete body has an end. Clients see that over HTTP/1.1 and 2; over 1.0 a list in JSON does not parse, and one in
/// YAML lacks its metadata.
fn list(
    parts: impl Stream<Item = Result<Vec<u8>, Failure>> + Send + Unpin + 'static,
    expired: impl Future<Output = ()> + Send + 'static,
) -> Body {
    let parts = while_valid(parts, expired, Err(no_longer_valid())).map(|part| {
        part.map(Bytes::from).map_err(|failure| {
            if failure.code >= 500 {
                tracing::warn!(error = %failure.message, "a list was not sent to its end");
            }
            std::io::Error::other(failure.message)
        })
    });
    Body::from_stream(parts)
}

fn response(reply: Reply, expired: impl Future<Output = ()> + Send + 'static) -> Response {
    match reply {
        Reply::Whole { status, content_type, warnings, retry_after, body } => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let mut response = (status, [(CONTENT_TYPE, content_type)], body).into_response();
            let mut left = WARNINGS_MAX;
            for warning in warnings {
                let cut: String = warning.chars().take(WARNING_MAX).collect();
                // 299 - "text" (RFC 9110 leaves it to RFC 7234 section 5.5).
                let text = cut.replace('\\', "\\\\").replace('"', "\\\"");
                left = left.saturating_sub(text.len());
                // As octets: a field's name may be of any script.
                let value = HeaderValue::from_bytes(format!("299 - \"{text}\"").as_bytes());
                if let Ok(value) = value
                    && left > 0
                {
                    response.headers_mut().append(WARNING, value);
                }
            }
            if let Some(seconds) = retry_after {
                response.headers_mut().insert(RETRY_AFTER, seconds.into());
            }
            response
        }
        Reply::List { content_type, parts } => {
            ([(CONTENT_TYPE, content_type)], list(parts, expired)).into_response()
        }
        Reply::Watch(lines) => {
            let Ok(permit) = WATCHES.try_acquire() else {
                let status =
                    status_object(429, "TooManyRequests", "too many watches are open: try again in a moment");
                return (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, "5")], axum::Json(status))
                    .into_response();
            };
            let lines = while_valid(lines, expired, end_of_watch()).map(move |line| {
                let _ = &permit;
                Ok::<_, Infallible>(Bytes::from_owner(line))
            });
            ([(CONTENT_TYPE, WATCH_TYPE)], Body::from_stream(lines)).into_response()
        }
    }
}

fn header(headers: &HeaderMap, name: &HeaderName) -> String {
    // A client may send several Accept headers; together they are one list.
    let all: Vec<&str> = headers.get_all(name).iter().filter_map(|v| v.to_str().ok()).collect();
    all.join(",")
}

fn status_object(code: u16, reason: &'static str, message: &str) -> Value {
    Failure::new(code, reason, message).status()
}

fn too_large() -> Response {
    let status = Failure::body_too_large(None).status();
    (StatusCode::PAYLOAD_TOO_LARGE, axum::Json(status)).into_response()
}

/// The refusal of a request without valid credentials.
pub(super) fn unauthorized() -> Response {
    let words = "send an API token: Authorization: Bearer dst_…";
    let status = status_object(401, "Unauthorized", words);
    (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], axum::Json(status)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_watch_ends_with_an_error_when_its_credentials_expire() {
        let line: WatchLine = b"{}\n".to_vec().into();
        let open = stream::iter([line.clone()]).chain(stream::pending());
        let (expire, expired) = tokio::sync::oneshot::channel::<()>();
        let expired = async move { expired.await.unwrap_or(()) };
        let mut watch = Box::pin(while_valid(Box::pin(open), expired, end_of_watch()));
        assert_eq!(watch.next().await, Some(line.clone()));
        expire.send(()).unwrap();
        let end = watch.next().await.unwrap();
        let end: Value = serde_json::from_slice(&end).unwrap();
        assert_eq!((&end["type"], &end["object"]["code"]), (&json!("ERROR"), &json!(401)));
        assert_eq!(watch.next().await, None);
        let whole = while_valid(stream::iter([line.clone()]), std::future::pending(), end_of_watch());
        assert_eq!(whole.collect::<Vec<_>>().await, [line], "one that ends by itself has no error");
    }

    #[tokio::test]
    async fn a_list_that_fails_or_whose_credentials_expire_has_no_end() {
        let part = || stream::iter([Ok(b"[1".to_vec())]);
        let failed = part().chain(stream::iter([Err(Failure::new(500, "InternalError", "no store"))]));
        let read = |body: Body| to_bytes(body, 1 << 10);
        assert!(read(list(Box::pin(failed), std::future::pending())).await.is_err());
        let open = part().chain(stream::pending());
        assert!(read(list(Box::pin(open), std::future::ready(()))).await.is_err());
        let whole = part().chain(stream::iter([Ok(b"]".to_vec())]));
        assert_eq!(read(list(Box::pin(whole), std::future::pending())).await.unwrap(), "[1]");
    }
}
