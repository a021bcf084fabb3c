//! One operation: its bounds on questions, time and memory, and its replies (no question is sent twice to one address).
//! In: an address and a question. Out: a [`QueryResult`], always; servers that fail are results, not errors.

mod converse;
mod family;
mod ipv6;
mod memory;
mod observed;
mod silence;
mod speeds;
pub(crate) mod transport;

use family::Family;
pub(crate) use ipv6::{QUORUM, V6_NOWHERE};
pub(crate) use memory::Memory;
pub(crate) use observed::Observed;
use silence::Silence;
pub(crate) use speeds::Speeds;

use crate::settings::Settings;
use crate::wire::{Name, Question, Reply};
use model::dns::{NsName, Transport};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OnceCell, Semaphore};
use transport::Failure;

/// How a question is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum QueryMode {
    /// UDP with random letter case; TCP when truncated or when the letters come back changed; without EDNS when the
    /// server does not know it. What a good resolver does.
    #[default]
    Resolver,
    /// UDP, TCP when truncated; letters and EDNS exactly as given, no fallback. What the test cases prescribe.
    Exact,
    /// UDP only, as given, a truncated answer is the answer.
    ExactUdp,
    /// TCP only, as given.
    ExactTcp,
    /// UDP only, as given but for the letters, whose case is random.
    Cased,
}

/// The outcome of one question to one address.
#[derive(Debug, Clone)]
pub struct QueryResult {
    /// The reply, or why there is none.
    pub result: Result<Reply, Failure>,
    /// How the reply that counts was carried.
    pub transport: Transport,
    /// UDP was truncated.
    pub truncated: bool,
    /// Time of the exchange that counts.
    pub latency: Duration,
    /// What was odd, in words.
    pub notes: Vec<String>,
    /// The question came back with its letters as they were sent.
    pub letters_kept: bool,
}

impl QueryResult {
    /// The reply, if any.
    pub fn reply(&self) -> Option<&Reply> {
        self.result.as_ref().ok()
    }

    fn refused(why: String) -> Self {
        QueryResult {
            result: Err(Failure::NotAsked(why)),
            transport: Transport::Udp,
            truncated: false,
            latency: Duration::ZERO,
            notes: Vec::new(),
            letters_kept: true,
        }
    }
}

/// Octets charged for a question besides its reply: the key, the outcome, and the note of who answered how fast.
const KEPT_PER_QUESTION: usize = 1_024;

type Key = (IpAddr, Question, QueryMode);
/// Address asked and address an answer came from.
type Source = Option<(IpAddr, IpAddr)>;
type Sources = HashMap<(IpAddr, Question), Arc<OnceCell<Source>>>;

/// Servers of a zone as a referral named them.
#[derive(Debug, Clone)]
pub(crate) struct Learned {
    pub servers: Arc<Vec<NsName>>,
    /// Seconds for which the referral holds: the smallest TTL of its NS and glue records; 0 when it is not to be kept.
    pub ttl: u32,
}

/// What the operations of one scan know together: the replies so far and who answered how fast.
#[derive(Default)]
struct Answers {
    replies: Mutex<HashMap<Key, Arc<OnceCell<Arc<QueryResult>>>>>,
    sources: Mutex<Sources>,
    seen: Mutex<HashMap<IpAddr, Observed>>,
}

/// One operation's state; shared by all its tasks.
pub(crate) struct Session {
    pub settings: Arc<Settings>,
    /// Ask for signatures (the DO bit) on the way down too.
    pub signatures: bool,
    /// Questions this session may send; those of the settings unless it shares a budget with others.
    pub max_queries: u32,
    start: Instant,
    sent: AtomicU32,
    exhausted: AtomicBool,
    v4: Arc<Family>,
    v6: Arc<Family>,
    slots: Semaphore,
    answers: Arc<Answers>,
    /// The budget of memory; `answers` are charged to it.
    pub budget: Arc<Memory>,
    pub silence: Arc<Silence>,
    /// How fast servers answered, perhaps also in earlier operations.
    pub speeds: Arc<Speeds>,
    /// An earlier operation of the scan read the delegation: the zones on the way are known with all addresses of their
    /// servers, not with glue only.
    pub delegation_read: bool,
    /// Delegations learned in this operation (or lent by the infrastructure cache).
    pub zones: Mutex<HashMap<Name, Learned>>,
}

