//! Limits of look-ups: how many a caller and its organisation may start a minute, and how many run at once for one caller
//! and for all together.
//! In: a caller and a kind of work. Out: a permit, released when dropped, or an error that says when to try again. One
//! limiter for every page, function, stream and address; scheduled scans are bounded by their queue instead.

use model::ids::{Caller, OrgId};
use service::{ApiError, ApiResult, Usage};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

const WINDOW: Duration = Duration::from_secs(60);
/// How long a caller waits for a permit before it is refused.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// `Retry-After` of a caller that got no permit; when one is free can't be known.
const RETRY_SOON: Duration = Duration::from_secs(5);
/// Most callers that are tracked.
const MAX_CALLERS: usize = 10_000;

/// A kind of work, each with its price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// A trace from the root.
    Trace,
    /// What the authoritative servers say, before resolvers are asked.
    Authority,
    /// A domain scan: registration and DNS.
    Scan,
    /// A whole comparison: some forty resolvers.
    Compare,
    /// A host name followed to its end.
    Analysis,
    /// A service: its records at every authoritative server.
    Configure,
    /// The health checks: each server is asked everything.
    Check,
    /// A comparison repeated until a record is everywhere.
    Watch,
}

impl Work {
    /// Points of the caller's rate limit.
    fn price(self) -> u32 {
        match self {
            Work::Trace | Work::Authority => 1,
            Work::Scan | Work::Configure => 2,
            Work::Compare | Work::Analysis | Work::Check | Work::Watch => 3,
        }
    }
}

/// The bounds.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Points of one caller a minute; 0: as many as it likes.
    pub a_minute: u32,
    /// Points of an organisation's callers together a minute; 0: as many as they like.
    pub org_a_minute: u32,
    /// Look-ups of one caller at the same time; a watch is one as long as it lasts.
    pub at_once: usize,
    /// Look-ups of all callers at the same time.
    pub in_all: usize,
    /// Points of all callers together a minute; 0: as many as they like.
    pub all_a_minute: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { a_minute: 60, org_a_minute: 300, at_once: 3, in_all: 24, all_a_minute: 0 }
    }
}

impl Bounds {
    /// Of visitors without an account: they have permits of their own, a third as many as accounts, so that however many
    /// there are, accounts wait for none of them.
    pub fn of_visitors(a_minute: u32, all_a_minute: u32) -> Self {
        Bounds { a_minute, org_a_minute: 0, at_once: 2, in_all: 8, all_a_minute }
    }

    /// As many may wait for a permit as three rounds of those who hold one.
    fn max_waiters(permits: usize) -> usize {
        permits * 3
    }
}

/// Counts what callers do. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Limits(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    bounds: Bounds,
    places: Arc<Semaphore>,
    callers: Mutex<Callers>,
}

#[derive(Debug, Default)]
struct Callers {
    known: HashMap<String, Use>,
    /// What the callers of each organisation spent.
    orgs: HashMap<OrgId, Spent>,
    /// What all of them spent.
    spent: Spent,
    /// Waiting for a permit of all callers.
    waiting: usize,
}

#[derive(Debug)]
struct Use {
    places: Arc<Semaphore>,
    spent: Spent,
    /// Waiting for a permit of this caller.
    waiting: usize,
    watches: usize,
    /// When it may try again.
    retry_at: Option<Instant>,
}

/// Charges within the sliding window of a minute, oldest first.
#[derive(Debug, Default)]
struct Spent(VecDeque<(Instant, u32)>);

impl Spent {
    /// How long until a price fits; zero when it fits now. A limit of 0 is none.
    fn wait(&mut self, price: u32, limit: u32, now: Instant) -> Duration {
        while self.0.front().is_some_and(|(t, _)| now.duration_since(*t) >= WINDOW) {
            self.0.pop_front();
        }
        let mut left = self.0.iter().map(|(_, p)| p).sum::<u32>() + price;
        if limit == 0 || left <= limit {
            return Duration::ZERO;
        }
        // The oldest charges expire first; the price fits when enough of them have.
        let free_at = self.0.iter().find_map(|(t, p)| {
            left = left.saturating_sub(*p);
            (left <= limit).then_some(*t + WINDOW)
        });
        free_at.map_or(WINDOW, |t| t.saturating_duration_since(now))
    }

