//! Where servers stand in the network: origin AS and prefix of an address by DNS, and what a server calls itself.
//! In: addresses. Out: [`model::latency::ServerNetwork`]; remembered within their TTL. RFC 5001 (NSID), RFC 4892
//! (`hostname.bind`), and the DNS interface of Team Cymru's address database.

use crate::engine::Engine;
use crate::resolve::origin::{Origin, origin};
use crate::session::{QueryMode, Session};
use crate::wire::{Data, Name, Question, Rtype};
use futures::StreamExt;
use model::dns::Delegation;
use model::latency::ServerNetwork;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Class CH.
const CHAOS: u16 = 3;
/// Shortest and longest time an answer is remembered; identifiers of anycast servers are to be seen changing.
const KEPT: (u64, u64) = (60, 1800);
/// Addresses looked up for one delegation, and at once.
const MOST: usize = 64;
const AT_ONCE: usize = 8;
/// Bounds of one look-up of all: the result is optional, so it must not delay a scan.
const BUDGET: Duration = Duration::from_secs(5);
const QUESTIONS: u32 = 300;
/// Addresses remembered at most.
const REMEMBERED: usize = 20_000;

/// What is known of addresses, with the instant until which it holds.
pub(crate) type Networks = Arc<Mutex<HashMap<IpAddr, (Instant, ServerNetwork)>>>;

/// What a server calls itself over CHAOS, for those without NSID.
async fn hostname_bind(session: &Session, ip: IpAddr) -> Option<String> {
    let name = Name::from_text("hostname.bind").ok()?;
    let question = Question { class: CHAOS, edns: None, ..Question::new(name.clone(), Rtype::TXT) };
    let asked = session.ask(ip, &question, QueryMode::Exact).await;
    let reply = asked.reply().filter(|r| r.rcode == 0)?;
    let text = reply.answers_of(&name, Rtype::TXT).find_map(|rr| match &rr.data {
        Data::Txt(strings) => Some(String::from_utf8_lossy(&strings.concat()).trim().to_string()),
        _ => None,
    })?;
    let plain = !text.is_empty() && text.len() <= 255 && text.chars().all(|c| !c.is_control());
    plain.then_some(text)
}

impl Engine {
    /// Origin AS, prefix and identifier of every server address in the delegation's chain. One operation with bounds of
    /// its own; answers are remembered within their TTL, half an hour at most.
    pub async fn network(&self, delegation: &Delegation) -> Vec<ServerNetwork> {
        let nsid = |ip: IpAddr| {
            let own =
                delegation.servers.iter().filter(|s| s.address == Some(ip)).find_map(|s| s.nsid.clone());
            let chain = delegation.latency.servers.iter().filter(|s| s.address == ip);
            own.or_else(|| chain.flat_map(|s| &s.ids).next_back().cloned())
        };
        let answered = delegation.latency.servers.iter().filter(|s| s.ms.iter().any(Option::is_some));
        let addresses: BTreeSet<IpAddr> = answered.map(|s| s.address).collect();
        let mut settings = (*self.settings).clone();
        settings.budget = settings.budget.min(BUDGET);
        settings.max_queries = settings.max_queries.min(QUESTIONS);
        let session = self.warm(Arc::new(settings));
        let (session, mut known) = (&session, Vec::new());
        let mut unknown = Vec::new();
        {
            let mut kept = self.networks.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() > REMEMBERED {
                kept.retain(|_, (until, _)| Instant::now() < *until);
                if kept.len() > REMEMBERED {
                    kept.clear();
                }
            }
            for ip in addresses.into_iter().take(MOST) {
                match kept.get(&ip).filter(|(until, _)| Instant::now() < *until) {
                    Some((_, network)) => {
                        let id = nsid(ip).or_else(|| network.id.clone());
                        known.push(ServerNetwork { id, ..network.clone() });
                    }
                    None => unknown.push((ip, nsid(ip))),
                }
            }
        }
        let fresh: Vec<(u32, ServerNetwork)> = futures::stream::iter(unknown)
            .map(|(address, nsid)| async move { self.one_network(session, address, nsid).await })
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        self.keep(session);
        let mut kept = self.networks.lock().unwrap_or_else(PoisonError::into_inner);
        for (ttl, network) in fresh {
            let until = Instant::now() + Duration::from_secs(u64::from(ttl).clamp(KEPT.0, KEPT.1));
            kept.insert(network.address, (until, network.clone()));
            known.push(network);
        }
        known.sort_by_key(|n| n.address);
        known
    }

    async fn one_network(
        &self,
        session: &Session,
        address: IpAddr,
        nsid: Option<String>,
    ) -> (u32, ServerNetwork) {
        let asn_zone = &self.settings.asn_zone;
        let place = async {
            if asn_zone.is_empty() { Origin::default() } else { origin(session, asn_zone, address).await }
        };
        let id = async {
            match nsid {
                Some(id) => Some(id),
                None => hostname_bind(session, address).await,
            }
        };
        let (place, id) = futures::join!(place, id);
        let (prefix, asns) =
            place.known.map_or((None, Vec::new()), |k| (Some(k.prefix), k.asns.into_iter().collect()));
        // A database that gives no answer is left alone for a while.
        let ttl = if place.failed { u32::MAX } else { place.ttl };
        (ttl, ServerNetwork { address, asns, prefix, id })
    }
}
