//! Work that one of all live processes does, such as the deletion of old rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process is the one that does some work. Cheap to clone; [`Runner`](crate::Runner) keeps it current.
///
/// For work that two processes may do at once without harm: while a process dies or joins, two may hold it, or none.
#[derive(Debug, Clone)]
pub struct Duty {
    name: &'static str,
    is_held: Arc<AtomicBool>,
}

impl Duty {
    pub(crate) fn new(name: &'static str) -> Duty {
        Duty { name, is_held: Arc::default() }
    }

    /// That of a process that is alone.
    pub fn alone(name: &'static str) -> Duty {
        let duty = Duty::new(name);
        duty.set(true);
        duty
    }

    /// Its name, which decides with the identities of the processes which of them holds it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// True when this process does the work.
    pub fn is_held(&self) -> bool {
        self.is_held.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, is_held: bool) {
        self.is_held.store(is_held, Ordering::Relaxed);
    }
}
