//! The records of a zone that are watched, from its authoritative servers.
//! In: the zone and its delegation. Out: [`ZoneSnapshot`]; what no server answered is listed as unanswered, not absent.

use crate::delegation::{authoritative_addresses, random_label};
use crate::present::data_text;
use crate::session::Session;
use crate::wire::{Name, Rtype};
use futures::future::join_all;
use model::dns::{AnswerKind, Delegation, NsName, RrSet, ZoneSnapshot};

/// Label below the zone and the types asked there.
const WATCHED: [(&str, &[Rtype]); 3] = [
    ("", &[Rtype::A, Rtype::AAAA, Rtype::CNAME, Rtype::MX, Rtype::TXT, Rtype::NS, Rtype::CAA, Rtype::HTTPS]),
    ("www", &[Rtype::A, Rtype::AAAA, Rtype::CNAME, Rtype::HTTPS]),
    ("_dmarc", &[Rtype::TXT]),
];

enum Lookup {
    Set(RrSet),
    Absent,
    Unanswered(String),
}

pub(crate) async fn snapshot(session: &Session, zone: &Name, delegation: &Delegation) -> ZoneSnapshot {
    // Only servers that answer with authority are asked.
    let good = authoritative_addresses(&delegation.servers);
    let servers = vec![NsName { name: zone.to_string(), addresses: good, glue: true }];
    session.learn_zone(zone, servers, 0);
    let questions = WATCHED.iter().flat_map(|(label, types)| {
        let name = if label.is_empty() { Some(zone.clone()) } else { zone.child(label) };
        types.iter().filter_map(move |t| name.clone().map(|n| (n, *t)))
    });
    let said = join_all(questions.map(|(name, rtype)| ask(session, name, rtype))).await;
    let mut out = ZoneSnapshot { wildcard: wildcard(session, zone).await, ..ZoneSnapshot::default() };
    for one in said {
        match one {
            Lookup::Set(set) => out.rrsets.push(set),
            Lookup::Absent => {}
            Lookup::Unanswered(what) => out.unanswered.push(what),
        }
    }
    out.rrsets.sort_by(|a, b| (&a.name, &a.rtype).cmp(&(&b.name, &b.rtype)));
    out.unanswered.sort();
    out
}

async fn ask(session: &Session, name: Name, rtype: Rtype) -> Lookup {
    let unanswered = Lookup::Unanswered(format!("{name} {rtype}"));
    let Ok(found) = session.resolve(name.clone(), rtype, false, Vec::new()).await else { return unanswered };
    let Some(reply) = found.asked.reply() else { return unanswered };
    match found.kind {
        AnswerKind::Answer => {
            let mut ttl = u32::MAX;
            let mut data: Vec<String> = reply
                .answers_of(&name, rtype)
                .map(|rr| {
                    ttl = ttl.min(rr.ttl);
                    data_text(rr)
                })
                .collect();
            data.sort();
            data.dedup();
            if data.is_empty() {
                return Lookup::Absent;
            }
            Lookup::Set(RrSet { name: name.to_string(), rtype: rtype.to_string(), ttl, data })
        }
        AnswerKind::NoData | AnswerKind::NxDomain => Lookup::Absent,
        _ => unanswered,
    }
}

/// Whether a random name, which cannot exist, is answered. A NODATA answer alone proves nothing: servers with compact denial
/// (RFC 9824) say so of every name.
async fn wildcard(session: &Session, zone: &Name) -> Option<bool> {
    let name = zone.child(&random_label())?;
    let mut denied = false;
    for rtype in [Rtype::A, Rtype::TXT, Rtype::MX] {
        let found = session.resolve(name.clone(), rtype, false, Vec::new()).await.ok()?;
        match found.kind {
            AnswerKind::Answer => return Some(true),
            AnswerKind::NxDomain => return Some(false),
            AnswerKind::NoData => denied = true,
            _ => {}
        }
    }
    denied.then_some(false)
}
