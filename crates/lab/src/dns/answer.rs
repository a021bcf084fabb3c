//! What an authoritative server says (RFC 1034 4.3.2, 2308, 4035 3.1, 4592), as a pure function.
//! In: a zone and a question. Out: the sections, the code and the AA bit; no faults, no sockets.

use hickory_proto::{
    op::ResponseCode,
    rr::{Name, RData, Record, RecordType},
};
use jiff::Timestamp;

use super::{
    denial::{Denied, nsec_at, prove},
    zone::{RrSet, Zone},
};

/// CNAMEs followed inside one zone before the answer is given as it is.
const CHAIN: usize = 16;

/// The parts of an answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub code: ResponseCode,
    pub authoritative: bool,
    pub answers: Vec<Record>,
    pub authorities: Vec<Record>,
    pub additionals: Vec<Record>,
}

impl Reply {
    pub(crate) fn code(code: ResponseCode) -> Self {
        Self {
            code,
            authoritative: false,
            answers: Vec::new(),
            authorities: Vec::new(),
            additionals: Vec::new(),
        }
    }
}

struct Asked<'z> {
    zone: &'z Zone,
    dnssec: bool,
    now: Timestamp,
}

impl Asked<'_> {
    fn put(&self, section: &mut Vec<Record>, owner: &Name, shown: &Name, set: &RrSet) {
        section.extend(Zone::records(shown, set));
        if self.dnssec {
            section.extend(self.zone.rrsig(owner, shown, set, self.now));
        }
    }

    fn soa(&self, section: &mut Vec<Record>) {
        let origin = &self.zone.origin;
        if let Some(set) = self.zone.get(origin, RecordType::SOA) {
            let set = RrSet { ttl: self.zone.negative_ttl(), data: set.data.clone() };
            section.extend(Zone::records(origin, &set));
            if self.dnssec
                && let Some(full) = self.zone.get(origin, RecordType::SOA)
                && let Some(mut signature) = self.zone.rrsig(origin, origin, full, self.now)
            {
                signature.ttl = set.ttl;
                section.push(signature);
            }
        }
    }

    fn deny(&self, section: &mut Vec<Record>, denied: &Denied<'_>) {
        if self.dnssec {
            section.extend(prove(self.zone, denied, self.now));
        }
    }

    fn glue(&self, reply: &mut Reply, set: &RrSet) {
        for data in &set.data {
            let target = match data {
                RData::NS(ns) => &ns.0,
                RData::MX(mx) => &mx.exchange,
                _ => continue,
            };
            if let Some(addresses) = self.zone.glue.get(target) {
                for address in addresses {
                    reply.additionals.push(Record::from_rdata(target.clone(), 172_800, address.clone()));
                }
            }
            for rtype in [RecordType::A, RecordType::AAAA] {
                if let Some(set) = self.zone.get(target, rtype) {
                    self.put(&mut reply.additionals, target, target, set);
                }
            }
        }
    }

    fn referral(&self, cut: &Name) -> Reply {
        let mut reply = Reply::code(ResponseCode::NoError);
        let Some(set) = self.zone.get(cut, RecordType::NS) else { return reply };
        reply.authorities.extend(Zone::records(cut, set));
        if self.dnssec {
            match self.zone.get(cut, RecordType::DS) {
                Some(ds) => self.put(&mut reply.authorities, cut, cut, ds),
                None => self.deny(&mut reply.authorities, &Denied::Type(cut)),
            }
        }
        self.glue(&mut reply, set);
        reply
    }
}

/// Answers a question that lies in the zone.
pub(crate) fn answer(zone: &Zone, qname: &Name, qtype: RecordType, dnssec: bool, now: Timestamp) -> Reply {
    let asked = Asked { zone, dnssec: dnssec && zone.is_signed(), now };
    let mut reply = Reply { authoritative: true, ..Reply::code(ResponseCode::NoError) };
    let mut name = qname.clone();
    for step in 0..CHAIN {
        if !zone.origin.zone_of(&name) {
            return reply;
        }
        let at_ds_owner = |cut: &Name| *cut == name && qtype == RecordType::DS;
        if let Some(cut) = zone.cut_above(&name).filter(|cut| !at_ds_owner(cut)) {
            if step == 0 {
                return asked.referral(&cut);
            }
            return reply;
        }
        let (owner, expanded) = if zone.exists(&name) {
            (name.clone(), false)
        } else {
            let (encloser, _) = zone.encloser(&name);
            let wildcard = encloser.prepend_label("*").ok().filter(|w| zone.nodes.contains_key(w));
            let Some(wildcard) = wildcard else {
                reply.code = ResponseCode::NXDomain;
                asked.soa(&mut reply.authorities);
                asked.deny(&mut reply.authorities, &Denied::Name(&name));
                return reply;
            };
            (wildcard, true)
        };
        let node = zone.nodes.get(&owner);
        let alias = node
            .and_then(|n| n.get(&RecordType::CNAME))
            .filter(|_| !matches!(qtype, RecordType::CNAME | RecordType::ANY | RecordType::NSEC));
        let sets: Vec<&RrSet> = match (alias, qtype) {
            (Some(alias), _) => vec![alias],
            (None, RecordType::ANY) => node.map(|n| n.values().collect()).unwrap_or_default(),
            (None, _) => node.and_then(|n| n.get(&qtype)).into_iter().collect(),
        };
        if qtype == RecordType::NSEC && !expanded {
            let found = nsec_at(zone, &name, now);
            if !found.is_empty() {
                let wanted = |r: &Record| asked.dnssec || r.record_type() == RecordType::NSEC;
                reply.answers.extend(found.into_iter().filter(wanted));
                return reply;
            }
        }
        if sets.is_empty() {
            asked.soa(&mut reply.authorities);
            let denied = if expanded { Denied::WildcardType(&name) } else { Denied::Type(&name) };
            asked.deny(&mut reply.authorities, &denied);
            return reply;
        }
        for set in &sets {
            asked.put(&mut reply.answers, &owner, &name, set);
        }
        if expanded {
            asked.deny(&mut reply.authorities, &Denied::Expanded(&name));
        }
        let Some(RData::CNAME(target)) = alias.and_then(|a| a.data.first()) else {
            for set in sets {
                asked.glue(&mut reply, set);
            }
            return reply;
        };
        name = target.0.clone();
    }
    reply
}
