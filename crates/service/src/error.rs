//! Why a call was refused or failed, in a form that pages, programs and people can act on. It travels as problem
//! details (RFC 9457).

use serde::{Deserialize, Serialize};

/// Result of a call.
pub type ApiResult<T> = Result<T, ApiError>;

/// A call that was refused or failed: what kind, and a sentence for the person who reads it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(into = "Problem", from = "Problem")]
#[error("{detail}")]
pub struct ApiError {
    /// What the caller can do about it.
    pub kind: ErrorKind,
    /// What happened and what to do, in a sentence.
    pub detail: String,
}

/// The kinds of errors. Each has a stable word, a title and an HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// It does not exist in the caller's organisation.
    NotFound,
    /// The request carries no valid credentials.
    SignInRequired,
    /// The caller's role does not allow it.
    Forbidden,
    /// The input breaks a rule; the detail names both.
    Invalid,
    /// It contradicts the state of the thing, or an earlier request with the same key.
    Conflict,
    /// The thing is not what `If-Match` says any more.
    Changed,
    /// The caller exceeds a limit; the detail says when to try again.
    TooManyRequests,
    /// It can't be done now; trying again later may work.
    Unavailable,
    /// A defect of the product; the cause is in the log.
    Internal,
}

impl ErrorKind {
    /// All kinds.
    pub const ALL: [ErrorKind; 9] = [
        ErrorKind::NotFound,
        ErrorKind::SignInRequired,
        ErrorKind::Forbidden,
        ErrorKind::Invalid,
        ErrorKind::Conflict,
        ErrorKind::Changed,
        ErrorKind::TooManyRequests,
        ErrorKind::Unavailable,
        ErrorKind::Internal,
    ];

    /// The stable word: last part of the problem type, label of metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::NotFound => "not-found",
            ErrorKind::SignInRequired => "sign-in-required",
            ErrorKind::Forbidden => "forbidden",
            ErrorKind::Invalid => "invalid",
            ErrorKind::Conflict => "conflict",
            ErrorKind::Changed => "changed",
            ErrorKind::TooManyRequests => "too-many-requests",
            ErrorKind::Unavailable => "unavailable",
            ErrorKind::Internal => "internal",
        }
    }

    /// The kind of a stable word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.as_str() == word)
    }

    /// The title of the problem type (RFC 9457 section 3.1.3): the same for every occurrence.
    pub fn title(self) -> &'static str {
        match self {
            ErrorKind::NotFound => "Not found",
            ErrorKind::SignInRequired => "Sign-in required",
            ErrorKind::Forbidden => "Not allowed",
            ErrorKind::Invalid => "Invalid input",
            ErrorKind::Conflict => "Conflict",
            ErrorKind::Changed => "Changed meanwhile",
            ErrorKind::TooManyRequests => "Too many requests",
            ErrorKind::Unavailable => "Temporarily unavailable",
            ErrorKind::Internal => "Internal error",
        }
    }

    /// The URI of the problem type: a path of this server, where [`ErrorKind::meaning`] can be read.
    pub fn type_uri(self) -> String {
        format!("{TYPES}{}", self.as_str())
    }

    /// What it means and what to do, for a person who opens the type's URI.
    pub fn meaning(self) -> &'static str {
        match self {
            ErrorKind::NotFound => "It does not exist in this organisation, or not at this address.",
            ErrorKind::SignInRequired => {
                "The request carries no valid credentials. Sign in, or send an API token: Authorization: Bearer dst_…"
            }
            ErrorKind::Forbidden => {
                "The caller's role does not allow this, or the request came from another site."
            }
            ErrorKind::Invalid => "The input breaks a rule; the detail names both. Correct it.",
            ErrorKind::Conflict => {
                "It contradicts the state of the thing, or an earlier request with the same Idempotency-Key."
            }
            ErrorKind::Changed => "The thing is not what If-Match says any more. Read it again, then decide.",
            ErrorKind::TooManyRequests => "The caller exceeds a limit. Try again after Retry-After seconds.",
            ErrorKind::Unavailable => "It can't be done now. Nothing was changed; try again later.",
            ErrorKind::Internal => "A defect of this server. Its cause is in the server log.",
        }
    }

    /// The HTTP status (RFC 9110, RFC 6585).
    pub fn status(self) -> u16 {
        match self {
            ErrorKind::Invalid => 400,
            ErrorKind::SignInRequired => 401,
            ErrorKind::Forbidden => 403,
            ErrorKind::NotFound => 404,
            ErrorKind::Conflict => 409,
            ErrorKind::Changed => 412,
            ErrorKind::TooManyRequests => 429,
            ErrorKind::Internal => 500,
            ErrorKind::Unavailable => 503,
        }
    }
}

