//! From a question to the message that answers it: what is ready, what is refused, what is answered in place, what is
//! looked up. In: the octets of a question. Out: octets of an answer and how long HTTP may keep it (RFC 8484 section 5.1,
//! RFC 8482).

use crate::backend::extended;
use crate::entry::rcode;
use crate::local::Local;
use crate::message::{Head, Query, Unfit, whole, write};
use crate::prepared::Form;
use crate::resolver::{Resolver, Unanswered};
use crate::steps::Source;
use dns::wire::{Data, Rr, Rtype};

/// A message to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub octets: Vec<u8>,
    /// Seconds an HTTP cache may keep it.
    pub lifetime: u32,
    pub rcode: u16,
    pub source: Source,
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
    pub answers: Vec<Rr>,
    pub authority: Vec<Rr>,
    pub lifetime: u32,
    pub explained: Option<(u16, &'static str)>,
}

impl Ready {
    fn bare(rcode: u16, explained: Option<(u16, &'static str)>) -> Self {
        Ready { rcode, answers: Vec::new(), authority: Vec::new(), lifetime: 0, explained }
    }
}

impl From<Local> for Ready {
    fn from(local: Local) -> Self {
        let lifetime = local.lifetime();
        Ready {
            answers: local.answers,
            authority: local.authority,
            lifetime,
            ..Ready::bare(local.rcode, None)
        }
    }
}

/// Questions that need no lookup: refused kinds, ANY, names with a meaning of their own.
pub(crate) fn ready(resolver: &Resolver, query: &Query) -> Option<Ready> {
    let refuse = |rcode, code, why| Some(Ready::bare(rcode, Some((code, why))));
    if query.edns.is_some_and(|e| e.version != 0) {
        return Some(Ready::bare(rcode::BADVERS, None));
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
            return Some(Ready {
                answers: vec![record],
                lifetime: 3600,
                ..Ready::bare(rcode::NOERROR, None)
            });
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
    resolver.local().answer(&query.name, query.rtype).map(Ready::from)
}

/// Answers the octets of a question. `pad` pads every answer that has EDNS, not only to questions that were padded.
pub(crate) async fn answer(resolver: &Resolver, question: &[u8], pad: bool) -> Result<Message, NoMessage> {
    let form = Form::of(question, pad);
    if let Some(message) = form.as_ref().and_then(|form| resolver.ready(form, question)) {
        return Ok(message);
    }
    // Apart from the usual case, which would else carry the room that all of this needs.
    Box::pin(find(resolver, question, form, pad)).await
}

/// The same for a question whose answer is not ready.
async fn find(
    resolver: &Resolver,
    question: &[u8],
    form: Option<Form>,
    pad: bool,
) -> Result<Message, NoMessage> {
    let query = match Query::read(question) {
        Ok(query) => query,
        Err(Unfit::Garbage(why)) => return Err(NoMessage::Garbage(why)),
        Err(Unfit::Wrong(id, repeated, rcode)) => {
            let head = Head { id, repeated, rcode, ..Head::default() };
            let octets = write(&head, &[], &[]).octets;
            return Ok(Message { octets, lifetime: 0, rcode, source: Source::Nowhere });
        }
    };
    let mut head = Head::to(&query, rcode::NOERROR);
    head.pad |= pad;
    if let Some(ready) = ready(resolver, &query) {
        head.rcode = ready.rcode;
        head.explained = ready.explained.map(|(code, why)| (code, why.to_string()));
        let octets = write(&head, &whole(&ready.answers), &whole(&ready.authority)).octets;
        let Ready { rcode, lifetime, .. } = ready;
        return Ok(Message { octets, lifetime, rcode, source: Source::Nowhere });
    }
    let looked = resolver.answer(&query.name, query.rtype, query.unchecked, query.recursion).await;
    let answer = match looked {
        Ok(answer) => answer,
        Err(Unanswered::Busy) => return Err(NoMessage::Busy),
        Err(Unanswered::Unknown) => {
            head.rcode = rcode::REFUSED;
            head.explained = Some((extended::NOT_AUTHORITATIVE, "nothing is known without recursion".into()));
            let octets = write(&head, &[], &[]).octets;
            return Ok(Message { octets, lifetime: 0, rcode: head.rcode, source: Source::Lookup });
        }
    };
    let dnssec_ok = query.dnssec_ok();
    head.rcode = answer.rcode;
    // RFC 6840 section 5.8: to clients that ask for it or show that they know it.
    head.authentic = answer.secure && (dnssec_ok || query.authentic);
    head.explained.clone_from(&answer.explained);
    let written = write(&head, &answer.answers(dnssec_ok, query.rtype), &answer.authority(dnssec_ok));
    let (lifetime, rcode, source) = (answer.lifetime(), answer.rcode, answer.source);
    let message = Message { octets: written.octets, lifetime, rcode, source };
    if let Some(form) = form
        && source == Source::Cache
    {
        resolver.keep_ready(&form, &message, written.ttls, answer.made);
    }
    Ok(message)
}
