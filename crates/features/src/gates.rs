//! Gates that code passes before it does something that a feature guards.

use crate::machine::Feature;
use crate::runner::LIVE_SECONDS;
use crate::table::FEATURES;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

/// One gate for each feature of this version. Cheap to clone; all clones are the same gates.
#[derive(Debug, Clone)]
pub struct Gates(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    gates: BTreeMap<&'static str, Arc<Gate>>,
    /// Settings of [`Spec::needs`](crate::Spec::needs) that this process does not have.
    lacks: BTreeSet<String>,
    /// Seconds of the process clock at which the state was read last; 0 before the first time.
    read_at: AtomicU64,
}

#[derive(Debug)]
struct Gate {
    open: AtomicBool,
    /// The desired value as it was read last: a closed gate that is wanted will open.
    wanted: AtomicBool,
    /// Uses in progress.
    uses: AtomicUsize,
    /// A value set by flag, which no state changes.
    fixed: Option<bool>,
    /// Uses store data that a transition deletes.
    stores: bool,
}

/// Seconds of the process clock. They begin late enough for second 1 to be outdated.
fn seconds() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_secs() + 1 + LIVE_SECONDS.unsigned_abs()
}

/// Why a use can't begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// It is off, or turning off.
    Off,
    /// A flag keeps it off in this process alone: others may use it.
    OffHere,
    /// It is on, about to be, or its present state is not known here: try again in a few seconds.
    NotNow,
}

/// A use in progress. The process reports the feature as used until it is dropped.
#[derive(Debug)]
pub struct Use(Arc<Gate>);

