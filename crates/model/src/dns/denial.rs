//! Whether a signed zone proves what is not there: every misspelt name and missing type needs such a proof, so a zone
//! with a broken one works only until someone asks for something it has not got. RFC 4035 section 5.4, RFC 5155.

use serde::{Deserialize, Serialize};

/// What became of the proof that a name no one has does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "proof", rename_all = "snake_case")]
pub enum DenialProof {
    /// It holds.
    Holds,
    /// It is left open: opt-out, or more NSEC3 iterations than validators compute (RFC 9276).
    Open {
        /// Why, in a sentence.
        reason: String,
    },
    /// It does not hold: validating resolvers answer SERVFAIL instead of "no such name".
    Broken {
        /// Why, in a sentence.
        reason: String,
    },
}
