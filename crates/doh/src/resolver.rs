//! Answers from the cache, else from the backend, one lookup at a time for the same name; aliases followed step by
//! step. In: name and type. Out: an [`Answer`], or that too much is under way already.

use crate::backend::{Backend, extended};
use crate::cache::{Cache, Key};
use crate::entry::{Entry, Explained, Security, rcode};
use crate::limit::Limiter;
use crate::message::Line;
use dns::wire::{Data, Name, Rr, Rtype};
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use jiff::Timestamp;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Aliases followed for one question.
const MAX_ALIASES: usize = 16;

/// In the cache the type of what holds for all of them: that there is no such name (RFC 2308 section 5). Nobody can ask
/// for it: it is reserved (RFC 6895 section 3.1) and refused.
const EVERY: Rtype = Rtype(0);

const LATE: &str = "the lookup took too long";

/// What time it is.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// How much the resolver may use.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Octets of the cache.
    pub cache: usize,
    /// Lookups under way at once, all clients together.
    pub lookups: usize,
    /// Longest time of one lookup.
    pub patience: Duration,
    /// Questions a second of one client; 0 for no limit.
    pub rate: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { cache: 32 << 20, lookups: 256, patience: Duration::from_secs(10), rate: 100 }
    }
}

type Flight = Shared<BoxFuture<'static, Arc<Entry>>>;

/// The resolver. Clones share everything.
#[derive(Clone)]
pub struct Resolver(Arc<Inner>);

struct Inner {
    backend: Arc<dyn Backend>,
    cache: Cache,
    limiter: Limiter,
    clock: Clock,
    patience: Duration,
    slots: Arc<Semaphore>,
    flights: Mutex<HashMap<Key, Flight>>,
}

/// Why a question is not looked into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// As many lookups as allowed are under way.
    Busy,
    /// The client wants no recursion and nothing is known.
    Unknown,
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub rcode: u16,
    /// One entry for each alias, then what it led to; with ages.
    steps: Vec<(Arc<Entry>, u32)>,
    /// Every step is proved.
    pub secure: bool,
    pub explained: Option<Explained>,
    /// Nothing had to be looked up.
    pub cached: bool,
}

fn for_validators(rr: &Rr) -> bool {
    [Rtype::RRSIG, Rtype::NSEC, Rtype::NSEC3].contains(&rr.rtype)
}

impl Answer {
    fn lines<'a>(
        &'a self,
        pick: impl Fn(&Entry) -> &[Rr] + 'a,
        dnssec_ok: bool,
        rtype: Rtype,
    ) -> impl Iterator<Item = Line<'a>> {
        self.steps.iter().flat_map(move |(entry, age)| {
            // The closure borrows from the entry that `self` holds.
            let entry: &'a Entry = entry;
            let wanted = move |rr: &&Rr| dnssec_ok || rr.rtype == rtype || !for_validators(rr);
            let records: &'a [Rr] = pick(entry);
            records.iter().filter(wanted).map(move |rr| (rr, rr.ttl.saturating_sub(*age)))
        })
    }

    /// The answer section.
    pub(crate) fn answers(&self, dnssec_ok: bool, rtype: Rtype) -> Vec<Line<'_>> {
        if self.rcode == rcode::SERVFAIL {
            return Vec::new();
        }
        self.lines(|entry| &entry.answers, dnssec_ok, rtype).collect()
    }

    /// The authority section.
    pub(crate) fn authority(&self, dnssec_ok: bool) -> Vec<Line<'_>> {
        if self.rcode == rcode::SERVFAIL {
            return Vec::new();
        }
        self.lines(|entry| &entry.authority, dnssec_ok, Rtype::SOA).collect()
    }

    /// Seconds an HTTP cache may keep it: the smallest TTL left (RFC 8484 section 5.1); none for failures.
    pub(crate) fn lifetime(&self) -> u32 {
        if self.rcode == rcode::SERVFAIL {
            return 0;
        }
        self.steps.iter().map(|(entry, age)| entry.ttl.saturating_sub(*age)).min().unwrap_or(0)
    }

    fn failed(mut self, why: Explained) -> Self {
        self.rcode = rcode::SERVFAIL;
        self.secure = false;
        self.explained = Some(why);
        self
    }
}

impl Resolver {
    /// A resolver over a backend.
    pub fn new(backend: Arc<dyn Backend>, bounds: &Bounds, clock: Clock) -> Self {
        Resolver(Arc::new(Inner {
            backend,
            cache: Cache::new(bounds.cache),
            limiter: Limiter::new(bounds.rate),
            clock,
            patience: bounds.patience,
            slots: Arc::new(Semaphore::new(bounds.lookups)),
            flights: Mutex::default(),
        }))
    }

    /// Counts a question of this client, or says how long it has to wait.
    pub(crate) fn admit(&self, client: IpAddr) -> Result<(), Duration> {
        self.0.limiter.take(client, (self.0.clock)())
    }

    /// Entries and octets in the cache.
    pub fn cache_size(&self) -> (usize, usize) {
        self.0.cache.size()
    }

