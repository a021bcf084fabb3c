//! HTTP responses: status, media type, freshness and CORS (RFC 8484 section 5.1, RFC 9110).

use crate::json::JsonError;
use crate::message::Source;
use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, RETRY_AFTER,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use std::time::Duration;

/// A response before the headers that all responses share.
pub(crate) struct HttpReply {
    pub status: StatusCode,
    pub media: &'static str,
    pub body: Vec<u8>,
    /// Freshness lifetime in seconds; 0 for `no-store`.
    pub lifetime: u32,
    pub source: Source,
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

impl HttpReply {
    /// A plain-text response.
    pub(crate) fn text(status: StatusCode, text: impl Into<String>) -> Self {
        let mut body = text.into().into_bytes();
        body.push(b'\n');
        HttpReply {
            status,
            media: "text/plain; charset=utf-8",
            body,
            lifetime: 0,
            source: Source::Nowhere,
            headers: Vec::new(),
        }
    }

    /// Adds a header.
    pub(crate) fn with(mut self, name: HeaderName, value: &str) -> Self {
        self.headers.extend(HeaderValue::from_str(value).map(|value| (name, value)));
        self
    }

    /// Adds `Retry-After`, rounded up to seconds.
    pub(crate) fn retry_after(self, after: Duration) -> Self {
        let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
        self.with(RETRY_AFTER, &seconds.max(1).to_string())
    }

    /// Every slot for lookups is taken.
    pub(crate) fn busy() -> Self {
        HttpReply::text(
            StatusCode::SERVICE_UNAVAILABLE,
            "Too many lookups are in progress. Retry in a second.",
        )
        .retry_after(Duration::from_secs(1))
    }

    /// The client has its share of lookups in flight.
    pub(crate) fn client_busy() -> Self {
        let text = "Too many of your lookups are in progress. Retry in a second.";
        HttpReply::text(StatusCode::TOO_MANY_REQUESTS, text).retry_after(Duration::from_secs(1))
    }

    /// The response for a JSON query that failed.
    pub(crate) fn json_error(why: JsonError, media: &'static str) -> Self {
        match why {
            JsonError::Bad(text) => {
                let body = serde_json::json!({ "error": text }).to_string().into_bytes();
                HttpReply { media, body, ..HttpReply::text(StatusCode::BAD_REQUEST, "") }
            }
            JsonError::Busy => HttpReply::busy(),
            JsonError::ClientBusy => HttpReply::client_busy(),
        }
    }

    /// Builds the response, without its body if `head`. `public`: scripts of other sites may read it (CORS).
    pub(crate) fn into_response(self, head: bool, public: bool) -> Response {
        let mut headers = HeaderMap::with_capacity(8);
        // Not on loopback, where a page from elsewhere could read names of the visitor's private network.
        if public {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        }
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        let empty = self.status == StatusCode::NO_CONTENT;
        if !empty {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.media));
            headers.insert(CONTENT_LENGTH, self.body.len().into());
        }
        let freshness = match self.lifetime {
            0 => HeaderValue::from_static("no-store"),
            n => {
                HeaderValue::try_from(format!("max-age={n}")).unwrap_or(HeaderValue::from_static("no-store"))
            }
        };
        headers.insert(CACHE_CONTROL, freshness);
        for (name, value) in self.headers {
            headers.insert(name, value);
        }
        let mut response = Response::new(if head || empty { Body::empty() } else { Body::from(self.body) });
        *response.status_mut() = self.status;
        *response.headers_mut() = headers;
        response
    }
}
