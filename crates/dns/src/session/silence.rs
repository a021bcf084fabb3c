//! Which addresses answer in this operation: one that is silent is not waited for again. In: the outcome of each question.
//! Out: which addresses to skip, or to ask last.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Questions without a reply after which an address that never replied is not asked again.
const ENOUGH: u32 = 2;

#[derive(Default)]
struct Heard {
    failures: u32,
    replied: bool,
}

/// By address and transport (TCP or not).
#[derive(Default)]
pub(crate) struct Silence(Mutex<HashMap<(IpAddr, bool), Heard>>);

impl Silence {
    fn lock(&self) -> MutexGuard<'_, HashMap<(IpAddr, bool), Heard>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of what came of a question.
    pub(super) fn note(&self, address: IpAddr, tcp: bool, replied: bool) {
        let mut all = self.lock();
        let heard = all.entry((address, tcp)).or_default();
        if replied { heard.replied = true } else { heard.failures += 1 }
    }

    /// True when it was asked often enough and never answered.
    pub(super) fn is_silent(&self, address: IpAddr, tcp: bool) -> bool {
        self.lock().get(&(address, tcp)).is_some_and(|h| !h.replied && h.failures >= ENOUGH)
    }

    /// True when it has not answered anything over UDP yet though it was asked.
    pub(crate) fn is_quiet(&self, address: IpAddr) -> bool {
        self.lock().get(&(address, false)).is_some_and(|h| !h.replied && h.failures > 0)
    }

    /// True when some address of this kind has answered.
    pub(crate) fn any_replied(&self, kind: impl Fn(&IpAddr) -> bool) -> bool {
        self.lock().iter().any(|((address, _), heard)| heard.replied && kind(address))
    }
}