impl ApiError {
    /// An error of a kind.
    pub fn new(kind: ErrorKind, detail: impl Into<String>) -> Self {
        ApiError { kind, detail: detail.into() }
    }

    /// It does not exist in the caller's organisation.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, detail)
    }

    /// The request carries no valid credentials.
    pub fn sign_in_required(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::SignInRequired, detail)
    }

    /// The caller's role does not allow it.
    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Forbidden, detail)
    }

    /// The input breaks a rule.
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, detail)
    }

    /// It was changed meanwhile, or exists already.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, detail)
    }

    /// The caller exceeds a limit.
    pub fn too_many_requests(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::TooManyRequests, detail)
    }

    /// It can't be done now.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unavailable, detail)
    }

    /// A defect; its cause belongs in the log, not in the answer.
    pub fn internal() -> Self {
        Self::new(ErrorKind::Internal, "Internal error. Try again; details are in the server log.")
    }

    /// The HTTP status of a response that carries it.
    pub fn status(&self) -> u16 {
        self.kind.status()
    }
}

/// Where problem types are documented: a path of this server, so that `type` can be opened.
const TYPES: &str = "/problems/";

/// Problem details as they travel (RFC 9457 section 3.1).
#[derive(Serialize, Deserialize)]
struct Problem {
    #[serde(rename = "type")]
    kind: String,
    title: String,
    status: u16,
    detail: String,
}

impl From<ApiError> for Problem {
    fn from(e: ApiError) -> Self {
        Problem {
            kind: e.kind.type_uri(),
            title: e.kind.title().into(),
            status: e.status(),
            detail: e.detail,
        }
    }
}

impl From<Problem> for ApiError {
    fn from(p: Problem) -> Self {
        let word = p.kind.rsplit('/').next().unwrap_or_default();
        // A newer server may know kinds that this version does not (RFC 9457 section 3.1.1).
        ApiError::new(ErrorKind::from_word(word).unwrap_or(ErrorKind::Internal), p.detail)
    }
}

/// Problems between browser and server become errors that people can read.
#[cfg(feature = "server-fn")]
impl server_fn::error::FromServerFnError for ApiError {
    type Encoder = crate::json::JsonBody;

    fn from_server_fn_error(value: server_fn::error::ServerFnErrorErr) -> Self {
        use server_fn::error::ServerFnErrorErr as E;
        match value {
            E::Args(why) | E::MissingArg(why) => {
                ApiError::invalid(format!("The request could not be read: {why}"))
            }
            E::Request(_) => {
                ApiError::unavailable("The server could not be reached. Nothing was changed; try again.")
            }
            other => {
                tracing::error!(error = %other, "a server function failed");
                ApiError::internal()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_travels_as_problem_details() {
        for kind in ErrorKind::ALL {
            let sent = ApiError::new(kind, "Why.");
            let json = serde_json::to_value(&sent).unwrap();
            assert_eq!(json["type"], format!("/problems/{}", kind.as_str()));
            assert_eq!(json["status"], kind.status());
            assert!(json["title"].is_string() && json["detail"] == "Why.", "{json}");
            assert_eq!(serde_json::from_value::<ApiError>(json).unwrap(), sent);
        }
    }

    #[test]
    fn a_kind_of_a_newer_server_is_still_an_error() {
        let text = r#"{"type":"/problems/brand-new","title":"New","status":418,"detail":"Later."}"#;
        let read: ApiError = serde_json::from_str(text).unwrap();
        assert_eq!((read.kind, read.detail.as_str()), (ErrorKind::Internal, "Later."));
    }
}
