//! Accepts connections and serves HTTP/1.1 and HTTP/2 on them, with TLS (ALPN) or without (prior knowledge). Every
//! request carries the address of its client, and every wait for a client has a timeout.

use super::activity::{ActiveRequest, Activity};
use super::local_peer::Peer;
use super::per_client::PerClientConnections;
use super::records::RecordPerResponse;
use super::streams::Streams;
use super::tls::{Encrypted, Tls};
use super::write_timeout::WriteTimeout;
use axum::Router;
use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::HOST;
use futures::future::Either;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use tower_http::timeout::TimeoutBody;

/// Concurrent requests on one HTTP/2 connection.
const MAX_STREAMS: u32 = 128;

/// Limits of a listener.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Concurrent connections; one client may hold a quarter of them.
    pub connections: usize,
    /// Time for each step that waits for the client: the TLS handshake, the first request, the headers of a request, the
    /// next part of a request body, and the client reading a response.
    pub io_timeout: Duration,
    /// Time after which a connection without requests is closed, even if the client answers HTTP/2 pings.
    pub idle_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 4096,
            io_timeout: Duration::from_secs(15),
            idle_timeout: Duration::from_secs(120),
        }
    }
}

/// The services behind a listener, and its limits.
#[derive(Clone)]
pub struct Served {
    pages: Router,
    doh: Option<doh::Site>,
    limits: Limits,
}

impl Served {
    /// Serves pages and DNS over HTTPS. Requests for the two DoH paths bypass the router of the pages.
    pub fn with_doh(pages: Router, doh: doh::Site) -> Self {
        Served { doh: Some(doh), ..pages.into() }
    }

    /// Replaces the default limits.
    #[must_use]
    pub fn within(self, limits: Limits) -> Self {
        Served { limits, ..self }
    }
}

impl From<Router> for Served {
    fn from(pages: Router) -> Self {
        Served { pages, doh: None, limits: Limits::default() }
    }
}

/// Serves until `stop` is cancelled, then waits for the requests in progress. Drop the future to abandon them.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Tls>,
    served: impl Into<Served>,
    stop: CancellationToken,
) {
    let served = served.into();
    let slots = Arc::new(Semaphore::new(served.limits.connections));
    let per_client = PerClientConnections::new(served.limits.connections / 4);
    let open = tokio_util::task::TaskTracker::new();
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
                let Some(permit) = per_client.try_acquire(client.ip()) else { continue };
                let (tls, served, stop) = (tls.clone(), served.clone(), stop.clone());
                open.spawn(async move {
                    connection(stream, client, tls, served, stop).await;
                    drop((permit, slot));
                });
            }
            (Err(e), _) => {
                // Out of file descriptors, or the client has gone: neither is a reason to stop.
                tracing::debug!("accepting: {e}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
    drop(listener);
    open.close();
    open.wait().await;
}

async fn connection(
    stream: TcpStream,
    client: SocketAddr,
    tls: Option<Tls>,
    served: Served,
    stop: CancellationToken,
) {
    let _ = stream.set_nodelay(true);
    match tls {
        None => serve_http(stream, client, served, stop, false).await,
        Some(Tls(acceptor)) => {
            match tokio::time::timeout(served.limits.io_timeout, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => {
                    serve_http(RecordPerResponse::new(stream), client, served, stop, true).await;
                }
                Ok(Err(e)) => tracing::debug!("TLS with {client}: {e}"),
                Err(_) => tracing::debug!("TLS with {client}: handshake timed out"),
            }
        }
    }
}

async fn serve_http<S>(
    stream: S,
    client: SocketAddr,
    served: Served,
    stop: CancellationToken,
    encrypted: bool,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Limits { io_timeout, idle_timeout, .. } = served.limits;
    let streams = Streams::default();
    let mut builder = Builder::new(streams.clone());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(io_timeout);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .keep_alive_interval(io_timeout)
        .keep_alive_timeout(io_timeout);
    let activity = Activity::default();
    let counted = activity.clone();
    let peer = Peer::new(client);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let active = counted.begin();
        match &served.doh {
            Some(doh) if doh::Site::serves(request.uri()) => {
                Either::Left(dns_query(doh.clone(), request, client, active))
            }
            _ => Either::Right(Box::pin(page(
                served.clone(),
                request,
                (client, peer.clone()),
                encrypted,
                active,
            ))),
        }
    });
    let connection = builder.serve_connection(TokioIo::new(WriteTimeout::new(stream, io_timeout)), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = streams.drive(connection.as_mut()) => ended,
        () = async {
            tokio::select! { () = stop.cancelled() => {} () = activity.idle(io_timeout, idle_timeout) => {} }
        } => {
            connection.as_mut().graceful_shutdown();
            streams.drive(connection).await
        }
    };
    if let Err(e) = ended {
        tracing::debug!("connection of {client}: {e}");
    }
}

type Response = hyper::Response<Body>;

async fn dns_query(
    doh: doh::Site,
    request: hyper::Request<Incoming>,
    client: SocketAddr,
    active: ActiveRequest,
) -> Result<Response, Infallible> {
    let response = doh.answer(request, client.ip()).await;
    drop(active);
    Ok(response)
}

