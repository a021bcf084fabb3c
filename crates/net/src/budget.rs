//! Manners: per-host budgets of concurrency and rate, and waiting when a host asked us to.
//!
//! One process keeps them here; the limits are per registry host, not per name asked for.

use crate::Error;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// What one host may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Questions at the same time.
    pub concurrency: usize,
    /// Least time between the starts of two questions.
    pub spacing: Duration,
}

impl Default for Limit {
    /// Two at a time, at most five a second: below every published limit of a registry's public service.
    fn default() -> Self {
        Limit { concurrency: 2, spacing: Duration::from_millis(200) }
    }
}

/// Leave to ask a host once; given back when dropped.
#[derive(Debug)]
pub struct Permit {
    _slot: OwnedSemaphorePermit,
}

#[derive(Debug)]
struct Host {
    slots: Arc<Semaphore>,
    spacing: Duration,
    times: Mutex<Times>,
}

#[derive(Debug)]
struct Times {
    next_start: Instant,
    blocked_until: Option<Instant>,
}

/// The budgets of all hosts.
#[derive(Debug, Default)]
pub struct Budgets {
    hosts: Mutex<HashMap<String, Arc<Host>>>,
}

impl Budgets {
    /// No host asked yet.
    pub fn new() -> Self {
        Budgets::default()
    }

    fn host(&self, host: &str, limit: Limit) -> Arc<Host> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            Arc::new(Host {
                slots: Arc::new(Semaphore::new(limit.concurrency.max(1))),
                spacing: limit.spacing,
                times: Mutex::new(Times { next_start: Instant::now(), blocked_until: None }),
            })
        };
        hosts.entry(host.to_ascii_lowercase()).or_insert_with(make).clone()
    }

    /// Waits for leave to ask `host`, at most `patience`. The first call for a host fixes its limit.
    ///
    /// # Errors
    /// [`Error::Budget`] when the host asked us to wait, or when our own turn would come too late.
    pub async fn acquire(&self, host: &str, limit: Limit, patience: Duration) -> Result<Permit, Error> {
        let entry = self.host(host, limit);
        let refuse = |wait, reason| Error::Budget { host: host.to_string(), wait, reason };
        let deadline = Instant::now() + patience;
        let slot = tokio::time::timeout_at(deadline, entry.slots.clone().acquire_owned())
            .await
            .map_err(|_| refuse(patience, "our own limit for this host is reached"))?
            .map_err(|_| refuse(patience, "shutting down"))?;
        let start = {
            let mut times = entry.times.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            if let Some(until) = times.blocked_until {
                if until > now {
                    return Err(refuse(until - now, "it asked us to wait"));
                }
                times.blocked_until = None;
            }
            let start = times.next_start.max(now);
            if start > deadline {
                return Err(refuse(start - now, "our own limit for this host is reached"));
            }
            times.next_start = start + entry.spacing;
            start
        };
        tokio::time::sleep_until(start).await;
        Ok(Permit { _slot: slot })
    }

    /// Notes that `host` asked us to wait.
    pub fn back_off(&self, host: &str, wait: Duration) {
        let entry = self.host(host, Limit::default());
        let mut times = entry.times.lock().unwrap_or_else(PoisonError::into_inner);
        let until = Instant::now() + wait.min(Duration::from_secs(86_400));
        times.blocked_until = Some(times.blocked_until.map_or(until, |t| t.max(until)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn starts_are_spaced_and_a_host_that_asked_is_left_alone() {
        let b = Budgets::new();
        let limit = Limit { concurrency: 1, spacing: Duration::from_secs(1) };
        let start = Instant::now();
        for _ in 0..3 {
            b.acquire("whois.example", limit, Duration::from_secs(10)).await.unwrap();
        }
        assert_eq!(start.elapsed().as_secs(), 2);
        let late = b.acquire("WHOIS.example", limit, Duration::from_millis(10)).await;
        assert!(matches!(late, Err(Error::Budget { .. })));
        b.back_off("whois.example", Duration::from_secs(60));
        let e = b.acquire("whois.example", limit, Duration::from_secs(90)).await.unwrap_err();
        assert!(e.to_string().contains("60 s"), "{e}");
        tokio::time::advance(Duration::from_secs(61)).await;
        b.acquire("whois.example", limit, Duration::from_secs(1)).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_at_a_time_than_allowed() {
        let b = Budgets::new();
        let limit = Limit { concurrency: 2, spacing: Duration::ZERO };
        let first = b.acquire("a", limit, Duration::from_secs(1)).await.unwrap();
        let _second = b.acquire("a", limit, Duration::from_secs(1)).await.unwrap();
        assert!(b.acquire("a", limit, Duration::from_secs(1)).await.is_err());
        drop(first);
        b.acquire("a", limit, Duration::from_secs(1)).await.unwrap();
    }
}
