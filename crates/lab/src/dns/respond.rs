//! From a question's bytes to an answer's bytes, faults included.
//! In: a message as it came (RFC 1035, 6891, 5001, 4892). Out: what to send, from where, and after how long.

use std::{
    net::{IpAddr, SocketAddr},
    sync::PoisonError,
    time::Duration,
};

use hickory_proto::{
    dnssec::rdata::DNSSECRData,
    op::{Edns, Message, MessageType, OpCode, Query, ResponseCode},
    rr::{
        DNSClass, Name, RData, Record, RecordType,
        rdata::{
            NS, TXT,
            opt::{EdnsCode, EdnsOption, NSIDPayload},
        },
    },
};

use super::{
    answer::{Reply, answer},
    bomb,
};
use crate::{
    fault::Fault,
    lab::Shared,
    log::{Asked, Via},
    names, resolver,
    world::{Role, World},
};

/// The largest UDP answer this lab sends (the DNS flag day 2020 value).
pub(crate) const UDP_LIMIT: u16 = 1232;

/// What a server does about a question.
#[derive(Debug)]
pub(crate) enum Deed {
    Send(Vec<u8>),
    SendFromElsewhere(Vec<u8>),
    Silence,
    Close,
}

/// A deed and the wait before it.
#[derive(Debug)]
pub(crate) struct Reaction {
    pub delay: Duration,
    pub deed: Deed,
}

impl Reaction {
    pub(crate) fn now(deed: Deed) -> Self {
        Self { delay: Duration::ZERO, deed }
    }
}

/// True when the server closes TCP connections at once.
pub(crate) fn refuses_tcp(shared: &Shared, host: &str) -> bool {
    if let Some(resolver) = shared.resolvers.of_host(host) {
        return resolver::serve::is_dead(resolver);
    }
    let world = shared.world.read().unwrap_or_else(PoisonError::into_inner);
    world.faults.of_server(host, None).any(|f| *f == Fault::TcpClosed)
}

/// Decides.
pub(crate) fn respond(shared: &Shared, host: &str, bytes: &[u8], tcp: bool, from: SocketAddr) -> Reaction {
    if let Some(resolver) = shared.resolvers.of_host(host) {
        let via = if tcp { Via::Tcp } else { Via::Udp };
        return resolver::serve::respond(shared, resolver, bytes, via);
    }
    let Ok(request) = Message::from_vec(bytes) else {
        let id = bytes.get(..2).map_or(0, |b| u16::from_be_bytes([b[0], b[1]]));
        let error = Message::error_msg(id, OpCode::Query, ResponseCode::FormErr);
        return Reaction::now(error.to_vec().map_or(Deed::Silence, Deed::Send));
    };
    if request.metadata.message_type != MessageType::Query {
        return Reaction::now(Deed::Silence);
    }
    let world = shared.world.read().unwrap_or_else(PoisonError::into_inner);
    let Some(query) = request.queries.first() else {
        return Reaction::now(
            encode(&blank(&request, ResponseCode::FormErr), tcp, 512).map_or(Deed::Silence, Deed::Send),
        );
    };
    let zone = world.zone_at(host, query.name(), query.query_type());
    let zone_name = zone.map(|z| names::text(&z.origin));
    shared.log.dns(
        Asked {
            server: host.to_owned(),
            zone: zone_name.clone().map_or(String::new(), |z| if z.is_empty() { ".".into() } else { z }),
            qname: names::text(query.name()),
            qtype: query.query_type().to_string(),
        },
        tcp,
    );
    let about = zone_name.filter(|z| !z.is_empty()).or_else(|| {
        let name = names::text(query.name());
        world.domain_above(&name).filter(|d| d.nameservers.iter().any(|n| n == host)).map(|d| d.name.clone())
    });
    let faults: Vec<&Fault> = world.faults.of_server(host, about.as_deref()).collect();
    let delay = faults
        .iter()
        .map(|f| if let Fault::Slow(ms) = f { u64::from(*ms) } else { 0 })
        .max()
        .map_or(Duration::ZERO, Duration::from_millis);
    let deed = behave(shared, &world, host, &request, query, tcp, &faults, about.as_deref(), from);
    Reaction { delay, deed }
}

pub(crate) fn blank(request: &Message, code: ResponseCode) -> Message {
    let mut response = Message::response(request.metadata.id, request.metadata.op_code);
    response.metadata.recursion_desired = request.metadata.recursion_desired;
    response.metadata.response_code = code;
    response.queries.clone_from(&request.queries);
    response
}

