//! Resolvers over HTTPS, over cleartext HTTP as browsers of the tests use it, and over TLS: refusals first.

mod common;

use std::sync::Arc;

use common::*;
use data_encoding::BASE64URL_NOPAD;
use hickory_proto::{
    op::{Message, ResponseCode},
    rr::{RData, RecordType},
};
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, StatusCode,
    body::Bytes,
    header::{self, HeaderMap},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use lab::{Lab, Scenario, Via};
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

const FIRST: &str = "first.resolver.lab";
const WIRE: &str = "application/dns-message";

fn wire(qname: &str, qtype: RecordType) -> Vec<u8> {
    let mut message = question(qname, qtype, &Ask::default());
    message.metadata.id = 0;
    message.metadata.recursion_desired = true;
    message.to_vec().unwrap()
}

struct Said {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Said {
    fn header(&self, name: header::HeaderName) -> &str {
        self.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
    }

    fn message(&self) -> Message {
        assert_eq!((self.status, self.header(header::CONTENT_TYPE)), (StatusCode::OK, WIRE));
        Message::from_vec(&self.body).unwrap()
    }

    fn json(&self) -> Value {
        assert_eq!(
            (self.status, self.header(header::CONTENT_TYPE)),
            (StatusCode::OK, "application/dns-json")
        );
        serde_json::from_slice(&self.body).unwrap()
    }
}

async fn talk<S>(stream: S, h2: bool, request: Request<Full<Bytes>>) -> Option<Said>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let io = TokioIo::new(stream);
    let response = if h2 {
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.ok()?;
        tokio::spawn(connection);
        sender.send_request(request).await.ok()?
    } else {
        let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.ok()?;
        tokio::spawn(connection);
        sender.send_request(request).await.ok()?
    };
    let (parts, body) = response.into_parts();
    let body = body.collect().await.ok()?.to_bytes().to_vec();
    Some(Said { status: parts.status, headers: parts.headers, body })
}

/// One request without TLS; none when the resolver gives no answer.
async fn clear(lab: &Lab, request: Request<Full<Bytes>>) -> Option<Said> {
    let ip = lab.address_of(FIRST).unwrap();
    let stream = TcpStream::connect(lab.real(ip, lab.endpoints().http_port)).await.ok()?;
    timeout(PATIENCE, talk(stream, false, request)).await.expect("an end within the time")
}

fn get(path: &str) -> Request<Full<Bytes>> {
    Request::get(path).header(header::HOST, FIRST).body(Full::default()).unwrap()
}

fn post(kind: &str, body: Vec<u8>) -> Request<Full<Bytes>> {
    let request = Request::post("/dns-query").header(header::HOST, FIRST).header(header::CONTENT_TYPE, kind);
    request.body(Full::from(body)).unwrap()
}

async fn tls(world: &World, port: u16, protocol: &[u8]) -> tokio_rustls::client::TlsStream<TcpStream> {
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(&world.lab.endpoints().extra_ca).unwrap() {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let ip = world.lab.address_of(FIRST).unwrap();
    let stream = TcpStream::connect(world.lab.real(ip, port)).await.unwrap();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let stream = connector.connect(ServerName::try_from(FIRST).unwrap(), stream).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(protocol));
    stream
}

fn a_of(message: &Message) -> Vec<String> {
    let a =
        |r: &hickory_proto::rr::Record| if let RData::A(a) = &r.data { Some(a.to_string()) } else { None };
    message.answers.iter().filter_map(a).collect()
}

#[tokio::test]
async fn requests_that_are_none_are_refused_as_the_rfc_says() {
    let world = small().await;
    let lab = &world.lab;
    let good = BASE64URL_NOPAD.encode(&wire("plain.example", RecordType::A));
    let delete = Request::delete(format!("/dns-query?dns={good}")).header(header::HOST, FIRST);
    for (request, status) in [
        (get("/dns-query"), 400),
        (get("/dns-query?dns=%%%"), 400),
        (get("/dns-query?dns=AAAA"), 400),
        (get("/resolve"), 400),
        (get("/resolve?name=plain.example&type=NONSENSE"), 400),
        (get("/resolve?name=a..b"), 400),
        (get("/elsewhere"), 404),
        (delete.body(Full::default()).unwrap(), 405),
        (post("text/plain", wire("plain.example", RecordType::A)), 415),
        (post(WIRE, b"rubbish".to_vec()), 400),
        (post(WIRE, vec![0; 70_000]), 413),
    ] {
        let shown = format!("{} {}", request.method(), request.uri());
        let said = clear(lab, request).await.unwrap();
        assert_eq!(said.status.as_u16(), status, "{shown}");
        assert_eq!(said.header(header::ACCESS_CONTROL_ALLOW_ORIGIN), "*", "{shown}: pages must see why");
    }
    assert_eq!(lab.query_log().of_resolver("first"), 0);
}

