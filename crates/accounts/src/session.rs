//! When a session ends: after some time without use, and after some time in any case.

use jiff::{SignedDuration, Timestamp};

/// Times of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionPolicy {
    /// Without use it ends after this.
    pub idle: SignedDuration,
    /// It ends after this in any case.
    pub absolute: SignedDuration,
    /// The time of the last use is written at most so often.
    pub touch: SignedDuration,
}

impl Default for SessionPolicy {
    fn default() -> Self {
        SessionPolicy {
            idle: SignedDuration::from_hours(24),
            absolute: SignedDuration::from_hours(14 * 24),
            touch: SignedDuration::from_mins(5),
        }
    }
}

impl SessionPolicy {
    /// True while a session made at `created` and used last at `seen` can be used.
    pub fn is_live(&self, created: Timestamp, seen: Timestamp, now: Timestamp) -> bool {
        now.duration_since(seen) < self.idle && now.duration_since(created) < self.absolute
    }

    /// True when the time of the last use ought to be written.
    pub fn is_touch_due(&self, seen: Timestamp, now: Timestamp) -> bool {
        now.duration_since(seen) >= self.touch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_unused_or_old() {
        let policy = SessionPolicy::default();
        let at = |hours: i64| Timestamp::from_second(1_800_000_000 + hours * 3600).unwrap();
        assert!(policy.is_live(at(0), at(0), at(23)));
        assert!(!policy.is_live(at(0), at(0), at(24)));
        assert!(policy.is_live(at(0), at(300), at(310)));
        assert!(!policy.is_live(at(0), at(335), at(336)));
    }
}