pub(crate) const NO_V6: &str = "IPv6 servers were not asked: this host has no IPv6 route";
const NO_V4: &str = "IPv4 servers were not reached: this host has no IPv4 route";

impl Session {
    pub fn new(settings: Arc<Settings>) -> Self {
        Session {
            signatures: false,
            max_queries: settings.max_queries,
            start: Instant::now(),
            sent: AtomicU32::new(0),
            exhausted: AtomicBool::new(false),
            v4: Arc::default(),
            v6: Arc::default(),
            slots: Semaphore::new(settings.parallel.max(1)),
            answers: Arc::default(),
            budget: Arc::new(Memory::new(settings.memory)),
            silence: Arc::default(),
            speeds: Arc::default(),
            delegation_read: false,
            zones: Mutex::default(),
            settings,
        }
    }

    /// A further operation of the same scan: it has questions and time of its own, shares answers and memory, and starts
    /// with the delegations that are known so far.
    pub fn further(&self, settings: Arc<Settings>) -> Self {
        let zones = self.zones.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // What the bound of an earlier operation kept from being asked can be asked by this one.
        let not_asked = |a: &Arc<QueryResult>| matches!(a.result, Err(Failure::NotAsked(_)));
        let mut replies = self.answers.replies.lock().unwrap_or_else(PoisonError::into_inner);
        replies.retain(|_, cell| !cell.get().is_some_and(not_asked));
        drop(replies);
        Session {
            delegation_read: true,
            signatures: self.signatures,
            v4: self.v4.clone(),
            v6: self.v6.clone(),
            answers: self.answers.clone(),
            budget: self.budget.clone(),
            silence: self.silence.clone(),
            speeds: self.speeds.clone(),
            zones: Mutex::new(zones),
            ..Session::new(settings)
        }
    }

    /// Datagrams and TCP questions sent so far.
    pub fn queries(&self) -> u32 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Milliseconds since the operation began.
    pub fn elapsed_ms(&self) -> f64 {
        self.start.elapsed().as_secs_f64() * 1000.0
    }

    /// True when a bound stopped something.
    pub fn exhausted(&self) -> bool {
        self.exhausted.load(Ordering::Relaxed)
    }

    /// True when this host has no IPv6: there was no route to any IPv6 address, or none leads anywhere.
    pub fn lacks_v6(&self) -> bool {
        self.v6.has_no_route() || self.v6_leads_nowhere()
    }

    /// True when this host has no IPv4: there was no route to any IPv4 address.
    pub fn lacks_v4(&self) -> bool {
        self.v4.has_no_route()
    }

    /// Latency and identifiers observed of every address so far.
    pub(crate) fn seen(&self) -> HashMap<IpAddr, Observed> {
        self.answers.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes that hold for the whole operation.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.lacks_v4() {
            notes.push(NO_V4.to_string());
        }
        if self.v6.has_no_route() {
            notes.push(NO_V6.to_string());
        } else if self.v6_leads_nowhere() {
            notes.push(V6_NOWHERE.to_string());
        }
        if self.budget.is_used_up() {
            notes.push(format!("stopped: {}", self.budget.words()));
        } else if self.exhausted() {
            notes.push(format!(
                "stopped at the bound of this operation ({} questions, {:.1} s)",
                self.queries(),
                self.start.elapsed().as_secs_f64()
            ));
        }
        notes
    }

    /// True when a question asked now is given as long as any.
    pub(crate) fn has_time_for_a_question(&self) -> bool {
        self.left() >= self.settings.timeout
    }

    fn left(&self) -> Duration {
        self.settings.budget.saturating_sub(self.start.elapsed())
    }

