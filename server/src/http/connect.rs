//! `/connect/TOKEN`: the customer page. The token in the address is all that authorises it, so nothing that is loaded or
//! followed from the page learns the address, and no cache keeps it.

use super::AppState;
use app::{connect_document, connect_failed_document};
use axum::extract::{Path, State};
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};

/// `GET /connect/TOKEN`.
pub async fn page(State(state): State<AppState>, Path(token): Path<String>) -> Response {
    let head = state.bundle.style_tags();
    let (status, html) = match state.services.connect_page(&token).await {
        Ok(view) => (StatusCode::OK, connect_document(head, &view)),
        Err(e) => {
            let status = StatusCode::from_u16(e.status()).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
            (status, connect_failed_document(head, &e.detail))
        }
    };
    let mut headers = HeaderMap::new();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    (status, headers, Html(html)).into_response()
}
