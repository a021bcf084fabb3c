//! What is wrong or odd with one address of one name server, as facts that judgement reads; `ServerState::notes` say
//! the same, and more, in words for people. RFC 1034 section 4.2.2, RFC 2181 section 10.3.

use serde::{Deserialize, Serialize};

/// A fact about one server address.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "problem", rename_all = "snake_case")]
pub enum ServerProblem {
    /// The address is glue at the parent only: the name has other addresses now.
    GlueOnly,
    /// The name has this address, and the glue at the parent lacks it.
    GlueMissing,
    /// The server's name is an alias, which a name server's name must not be.
    Alias {
        /// The name it leads to.
        target: String,
    },
    /// No address of the name is known.
    NoAddress {
        /// Finding the address needs the zone itself.
        cyclic: bool,
        /// No server answered the question for it: nothing is known of the name.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unanswered: bool,
    },
    /// Answers over TCP but not over UDP.
    TcpOnly,
}
