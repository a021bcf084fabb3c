//! Tiny name servers on loopback for tests, with faults on the wire. They answer from a few zone-file lines and know
//! nothing of the crate under test; messages are built with hickory.

#![allow(dead_code)]

use dns::{AddressMap, RootHints, Settings, TrustAnchors};
use hickory_proto::op::{Message, MessageType, OpCode, ResponseCode};
use hickory_proto::rr::{Name, RData, Record, RecordType, rdata};
use model::dns::NsName;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};

/// A root that delegates `test` to two servers.
pub const ROOT: (&str, &str) = (
    "",
    "@ 60 SOA a.root.example. host.example. 1 2 3 4 5
     @ 60 NS a.root.example.
     test. 60 NS ns1.test.
     test. 60 NS ns2.test.
     ns1.test. 60 A 192.0.2.11
     ns2.test. 60 A 192.0.2.12",
);

/// `test`: addresses, aliases, alias loops, delegations in a circle.
pub const TLD: (&str, &str) = (
    "test",
    "@ 60 SOA ns1.test. host.test. 7 2 3 4 5
     @ 60 NS ns1.test.
     @ 60 NS ns2.test.
     ns1 60 A 192.0.2.11
     ns2 60 A 192.0.2.12
     www 60 A 198.51.100.1
     alias 60 CNAME www.test.
     loop-a 60 CNAME loop-b.test.
     loop-b 60 CNAME loop-a.test.
     child 60 NS ns.child.test.
     ns.child 60 A 192.0.2.21
     circle-a 60 NS ns.circle-b.test.
     circle-b 60 NS ns.circle-a.test.",
);

/// What a server does wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    None,
    /// Never answers, over UDP or TCP.
    Drop,
    /// Answers over TCP only.
    DropUdp,
    /// Takes its time.
    Delay(Duration),
    /// Takes its time, and is one of two machines in turn (NSID).
    Anycast(Duration),
    /// Sets TC over UDP.
    Truncate,
    /// A wrong id first, then the answer.
    WrongIdFirst,
    /// Only wrong ids.
    WrongId,
    /// Another name in the question section.
    WrongQuestion,
    /// Lower-cases the question.
    FoldCase,
    /// Answers from another port.
    WrongSource,
    /// Answers from another address of the same machine.
    OtherAddress,
    /// Sends octets that are no message.
    Garbage,
    /// Refers to the root.
    Upward,
    /// Refers to its own zone.
    SelfReferral,
    /// FORMERR for EDNS.
    FormErrOnEdns,
    /// Drops questions with EDNS.
    DropEdns,
    /// REFUSED.
    Refused,
    /// Answers without AA.
    NoAuthority,
    /// There is no way to the address from here.
    NoRoute,
    /// Whatever a test makes of the right answer.
    Script(Script),
}

/// What a test makes of the right answer to a question; `None` is silence.
#[derive(Debug, Clone, Copy)]
pub struct Script(pub fn(&Message, Message) -> Option<Message>);

impl PartialEq for Script {
    fn eq(&self, _: &Self) -> bool {
        false
    }
}

/// A server: its address in the model world, its zones as `(origin, lines)`, its fault.
pub struct Server {
    pub address: &'static str,
    pub zones: Vec<(&'static str, &'static str)>,
    pub fault: Fault,
}

pub fn server(address: &'static str, zones: &[(&'static str, &'static str)]) -> Server {
    Server { address, zones: zones.to_vec(), fault: Fault::None }
}

pub fn faulty(address: &'static str, zones: &[(&'static str, &'static str)], fault: Fault) -> Server {
    Server { address, zones: zones.to_vec(), fault }
}

/// The running servers.
pub struct World {
    pub map: AddressMap,
    pub questions: Arc<AtomicUsize>,
    pub roots: Vec<NsName>,
}

struct Zone {
    origin: Name,
    records: Vec<Record>,
}

/// `name ttl type data` per line; names without a final dot are below the origin, `@` is the origin.
fn zone(origin: &str, text: &str) -> Zone {
    let origin = Name::from_ascii(format!("{}.", origin.trim_end_matches('.'))).unwrap();
    let records = text.lines().map(str::trim).filter(|l| !l.is_empty()).map(|line| {
        let mut words = line.splitn(4, char::is_whitespace);
        let (owner, ttl, rtype, data) = (
            words.next().unwrap(),
            words.next().unwrap(),
            words.next().unwrap(),
            words.next().unwrap().trim(),
        );
        let owner = match owner {
            "@" => origin.clone(),
            o if o.ends_with('.') => Name::from_ascii(o).unwrap(),
            o => Name::from_ascii(o).unwrap().append_domain(&origin).unwrap(),
        };
        let rtype: RecordType = rtype.parse().unwrap();
        Record::from_rdata(owner, ttl.parse().unwrap(), rdata(rtype, data))
    });
    Zone { records: records.collect(), origin }
}

