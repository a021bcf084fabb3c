//! Hand-written clients for the lab's tests: they share no code with the lab but the wire formats.
#![allow(dead_code, reason = "every test file uses some of it")]

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use hickory_proto::{
    op::{Edns, Message, MessageType, OpCode, Query},
    rr::{
        Name, RData, RecordType,
        rdata::opt::{EdnsOption, NSIDPayload},
    },
};
use lab::{Lab, Options, Scenario};
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, UdpSocket},
    time::timeout,
};

pub const NOW: &str = "2026-11-20T12:00:00Z";
/// Long enough for a loaded machine, short enough for a test of silence.
pub const PATIENCE: Duration = Duration::from_secs(30);
pub const SILENCE: Duration = Duration::from_millis(300);

pub struct World {
    pub lab: Lab,
    pub dir: TempDir,
}

pub async fn start_with(scenario: Scenario, single: bool) -> World {
    let dir = TempDir::new().unwrap();
    let mut options = Options::new(scenario, dir.path(), NOW.parse().unwrap());
    options.force_single_address = single;
    World { lab: Lab::start(options).await.unwrap(), dir }
}

pub async fn small() -> World {
    start_with(Scenario::named("small").unwrap(), false).await
}

pub async fn demo() -> World {
    start_with(Scenario::named("demo").unwrap(), false).await
}

pub fn name(text: &str) -> Name {
    Name::from_ascii(format!("{}.", text.trim_end_matches('.'))).unwrap()
}

pub struct Ask {
    pub edns: bool,
    pub dnssec: bool,
    pub tcp: bool,
    pub payload: u16,
    pub wait: Duration,
}

impl Default for Ask {
    fn default() -> Self {
        Self { edns: true, dnssec: false, tcp: false, payload: 1232, wait: PATIENCE }
    }
}

pub fn signed() -> Ask {
    Ask { dnssec: true, ..Ask::default() }
}

pub fn tcp() -> Ask {
    Ask { tcp: true, ..Ask::default() }
}

pub fn plain() -> Ask {
    Ask { edns: false, ..Ask::default() }
}

/// No patience: for servers that are expected to be silent.
pub fn hurried() -> Ask {
    Ask { wait: SILENCE, ..Ask::default() }
}

pub fn question(qname: &str, qtype: RecordType, how: &Ask) -> Message {
    let mut message = Message::new(0x4c41, MessageType::Query, OpCode::Query);
    message.add_query(Query::query(
        Name::from_ascii(format!("{}.", qname.trim_end_matches('.'))).unwrap(),
        qtype,
    ));
    if how.edns {
        let mut edns = Edns::new();
        edns.set_max_payload(how.payload);
        edns.set_dnssec_ok(how.dnssec);
        edns.options_mut().insert(EdnsOption::NSID(NSIDPayload::new(Vec::new()).unwrap()));
        message.set_edns(edns);
    }
    message
}

impl World {
    pub fn dns(&self, server: &str) -> SocketAddr {
        let ip = self.lab.address_of(server).unwrap_or_else(|| panic!("no host {server}"));
        self.lab.real(ip, self.lab.endpoints().dns_port)
    }

    /// The bytes of the answer and where they came from.
    pub async fn raw(&self, server: &str, bytes: &[u8], how: &Ask) -> Option<(Vec<u8>, SocketAddr)> {
        let to = self.dns(server);
        if how.tcp {
            let talk = async {
                let mut stream = TcpStream::connect(to).await.ok()?;
                let mut framed = u16::try_from(bytes.len()).unwrap().to_be_bytes().to_vec();
                framed.extend(bytes);
                stream.write_all(&framed).await.ok()?;
                let length = stream.read_u16().await.ok()?;
                let mut answer = vec![0; usize::from(length)];
                stream.read_exact(&mut answer).await.ok()?;
                Some((answer, to))
            };
            return timeout(how.wait, talk).await.ok().flatten();
        }
        // Bound to one address and not connected, so that answers from elsewhere are seen.
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        socket.send_to(bytes, to).await.unwrap();
        let mut buffer = vec![0; 65_535];
        let (length, from) = timeout(how.wait, socket.recv_from(&mut buffer)).await.ok()?.ok()?;
        buffer.truncate(length);
        Some((buffer, from))
    }