    /// The charges of the last minute.
    fn within(&self, now: Instant) -> u32 {
        self.0.iter().filter(|(t, _)| now.duration_since(*t) < WINDOW).map(|(_, p)| p).sum()
    }

    /// Notes a charge; without a limit there is nothing to count.
    fn charge(&mut self, charge: (Instant, u32), limit: u32) {
        if limit > 0 {
            self.0.push_back(charge);
        }
    }

    /// Takes a charge back: the work was not done.
    fn refund(&mut self, charge: (Instant, u32)) {
        if let Some(at) = self.0.iter().position(|s| *s == charge) {
            self.0.remove(at);
        }
    }
}

/// Permission for one look-up; released when dropped.
#[derive(Debug)]
pub struct Permit {
    limits: Limits,
    key: String,
    work: Work,
    _own: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.work == Work::Watch
            && let Some(u) = self.limits.callers().known.get_mut(&self.key)
        {
            u.watches = u.watches.saturating_sub(1);
        }
    }
}

/// A request in the queue; leaves it when the request is dropped.
struct Waiter<'a> {
    limits: &'a Limits,
    key: Option<&'a str>,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut callers = self.limits.callers();
        let count = match self.key {
            Some(key) => callers.known.get_mut(key).map(|u| &mut u.waiting),
            None => Some(&mut callers.waiting),
        };
        if let Some(count) = count {
            *count = count.saturating_sub(1);
        }
    }
}

impl Limits {
    /// Limits with these bounds, unused yet.
    pub fn new(bounds: Bounds) -> Self {
        let places = Arc::new(Semaphore::new(bounds.in_all));
        Limits(Arc::new(Shared { bounds, places, callers: Mutex::default() }))
    }

    /// Acquires a permit for one piece of work, waiting a few seconds where others are ahead.
    ///
    /// # Errors
    /// [`TooManyRequests`](service::ErrorKind::TooManyRequests) when the caller has used its share, [`Unavailable`](service::ErrorKind::Unavailable) when all permits are held by
    /// others; both say when to try again, and [`Limits::retry_after`] gives it in seconds.
    pub async fn enter(&self, caller: &Caller, work: Work) -> ApiResult<Permit> {
        let key = key(caller);
        let price = self.price(work);
        let (spent_at, own) = self.pay(caller.org, &key, price)?;
        match self.acquire(&key, &own).await {
            Ok((own, of_all)) => {
                if let (Work::Watch, Some(u)) = (work, self.callers().known.get_mut(&key)) {
                    u.watches += 1;
                }
                Ok(Permit { limits: self.clone(), key, work, _own: own, _of_all: of_all })
            }
            Err(failure) => {
                let mut callers = self.callers();
                callers.spent.refund((spent_at, price));
                if let Some(spent) = callers.orgs.get_mut(&caller.org) {
                    spent.refund((spent_at, price));
                }
                if let Some(u) = callers.known.get_mut(&key) {
                    u.spent.refund((spent_at, price));
                    u.retry_at = Some(Instant::now() + RETRY_SOON);
                }
                Err(failure)
            }
        }
    }

    /// Seconds after which a refused caller may try again.
    pub fn retry_after(&self, caller: &Caller) -> Option<u64> {
        let left = self.callers().known.get(&key(caller))?.retry_at?.checked_duration_since(Instant::now())?;
        (!left.is_zero()).then(|| seconds(left))
    }

    /// What a caller spent within the last minute; `None` without a limit.
    pub fn usage(&self, caller: &Caller) -> Option<Usage> {
        let callers = self.callers();
        usage(callers.known.get(&key(caller)).map(|u| &u.spent), self.0.bounds.a_minute)
    }

    /// What the callers of an organisation spent together within the last minute; `None` without a limit.
    pub fn org_usage(&self, org: OrgId) -> Option<Usage> {
        usage(self.callers().orgs.get(&org), self.0.bounds.org_a_minute)
    }

    fn callers(&self) -> MutexGuard<'_, Callers> {
        self.0.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No price exceeds a rate limit: under a small limit the most expensive work is still possible once a minute.
    fn price(&self, work: Work) -> u32 {
        let Bounds { a_minute, org_a_minute, all_a_minute, .. } = self.0.bounds;
        [a_minute, org_a_minute, all_a_minute]
            .into_iter()
            .filter(|most| *most > 0)
            .fold(work.price(), u32::min)
    }

