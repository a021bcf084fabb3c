//! One operation: its budget, its questions in flight, and its memory (no question is sent twice to one address).
//! In: an address and a question. Out: an [`Asked`], always; servers that fail are results, not errors.

mod family;
mod seen;
mod silence;

use family::Family;
pub(crate) use seen::Seen;
use silence::Silence;

use crate::reach::V6_NOWHERE;
use crate::settings::Settings;
use crate::transport::{self, Exchange, Failure, Sending};
use crate::wire::{Name, Question, Reply};
use model::dns::{NsName, Transport};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OnceCell, Semaphore};

/// How a question is to be carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Manner {
    /// UDP with random letter case; TCP when truncated or when the letters come back changed; without EDNS when the
    /// server does not know it. What a good resolver does.
    #[default]
    Resolver,
    /// TCP only, without EDNS when the server does not know it.
    Tcp,
    /// UDP, TCP when truncated; letters and EDNS exactly as given, no fallback. What the test cases prescribe.
    Exact,
    /// UDP only, as given, a truncated answer is the answer.
    ExactUdp,
    /// TCP only, as given.
    ExactTcp,
    /// UDP only, as given but for the letters, whose case is random.
    Cased,
}

/// What came of one question to one address.
#[derive(Debug, Clone)]
pub struct Asked {
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

impl Asked {
    /// The reply, if any.
    pub fn reply(&self) -> Option<&Reply> {
        self.result.as_ref().ok()
    }

    fn refused(why: String) -> Self {
        Asked {
            result: Err(Failure::NotAsked(why)),
            transport: Transport::Udp,
            truncated: false,
            latency: Duration::ZERO,
            notes: Vec::new(),
            letters_kept: true,
        }
    }
}

type Key = (IpAddr, Question, Manner);
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

/// One operation's state; shared by all its tasks.
pub(crate) struct Session {
    pub settings: Arc<Settings>,
    /// Ask for signatures (the DO bit) on the way down too.
    pub signatures: bool,
    start: Instant,
    sent: AtomicU32,
    exhausted: AtomicBool,
    v4: Family,
    v6: Family,
    slots: Semaphore,
    memory: Mutex<HashMap<Key, Arc<OnceCell<Arc<Asked>>>>>,
    sources: Mutex<Sources>,
    seen: Mutex<HashMap<IpAddr, Seen>>,
    pub silence: Silence,
    /// Delegations learned in this operation (or lent by the infrastructure cache).
    pub zones: Mutex<HashMap<Name, Learned>>,
}

pub(crate) const NO_V6: &str = "IPv6 servers were not asked: this host has no IPv6 route";
const NO_V4: &str = "IPv4 servers were not reached: this host has no IPv4 route";

impl Session {
    pub fn new(settings: Arc<Settings>) -> Self {
        Session {
            signatures: false,
            start: Instant::now(),
            sent: AtomicU32::new(0),
            exhausted: AtomicBool::new(false),
            v4: Family::default(),
            v6: Family::default(),
            slots: Semaphore::new(settings.parallel.max(1)),
            memory: Mutex::default(),
            sources: Mutex::default(),
            seen: Mutex::default(),
            silence: Silence::default(),
            zones: Mutex::default(),
            settings,
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

    /// What every address showed of itself so far.
    pub(crate) fn seen(&self) -> HashMap<IpAddr, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
        if self.exhausted() {
            notes.push(format!(
                "stopped at the bound of this operation ({} questions, {:.1} s)",
                self.queries(),
                self.start.elapsed().as_secs_f64()
            ));
        }
        notes
    }

    fn left(&self) -> Duration {
        self.settings.budget.saturating_sub(self.start.elapsed())
    }

    /// Counts one question, or refuses it.
    fn permit(&self) -> bool {
        let allowed = self.sent.fetch_add(1, Ordering::Relaxed) < self.settings.max_queries;
        if !allowed {
            self.sent.fetch_sub(1, Ordering::Relaxed);
            self.exhausted.store(true, Ordering::Relaxed);
        }
        allowed
    }

    /// Asks once; the same question to the same address is answered from memory.
    pub async fn ask(&self, address: IpAddr, question: &Question, manner: Manner) -> Arc<Asked> {
        let cell = {
            let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
            memory.entry((address, question.clone(), manner)).or_default().clone()
        };
        cell.get_or_init(|| async { Arc::new(self.send(address, question, manner).await) }).await.clone()
    }

    async fn send(&self, address: IpAddr, question: &Question, manner: Manner) -> Asked {
        if let Some(what) = net::guard::is_private(address).filter(|_| !self.settings.allow_private) {
            return Asked::refused(format!("{what}: not asked unless the operator allows it"));
        }
        let tcp = matches!(manner, Manner::Tcp | Manner::ExactTcp);
        if self.silence.is_silent(address, tcp) {
            return Asked {
                result: Err(Failure::Timeout),
                notes: vec!["silent so far in this check: not asked again".into()],
                ..Asked::refused(String::new())
            };
        }
        if address.is_ipv6() && self.v6_leads_nowhere() {
            return Asked::refused(V6_NOWHERE.into());
        }
        let Ok(_slot) = self.slots.acquire().await else {
            return Asked::refused("the operation has ended".into());
        };
        let asked = self.converse(address, question, manner).await;
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).entry(address).or_default().take(&asked);
        let family = if address.is_ipv6() { &self.v6 } else { &self.v4 };
        family.take_note(&asked.result);
        match asked.result {
            Err(Failure::NoRoute) if address.is_ipv6() => return Asked::refused(NO_V6.into()),
            Err(Failure::NotAsked(_)) => self.exhausted.store(true, Ordering::Relaxed),
            _ => self.silence.note(address, tcp, asked.result.is_ok()),
        }
        asked
    }

