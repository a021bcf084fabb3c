//! Polls that wait: one of each agent in this process. A newer one ends the older, whose connection may be gone; so an agent
//! that opens any number of them costs as much as one.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The newest poll of each agent; members only, so there are at most as many as these.
static OPEN: LazyLock<Mutex<HashMap<String, Arc<Notify>>>> = LazyLock::new(Mutex::default);

fn locked() -> MutexGuard<'static, HashMap<String, Arc<Notify>>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The turn of a poll: it is over as soon as its agent sends a newer one.
pub(super) struct Turn {
    agent: String,
    over: Arc<Notify>,
}

impl Turn {
    /// Begins the turn of a poll and ends that of an older one.
    pub(super) fn begin(agent: &str) -> Turn {
        let over = Arc::new(Notify::new());
        if let Some(older) = locked().insert(agent.to_string(), over.clone()) {
            older.notify_one();
        }
        Turn { agent: agent.to_string(), over }
    }

    /// Whether a newer poll came.
    pub(super) fn is_over(&self) -> bool {
        locked().get(&self.agent).is_none_or(|newest| !Arc::ptr_eq(newest, &self.over))
    }

    /// Waits until a newer poll comes.
    pub(super) async fn over(&self) {
        self.over.notified().await;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut open = locked();
        if open.get(&self.agent).is_some_and(|newest| Arc::ptr_eq(newest, &self.over)) {
            open.remove(&self.agent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_newer_poll_ends_the_older_one_and_nothing_is_left() {
        let (first, other) = (Turn::begin("turn-1"), Turn::begin("turn-2"));
        assert!(!first.is_over());
        let second = Turn::begin("turn-1");
        first.over().await;
        assert!(first.is_over() && !second.is_over() && !other.is_over());
        drop(first);
        assert!(!second.is_over(), "the end of the older one is not that of the newer");
        drop(second);
        drop(other);
        assert!(!locked().keys().any(|agent| agent.starts_with("turn-")));
    }
}