#[tokio::test]
async fn a_resolver_that_fails_fails_here_too() {
    let world = small().await;
    let ask = || get("/resolve?name=plain.example&type=A");
    world.command("resolver first failing http-500").await;
    assert_eq!(clear(&world.lab, ask()).await.unwrap().status.as_u16(), 500);
    world.command("resolver first failing dead").await;
    assert!(clear(&world.lab, ask()).await.is_none());
    world.command("resolver first failing timeout").await;
    assert!(timeout(SILENCE, clear(&world.lab, ask())).await.is_err());
    world.command("resolver first failing servfail").await;
    assert_eq!(clear(&world.lab, ask()).await.unwrap().json()["Status"], 2);
    world.command("resolver first failing none").await;
    assert_eq!(clear(&world.lab, ask()).await.unwrap().json()["Status"], 0);
}

#[tokio::test]
async fn messages_go_by_get_and_by_post() {
    let world = small().await;
    let octets = wire("www.plain.example", RecordType::A);
    let path = format!("/dns-query?dns={}", BASE64URL_NOPAD.encode(&octets));
    for request in [get(&path), post(WIRE, octets)] {
        let said = clear(&world.lab, request).await.unwrap();
        let message = said.message();
        assert_eq!((message.metadata.id, code(&message)), (0, ResponseCode::NoError));
        assert_eq!(a_of(&message), ["192.0.2.10"]);
        let ttl = message.answers.iter().map(|r| r.ttl).min().unwrap();
        assert_eq!(said.header(header::CACHE_CONTROL), format!("max-age={ttl}"));
    }
    world.command("advance 100").await;
    let said = clear(&world.lab, get(&path)).await.unwrap();
    assert!(said.message().answers[0].ttl <= 200);
    let octets = wire("none.plain.example", RecordType::A);
    let said = clear(&world.lab, post(WIRE, octets)).await.unwrap();
    assert_eq!(code(&said.message()), ResponseCode::NXDomain);
    assert_eq!(said.header(header::CACHE_CONTROL), "max-age=1800");
}

