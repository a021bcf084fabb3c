//! Who was asked what, and how often: the lab's side of politeness tests.
//! In: one note per question received. Out: counts per server, per question, and the peak of parallel requests.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde::Serialize;

/// Distinct DNS questions remembered; later ones only count per server.
const CAP: usize = 200_000;

/// A DNS question as one server received it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Asked {
    /// Host name of the server.
    pub server: String,
    /// The zone that it answered from; empty when it holds none for the name.
    pub zone: String,
    /// The name, in lower case, without the final dot.
    pub qname: String,
    /// The type, for example `SOA`.
    pub qtype: String,
}

/// How a resolver was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// A datagram.
    Udp,
    /// A stream.
    Tcp,
    /// DNS over TLS.
    Tls,
    /// DNS over HTTPS.
    Https,
    /// The same without TLS.
    Http,
    /// The JSON form over HTTPS.
    JsonHttps,
    /// The JSON form without TLS.
    JsonHttp,
}

/// A question as a recursive resolver received it from a client.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct AskedResolver {
    /// Its id.
    pub resolver: String,
    /// How it was asked.
    pub via: Via,
    /// The name, in lower case, without the final dot.
    pub qname: String,
    /// The type.
    pub qtype: String,
}

/// Requests of one registry host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HostLoad {
    /// Requests in all.
    pub requests: u64,
    /// The most that were being answered at the same time.
    pub peak: u64,
    /// The most that came within one second.
    pub busiest_second: u64,
    /// Requests per question: the WHOIS line, or the path.
    pub questions: BTreeMap<String, u64>,
    #[serde(skip)]
    open: u64,
    #[serde(skip)]
    recent: VecDeque<Instant>,
}

/// Counts since the start of the lab (or since the last reset).
#[derive(Clone, Debug, Default, Serialize)]
pub struct QueryLog {
    /// Questions per DNS server.
    pub per_server: BTreeMap<String, u64>,
    /// Questions over TCP per DNS server (also counted above).
    pub tcp_per_server: BTreeMap<String, u64>,
    /// Questions per (server, zone, name, type).
    #[serde(serialize_with = "as_rows")]
    pub per_question: BTreeMap<Asked, u64>,
    /// Requests per RDAP, WHOIS or web host name.
    pub per_host: BTreeMap<String, HostLoad>,
    /// Questions of clients per (resolver, transport, name, type); those of resolvers to servers are counted above.
    #[serde(serialize_with = "as_rows")]
    pub per_resolver: BTreeMap<AskedResolver, u64>,
}

fn as_rows<S, K>(map: &BTreeMap<K, u64>, s: S) -> Result<S::Ok, S::Error>
where
    S: serde::Serializer,
    K: Serialize,
{
    #[derive(Serialize)]
    struct Row<'a, K> {
        #[serde(flatten)]
        asked: &'a K,
        count: u64,
    }
    s.collect_seq(map.iter().map(|(asked, count)| Row { asked, count: *count }))
}

impl QueryLog {
    /// All DNS questions.
    #[must_use]
    pub fn dns_total(&self) -> u64 {
        self.per_server.values().sum()
    }

    /// How often a name and type was asked for, at any server.
    #[must_use]
    pub fn asked(&self, qname: &str, qtype: &str) -> u64 {
        self.per_question.iter().filter(|(q, _)| q.qname == qname && q.qtype == qtype).map(|(_, n)| n).sum()
    }

    /// How often clients asked any resolver for a name, with any type.
    #[must_use]
    pub fn resolvers_asked(&self, qname: &str) -> u64 {
        self.per_resolver.iter().filter(|(q, _)| q.qname == qname).map(|(_, n)| n).sum()
    }

    /// How often clients asked a resolver.
    #[must_use]
    pub fn of_resolver(&self, id: &str) -> u64 {
        self.per_resolver.iter().filter(|(q, _)| q.resolver == id).map(|(_, n)| n).sum()
    }

    /// How often a server was asked.
    #[must_use]
    pub fn of_server(&self, server: &str) -> u64 {
        self.per_server.get(server).copied().unwrap_or(0)
    }
}

/// The running log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<QueryLog>>);

impl Log {
    fn with<T>(&self, f: impl FnOnce(&mut QueryLog) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn dns(&self, asked: Asked, tcp: bool) {
        self.with(|log| {
            *log.per_server.entry(asked.server.clone()).or_default() += 1;
            if tcp {
                *log.tcp_per_server.entry(asked.server.clone()).or_default() += 1;
            }
            if log.per_question.len() < CAP || log.per_question.contains_key(&asked) {
                *log.per_question.entry(asked).or_default() += 1;
            }
        });
    }

    pub(crate) fn resolver(&self, resolver: &str, via: Via, qname: &str, qtype: &str) {
        let asked = AskedResolver {
            resolver: resolver.to_owned(),
            via,
            qname: qname.to_owned(),
            qtype: qtype.to_owned(),
        };
        self.with(|log| {
            if log.per_resolver.len() < CAP || log.per_resolver.contains_key(&asked) {
                *log.per_resolver.entry(asked).or_default() += 1;
            }
        });
    }

    /// Counts a request as open until the guard is dropped.
    pub(crate) fn open(&self, host: &str, question: &str) -> OpenRequest {
        let question: String = question.chars().take(200).collect();
        self.with(|log| {
            let load = log.per_host.entry(host.to_owned()).or_default();
            load.requests += 1;
            load.open += 1;
            load.peak = load.peak.max(load.open);
            let now = Instant::now();
            load.recent.push_back(now);
            while load.recent.front().is_some_and(|t| now.duration_since(*t) >= Duration::from_secs(1)) {
                load.recent.pop_front();
            }
            load.busiest_second = load.busiest_second.max(load.recent.len().try_into().unwrap_or(u64::MAX));
            if load.questions.len() < CAP || load.questions.contains_key(&question) {
                *load.questions.entry(question).or_default() += 1;
            }
        });
        OpenRequest { log: self.clone(), host: host.to_owned() }
    }

    pub(crate) fn snapshot(&self) -> QueryLog {
        self.with(|log| log.clone())
    }

    pub(crate) fn reset(&self) {
        self.with(|log| *log = QueryLog::default());
    }
}

/// A request that is being answered.
pub(crate) struct OpenRequest {
    log: Log,
    host: String,
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.log.with(|log| {
            if let Some(load) = log.per_host.get_mut(&self.host) {
                load.open = load.open.saturating_sub(1);
            }
        });
    }
}
