//! The implementation of [`service::Backend`] over store, monitor and engines. Every call asks the policy first and
//! passes the caller's organisation to the store; isolation between organisations depends on these two alone.

mod add;
mod addresses;
mod alerts;
mod claims;
pub mod configure;
mod features;
mod feeds;
mod fleet;
mod holdings;
pub mod identity;
mod limits;
mod members;
mod places;
mod resources;
mod services;
mod space;
mod tools;
pub mod undelegated;
mod visitors;

use model::names::DomainName;
use monitor::{Scanner, Worker};
use service::{ApiError, ApiResult};
use std::sync::Arc;
use store::Store;

pub use addresses::names_into;
pub use features::{ask_feature, clean_feature, feature_view, features_report};
pub use fleet::{
    AgentEngine, SecondLook, ThirdParties, ThirdPartyKind, ThirdPartyNetwork, agents, answer_question,
    identity as cluster_identity, join_token, report as fleet_report, web_places, web_question,
};
pub use limits::{Bounds, Limits, Permit, Work};
pub use members::Quotas;
pub use numbers::Policy as OverlapPolicy;
pub use places::{place_addresses, place_comparison, place_report, place_trace};
pub use space::prefix_space;
pub use tools::{LiveComparison, Tools};
pub use visitors::{ToolPermit, Visitors};

/// Most names of one bulk call.
const BULK: u32 = 100_000;

/// What one process does its work with: scanner, worker, engines and limits. Cheap to clone.
#[derive(Clone)]
pub struct Services {
    /// Scans domains and judges them.
    pub scanner: Scanner,
    /// Runs queued jobs.
    pub worker: Worker,
    /// The DNS engine of the tools.
    pub engine: dns::Engine,
    /// Comparison and analyzer.
    pub tools: Tools,
    /// Accounts, sessions and tokens.
    pub identity: identity::Identity,
    /// Most of each thing that one organisation may have.
    pub quotas: Quotas,
    /// Where the address spaces of organisations may overlap.
    pub overlap: OverlapPolicy,
    /// Sends messages.
    pub deliverer: notify::Deliverer,
    /// What is turned on in this process.
    pub gates: ::features::Gates,
    /// True when it runs against the built-in lab.
    pub demo: bool,
    /// What is open to visitors without an account.
    pub visitors: Option<Arc<Visitors>>,
}

impl Services {
    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.scanner.store
    }

    pub(crate) fn now(&self) -> model::Timestamp {
        self.scanner.clock.now()
    }
}

/// The error of a DNS operation without a result: `Invalid` when the question can't be asked, `Unavailable` when the
/// network could not be reached.
pub(crate) fn query_error(e: &dns::Error) -> ApiError {
    match e {
        dns::Error::Name(..) | dns::Error::Type(_) => ApiError::invalid(e.to_string()),
        _ => ApiError::unavailable(format!("{e}.")),
    }
}

/// The error of a store call. The cause is logged here, once.
pub(crate) fn unavailable(e: store::Error) -> ApiError {
    match e {
        store::Error::NotFound => ApiError::not_found("Not found in this organisation."),
        store::Error::Held { name, finalizer } => ApiError::conflict(format!(
            "{name} has the finalizer {finalizer}: a program must clean up before it goes. Delete it with kubectl, which \
             marks it for deletion, or remove the finalizer. Nothing was deleted."
        )),
        e => {
            tracing::error!(error = %e, label = e.label(), "a store call failed");
            ApiError::unavailable("The database did not respond. Nothing was changed; try again in a moment.")
        }
    }
}

/// Names from a page may be anything; parse them again.
pub(crate) fn checked(names: &[DomainName]) -> ApiResult<Vec<DomainName>> {
    names.iter().map(|n| read_name(n.as_str())).collect()
}

/// A registrable domain from what was typed.
///
/// # Errors
/// [`Invalid`](service::ErrorKind::Invalid): the detail names the input and the rule it breaks.
pub fn read_name(input: &str) -> ApiResult<DomainName> {
    DomainName::read(input).map(|u| u.name).map_err(|e| ApiError::invalid(e.to_string()))
}

/// The error for a domain that the inventory does not hold.
pub fn not_held(name: &DomainName) -> ApiError {
    ApiError::not_found(format!("{} is not in this inventory.", name.unicode()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreachable_network_is_not_invalid_input() {
        let status = |e: &dns::Error| query_error(e).status();
        assert_eq!(status(&dns::Error::Type("NOTYPE".into())), 400);
        assert_eq!(status(&dns::Error::Intercepted { servers: 13 }), 503);
        let exhausted = dns::Error::Exhausted { name: "a.test".into(), queries: 9, elapsed_ms: 9 };
        assert_eq!(status(&exhausted), 503);
    }
}
