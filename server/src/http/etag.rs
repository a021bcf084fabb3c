//! Entity tags of the REST API (RFC 9110 section 8.8.3): the hash of the JSON that represents a thing.

use super::response::respond;
use axum::Json;
use axum::http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use data_encoding::HEXLOWER;
use serde::Serialize;
use service::{ApiError, ApiResult, ErrorKind};

/// The tag of a representation.
fn tag<T: Serialize>(thing: &T) -> String {
    tag_of(&serde_json::to_vec(thing).unwrap_or_default())
}

fn tag_of(octets: &[u8]) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, octets);
    format!("\"{}\"", HEXLOWER.encode(&hash.as_ref()[..16]))
}

/// True when a list of tags holds one, or everything.
fn lists(headers: &HeaderMap, name: HeaderName, tag: &str) -> bool {
    let all = headers.get_all(name);
    let mut listed = all.iter().filter_map(|v| v.to_str().ok()).flat_map(|line| line.split(','));
    listed.any(|one| one.trim() == "*" || one.trim().trim_start_matches("W/") == tag)
}

/// The response of a read: 304 when the client has it already, else with its tag.
pub fn tagged<T: Serialize>(headers: &HeaderMap, read: ApiResult<T>) -> Response {
    let Ok(thing) = &read else { return respond(read) };
    let tag = tag(thing);
    let header = HeaderValue::from_str(&tag).unwrap_or(HeaderValue::from_static("\"\""));
    if lists(headers, IF_NONE_MATCH, &tag) {
        return (StatusCode::NOT_MODIFIED, [(ETAG, header)]).into_response();
    }
    ([(ETAG, header)], Json(thing)).into_response()
}

/// The same for a text, whose type the caller sets.
pub fn tagged_text(headers: &HeaderMap, text: String) -> Response {
    let tag = tag_of(text.as_bytes());
    let header = HeaderValue::from_str(&tag).unwrap_or(HeaderValue::from_static("\"\""));
    if lists(headers, IF_NONE_MATCH, &tag) {
        return (StatusCode::NOT_MODIFIED, [(ETAG, header)]).into_response();
    }
    ([(ETAG, header)], text).into_response()
}

/// Refuses a change when the request has an `If-Match` that does not name the thing as it is. `current` is read only then.
///
/// # Errors
/// [`Changed`](ErrorKind::Changed), or why the thing can't be read.
pub async fn check<T: Serialize>(
    headers: &HeaderMap,
    current: impl Future<Output = ApiResult<T>>,
) -> ApiResult<()> {
    if !headers.contains_key(IF_MATCH) {
        return Ok(());
    }
    let tag = tag(&current.await?);
    if lists(headers, IF_MATCH, &tag) {
        return Ok(());
    }
    let words = "It was changed since you read it. Read it again, then decide.";
    Err(ApiError::new(ErrorKind::Changed, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_found_in_a_list() {
        let tag = tag(&"thing");
        let headers = |value: &str| HeaderMap::from_iter([(IF_MATCH, HeaderValue::from_str(value).unwrap())]);
        for has in ["*", &tag, &format!("\"other\", W/{tag}")] {
            assert!(lists(&headers(has), IF_MATCH, &tag), "{has}");
        }
        assert!(!lists(&headers("\"other\""), IF_MATCH, &tag));
    }
}
