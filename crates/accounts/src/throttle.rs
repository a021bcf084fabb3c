//! How long a key (an account, or a client's address prefix) must wait after failed attempts. Pure: the state is kept
//! by the caller, in the store, so that all replicas count together.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// How failures count for one kind of key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThrottleRule {
    /// Failures without a pause: people mistype.
    pub free: u32,
    /// Pause after the next one; doubled with each further failure.
    pub first: SignedDuration,
    /// Longest pause. Short enough that an attacker can't keep the owner out for long.
    pub longest: SignedDuration,
    /// Without a failure for so long, all is forgotten.
    pub forget: SignedDuration,
}

impl ThrottleRule {
    /// For one account.
    pub const ACCOUNT: ThrottleRule = ThrottleRule {
        free: 5,
        first: SignedDuration::from_secs(5),
        longest: SignedDuration::from_mins(15),
        forget: SignedDuration::from_hours(24),
    };
    /// For one client (an IPv4 address, an IPv6 /64): offices share one.
    pub const ADDRESS: ThrottleRule = ThrottleRule {
        free: 30,
        first: SignedDuration::from_secs(5),
        longest: SignedDuration::from_mins(15),
        forget: SignedDuration::from_hours(1),
    };
}

/// Failed attempts of one key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttle {
    /// Failures in a row.
    pub failures: u32,
    /// Time of the newest.
    pub last_at: Option<Timestamp>,
}

impl Throttle {
    /// Whether an attempt may be made now.
    ///
    /// # Errors
    /// The pause that is left.
    pub fn check(&self, now: Timestamp, rule: &ThrottleRule) -> Result<(), SignedDuration> {
        let Some(last) = self.last_at.filter(|_| self.failures > rule.free) else { return Ok(()) };
        let doublings = (self.failures - rule.free - 1).min(16);
        let pause =
            rule.first.checked_mul(1 << doublings).map_or(rule.longest, |pause| pause.min(rule.longest));
        // A clock that was set back must not lock anybody out for longer than the pause.
        let left = (pause - now.duration_since(last)).min(pause);
        if left.is_positive() { Err(left) } else { Ok(()) }
    }

    /// After a failed attempt.
    #[must_use]
    pub fn failed(self, now: Timestamp, rule: &ThrottleRule) -> Throttle {
        let is_old = self.last_at.is_some_and(|last| now.duration_since(last) >= rule.forget);
        let failures = if is_old { 0 } else { self.failures };
        Throttle { failures: failures.saturating_add(1), last_at: Some(now) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    #[test]
    fn mistakes_are_free_then_pauses_double_up_to_a_quarter_of_an_hour() {
        let rule = ThrottleRule::ACCOUNT;
        let mut state = Throttle::default();
        for _ in 0..rule.free {
            state = state.failed(at(0), &rule);
            assert_eq!(state.check(at(0), &rule), Ok(()));
        }
        let mut pauses = Vec::new();
        for _ in 0..12 {
            state = state.failed(at(0), &rule);
            pauses.push(state.check(at(0), &rule).unwrap_err().as_secs());
        }
        assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 320, 640, 900, 900, 900, 900]);
        assert_eq!(state.check(at(900), &rule), Ok(()));
    }

    #[test]
    fn time_forgets_and_a_clock_set_back_locks_nobody_out_for_long() {
        let rule = ThrottleRule::ACCOUNT;
        let many = (0..50).fold(Throttle::default(), |state, _| state.failed(at(0), &rule));
        assert_eq!(many.failed(at(24 * 3600), &rule).failures, 1);
        assert_eq!(many.check(at(-100_000), &rule), Err(rule.longest));
    }
}
