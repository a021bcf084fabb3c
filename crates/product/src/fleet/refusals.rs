//! Agents that asked for an identity which a member has. Kept by this process for a day and shown on the page of the fleet;
//! only requests with a valid token get here, so strangers can't fill it.

use model::Timestamp;
use service::RefusedJoin;
use std::collections::VecDeque;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Most that are kept.
const KEPT: usize = 8;
const DAY_SECONDS: i64 = 86_400;

static REFUSED: LazyLock<Mutex<VecDeque<RefusedJoin>>> = LazyLock::new(Mutex::default);

fn locked() -> std::sync::MutexGuard<'static, VecDeque<RefusedJoin>> {
    REFUSED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a request in place of an earlier one for the same identity from the same network.
pub(super) fn keep(join: RefusedJoin) {
    let mut kept = locked();
    kept.retain(|r| (&r.id, &r.network) != (&join.id, &join.network));
    kept.push_front(join);
    kept.truncate(KEPT);
}

/// Drops what was refused to a network from which an agent has joined since, and to an identity that was revoked.
pub(super) fn settle(network: Option<&str>, id: &str) {
    locked().retain(|r| network != Some(r.network.as_str()) && r.id != id);
}

/// The requests of the last day, newest first.
pub(super) fn of_last_day(now: Timestamp) -> Vec<RefusedJoin> {
    let mut kept = locked();
    kept.retain(|r| now.duration_since(r.at).as_secs() < DAY_SECONDS);
    kept.iter().cloned().collect()
}
