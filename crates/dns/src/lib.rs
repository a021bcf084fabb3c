//! The uncached DNS engine: trace, delegation, records, DNSSEC and health checks, asked of the authoritative servers
//! themselves. In: names. Out: the types of `model::dns` and findings in Zonemaster's terms. The sockets are ours.
//!
//! The modules stand on floors; each imports only from the floors below it:
//!
//! 1. [`wire`]: messages to types and back, names, digests, bounds on one message.
//! 2. `error`, [`sockets`], `settings`, `input`, [`present`]: errors, what carries messages, settings, names and types as
//!    callers write them, records as text.
//! 3. `session`: one operation with its bounds on questions, time and memory; `session::transport` is one exchange.
//! 4. `resolve`: what a reply amounts to, iterative resolution, the network an address belongs to.
//! 5. `delegation`: trace, both sides of a delegation, records of a zone, provider.
//! 6. [`dnssec`]: signatures, denials and the chain of trust, within one budget of verifications.
//! 7. [`checks`]: the test cases of the Zonemaster specifications.
//! 8. `engine`: the operations the program calls; [`recursive`]: questions to recursive resolvers.
//! 9. `tools`: a chain of aliases, the report on a host name, the comparison with resolvers.

pub mod checks;
mod delegation;
pub mod dnssec;
mod engine;
mod error;
mod input;
pub mod present;
pub mod recursive;
mod resolve;
mod session;
mod settings;
pub mod sockets;
mod tools;
pub mod wire;

pub use delegation::provider::provider;
pub use engine::{Engine, Fetched, QuestionBudget, Resolution, ZoneScan};
pub use error::{Error, OWN_NETWORK};
pub use input::known_type;
pub use net::AddressMap;
pub use settings::{RootHints, Settings, TrustAnchors};
pub use tools::chain::{Chain, ChainQuestion};
pub use tools::live::{LiveServer, LiveZone};
pub use tools::{compare, fqdn};
