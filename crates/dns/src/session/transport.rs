//! One question to one socket address over UDP or TCP (RFC 1035 section 4.2, RFC 7766, RFC 5452).
//! Every datagram has its own random id on a fresh socket; what is not the answer to it is ignored until time is up.

use crate::sockets::Network;
use crate::wire::{Question, Reply, WireError};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep_until, timeout_at};

/// Why no reply came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// Nothing in time.
    Timeout,
    /// The network said no.
    Unreachable(String),
    /// This host has no route for the address family.
    NoRoute,
    /// Only things came that are no answer to the question.
    Malformed,
    /// The reply is past the bounds on one message ([`crate::wire::MAX_RECORDS`], [`crate::wire::MAX_MEMORY`]).
    TooLarge,
    /// Not asked, and why.
    NotAsked(String),
}

/// What an exchange brought.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    pub result: Result<Reply, Failure>,
    /// Between the datagram that was answered and its answer.
    pub latency: Duration,
    /// The letters of the question came back in another case: the answer may be forged, or the server folds case.
    pub folded: bool,
    /// The answer is to a datagram without EDNS although EDNS was tried first.
    pub plain: bool,
    /// Datagrams or messages that were not the answer.
    pub ignored: u32,
}

impl Exchange {
    fn failed(failure: Failure, ignored: u32) -> Self {
        let failure = if failure == Failure::Timeout && ignored > 0 { Failure::Malformed } else { failure };
        Exchange { result: Err(failure), latency: Duration::ZERO, folded: false, plain: false, ignored }
    }
}

/// How the datagrams of one exchange are sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sending {
    pub timeout: Duration,
    pub tries: u32,
    /// Randomise the letters' case.
    pub randomise: bool,
    /// Leave EDNS out from the third datagram on.
    pub drop_edns: bool,
}

fn failure_of(error: &std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::NetworkUnreachable | ErrorKind::AddrNotAvailable => Failure::NoRoute,
        ErrorKind::ConnectionRefused => Failure::Unreachable("the port is closed".into()),
        ErrorKind::HostUnreachable => Failure::Unreachable("the host is unreachable".into()),
        ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe => {
            Failure::Unreachable("the server closed the connection".into())
        }
        _ => Failure::Unreachable(error.to_string()),
    }
}

/// One datagram that is on its way.
struct Flight {
    exact: Vec<u8>,
    at: Instant,
    plain: bool,
}

/// Says whether `reply` answers the question as it was sent, letters aside; the second part says whether they match.
pub(crate) fn answers(reply: &Reply, question: &Question, exact: &[u8]) -> (bool, bool) {
    match &reply.question {
        // Servers that can't read a message answer FORMERR (or NOTIMP) without repeating it.
        None => (reply.rcode == 1 || reply.rcode == 4, true),
        Some((name, rtype, class)) => {
            let same =
                name.eq_ignore_ascii_case(exact) && *rtype == question.rtype && *class == question.class;
            (same, name == exact)
        }
    }
}

/// The id of a message that cannot be read further; 0 for one without.
fn id_of(message: &[u8]) -> u16 {
    message.first_chunk().map_or(0, |octets| u16::from_be_bytes(*octets))
}

