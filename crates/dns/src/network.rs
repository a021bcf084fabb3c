//! Where servers stand in the network: origin AS and prefix of an address by DNS, and what a server calls itself.
//! In: addresses. Out: [`model::legacy::ServerNetwork`]; remembered within their TTL. RFC 5001 (NSID), RFC 4892
//! (`hostname.bind`), and the DNS interface of Team Cymru's address database.

use crate::checks::address::{reverse_name, within};
use crate::engine::Engine;
use crate::session::{Manner, Session};
use crate::wire::{Data, Name, Question, Rtype};
use futures::StreamExt;
use model::dns::{AnswerKind, Delegation};
use model::legacy::ServerNetwork;
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
/// Bounds of one look-up of all: places are nice to know, nobody waits for them.
const BUDGET: Duration = Duration::from_secs(5);
const QUESTIONS: u32 = 300;
/// Addresses remembered at most.
const REMEMBERED: usize = 20_000;

/// What is known of addresses, with the instant until which it holds.
pub(crate) type Networks = Arc<Mutex<HashMap<IpAddr, (Instant, ServerNetwork)>>>;

/// What the address database says of an address: Connectivity04 of 2024, "Cymru prefix lookup".
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The most specific prefix and the systems that announce it.
    pub known: Option<Announced>,
    /// The database gave nothing usable, or something wrong beside what is usable.
    pub failed: bool,
    /// Seconds for which that holds.
    pub ttl: u32,
}

/// A prefix and who announces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Announced {
    pub prefix: String,
    pub length: u8,
    pub asns: BTreeSet<u32>,
}

/// `ASN [ASN …] | prefix | …` by origin zone (the DNS interface Team Cymru invented).
pub(crate) async fn origin(session: &Session, asn_zone: &str, ip: IpAddr) -> Origin {
    let failed = Origin { failed: true, ..Origin::default() };
    let (v4, v6) = (format!("origin.{asn_zone}"), format!("origin6.{asn_zone}"));
    let Some(name) = reverse_name(ip, &v4, &v6) else { return failed };
    // An alias here leads away from the database: not followed.
    let Ok(found) = session.resolve(name.clone(), Rtype::TXT, false, Vec::new()).await else {
        return failed;
    };
    match found.kind {
        AnswerKind::NxDomain | AnswerKind::NoData => return Origin::default(),
        AnswerKind::Answer => {}
        // A resolver between us and the database answers without AA.
        AnswerKind::NonAuthoritative if found.asked.reply().is_some_and(|r| !r.answers.is_empty()) => {}
        _ => return failed,
    }
    let Some(reply) = found.asked.reply() else { return failed };
    let texts: Vec<String> = reply
        .answers_of(&name, Rtype::TXT)
        .filter_map(|rr| match &rr.data {
            Data::Txt(strings) => Some(String::from_utf8_lossy(&strings.concat()).into_owned()),
            _ => None,
        })
        .collect();
    let ttl = reply.answers_of(&name, Rtype::TXT).map(|rr| rr.ttl).min().unwrap_or(0);
    if texts.is_empty() { failed } else { Origin { ttl, ..read_rows(ip, &texts) } }
}

/// Every row is judged by itself: text of another kind is passed over, a row that cannot be read or is about another
/// place in the address space is an error of the database, and of the rest the most specific counts.
fn read_rows(ip: IpAddr, texts: &[String]) -> Origin {
    let mut origin = Origin::default();
    for text in texts.iter().filter(|text| text.contains('|')) {
        let parsed = parse_origin(text).filter(|(network, row)| within(ip, *network, row.length));
        let Some((_, row)) = parsed else {
            origin.failed = true;
            continue;
        };
        if origin.known.as_ref().is_none_or(|best| best.length < row.length) {
            origin.known = Some(row);
        }
    }
    origin
}

/// A row of the database; `None` when it cannot be read.
fn parse_origin(text: &str) -> Option<(IpAddr, Announced)> {
    let mut fields = text.split('|').map(str::trim);
    let asns: BTreeSet<u32> = fields.next()?.split_whitespace().filter_map(|a| a.parse().ok()).collect();
    let prefix = fields.next()?.to_string();
    let (ip, length) = prefix.split_once('/')?;
    let (network, length): (IpAddr, u8) = (ip.parse().ok()?, length.parse().ok()?);
    let fits = length <= if network.is_ipv4() { 32 } else { 128 };
    (!asns.is_empty() && fits).then_some((network, Announced { prefix, length, asns }))
}

/// What a server calls itself over CHAOS, for those without NSID.
async fn hostname_bind(session: &Session, ip: IpAddr) -> Option<String> {
    let name = Name::from_text("hostname.bind").ok()?;
    let question = Question { class: CHAOS, edns: None, ..Question::new(name.clone(), Rtype::TXT) };
    let asked = session.ask(ip, &question, Manner::Exact).await;
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
            let chain = delegation.legacy.servers.iter().filter(|s| s.address == ip);
            own.or_else(|| chain.flat_map(|s| &s.ids).next_back().cloned())
        };
        let answered = delegation.legacy.servers.iter().filter(|s| s.ms.iter().any(Option::is_some));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_database_are_read_or_refused() {
        let (_, row) = parse_origin("64496 64500 | 192.0.2.0/24 | ZZ | test | 2020-01-01").unwrap();
        let asns = BTreeSet::from([64496, 64500]);
        assert_eq!(row, Announced { prefix: "192.0.2.0/24".into(), length: 24, asns });
        for bad in ["", "NA | 192.0.2.0/24", "1 | x/24", "1", "1 | 192.0.2.0", "1 | 192.0.2.0/33"] {
            assert_eq!(parse_origin(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_row_about_another_place_is_an_error_and_does_not_hide_the_others() {
        let ip: IpAddr = "192.0.2.7".parse().unwrap();
        let read = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|t| (*t).to_string()).collect();
            let origin = read_rows(ip, &texts);
            (origin.known.map(|k| k.prefix), origin.failed)
        };
        assert_eq!(read(&["1 | 192.0.0.0/16", "2 | 192.0.2.0/24"]), (Some("192.0.2.0/24".into()), false));
        assert_eq!(read(&["1 | 198.51.100.0/24", "2 | 192.0.2.0/24"]), (Some("192.0.2.0/24".into()), true));
        assert_eq!(read(&["1 | 198.51.100.0/24"]), (None, true));
        assert_eq!(read(&["hello", "v=spf1 -all"]), (None, false));
        assert_eq!(read(&["1 | everywhere", "2 | 192.0.2.0/24"]), (Some("192.0.2.0/24".into()), true));
        assert_eq!(read(&["| 192.0.2.0/24"]), (None, true));
    }
}
