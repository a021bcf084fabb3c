//! Turns an encoded query into an encoded response: from the cache of encoded responses, immediately (errors, ANY, local
//! zones), or through the resolver (RFC 8484, RFC 8482).

use crate::codes::{extended, rcode};
use crate::local::Local;
use crate::message::{Message, Query, ReadError, ResponseHead, Source, encode, with_own_ttls};
use crate::prepared::Form;
use crate::resolver::{Question, ResolveError, Resolver};
use dns::wire::{Data, Rr, Rtype};
use std::net::IpAddr;

/// Why a query gets no DNS response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum QueryError {
    /// The octets are not a DNS query; the text says why.
    Malformed(&'static str),
    /// Every slot for lookups is taken.
    Busy,
    /// The client has its share of lookups in flight.
    ClientBusy,
}

/// A response that needs no lookup.
#[derive(Debug, Clone)]
pub(crate) struct ImmediateAnswer {
    pub rcode: u16,
    pub answers: Vec<Rr>,
    pub authority: Vec<Rr>,
    pub lifetime: u32,
    pub explained: Option<(u16, &'static str)>,
}

impl ImmediateAnswer {
    fn bare(rcode: u16, explained: Option<(u16, &'static str)>) -> Self {
        ImmediateAnswer { rcode, answers: Vec::new(), authority: Vec::new(), lifetime: 0, explained }
    }
}

impl From<Local> for ImmediateAnswer {
    fn from(local: Local) -> Self {
        let lifetime = local.lifetime();
        ImmediateAnswer {
            answers: local.answers,
            authority: local.authority,
            lifetime,
            ..ImmediateAnswer::bare(local.rcode, None)
        }
    }
}

/// Returns the response to a query that needs no lookup: unsupported kinds, ANY, local zones.
pub(crate) fn immediate(resolver: &Resolver, query: &Query) -> Option<ImmediateAnswer> {
    let refuse = |rcode, code, why| Some(ImmediateAnswer::bare(rcode, Some((code, why))));
    if query.edns.is_some_and(|e| e.version != 0) {
        return Some(ImmediateAnswer::bare(rcode::BADVERS, None));
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
            return Some(ImmediateAnswer {
                answers: vec![record],
                lifetime: 3600,
                ..ImmediateAnswer::bare(rcode::NOERROR, None)
            });
        }
        Rtype::AXFR | Rtype::IXFR => {
            return refuse(rcode::REFUSED, extended::NOT_SUPPORTED, "zone transfers are not supported");
        }
        Rtype(0 | 41 | 128..=254) => {
            return refuse(rcode::REFUSED, extended::NOT_SUPPORTED, "this type cannot be queried");
        }
        _ => {}
    }
    resolver.local().answer(&query.name, query.rtype).map(ImmediateAnswer::from)
}

/// Answers an encoded query. `pad`: pad every response with EDNS, not only those to padded queries.
///
/// # Errors
/// [`QueryError`] when there is no DNS response.
pub(crate) async fn answer(
    resolver: &Resolver,
    client: IpAddr,
    question: &[u8],
    pad: bool,
) -> Result<Message, QueryError> {
    let form = Form::of(question, pad);
    if let Some(message) = form.as_ref().and_then(|form| resolver.prepared(form, question)) {
        return Ok(message);
    }
    // Boxed, so that the future of the common case stays small.
    Box::pin(resolve(resolver, client, question, form, pad)).await
}

/// Answers a query whose encoded response is not cached.
async fn resolve(
    resolver: &Resolver,
    client: IpAddr,
    question: &[u8],
    form: Option<Form>,
    pad: bool,
) -> Result<Message, QueryError> {
    let query = match Query::read(question) {
        Ok(query) => query,
        Err(ReadError::Malformed(why)) => return Err(QueryError::Malformed(why)),
        Err(ReadError::Rejected(id, repeated, rcode)) => {
            let head = ResponseHead { id, repeated, rcode, ..ResponseHead::default() };
            let octets = encode(&head, &[], &[]).octets;
            return Ok(Message { octets, lifetime: 0, rcode, source: Source::Nowhere });
        }
    };
    let mut head = ResponseHead::to(&query, rcode::NOERROR);
    head.pad |= pad;
    if let Some(ready) = immediate(resolver, &query) {
        head.rcode = ready.rcode;
        head.explained = ready.explained.map(|(code, why)| (code, why.to_string()));
        let octets = encode(&head, &with_own_ttls(&ready.answers), &with_own_ttls(&ready.authority)).octets;
        let ImmediateAnswer { rcode, lifetime, .. } = ready;
        return Ok(Message { octets, lifetime, rcode, source: Source::Nowhere });
    }
    let Query { name, rtype, unchecked, recursion, .. } = &query;
    let asked = Question { name, rtype: *rtype, unchecked: *unchecked, recursion: *recursion, client };
    let resolved = resolver.answer(asked).await;
    let answer = match resolved {
        Ok(answer) => answer,
        Err(ResolveError::Busy) => return Err(QueryError::Busy),
        Err(ResolveError::ClientBusy) => return Err(QueryError::ClientBusy),
        Err(ResolveError::Unknown) => {
            head.rcode = rcode::REFUSED;
            head.explained =
                Some((extended::NOT_AUTHORITATIVE, "not cached, and recursion was not desired".into()));
            let octets = encode(&head, &[], &[]).octets;
            return Ok(Message { octets, lifetime: 0, rcode: head.rcode, source: Source::Lookup });
        }
    };
    let dnssec_ok = query.dnssec_ok();
    head.rcode = answer.rcode;
    // AD is for clients that set AD or DO (RFC 6840 section 5.8).
    head.authentic = answer.secure && (dnssec_ok || query.authentic);
    head.explained.clone_from(&answer.explained);
    let written = encode(&head, &answer.answers(dnssec_ok, query.rtype), &answer.authority(dnssec_ok));
    let (lifetime, rcode, source) = (answer.lifetime(), answer.rcode, answer.source);
    let message = Message { octets: written.octets, lifetime, rcode, source };
    if let Some(form) = form
        && source == Source::Cache
    {
        resolver.keep_prepared(&form, &message, written.ttls, answer.made);
    }
    Ok(message)
}
