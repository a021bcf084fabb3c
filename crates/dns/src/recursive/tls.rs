//! DNS over TLS (RFC 7858): one message on a connection whose certificate must be valid for the host.

use super::{checked, encoded};
use crate::wire::{Question, Reply};
use net::Dialer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const PORT: u16 = 853;

/// `host` or `host:port`; an IPv6 address stands in brackets.
fn host_and_port(text: &str) -> (&str, u16) {
    match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => match port.parse() {
            Ok(port) => (host, port),
            Err(_) => (text, PORT),
        },
        _ => (text, PORT),
    }
}

pub(super) async fn ask(dialer: &Dialer, host: &str, question: &Question) -> Result<Reply, String> {
    let (host, port) = host_and_port(host);
    let mut stream = dialer.tls(host, port).await.map_err(|e| e.to_string())?;
    let id: u16 = rand::random();
    let message = encoded(question, id);
    let length = u16::try_from(message.len()).map_err(|_| "the question is too long".to_string())?;
    let mut framed = length.to_be_bytes().to_vec();
    framed.extend(message);
    let broken = |e: std::io::Error| format!("the connection broke: {e}");
    stream.write_all(&framed).await.map_err(broken)?;
    stream.flush().await.map_err(broken)?;
    let length = stream.read_u16().await.map_err(broken)?;
    let mut answer = vec![0u8; usize::from(length)];
    stream.read_exact(&mut answer).await.map_err(broken)?;
    checked(&answer, question, id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_read_where_they_are_given() {
        for (text, host, port) in [
            ("dns.example", "dns.example", 853),
            ("dns.example:8853", "dns.example", 8853),
            ("[2001:db8::1]:853", "[2001:db8::1]", 853),
            ("2001:db8::1", "2001:db8::1", 853),
            ("dns.example:x", "dns.example:x", 853),
        ] {
            assert_eq!(host_and_port(text), (host, port));
        }
    }
}