#[allow(clippy::too_many_arguments, reason = "one decision over everything a server knows at that moment")]
fn behave(
    shared: &Shared,
    world: &World,
    host: &str,
    request: &Message,
    query: &Query,
    tcp: bool,
    faults: &[&Fault],
    about: Option<&str>,
    from: SocketAddr,
) -> Deed {
    let has = |fault: &Fault| faults.contains(&fault);
    let lost = faults.iter().any(|f| matches!(f, Fault::Drop(percent) if shared.lose(host, *percent)));
    if has(&Fault::Dead) || lost {
        return Deed::Silence;
    }
    if tcp && has(&Fault::TcpClosed) {
        return Deed::Close;
    }
    if has(&Fault::Garbage) {
        // The id is right, so that it is read as an answer; what follows is no message.
        let mut bytes = request.metadata.id.to_be_bytes().to_vec();
        bytes.extend([0x84, 0x00, 0xff, 0xff, 0xc0, 0x0c, 0xc0, 0x0c, 0x3f, b'l', b'a', b'b', 0x00, 0x01]);
        return Deed::Send(bytes);
    }
    let edns = request.edns.as_ref().filter(|_| !has(&Fault::NoEdns));
    let mut response = if edns.is_some() && has(&Fault::FormerrEdns) {
        blank(request, ResponseCode::FormErr)
    } else {
        compose(world, host, request, query, edns, &has, about, from)
    };
    for fault in faults {
        if let Fault::SerialLag(by) = fault {
            lag(world, host, query, &mut response, *by);
        }
    }
    if has(&Fault::NotAa) {
        response.metadata.authoritative = false;
    }
    if has(&Fault::Recursive) {
        response.metadata.recursion_available = true;
    }
    if has(&Fault::WrongId) {
        response.metadata.id = response.metadata.id.wrapping_add(1);
    }
    if has(&Fault::FoldCase) || has(&Fault::WrongCase) {
        recase(&mut response, has(&Fault::WrongCase));
    }
    let swollen = faults.iter().find_map(|fault| match fault {
        Fault::Bomb(count) => Some(bomb::of_ns(request, query, *count)),
        Fault::ManyRecords(count) => Some(bomb::of_addresses(request, query, *count)),
        Fault::Dnames(count) => Some(bomb::of_dnames(request, query, *count)),
        _ => None,
    });
    if tcp && let Some(bytes) = swollen {
        return Deed::Send(bytes);
    }
    let colliding = faults.iter().find_map(|f| if let Fault::CollidingKeys(n) = f { Some(*n) } else { None });
    if tcp && let Some(count) = colliding {
        bomb::collide(&mut response, count);
    }
    if !tcp && (has(&Fault::TcOnly) || swollen.is_some() || colliding.is_some()) {
        response = truncated(&response);
    }
    let limit = edns.map_or(512, |e| e.max_payload().clamp(512, UDP_LIMIT));
    match encode(&response, tcp, limit) {
        Some(bytes) if !tcp && has(&Fault::WrongSource) => Deed::SendFromElsewhere(bytes),
        Some(bytes) => Deed::Send(bytes),
        None => Deed::Silence,
    }
}

#[allow(clippy::too_many_arguments, reason = "one answer from everything a server knows at that moment")]
fn compose(
    world: &World,
    host: &str,
    request: &Message,
    query: &Query,
    edns: Option<&Edns>,
    has: &dyn Fn(&Fault) -> bool,
    about: Option<&str>,
    from: SocketAddr,
) -> Message {
    let nsid = match world.hosts.get(host).map(|h| &h.role) {
        Some(Role::Dns { sites, .. }) if !sites.is_empty() => site(sites, from),
        Some(Role::Dns { nsid, .. }) => nsid.as_str(),
        _ => host,
    };
    let dnssec = edns.is_some_and(|e| e.flags().dnssec_ok);
    let reply = if request.metadata.op_code != OpCode::Query {
        Reply::code(ResponseCode::NotImp)
    } else if edns.is_some_and(|e| e.version() > 0) {
        Reply::code(ResponseCode::BADVERS)
    } else if query.query_class() == DNSClass::CH {
        chaos(query, nsid)
    } else if has(&Fault::Servfail) {
        Reply::code(ResponseCode::ServFail)
    } else if query.query_class() != DNSClass::IN
        || has(&Fault::Refused)
        || has(&Fault::Lame)
        || matches!(query.query_type(), RecordType::AXFR | RecordType::IXFR)
    {
        Reply::code(ResponseCode::Refused)
    } else if has(&Fault::UpwardReferral) {
        upward(world)
    } else if let Some(zone) = about.filter(|_| has(&Fault::SelfReferral)) {
        to_itself(world, zone)
    } else {
        world.zone_at(host, query.name(), query.query_type()).map_or_else(
            || Reply::code(ResponseCode::Refused),
            |zone| answer(zone, query.name(), query.query_type(), dnssec, world.clock.now()),
        )
    };
    let mut response = blank(request, reply.code);
    response.metadata.authoritative = reply.authoritative;
    response.insert_answers(reply.answers);
    response.insert_authorities(reply.authorities);
    response.insert_additionals(reply.additionals);
    if let Some(asked) = edns {
        let mut ours = Edns::new();
        ours.set_max_payload(UDP_LIMIT);
        ours.set_version(0);
        ours.set_dnssec_ok(dnssec);
        ours.set_rcode_high(reply.code.high());
        if asked.option(EdnsCode::NSID).is_some()
            && let Ok(payload) = NSIDPayload::new(nsid)
        {
            ours.options_mut().insert(EdnsOption::NSID(payload));
        }
        response.set_edns(ours);
    }
    response
}

