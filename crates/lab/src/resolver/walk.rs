//! A resolver's way down the lab's tree: from the root servers, referral by referral (RFC 1034 5.3.3).
//! In: a question. Out: the authoritative answer, as a server with its faults gave it; none when no server of a set does.
//! The servers are asked inside the process, message by message: what is broken on the wire is broken here.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::PoisonError,
    time::Duration,
};

use hickory_proto::{
    op::{Edns, Message, MessageType, OpCode, Query, ResponseCode},
    rr::{Name, RData, RecordType},
};

use crate::{
    dns::respond::{Deed, respond},
    lab::Shared,
    names,
    world::Role,
};

/// Questions that one question of a client may cause.
const BUDGET: u32 = 80;
/// Referrals from the root to the answer.
const DEPTH: u32 = 20;
/// Nameservers whose addresses have to be found in order to find an address.
const NESTED: u32 = 4;
/// The longest that slow servers delay an answer in all.
const PATIENCE: Duration = Duration::from_secs(5);

/// One search.
pub(crate) struct Walk<'a> {
    shared: &'a Shared,
    vantage: IpAddr,
    left: u32,
    /// What slow servers cost; the answer is held back for so long.
    pub(crate) waited: Duration,
}

enum Said {
    Answer(Message),
    Referral(Name, Vec<String>, Message),
}

impl<'a> Walk<'a> {
    /// A search as seen from a resolver's address.
    pub(crate) fn new(shared: &'a Shared, vantage: IpAddr) -> Self {
        Self { shared, vantage, left: BUDGET, waited: Duration::ZERO }
    }

    /// Asks; `None` is what resolvers call SERVFAIL.
    pub(crate) fn ask(&mut self, name: &Name, rtype: RecordType) -> Option<Message> {
        self.search(name, rtype, 0)
    }

    fn search(&mut self, name: &Name, rtype: RecordType, nested: u32) -> Option<Message> {
        let mut zone = Name::root();
        let mut servers =
            self.shared.world.read().unwrap_or_else(PoisonError::into_inner).root_servers.clone();
        for _ in 0..DEPTH {
            match self.ask_set(&servers, &zone, name, rtype)? {
                Said::Answer(message) => return Some(message),
                Said::Referral(cut, hosts, message) => {
                    servers = self.servers(&hosts, &message, nested);
                    zone = cut;
                }
            }
        }
        None
    }

    /// The servers of the lab behind nameserver names: by glue, else by a search of their own.
    fn servers(&mut self, hosts: &[String], referral: &Message, nested: u32) -> Vec<String> {
        let mut found = Vec::new();
        for host in hosts {
            let wire = names::wire(host);
            let mut ips: Vec<Ipv4Addr> = addresses(&referral.additionals, &wire);
            if ips.is_empty() && nested < NESTED {
                let answer = self.search(&wire, RecordType::A, nested + 1);
                ips = answer.map(|m| addresses(&m.answers, &wire)).unwrap_or_default();
            }
            let world = self.shared.world.read().unwrap_or_else(PoisonError::into_inner);
            found.extend(ips.into_iter().filter_map(|ip| {
                let server = |h: &crate::world::Host| h.ip == ip && matches!(h.role, Role::Dns { .. });
                world.hosts.iter().find(|(_, h)| server(h)).map(|(name, _)| name.clone())
            }));
        }
        found
    }

    /// Asks the servers of a set, each resolver beginning with another one, until one says something useful.
    fn ask_set(&mut self, servers: &[String], zone: &Name, name: &Name, rtype: RecordType) -> Option<Said> {
        let first = match self.vantage {
            IpAddr::V4(ip) => usize::from(ip.octets()[3]),
            IpAddr::V6(_) => 0,
        };
        for i in 0..servers.len() {
            let server = &servers[(first + i) % servers.len()];
            // Twice: a datagram may be lost.
            for _ in 0..2 {
                let Some(message) = self.exchange(server, name, rtype) else { continue };
                if let Some(said) = useful(message, zone, name) {
                    return Some(said);
                }
                break;
            }
        }
        None
    }

    /// UDP, then TCP for truncated answers, and without EDNS for servers that don't understand it.
    fn exchange(&mut self, server: &str, name: &Name, rtype: RecordType) -> Option<Message> {
        let mut message = self.send(server, name, rtype, true, false)?;
        let edns = message.metadata.response_code != ResponseCode::FormErr;
        if !edns {
            message = self.send(server, name, rtype, false, false)?;
        }
        if message.metadata.truncation {
            message = self.send(server, name, rtype, edns, true)?;
        }
        Some(message)
    }

    fn send(
        &mut self,
        server: &str,
        name: &Name,
        rtype: RecordType,
        edns: bool,
        tcp: bool,
    ) -> Option<Message> {
        self.left = self.left.checked_sub(1)?;
        let id: u16 = rand::random();
        let mut question = Message::new(id, MessageType::Query, OpCode::Query);
        question.add_query(Query::query(name.clone(), rtype));
        if edns {
            let mut opt = Edns::new();
            opt.set_max_payload(1232);
            opt.set_dnssec_ok(true);
            question.set_edns(opt);
        }
        let reaction =
            respond(self.shared, server, &question.to_vec().ok()?, tcp, SocketAddr::new(self.vantage, 0));
        self.waited = (self.waited + reaction.delay).min(PATIENCE);
        let Deed::Send(bytes) = reaction.deed else { return None };
        let message = Message::from_vec(&bytes).ok()?;
        let asked = message.queries.first()?;
        let ours = message.metadata.id == id
            && asked.query_type() == rtype
            && asked.name().to_lowercase() == name.to_lowercase();
        ours.then_some(message)
    }
}

fn addresses(records: &[hickory_proto::rr::Record], host: &Name) -> Vec<Ipv4Addr> {
    let of_host = records.iter().filter(|r| r.name.to_lowercase() == *host);
    of_host.filter_map(|r| if let RData::A(a) = &r.data { Some(a.0) } else { None }).collect()
}

/// An answer with authority, or a referral that leads downwards; everything else is lame.
fn useful(message: Message, zone: &Name, name: &Name) -> Option<Said> {
    if !matches!(message.metadata.response_code, ResponseCode::NoError | ResponseCode::NXDomain) {
        return None;
    }
    if message.metadata.authoritative {
        return Some(Said::Answer(message));
    }
    let name = name.to_lowercase();
    let downwards = |owner: &Name| zone.zone_of(owner) && owner != zone && owner.zone_of(&name);
    let mut cut = None;
    let mut hosts = Vec::new();
    for record in &message.authorities {
        let owner = record.name.to_lowercase();
        if let RData::NS(ns) = &record.data
            && downwards(&owner)
        {
            cut = Some(owner);
            hosts.push(names::text(&ns.0));
        }
    }
    Some(Said::Referral(cut?, hosts, message))
}
