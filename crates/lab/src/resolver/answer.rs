//! What a resolver answers: filter, then this place's own answers, then the cache, then the way down the tree.
//! In: a question (RFC 1035, 2308, 4035 3.2, 8914). Out: the answer, how long it takes, and what is remembered of it.

use std::{sync::PoisonError, time::Duration};

use hickory_proto::{
    op::{Edns, Message, OpCode, Query, ResponseCode},
    rr::{
        DNSClass, Name, RData, Record, RecordType,
        rdata::{
            A, AAAA, TXT,
            opt::{EdnsCode, EdnsOption, NSIDPayload},
        },
    },
};

use super::{
    Resolver,
    cache::Known,
    trust::{Trust, judge},
    walk::Walk,
};
use crate::{
    dns::respond::{UDP_LIMIT, blank},
    lab::Shared,
    names,
    scenario::{Failing, FilterMode},
};

/// Aliases followed before it is called a loop.
const CHAIN: usize = 16;
/// TTL of what filters make up, and of `hostname.bind`.
const INVENTED_TTL: u32 = 300;

/// An extended error (RFC 8914).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extended {
    pub code: u16,
    pub text: &'static str,
}

const BLOCKED: Extended = Extended { code: 15, text: "on the list of this resolver" };
const FILTERED: Extended = Extended { code: 17, text: "left out for the users of this service" };
const UNREACHABLE: Extended = Extended { code: 22, text: "no server of the zone answers" };

/// An answer before it is a message.
#[derive(Debug)]
pub(crate) struct Found {
    pub code: ResponseCode,
    pub answers: Vec<Record>,
    pub authorities: Vec<Record>,
    pub extended: Option<Extended>,
    pub authentic: bool,
    pub wait: Duration,
}

impl Found {
    fn code(code: ResponseCode) -> Self {
        Self {
            code,
            answers: Vec::new(),
            authorities: Vec::new(),
            extended: None,
            authentic: false,
            wait: Duration::ZERO,
        }
    }
}

/// What is to be found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub name: &'a Name,
    pub rtype: RecordType,
    pub recursion: bool,
    pub dnssec: bool,
    pub checking_disabled: bool,
}

/// Answers a whole message.
pub(crate) fn answer(shared: &Shared, resolver: &Resolver, request: &Message) -> (Message, Duration) {
    let edns = request.edns.as_ref();
    let dnssec = edns.is_some_and(|e| e.flags().dnssec_ok);
    let found = match request.queries.first() {
        _ if request.metadata.op_code != OpCode::Query => Found::code(ResponseCode::NotImp),
        _ if edns.is_some_and(|e| e.version() > 0) => Found::code(ResponseCode::BADVERS),
        None => Found::code(ResponseCode::FormErr),
        Some(query) if query.query_class() == DNSClass::CH => chaos(query, &resolver.about.host),
        Some(query) if query.query_class() != DNSClass::IN => Found::code(ResponseCode::Refused),
        Some(query) => {
            let wanted = Wanted {
                name: query.name(),
                rtype: query.query_type(),
                recursion: request.metadata.recursion_desired,
                dnssec,
                checking_disabled: request.metadata.checking_disabled,
            };
            find(shared, resolver, wanted)
        }
    };
    let mut response = blank(request, found.code);
    response.metadata.recursion_available = true;
    response.metadata.authentic_data = found.authentic && (dnssec || request.metadata.authentic_data);
    response.metadata.checking_disabled = request.metadata.checking_disabled;
    response.insert_answers(found.answers);
    response.insert_authorities(found.authorities);
    if let Some(asked) = edns {
        let mut ours = Edns::new();
        ours.set_max_payload(UDP_LIMIT);
        ours.set_dnssec_ok(dnssec);
        ours.set_rcode_high(found.code.high());
        if asked.option(EdnsCode::NSID).is_some()
            && let Ok(payload) = NSIDPayload::new(resolver.about.host.as_str())
        {
            ours.options_mut().insert(EdnsOption::NSID(payload));
        }
        if let Some(extended) = found.extended {
            let mut octets = extended.code.to_be_bytes().to_vec();
            octets.extend(extended.text.bytes());
            ours.options_mut().insert(EdnsOption::Unknown(15, octets));
        }
        response.set_edns(ours);
    }
    (response, found.wait)
}

fn chaos(query: &Query, host: &str) -> Found {
    let value = match names::text(query.name()).as_str() {
        "hostname.bind" | "id.server" => host,
        "version.bind" | "version.server" => "domainscope-lab",
        _ => return Found::code(ResponseCode::Refused),
    };
    let mut record = Record::from_rdata(query.name().clone(), 0, RData::TXT(TXT::new(vec![value.into()])));
    record.dns_class = DNSClass::CH;
    Found { answers: vec![record], ..Found::code(ResponseCode::NoError) }
}

/// Finds an answer in the way of this resolver.
pub(crate) fn find(shared: &Shared, resolver: &Resolver, wanted: Wanted<'_>) -> Found {
    let (delay, failing) = {
        let state = resolver.state();
        (Duration::from_millis(u64::from(state.delay)), state.failing)
    };
    let mut found = if failing == Some(Failing::Servfail) {
        Found::code(ResponseCode::ServFail)
    } else if matches!(wanted.rtype, RecordType::ANY | RecordType::AXFR | RecordType::IXFR) {
        Found::code(ResponseCode::NotImp)
    } else if let Some(withheld) = withheld(resolver, wanted) {
        withheld
    } else {
        follow(shared, resolver, wanted)
    };
    found.wait += delay;
    if !wanted.dnssec {
        let asked_for = |r: &Record| {
            r.record_type() == wanted.rtype
                || !matches!(r.record_type(), RecordType::RRSIG | RecordType::NSEC | RecordType::NSEC3)
        };
        found.answers.retain(asked_for);
        found.authorities.retain(asked_for);
    }
    found
}