    /// Counts one question, or refuses it.
    fn permit(&self) -> bool {
        let allowed = self.sent.fetch_add(1, Ordering::Relaxed) < self.max_queries;
        if !allowed {
            self.sent.fetch_sub(1, Ordering::Relaxed);
            self.exhausted.store(true, Ordering::Relaxed);
        }
        allowed
    }

    /// Asks once; the same question to the same address is answered from memory.
    pub async fn ask(&self, address: IpAddr, question: &Question, mode: QueryMode) -> Arc<QueryResult> {
        let cell = {
            let mut replies = self.answers.replies.lock().unwrap_or_else(PoisonError::into_inner);
            replies.entry((address, question.clone(), mode)).or_default().clone()
        };
        cell.get_or_init(|| async { Arc::new(self.send(address, question, mode).await) }).await.clone()
    }

    async fn send(&self, address: IpAddr, question: &Question, mode: QueryMode) -> QueryResult {
        if let Some(what) = self.settings.networks.refuses(address, self.settings.allow_private) {
            return QueryResult::refused(format!("{what}: not asked unless the operator allows it"));
        }
        let tcp = mode == QueryMode::ExactTcp;
        if self.silence.is_silent(address, tcp) {
            return QueryResult {
                result: Err(Failure::Timeout),
                notes: vec!["silent so far in this check: not asked again".into()],
                ..QueryResult::refused(String::new())
            };
        }
        if self.budget.is_used_up() {
            return self.out_of_memory();
        }
        if address.is_ipv6() && self.v6_leads_nowhere() {
            return QueryResult::refused(V6_NOWHERE.into());
        }
        let Ok(_slot) = self.slots.acquire().await else {
            return QueryResult::refused("the operation has ended".into());
        };
        let asked = self.converse(address, question, mode).await;
        {
            let mut seen = self.answers.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.entry(address).or_default().record(&asked);
        }
        if asked.transport == Transport::Udp && !matches!(asked.result, Err(Failure::NotAsked(_))) {
            self.speeds.note(address, asked.reply().map(|_| asked.latency));
        }
        let family = if address.is_ipv6() { &self.v6 } else { &self.v4 };
        family.take_note(&asked.result);
        let octets = KEPT_PER_QUESTION + asked.reply().map_or(0, |reply| reply.memory);
        if !self.budget.charge(octets) {
            return self.out_of_memory();
        }
        match asked.result {
            Err(Failure::NoRoute) if address.is_ipv6() => return QueryResult::refused(NO_V6.into()),
            Err(Failure::NotAsked(_)) => self.exhausted.store(true, Ordering::Relaxed),
            _ => self.silence.note(address, tcp, asked.result.is_ok()),
        }
        asked
    }

    /// The operation has kept as much as it may: whatever came is dropped.
    fn out_of_memory(&self) -> QueryResult {
        self.exhausted.store(true, Ordering::Relaxed);
        QueryResult::refused(self.budget.words())
    }

    /// The address an answer comes from, whatever it is: for servers with several addresses that answer from the
    /// wrong one. `None` without an answer. QueryResult once, like any question.
    pub async fn source_of(&self, address: IpAddr, question: &Question) -> Source {
        let cell = {
            let mut sources = self.answers.sources.lock().unwrap_or_else(PoisonError::into_inner);
            sources.entry((address, question.clone())).or_default().clone()
        };
        *cell.get_or_init(|| self.find_source(address, question)).await
    }

    async fn find_source(&self, address: IpAddr, question: &Question) -> Source {
        let target = self.settings.address_map.dial((address, self.settings.port).into());
        let forbidden = self.settings.networks.refuses(address, self.settings.allow_private).is_some();
        if forbidden || !self.permit() {
            return None;
        }
        let _slot = self.slots.acquire().await.ok()?;
        let timeout = self.settings.timeout.min(self.left());
        transport::source_of(self.settings.network.as_ref(), target, question, timeout)
            .await
            .map(|source| (target.ip(), source))
    }
}
