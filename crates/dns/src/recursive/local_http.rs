//! DNS over HTTP in the clear, to a resolver on this machine: the messages of RFC 8484 without TLS, which hickory's
//! client does not speak.

use super::{CAP, checked, encoded};
use crate::wire::{Question, Reply};
use net::Dialer;

const KIND: &str = "application/dns-message";

pub(super) async fn ask(dialer: &Dialer, url: &str, question: &Question) -> Result<Reply, String> {
    if !model::resolvers::is_loopback_http(url) {
        return Err("http is allowed to a loopback address only".into());
    }
    let answer = dialer.http_post(url, KIND, encoded(question, 0), CAP).await.map_err(|e| e.to_string())?;
    if answer.status != 200 {
        return Err(format!("HTTP status {}", answer.status));
    }
    let kind = answer.header("content-type").unwrap_or_default();
    if !kind.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case(KIND) {
        return Err(format!("HTTP answer of type “{}”", kind.chars().take(60).collect::<String>()));
    }
    let mut reply = checked(&answer.body, question)?;
    // An HTTP cache on the way has had it for so long (RFC 8484 section 5.1): what is left is less.
    let age = answer.header("age").and_then(|age| age.trim().parse().ok()).unwrap_or(0u32);
    for rr in reply.answers.iter_mut().chain(&mut reply.authority) {
        rr.ttl = rr.ttl.saturating_sub(age);
    }
    Ok(reply)
}
