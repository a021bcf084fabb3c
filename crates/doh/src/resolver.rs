//! The resolver: answers from the cache or from the backend, with one lookup at a time per name and type, follows CNAME
//! records, and serves stale answers when a refresh fails (RFC 8767).

use crate::backend::Backend;
use crate::cache::Cache;
use crate::client::Client;
use crate::codes::extended;
use crate::entry::{Entry, RECHECK, Security};
use crate::limit::Limiter;
use crate::local::LocalZones;
use crate::message::Message;
use crate::prepared::{Form, PreparedAnswers};
use crate::share::{LookupSlots, Overload};
use crate::steps::{Answer, Step};
use dns::wire::{Name, Rtype};
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use jiff::Timestamp;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// CNAME records followed for one query.
const MAX_ALIASES: usize = 16;

/// Queries to name servers for one client query, after which no further CNAME target is looked up. Each lookup has its own
/// full budget besides (`dns::Settings::max_queries`): its result is cached for all clients, so it must not depend on
/// what the client's query used up before.
const MAX_QUERIES: u32 = 400;

/// Type under which NXDOMAIN is cached, since it applies to every type (RFC 2308 section 5). The type is reserved
/// (RFC 6895 section 3.1) and queries for it are refused.
const ALL_TYPES: Rtype = Rtype(0);

/// Client response timer: how long a refresh may take before the stale answer is served (RFC 8767 section 5).
const STALE_TIMER: Duration = Duration::from_millis(1800);

const TIMED_OUT: &str = "the lookup timed out";

/// The time of day.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Limits of a resolver.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Octets of all caches of responses and entries together. The cache of zone keys has its own 4 MiB.
    pub cache: usize,
    /// Lookups in flight; clients and registrable domains have a fair share of them.
    pub lookups: usize,
    /// Timeout of a query, all its lookups included.
    pub patience: Duration,
    /// Queries per second of one client; 0 for no limit, and no share of the lookups either.
    pub rate: u32,
    /// Seconds for which expired data may be served when a refresh fails (RFC 8767); 0 disables this.
    pub stale: u32,
    /// Answer the reverse zones of private networks locally (RFC 6303). Disable it where a private network serves them.
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

/// Key of the cache.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    name: Name,
    rtype: Rtype,
    /// The CD bit, where the backend distinguishes it.
    unchecked: bool,
}

type Flight = Shared<BoxFuture<'static, Arc<Entry>>>;

/// The resolver. Clones share everything.
#[derive(Clone)]
pub struct Resolver(Arc<Inner>);

struct Inner {
    backend: Arc<dyn Backend>,
    known: Cache<Key, Entry>,
    /// Failed lookups; kept apart so that they do not replace data that can be served stale.
    failures: Cache<Key, Entry>,
    prepared: PreparedAnswers,
    limiter: Limiter,
    local: LocalZones,
    clock: Clock,
    patience: Duration,
    stale: u32,
    slots: LookupSlots,
    flights: Mutex<HashMap<Key, Flight>>,
}

/// A query of class IN.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question<'a> {
    pub name: &'a Name,
    pub rtype: Rtype,
    /// CD: the client validates by itself.
    pub unchecked: bool,
    /// RD.
    pub recursion: bool,
    /// Address of the client.
    pub client: IpAddr,
}

/// Why a query gets no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResolveError {
    /// Every slot for lookups is taken.
    Busy,
    /// The client has its share of lookups in flight.
    ClientBusy,
    /// The client wants no recursion and nothing is known.
    Unknown,
}

impl Resolver {
    /// A resolver over `backend`.
    pub fn new(backend: Arc<dyn Backend>, bounds: &Bounds, clock: Clock) -> Self {
        let share = bounds.cache / 16;
        Resolver(Arc::new(Inner {
            backend,
            known: Cache::new(bounds.cache - 5 * share),
            failures: Cache::new(share),
            prepared: PreparedAnswers::new(4 * share),
            limiter: Limiter::new(bounds.rate),
            local: LocalZones::new(bounds.local_zones),
            clock,
            patience: bounds.patience,
            stale: bounds.stale,
            slots: LookupSlots::new(bounds.lookups),
            flights: Mutex::default(),
        }))
    }

