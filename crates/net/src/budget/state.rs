//! Rate limits of one registry host, pure: what is known about its budget, and what may be asked when. In: the state,
//! the host's limit, now; out: the new state and a start time, or when to come back. No clock, no I/O.
//!
//! The state travels as JSON through whatever keeps it for all replicas ([`Ledger`](super::Ledger)).

use super::Limit;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Life of a lease: one that is not returned by then belongs to a process that died. Longer than any exchange.
pub const LEASE: Duration = Duration::from_secs(30);
/// Longest block of a host, whatever it asked for.
pub const LONGEST_BLOCK: Duration = Duration::from_secs(86_400);
/// Longest back-off when the host named no time.
const LONGEST_BACK_OFF: i64 = 3_600 * SECOND;
/// Blocks in a row whose length is the host's `Retry-After` alone.
const BELIEVED: u32 = 2;
/// Latest time to come back: limits may have changed by then.
pub const LONGEST_QUEUE: Duration = Duration::from_secs(7 * 24 * 3_600);
const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3_600 * SECOND;
/// The daily quota is counted in hours; an hour counts until all of it is more than a day ago.
const HOURS: i64 = 24;

/// Why a host is not asked now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Our own limit of rate or concurrency for it is reached.
    OwnLimit,
    /// Our own limit of a day is reached.
    DailyQuota,
    /// It asked us to wait.
    Asked,
    /// What all replicas know of it can't be read now.
    Unknown,
}

impl Reason {
    /// Stable word for metrics.
    pub fn label(self) -> &'static str {
        match self {
            Reason::OwnLimit => "own_limit",
            Reason::DailyQuota => "daily_quota",
            Reason::Asked => "asked",
            Reason::Unknown => "unknown",
        }
    }

    /// In words, after "is not asked for another … s:".
    pub fn words(self) -> &'static str {
        match self {
            Reason::OwnLimit => "our own limit for this host is reached",
            Reason::DailyQuota => "our own limit of a day for this host is reached",
            Reason::Asked => "it asked us to wait",
            Reason::Unknown => "what it was asked by other replicas can't be read",
        }
    }
}

/// The decision on a request to ask a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Ask at this instant, which is now or within the patience; return the lease afterwards.
    Granted(Timestamp),
    /// All places are taken; try again then, or as soon as one is returned.
    Look(Timestamp),
    /// Not within the patience: come back at this instant, which is a place in the host's queue.
    NotBefore(Timestamp, Reason),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Lease {
    id: u64,
    from: i64,
    until: i64,
}

/// What is known about one host's budget. Instants are microseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostState {
    /// The next question starts no earlier.
    #[serde(default)]
    next: i64,
    /// Leases of the exchanges under way.
    #[serde(default)]
    leases: Vec<Lease>,
    /// Questions started in each hour (since 1970) of the last day.
    #[serde(default)]
    hours: Vec<(i64, u32)>,
    /// The host asked us to wait until then.
    #[serde(default)]
    blocked: i64,
    /// How often in a row it did so.
    #[serde(default)]
    strikes: u32,
    /// The last place given in the queue of callers that come back later.
    #[serde(default)]
    tail: i64,
    /// When it was given.
    #[serde(default)]
    queued: i64,
    /// How long an exchange takes, from the faster ones of the last few.
    #[serde(default)]
    held: i64,
}

fn micros(d: Duration) -> i64 {
    i64::try_from(d.as_micros()).unwrap_or(i64::MAX / 4)
}

fn instant(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX)
}

impl HostState {
    /// Decides on one request to ask. `id` names the lease, should one be granted.
    pub fn take(&mut self, limit: Limit, now: Timestamp, patience: Duration, id: u64) -> Decision {
        let now = now.as_microsecond();
        let deadline = now.saturating_add(micros(patience));
        self.tidy(limit, now);
        let (free, reason) = self.free_at(limit, now);
        if free > deadline {
            return self.queue(limit, now, free, reason);
        }
        if self.leases.len() >= limit.concurrency.max(1) {
            let runs_out = self.leases.iter().map(|l| l.until).min().unwrap_or(now);
            // On average a place becomes free after its share of an exchange.
            let soon = now + self.share(limit).clamp(5_000, SECOND / 4);
            let look = runs_out.min(soon).max(now + 1_000);
            if look > deadline {
                return self.queue(limit, now, look, Reason::OwnLimit);
            }
            return Decision::Look(instant(look));
        }
        let start = now.max(self.next).max(free);
        if start > deadline {
            return self.queue(limit, now, start, Reason::OwnLimit);
        }
        self.leases.push(Lease { id, from: start, until: start.saturating_add(micros(LEASE)) });
        self.count(limit, start);
        Decision::Granted(instant(start))
    }

    /// Counts one more question under a lease that was granted already.
    pub fn count_one_more(&mut self, limit: Limit, now: Timestamp) {
        let now = now.as_microsecond();
        self.tidy(limit, now);
        self.count(limit, now.max(self.next));
    }

    fn count(&mut self, limit: Limit, start: i64) {
        self.next = start.saturating_add(micros(limit.spacing));
        if limit.per_day.is_some() {
            let hour = start.div_euclid(HOUR);
            match self.hours.iter_mut().find(|(h, _)| *h == hour) {
                Some((_, n)) => *n = n.saturating_add(1),
                None => self.hours.push((hour, 1)),
            }
        }
    }

