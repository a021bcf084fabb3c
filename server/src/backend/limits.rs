//! How much of the network one caller may set in motion, and all callers together. In: a caller, and what it wants.
//! Out: leave, given back when dropped, or a sentence that says when to come again. One limiter for every tool, page,
//! function and address that asks strangers on a user's word; what the schedule does is bounded by its queue.

use app::answer::{Answer, Failure};
use model::ids::Caller;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

const WINDOW: Duration = Duration::from_secs(60);
/// How long somebody waits for a place before being sent away.
const PATIENCE: Duration = Duration::from_secs(5);
/// Said to whoever found no place; how soon one is free nobody knows.
const SOON: Duration = Duration::from_secs(5);
/// Callers that are remembered.
const CALLERS: usize = 10_000;

/// What a caller wants, each with its price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// A trace from the root.
    Trace,
    /// What the authoritative servers say, before resolvers are asked.
    Authority,
    /// A domain scan: registration and DNS.
    Scan,
    /// A whole comparison: some forty strangers.
    Compare,
    /// A host name followed to its end.
    Analysis,
    /// The health checks: each server is asked everything.
    Check,
    /// A comparison repeated until a record is everywhere.
    Watch,
}

impl Work {
    /// Points of the caller's minute.
    fn price(self) -> u32 {
        match self {
            Work::Trace | Work::Authority => 1,
            Work::Scan => 2,
            Work::Compare | Work::Analysis | Work::Check | Work::Watch => 3,
        }
    }
}

/// The bounds.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Points of one caller a minute; 0: as many as it likes.
    pub a_minute: u32,
    /// Look-ups of one caller at the same time; a watch is one as long as it lasts.
    pub at_once: usize,
    /// Look-ups of all callers at the same time.
    pub in_all: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { a_minute: 60, at_once: 3, in_all: 24 }
    }
}

impl Bounds {
    /// As many may wait for a place as three rounds of those who have one.
    fn waiting(places: usize) -> usize {
        places * 3
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
    /// Waiting for one of the places of all.
    waiting: usize,
}

#[derive(Debug)]
struct Use {
    places: Arc<Semaphore>,
    spent: VecDeque<(Instant, u32)>,
    /// Waiting for a place of this caller's own.
    waiting: usize,
    watches: usize,
    /// When it was told to come again.
    again: Option<Instant>,
}

/// Leave for one look-up.
#[derive(Debug)]
pub struct Leave {
    limits: Limits,
    key: String,
    work: Work,
    _own: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Drop for Leave {
    fn drop(&mut self) {
        if self.work == Work::Watch
            && let Some(u) = self.limits.callers().known.get_mut(&self.key)
        {
            u.watches = u.watches.saturating_sub(1);
        }
    }
}

/// Somebody who waits; gone when the request is.
struct Waiting<'a> {
    limits: &'a Limits,
    key: Option<&'a str>,
}

impl Drop for Waiting<'_> {
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
    /// With these bounds, and nobody there yet.
    pub fn new(bounds: Bounds) -> Self {
        let places = Arc::new(Semaphore::new(bounds.in_all));
        Limits(Arc::new(Shared { bounds, places, callers: Mutex::default() }))
    }

    /// Leave for one piece of work, after a few seconds' wait where others are before it.
    ///
    /// # Errors
    /// [`Failure::TooMany`] when the caller has had its share, [`Failure::Unavailable`] when all places are taken by
    /// others; both say when to come again, and [`Limits::again`] says it in seconds.
    pub async fn enter(&self, caller: &Caller, work: Work) -> Answer<Leave> {
        let key = key(caller);
        let price = self.price(work);
        let (spent_at, own) = self.pay(&key, price)?;
        match self.places(&key, &own).await {
            Ok((own, of_all)) => {
                if let (Work::Watch, Some(u)) = (work, self.callers().known.get_mut(&key)) {
                    u.watches += 1;
                }
                Ok(Leave { limits: self.clone(), key, work, _own: own, _of_all: of_all })
            }
            Err(failure) => {
                if let Some(u) = self.callers().known.get_mut(&key) {
                    // What was not done is not paid for.
                    if let Some(at) = u.spent.iter().position(|s| *s == (spent_at, price)) {
                        u.spent.remove(at);
                    }
                    u.again = Some(Instant::now() + SOON);
                }
                Err(failure)
            }
        }
    }

