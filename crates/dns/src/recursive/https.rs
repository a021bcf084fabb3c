//! DNS over HTTPS by POST (RFC 8484): the id is 0, the body a message. HTTP/2 where the server takes it.

use super::{CAP, checked, encoded};
use crate::wire::{Question, Reply};
use net::Dialer;

const KIND: &str = "application/dns-message";

pub(super) async fn ask(dialer: &Dialer, url: &str, question: &Question) -> Result<Reply, String> {
    let clear = url.starts_with("http://");
    if clear && !model::resolvers::is_loopback_http(url) {
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
    checked(&answer.body, question, 0)
}
