//! The uncached DNS engine: trace, delegation, records, DNSSEC and health checks, asked of the authoritative servers
//! themselves. In: names. Out: the types of `model::dns` and findings in Zonemaster's terms. The sockets are ours.

mod chain;
pub mod checks;
mod classify;
pub mod compare;
mod delegation;
pub mod dnssec;
mod engine;
mod error;
mod fetch;
pub mod fqdn;
pub mod fqdn_text;
mod network;
mod parent;
pub mod present;
mod provider;
mod reach;
pub mod recursive;
pub mod render;
mod resolve;
mod session;
mod settings;
mod snapshot;
mod trace;
mod transport;
pub mod wire;

pub use chain::{Chain, ChainQuestion};
pub use engine::known_type;
pub use engine::{Engine, Resolution};
pub use error::Error;
pub use fetch::Fetched;
pub use net::AddressMap;
pub use provider::provider;
pub use settings::{RootHints, Settings, TrustAnchors};
