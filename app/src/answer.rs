//! What the backend answers beyond the model's own types: failures, the session, a one-off scan. Both sides know it.

use model::detail::RawAnswer;
use model::ids::Caller;
use model::names::DomainName;
use model::observation::Observation;
use serde::{Deserialize, Serialize};

/// Why the backend did not do it, in a form a page can act on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "failure", content = "sentence", rename_all = "snake_case")]
pub enum Failure {
    /// There is no such thing here.
    #[error("{0}")]
    NotFound(String),
    /// The caller may not do this.
    #[error("{0}")]
    Forbidden(String),
    /// The input breaks a rule; the sentence names both.
    #[error("{0}")]
    Invalid(String),
    /// It can't be done now; trying again later may work.
    #[error("{0}")]
    Unavailable(String),
}

/// Result of a backend call.
pub type Answer<T> = Result<T, Failure>;

/// What a page needs to know about the process and the visitor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Who looks.
    pub caller: Caller,
    /// Name of the organisation.
    pub organisation: String,
    /// True when the product runs against its own lab.
    pub demo: bool,
    /// Version of the product.
    pub version: String,
}

/// A look at a domain that need not be in the inventory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScanReport {
    /// What was typed came to this name.
    pub name: DomainName,
    /// The name as people read it.
    pub unicode: String,
    /// What had to be understood, in words.
    pub note: Option<String>,
    /// What was seen.
    pub observation: Observation,
    /// Raw registration answers.
    pub raw: Vec<RawAnswer>,
    /// True when the inventory holds it.
    pub in_inventory: bool,
    /// When it was looked at.
    pub now: model::Timestamp,
}
