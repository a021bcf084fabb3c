//! Retries: how long an attempt may hold its work, how long to wait after each failure, and when to give up.

use std::time::Duration;

/// How work of one kind is retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How long one attempt holds the work. A worker that says nothing for so long is taken for dead.
    pub lease: Duration,
    /// Attempts before the work is given up and waits for a person.
    pub max_attempts: u32,
    /// Wait after the first failed attempt; doubles with each further one.
    pub first_delay: Duration,
    /// Longest wait between two attempts.
    pub max_delay: Duration,
}

/// What follows a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Another attempt, not before this instant.
    At(jiff::Timestamp),
    /// No further attempt until a person asks for one.
    GivenUp,
    /// The work was no longer held by this attempt; nothing was changed.
    LeaseLost,
}

impl RetryPolicy {
    /// Wait after the given attempt, counted from 1. From the second attempt on it is spread over half to one and a
    /// half of its length by the key: work that was lost together with a dying process does not come back together,
    /// so that the part of it that kills the process is found.
    pub fn delay(&self, attempt: u32, key: &str) -> Duration {
        let doublings = attempt.saturating_sub(1).min(20);
        let delay = self.first_delay.saturating_mul(1 << doublings).min(self.max_delay);
        if attempt < 2 {
            return delay;
        }
        // FNV-1a: the same on every platform, so that replicas and tests agree.
        let start = 0xcbf2_9ce4_8422_2325_u64 ^ u64::from(attempt);
        let hash = key.bytes().fold(start, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        let percent = 50 + u32::try_from((hash ^ (hash >> 32)) % 101).unwrap_or(50);
        delay * percent / 100
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: RetryPolicy = RetryPolicy {
        lease: Duration::from_secs(60),
        max_attempts: 5,
        first_delay: Duration::from_secs(30),
        max_delay: Duration::from_secs(600),
    };

    #[test]
    fn delays_double_are_spread_and_have_a_limit() {
        assert_eq!(POLICY.delay(1, "a.example"), Duration::from_secs(30));
        for (attempt, middle) in [(2, 60), (3, 120), (4, 240), (9, 600), (u32::MAX, 600)] {
            let delays: Vec<_> =
                (0..200).map(|i| POLICY.delay(attempt, &format!("n{i}.example")).as_secs()).collect();
            let (least, most) = (*delays.iter().min().unwrap(), *delays.iter().max().unwrap());
            assert!(least >= middle / 2 && most <= middle * 3 / 2, "{attempt}: {least} to {most}");
            assert!(most - least > middle / 2, "{attempt}: spread from {least} to {most}");
        }
    }
}