    /// Returns a lease. `well`: the host answered without asking us to wait.
    pub fn release(&mut self, id: u64, now: Timestamp, well: bool) {
        let now = now.as_microsecond();
        if let Some(i) = self.leases.iter().position(|l| l.id == id) {
            let took = (now - self.leases.swap_remove(i).from).min(micros(LEASE));
            // Prefer an estimate that is too short: coming back early costs another try, coming back late an idle host.
            self.held = match self.held {
                // Returned before it began: nothing was asked, nothing is learnt.
                held if took < 0 => held,
                0 => took / 2,
                held if took < held => (held + took) / 2,
                held => held + (took - held) / 32,
            };
        }
        if well && now >= self.blocked {
            self.strikes = 0;
        }
    }

    /// The host asked us to wait: as long as it said, or twice as long as the last time in a row, beginning with
    /// `base`. `jitter` of 0 to 1 spreads the latter by a quarter. From the third time in a row on, the number the host
    /// states is only a lower bound. Returns how long.
    pub fn penalise(
        &mut self,
        now: Timestamp,
        asked: Option<Duration>,
        base: Duration,
        jitter: f64,
    ) -> Duration {
        let now = now.as_microsecond();
        // Several questions under way when the host throttles count as one strike.
        if now >= self.blocked || self.strikes == 0 {
            self.strikes = self.strikes.saturating_add(1);
        }
        let said = asked.map(|d| micros(d.min(LONGEST_BLOCK)));
        let believed = if said.is_some() { BELIEVED } else { 0 };
        let own = match self.strikes.saturating_sub(believed) {
            0 => 0,
            nth => {
                let doubled = micros(base).saturating_mul(1 << (nth - 1).min(20));
                let wait = doubled.min(LONGEST_BACK_OFF.max(micros(base)));
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "a quarter of an hour in microseconds fits"
                )]
                #[expect(clippy::cast_precision_loss, reason = "a microsecond more or less")]
                let more = (wait as f64 / 4.0 * jitter.clamp(0.0, 1.0)) as i64;
                wait + more
            }
        };
        let wait = own.max(said.unwrap_or(0));
        self.blocked = self.blocked.max(now.saturating_add(wait)).min(now + micros(LONGEST_BLOCK));
        Duration::from_micros(u64::try_from(self.blocked - now).unwrap_or(0))
    }

    /// Until when the host asked us to wait, when that lies ahead.
    pub fn blocked_until(&self, now: Timestamp) -> Option<Timestamp> {
        (self.blocked > now.as_microsecond()).then(|| instant(self.blocked))
    }

    /// True while the lease with this id is counted.
    pub fn holds(&self, id: u64) -> bool {
        self.leases.iter().any(|l| l.id == id)
    }

    /// Drops what has expired, and bounds what a replica with a wrong clock may have written.
    fn tidy(&mut self, limit: Limit, now: i64) {
        self.leases.retain(|l| l.until > now);
        for l in &mut self.leases {
            l.until = l.until.min(now + 2 * micros(LEASE));
        }
        let ahead =
            micros(limit.spacing).saturating_mul(i64::try_from(limit.concurrency.max(1)).unwrap_or(1));
        self.next = self.next.min(now.saturating_add(ahead).saturating_add(micros(LEASE)));
        self.blocked = self.blocked.min(now + micros(LONGEST_BLOCK));
        let hour = now.div_euclid(HOUR);
        self.hours.retain(|(h, _)| *h >= hour - HOURS && *h <= hour + 1);
        // A place granted in the future was granted by a wrong clock; the queue starts over.
        self.tail =
            if self.queued > now + micros(LEASE) { now } else { self.tail.min(now + micros(LONGEST_QUEUE)) };
    }

    /// When the host may be asked again, spacing and concurrency apart.
    fn free_at(&self, limit: Limit, now: i64) -> (i64, Reason) {
        let mut quota = now;
        if let Some(most) = limit.per_day {
            let mut over =
                self.hours.iter().map(|(_, n)| i64::from(*n)).sum::<i64>() - i64::from(most.max(1));
            let mut hours = self.hours.clone();
            hours.sort_unstable();
            // Hours leave the window oldest first; the one that makes room says when.
            for (hour, n) in hours {
                if over < 0 {
                    break;
                }
                over -= i64::from(n);
                quota = (hour + HOURS + 1) * HOUR;
            }
        }
        if quota > self.blocked { (quota, Reason::DailyQuota) } else { (self.blocked, Reason::Asked) }
    }

    /// Least time that one question occupies the host's queue: its spacing, or half of an exchange.
    fn share(&self, limit: Limit) -> i64 {
        let lanes = i64::try_from(limit.concurrency.max(1)).unwrap_or(1);
        micros(limit.spacing).max(self.held / lanes / 2)
    }

    /// A place in the queue, so that callers that can't be served now come back one by one.
    fn queue(&mut self, limit: Limit, now: i64, free: i64, reason: Reason) -> Decision {
        let mut step = self.share(limit).max(1_000);
        if reason == Reason::DailyQuota
            && let Some(most) = limit.per_day
        {
            step = step.max(HOURS * HOUR / i64::from(most.max(1)));
        }
        let at = self.tail.saturating_add(step).max(free).max(now + 1_000).min(now + micros(LONGEST_QUEUE));
        (self.tail, self.queued) = (at, now);
        Decision::NotBefore(instant(at), reason)
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
