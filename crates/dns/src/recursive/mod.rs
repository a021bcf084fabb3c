//! Asking recursive resolvers, as any client would (RD=1): DNS over HTTPS first (RFC 8484), then over TLS (RFC 7858),
//! then UDP and TCP, over hickory-resolver's connections. In: a resolver's row and a question. Out: a
//! [`ResolverAnswer`], always; transports that failed are named in it.

mod guarded;
mod local_http;
mod table;
mod transports;

pub use table::{own_resolvers, shipped};

use crate::error::Error;
use crate::input::{wire_name, wire_type};
use crate::present;
use crate::session::transport;
use crate::settings::Settings;
use crate::sockets::System;
use crate::wire::{Edns, Question, Reply, Rtype, rcode_text};
use guarded::Target;
use jiff::Timestamp;
use model::compare::{Carried, ExtendedError, ResolverAnswer};
use model::names::Fqdn;
use model::resolvers::PublicResolver;
use net::{AddressMap, Dialer, Networks};
use std::net::IpAddr;
use std::time::{Duration, Instant};
use transports::{Exchange, Failure};

/// Option code of extended errors (RFC 8914).
const EXTENDED_ERROR: u16 = 15;
/// Most octets of an answer: a DNS message has no more.
pub(crate) const CAP: usize = 65_535;

/// How long one way to a resolver may take.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// DNS over HTTPS, connection included.
    pub https: Duration,
    /// DNS over TLS, connection included.
    pub tls: Duration,
    /// UDP and TCP, each address.
    pub plain: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience {
            https: Duration::from_secs(4),
            tls: Duration::from_secs(3),
            plain: Duration::from_millis(2500),
        }
    }
}

/// Asks recursive resolvers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Recursive {
    dialer: Dialer,
    port: u16,
    allow_private: bool,
    networks: Networks,
    address_map: AddressMap,
    patience: Patience,
}

impl Recursive {
    /// Through this way out; port, address map and whether private targets are allowed as the engine has them.
    pub fn new(dialer: Dialer, settings: &Settings) -> Self {
        Recursive {
            dialer,
            port: settings.port,
            allow_private: settings.allow_private,
            networks: settings.networks.clone(),
            address_map: settings.address_map.clone(),
            patience: Patience::default(),
        }
    }

    /// With other bounds.
    pub fn with_patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// For the machine's own resolvers: they are on port 53, most of them on a private or loopback address.
    pub fn for_own(&self, port: u16) -> Self {
        Recursive { port, allow_private: true, address_map: AddressMap::default(), ..self.clone() }
    }

    /// Asks one resolver; `now` is stamped on the answer.
    ///
    /// # Errors
    /// [`Error::Name`] and [`Error::Type`]; a resolver that fails is an answer.
    pub async fn ask(
        &self,
        row: &PublicResolver,
        name: &Fqdn,
        rtype: &str,
        now: Timestamp,
    ) -> Result<ResolverAnswer, Error> {
        let mut question = Question::new(wire_name(name.as_str())?, wire_type(rtype)?);
        question.recursion = true;
        question.edns = Some(Edns { options: Vec::new(), ..Edns::ordinary(false) });
        let mut failures: Vec<String> = Vec::new();
        for way in ways(row) {
            let start = Instant::now();
            let (carried, result) = self.go(&way, &question).await;
            match result {
                Ok(reply) => {
                    let mut answer = answer(row, &reply, now);
                    answer.carried = Some(carried);
                    answer.latency_ms = Some(crate::resolve::classify::milliseconds(start.elapsed()));
                    answer.error = (!failures.is_empty()).then(|| failures.join("; "));
                    return Ok(answer);
                }
                Err(why) => failures.push(format!("{}: {why}", carried.label())),
            }
        }
        if failures.is_empty() {
            failures.push("its row names no way to ask it".into());
        }
        Ok(model::doh_json::failed(&row.id, &failures.join("; "), now))
    }