/// Data of a record; names in it may be ones that IDNA forbids.
fn rdata(rtype: RecordType, data: &str) -> RData {
    let words: Vec<&str> = data.split_whitespace().collect();
    let name = |i: usize| Name::from_ascii(words[i]).unwrap();
    match rtype {
        RecordType::NS => RData::NS(rdata::NS(name(0))),
        RecordType::MX => RData::MX(rdata::MX::new(words[0].parse().unwrap(), name(1))),
        RecordType::SOA => {
            let number = |i: usize| words[i].parse::<u32>().unwrap();
            let timers = [number(3), number(4), number(5)].map(|n| n as i32);
            RData::SOA(rdata::SOA::new(
                name(0),
                name(1),
                number(2),
                timers[0],
                timers[1],
                timers[2],
                number(6),
            ))
        }
        _ => RData::try_from_str(rtype, data).unwrap(),
    }
}

pub async fn world(root_addresses: &[&str], servers: Vec<Server>) -> World {
    let mut map = Vec::new();
    let questions = Arc::new(AtomicUsize::new(0));
    for s in servers {
        let address = SocketAddr::new(s.address.parse().unwrap(), 53);
        if s.fault == Fault::NoRoute {
            // Link-local by an interface that is not there: the kernel says so at once.
            map.push((address, "[fe80::1%4294967]:53".parse().unwrap()));
            continue;
        }
        let (udp, tcp) = loop {
            let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            if let Ok(tcp) = TcpListener::bind(udp.local_addr().unwrap()).await {
                break (udp, tcp);
            }
        };
        let at = udp.local_addr().unwrap();
        map.push((address, at));
        let zones: Arc<Vec<Zone>> = Arc::new(s.zones.iter().map(|(o, t)| zone(o, t)).collect());
        tokio::spawn(serve_udp(udp, zones.clone(), s.fault, questions.clone()));
        tokio::spawn(serve_tcp(tcp, zones, s.fault));
    }
    let addresses: Vec<IpAddr> = root_addresses.iter().map(|a| a.parse().unwrap()).collect();
    World {
        map: map.into_iter().collect::<AddressMap>(),
        questions,
        roots: vec![NsName { name: "a.root.example".into(), addresses, glue: true }],
    }
}

impl World {
    pub fn settings(&self) -> Settings {
        Settings {
            root_hints: RootHints::new(self.roots.clone()),
            timeout: Duration::from_millis(600),
            allow_private: true,
            address_map: self.map.clone(),
            trust_anchors: TrustAnchors::none(),
            ..Settings::default()
        }
    }

    pub fn engine(&self) -> dns::Engine {
        dns::Engine::new(self.settings())
    }
}

async fn serve_udp(socket: UdpSocket, zones: Arc<Vec<Zone>>, fault: Fault, questions: Arc<AtomicUsize>) {
    let socket = Arc::new(socket);
    let mut buffer = vec![0; 4096];
    while let Ok((length, peer)) = socket.recv_from(&mut buffer).await {
        questions.fetch_add(1, Ordering::Relaxed);
        let query = buffer[..length].to_vec();
        let (socket, zones) = (socket.clone(), zones.clone());
        tokio::spawn(async move {
            if let Fault::Delay(d) | Fault::Anycast(d) = fault {
                tokio::time::sleep(d).await;
            }
            for (bytes, elsewhere) in replies(&query, &zones, fault, true) {
                if elsewhere {
                    let from = if fault == Fault::OtherAddress { "127.0.0.2:0" } else { "127.0.0.1:0" };
                    let other = UdpSocket::bind(from).await.unwrap();
                    let _ = other.send_to(&bytes, peer).await;
                } else {
                    let _ = socket.send_to(&bytes, peer).await;
                }
            }
        });
    }
}

async fn serve_tcp(listener: TcpListener, zones: Arc<Vec<Zone>>, fault: Fault) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let zones = zones.clone();
        tokio::spawn(async move {
            while let Ok(length) = stream.read_u16().await {
                let mut query = vec![0; length as usize];
                if stream.read_exact(&mut query).await.is_err() {
                    return;
                }
                if let Fault::Delay(d) | Fault::Anycast(d) = fault {
                    tokio::time::sleep(d).await;
                }
                for (bytes, _) in replies(&query, &zones, fault, false) {
                    let _ = stream.write_u16(bytes.len() as u16).await;
                    let _ = stream.write_all(&bytes).await;
                }
            }
        });
    }
}

