//! IPv4 and IPv6 as this host has them. In: what questions came to. Out: whether the host has the family at all.

use crate::session::transport::Failure;
use crate::wire::Reply;
use std::sync::atomic::{AtomicBool, Ordering};

/// What this host's routes did with the addresses of one family.
#[derive(Default)]
pub(super) struct Family {
    /// There was no route to an address.
    missing: AtomicBool,
    /// A question went out to one: an address without a route is then a matter of that address.
    works: AtomicBool,
}

impl Family {
    /// Learns from what asking an address of the family came to.
    pub(super) fn take_note(&self, result: &Result<Reply, Failure>) {
        match result {
            Err(Failure::NoRoute) => self.missing.store(true, Ordering::Relaxed),
            Err(Failure::NotAsked(_)) => {}
            _ => self.works.store(true, Ordering::Relaxed),
        }
    }

    /// True when no address of the family could be reached for want of a route.
    pub(super) fn has_no_route(&self) -> bool {
        self.missing.load(Ordering::Relaxed) && !self.works.load(Ordering::Relaxed)
    }
}
