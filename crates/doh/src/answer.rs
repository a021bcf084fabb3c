//! From a question to the message that answers it: what is refused, what is answered in place, what is looked up.
//! In: a read question. Out: octets of an answer and how long HTTP may keep it (RFC 8484 section 5.1, RFC 8482).

use crate::backend::extended;
use crate::entry::rcode;
use crate::message::{Head, Query, Unfit, write};
use crate::resolver::{Answer, Resolver, Unanswered, special};
use dns::wire::{Data, Rr, Rtype};

/// A message to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub octets: Vec<u8>,
    /// Seconds an HTTP cache may keep it.
    pub lifetime: u32,
    pub rcode: u16,
    /// From the cache; `None` when nothing was looked for.
    pub cached: Option<bool>,
}

/// Why there is no message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoMessage {
    /// What came is no DNS question.
    Garbage(&'static str),
    /// Too much is under way.
    Busy,
}

/// What a question gets without being looked up.
#[derive(Debug, Clone)]
pub(crate) struct Ready {
    pub rcode: u16,
    pub record: Option<Rr>,
    pub lifetime: u32,
    pub explained: Option<(u16, &'static str)>,
}

/// Questions that need no lookup: refused kinds, ANY, names with a meaning of their own.
pub(crate) fn ready(query: &Query) -> Option<Ready> {
    let refuse =
        |rcode, code, why| Some(Ready { rcode, record: None, lifetime: 0, explained: Some((code, why)) });
    if query.edns.is_some_and(|e| e.version != 0) {
        return Some(Ready { rcode: rcode::BADVERS, record: None, lifetime: 0, explained: None });
    }
    if query.class != 1 {
        return refuse(rcode::NOTIMP, extended::NOT_SUPPORTED, "only class IN is served");
    }
    match query.rtype {
        Rtype::ANY => {
            // RFC 8482 section 4.2: HINFO "RFC8482" "".
            let record = Rr {
                name: query.name.clone(),
                rtype: Rtype::HINFO,
                class: 1,
                ttl: 3600,
                raw: b"\x07RFC8482\x00".to_vec(),
                data: Data::Other,
            };
            return Some(Ready { rcode: 0, record: Some(record), lifetime: 3600, explained: None });
        }
        Rtype::AXFR | Rtype::IXFR => {
            return refuse(rcode::REFUSED, extended::NOT_SUPPORTED, "zones are not transferred here");
        }
        Rtype(0 | 41 | 128..=254) => {
            return refuse(
                rcode::REFUSED,
                extended::NOT_SUPPORTED,
                "records of this type can't be asked for",
            );
        }
        _ => {}
    }
    let (rcode, record) = special(&query.name, query.rtype)?;
    Some(Ready { rcode, record, lifetime: 3600, explained: None })
}

/// Answers the octets of a question. `pad` pads every answer that has EDNS, not only to questions that were padded.
pub(crate) async fn answer(resolver: &Resolver, question: &[u8], pad: bool) -> Result<Message, NoMessage> {
    let query = match Query::read(question) {
        Ok(query) => query,
        Err(Unfit::Garbage(why)) => return Err(NoMessage::Garbage(why)),
        Err(Unfit::Wrong(id, repeated, rcode)) => {
            let head = Head { id, repeated, rcode, ..Head::default() };
            return Ok(Message { octets: write(&head, &[], &[]), lifetime: 0, rcode, cached: None });
        }
    };
    let mut head = Head::to(&query, rcode::NOERROR);
    head.pad |= pad;
    if let Some(ready) = ready(&query) {
        head.rcode = ready.rcode;
        head.explained = ready.explained.map(|(code, why)| (code, why.to_string()));
        let records: Vec<_> = ready.record.iter().map(|rr| (rr, rr.ttl)).collect();
        let octets = write(&head, &records, &[]);
        return Ok(Message { octets, lifetime: ready.lifetime, rcode: ready.rcode, cached: None });
    }
    let looked = resolver.answer(&query.name, query.rtype, query.unchecked, query.recursion).await;
    let answer = match looked {
        Ok(answer) => answer,
        Err(Unanswered::Busy) => return Err(NoMessage::Busy),
        Err(Unanswered::Unknown) => {
            head.rcode = rcode::REFUSED;
            head.explained = Some((extended::NOT_AUTHORITATIVE, "nothing is known without recursion".into()));
            let octets = write(&head, &[], &[]);
            return Ok(Message { octets, lifetime: 0, rcode: head.rcode, cached: Some(false) });
        }
    };
    let dnssec_ok = query.dnssec_ok();
    head.rcode = answer.rcode;
    // RFC 6840 section 5.8: to clients that ask for it or show that they know it.
    head.authentic = answer.secure && (dnssec_ok || query.authentic);
    head.explained.clone_from(&answer.explained);
    let octets = write(&head, &answer.answers(dnssec_ok, query.rtype), &answer.authority(dnssec_ok));
    let Answer { rcode, cached, .. } = answer;
    Ok(Message { octets, lifetime: answer.lifetime(), rcode, cached: Some(cached) })
}