    /// Applies the rate limit.
    ///
    /// # Errors
    /// The time after which the client may retry.
    pub(crate) fn admit(&self, client: IpAddr) -> Result<(), Duration> {
        if self.0.limiter.is_off() { Ok(()) } else { self.0.limiter.take(client, self.now()) }
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.0.clock)()
    }

    /// Returns the local zones.
    pub(crate) fn local(&self) -> &LocalZones {
        &self.0.local
    }

    /// Returns the encoded response to a query of this form, if it is cached.
    pub(crate) fn prepared(&self, form: &Form, question: &[u8]) -> Option<Message> {
        self.0.prepared.get(form, question, self.now())
    }

    /// Caches the encoded response for the next query of this form.
    pub(crate) fn keep_prepared(&self, form: &Form, message: &Message, ttls: Vec<usize>, made: Timestamp) {
        self.0.prepared.put(form, message, ttls, made);
    }

    /// Returns the number of cached entries, and the octets of all caches.
    pub fn cache_size(&self) -> (usize, usize) {
        let (known, failures) = (self.0.known.size(), self.0.failures.size());
        (known.0 + failures.0, known.1 + failures.1 + self.0.prepared.size().1)
    }

    /// Answers a query.
    pub(crate) async fn answer(&self, question: Question<'_>) -> Result<Answer, ResolveError> {
        let Question { name, rtype, unchecked, .. } = question;
        let mut answer = Answer::new(self.now());
        // One timeout covers the whole chain. Lookups that finish later still fill the cache.
        let start = Instant::now();
        let mut current = name.clone();
        let mut seen = Vec::new();
        let mut queries = 0u32;
        loop {
            let key = Key {
                name: current.clone(),
                rtype,
                unchecked: unchecked && self.0.backend.distinguishes_unchecked(),
            };
            let step = self.step(key, question, start).await?;
            queries = queries.saturating_add(step.queries());
            let Some(next) = answer.add(step, unchecked) else { return Ok(answer) };
            seen.push(std::mem::replace(&mut current, next));
            if seen.contains(&current) || seen.len() > MAX_ALIASES {
                let why = format!("the aliases of {name} form a loop or are too many");
                return Ok(answer.into_failure((extended::OTHER, why)));
            }
            if queries >= MAX_QUERIES {
                let why =
                    format!("following the aliases of {name} took {queries} queries, more than allowed");
                return Ok(answer.into_failure((extended::OTHER, why)));
            }
        }
    }

    /// Finds the entry for one name and type: cached, looked up, or stale.
    async fn step(&self, key: Key, question: Question<'_>, start: Instant) -> Result<Step, ResolveError> {
        let now = self.now();
        let known = self.0.known.get(&key, now).or_else(|| self.cached_name_error(&key, now));
        if let Some(entry) = known {
            return Ok(Step::fresh(entry, now, true));
        }
        let old = self.0.stale_entry(&key, now);
        if let Some(failure) = self.0.failures.get(&key, now) {
            return Ok(Step::failed(failure, old, now, true));
        }
        if !question.recursion {
            return Err(ResolveError::Unknown);
        }
        let flight = match (self.join_or_start(key, question.client, now), &old) {
            (Ok(flight), _) => flight,
            (Err(_), Some(old)) => return Ok(Step::stale(old.clone(), "too many lookups are in progress")),
            (Err(Overload::Total), None) => return Err(ResolveError::Busy),
            (Err(Overload::Client), None) => return Err(ResolveError::ClientBusy),
            (Err(Overload::Domain(domain)), None) => {
                let why = format!("too many lookups below {domain} are in progress");
                return Ok(Step::fresh(Arc::new(Entry::failure(now, extended::OTHER, why)), now, false));
            }
        };
        let patience = if old.is_some() { STALE_TIMER.min(self.0.patience) } else { self.0.patience };
        let entry = match tokio::time::timeout_at(start + patience, flight).await {
            Ok(entry) => entry,
            Err(_) => Arc::new(Entry::failure(now, extended::NO_REACHABLE_AUTHORITY, TIMED_OUT)),
        };
        if entry.is_failure() {
            return Ok(Step::failed(entry, old, now, false));
        }
        Ok(Step::fresh(entry, now, false))
    }

    /// Returns a cached NXDOMAIN for the name, or, if it is secure, for a name above it (RFC 8020). Insecure ones of names
    /// above are ignored, because some servers send them for empty non-terminals.
    fn cached_name_error(&self, key: &Key, now: Timestamp) -> Option<Arc<Entry>> {
        let whole =
            |name: Name| self.0.known.get(&Key { name, rtype: ALL_TYPES, unchecked: key.unchecked }, now);
        let above = || (1..key.name.labels().len()).rev().map(|count| key.name.trim_to(count));
        whole(key.name.clone()).or_else(|| {
            above().find_map(|name| whole(name).filter(|entry| entry.security == Security::Secure))
        })
    }

    /// Joins the lookup in flight, or starts one. It continues if the client disconnects.
    ///
    /// # Errors
    /// The limit that forbids another lookup.
    fn join_or_start(&self, key: Key, client: IpAddr, now: Timestamp) -> Result<Flight, Overload> {
        let mut flights = self.0.flights.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(flight) = flights.get(&key) {
            return Ok(flight.clone());
        }
        let client = (!self.0.limiter.is_off()).then(|| Client(client).client_prefix());
        let slot = self.0.slots.try_acquire(client, &key.name)?;
        let guard = FlightGuard { inner: self.0.clone(), key: key.clone() };
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let flight = receiver
            .map(move |ended| {
                ended.unwrap_or_else(|_| {
                    Arc::new(Entry::failure(now, extended::OTHER, "the lookup was aborted"))
                })
            })
            .boxed()
            .shared();
        flights.insert(key, flight.clone());
        // During shutdown the runtime drops a spawned task at once, and the guard takes this lock.
        drop(flights);
        let inner = self.0.clone();
        tokio::spawn(async move {
            let FlightGuard { key, .. } = &guard;
            let look_up = inner.backend.look_up(&key.name, key.rtype, key.unchecked, now);
            let entry = match tokio::time::timeout(inner.patience, look_up).await {
                Ok(entry) => entry,
                Err(_) => Entry::failure(now, extended::NO_REACHABLE_AUTHORITY, TIMED_OUT),
            };
            let entry = inner.store(key, entry, now);
            drop(slot);
            // The receivers may be gone.
            let _ = sender.send(entry);
        });
        Ok(flight)
    }
}