    async fn go(&self, way: &Way<'_>, question: &Question) -> (Carried, Result<Reply, String>) {
        let within = |limit| Exchange { dialer: &self.dialer, question, limit };
        match way {
            Way::Https(url) if url.starts_with("http://") => {
                let limit = self.patience.https;
                let answer = tokio::time::timeout(limit, local_http::ask(&self.dialer, url, question)).await;
                (Carried::Doh, answer.unwrap_or_else(|_| Err(Failure::Silent.to_string())))
            }
            Way::Https(url) => {
                let answer = within(self.patience.https).https(url).await;
                (Carried::Doh, answer.map_err(|f| f.to_string()))
            }
            Way::Tls(host) => {
                let answer = within(self.patience.tls).tls(host).await;
                (Carried::Dot, answer.map_err(|f| f.to_string()))
            }
            Way::Plain(ip) => self.plain((*ip, self.port), &within(self.patience.plain)).await,
        }
    }

    /// UDP, and TCP where the answer was truncated or UDP brought none (RFC 1035 section 4.2, RFC 7766).
    async fn plain(&self, to: (IpAddr, u16), exchange: &Exchange<'_>) -> (Carried, Result<Reply, String>) {
        let target = Target::Address {
            allow_private: self.allow_private,
            networks: self.networks.clone(),
            map: self.address_map.clone(),
        };
        let truncated = match exchange.udp(target.clone(), to).await {
            Ok(reply) if !reply.tc => return (Carried::Udp, Ok(reply)),
            Err(Failure::Other(why)) => return (Carried::Udp, Err(why)),
            // hickory refuses a whole message for one record with malformed data. Such records are what a user
            // looks for, so the engine's own reader, which keeps them, reads the answer.
            Err(Failure::Undecodable(why)) => {
                let dialled = self.address_map.dial(to.into());
                let again = transport::tcp(&System, dialled, exchange.question, true, exchange.limit).await;
                return (Carried::Tcp, again.result.map_err(|_| Failure::Undecodable(why).to_string()));
            }
            Ok(_) => true,
            Err(Failure::Silent) => false,
        };
        let over_tcp = exchange.tcp(target, to).await.map_err(|f| f.to_string());
        let words = |f| if truncated { format!("truncated over UDP, and TCP: {f}") } else { f };
        (Carried::Tcp, over_tcp.map_err(words))
    }
}

enum Way<'a> {
    Https(&'a str),
    Tls(&'a str),
    Plain(IpAddr),
}

/// The ways to a resolver in the order in which they are tried; of its addresses one of each family, IPv4 first.
fn ways(row: &PublicResolver) -> Vec<Way<'_>> {
    let mut ways: Vec<Way<'_>> = Vec::new();
    ways.extend(row.doh.as_deref().map(Way::Https));
    ways.extend(row.dot.as_deref().map(Way::Tls));
    ways.extend(row.addresses.iter().find(|a| a.is_ipv4()).map(|a| Way::Plain(*a)));
    ways.extend(row.addresses.iter().find(|a| a.is_ipv6()).map(|a| Way::Plain(*a)));
    ways
}

/// The reply in the model's words.
fn answer(row: &PublicResolver, reply: &Reply, now: Timestamp) -> ResolverAnswer {
    let shown: Vec<_> = reply.answers.iter().filter(|rr| rr.rtype != Rtype::RRSIG).cloned().collect();
    let records = present::records(&shown);
    let options = reply.edns.as_ref().map(|e| e.options.as_slice()).unwrap_or_default();
    let errors = options.iter().filter(|(code, _)| *code == EXTENDED_ERROR).filter_map(|(_, data)| {
        let code = u16::from_be_bytes([*data.first()?, *data.get(1)?]);
        let text = String::from_utf8_lossy(&data[2..]).trim_end_matches('\0').chars().take(200).collect();
        Some(ExtendedError { code, text })
    });
    ResolverAnswer {
        resolver: row.id.clone(),
        carried: None,
        rcode: Some(rcode_text(reply.rcode)),
        ttl: records.iter().map(|r| r.ttl).min(),
        records,
        soa: reply.authority.iter().find_map(present::soa),
        errors: errors.collect(),
        latency_ms: None,
        asked_at: now,
        error: None,
    }
}

/// The bytes of a question, and whether a reply is to it.
fn encoded(question: &Question, id: u16) -> Vec<u8> {
    question.encode(id, true, || false).0
}

/// Reads a message and checks that it answers the question. Its id was checked where the connection carries several.
fn checked(message: &[u8], question: &Question) -> Result<Reply, String> {
    let reply = Reply::read(message).map_err(|e| format!("what came is no DNS message ({e})"))?;
    let exact = question.name.octets();
    if !transport::answers(&reply, question, exact).0 {
        return Err("what came is not the answer to the question".into());
    }
    Ok(reply)
}
