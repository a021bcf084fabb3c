//! Limits of one host.

use std::time::Duration;

/// Limits of one host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Questions at the same time.
    pub concurrency: usize,
    /// Least time between the starts of two questions.
    pub spacing: Duration,
    /// Questions in any 24 hours; `None`: as many as the spacing allows.
    pub per_day: Option<u32>,
}

impl Default for Limit {
    /// Two at a time, at most five a second: below every published rate of a registry's public service.
    fn default() -> Self {
        Limit { concurrency: 2, spacing: Duration::from_millis(200), per_day: None }
    }
}

impl Limit {
    /// So many at a time, so far apart, as many a day as that allows.
    pub fn new(concurrency: usize, spacing: Duration) -> Self {
        Limit { concurrency, spacing, per_day: None }
    }
}
