//! The product behind the pages: answers what `app` asks through its one trait. Every call authorises its caller
//! and passes the caller's organisation on; isolation hangs on nothing else.

mod add;
mod limits;
mod pages;
mod tools;

use app::answer::{Answer, Failure};
use model::ids::Caller;
use model::names::DomainName;
use monitor::{Scanner, Worker};
use std::sync::Arc;
use store::Store;

pub use limits::{Bounds, Leave, Limits, Work};
pub use tools::Tools;

/// Jobs a person waits for go before what the schedule wants.
pub(crate) const ASKED: i32 = monitor::ASKED;
/// Most names one bulk call works on.
const BULK: u32 = 100_000;

/// The product of one process. Cheap to clone.
#[derive(Clone)]
pub struct Product {
    /// Scans and judges.
    pub scanner: Scanner,
    /// Works off the queue.
    pub worker: Worker,
    /// Traces for the tools.
    pub engine: dns::Engine,
    /// Comparison and analyzer.
    pub tools: Tools,
    /// True when the lab is underneath.
    pub demo: bool,
}

impl Product {
    /// Where everything is kept.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.scanner.store
    }

    pub(crate) fn now(&self) -> model::Timestamp {
        self.scanner.clock.now()
    }
}

/// What an operation of the DNS engine that gave no result is to the caller: a question that can't be asked is his to
/// mend, a network that can't be reached is not.
pub(crate) fn not_asked(e: &dns::Error) -> Failure {
    match e {
        dns::Error::Name(..) | dns::Error::Type(_) => Failure::Invalid(e.to_string()),
        _ => Failure::Unavailable(format!("{e}.")),
    }
}

/// Turns a store error into what a page can act on. Logged here, once.
pub(crate) fn unavailable(e: store::Error) -> Failure {
    match e {
        store::Error::NotFound => Failure::NotFound("There is no such thing in this organisation.".into()),
        e => {
            tracing::error!(error = %e, label = e.label(), "a store call failed");
            Failure::Unavailable(
                "The database did not answer. Nothing was changed; try again in a moment.".into(),
            )
        }
    }
}

pub(crate) fn may_write(caller: &Caller) -> Answer<()> {
    if caller.may_write() {
        return Ok(());
    }
    Err(Failure::Forbidden(format!("{} may look but not change anything here.", caller.who)))
}

/// Names from a page may be anything; only what reads as a domain goes further.
pub(crate) fn checked(names: &[DomainName]) -> Answer<Vec<DomainName>> {
    names.iter().map(|n| read_name(n.as_str())).collect()
}

pub(crate) fn read_name(input: &str) -> Answer<DomainName> {
    DomainName::read(input).map(|u| u.name).map_err(|e| Failure::Invalid(e.to_string()))
}

pub(crate) fn not_held(name: &DomainName) -> Failure {
    Failure::NotFound(format!("{} is not in this inventory.", name.unicode()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_out_of_reach_is_nobodys_bad_input() {
        let status = |e: &dns::Error| not_asked(e).status();
        assert_eq!(status(&dns::Error::Type("NOTYPE".into())), 400);
        assert_eq!(status(&dns::Error::Intercepted { servers: 13 }), 503);
        let exhausted = dns::Error::Exhausted { name: "a.test".into(), queries: 9, elapsed_ms: 9 };
        assert_eq!(status(&exhausted), 503);
    }
}
