//! What HTTP says about an answer: status, media type, freshness, who may read it (RFC 8484 section 5.1, RFC 9110). In: what is
//! to be said. Out: a response.

use crate::json::Refused;
use crate::steps::Source;
use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, RETRY_AFTER,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use std::time::Duration;

/// What is answered, before the headers that all answers share.
pub(crate) struct Said {
    pub status: StatusCode,
    pub media: &'static str,
    pub body: Vec<u8>,
    /// Seconds a cache may keep it; not at all when 0.
    pub lifetime: u32,
    pub source: Source,
    pub more: Vec<(HeaderName, HeaderValue)>,
}

impl Said {
    pub(crate) fn words(status: StatusCode, words: impl Into<String>) -> Self {
        let mut body = words.into().into_bytes();
        body.push(b'\n');
        Said {
            status,
            media: "text/plain; charset=utf-8",
            body,
            lifetime: 0,
            source: Source::Nowhere,
            more: Vec::new(),
        }
    }

    pub(crate) fn with(mut self, name: HeaderName, value: &str) -> Self {
        self.more.extend(HeaderValue::from_str(value).map(|value| (name, value)));
        self
    }

    pub(crate) fn retry(self, after: Duration) -> Self {
        let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
        self.with(RETRY_AFTER, &seconds.max(1).to_string())
    }

    pub(crate) fn busy() -> Self {
        Said::words(StatusCode::SERVICE_UNAVAILABLE, "Too many lookups are under way; ask again in a second.")
            .retry(Duration::from_secs(1))
    }

    /// A question in a URL that is not answered.
    pub(crate) fn refused(why: Refused, media: &'static str) -> Self {
        match why {
            Refused::Bad(words) => {
                let body = serde_json::json!({ "error": words }).to_string().into_bytes();
                Said { media, body, ..Said::words(StatusCode::BAD_REQUEST, "") }
            }
            Refused::Busy => Said::busy(),
        }
    }

    /// The response; without its body for HEAD. `everybody` may read it, scripts of other sites too.
    pub(crate) fn response(self, head: bool, everybody: bool) -> Response {
        let mut headers = HeaderMap::with_capacity(8);
        // Where everybody may ask, any page's script may. On loopback a page from elsewhere would read the names of the
        // visitor's own network through it.
        if everybody {
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
        for (name, value) in self.more {
            headers.insert(name, value);
        }
        let mut response = Response::new(if head || empty { Body::empty() } else { Body::from(self.body) });
        *response.status_mut() = self.status;
        *response.headers_mut() = headers;
        response
    }
}