impl Inner {
    /// Caches the result of a lookup.
    fn store(&self, key: &Key, mut entry: Entry, now: Timestamp) -> Arc<Entry> {
        let every = Key { rtype: ALL_TYPES, ..key.clone() };
        let old = self.stale_entry(key, now);
        if entry.lacks_keys() && old.is_some() {
            // Unreachable key servers are a failure, not a forgery: serve the validated data stale.
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
        if entry.is_name_error() {
            self.put(every, &entry);
        } else {
            // The name exists after all.
            self.known.forget(&every);
        }
        self.put(key.clone(), &entry);
        entry
    }

    /// Replaces the cached entry. One with TTL 0 is stored only for serve-stale.
    fn put(&self, key: Key, entry: &Arc<Entry>) {
        if entry.ttl > 0 || self.stale > 0 {
            self.known.put(key, entry.clone());
        } else {
            self.known.forget(&key);
        }
    }

    /// Returns the newest entry for the name and type, or NXDOMAIN for the name, if it may be served stale.
    fn stale_entry(&self, key: &Key, now: Timestamp) -> Option<Arc<Entry>> {
        if self.stale == 0 {
            return None;
        }
        let every = Key { rtype: ALL_TYPES, ..key.clone() };
        let candidates = [key, &every].map(|key| self.known.get_any(key));
        let newest = candidates.into_iter().flatten().max_by_key(|entry| entry.since)?;
        newest.may_be_served_stale(now, self.stale).then_some(newest)
    }
}

/// Removes a lookup from the table when it ends, in whatever way.
struct FlightGuard {
    inner: Arc<Inner>,
    key: Key,
}

impl Drop for FlightGuard {
    fn drop(&mut self) {
        self.inner.flights.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}