/// The place that routing leads this client to: anycast (RFC 4786).
fn site(sites: &[String], from: SocketAddr) -> &str {
    let host = match from.ip() {
        IpAddr::V4(ip) => usize::from(ip.octets()[3]),
        IpAddr::V6(ip) => usize::from(ip.octets()[15]),
    };
    &sites[(host + usize::from(from.port())) % sites.len()]
}

fn chaos(query: &Query, nsid: &str) -> Reply {
    let value = match names::text(query.name()).as_str() {
        "hostname.bind" | "id.server" => nsid,
        "version.bind" | "version.server" => "domainscope-lab",
        _ => return Reply::code(ResponseCode::Refused),
    };
    let mut record =
        Record::from_rdata(query.name().clone(), 0, RData::TXT(TXT::new(vec![value.to_owned()])));
    record.dns_class = DNSClass::CH;
    Reply { authoritative: true, answers: vec![record], ..Reply::code(ResponseCode::NoError) }
}

fn ns_records(owner: &Name, servers: &[String]) -> Vec<Record> {
    servers
        .iter()
        .map(|s| Record::from_rdata(owner.clone(), 518_400, RData::NS(NS(names::wire(s)))))
        .collect()
}

fn upward(world: &World) -> Reply {
    Reply {
        authorities: ns_records(&Name::root(), &world.root_servers),
        ..Reply::code(ResponseCode::NoError)
    }
}

fn to_itself(world: &World, zone: &str) -> Reply {
    let servers = world.domains.get(zone).map(|d| d.nameservers.clone()).unwrap_or_default();
    Reply { authorities: ns_records(&names::wire(zone), &servers), ..Reply::code(ResponseCode::NoError) }
}

/// An older serial; in a signed zone with a signature of its own, as the older copy of the zone had.
fn lag(world: &World, host: &str, query: &Query, response: &mut Message, by: u32) {
    let zone = world.zone_at(host, query.name(), query.query_type());
    for section in [&mut response.answers, &mut response.authorities] {
        let Some(index) = section.iter().position(|r| r.record_type() == RecordType::SOA) else { continue };
        if let RData::SOA(soa) = &mut section[index].data {
            soa.serial = soa.serial.wrapping_sub(by);
        }
        let Some(zone) = zone.filter(|z| z.is_signed()) else { continue };
        let Some((ttl, _)) = zone.soa() else { continue };
        let mut signed = section[index].clone();
        signed.ttl = ttl;
        let made = zone.keys.as_ref().and_then(|k| {
            k.sign(&zone.origin, &signed.name, &[signed.clone()], zone.signing, world.clock.now())
        });
        for record in section.iter_mut() {
            let RData::DNSSEC(DNSSECRData::RRSIG(rrsig)) = &mut record.data else { continue };
            if rrsig.input().type_covered == RecordType::SOA
                && let Some(made) = &made
            {
                *rrsig = made.clone();
            }
        }
    }
}

fn recase(response: &mut Message, flip: bool) {
    for query in &mut response.queries {
        let text = query.name().to_ascii();
        let changed: String = text
            .chars()
            .map(|c| match (flip, c.is_ascii_lowercase()) {
                (true, true) => c.to_ascii_uppercase(),
                _ => c.to_ascii_lowercase(),
            })
            .collect();
        if let Ok(name) = Name::from_ascii(&changed) {
            query.set_name(name);
        }
    }
}

fn truncated(response: &Message) -> Message {
    let mut short = response.clone();
    short.metadata.truncation = true;
    short.answers.clear();
    short.authorities.clear();
    short.additionals.clear();
    short
}

pub(crate) fn encode(response: &Message, tcp: bool, limit: u16) -> Option<Vec<u8>> {
    let bytes = response.to_vec().ok()?;
    if tcp || bytes.len() <= usize::from(limit) {
        return Some(bytes);
    }
    let mut lean = response.clone();
    let required = !lean.authorities.is_empty() && !lean.metadata.authoritative;
    if !required {
        // Additional addresses are optional beside an answer, not beside a referral (RFC 9471).
        lean.additionals.clear();
        if let Some(bytes) = lean.to_vec().ok().filter(|b| b.len() <= usize::from(limit)) {
            return Some(bytes);
        }
    }
    truncated(response).to_vec().ok()
}
