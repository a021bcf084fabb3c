//! One question to one resolver over one transport of hickory-resolver: UDP and TCP (RFC 1035, RFC 7766), TLS
//! (RFC 7858) and HTTPS (RFC 8484). The connections are hickory's, the caching pool above them is not used
//! (docs/decisions/0007): it turns an answer without records into an error and drops the rest of the message.

use super::checked;
use super::guarded::{Guarded, Target};
use crate::wire::{Question, Reply};
use hickory_resolver::config::{ConnectionConfig, ProtocolConfig, ResolverOpts};
use hickory_resolver::net::NetError;
use hickory_resolver::net::xfer::{DnsHandle, FirstAnswer};
use hickory_resolver::proto::op::{DnsRequest, DnsRequestOptions, Message};
use hickory_resolver::{ConnectionProvider, PoolContext, TlsConfig};
use net::Dialer;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

/// Port of DNS over TLS.
const TLS_PORT: u16 = 853;
/// Longest text of a failure that is passed on: HTTP servers put whole pages into it.
const FAILURE_TEXT: usize = 200;
/// The address hickory is given where the dialer resolves the host itself.
const BY_NAME: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// Why a transport brought no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// Nothing in time.
    Silent,
    /// A message came that hickory can't decode, most often for a record with malformed data.
    Undecodable(String),
    /// Anything else.
    Other(String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Silent => f.write_str("no answer in time"),
            Failure::Undecodable(why) => write!(f, "what came is no DNS message ({why})"),
            Failure::Other(why) => f.write_str(why),
        }
    }
}

impl From<NetError> for Failure {
    fn from(error: NetError) -> Self {
        let text = match &error {
            NetError::Timeout => return Failure::Silent,
            NetError::Proto(why) => return Failure::Undecodable(why.to_string()),
            NetError::Io(io) => match io.kind() {
                ErrorKind::TimedOut => return Failure::Silent,
                ErrorKind::ConnectionRefused => "the port is closed".into(),
                ErrorKind::HostUnreachable => "the host is unreachable".into(),
                ErrorKind::NetworkUnreachable | ErrorKind::AddrNotAvailable => {
                    "this host has no route for the address".into()
                }
                ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe => {
                    "the server closed the connection".into()
                }
                _ => io.to_string(),
            },
            other => other.to_string(),
        };
        Failure::Other(text.chars().filter(|c| !c.is_control()).take(FAILURE_TEXT).collect())
    }
}

/// A question and how long it may take over any transport, connection included.
pub(super) struct Exchange<'a> {
    pub dialer: &'a Dialer,
    pub question: &'a Question,
    pub limit: Duration,
}

impl Exchange<'_> {
    /// Asks an address over UDP.
    pub(super) async fn udp(&self, target: Target, to: (IpAddr, u16)) -> Result<Reply, Failure> {
        self.ask(target, to, ProtocolConfig::Udp).await
    }

    /// Asks an address over TCP.
    pub(super) async fn tcp(&self, target: Target, to: (IpAddr, u16)) -> Result<Reply, Failure> {
        self.ask(target, to, ProtocolConfig::Tcp).await
    }

    /// Asks over TLS; `host` is `host` or `host:port`, an IPv6 address with a port in brackets.
    pub(super) async fn tls(&self, host: &str) -> Result<Reply, Failure> {
        let (host, port) = host_and_port(host);
        let target = Target::Host { dialer: self.dialer.clone(), host: host.into(), port, tls: true };
        // The stream is encrypted below hickory, for which it is a TCP connection.
        self.ask(target, (BY_NAME, port), ProtocolConfig::Tcp).await
    }

    /// Asks over HTTPS, by HTTP/2.
    pub(super) async fn https(&self, url: &str) -> Result<Reply, Failure> {
        let other = |why: &str| Failure::Other(why.to_string());
        let url = url::Url::parse(url).map_err(|e| other(&e.to_string()))?;
        let host: Arc<str> = url.host_str().ok_or_else(|| other("the URL has no host"))?.into();
        let port = url.port_or_known_default().unwrap_or(443);
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_string(),
        };
        let target = Target::Host { dialer: self.dialer.clone(), host: host.clone(), port, tls: false };
        let protocol = ProtocolConfig::Https { server_name: host, path: path.into() };
        let answer = self.ask(target, (BY_NAME, port), protocol).await;
        answer.map_err(|failure| match failure {
            Failure::Other(text) => Failure::Other(http_status(&text).unwrap_or(text)),
            failure => failure,
        })
    }

    async fn ask(
        &self,
        target: Target,
        to: (IpAddr, u16),
        protocol: ProtocolConfig,
    ) -> Result<Reply, Failure> {
        let mut connection = ConnectionConfig::new(protocol);
        connection.port = to.1;
        let mut options = ResolverOpts::default();
        options.timeout = self.limit;
        options.os_port_selection = true;
        let config = self.dialer.tls_config().as_ref().clone();
        let context = PoolContext::new(options, TlsConfig { config });
        let provider = Guarded::new(target);
        let message = Message::from_vec(&super::encoded(self.question, rand::random()))
            .map_err(|e| Failure::Other(e.to_string()))?;
        let mut options = DnsRequestOptions::default();
        // Two datagrams: the third would go when time is up.
        options.retry_interval = self.limit / 2;
        let talk = async {
            let handle = provider.new_connection(to.0, &connection, &context)?.await?;
            handle.send(DnsRequest::new(message, options)).first_answer().await
        };
        let answer = tokio::time::timeout(self.limit, talk).await.map_err(|_| Failure::Silent)??;
        checked(answer.as_buffer(), self.question).map_err(Failure::Other)
    }
}

/// hickory's text of an unsuccessful HTTP status ends in what the server's page says, which is of no use here.
fn http_status(text: &str) -> Option<String> {
    let status =
        text.strip_prefix("http unsuccessful code: ")?.split(|c: char| !c.is_ascii_digit()).next()?;
    Some(format!("HTTP status {status}"))
}

/// `host` or `host:port`; an IPv6 address stands in brackets.
fn host_and_port(text: &str) -> (&str, u16) {
    match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => match port.parse() {
            Ok(port) => (host, port),
            Err(_) => (text, TLS_PORT),
        },
        _ => (text, TLS_PORT),
    }
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

    #[test]
    fn a_servers_error_page_is_not_passed_on() {
        let page = "http unsuccessful code: 503 Service Unavailable, message: <html>long";
        assert_eq!(http_status(page).as_deref(), Some("HTTP status 503"));
        assert_eq!(http_status("unexpected end of file"), None);
    }
}