    async fn converse(&self, address: IpAddr, question: &Question, manner: Manner) -> Asked {
        let resolver = manner == Manner::Resolver;
        if matches!(manner, Manner::Tcp | Manner::ExactTcp) {
            return self.over_tcp(address, question, manner == Manner::Tcp).await;
        }
        let mut notes = Vec::new();
        let random = resolver || manner == Manner::Cased;
        let mut exchange = self.over_udp(address, question, random, resolver).await;
        note_ignored(&exchange, &mut notes);
        if exchange.plain {
            notes.push("answers only without EDNS: questions with EDNS got no answer".into());
        }
        let mut bare = question.clone();
        bare.edns = None;
        let mut current = question;
        if resolver && question.edns.is_some() && refuses_edns(&exchange) {
            let rcode = exchange.result.as_ref().map_or(0, |r| r.rcode);
            notes.push(format!("answers EDNS with {}; asked again without", crate::wire::rcode_text(rcode)));
            current = &bare;
            exchange = self.over_udp(address, current, true, false).await;
        }
        if resolver && exchange.folded {
            let again = self.over_tcp(address, current, false).await;
            if again.result.is_ok() {
                notes
                    .push("does not repeat the letters of the question as sent; asked again over TCP".into());
                return Asked { notes, ..again };
            }
            notes.push("does not repeat the letters of the question as sent, and TCP fails".into());
            exchange = self.over_udp(address, current, false, false).await;
        }
        let truncated = exchange.result.as_ref().is_ok_and(|r| r.tc);
        if truncated && !matches!(manner, Manner::ExactUdp | Manner::Cased) {
            let again = self.over_tcp(address, current, resolver).await;
            if again.result.is_ok() {
                return Asked { truncated: true, notes, ..again };
            }
            notes.push("truncates over UDP and does not answer over TCP".into());
            return Asked {
                result: again.result,
                transport: Transport::Tcp,
                truncated,
                latency: exchange.latency,
                notes,
                letters_kept: !exchange.folded,
            };
        }
        Asked {
            result: exchange.result,
            transport: Transport::Udp,
            truncated,
            latency: exchange.latency,
            notes,
            letters_kept: !exchange.folded,
        }
    }

    /// The address an answer comes from, whatever it is: for servers with several addresses that answer from the
    /// wrong one. `None` without an answer. Asked once, like any question.
    pub async fn source_of(&self, address: IpAddr, question: &Question) -> Source {
        let cell = {
            let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
            sources.entry((address, question.clone())).or_default().clone()
        };
        *cell.get_or_init(|| self.look_for_source(address, question)).await
    }

    async fn look_for_source(&self, address: IpAddr, question: &Question) -> Source {
        let target = self.settings.address_map.dial((address, self.settings.port).into());
        let forbidden = !self.settings.allow_private && net::guard::is_private(address).is_some();
        if forbidden || !self.permit() {
            return None;
        }
        let _slot = self.slots.acquire().await.ok()?;
        let timeout = self.settings.timeout.min(self.left());
        transport::source_of(target, question, timeout).await.map(|source| (target.ip(), source))
    }

    async fn over_udp(
        &self,
        address: IpAddr,
        question: &Question,
        randomise: bool,
        drop_edns: bool,
    ) -> Exchange {
        let timeout = self.settings.timeout.min(self.left());
        if timeout.is_zero() {
            self.exhausted.store(true, Ordering::Relaxed);
            return not_asked();
        }
        let target = self.settings.address_map.dial((address, self.settings.port).into());
        let sending = Sending { timeout, tries: self.settings.tries, randomise, drop_edns };
        transport::udp(target, question, sending, &|| self.permit()).await
    }

    async fn over_tcp(&self, address: IpAddr, question: &Question, edns_fallback: bool) -> Asked {
        let target = self.settings.address_map.dial((address, self.settings.port).into());
        let mut notes = Vec::new();
        let mut edns = true;
        let exchange = loop {
            let timeout = self.settings.timeout.min(self.left());
            if timeout.is_zero() || !self.permit() {
                self.exhausted.store(true, Ordering::Relaxed);
                break not_asked();
            }
            let exchange = transport::tcp(target, question, edns, timeout).await;
            if edns && edns_fallback && question.edns.is_some() && refuses_edns(&exchange) {
                edns = false;
                continue;
            }
            break exchange;
        };
        note_ignored(&exchange, &mut notes);
        Asked {
            result: exchange.result,
            transport: Transport::Tcp,
            truncated: false,
            latency: exchange.latency,
            notes,
            letters_kept: true,
        }
    }
}

fn not_asked() -> Exchange {
    Exchange {
        result: Err(Failure::NotAsked("the bound of this operation was reached".into())),
        latency: Duration::ZERO,
        folded: false,
        plain: false,
        ignored: 0,
    }
}

fn refuses_edns(exchange: &Exchange) -> bool {
    // FORMERR, NOTIMP, BADVERS: what servers from before EDNS, or broken ones, say to it.
    exchange.result.as_ref().is_ok_and(|r| matches!(r.rcode, 1 | 4 | 16))
}

fn note_ignored(exchange: &Exchange, notes: &mut Vec<String>) {
    match exchange.ignored {
        0 => {}
        1 => notes.push("one message that was no answer to the question was ignored".into()),
        n => notes.push(format!("{n} messages that were no answer to the question were ignored")),
    }
}