#[tokio::test]
async fn the_json_form_is_readable_from_any_page() {
    let world = small().await;
    world.command("add plain.example 60 TXT \"a \\\"quoted\\\" text\" \"two\"").await;
    let said = clear(&world.lab, get("/resolve?name=WWW.plain.example&type=A&do=0")).await.unwrap();
    assert_eq!(said.header(header::ACCESS_CONTROL_ALLOW_ORIGIN), "*");
    let json = said.json();
    assert_eq!((&json["Status"], &json["RA"], &json["TC"]), (&0.into(), &true.into(), &false.into()));
    assert_eq!(json["Question"][0]["type"], 1);
    assert_eq!(json["Answer"][0]["type"], 5);
    assert_eq!(json["Answer"][0]["data"], "plain.example.");
    assert_eq!(json["Answer"][1]["data"], "192.0.2.10");
    assert_eq!(json["Answer"][1]["TTL"], 300);
    let json = clear(&world.lab, get("/resolve?name=plain.example&type=16")).await.unwrap().json();
    assert_eq!(json["Answer"][0]["data"], r#""a \"quoted\" text" "two""#);
    let json = clear(&world.lab, get("/resolve?name=none.plain.example")).await.unwrap().json();
    assert_eq!((&json["Status"], &json["Authority"][0]["type"]), (&3.into(), &6.into()));
    let json = clear(&world.lab, get("/resolve?name=signed.example&do=1")).await.unwrap().json();
    assert_eq!((&json["AD"], &json["Answer"][1]["type"]), (&true.into(), &46.into()));
    world.command("resolver first filter filtered plain.example").await;
    let json = clear(&world.lab, get("/resolve?name=plain.example")).await.unwrap().json();
    assert_eq!(json["Answer"][0]["data"], "0.0.0.0");
    assert_eq!(json["extended_dns_errors"][0]["info_code"], 17);
    // The same at /dns-query for those who ask for it there.
    let request = Request::get("/dns-query?name=signed.example&type=A").header(header::HOST, FIRST);
    let request = request.header(header::ACCEPT, "application/dns-json").body(Full::default()).unwrap();
    assert_eq!(clear(&world.lab, request).await.unwrap().json()["Status"], 0);
}

#[tokio::test]
async fn a_preflight_is_answered() {
    let world = small().await;
    let request = Request::options("/dns-query").header(header::HOST, FIRST);
    let request = request.header(header::ORIGIN, "https://page.example").body(Full::default()).unwrap();
    let said = clear(&world.lab, request).await.unwrap();
    assert_eq!(said.status, StatusCode::NO_CONTENT);
    assert!(said.header(header::ACCESS_CONTROL_ALLOW_METHODS).contains("POST"));
    assert!(said.header(header::ACCESS_CONTROL_ALLOW_HEADERS).contains("content-type"));
    assert_eq!(world.lab.query_log().of_resolver("first"), 0);
}

#[tokio::test]
async fn over_tls_both_versions_of_http_are_spoken() {
    let world = small().await;
    let port = world.lab.endpoints().https_port;
    for (h2, protocol) in [(false, b"http/1.1".as_slice()), (true, b"h2")] {
        let uri = format!("https://{FIRST}:{port}/dns-query");
        let request = Request::post(if h2 { uri.as_str() } else { "/dns-query" });
        let request = if h2 { request } else { request.header(header::HOST, FIRST) };
        let octets = wire("plain.example", RecordType::A);
        let request = request.header(header::CONTENT_TYPE, WIRE).body(Full::from(octets)).unwrap();
        let said = timeout(PATIENCE, talk(tls(&world, port, protocol).await, h2, request)).await.unwrap();
        assert_eq!(a_of(&said.unwrap().message()), ["192.0.2.10"]);
    }
    let log = world.lab.query_log();
    assert!(log.per_resolver.keys().all(|q| q.via == Via::Https && q.resolver == "first"));
    assert_eq!(log.resolvers_asked("plain.example"), 2);
}

#[tokio::test]
async fn dns_over_tls_has_a_port_of_its_own() {
    let world = small().await;
    let mut stream = tls(&world, world.lab.endpoints().dot_port, b"dot").await;
    for name in ["plain.example", "signed.example"] {
        let octets = wire(name, RecordType::A);
        stream.write_u16(u16::try_from(octets.len()).unwrap()).await.unwrap();
        stream.write_all(&octets).await.unwrap();
        let length = timeout(PATIENCE, stream.read_u16()).await.unwrap().unwrap();
        let mut answer = vec![0; usize::from(length)];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(a_of(&Message::from_vec(&answer).unwrap()).len(), 1, "{name}");
    }
    assert!(world.lab.query_log().per_resolver.keys().all(|q| q.via == Via::Tls));
}

#[tokio::test]
async fn the_exported_table_leads_to_the_resolvers() {
    for single in [false, true] {
        let world = start_with(Scenario::named("small").unwrap(), single).await;
        let lab = &world.lab;
        let text = std::fs::read_to_string(&lab.endpoints().resolvers).unwrap();
        let table: toml::Table = text.parse().unwrap();
        let rows = table["resolver"].as_array().unwrap();
        assert_eq!(rows.len(), 3);
        let row = rows.iter().find(|r| r["id"].as_str() == Some("guard")).unwrap();
        assert_eq!(row["filtering"].as_str(), Some("malware"));
        assert_eq!(
            row["addresses"][0].as_str().unwrap(),
            lab.address_of("guard.resolver.lab").unwrap().to_string()
        );
        let (https, dot) = (lab.endpoints().https_port, lab.endpoints().dot_port);
        assert_eq!(row["doh"].as_str().unwrap(), format!("https://guard.resolver.lab:{https}/dns-query"));
        assert_eq!(row["dot"].as_str().unwrap(), format!("guard.resolver.lab:{dot}"));
        // A browser needs no name and no certificate for this one.
        let url: url::Url = row["json"].as_str().unwrap().parse().unwrap();
        assert_eq!(url.scheme(), "http");
        let at = (url.host_str().unwrap().to_owned(), url.port().unwrap());
        let stream = TcpStream::connect(at).await.unwrap();
        let request = Request::get(format!("{}?name=plain.example", url.path())).header(header::HOST, "x");
        let said = talk(stream, false, request.body(Full::default()).unwrap()).await.unwrap();
        assert_eq!(said.json()["Answer"][0]["data"], "192.0.2.10");
        let asked = lab.query_log().per_resolver.into_keys().next().unwrap();
        assert_eq!((asked.resolver.as_str(), asked.via), ("guard", Via::JsonHttp));
    }
}

#[tokio::test]
async fn what_a_resolver_does_not_offer_is_not_there() {
    let row = "name = \"x\"\n[[resolver]]\nid = \"first\"\nname = \"A\"\ntransports = [\"doh\"]";
    let world = start_with(Scenario::parse(row, "x.toml").unwrap(), false).await;
    assert_eq!(clear(&world.lab, get("/resolve?name=lab")).await.unwrap().status.as_u16(), 404);
    assert!(world.try_ask(FIRST, "lab", RecordType::SOA, &hurried()).await.is_none());
    let said = clear(&world.lab, post(WIRE, wire("lab", RecordType::SOA))).await.unwrap();
    assert_eq!(said.message().answers.len(), 1);
    let text = std::fs::read_to_string(&world.lab.endpoints().resolvers).unwrap();
    assert!(text.contains("doh =") && !text.contains("json =") && !text.contains("dot ="), "{text}");
}