impl Drop for Use {
    fn drop(&mut self) {
        self.0.uses.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Default for Gates {
    fn default() -> Self {
        Gates::with_fixed(&BTreeMap::new())
    }
}

impl Gates {
    /// Gates at the defaults, some of them fixed by flags.
    pub fn with_fixed(fixed: &BTreeMap<String, bool>) -> Self {
        Gates::configured(fixed, BTreeSet::new())
    }

    /// Gates at the defaults, some of them fixed by flags, in a process that lacks some settings.
    pub fn configured(fixed: &BTreeMap<String, bool>, lacks: BTreeSet<String>) -> Self {
        let gates = FEATURES.iter().map(|s| {
            let fixed = fixed.get(s.name).copied();
            let gate = Gate {
                open: AtomicBool::new(fixed.unwrap_or(s.default)),
                wanted: AtomicBool::new(s.default),
                uses: AtomicUsize::new(0),
                fixed,
                stores: !s.tasks().is_empty(),
            };
            (s.name, Arc::new(gate))
        });
        Gates(Arc::new(Inner { gates: gates.collect(), lacks, read_at: AtomicU64::new(0) }))
    }

    /// Settings that features need and this process does not have.
    pub fn lacks(&self) -> &BTreeSet<String> {
        &self.0.lacks
    }

    /// The features that flags fix in this process.
    pub fn fixed(&self) -> BTreeMap<String, bool> {
        self.0.gates.iter().filter_map(|(name, g)| Some(((*name).to_string(), g.fixed?))).collect()
    }

    /// Begins a use; `None` when the feature is off, or when this process may count as dead to the others and the
    /// feature stores data that they may be deleting.
    pub fn enter(&self, name: &str) -> Option<Use> {
        self.admit(name).ok()
    }

    /// Begins a use, as [`Gates::enter`] does.
    ///
    /// # Errors
    /// Why it can't begin: what is refused for good while the feature is off is only postponed otherwise.
    pub fn admit(&self, name: &str) -> Result<Use, Closed> {
        let gate = self.0.gates.get(name).ok_or(Closed::Off)?;
        // Counted before the gate is read: a gate that closes in between sees the use and is reported as used.
        gate.uses.fetch_add(1, Ordering::SeqCst);
        let held = Use(gate.clone());
        let is_open = gate.open.load(Ordering::SeqCst);
        let is_outdated = self.is_outdated();
        if is_open && !(gate.stores && is_outdated) {
            return Ok(held);
        }
        let is_wanted = gate.wanted.load(Ordering::SeqCst);
        Err(match gate.fixed {
            Some(false) if is_wanted => Closed::OffHere,
            Some(false) => Closed::Off,
            _ if is_open || is_wanted || is_outdated => Closed::NotNow,
            _ => Closed::Off,
        })
    }

    /// Treats what was read as outdated until the state is read again.
    pub fn outdate(&self) {
        self.0.read_at.store(1, Ordering::SeqCst);
    }

    /// True when the state was not read for so long that other processes do not wait for this one.
    fn is_outdated(&self) -> bool {
        let read_at = self.0.read_at.load(Ordering::SeqCst);
        read_at != 0 && seconds().saturating_sub(read_at) + 2 > LIVE_SECONDS.unsigned_abs()
    }

    /// Whether a feature is on in this process.
    pub fn is_on(&self, name: &str) -> bool {
        self.0.gates.get(name).is_some_and(|g| g.open.load(Ordering::SeqCst))
    }

    /// Closes the gates of what is stored as unused, before that is reported.
    pub fn close(&self, stored: &[Feature]) {
        for feature in stored {
            if let Some(gate) = self.0.gates.get(feature.name.as_str()) {
                gate.wanted.store(feature.is_wanted(), Ordering::SeqCst);
            }
        }
        self.each(stored, |gate, feature| {
            if !feature.state.is_used() {
                gate.open.store(false, Ordering::SeqCst);
            }
        });
    }

    /// Opens the gates of what is stored as used. It was reported before, so that no process takes a transition for
    /// complete between the two.
    pub fn open(&self, stored: &[Feature]) {
        self.0.read_at.store(seconds(), Ordering::SeqCst);
        self.each(stored, |gate, feature| {
            if feature.state.is_used() {
                gate.open.store(true, Ordering::SeqCst);
            }
        });
    }

    fn each(&self, stored: &[Feature], act: impl Fn(&Gate, &Feature)) {
        for feature in stored {
            if let Some(gate) = self.0.gates.get(feature.name.as_str()).filter(|g| g.fixed.is_none()) {
                act(gate, feature);
            }
        }
    }

    /// The value of every gate as it is reported: used while it is open, will be, or a use is in progress.
    pub fn report(&self, stored: &[Feature]) -> BTreeMap<String, bool> {
        let used = |g: &Gate| g.open.load(Ordering::SeqCst) || g.uses.load(Ordering::SeqCst) > 0;
        let mut report: BTreeMap<String, bool> =
            self.0.gates.iter().map(|(name, g)| ((*name).to_string(), used(g))).collect();
        for feature in stored.iter().filter(|f| f.state.is_used()) {
            if self.0.gates.get(feature.name.as_str()).is_some_and(|g| g.fixed.is_none()) {
                report.insert(feature.name.clone(), true);
            }
        }
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::State;
    use crate::table::spec;

    #[test]
    fn a_use_in_progress_is_reported_until_it_ends() {
        let gates = Gates::default();
        let mut feature = Feature::new(spec("network-claim").unwrap(), "0.1.0", jiff::Timestamp::UNIX_EPOCH);
        let held = gates.enter("network-claim").unwrap();
        feature.state = State::TurningOff;
        let stored = std::slice::from_ref(&feature);
        gates.close(stored);
        assert!(!gates.is_on("network-claim") && gates.enter("network-claim").is_none());
        assert!(gates.report(stored)["network-claim"], "the use runs");
        drop(held);
        assert!(!gates.report(stored)["network-claim"]);
        assert!(gates.enter("none").is_none());
    }

    #[test]
    fn only_what_is_off_for_sure_is_refused_for_good() {
        let gates = Gates::default();
        let now = jiff::Timestamp::UNIX_EPOCH;
        let mut feature = Feature::new(spec("network-claim").unwrap(), "0.1.0", now);
        let read = |gates: &Gates, feature: &Feature| {
            gates.close(std::slice::from_ref(feature));
            gates.open(std::slice::from_ref(feature));
        };
        let refused = |gates: &Gates| gates.admit("network-claim").err();
        read(&gates, &feature);
        assert_eq!(refused(&gates), None);
        // It stores data, and others may be deleting them.
        gates.outdate();
        assert_eq!(refused(&gates), Some(Closed::NotNow));
        read(&gates, &feature);
        assert_eq!(refused(&gates), None);
        (feature.state, feature.desired) = (State::Off, Some(false));
        read(&gates, &feature);
        assert_eq!(refused(&gates), Some(Closed::Off));
        gates.outdate();
        assert_eq!(refused(&gates), Some(Closed::NotNow), "it may be on meanwhile");
        // Desired again, not begun yet.
        feature.desired = Some(true);
        read(&gates, &feature);
        assert_eq!(refused(&gates), Some(Closed::NotNow));
        assert!(!gates.report(&[])["network-claim"], "what was refused is no use");
        let fixed = Gates::with_fixed(&BTreeMap::from([("network-claim".to_string(), false)]));
        read(&fixed, &feature);
        assert_eq!(refused(&fixed), Some(Closed::OffHere));
        feature.desired = Some(false);
        read(&fixed, &feature);
        assert_eq!(refused(&fixed), Some(Closed::Off));
        assert_eq!(gates.admit("none").err(), Some(Closed::Off));
    }

    #[test]
    fn a_flag_wins_over_the_state() {
        let gates = Gates::with_fixed(&BTreeMap::from([("doh-server".to_string(), false)]));
        let stored = [Feature::new(spec("doh-server").unwrap(), "0.1.0", jiff::Timestamp::UNIX_EPOCH)];
        gates.open(&stored);
        assert!(!gates.is_on("doh-server") && !gates.report(&stored)["doh-server"]);
        assert_eq!(gates.fixed(), BTreeMap::from([("doh-server".to_string(), false)]));
    }
}
