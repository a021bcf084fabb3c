//! What can go wrong in the lab, said so that the reader knows which file, name or port to change.
//! In: the cause. Out: one enum with a stable label per variant.

/// Failures of the lab.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A scenario file does not say something the lab can build: correct the file at the place named.
    #[error("scenario {file}: {reason}")]
    Scenario {
        /// File name, or `built-in NAME`.
        file: String,
        /// What is wrong there, with the key.
        reason: String,
    },
    /// A command names something that the lab does not have, or asks for the impossible: correct the command.
    #[error("{0}")]
    Command(String),
    /// Addresses or ports could not be taken: free them, or choose others.
    #[error("cannot listen on {what}: {source}")]
    Bind {
        /// The address or the group of addresses.
        what: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file could not be read or written: look at its path and permissions.
    #[error("{path}: {source}")]
    File {
        /// The path.
        path: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Keys, signatures or certificates could not be made: a fault of the lab itself, report it.
    #[error("cryptography: {0}")]
    Crypto(String),
}

impl Error {
    /// Stable label for metrics and tests.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::Scenario { .. } => "scenario",
            Self::Command(_) => "command",
            Self::Bind { .. } => "bind",
            Self::File { .. } => "file",
            Self::Crypto(_) => "crypto",
        }
    }

    pub(crate) fn crypto(e: impl std::fmt::Display) -> Self {
        Self::Crypto(e.to_string())
    }

    pub(crate) fn file(path: &std::path::Path, source: std::io::Error) -> Self {
        Self::File { path: path.display().to_string(), source }
    }
}