async fn page(
    served: Served,
    mut request: hyper::Request<Incoming>,
    (client, peer): (SocketAddr, Peer),
    encrypted: bool,
    active: ActiveRequest,
) -> Result<Response, Infallible> {
    if request.version() == hyper::Version::HTTP_2 {
        // Rendering a page takes time that the other requests of the connection should not wait for.
        super::streams::own_task().await;
    }
    request.extensions_mut().insert(doh::Client(client.ip()));
    request.extensions_mut().insert(peer);
    set_host(&mut request);
    if encrypted {
        request.extensions_mut().insert(Encrypted);
    }
    let Served { pages, limits, .. } = served;
    let request = request.map(|body| Body::new(TimeoutBody::new(limits.io_timeout, body)));
    let response = pages.oneshot(request).await?;
    Ok(response.map(|body| Body::new(active.until_sent(body))))
}

/// Copies the host of an absolute request URI to the `Host` header. HTTP/2 sends it as `:authority` only (RFC 9113
/// section 8.3.1), and it takes precedence over the header (RFC 9112 section 3.2.2).
fn set_host(request: &mut hyper::Request<Incoming>) {
    let host = request.uri().authority().and_then(|a| HeaderValue::from_str(a.as_str()).ok());
    if let Some(host) = host {
        request.headers_mut().insert(HOST, host);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper_util::rt::TokioExecutor;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    const IO_TIMEOUT: Duration = Duration::from_secs(15);
    const IDLE_TIMEOUT: Duration = Duration::from_secs(120);

    #[tokio::test]
    async fn the_host_of_the_request_uri_is_copied_to_the_host_header() {
        let said = |headers: axum::http::HeaderMap| async move { format!("{:?}", headers.get(HOST)) };
        let router = Router::new().route("/", axum::routing::get(said));
        let (near, far) = tokio::io::duplex(4096);
        let client = SocketAddr::from(([127, 0, 0, 1], 1));
        tokio::spawn(serve_http(far, client, router.into(), CancellationToken::new(), true));
        let shaken = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(near)).await;
        let (mut sender, connection) = shaken.unwrap();
        tokio::spawn(connection);
        let request = hyper::Request::get("https://localhost:8443/").body(Body::empty()).unwrap();
        let body = Body::new(sender.send_request(request).await.unwrap().into_body());
        let body = axum::body::to_bytes(body, 1024).await.unwrap();
        assert_eq!(body, format!("{:?}", Some(HeaderValue::from_static("localhost:8443"))));
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_is_closed_although_the_client_answers_pings() {
        let router = Router::new().route("/", axum::routing::get(|| async { "a page" }));
        let (near, far) = tokio::io::duplex(4096);
        let client = SocketAddr::from(([127, 0, 0, 1], 1));
        let served = tokio::spawn(serve_http(far, client, router.into(), CancellationToken::new(), false));
        let shaken = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(near)).await;
        let (mut sender, connection) = shaken.unwrap();
        let ended = tokio::spawn(connection);
        for _ in 0..5 {
            let request = hyper::Request::get("http://localhost/").body(Body::empty()).unwrap();
            assert_eq!(sender.send_request(request).await.unwrap().status(), 200, "the connection is in use");
            tokio::time::sleep(IDLE_TIMEOUT - IO_TIMEOUT).await;
        }
        let before = tokio::time::Instant::now();
        tokio::time::timeout(IDLE_TIMEOUT * 4, ended)
            .await
            .expect("the connection is closed")
            .unwrap()
            .unwrap();
        served.await.unwrap();
        assert!(before.elapsed() <= IDLE_TIMEOUT * 3, "{:?}", before.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_stream_without_events_is_not_idle() {
        let events = || async {
            Body::from_stream(futures::stream::unfold(0, |n| async move {
                tokio::time::sleep(IDLE_TIMEOUT * 4).await;
                (n < 1).then(|| (Ok::<_, Infallible>("late"), n + 1))
            }))
        };
        let router = Router::new().route("/", axum::routing::get(events));
        let (near, far) = tokio::io::duplex(4096);
        let client = SocketAddr::from(([127, 0, 0, 1], 1));
        tokio::spawn(serve_http(far, client, router.into(), CancellationToken::new(), false));
        let shaken = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(near)).await;
        let (mut sender, connection) = shaken.unwrap();
        tokio::spawn(connection);
        let request = hyper::Request::get("http://localhost/").body(Body::empty()).unwrap();
        let body = Body::new(sender.send_request(request).await.unwrap().into_body());
        assert_eq!(axum::body::to_bytes(body, 1024).await.unwrap(), "late");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_is_disconnected() {
        let router = Router::new().route("/", axum::routing::get(|| async { "x".repeat(100_000) }));
        let (mut near, far) = tokio::io::duplex(4096);
        let client = SocketAddr::from(([127, 0, 0, 1], 1));
        let served = tokio::spawn(serve_http(far, client, router.into(), CancellationToken::new(), false));
        near.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        tokio::time::timeout(IO_TIMEOUT * 3, served).await.expect("the server gives up").unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_body_that_stops_is_timed_out() {
        let router = Router::new().route("/", axum::routing::post(|body: String| async move { body }));
        let (mut near, far) = tokio::io::duplex(4096);
        let client = SocketAddr::from(([127, 0, 0, 1], 1));
        let served = tokio::spawn(serve_http(far, client, router.into(), CancellationToken::new(), false));
        near.write_all(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nhalf").await.unwrap();
        let mut said = String::new();
        let before = tokio::time::Instant::now();
        // The paused clock jumps to the next timer once every task waits; without a timeout in the server that is this one.
        tokio::time::timeout(IO_TIMEOUT * 4, near.read_to_string(&mut said)).await.unwrap().unwrap();
        assert!(said.starts_with("HTTP/1.1 4"), "{said}");
        assert!(before.elapsed() <= IO_TIMEOUT * 2, "{:?}", before.elapsed());
        served.await.unwrap();
    }
}
