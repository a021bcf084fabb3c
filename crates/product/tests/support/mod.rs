//! Set-up that tests of the product share: services over a scanner, and an observer that finds nothing.

#![allow(dead_code, reason = "each test binary uses a part of it")]

#[path = "../../../monitor/tests/support/mod.rs"]
pub mod scans;

use async_trait::async_trait;
use model::Timestamp;
use model::detail::RawAnswer;
use model::names::DomainName;
use model::observation::Part;
use model::registration::RegistrationState;
use monitor::observer::Progress;
use monitor::{DnsParts, Observer, Scanner, Worker};
use product::configure::Inspector;
use product::identity::Identity;
use product::{Bounds, OverlapPolicy, Quotas, Services, Tools};
use std::sync::Arc;

/// A network without servers.
pub struct NoNetwork;

#[async_trait]
impl Observer for NoNetwork {
    async fn registration(
        &self,
        _: &DomainName,
        _: Timestamp,
        _: &dyn Progress,
    ) -> (Part<RegistrationState>, Vec<RawAnswer>) {
        (Part::default(), vec![])
    }

    async fn dns(&self, _: &DomainName, _: Timestamp, _: &dyn Progress) -> DnsParts {
        DnsParts::default()
    }
}

/// Services over a scanner. Their messages and questions go out by this dialer.
pub fn services(scanner: Scanner, dialer: net::Dialer, bounds: Bounds) -> Services {
    let engine = dns::Engine::new(dns::Settings::default());
    let recursive = dns::recursive::Recursive::new(dialer.clone(), engine.settings());
    let clock = Arc::new(dns::compare::SystemClock);
    let comparer = dns::compare::Comparer::new(engine.clone(), recursive, vec![], clock);
    Services {
        worker: Worker::new(scanner.clone(), "test"),
        identity: Identity::new(scanner.store.clone(), scanner.clock.clone(), 1).unwrap(),
        scanner,
        tools: Tools::new(comparer, bounds, Inspector::new(engine.clone())),
        engine,
        quotas: Quotas::default(),
        overlap: OverlapPolicy::default(),
        gates: features::Gates::default(),
        deliverer: notify::Deliverer::new(dialer, None, None),
        demo: false,
        visitors: None,
    }
}