/// The messages to send back; the flag says from elsewhere.
fn replies(query: &[u8], zones: &[Zone], fault: Fault, udp: bool) -> Vec<(Vec<u8>, bool)> {
    let Ok(query) = Message::from_vec(query) else { return Vec::new() };
    let question = query.queries[0].clone();
    let mut reply = Message::new(query.metadata.id, MessageType::Response, OpCode::Query);
    reply.add_query(question.clone());
    let edns = query.edns.is_some();
    if edns && fault != Fault::FormErrOnEdns {
        reply.set_edns(hickory_proto::op::Edns::new());
    }
    answer(&mut reply, &question.name, question.query_type, zones);
    let one = |m: &Message| vec![(m.to_vec().unwrap(), false)];
    match fault {
        Fault::Drop => Vec::new(),
        Fault::DropUdp if udp => Vec::new(),
        Fault::DropEdns if edns => Vec::new(),
        Fault::Truncate if udp => {
            reply.answers.clear();
            reply.authorities.clear();
            reply.metadata.truncation = true;
            one(&reply)
        }
        Fault::WrongIdFirst | Fault::WrongId => {
            let mut wrong = reply.clone();
            wrong.metadata.id = wrong.metadata.id.wrapping_add(1);
            let mut list = one(&wrong);
            if fault == Fault::WrongIdFirst {
                list.extend(one(&reply));
            }
            list
        }
        Fault::WrongQuestion => {
            reply.queries[0].name = Name::from_ascii("other.example.").unwrap();
            one(&reply)
        }
        Fault::FoldCase => {
            reply.queries[0].name = reply.queries[0].name.to_lowercase();
            one(&reply)
        }
        Fault::WrongSource | Fault::OtherAddress if udp => vec![(reply.to_vec().unwrap(), true)],
        Fault::Garbage => vec![(vec![0xFF; 40], false), (vec![1, 2, 3], false)],
        Fault::Upward | Fault::SelfReferral => {
            reply.answers.clear();
            reply.authorities.clear();
            reply.metadata.authoritative = false;
            let to = if fault == Fault::Upward { Name::root() } else { zones[0].origin.clone() };
            let ns = RData::try_from_str(RecordType::NS, "a.root.example.").unwrap();
            reply.add_authority(Record::from_rdata(to, 60, ns));
            one(&reply)
        }
        Fault::FormErrOnEdns if edns => {
            reply.answers.clear();
            reply.authorities.clear();
            reply.metadata.response_code = ResponseCode::FormErr;
            one(&reply)
        }
        Fault::Refused => {
            reply.answers.clear();
            reply.authorities.clear();
            reply.metadata.authoritative = false;
            reply.metadata.response_code = ResponseCode::Refused;
            one(&reply)
        }
        Fault::NoAuthority => {
            reply.metadata.authoritative = false;
            one(&reply)
        }
        Fault::Anycast(_) if edns => {
            static TURN: AtomicUsize = AtomicUsize::new(0);
            let site = format!("site-{}", TURN.fetch_add(1, Ordering::Relaxed) % 2);
            let nsid = hickory_proto::rr::rdata::opt::EdnsOption::Unknown(3, site.into_bytes());
            reply.edns.get_or_insert_with(hickory_proto::op::Edns::new).options_mut().insert(nsid);
            one(&reply)
        }
        Fault::Script(Script(make)) => make(&query, reply).iter().flat_map(one).collect(),
        _ => one(&reply),
    }
}

/// RFC 1034 section 4.3.2, for small zones without wildcards.
fn answer(reply: &mut Message, name: &Name, rtype: RecordType, zones: &[Zone]) {
    let best = zones.iter().filter(|z| z.origin.zone_of(name)).max_by_key(|z| z.origin.num_labels());
    let Some(zone) = best else {
        reply.metadata.response_code = ResponseCode::Refused;
        return;
    };
    let cut = zone
        .records
        .iter()
        .filter(|r| r.record_type() == RecordType::NS && r.name != zone.origin && r.name.zone_of(name))
        .min_by_key(|r| r.name.num_labels())
        .map(|r| r.name.clone());
    if let Some(cut) = cut.filter(|c| !(rtype == RecordType::DS && c == name)) {
        let ds = zone.records.iter().filter(|r| r.record_type() == RecordType::DS && r.name == cut);
        reply.add_authorities(ds.cloned().collect::<Vec<_>>());
        for ns in zone.records.iter().filter(|r| r.record_type() == RecordType::NS && r.name == cut) {
            reply.add_authority(ns.clone());
            let RData::NS(host) = &ns.data else { continue };
            let glue = zone.records.iter().filter(|r| r.name == host.0 && r.data.ip_addr().is_some());
            reply.add_additionals(glue.cloned().collect::<Vec<_>>());
        }
        return;
    }
    reply.metadata.authoritative = true;
    let at = || zone.records.iter().filter(|r| r.name == *name);
    let found: Vec<Record> = at().filter(|r| r.record_type() == rtype).cloned().collect();
    if !found.is_empty() {
        reply.add_answers(found);
        return;
    }
    // Aliases one step at a time, as some servers do: the asker has to follow.
    if let Some(alias) = at().find(|r| r.record_type() == RecordType::CNAME) {
        reply.add_answer(alias.clone());
        return;
    }
    let exists = zone.records.iter().any(|r| name.zone_of(&r.name));
    if !exists {
        reply.metadata.response_code = ResponseCode::NXDomain;
    }
    let soa = zone.records.iter().find(|r| r.record_type() == RecordType::SOA && r.name == zone.origin);
    reply.add_authorities(soa.cloned().into_iter().collect::<Vec<_>>());
}