    pub async fn try_ask(&self, server: &str, qname: &str, qtype: RecordType, how: &Ask) -> Option<Message> {
        let bytes = question(qname, qtype, how).to_vec().unwrap();
        let (answer, _) = self.raw(server, &bytes, how).await?;
        Message::from_vec(&answer).ok()
    }

    pub async fn ask_how(&self, server: &str, qname: &str, qtype: RecordType, how: &Ask) -> Message {
        self.try_ask(server, qname, qtype, how)
            .await
            .unwrap_or_else(|| panic!("{server} did not answer {qname} {qtype}"))
    }

    pub async fn ask(&self, server: &str, qname: &str, qtype: RecordType) -> Message {
        self.ask_how(server, qname, qtype, &Ask::default()).await
    }

    /// Breaks or mends something.
    pub async fn command(&self, line: &str) -> String {
        self.lab.apply(line.parse().unwrap()).await.unwrap()
    }

    pub async fn whois(&self, server: &str, query: &str) -> Vec<u8> {
        let ip = self.lab.address_of(server).unwrap_or_else(|| panic!("no host {server}"));
        let port: u16 = self.lab.endpoints().whois_server.rsplit_once(':').unwrap().1.parse().unwrap();
        let mut stream = TcpStream::connect(self.lab.real(ip, port)).await.unwrap();
        stream.write_all(format!("{query}\r\n").as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("WHOIS in time").unwrap();
        answer
    }

    pub async fn whois_text(&self, server: &str, query: &str) -> String {
        String::from_utf8(self.whois(server, query).await).unwrap()
    }

    /// One HTTPS request, with only the lab's authority trusted; the head and the body as they came.
    pub async fn https(&self, host: &str, path: &str) -> std::io::Result<(String, Vec<u8>)> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = rustls::RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(&self.lab.endpoints().extra_ca).unwrap() {
            roots.add(certificate.unwrap()).unwrap();
        }
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let ip = self.lab.address_of(host).unwrap_or_else(|| panic!("no host {host}"));
        let stream = TcpStream::connect(self.lab.real(ip, self.lab.endpoints().https_port)).await?;
        let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
        let mut stream = connector.connect(ServerName::try_from(host.to_owned()).unwrap(), stream).await?;
        exchange(&mut stream, host, path).await
    }

    pub async fn rdap(&self, host: &str, path: &str) -> (u16, serde_json::Value) {
        let (head, body) = self.https(host, path).await.unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        assert!(head.to_lowercase().contains("content-type: application/rdap+json"), "{head}");
        (status, serde_json::from_slice(&body).unwrap())
    }

    /// One request to the control endpoint.
    pub async fn control(&self, method: &str, path: &str, body: &str, extra: &str) -> (String, String) {
        let mut stream = TcpStream::connect(self.lab.endpoints().control).await.unwrap();
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{extra}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }
}

/// HTTP/1.0 so that the body ends with the connection; a body that breaks off is an error.
pub async fn exchange<S>(stream: &mut S, host: &str, path: &str) -> std::io::Result<(String, Vec<u8>)>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let request = format!("GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut answer)).await??;
    let at = answer.windows(4).position(|w| w == b"\r\n\r\n").ok_or(std::io::ErrorKind::UnexpectedEof)?;
    let head = String::from_utf8_lossy(&answer[..at]).into_owned();
    Ok((head, answer[at + 4..].to_vec()))
}

pub fn ns_of(records: &[hickory_proto::rr::Record]) -> Vec<String> {
    let mut all: Vec<String> = records
        .iter()
        .filter_map(|r| match &r.data {
            RData::NS(ns) => Some(ns.0.to_ascii().trim_end_matches('.').to_lowercase()),
            _ => None,
        })
        .collect();
    all.sort();
    all
}

pub fn serial_of(message: &Message) -> Option<u32> {
    message.answers.iter().chain(&message.authorities).find_map(|r| match &r.data {
        RData::SOA(soa) => Some(soa.serial),
        _ => None,
    })
}

pub fn code(message: &Message) -> hickory_proto::op::ResponseCode {
    message.metadata.response_code
}
