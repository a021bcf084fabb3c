//! What hostile clients do to the TLS listener itself: frames of HTTP/2 in floods, handshakes and requests that stop half
//! way, places that are taken and not used. Each time somebody else is answered, and the attacker's place is free again.

#[path = "doh_faults/frames.rs"]
mod frames;

use axum::Router;
use dns::wire::{Data, Name, Rr, Rtype};
use doh::{Backend, Bounds, Entry, Exposure, Resolver, Site};
use frames::*;
use jiff::Timestamp;
use lab::{Lab, Options, Scenario};
use rustls_pki_types::pem::PemObject;
use server::http::{Limits, Served, Tls, serve};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;

/// The longest anything here may take; nothing waits for it when all is well.
const LONG: Duration = Duration::from_secs(30);

/// Knows one name; all others take for ever.
struct One {
    asked: AtomicUsize,
}

#[async_trait::async_trait]
impl Backend for One {
    async fn look_up(&self, name: &Name, _: Rtype, _: bool, now: Timestamp) -> Entry {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if name.to_string() != "www.example" {
            std::future::pending::<()>().await;
        }
        let raw = vec![192, 0, 2, 1];
        let data = Data::A(Ipv4Addr::new(192, 0, 2, 1));
        let rr = Rr { name: name.clone(), rtype: Rtype::A, class: 1, ttl: 300, raw, data };
        Entry { rcode: 0, answers: vec![rr], ttl: 300, explained: None, ..Entry::failure(now, 0, "") }
    }
}

struct World {
    at: SocketAddr,
    client: tokio_rustls::TlsConnector,
    backend: Arc<One>,
    _folder: TempDir,
    lab: Lab,
    stop: CancellationToken,
}

async fn world(limits: Limits) -> World {
    let folder = TempDir::new().unwrap();
    let options = Options::new(Scenario::named("small").unwrap(), folder.path(), Timestamp::now());
    let lab = Lab::start(options).await.unwrap();
    let issued = lab.certificate(&["localhost".into()], &[]).unwrap();
    let tls = Tls::pem(issued.chain.as_bytes(), issued.key.as_bytes()).unwrap();
    let backend = Arc::new(One { asked: AtomicUsize::new(0) });
    let bounds = Bounds { rate: 0, lookups: 64, ..Bounds::default() };
    let resolver = Resolver::new(backend.clone(), &bounds, Arc::new(Timestamp::now));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let at = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let pages = Router::new().route("/", axum::routing::post(|body: String| async move { body }));
    let site = Site::new(resolver, Exposure::Direct, true);
    let served = Served::with_doh(pages, site).within(limits);
    tokio::spawn(serve(listener, Some(tls), served, stop.clone()));
    let mut roots = rustls::RootCertStore::empty();
    let ca = std::fs::read(&lab.endpoints().extra_ca).unwrap();
    roots.add(rustls_pki_types::CertificateDer::from_pem_slice(&ca).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    World { at, client: Arc::new(config).into(), backend, _folder: folder, lab, stop }
}

/// Where the A record of a name is asked for.
fn path(name: &str) -> String {
    format!("/resolve?name={name}&type=A")
}

impl World {
    async fn connect(&self) -> TlsStream<TcpStream> {
        let stream = TcpStream::connect(self.at).await.unwrap();
        let name = rustls_pki_types::ServerName::try_from("localhost").unwrap();
        tokio::time::timeout(LONG, self.client.connect(name, stream)).await.expect("a handshake").unwrap()
    }

    /// Somebody else asks and is answered.
    async fn answers(&self) {
        let (mut read, mut write) = open(self.connect().await).await;
        let asked = request("GET", &path("www.example"));
        write.write_all(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &asked)).await.unwrap();
        write.flush().await.unwrap();
        let answered = async {
            while let Some(frame) = next(&mut read).await {
                if frame.kind == DATA && frame.stream == 1 {
                    return frame.payload;
                }
            }
            panic!("the connection ended without an answer");
        };
        let message = tokio::time::timeout(LONG, answered).await.expect("an answer");
        let text = String::from_utf8_lossy(&message);
        assert!(text.contains("\"192.0.2.1\""), "{text}");
    }

    async fn end(self) {
        self.stop.cancel();
        self.lab.shutdown().await;
    }
}

