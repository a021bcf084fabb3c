//! What can go wrong with a whole operation. A server that fails is not an error: it is an answer kind in the result.

/// [`Error::label`] of the errors that are those of this machine's network, whatever was asked for.
pub const OWN_NETWORK: &str = "own_network";

/// Why an operation gave no result at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The name cannot be put on the wire. The caller shows the sentence beside the input.
    #[error("“{0}” cannot be asked for: {1}")]
    Name(String, String),
    /// The record type is not known. The caller shows the sentence.
    #[error("“{0}” is no record type: use a mnemonic such as A, MX or TYPE65534")]
    Type(String),
    /// The root hints hold no usable server. The operator corrects the file.
    #[error("the root hints are unusable: {0}")]
    Hints(String),
    /// A trust anchor cannot be read. The operator corrects the file.
    #[error("the trust anchor “{0}” is unusable: {1}")]
    Anchor(String, String),
    /// No server on the way could be reached; worth a retry later.
    #[error("no server of {zone} could be reached: {detail}")]
    Unreachable {
        /// The zone whose servers were asked.
        zone: String,
        /// What the servers did.
        detail: String,
    },
    /// Not one root server said anything of worth: this network leads nowhere. Worth a retry once the operator mended it.
    #[error("no server of the root could be reached: {detail}")]
    NoRoot {
        /// What the servers did.
        detail: String,
    },
    /// Something on the way answers in place of the root servers. Nothing can be learned from this network; the operator
    /// lets DNS through, or runs the program elsewhere.
    #[error(
        "port 53 is intercepted: all {servers} root servers that answer do so without authority, as resolvers do. A \
         firewall, a router or the provider answers in their place; let this machine ask any server over UDP and TCP \
         port 53"
    )]
    Intercepted {
        /// Root servers that answered.
        servers: usize,
    },
    /// The name does not exist, said with authority.
    #[error("{0} does not exist")]
    NotFound(String),
    /// The replies take more memory than one operation may keep. Not worth a retry: the zone's servers send far more than
    /// any zone needs.
    #[error("gave up on {name}: {detail}")]
    TooMuchData {
        /// The name that was looked for.
        name: String,
        /// How much is too much.
        detail: String,
    },
    /// Time or the number of questions ran out; worth a retry later.
    #[error("gave up on {name} after {queries} questions and {elapsed_ms} ms")]
    Exhausted {
        /// The name that was looked for.
        name: String,
        /// Questions sent.
        queries: u32,
        /// Milliseconds spent.
        elapsed_ms: u64,
    },
}

impl Error {
    /// Stable label for metrics and the part errors of observations.
    pub fn label(&self) -> &'static str {
        match self {
            Error::Name(..) | Error::Type(_) | Error::Hints(_) | Error::Anchor(..) => "internal",
            Error::Unreachable { .. } => "unreachable",
            Error::NoRoot { .. } | Error::Intercepted { .. } => OWN_NETWORK,
            Error::NotFound(_) => "no_server",
            Error::Exhausted { .. } => "timeout",
            Error::TooMuchData { .. } => "malformed",
        }
    }
}
