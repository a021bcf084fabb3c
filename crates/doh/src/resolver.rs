//! Answers from the cache, else from the backend, one lookup at a time for the same name; aliases followed step by
//! step; what is past its time when nothing newer can be had (RFC 8767). In: name and type. Out: an [`Answer`], or that
//! too much is under way already.

use crate::answer::Message;
use crate::backend::{Backend, extended};
use crate::cache::Cache;
use crate::entry::{Entry, RECHECK, Security};
use crate::limit::Limiter;
use crate::local::LocalZones;
use crate::prepared::{Answers, Form};
use crate::steps::{Answer, Step};
use dns::wire::{Name, Rtype};
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use jiff::Timestamp;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// Aliases followed for one question.
const MAX_ALIASES: usize = 16;

/// In the cache the type of what holds for all of them: that there is no such name (RFC 2308 section 5). Nobody can ask
/// for it: it is reserved (RFC 6895 section 3.1) and refused.
const EVERY: Rtype = Rtype(0);

/// How long a client waits for something newer where there is something old (RFC 8767 section 5).
const CLIENT_PATIENCE: Duration = Duration::from_millis(1800);

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
    /// Seconds past its TTL for which data may be told when nothing newer can be had (RFC 8767); 0 for none.
    pub stale: u32,
    /// Names of private networks are answered here and not asked anywhere (RFC 6303). Not for networks that serve them.
    pub local_zones: bool,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            cache: 32 << 20,
            lookups: 256,
            patience: Duration::from_secs(10),
            rate: 100,
            stale: 86_400,
            local_zones: true,
        }
    }
}

/// What an entry is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    name: Name,
    rtype: Rtype,
    /// The client validates by itself; matters only where another resolver validates for us.
    unchecked: bool,
}

type Flight = Shared<BoxFuture<'static, Arc<Entry>>>;

/// The resolver. Clones share everything.
#[derive(Clone)]
pub struct Resolver(Arc<Inner>);

struct Inner {
    backend: Arc<dyn Backend>,
    known: Cache<Key, Entry>,
    /// Lookups that failed: beside what was known before, not in its place.
    failures: Cache<Key, Entry>,
    ready: Answers,
    limiter: Limiter,
    local: LocalZones,
    clock: Clock,
    patience: Duration,
    stale: u32,
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

impl Resolver {
    /// A resolver over a backend.
    pub fn new(backend: Arc<dyn Backend>, bounds: &Bounds, clock: Clock) -> Self {
        let share = bounds.cache / 16;
        Resolver(Arc::new(Inner {
            backend,
            known: Cache::new(bounds.cache - 5 * share),
            failures: Cache::new(share),
            ready: Answers::new(4 * share),
            limiter: Limiter::new(bounds.rate),
            local: LocalZones::new(bounds.local_zones),
            clock,
            patience: bounds.patience,
            stale: bounds.stale,
            slots: Arc::new(Semaphore::new(bounds.lookups)),
            flights: Mutex::default(),
        }))
    }

    /// Counts a question of this client, or says how long it has to wait.
    pub(crate) fn admit(&self, client: IpAddr) -> Result<(), Duration> {
        if self.0.limiter.is_off() { Ok(()) } else { self.0.limiter.take(client, self.now()) }
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.0.clock)()
    }

    /// What is answered here without asking anybody.
    pub(crate) fn local(&self) -> &LocalZones {
        &self.0.local
    }

    /// The answer to a question of this form, when it is ready.
    pub(crate) fn ready(&self, form: &Form, question: &[u8]) -> Option<Message> {
        self.0.ready.get(form, question, self.now())
    }

    /// Keeps an answer for the next question of this form.
    pub(crate) fn keep_ready(&self, form: &Form, message: &Message, ttls: Vec<usize>, made: Timestamp) {
        self.0.ready.put(form, message, ttls, made);
    }

    /// Entries in the cache, and octets of all that is kept.
    pub fn cache_size(&self) -> (usize, usize) {
        let (known, failures) = (self.0.known.size(), self.0.failures.size());
        (known.0 + failures.0, known.1 + failures.1 + self.0.ready.size().1)
    }

    /// Answers a question of class IN.
    pub(crate) async fn answer(
        &self,
        name: &Name,
        rtype: Rtype,
        unchecked: bool,
        recursion: bool,
    ) -> Result<Answer, Unanswered> {
        let mut answer = Answer::begun(self.now());
        // A chain of aliases has no more time than one name has; lookups that are late still fill the cache.
        let start = Instant::now();
        let mut current = name.clone();
        let mut seen = Vec::new();
        loop {
            let key = Key {
                name: current.clone(),
                rtype,
                unchecked: unchecked && self.0.backend.minds_unchecked(),
            };
            let step = self.step(key, recursion, start).await?;
            let Some(next) = answer.add(step, unchecked) else { return Ok(answer) };
            seen.push(std::mem::replace(&mut current, next));
            if seen.contains(&current) || seen.len() > MAX_ALIASES {
                let why = format!("the aliases of {name} lead in a circle or are too many");
                return Ok(answer.failed((extended::OTHER, why)));
            }
        }
    }

