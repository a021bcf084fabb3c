//! Errors.

use serde::Serialize;
use service::{ApiError, ErrorKind};
use utoipa::ToSchema;

/// An error: problem details (RFC 9457), and the keys that this version had before them.
#[derive(Debug, Serialize, ToSchema)]
pub struct Problem {
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    status: u16,
    detail: String,
    /// Deprecated: the kind in the words of before.
    failure: &'static str,
    /// Deprecated: equals `detail`.
    sentence: String,
}

impl Problem {
    /// The problem details of an error, under the status of the response that carries them.
    pub fn new(error: &ApiError, status: u16) -> Self {
        Problem {
            kind: error.kind.type_uri(),
            title: error.kind.title(),
            status,
            detail: error.detail.clone(),
            failure: match error.kind {
                ErrorKind::NotFound => "not_found",
                ErrorKind::SignInRequired => "sign_in",
                ErrorKind::Forbidden => "forbidden",
                ErrorKind::Invalid | ErrorKind::Conflict | ErrorKind::Changed => "invalid",
                ErrorKind::TooManyRequests => "too_many",
                ErrorKind::Unavailable | ErrorKind::Internal => "unavailable",
            },
            sentence: error.detail.clone(),
        }
    }
}
