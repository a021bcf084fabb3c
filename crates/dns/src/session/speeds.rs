//! How fast servers answered last, across operations, as every resolver keeps it: who is known to answer fast is asked
//! alone for a moment. In: the outcome of each question over UDP. Out: the time the last answer took. Nothing that a
//! server said is kept.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Servers that are remembered; all are forgotten when there are more.
const MOST: usize = 20_000;

/// The time of the last answer by address.
#[derive(Debug, Default)]
pub(crate) struct Speeds(Mutex<HashMap<IpAddr, Duration>>);

impl Speeds {
    /// Takes note of an answer, or of a question that got none.
    pub(crate) fn note(&self, address: IpAddr, took: Option<Duration>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(took) = took else {
            known.remove(&address);
            return;
        };
        if known.len() >= MOST && !known.contains_key(&address) {
            known.clear();
        }
        known.insert(address, took);
    }

    /// How long the last answer of an address took; `None` for one that was not asked yet, or has been silent since.
    pub(crate) fn of(&self, address: IpAddr) -> Option<Duration> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&address).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_falls_silent_is_unknown_again_and_the_number_is_bounded() {
        let speeds = Speeds::default();
        let address = |n: u32| IpAddr::V4(n.into());
        speeds.note(address(1), Some(Duration::from_millis(20)));
        speeds.note(address(1), Some(Duration::from_millis(30)));
        assert_eq!(speeds.of(address(1)), Some(Duration::from_millis(30)));
        speeds.note(address(1), None);
        assert_eq!(speeds.of(address(1)), None);
        (0..50_000).for_each(|n| speeds.note(address(n), Some(Duration::ZERO)));
        assert!(speeds.0.lock().unwrap().len() <= MOST && speeds.of(address(49_999)).is_some());
    }
}
