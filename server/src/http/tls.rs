//! Listening: HTTP/1.1 and HTTP/2, with TLS (ALPN) or without (prior knowledge). In: a listener and a router.
//! Every request carries the address of its client; nothing a client leaves undone holds a connection for ever.

use anyhow::{Context, Result, anyhow};
use axum::Router;
use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::HOST;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use tower_http::timeout::TimeoutBody;

/// Connections at once.
const CONNECTIONS: usize = 4096;
/// For the TLS handshake, for the headers of a request, and between two parts of its body.
const PATIENCE: Duration = Duration::from_secs(15);
/// Requests at once on one HTTP/2 connection.
const STREAMS: u32 = 128;
/// How often the files of a certificate are looked at.
const LOOK: Duration = Duration::from_secs(10);

/// TLS of a listener.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

/// Stands in every request that came over TLS of our own.
#[derive(Debug, Clone, Copy)]
pub struct Encrypted;

/// The certificate served now, and the files it is from.
#[derive(Debug)]
struct Certificates {
    files: Option<(PathBuf, PathBuf)>,
    every: Duration,
    now: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    key: Arc<CertifiedKey>,
    changed: Option<SystemTime>,
    looked: Instant,
}

impl Tls {
    /// Certificate chain and key in PEM files; when they change, new connections get the new certificate.
    ///
    /// # Errors
    /// When a file can't be read or holds nothing usable; the message names it.
    pub fn files(certificate: &Path, key: &Path) -> Result<Self> {
        Self::files_looked_at(certificate, key, LOOK)
    }

    /// The same, with the least time between two looks at the files.
    ///
    /// # Errors
    /// As [`Tls::files`].
    pub fn files_looked_at(certificate: &Path, key: &Path, every: Duration) -> Result<Self> {
        let files = (certificate.to_path_buf(), key.to_path_buf());
        let current = Current { key: read(&files)?, changed: changed(&files), looked: Instant::now() };
        Self::with(Certificates { files: Some(files), every, now: Mutex::new(current) })
    }

    /// Certificate chain and key as PEM.
    ///
    /// # Errors
    /// When they hold nothing usable.
    pub fn pem(certificate: &[u8], key: &[u8]) -> Result<Self> {
        let current = Current { key: certified(certificate, key)?, changed: None, looked: Instant::now() };
        Self::with(Certificates { files: None, every: LOOK, now: Mutex::new(current) })
    }

    fn with(certificates: Certificates) -> Result<Self> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(certificates));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Tls(TlsAcceptor::from(Arc::new(config))))
    }
}

fn read((certificate, key): &(PathBuf, PathBuf)) -> Result<Arc<CertifiedKey>> {
    let load = |path: &Path| std::fs::read(path).with_context(|| path.display().to_string());
    certified(&load(certificate)?, &load(key)?)
        .with_context(|| format!("{} with {}", certificate.display(), key.display()))
}

fn certified(certificate: &[u8], key: &[u8]) -> Result<Arc<CertifiedKey>> {
    let chain = CertificateDer::pem_slice_iter(certificate)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| anyhow!("the certificate is not readable PEM: {e}"))?;
    if chain.is_empty() {
        return Err(anyhow!("no CERTIFICATE is in the file"));
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|e| anyhow!("the key is not readable PEM: {e}"))?;
    let key = CertifiedKey::from_der(chain, key, &rustls::crypto::ring::default_provider())
        .map_err(|e| anyhow!("certificate and key can't be used together: {e}"))?;
    Ok(Arc::new(key))
}

fn changed((certificate, key): &(PathBuf, PathBuf)) -> Option<SystemTime> {
    let of = |path: &Path| std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
    of(certificate).max(of(key))
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(files) = &self.files
            && now.looked.elapsed() >= self.every
        {
            now.looked = Instant::now();
            let at = changed(files);
            if at != now.changed {
                // Half-written files are looked at again; until then the old certificate serves.
                match read(files) {
                    Ok(key) => (now.key, now.changed) = (key, at),
                    Err(e) => tracing::warn!("the certificate was not renewed: {e:#}"),
                }
            }
        }
        Some(now.key.clone())
    }
}

