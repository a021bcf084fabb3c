//! Memory of one operation: what it keeps is charged until its budget is used up. In: octets about to be kept. Out:
//! whether they may be.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What an operation keeps, in octets.
pub(crate) struct Memory {
    limit: usize,
    used: AtomicUsize,
    refused: AtomicBool,
}

impl Memory {
    pub(crate) fn new(limit: usize) -> Self {
        Memory { limit, used: AtomicUsize::new(0), refused: AtomicBool::new(false) }
    }

    /// Charges what is about to be kept; false, and nothing is charged, when that is more than is left.
    pub(crate) fn charge(&self, octets: usize) -> bool {
        let used = self.used.fetch_add(octets, Ordering::Relaxed);
        let fits = used.saturating_add(octets) <= self.limit;
        if !fits {
            self.used.fetch_sub(octets, Ordering::Relaxed);
            self.refused.store(true, Ordering::Relaxed);
        }
        fits
    }

    /// True when something was not kept.
    pub(crate) fn is_used_up(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    /// One sentence for the person who asked for the operation.
    pub(crate) fn words(&self) -> String {
        format!("the replies take more than the {} MB of memory one operation may keep", self.limit >> 20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_not_charged() {
        let memory = Memory::new(10);
        assert!(memory.charge(6) && !memory.is_used_up());
        assert!(!memory.charge(5) && memory.is_used_up());
        assert!(memory.charge(4) && !memory.charge(1) && !memory.charge(usize::MAX));
    }
}
