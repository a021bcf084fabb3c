//! Why a connection or request failed.

use crate::budget::Reason;
use std::net::IpAddr;
use std::time::Duration;

/// Why a connection or request failed; each variant says what a caller can do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The host has no address: check the name.
    #[error("{host} has no address: {reason}")]
    NoAddress {
        /// The host.
        host: String,
        /// What the resolver said.
        reason: String,
    },
    /// The target is private, loopback or link-local and the operator has not allowed that.
    #[error(
        "{host} leads to {address}, which is {reason}; such targets are refused unless the operator allows them"
    )]
    Blocked {
        /// The host as asked for.
        host: String,
        /// The address it leads to.
        address: IpAddr,
        /// Which kind of address that is.
        reason: &'static str,
    },
    /// Nothing came in time: try again later.
    #[error("{host} did not answer within {} s", after.as_secs_f32())]
    Timeout {
        /// The host.
        host: String,
        /// How long was waited.
        after: Duration,
    },
    /// The network or the host refused the connection.
    #[error("{host} can't be reached: {reason}")]
    Unreachable {
        /// The host.
        host: String,
        /// The operating system's words.
        reason: String,
    },
    /// The TLS handshake failed: certificate or protocol.
    #[error("TLS with {host} failed: {reason}")]
    Tls {
        /// The host.
        host: String,
        /// What was wrong.
        reason: String,
    },
    /// The answer is larger than allowed; it was cut off.
    #[error("{host} sent more than {cap} bytes")]
    TooLarge {
        /// The host.
        host: String,
        /// The cap in bytes.
        cap: usize,
    },
    /// What came is not HTTP, or a redirect that can't be followed.
    #[error("{host} answered with something that is not usable: {reason}")]
    Protocol {
        /// The host.
        host: String,
        /// What was wrong.
        reason: String,
    },
    /// The host's budget is used up, or it asked us to wait.
    #[error("{host} is not asked for another {} s: {}", wait.as_secs().max(1), reason.words())]
    Budget {
        /// The host.
        host: String,
        /// How long until it may be asked.
        wait: Duration,
        /// Whose limit it is.
        reason: Reason,
    },
    /// The settings can't be used.
    #[error("{0}")]
    Settings(String),
}

impl Error {
    /// Stable word for metrics and part errors.
    pub fn label(&self) -> &'static str {
        match self {
            Error::NoAddress { .. } | Error::Unreachable { .. } | Error::Tls { .. } => "unreachable",
            Error::Blocked { .. } => "blocked",
            Error::Timeout { .. } => "timeout",
            Error::TooLarge { .. } => "too_large",
            Error::Protocol { .. } => "unparsable",
            Error::Budget { .. } => "throttled",
            Error::Settings(_) => "internal",
        }
    }
}
