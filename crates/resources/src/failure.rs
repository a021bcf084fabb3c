//! Refusals and errors as `Status` objects with reason, details and causes.

use crate::body::BODY_MAX;
use crate::kind::{GROUP, Kind};
use crate::schema::Violation;
use crate::write::OBJECT_MAX;
use serde_json::{Value, json};
use service::{ApiError, ErrorKind};

/// Most causes that an error names.
pub(crate) const CAUSES_MAX: usize = 100;

/// The words of each, joined with commas; of more than `CAUSES_MAX` the rest is a number.
pub(crate) fn listed<T>(all: &[T], words: impl Fn(&T) -> String) -> String {
    let mut shown: Vec<String> = all.iter().take(CAUSES_MAX).map(words).collect();
    if all.len() > CAUSES_MAX {
        shown.push(format!("and {} more", all.len() - CAUSES_MAX));
    }
    shown.join(", ")
}

/// An error that a client gets as a `Status` object.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// HTTP status.
    pub code: u16,
    /// Stable word that clients act on.
    pub reason: &'static str,
    /// A sentence about what happened.
    pub message: String,
    /// The object and the causes: `name`, `kind`, `causes`.
    pub details: Value,
    /// The token to go on with a list whose position was pruned.
    pub continue_token: Option<String>,
}

impl Failure {
    /// An error that is about no object.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Failure { code, reason, message: message.into(), details: json!({}), continue_token: None }
    }

    /// The request itself can't be understood.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Failure::new(400, "BadRequest", message)
    }

    /// The body can't be read, or is not what it must be here.
    pub(crate) fn bad_body(message: impl Into<String>) -> Self {
        let message = message.into();
        let causes = json!([{ "reason": "FieldValueInvalid", "message": message, "field": "body" }]);
        Failure { details: json!({ "causes": causes }), ..Failure::bad_request(message) }
    }

    pub(crate) fn not_found(kind: &Kind, name: &str) -> Self {
        let message = format!("{}.{GROUP} \"{name}\" not found", kind.plural);
        Failure::new(404, "NotFound", message).about(kind, name)
    }

    /// No such address.
    pub(crate) fn no_such_path() -> Self {
        Failure::new(404, "NotFound", "the server could not find the requested resource")
    }

    pub(crate) fn method_not_allowed(method: &str) -> Self {
        let message = format!("the server does not allow the method {method} on the requested resource");
        Failure::new(405, "MethodNotAllowed", message)
    }

    pub(crate) fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {}.{GROUP} \"{name}\": {why}", kind.plural);
        Failure::new(409, "Conflict", message).about(kind, name)
    }

    /// The object was changed since the client read it.
    pub(crate) fn outdated(kind: &Kind, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        let mut failure = Failure::conflict(kind, name, why);
        let rule = "must be that of the stored object";
        failure.details["causes"] =
            json!([{ "reason": "FieldValueInvalid", "message": rule, "field": "metadata.resourceVersion" }]);
        failure
    }

    pub(crate) fn exists(kind: &Kind, name: &str) -> Self {
        let message = format!("{}.{GROUP} \"{name}\" already exists", kind.plural);
        Failure::new(409, "AlreadyExists", message).about(kind, name)
    }

    /// Positions that were pruned from the change log.
    pub(crate) fn expired() -> Self {
        Failure::new(410, "Expired", "the resourceVersion is too old: list again and watch from the new one")
    }

    /// The same for a list that goes on: with this token the client gets the rest of it as it is now.
    pub(crate) fn expired_list(token: String) -> Self {
        let words = "The provided continue parameter is too old to display a consistent list result. You can start a new list \
                     without the continue parameter, or use the continue token in this response to retrieve the remainder of \
                     the results as they are now.";
        Failure { continue_token: Some(token), ..Failure::new(410, "Expired", words) }
    }

    /// Options of a list or watch that do not go together: each with its rule.
    pub(crate) fn list_options(violations: &[Violation]) -> Self {
        let words = listed(violations, ToString::to_string);
        let message = format!("ListOptions.meta.k8s.io \"\" is invalid: {words}");
        let mut failure = Failure::new(422, "Invalid", message);
        let causes = violations
            .iter()
            .map(|v| json!({ "reason": v.reason, "message": v.message(), "field": v.field }));
        failure.details =
            json!({ "group": "meta.k8s.io", "kind": "ListOptions", "causes": causes.collect::<Vec<_>>() });
        failure
    }

    /// None of the media types that the client accepts can be produced.
    pub(crate) fn not_acceptable() -> Self {
        let words = "only the following media types are accepted: application/json, application/yaml";
        Failure::new(406, "NotAcceptable", words)
    }

    /// A position that is ahead of the log.
    pub(crate) fn too_large(asked: i64, head: i64) -> Self {
        let message = format!("Too large resource version: {asked}, current: {head}");
        let mut failure = Failure::new(504, "Timeout", message);
        failure.details = json!({
            "causes": [{
                "reason": "ResourceVersionTooLarge", "message": "Too large resource version", "field": "resourceVersion",
            }],
            "retryAfterSeconds": 1,
        });
        failure
    }

    /// A body longer than the API reads; `octets` when its length is known.
    pub fn body_too_large(octets: Option<usize>) -> Self {
        let has = octets.map_or_else(|| "is too large:".into(), |n| format!("has {n} octets,"));
        let message = format!("the request body {has} the limit is {BODY_MAX} octets");
        let mut failure = Failure::new(413, "RequestEntityTooLarge", message);
        let rule = format!("must have at most {BODY_MAX} octets");
        failure.details["causes"] =
            json!([{ "reason": "FieldValueTooLong", "message": rule, "field": "body" }]);
        failure
    }

    /// An object whose metadata and spec are longer than the API stores.
    pub(crate) fn object_too_large(kind: &Kind, name: &str, octets: usize) -> Self {
        let message = format!(
            "{}.{GROUP} \"{name}\": Request entity too large: limit is {OBJECT_MAX} octets, metadata and spec would have \
             {octets}",
            kind.plural
        );
        let mut failure = Failure::new(413, "RequestEntityTooLarge", message).about(kind, name);
        let rule = format!("metadata and spec must have at most {OBJECT_MAX} octets of JSON together");
        failure.details["causes"] =
            json!([{ "reason": "FieldValueTooLong", "message": rule, "field": "metadata" }]);
        failure
    }

    /// An object that does not belong to the address it was sent to: fields with what they must be.
    pub(crate) fn elsewhere(kind: &Kind, name: &str, fields: &[(&str, String)]) -> Self {
        let words: Vec<&str> = fields.iter().map(|(_, words)| words.as_str()).collect();
        let mut failure = Failure::bad_request(words.join("; ")).about(kind, name);
        let causes = fields
            .iter()
            .map(|(f, words)| json!({ "reason": "FieldValueInvalid", "message": words, "field": f }));
        failure.details["causes"] = causes.collect();
        failure
    }

    /// Fields that strict decoding refuses, each with the words for it.
    pub(crate) fn strict(kind: &Kind, name: &str, fields: &[(String, &'static str)]) -> Self {
        let words = listed(fields, |(f, what)| format!("{what} {f:?}"));
        let message = format!("strict decoding error: {words}");
        let mut failure = Failure::bad_request(message).about(kind, name);
        let causes = fields
            .iter()
            .take(CAUSES_MAX)
            .map(|(f, what)| json!({ "reason": "FieldValueInvalid", "message": what, "field": f }));
        failure.details["causes"] = causes.collect();
        failure
    }

    /// An object that breaks rules, each with its field.
    pub(crate) fn invalid(kind: &Kind, name: &str, violations: &[Violation]) -> Self {
        let words = listed(violations, ToString::to_string);
        let all = if violations.len() == 1 { words } else { format!("[{words}]") };
        let message = format!("{}.{GROUP} \"{name}\" is invalid: {all}", kind.name);
        let mut failure = Failure::new(422, "Invalid", message).about(kind, name);
        let causes = violations
            .iter()
            .take(CAUSES_MAX)
            .map(|v| json!({ "reason": v.reason, "message": v.message(), "field": v.field }));
        failure.details["causes"] = causes.collect();
        failure
    }

    /// The same error with the object it is about.
    pub(crate) fn about(mut self, kind: &Kind, name: &str) -> Self {
        self.details["group"] = GROUP.into();
        self.details["kind"] = kind.plural.into();
        if !name.is_empty() {
            self.details["name"] = name.into();
        }
        self
    }

    /// The `Status` object.
    pub fn status(&self) -> Value {
        let metadata =
            self.continue_token.as_ref().map_or_else(|| json!({}), |token| json!({ "continue": token }));
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure",
            "message": self.message, "reason": self.reason, "details": self.details, "code": self.code,
        })
    }
}

