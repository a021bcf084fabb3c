//! What the DNS was seen to say: servers, answers, delegation, SOA, trace. Terms of RFC 9499.
//!
//! Names are lower case without the final dot (the root is `.`); TTLs and timers are seconds; latencies are
//! milliseconds.

mod delegation;
mod denial;
mod dnssec;
pub mod latency;
pub mod nameserver;
pub mod place_latency;
mod problem;
mod record;
mod server_state;
mod snapshot;
pub mod spread;
mod trace;

pub use delegation::{Delegation, Provider, ProviderKind};
pub use denial::DenialProof;
pub use dnssec::{Dnssec, DnssecStatus};
pub use problem::ServerProblem;
pub use record::{AnswerKind, NsName, Record, Referral, ServerAnswer, Soa, Transport};
pub use server_state::{NOT_RESOLVED, ServerHealth, ServerState};
pub use snapshot::{RrSet, ServerSet, SetAnswer, ZoneSnapshot};
pub use trace::{ChainEnd, Trace, TraceOutcome, TraceStep};
