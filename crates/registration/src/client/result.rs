//! What a look-up came to, and what failed on the way.

use super::error::LookupError;
use model::detail::RawAnswer;
use model::registration::{Party, Protocol, RegistrationState};

/// What a look-up came to.
#[derive(Debug, Clone, PartialEq)]
pub struct LookupResult {
    /// The state of the name, or why it is not known.
    pub outcome: Result<RegistrationState, LookupError>,
    /// Every answer as it came, also of servers whose answer was not usable.
    pub raw: Vec<RawAnswer>,
    /// Every question that failed on the way, in order; the look-up may have succeeded all the same.
    pub failures: Vec<Failure>,
}

/// A question that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// By which protocol.
    pub protocol: Protocol,
    /// Registry or registrar.
    pub party: Party,
    /// Host or URL that was asked.
    pub server: String,
    /// What went wrong.
    pub error: LookupError,
}
