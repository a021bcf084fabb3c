//! Records of a zone as each of its authoritative servers has them now. In: a zone, names and types. Out: one list of
//! records per server × address, with what it did not answer. Nothing comes from a cache.

use crate::delegation::child_set;
use crate::delegation::trace::{ServerReply, ask_all, question};
use crate::engine::{Engine, stuck_error, within_memory};
use crate::error::Error;
use crate::input::{wire_name, wire_type};
use crate::present;
use crate::session::{QueryMode, Session};
use crate::wire::{Name, Rtype};
use futures::stream::{self, StreamExt};
use model::dns::{AnswerKind, NsName, Record, Soa};
use model::names::Fqdn;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Most questions of one look; each is asked of every server × address.
pub const MAX_QUESTIONS: usize = 160;
/// Questions that are under way at the same time.
const AT_ONCE: usize = 8;

/// One server × address and what it has.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct LiveServer {
    /// Host name.
    pub server: String,
    /// Address; `None` when the name has none.
    pub address: Option<IpAddr>,
    /// SOA serial.
    pub serial: Option<u32>,
    /// Records of the names asked for, and NS or DNAME records above that hide them.
    pub records: Vec<Record>,
    /// Questions (name, type) without an answer that counts, and why.
    pub unanswered: Vec<(String, String, AnswerKind)>,
    /// True when at least one answer came with authority.
    pub answered: bool,
}

/// A zone as its servers have it.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct LiveZone {
    /// The zone that holds the name asked for: above it, where the name is not delegated.
    pub zone: String,
    /// Every server × address.
    pub servers: Vec<LiveServer>,
    /// SOA of a negative answer, else of the apex: what resolvers cache "does not exist" by.
    pub soa: Option<Soa>,
    /// Questions sent.
    pub queries: u32,
    /// What holds for the whole.
    pub notes: Vec<String>,
}

impl Engine {
    /// Asks every address of every server of `zone` each question. Questions for names outside the zone are left out.
    ///
    /// # Errors
    /// [`Error::Name`], [`Error::Type`], [`Error::Unreachable`] and the errors of a network that is out of reach; servers
    /// that fail are part of the result.
    pub async fn live_records(&self, zone: &Fqdn, questions: &[(String, String)]) -> Result<LiveZone, Error> {
        let apex = wire_name(zone.as_str())?;
        let mut asked = Vec::new();
        for (name, rtype) in questions.iter().take(MAX_QUESTIONS) {
            let pair = (wire_name(name)?, wire_type(rtype)?);
            if pair.0.is_at_or_below(&apex) && !asked.contains(&pair) {
                asked.push(pair);
            }
        }
        let session = self.check_session();
        let found = session.resolve(apex.clone(), Rtype::SOA, false, Vec::new()).await;
        let found = found.map_err(|stuck| stuck_error(&session, &apex, &stuck))?;
        let servers = all_servers(&session, &found.zone).await;
        let soa = question(&found.zone, Rtype::SOA);
        let soas = ask_all(&session, &found.zone, &servers, &soa, QueryMode::Resolver).await;
        let mut live: Vec<LiveServer> = soas.iter().map(empty).collect();
        let mut negative: Option<Soa> = None;
        let each = asked.into_iter().map(|(name, rtype)| {
            let (session, zone, servers) = (&session, &found.zone, &servers);
            async move {
                let replies =
                    ask_all(session, zone, servers, &question(&name, rtype), QueryMode::Resolver).await;
                (name, rtype, replies)
            }
        });
        let mut answers = stream::iter(each).buffered(AT_ONCE);
        while let Some((name, rtype, replies)) = answers.next().await {
            // The order of servers and addresses is that of `ask_all` for every question.
            for (server, reply) in live.iter_mut().zip(&replies) {
                server.add(reply, &name, rtype);
                if negative.is_none() && matches!(reply.kind, AnswerKind::NxDomain | AnswerKind::NoData) {
                    negative = reply.asked.as_ref().and_then(|a| a.reply()).and_then(present::soa_of);
                }
            }
        }
        drop(answers);
        within_memory(&session, &apex)?;
        let own = soas.iter().find_map(|s| s.asked.as_ref()?.reply().and_then(present::soa_of));
        Ok(LiveZone {
            zone: found.zone.to_string(),
            servers: live,
            soa: negative.or(own),
            queries: session.queries(),
            notes: session.notes(),
        })
    }
}

/// Every server of either side of the delegation, with addresses.
pub(super) async fn all_servers(session: &Session, zone: &Name) -> Vec<NsName> {
    let (_, known) = session.closest_zone(zone);
    let mut servers = (*known).clone();
    session.complete(&mut servers).await;
    let child = child_set(session, zone, &servers).await;
    let mut more: Vec<NsName> = child
        .into_iter()
        .filter(|n| servers.iter().all(|s| s.name != *n))
        .map(|name| NsName { name, addresses: Vec::new(), glue: false })
        .collect();
    session.complete(&mut more).await;
    servers.extend(more);
    servers
}

fn empty(soa: &ServerReply) -> LiveServer {
    let own = soa.asked.as_ref().and_then(|a| a.reply()).and_then(present::soa_of);
    LiveServer {
        server: soa.server.clone(),
        address: soa.address,
        serial: own.filter(|_| soa.kind.is_authoritative()).map(|s| s.serial),
        records: Vec::new(),
        unanswered: Vec::new(),
        answered: false,
    }
}

impl LiveServer {
    fn add(&mut self, reply: &ServerReply, name: &Name, rtype: Rtype) {
        let message = reply.asked.as_ref().and_then(|a| a.reply());
        let found: Vec<Record> = match (reply.kind, message) {
            (AnswerKind::Answer, Some(m)) => {
                let counts = |rr: &&crate::wire::Rr| {
                    rr.rtype == Rtype::DNAME
                        || rr.name == *name && (rr.rtype == rtype || rr.rtype == Rtype::CNAME)
                };
                m.answers.iter().filter(counts).map(present::record).collect()
            }
            // A delegation below the zone: the name is not this zone's.
            (AnswerKind::Referral, Some(m)) => {
                m.authority.iter().filter(|rr| rr.rtype == Rtype::NS).map(present::record).collect()
            }
            (kind, _) if kind.is_authoritative() => Vec::new(),
            (kind, _) => {
                self.unanswered.push((name.to_string(), rtype.to_string(), kind));
                return;
            }
        };
        self.answered = true;
        let known: BTreeSet<Record> = self.records.iter().cloned().collect();
        self.records.extend(found.into_iter().filter(|r| !known.contains(r)));
    }
}