    /// What is known about one name and type, or can be found out in time.
    async fn step(&self, key: Key, recursion: bool, start: Instant) -> Result<Step, Unanswered> {
        let now = self.now();
        let known = self.0.known.get(&key, now).or_else(|| self.absent(&key, now));
        if let Some(entry) = known {
            return Ok(Step::fresh(entry, now, true));
        }
        let old = self.0.old(&key, now);
        if let Some(failure) = self.0.failures.get(&key, now) {
            return Ok(Step::failed(failure, old, now, true));
        }
        if !recursion {
            return Err(Unanswered::Unknown);
        }
        let flight = match (self.fly(key, now), &old) {
            (Ok(flight), _) => flight,
            (Err(_), Some(old)) => return Ok(Step::stale(old.clone(), "too many lookups are under way")),
            (Err(busy), None) => return Err(busy),
        };
        let patience = if old.is_some() { CLIENT_PATIENCE.min(self.0.patience) } else { self.0.patience };
        let entry = match tokio::time::timeout_at(start + patience, flight).await {
            Ok(entry) => entry,
            Err(_) => Arc::new(Entry::failure(now, extended::NO_REACHABLE_AUTHORITY, LATE)),
        };
        if entry.is_failure() {
            return Ok(Step::failed(entry, old, now, false));
        }
        Ok(Step::fresh(entry, now, false))
    }

    /// What is known to leave no such name: itself by a question for another type, or, where that is proved, a name
    /// above it (RFC 8020; unproved denials of names above are often those of servers that know no empty names).
    fn absent(&self, key: &Key, now: Timestamp) -> Option<Arc<Entry>> {
        let whole = |name: Name| self.0.known.get(&Key { name, rtype: EVERY, unchecked: key.unchecked }, now);
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
        let (tell, told) = tokio::sync::oneshot::channel();
        let flight = told
            .map(move |ended| {
                ended.unwrap_or_else(|_| {
                    Arc::new(Entry::failure(now, extended::OTHER, "the lookup broke off"))
                })
            })
            .boxed()
            .shared();
        flights.insert(key, flight.clone());
        // A runtime that is closing drops what is spawned at once, and the landing wants this lock.
        drop(flights);
        let inner = self.0.clone();
        tokio::spawn(async move {
            let Landing { key, .. } = &landing;
            let look_up = inner.backend.look_up(&key.name, key.rtype, key.unchecked, now);
            let entry = match tokio::time::timeout(inner.patience, look_up).await {
                Ok(entry) => entry,
                Err(_) => Entry::failure(now, extended::NO_REACHABLE_AUTHORITY, LATE),
            };
            let entry = inner.keep(key, entry, now);
            drop(slot);
            // Nobody may be waiting any more.
            let _ = tell.send(entry);
        });
        Ok(flight)
    }
}

impl Inner {
    /// Keeps what a lookup gave.
    fn keep(&self, key: &Key, mut entry: Entry, now: Timestamp) -> Arc<Entry> {
        let every = Key { rtype: EVERY, ..key.clone() };
        let old = self.old(key, now);
        if entry.lacks_keys() && old.is_some() {
            // Servers out of reach are no forgery: what was proved before is better than what nobody can prove now.
            let (code, why) = entry.explained.unwrap_or_default();
            entry = Entry::failure(now, code, why);
        }
        if entry.is_failure() {
            if old.is_some() {
                entry.ttl = entry.ttl.max(RECHECK);
            }
            let entry = Arc::new(entry);
            self.failures.put(key.clone(), entry.clone());
            return entry;
        }
        self.failures.forget(key);
        let entry = Arc::new(entry);
        if entry.is_absence() {
            self.put(every, &entry);
        } else {
            // The name is there, whatever was said of it before.
            self.known.forget(&every);
        }
        self.put(key.clone(), &entry);
        entry
    }

    /// What holds for no time is kept only to be told when it is all there is; it replaces what was known in any case.
    fn put(&self, key: Key, entry: &Arc<Entry>) {
        if entry.ttl > 0 || self.stale > 0 {
            self.known.put(key, entry.clone());
        } else {
            self.known.forget(&key);
        }
    }

    /// The newest that was known about a name and type, or about the name, and is not too old to be told.
    fn old(&self, key: &Key, now: Timestamp) -> Option<Arc<Entry>> {
        if self.stale == 0 {
            return None;
        }
        let every = Key { rtype: EVERY, ..key.clone() };
        let candidates = [key, &every].map(|key| self.known.last(key));
        let newest = candidates.into_iter().flatten().max_by_key(|entry| entry.since)?;
        newest.may_be_stale(now, self.stale).then_some(newest)
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