fn withheld(resolver: &Resolver, wanted: Wanted<'_>) -> Option<Found> {
    let name = names::text(wanted.name);
    let mode = {
        let state = resolver.state();
        let hit = state.filter.iter().find(|(filtered, _)| names::within(&name, filtered));
        hit.map(|(_, mode)| *mode)
    }?;
    let extended = match mode {
        FilterMode::Blocked => Some(BLOCKED),
        FilterMode::Filtered => Some(FILTERED),
        FilterMode::Nxdomain | FilterMode::Zero => None,
    };
    let code = match mode {
        FilterMode::Nxdomain | FilterMode::Blocked => ResponseCode::NXDomain,
        FilterMode::Zero | FilterMode::Filtered => ResponseCode::NoError,
    };
    let data = match wanted.rtype {
        RecordType::A => Some(RData::A(A::new(0, 0, 0, 0))),
        RecordType::AAAA => Some(RData::AAAA(AAAA(std::net::Ipv6Addr::UNSPECIFIED))),
        _ => None,
    };
    let data = data.filter(|_| code == ResponseCode::NoError);
    let answers =
        data.into_iter().map(|d| Record::from_rdata(wanted.name.clone(), INVENTED_TTL, d)).collect();
    Some(Found { answers, extended, ..Found::code(code) })
}

fn follow(shared: &Shared, resolver: &Resolver, wanted: Wanted<'_>) -> Found {
    let mut found = Found { authentic: true, ..Found::code(ResponseCode::NoError) };
    let mut name = wanted.name.clone();
    for _ in 0..CHAIN {
        let judged = judge(&shared.world.read().unwrap_or_else(PoisonError::into_inner), &name);
        if let Trust::Bogus(why) = judged
            && resolver.about.validates
            && !wanted.checking_disabled
        {
            return Found { extended: Some(why), wait: found.wait, ..Found::code(ResponseCode::ServFail) };
        }
        found.authentic &= judged == Trust::Secure && resolver.about.validates;
        let (known, wait) = step(shared, resolver, &name, wanted.rtype, wanted.recursion);
        found.wait += wait;
        let Some(known) = known else {
            let (code, extended) = if wanted.recursion {
                (ResponseCode::ServFail, Some(UNREACHABLE))
            } else {
                (ResponseCode::Refused, None)
            };
            return Found { extended, wait: found.wait, ..Found::code(code) };
        };
        match known {
            Known::Nothing { nxdomain, authority } => {
                found.code = if nxdomain { ResponseCode::NXDomain } else { ResponseCode::NoError };
                found.authorities = authority;
                return found;
            }
            Known::Records(records) => {
                let next = records.iter().find_map(|r| match &r.data {
                    RData::CNAME(alias) if wanted.rtype != RecordType::CNAME => Some(alias.0.clone()),
                    _ => None,
                });
                found.answers.extend(records);
                let Some(next) = next else { return found };
                name = next;
            }
        }
    }
    Found { wait: found.wait, ..Found::code(ResponseCode::ServFail) }
}

/// One name: this place's own answer, the cache, or the authoritative servers.
fn step(
    shared: &Shared,
    resolver: &Resolver,
    name: &Name,
    rtype: RecordType,
    recursion: bool,
) -> (Option<Known>, Duration) {
    let now = shared.resolvers.now();
    {
        let state = resolver.state();
        let lower = name.to_lowercase();
        let own = |r: &&Record| {
            r.name == lower && (r.record_type() == rtype || r.record_type() == RecordType::CNAME)
        };
        let own: Vec<Record> = state.geo.iter().filter(own).cloned().collect();
        if !own.is_empty() {
            return (Some(Known::Records(own)), Duration::ZERO);
        }
        if let Some(known) = state.cache.get(name, rtype, now) {
            return (Some(known), Duration::ZERO);
        }
    }
    if recursion { learn(shared, resolver, name, rtype) } else { (None, Duration::ZERO) }
}

/// Asks the authoritative servers and remembers what they say.
pub(super) fn learn(
    shared: &Shared,
    resolver: &Resolver,
    name: &Name,
    rtype: RecordType,
) -> (Option<Known>, Duration) {
    let mut walk = Walk::new(shared, resolver.ip.into());
    let known = walk.ask(name, rtype).map(|message| read(message, name, rtype));
    let Some(mut known) = known else { return (None, walk.waited) };
    let mut state = resolver.state();
    let clamp = state.clamp;
    let ttl = state.cache.put(name, rtype, known.clone(), shared.resolvers.now(), clamp);
    let (Known::Records(records) | Known::Nothing { authority: records, .. }) = &mut known;
    for record in records {
        record.ttl = ttl;
    }
    (Some(known), walk.waited)
}

/// The part of an authoritative answer that is about this name: an alias is followed by asking for its target.
fn read(message: Message, name: &Name, rtype: RecordType) -> Known {
    let lower = name.to_lowercase();
    let of = |wanted: RecordType| -> Vec<Record> {
        let hit = |r: &&Record| {
            let covers = matches!(&r.data, RData::DNSSEC(hickory_proto::dnssec::rdata::DNSSECRData::RRSIG(s))
                if s.input().type_covered == wanted);
            r.name.to_lowercase() == lower && (r.record_type() == wanted || covers)
        };
        message.answers.iter().filter(hit).cloned().collect()
    };
    for rtype in [rtype, RecordType::CNAME] {
        let records = of(rtype);
        if records.iter().any(|r| r.record_type() == rtype) {
            return Known::Records(records);
        }
    }
    let nxdomain = message.metadata.response_code == ResponseCode::NXDomain;
    Known::Nothing { nxdomain, authority: message.authorities }
}
