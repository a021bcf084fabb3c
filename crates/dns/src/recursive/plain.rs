//! UDP, and TCP where the answer was truncated or UDP is silent (RFC 1035 section 4.2, RFC 7766).

use crate::transport::{self, Failure, Sending};
use crate::wire::{Question, Reply};
use model::compare::Carried;
use std::net::SocketAddr;
use std::time::Duration;

pub(super) async fn ask(
    target: SocketAddr,
    question: &Question,
    limit: Duration,
) -> (Carried, Result<Reply, String>) {
    let sending = Sending { timeout: limit, tries: 2, randomise: false, drop_edns: false };
    let over_udp = transport::udp(target, question, sending, &|| true).await.result;
    match over_udp {
        Ok(reply) if !reply.tc => (Carried::Udp, Ok(reply)),
        Ok(_) | Err(Failure::Timeout | Failure::Malformed) => {
            let over_tcp = transport::tcp(target, question, true, limit).await.result;
            let why = |f: &Failure| match &over_udp {
                Ok(_) => format!("truncated over UDP, and TCP: {}", words(f)),
                Err(_) => words(f),
            };
            (Carried::Tcp, over_tcp.map_err(|f| why(&f)))
        }
        Err(failure) => (Carried::Udp, Err(words(&failure))),
    }
}

fn words(failure: &Failure) -> String {
    match failure {
        Failure::Timeout => "no answer in time".into(),
        Failure::Unreachable(why) | Failure::NotAsked(why) => why.clone(),
        Failure::NoRoute => "this host has no route for the address".into(),
        Failure::Malformed => "what came is not the answer to the question".into(),
    }
}