/// Asks over UDP. `permit` is called before each datagram and may forbid it.
pub(crate) async fn udp(
    network: &dyn Network,
    target: SocketAddr,
    question: &Question,
    sending: Sending,
    permit: &(dyn Fn() -> bool + Sync),
) -> Exchange {
    let socket = match network.datagrams(target, true).await {
        Ok(socket) => socket,
        Err(e) => return Exchange::failed(failure_of(&e), 0),
    };
    let start = Instant::now();
    let end = start + sending.timeout;
    let tries = sending.tries.max(1);
    let mut flights: HashMap<u16, Flight> = HashMap::new();
    let (mut sent, mut ignored) = (0, 0);
    let mut folded: Option<Exchange> = None;
    loop {
        let next = start + sending.timeout * sent / tries;
        if sent < tries && Instant::now() >= next {
            sent += 1;
            if permit() {
                let plain = question.edns.is_some() && sending.drop_edns && sent >= 3;
                let mut id = rand::random();
                while flights.contains_key(&id) {
                    id = rand::random();
                }
                let (bytes, exact) = question.encode(id, !plain, || sending.randomise && rand::random());
                if let Err(e) = socket.send(&bytes).await {
                    return folded.unwrap_or_else(|| Exchange::failed(failure_of(&e), ignored));
                }
                flights.insert(id, Flight { exact, at: Instant::now(), plain });
            } else if flights.is_empty() {
                return Exchange::failed(Failure::NotAsked("the number of questions is used up".into()), 0);
            }
            continue;
        }
        let wake = if sent < tries { next.min(end) } else { end };
        tokio::select! {
            received = socket.receive() => match received {
                Ok((message, _)) => {
                    let reply = match Reply::read(&message) {
                        Ok(reply) => reply,
                        Err(WireError::TooLarge) if flights.contains_key(&id_of(&message)) => {
                            return Exchange::failed(Failure::TooLarge, ignored);
                        }
                        Err(_) => {
                            ignored += 1;
                            continue;
                        }
                    };
                    let Some(flight) = flights.get(&reply.id) else {
                        ignored += 1;
                        continue;
                    };
                    let (same, letters) = answers(&reply, question, &flight.exact);
                    if !same {
                        ignored += 1;
                        continue;
                    }
                    let exchange = Exchange {
                        latency: flight.at.elapsed(),
                        folded: !letters,
                        plain: flight.plain,
                        ignored,
                        result: Ok(reply),
                    };
                    // An answer in other letters is kept for the case that no exact one comes: the caller asks again
                    // in a way that can't be forged, and waiting longer would only cost time.
                    if letters {
                        return exchange;
                    }
                    folded = Some(exchange);
                    break;
                }
                Err(e) => return folded.unwrap_or_else(|| Exchange::failed(failure_of(&e), ignored)),
            },
            () = sleep_until(wake) => {
                if wake >= end && sent >= tries {
                    break;
                }
            }
        }
    }
    folded.unwrap_or_else(|| Exchange::failed(Failure::Timeout, ignored))
}

/// Asks over UDP on a socket that hears everybody, and says which address answers the question.
pub(crate) async fn source_of(
    network: &dyn Network,
    target: SocketAddr,
    question: &Question,
    limit: Duration,
) -> Option<IpAddr> {
    let end = Instant::now() + limit;
    let socket = network.datagrams(target, false).await.ok()?;
    let id: u16 = rand::random();
    let (bytes, exact) = question.encode(id, true, || false);
    socket.send(&bytes).await.ok()?;
    // One deadline for all that is heard: each message of a flood would begin another one.
    let heard = async {
        loop {
            let (message, source) = socket.receive().await.ok()?;
            if Reply::read(&message).is_ok_and(|r| r.id == id && answers(&r, question, &exact).0) {
                return Some(source.ip());
            }
        }
    };
    timeout_at(end, heard).await.ok()?
}

/// Asks over TCP.
pub(crate) async fn tcp(
    network: &dyn Network,
    target: SocketAddr,
    question: &Question,
    edns: bool,
    limit: Duration,
) -> Exchange {
    let start = Instant::now();
    let end = start + limit;
    let talk = async {
        let mut stream = network.stream(target).await?;
        let id: u16 = rand::random();
        let (bytes, exact) = question.encode(id, edns, || false);
        let mut framed = (bytes.len() as u16).to_be_bytes().to_vec();
        framed.extend(bytes);
        stream.write_all(&framed).await?;
        let mut ignored = 0;
        // A handful of wrong messages is patience enough; the stream can't be resynchronised after garbage.
        while ignored < 8 {
            let length = stream.read_u16().await? as usize;
            let mut message = vec![0u8; length];
            stream.read_exact(&mut message).await?;
            match Reply::read(&message) {
                Ok(reply) if reply.id == id && answers(&reply, question, &exact).0 => {
                    return Ok((Ok(reply), ignored));
                }
                Err(WireError::TooLarge) if id_of(&message) == id => {
                    return Ok((Err(Failure::TooLarge), ignored));
                }
                _ => ignored += 1,
            }
        }
        Ok::<_, std::io::Error>((Err(Failure::Malformed), ignored))
    };
    match timeout_at(end, talk).await {
        Ok(Ok((Ok(reply), ignored))) => Exchange {
            result: Ok(reply),
            latency: start.elapsed(),
            folded: false,
            plain: !edns && question.edns.is_some(),
            ignored,
        },
        Ok(Ok((Err(failure), ignored))) => Exchange::failed(failure, ignored),
        Ok(Err(e)) => Exchange::failed(failure_of(&e), 0),
        Err(_) => Exchange::failed(Failure::Timeout, 0),
    }
}