    /// Seconds after which a caller that was sent away may come again.
    pub fn again(&self, caller: &Caller) -> Option<u64> {
        let left = self.callers().known.get(&key(caller))?.again?.checked_duration_since(Instant::now())?;
        (!left.is_zero()).then(|| seconds(left))
    }

    fn callers(&self) -> MutexGuard<'_, Callers> {
        self.0.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing costs more than a minute has: where little is allowed, the dearest is one a minute.
    fn price(&self, work: Work) -> u32 {
        match self.0.bounds.a_minute {
            0 => work.price(),
            most => work.price().min(most),
        }
    }

    /// Takes the price from the caller's minute.
    fn pay(&self, key: &str, price: u32) -> Answer<(Instant, Arc<Semaphore>)> {
        let Bounds { a_minute, at_once, .. } = self.0.bounds;
        let now = Instant::now();
        let mut callers = self.callers();
        if callers.known.len() >= CALLERS {
            callers.known.retain(|_, u| {
                let idle = u.waiting == 0 && u.places.available_permits() == at_once;
                !idle || u.spent.back().is_some_and(|(t, _)| now.duration_since(*t) < WINDOW)
            });
        }
        let u = callers.known.entry(key.to_string()).or_insert_with(|| Use {
            places: Arc::new(Semaphore::new(at_once)),
            spent: VecDeque::new(),
            waiting: 0,
            watches: 0,
            again: None,
        });
        while u.spent.front().is_some_and(|(t, _)| now.duration_since(*t) >= WINDOW) {
            u.spent.pop_front();
        }
        // Who may ask without end has nothing to count.
        if a_minute > 0 {
            let mut left = u.spent.iter().map(|(_, p)| p).sum::<u32>() + price;
            if left > a_minute {
                // The oldest go first; the price is free again when enough of them have gone.
                let free_at = u.spent.iter().find_map(|(t, p)| {
                    left = left.saturating_sub(*p);
                    (left <= a_minute).then_some(*t + WINDOW)
                });
                let wait = free_at.map_or(WINDOW, |t| t.saturating_duration_since(now));
                u.again = Some(now + wait);
                return Err(Failure::TooMany(format!(
                    "Those were more look-ups than one caller may start within a minute; each asks many servers. \
                     Try again in {} s.",
                    seconds(wait)
                )));
            }
            u.spent.push_back((now, price));
        }
        Ok((now, u.places.clone()))
    }

    /// A place among the caller's own, then one among those of all.
    async fn places(
        &self,
        key: &str,
        own: &Arc<Semaphore>,
    ) -> Answer<(OwnedSemaphorePermit, OwnedSemaphorePermit)> {
        let Bounds { at_once, in_all, .. } = self.0.bounds;
        let own = match own.clone().try_acquire_owned() {
            Ok(place) => place,
            Err(_) => {
                let full = || {
                    Failure::TooMany(format!(
                        "{at_once} look-ups of yours are running already. Wait for one of them, or close its page."
                    ))
                };
                let waiting = {
                    let mut callers = self.callers();
                    let Some(u) = callers.known.get_mut(key) else { return Err(full()) };
                    // Watches end in minutes, not in seconds.
                    if u.waiting >= Bounds::waiting(at_once) || u.watches >= at_once {
                        return Err(full());
                    }
                    u.waiting += 1;
                    Waiting { limits: self, key: Some(key) }
                };
                let place = timeout(PATIENCE, own.clone().acquire_owned()).await;
                drop(waiting);
                place.map_err(|_| full())?.map_err(|_| full())?
            }
        };
        let of_all = match self.0.places.clone().try_acquire_owned() {
            Ok(place) => place,
            Err(_) => {
                let full = || {
                    Failure::Unavailable(format!(
                        "This server is busy with {in_all} look-ups of others, as many as it makes at once. Nothing was \
                         asked; try again in {} s.",
                        SOON.as_secs()
                    ))
                };
                let waiting = {
                    let mut callers = self.callers();
                    if callers.waiting >= Bounds::waiting(in_all) {
                        return Err(full());
                    }
                    callers.waiting += 1;
                    Waiting { limits: self, key: None }
                };
                let place = timeout(PATIENCE, self.0.places.clone().acquire_owned()).await;
                drop(waiting);
                place.map_err(|_| full())?.map_err(|_| full())?
            }
        };
        Ok((own, of_all))
    }
}

/// Whole seconds after which a time is over.
fn seconds(left: Duration) -> u64 {
    left.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX).max(1)
}

fn key(caller: &Caller) -> String {
    format!("{}/{}", caller.org, caller.who)
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