/// Writes until the server has had enough or so many octets are gone.
async fn flood(
    write: &mut (impl AsyncWriteExt + Unpin),
    piece: impl Fn(u32) -> Vec<u8>,
    most: usize,
) -> usize {
    let mut sent = 0;
    for n in 0.. {
        let piece = piece(n);
        if sent >= most || write.write_all(&piece).await.is_err() || write.flush().await.is_err() {
            break;
        }
        sent += piece.len();
    }
    sent
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_opened_and_reset_in_a_flood_end_the_connection() {
    // CVE-2023-44487. Names that take for ever: each would keep a lookup if nothing bounded them.
    let world = world(Limits::default()).await;
    let (mut read, mut write) = open(world.connect().await).await;
    let attack = tokio::spawn(async move {
        let burst = |n: u32| {
            let one = |n: u32| {
                let asked = request("GET", &path(&format!("n{n}.example")));
                let open = frame(HEADERS, END_HEADERS | END_STREAM, 2 * n + 1, &asked);
                [open, frame(RST_STREAM, 0, 2 * n + 1, &8u32.to_be_bytes())].concat()
            };
            (n * 100..n * 100 + 100).flat_map(one).collect()
        };
        flood(&mut write, burst, 64 << 20).await
    });
    let (code, kinds) = goodbye(&mut read).await;
    assert_eq!(code, Some(11), "ENHANCE_YOUR_CALM; {kinds:?}");
    drop(read);
    let sent = tokio::time::timeout(LONG, attack).await.expect("the flood ends").unwrap();
    assert!(sent < 64 << 20, "{sent}");
    assert!(world.backend.asked.load(Ordering::SeqCst) <= 64, "lookups are bounded");
    world.answers().await;
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_that_never_end_are_not_collected() {
    // CVE-2024-27316 and its kin.
    let world = world(Limits::default()).await;
    let (mut read, mut write) = open(world.connect().await).await;
    write.write_all(&frame(HEADERS, END_STREAM, 1, &request("GET", "/dns-query"))).await.unwrap();
    let attack = tokio::spawn(async move {
        let more = |n: u32| frame(CONTINUATION, 0, 1, &field(&format!("x-{n}"), &"v".repeat(8000)));
        flood(&mut write, more, 256 << 20).await
    });
    let (code, kinds) = goodbye(&mut read).await;
    assert!(code.is_some_and(|code| code != 0), "{code:?} {kinds:?}");
    drop(read);
    let sent = tokio::time::timeout(LONG, attack).await.expect("the flood ends").unwrap();
    assert!(sent < 64 << 20, "{sent} octets of headers were taken");
    world.answers().await;
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pings_and_settings_from_who_reads_nothing_are_not_queued_without_end() {
    let limits = Limits { patience: Duration::from_secs(1), ..Limits::default() };
    let world = world(limits).await;
    for (what, kind) in [("pings", PING), ("settings", SETTINGS)] {
        // The reading half is kept and never read: answers have nowhere to go.
        let (read, mut write) = open(world.connect().await).await;
        let payload: &[u8] = if kind == PING { &[7; 8] } else { &[0, 3, 0, 0, 0, 9] };
        let burst = |_| frame(kind, 0, 0, payload).repeat(500);
        let flood = flood(&mut write, burst, 1 << 30);
        let sent =
            tokio::time::timeout(LONG, flood).await.expect("the server hangs up, or never stops reading");
        assert!(sent < 256 << 20, "{what}: {sent} octets were taken without an answer being read");
        drop(read);
        world.answers().await;
    }
    // Who reads the answers gets every one, and is served on.
    let (mut read, mut write) = open(world.connect().await).await;
    let asked = request("GET", &path("www.example"));
    let all = [frame(PING, 0, 0, &[7; 8]).repeat(50), frame(HEADERS, 5, 1, &asked)].concat();
    write.write_all(&all).await.unwrap();
    write.flush().await.unwrap();
    let served = async {
        let (mut pongs, mut answered) = (0, false);
        while pongs < 50 || !answered {
            let frame = next(&mut read).await.expect("the connection stays");
            pongs += usize::from(frame.kind == PING && frame.flags == ACK && frame.payload == [7; 8]);
            answered |= frame.kind == DATA;
        }
    };
    tokio::time::timeout(LONG, served).await.expect("pongs and the answer");
    world.end().await;
}

/// The octets that come until the server hangs up.
async fn rest(stream: &mut (impl AsyncReadExt + Unpin)) -> Vec<u8> {
    let mut said = Vec::new();
    // A hang-up in the middle of TLS is one too.
    let _ = tokio::time::timeout(LONG, stream.read_to_end(&mut said)).await.expect("the server hangs up");
    said
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handshakes_headers_and_bodies_that_stop_half_way_are_given_up() {
    let limits = Limits { patience: Duration::from_millis(500), ..Limits::default() };
    let world = world(limits).await;
    // The beginning of a ClientHello, and nothing.
    let mut half: Vec<TcpStream> = Vec::new();
    for n in 0..100 {
        let mut stream = TcpStream::connect(world.at).await.unwrap();
        stream.write_all(&[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3][..n % 12]).await.unwrap();
        half.push(stream);
    }
    let mut headers = world.connect().await;
    headers.write_all(b"GET /dns-query HTTP/1.1\r\nhost: localhost\r\nx-slow: ").await.unwrap();
    let mut body = world.connect().await;
    let post = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 20\r\n\r\nhalf";
    body.write_all(post).await.unwrap();
    let mut nothing = world.connect().await;
    let (mut preface, _) = tokio::io::split(world.connect().await);
    world.answers().await;
    for stream in &mut half {
        rest(stream).await;
    }
    rest(&mut headers).await;
    let said = rest(&mut body).await;
    assert!(said.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&said));
    rest(&mut nothing).await;
    rest(&mut preface).await;
    world.answers().await;
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn places_that_are_taken_and_not_used_become_free() {
    let limits = Limits { connections: 20, idle: Duration::from_millis(300), ..Limits::default() };
    let world = world(limits).await;
    let mut idle = Vec::new();
    for _ in 0..20 {
        let (mut read, mut write) = open(world.connect().await).await;
        // It has asked once, and answers pings as it should.
        let asked = request("GET", &path("www.example"));
        write.write_all(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &asked)).await.unwrap();
        write.flush().await.unwrap();
        idle.push(tokio::spawn(async move {
            while let Some(frame) = next(&mut read).await {
                if frame.kind == PING && frame.flags == 0 {
                    let pong = frames::frame(PING, ACK, 0, &frame.payload);
                    if write.write_all(&pong).await.is_err() || write.flush().await.is_err() {
                        break;
                    }
                }
            }
        }));
    }
    // Every place is taken: this one waits for a free one, and gets it.
    world.answers().await;
    for connection in idle {
        tokio::time::timeout(LONG, connection).await.expect("an idle connection is closed").unwrap();
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_too_large_is_refused_in_both_versions() {
    let world = world(Limits::default()).await;
    for (what, block) in [
        ("headers", [request("GET", &path("www.example")), field("x-much", &"v".repeat(40_000))].concat()),
        ("a question", request("GET", &format!("/dns-query?dns={}", "A".repeat(90_000)))),
    ] {
        let (mut read, mut write) = open(world.connect().await).await;
        let pieces: Vec<&[u8]> = block.chunks(16_000).collect();
        for (n, piece) in pieces.iter().enumerate() {
            let (kind, first) = if n == 0 { (HEADERS, END_STREAM) } else { (CONTINUATION, 0) };
            let last = if n + 1 == pieces.len() { END_HEADERS } else { 0 };
            if write.write_all(&frame(kind, first | last, 1, piece)).await.is_err() {
                break;
            }
        }
        let _ = write.flush().await;
        let refused = async {
            while let Some(frame) = next(&mut read).await {
                let status = frame.kind == HEADERS && frame.payload.windows(3).any(|w| w == b"431");
                let status = status || (frame.kind == HEADERS && !frame.payload.contains(&0x88));
                if status || frame.kind == RST_STREAM || frame.kind == GOAWAY {
                    return;
                }
                assert_ne!(frame.kind, DATA, "{what}: an answer");
            }
        };
        tokio::time::timeout(LONG, refused).await.expect("it is refused");
        let mut stream = world.connect().await;
        let line = match what {
            "headers" => format!("GET /dns-query HTTP/1.1\r\nhost: localhost\r\nx: {}", "v".repeat(1 << 20)),
            _ => format!("GET /dns-query?dns={} HTTP/1.1\r\nhost: localhost", "A".repeat(1 << 20)),
        };
        let said = async {
            // The server may hang up before all is written.
            let _ = stream.write_all(format!("{line}\r\n\r\n").as_bytes()).await;
            rest(&mut stream).await
        };
        let said = tokio::time::timeout(LONG, said).await.expect("it is refused");
        assert!(said.is_empty() || said.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&said));
    }
    world.answers().await;
    world.end().await;
}
