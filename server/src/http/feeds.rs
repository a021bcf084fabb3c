//! `GET /feeds/SECRET.ics` and `.atom`: read by calendars and feed readers without an account. The secret in the address is the
//! permission; it is revoked in the settings.

use super::AppState;
use super::etag;
use super::response::problem;
use axum::extract::{Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use model::feed::FeedKind;

/// Readers may keep it for five minutes; shared caches must not, its address is a secret.
const CACHE: &str = "private, max-age=300";

pub(super) async fn feed(
    State(state): State<AppState>,
    Path(file): Path<String>,
    headers: HeaderMap,
) -> Response {
    let (kind, text) = match state.services.feed(&file).await {
        Ok(read) => read,
        Err(e) => return problem(&e),
    };
    let media_type = match kind {
        FeedKind::Calendar => "text/calendar; charset=utf-8",
        FeedKind::Events => "application/atom+xml; charset=utf-8",
    };
    let mut response = etag::tagged_text(&headers, text);
    let h = response.headers_mut();
    h.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    h.insert(CACHE_CONTROL, HeaderValue::from_static(CACHE));
    h.insert(HeaderName::from_static("x-robots-tag"), HeaderValue::from_static("noindex"));
    response
}