impl From<ApiError> for Failure {
    fn from(e: ApiError) -> Self {
        let (code, reason) = match e.kind {
            ErrorKind::NotFound => (404, "NotFound"),
            ErrorKind::SignInRequired => (401, "Unauthorized"),
            ErrorKind::Forbidden => (403, "Forbidden"),
            ErrorKind::Invalid => (422, "Invalid"),
            ErrorKind::Conflict | ErrorKind::Changed => (409, "Conflict"),
            ErrorKind::TooManyRequests => (429, "TooManyRequests"),
            ErrorKind::Unavailable => (503, "ServiceUnavailable"),
            ErrorKind::Internal => (500, "InternalError"),
        };
        let mut failure = Failure::new(code, reason, e.detail);
        if matches!(code, 429 | 503) {
            failure.details = json!({ "retryAfterSeconds": 2 });
        }
        failure
    }
}

/// The `Status` of something that was done and has no object to return.
pub(crate) fn success(details: &Value) -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::DOMAIN;

    #[test]
    fn an_error_names_a_hundred_causes_and_how_many_more() {
        let fields: Vec<_> = (0..250).map(|n| (format!("f{n}"), "unknown field")).collect();
        let violations: Vec<_> = fields.iter().map(|(f, _)| Violation::invalid(f, "", "is wrong")).collect();
        for failure in
            [Failure::strict(&DOMAIN, "q7.io", &fields), Failure::invalid(&DOMAIN, "q7.io", &violations)]
        {
            assert_eq!(failure.details["causes"].as_array().map(Vec::len), Some(100));
            assert!(failure.message.contains("f99") && !failure.message.contains("f100"));
            assert!(failure.message.contains(", and 150 more"), "{}", failure.message);
        }
        assert!(!Failure::strict(&DOMAIN, "q7.io", &fields[..100]).message.contains("more"));
    }
}
