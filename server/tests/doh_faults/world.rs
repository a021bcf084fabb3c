//! The TLS listener with a resolver behind it that knows one name, and someone who is answered by it.

use crate::frames::*;
use axum::Router;
use dns::wire::{Data, Name, Rr, Rtype};
use doh::{Backend, Bounds, Entry, Exposure, Resolver, Site};
use jiff::Timestamp;
use lab::{Lab, Options, Scenario};
use rustls_pki_types::pem::PemObject;
use server::http::{Limits, Served, Tls, serve};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;

/// The longest anything here may take; nothing waits for it when all is well.
pub const LONG: Duration = Duration::from_secs(30);

/// Knows one name; all others take for ever.
pub struct One {
    pub asked: AtomicUsize,
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

pub struct World {
    pub at: SocketAddr,
    client: tokio_rustls::TlsConnector,
    pub backend: Arc<One>,
    _folder: TempDir,
    lab: Lab,
    stop: CancellationToken,
}

pub async fn world(limits: Limits) -> World {
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
pub fn path(name: &str) -> String {
    format!("/resolve?name={name}&type=A")
}

impl World {
    pub async fn connect(&self) -> TlsStream<TcpStream> {
        let stream = TcpStream::connect(self.at).await.unwrap();
        let name = rustls_pki_types::ServerName::try_from("localhost").unwrap();
        tokio::time::timeout(LONG, self.client.connect(name, stream)).await.expect("a handshake").unwrap()
    }

    /// Someone else asks and is answered.
    pub async fn answers(&self) {
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

    pub async fn end(self) {
        self.stop.cancel();
        self.lab.shutdown().await;
    }
}