/// Serves until `stop`; then lets the requests under way end. Whoever can't wait for them drops the future.
pub async fn serve(listener: TcpListener, tls: Option<Tls>, router: Router, stop: CancellationToken) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    let under_way = tokio_util::task::TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = async {
                let slot = slots.clone().acquire_owned().await;
                (listener.accept().await, slot)
            } => accepted,
        };
        match accepted {
            (Ok((stream, client)), slot) => {
                let (tls, router, stop) = (tls.clone(), router.clone(), stop.clone());
                under_way.spawn(async move {
                    connection(stream, client, tls, router, stop).await;
                    drop(slot);
                });
            }
            (Err(e), _) => {
                // Out of file handles, or a client that left: neither ends the server.
                tracing::debug!("accepting: {e}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
    drop(listener);
    under_way.close();
    under_way.wait().await;
}

async fn connection(
    stream: TcpStream,
    client: SocketAddr,
    tls: Option<Tls>,
    router: Router,
    stop: CancellationToken,
) {
    let _ = stream.set_nodelay(true);
    match tls {
        None => speak(stream, client, router, stop, false).await,
        Some(Tls(acceptor)) => match tokio::time::timeout(PATIENCE, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => speak(stream, client, router, stop, true).await,
            Ok(Err(e)) => tracing::debug!("TLS with {client}: {e}"),
            Err(_) => tracing::debug!("TLS with {client}: no handshake in time"),
        },
    }
}

async fn speak<S>(stream: S, client: SocketAddr, router: Router, stop: CancellationToken, encrypted: bool)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .keep_alive_interval(PATIENCE)
        .keep_alive_timeout(PATIENCE);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(doh::Client(client.ip()));
        say_host(&mut request);
        if encrypted {
            request.extensions_mut().insert(Encrypted);
        }
        router.clone().oneshot(request.map(|body| Body::new(TimeoutBody::new(PATIENCE, body))))
    });
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(e) = ended {
        tracing::debug!("connection of {client}: {e}");
    }
}

/// HTTP/2 names the host in the request's address instead of a header; whoever asks by whom we were called reads one
/// of the two (RFC 9113, 8.3.1; RFC 9112, 3.2.2).
fn say_host(request: &mut hyper::Request<Incoming>) {
    let named = request.uri().authority().and_then(|a| HeaderValue::from_str(a.as_str()).ok());
    if let Some(named) = named {
        request.headers_mut().insert(HOST, named);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn a_host_named_in_the_address_stands_in_the_header_too() {
        let said = |headers: axum::http::HeaderMap| async move { format!("{:?}", headers.get(HOST)) };
        let router = Router::new().route("/", axum::routing::get(said));
        let (near, far) = tokio::io::duplex(4096);
        let client = SocketAddr::from(([127, 0, 0, 1], 1));
        tokio::spawn(speak(far, client, router, CancellationToken::new(), true));
        let shaken = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(near)).await;
        let (mut sender, connection) = shaken.unwrap();
        tokio::spawn(connection);
        let request = hyper::Request::get("https://localhost:8443/").body(Body::empty()).unwrap();
        let body = Body::new(sender.send_request(request).await.unwrap().into_body());
        let body = axum::body::to_bytes(body, 1024).await.unwrap();
        assert_eq!(body, format!("{:?}", Some(HeaderValue::from_static("localhost:8443"))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_comes_does_not_hold_the_connection() {
        let router = Router::new().route("/", axum::routing::post(|body: String| async move { body }));
        let (mut near, far) = tokio::io::duplex(4096);
        let client = SocketAddr::from(([127, 0, 0, 1], 1));
        let served = tokio::spawn(speak(far, client, router, CancellationToken::new(), false));
        near.write_all(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nhalf").await.unwrap();
        let mut said = String::new();
        let before = tokio::time::Instant::now();
        // The clock jumps as soon as everybody waits: were nobody to give up, the last wait would be this one's.
        tokio::time::timeout(PATIENCE * 4, near.read_to_string(&mut said)).await.unwrap().unwrap();
        assert!(said.starts_with("HTTP/1.1 4"), "{said}");
        assert!(before.elapsed() <= PATIENCE * 2, "{:?}", before.elapsed());
        served.await.unwrap();
    }
}