    /// Answers a question of class IN.
    pub(crate) async fn answer(
        &self,
        name: &Name,
        rtype: Rtype,
        unchecked: bool,
        recursion: bool,
    ) -> Result<Answer, Unanswered> {
        let mut answer =
            Answer { rcode: rcode::NOERROR, steps: Vec::new(), secure: true, explained: None, cached: true };
        // A chain of aliases has no more time than one name has; lookups that are late still fill the cache.
        let end = tokio::time::Instant::now() + self.0.patience;
        let mut current = name.clone();
        let mut seen = Vec::new();
        loop {
            let key = Key {
                name: current.clone(),
                rtype,
                unchecked: unchecked && self.0.backend.minds_unchecked(),
            };
            let now = (self.0.clock)();
            let known = self.0.cache.get(&key, now).or_else(|| self.absent(&key, now));
            let entry = match known {
                Some(entry) => entry,
                None if !recursion => return Err(Unanswered::Unknown),
                None => {
                    answer.cached = false;
                    match tokio::time::timeout_at(end, self.fly(key, now)?).await {
                        Ok(entry) => entry,
                        Err(_) => Arc::new(Entry::failure(now, extended::NO_REACHABLE_AUTHORITY, LATE)),
                    }
                }
            };
            let age = entry.age(now);
            answer.rcode = entry.rcode;
            answer.secure &= entry.security == Security::Secure;
            let next = entry.next.clone();
            let bogus = match &entry.security {
                Security::Bogus(why) if !unchecked => Some((extended::BOGUS, why.clone())),
                _ => None,
            };
            let failure = entry.explained.clone().filter(|_| entry.is_failure());
            answer.steps.push((entry, age));
            if let Some(why) = bogus.or(failure) {
                return Ok(answer.failed(why));
            }
            let Some(target) = next else { return Ok(answer) };
            seen.push(std::mem::replace(&mut current, target));
            if seen.contains(&current) || seen.len() > MAX_ALIASES {
                let why = format!("the aliases of {name} lead in a circle or are too many");
                return Ok(answer.failed((extended::OTHER, why)));
            }
        }
    }

    /// What is known to leave no such name: itself by a question for another type, or, where that is proved, a name
    /// above it (RFC 8020; unproved denials of names above are often those of servers that know no empty names).
    fn absent(&self, key: &Key, now: Timestamp) -> Option<Arc<Entry>> {
        let whole = |name: Name| self.0.cache.get(&Key { name, rtype: EVERY, unchecked: key.unchecked }, now);
        let above = || (1..key.name.labels().len()).rev().map(|count| key.name.trim_to(count));
        whole(key.name.clone()).or_else(|| {
            above().find_map(|name| whole(name).filter(|entry| entry.security == Security::Secure))
        })
    }

    /// Joins the lookup that is under way, or starts one. It goes on when the client goes away.
    fn fly(&self, key: Key, now: Timestamp) -> Result<Flight, Unanswered> {
        let mut flights = self.0.flights.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(flight) = flights.get(&key) {
            return Ok(flight.clone());
        }
        let slot = self.0.slots.clone().try_acquire_owned().map_err(|_| Unanswered::Busy)?;
        let landing = Landing { inner: self.0.clone(), key: key.clone() };
        let inner = self.0.clone();
        let task = tokio::spawn(async move {
            let Landing { key, .. } = &landing;
            let look_up = inner.backend.look_up(&key.name, key.rtype, key.unchecked, now);
            let entry = match tokio::time::timeout(inner.patience, look_up).await {
                Ok(entry) => entry,
                Err(_) => Entry::failure(now, extended::NO_REACHABLE_AUTHORITY, LATE),
            };
            let entry = Arc::new(entry);
            if entry.is_absence() {
                inner.cache.put(Key { rtype: EVERY, ..key.clone() }, entry.clone());
            }
            inner.cache.put(key.clone(), entry.clone());
            drop(slot);
            entry
        });
        let flight = task
            .map(move |ended| {
                ended.unwrap_or_else(|_| {
                    Arc::new(Entry::failure(now, extended::OTHER, "the lookup broke off"))
                })
            })
            .boxed()
            .shared();
        flights.insert(key, flight.clone());
        Ok(flight)
    }
}

/// Takes a lookup off the list when it ends, however it ends.
struct Landing {
    inner: Arc<Inner>,
    key: Key,
}

impl Drop for Landing {
    fn drop(&mut self) {
        self.inner.flights.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

/// What is answered without asking anybody (RFC 6761, RFC 7686).
pub(crate) fn special(name: &Name, rtype: Rtype) -> Option<(u16, Option<Rr>)> {
    let last = name.labels().last()?;
    match last.as_slice() {
        b"localhost" => {
            let (data, raw) = match rtype {
                Rtype::A => (Data::A([127, 0, 0, 1].into()), vec![127, 0, 0, 1]),
                Rtype::AAAA => {
                    let address = std::net::Ipv6Addr::LOCALHOST;
                    (Data::Aaaa(address), address.octets().to_vec())
                }
                _ => return Some((rcode::NOERROR, None)),
            };
            Some((rcode::NOERROR, Some(Rr { name: name.clone(), rtype, class: 1, ttl: 3600, raw, data })))
        }
        b"invalid" | b"onion" => Some((rcode::NXDOMAIN, None)),
        _ => None,
    }
}
