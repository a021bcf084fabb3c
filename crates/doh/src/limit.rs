//! How often one client may ask: a token bucket per IPv4 address or IPv6 /56, in bounded memory.
//! In: an address and the time. Out: yes, or how long to wait.

use crate::http::Client;
use jiff::Timestamp;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Clients remembered at once.
const CLIENTS: usize = 65_536;

struct Bucket {
    tokens: f64,
    at: Timestamp,
}

/// The limiter; a rate of 0 lets everybody pass.
pub(crate) struct Limiter {
    per_second: f64,
    burst: f64,
    clients: Mutex<HashMap<IpAddr, Bucket>>,
}

impl Limiter {
    /// `per_second` questions steadily, three times as many at once.
    pub(crate) fn new(per_second: u32) -> Self {
        let rate = f64::from(per_second);
        Limiter { per_second: rate, burst: rate * 3.0, clients: Mutex::default() }
    }

    /// Everybody passes.
    pub(crate) fn is_off(&self) -> bool {
        self.per_second <= 0.0
    }

    /// Takes one token, or says how long to wait for it.
    pub(crate) fn take(&self, address: IpAddr, now: Timestamp) -> Result<(), Duration> {
        if self.is_off() {
            return Ok(());
        }
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let refilled = |b: &Bucket| {
            let seconds = now.duration_since(b.at).as_secs_f64().max(0.0);
            (b.tokens + seconds * self.per_second).min(self.burst)
        };
        if clients.len() >= CLIENTS {
            clients.retain(|_, bucket| refilled(bucket) < self.burst);
            // A crowd that asks all at once is what the limit of all questions together is for; and nobody must be able
            // to have the whole list gone through for every question.
            if clients.len() >= CLIENTS / 2 {
                clients.clear();
            }
        }
        let bucket =
            clients.entry(Client(address).household()).or_insert(Bucket { tokens: self.burst, at: now });
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
        assert_eq!(taken(&limiter, "192.0.2.1", -500), 0, "a clock put back gives nothing");
        assert_eq!(taken(&limiter, "192.0.2.2", 500), 30, "others are not concerned");
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
        for n in 0..(CLIENTS as u32 + 10) {
            assert!(limiter.take(IpAddr::V4(n.into()), at(0)).is_ok());
        }
        assert!(limiter.clients.lock().unwrap().len() <= CLIENTS);
    }
}
