//! Refusals of requests of agents: counted, and written to the log within bounds, since strangers cause any number of them.

use service::ApiError;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Characters of a detail in the log.
const DETAIL_MAX: usize = 200;
/// A reason is logged once in that time.
const EVERY: Duration = Duration::from_secs(1);

/// A refusal that is neither counted nor logged so far: the reason and the answer.
#[derive(Debug)]
pub(super) struct Refusal(pub(super) &'static str, pub(super) ApiError);

impl Refusal {
    /// The answer, once the refusal is counted and logged.
    pub(super) fn noted(self) -> ApiError {
        refuse(self.0, self.1)
    }
}

/// When each reason was logged last, and how often it was left out since.
#[derive(Debug, Default)]
struct Logged(HashMap<&'static str, (Instant, u64)>);

impl Logged {
    /// Takes the turn of a reason: how many refusals were left out since the last one; `None` when it is not its turn.
    fn turn(&mut self, reason: &'static str, now: Instant) -> Option<u64> {
        match self.0.get_mut(reason) {
            Some((last, left_out)) if now.saturating_duration_since(*last) < EVERY => {
                *left_out += 1;
                None
            }
            found => {
                let left_out = found.map_or(0, |(_, n)| *n);
                self.0.insert(reason, (now, 0));
                Some(left_out)
            }
        }
    }
}

static LOGGED: LazyLock<Mutex<Logged>> = LazyLock::new(Mutex::default);

fn cut(detail: &str) -> String {
    detail.chars().take(DETAIL_MAX).collect()
}

/// Counts a refusal, logs it at most once a second for each reason, and returns it.
pub(super) fn refuse(reason: &'static str, error: ApiError) -> ApiError {
    metrics::counter!("domainscope_agent_requests_refused_total", "reason" => reason).increment(1);
    let turn = LOGGED.lock().unwrap_or_else(PoisonError::into_inner).turn(reason, Instant::now());
    if let Some(left_out) = turn {
        tracing::info!(reason, detail = cut(&error.detail), left_out, "a request of an agent was refused");
    }
    error
}

/// Counted, and not logged: strangers can cause any number of them.
pub(super) fn flood() -> ApiError {
    metrics::counter!("domainscope_agent_requests_refused_total", "reason" => "flood").increment(1);
    ApiError::too_many_requests("Too many requests. Wait a second.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_logged_once_a_second_and_details_are_cut() {
        let (mut logged, start) = (Logged::default(), Instant::now());
        let at = |ms: u64| start + Duration::from_millis(ms);
        assert_eq!(logged.turn("token", at(0)), Some(0));
        assert_eq!((logged.turn("token", at(1)), logged.turn("token", at(999))), (None, None));
        assert_eq!(logged.turn("garbage", at(2)), Some(0), "another reason has its own turn");
        assert_eq!(logged.turn("token", at(1_000)), Some(2), "and says how many were left out");
        assert_eq!(logged.turn("token", at(2_500)), Some(0));
        assert_eq!(cut(&"ü".repeat(5_000)).chars().count(), DETAIL_MAX);
    }
}
