//! How often a domain is scanned, and when reminders of its expiration come: said of a domain, else of its organisation,
//! else by the server.

use super::expiry::{REMINDER_MAX, REMINDERS_MAX};
use serde::{Deserialize, Serialize};

/// The shortest interval between two scheduled scans, in seconds.
pub const INTERVAL_MIN: i64 = 300;
/// The longest, in seconds.
pub const INTERVAL_MAX: i64 = 7 * 86_400;

/// Intervals that forms offer: seconds and words.
pub const INTERVALS: [(i64, &str); 8] = [
    (300, "every 5 minutes"),
    (900, "every 15 minutes"),
    (3600, "every hour"),
    (3 * 3600, "every 3 hours"),
    (6 * 3600, "every 6 hours"),
    (12 * 3600, "every 12 hours"),
    (86_400, "every day"),
    (INTERVAL_MAX, "every 7 days"),
];

/// Settings of checks; `None` where there are none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Checks {
    /// Seconds between two scheduled scans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_s: Option<i64>,
    /// Days before an expiration at which a reminder is recorded, most days first; 0 is the expiration itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiry_days: Option<Vec<i64>>,
}

impl Checks {
    /// True when nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Checks::default()
    }

    /// The same, with what another says where this one says nothing.
    #[must_use]
    pub fn or(self, other: Checks) -> Checks {
        Checks {
            interval_s: self.interval_s.or(other.interval_s),
            expiry_days: self.expiry_days.or(other.expiry_days),
        }
    }
}

/// An interval within its bounds.
///
/// # Errors
/// A sentence that names the value and the rule.
pub fn checked_interval(seconds: i64) -> Result<i64, String> {
    if (INTERVAL_MIN..=INTERVAL_MAX).contains(&seconds) {
        Ok(seconds)
    } else {
        Err(format!(
            "{seconds} s is not an interval of checks: from {INTERVAL_MIN} s (5 minutes) to {INTERVAL_MAX} s (7 days)"
        ))
    }
}

/// Days of reminders as they are kept: most days first, each once.
///
/// # Errors
/// A sentence that names the value and the rule.
pub fn checked_days(days: &[i64]) -> Result<Vec<i64>, String> {
    if let Some(wrong) = days.iter().find(|d| !(0..=REMINDER_MAX).contains(*d)) {
        return Err(format!("“{wrong}” is not from 0 to {REMINDER_MAX} days"));
    }
    if days.is_empty() || days.len() > REMINDERS_MAX {
        return Err(format!("1 to {REMINDERS_MAX} thresholds are needed, as in 30,15,7,3,1,0"));
    }
    let mut days = days.to_vec();
    days.sort_unstable_by(|a, b| b.cmp(a));
    days.dedup();
    Ok(days)
}

/// An interval in words: `every hour`, `every 90 minutes`.
pub fn interval_words(seconds: i64) -> String {
    if let Some((_, words)) = INTERVALS.iter().find(|(s, _)| *s == seconds) {
        return (*words).into();
    }
    match seconds {
        s if s % 86_400 == 0 => format!("every {} days", s / 86_400),
        s if s % 3600 == 0 => format!("every {} hours", s / 3600),
        s if s % 60 == 0 => format!("every {} minutes", s / 60),
        s => format!("every {s} seconds"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_and_days_have_bounds() {
        for (seconds, words) in INTERVALS {
            assert_eq!(checked_interval(seconds), Ok(seconds));
            assert_eq!(interval_words(seconds), words);
        }
        assert!(checked_interval(INTERVAL_MIN - 1).unwrap_err().contains("299 s"));
        assert!(checked_interval(INTERVAL_MAX + 1).is_err());
        assert_eq!(interval_words(5400), "every 90 minutes");
        assert_eq!(checked_days(&[0, 30, 7, 30]).unwrap(), [30, 7, 0]);
        assert!(checked_days(&[]).is_err() && checked_days(&[366]).is_err() && checked_days(&[-1]).is_err());
        assert!(checked_days(&[1; 13]).is_err());
    }

    #[test]
    fn what_is_said_nearer_counts() {
        let own = Checks { interval_s: Some(300), expiry_days: None };
        let organisation = Checks { interval_s: Some(600), expiry_days: Some(vec![7]) };
        assert_eq!(own.or(organisation), Checks { interval_s: Some(300), expiry_days: Some(vec![7]) });
        assert!(Checks::default().is_empty());
    }
}
