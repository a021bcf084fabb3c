//! The classic ways to ask a resolver: UDP, TCP and TLS (RFC 1035 4.2, 7858).
//! In: a message as it came. Out: what to send and when; silence or a closed connection where it fails so.

use hickory_proto::op::{Message, MessageType, OpCode, ResponseCode};

use super::{Resolver, answer::answer};
use crate::{
    dns::respond::{Deed, Reaction, UDP_LIMIT, encode},
    lab::Shared,
    log::Via,
    names,
    scenario::{Failing, Transport},
};

/// True when connections are closed as soon as they are open.
pub(crate) fn is_dead(resolver: &Resolver) -> bool {
    resolver.failing() == Some(Failing::Dead)
}

/// Decides.
pub(crate) fn respond(shared: &Shared, resolver: &Resolver, bytes: &[u8], via: Via) -> Reaction {
    let Ok(request) = Message::from_vec(bytes) else {
        let id = bytes.get(..2).map_or(0, |b| u16::from_be_bytes([b[0], b[1]]));
        let error = Message::error_msg(id, OpCode::Query, ResponseCode::FormErr);
        return Reaction::now(error.to_vec().map_or(Deed::Silence, Deed::Send));
    };
    if request.metadata.message_type != MessageType::Query {
        return Reaction::now(Deed::Silence);
    }
    let offered = resolver.offers(if via == Via::Tls { Transport::Dot } else { Transport::Dns });
    note(shared, resolver, &request, via);
    match resolver.failing() {
        Some(Failing::Timeout) => return Reaction::now(Deed::Silence),
        Some(Failing::Dead) => {
            return Reaction::now(if via == Via::Udp { Deed::Silence } else { Deed::Close });
        }
        _ if !offered => return Reaction::now(if via == Via::Udp { Deed::Silence } else { Deed::Close }),
        _ => {}
    }
    let (response, delay) = answer(shared, resolver, &request);
    let limit = request.edns.as_ref().map_or(512, |e| e.max_payload().clamp(512, UDP_LIMIT));
    let bytes = encode(&response, via != Via::Udp, limit);
    Reaction { delay, deed: bytes.map_or(Deed::Silence, Deed::Send) }
}

/// Writes a question into the log.
pub(super) fn note(shared: &Shared, resolver: &Resolver, request: &Message, via: Via) {
    if let Some(query) = request.queries.first() {
        shared.log.resolver(
            &resolver.about.id,
            via,
            &names::text(query.name()),
            &query.query_type().to_string(),
        );
    }
}