    /// Charges the price to the rate limits of the caller, its organisation and all callers (sliding windows of a minute).
    fn pay(&self, org: OrgId, key: &str, price: u32) -> ApiResult<(Instant, Arc<Semaphore>)> {
        let Bounds { a_minute, org_a_minute, at_once, all_a_minute, .. } = self.0.bounds;
        let now = Instant::now();
        let mut callers = self.callers();
        let Callers { known, orgs, spent, .. } = &mut *callers;
        if known.len() >= MAX_CALLERS {
            known.retain(|_, u| {
                let idle = u.waiting == 0 && u.places.available_permits() == at_once;
                !idle || u.spent.within(now) > 0
            });
            orgs.retain(|_, spent| spent.within(now) > 0);
        }
        let u = known.entry(key.to_string()).or_insert_with(|| Use {
            places: Arc::new(Semaphore::new(at_once)),
            spent: Spent::default(),
            waiting: 0,
            watches: 0,
            retry_at: None,
        });
        let of_org = orgs.entry(org).or_default();
        let windows = [
            (&mut u.spent, a_minute, "Too many look-ups within a minute; each queries many servers.", "."),
            (of_org, org_a_minute, "The look-ups of your organisation are used up for the moment.", "."),
            (
                spent,
                all_a_minute,
                "The look-ups for all visitors without an account are used up for the moment.",
                ", or sign in.",
            ),
        ];
        let mut charged = Vec::with_capacity(windows.len());
        for (spent, limit, sentence, or_else) in windows {
            let wait = spent.wait(price, limit, now);
            if !wait.is_zero() {
                u.retry_at = Some(now + wait);
                return Err(ApiError::too_many_requests(format!(
                    "{sentence} Try again in {} s{or_else}",
                    seconds(wait)
                )));
            }
            charged.push((spent, limit));
        }
        for (spent, limit) in charged {
            spent.charge((now, price), limit);
        }
        Ok((now, u.places.clone()))
    }

    /// Acquires a permit of the caller's own, then one of all callers.
    async fn acquire(
        &self,
        key: &str,
        own: &Arc<Semaphore>,
    ) -> ApiResult<(OwnedSemaphorePermit, OwnedSemaphorePermit)> {
        let Bounds { at_once, in_all, .. } = self.0.bounds;
        let own = match own.clone().try_acquire_owned() {
            Ok(place) => place,
            Err(_) => {
                let full = || {
                    ApiError::too_many_requests(format!(
                        "{at_once} of your look-ups are running already. Wait for one to finish, or close its page."
                    ))
                };
                let waiter = {
                    let mut callers = self.callers();
                    let Some(u) = callers.known.get_mut(key) else { return Err(full()) };
                    // Watches run for minutes: waiting for one to end is no use.
                    if u.waiting >= Bounds::max_waiters(at_once) || u.watches >= at_once {
                        return Err(full());
                    }
                    u.waiting += 1;
                    Waiter { limits: self, key: Some(key) }
                };
                let place = timeout(MAX_WAIT, own.clone().acquire_owned()).await;
                drop(waiter);
                place.map_err(|_| full())?.map_err(|_| full())?
            }
        };
        let of_all = match self.0.places.clone().try_acquire_owned() {
            Ok(place) => place,
            Err(_) => {
                let full = || {
                    ApiError::unavailable(format!(
                        "The server is at its limit of {in_all} look-ups at once. Nothing was sent; try again in {} s.",
                        RETRY_SOON.as_secs()
                    ))
                };
                let waiter = {
                    let mut callers = self.callers();
                    if callers.waiting >= Bounds::max_waiters(in_all) {
                        return Err(full());
                    }
                    callers.waiting += 1;
                    Waiter { limits: self, key: None }
                };
                let place = timeout(MAX_WAIT, self.0.places.clone().acquire_owned()).await;
                drop(waiter);
                place.map_err(|_| full())?.map_err(|_| full())?
            }
        };
        Ok((own, of_all))
    }
}

/// Whole seconds, rounded up, at least 1.
fn seconds(left: Duration) -> u64 {
    left.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX).max(1)
}

fn usage(spent: Option<&Spent>, limit: u32) -> Option<Usage> {
    let used = spent.map_or(0, |s| s.within(Instant::now()));
    (limit > 0).then_some(Usage { used: used.into(), limit: limit.into() })
}

fn key(caller: &Caller) -> String {
    format!("{}/{}", caller.org, caller.who)
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
