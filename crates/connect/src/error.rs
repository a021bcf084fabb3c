//! Why a template cannot be applied. The five kinds are those of the published compliance cases.

use serde::Serialize;

/// The kind of an [`Error`]; serialised by its variant name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum ErrorKind {
    /// A value is not valid for its record type, or the records cannot exist together in a zone.
    InvalidData,
    /// The template itself breaks the specification, or there is no such template.
    InvalidTemplate,
    /// A variable of the template was not supplied.
    MissingParameter,
    /// The template works below a host only, and no host was given.
    HostRequired,
    /// A record type is not one DNS can hold, or the input has the wrong shape.
    TypeError,
}

/// Why a template cannot be applied: a kind for programs and a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The kind.
    pub kind: ErrorKind,
    /// A sentence that names the record, the field and the value.
    pub message: String,
}

impl Error {
    /// Creates an error of any kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub(crate) fn data(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidData, message)
    }

    pub(crate) fn template(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidTemplate, message)
    }

    pub(crate) fn shape(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::TypeError, message)
    }

    /// Puts "A record at www: " in front of the message.
    pub(crate) fn within(mut self, place: &str) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
