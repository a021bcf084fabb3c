//! Rate limit per client: a token bucket for each IPv4 address or IPv6 /56, in bounded memory.

use crate::client::Client;
use jiff::Timestamp;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Buckets kept at a time, about 5 MiB.
const MAX_CLIENTS: usize = 65_536;

struct Bucket {
    tokens: f64,
    at: Timestamp,
}

/// The limiter. A rate of 0 disables it.
pub(crate) struct Limiter {
    per_second: f64,
    burst: f64,
    clients: Mutex<HashMap<IpAddr, Bucket>>,
}

impl Limiter {
    /// Allows each client `per_second` queries per second, with bursts of three times as many.
    pub(crate) fn new(per_second: u32) -> Self {
        let rate = f64::from(per_second);
        Limiter { per_second: rate, burst: rate * 3.0, clients: Mutex::default() }
    }

    /// Returns whether the limiter is disabled.
    pub(crate) fn is_off(&self) -> bool {
        self.per_second <= 0.0
    }

    /// Takes a token.
    ///
    /// # Errors
    /// The time until the client has one.
    pub(crate) fn take(&self, address: IpAddr, now: Timestamp) -> Result<(), Duration> {
        if self.is_off() {
            return Ok(());
        }
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let refilled = |b: &Bucket| {
            let seconds = now.duration_since(b.at).as_secs_f64().max(0.0);
            (b.tokens + seconds * self.per_second).min(self.burst)
        };
        if clients.len() >= MAX_CLIENTS {
            clients.retain(|_, bucket| refilled(bucket) < self.burst);
            // Scanning the table for every query would cost more than the queries: start over. The limit of lookups in
            // flight still applies.
            if clients.len() >= MAX_CLIENTS / 2 {
                clients.clear();
            }
        }
        let bucket =
            clients.entry(Client(address).client_prefix()).or_insert(Bucket { tokens: self.burst, at: now });
        bucket.tokens = refilled(bucket);
        bucket.at = bucket.at.max(now);
        if bucket.tokens >= 1.0 {
            bucket.tokens -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - bucket.tokens) / self.per_second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(1_000_000 + ms).unwrap()
    }

    fn taken(limiter: &Limiter, address: &str, ms: i64) -> usize {
        let address = address.parse().unwrap();
        (0..100).take_while(|_| limiter.take(address, at(ms)).is_ok()).count()
    }

    #[test]
    fn a_burst_then_a_steady_rate() {
        let limiter = Limiter::new(10);
        assert_eq!(taken(&limiter, "192.0.2.1", 0), 30);
        assert_eq!(taken(&limiter, "192.0.2.1", 0), 0);
        let wait = limiter.take("192.0.2.1".parse().unwrap(), at(0)).unwrap_err();
        assert_eq!(wait, Duration::from_millis(100));
        assert_eq!(taken(&limiter, "192.0.2.1", 500), 5);
        assert_eq!(taken(&limiter, "192.0.2.1", -500), 0, "a clock set back adds no tokens");
        assert_eq!(taken(&limiter, "192.0.2.2", 500), 30, "other clients are not affected");
    }

    #[test]
    fn an_ipv6_site_is_one_client() {
        let limiter = Limiter::new(10);
        assert_eq!(taken(&limiter, "2001:db8:0:100::1", 0), 30);
        assert_eq!(taken(&limiter, "2001:db8:0:1ff:ffff::9", 0), 0);
        assert_eq!(taken(&limiter, "2001:db8:0:200::1", 0), 30);
        assert_eq!(taken(&limiter, "192.0.2.1", 0), 30);
        assert_eq!(taken(&limiter, "::ffff:192.0.2.1", 0), 0, "the same address");
    }

    #[test]
    fn no_rate_is_no_limit_and_memory_is_bounded() {
        assert_eq!(taken(&Limiter::new(0), "192.0.2.1", 0), 100);
        let limiter = Limiter::new(1);
        for n in 0..(MAX_CLIENTS as u32 + 10) {
            assert!(limiter.take(IpAddr::V4(n.into()), at(0)).is_ok());
        }
        assert!(limiter.clients.lock().unwrap().len() <= MAX_CLIENTS);
    }
}
