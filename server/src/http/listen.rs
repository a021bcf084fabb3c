//! Listening: HTTP/1.1 and HTTP/2, with TLS (ALPN) or without (prior knowledge). In: a listener, pages, DNS over HTTPS.
//! Every request carries the address of its client; nothing a client leaves undone holds a connection for ever.

use super::crowd::Crowd;
use super::idle::{Activity, Busy};
use super::stalled::Stalled;
use super::streams::Streams;
use super::tls::{Encrypted, Tls};
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

/// Requests at once on one HTTP/2 connection.
const STREAMS: u32 = 128;

/// What a listener puts up with.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at once.
    pub connections: usize,
    /// For the TLS handshake, for the first request, for the headers of each, between two parts of its body, and for a client that reads
    /// nothing of what it asked for.
    pub patience: Duration,
    /// For a connection on which nothing is under way, HTTP/2's above all: answering pings is no use of one.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { connections: 4096, patience: Duration::from_secs(15), idle: Duration::from_secs(120) }
    }
}

/// What a listener serves.
#[derive(Clone)]
pub struct Served {
    pages: Router,
    doh: Option<doh::Site>,
    limits: Limits,
}

impl Served {
    /// Pages, and DNS over HTTPS beside them: its two addresses go past everything that pages need.
    pub fn with_doh(pages: Router, doh: doh::Site) -> Self {
        Served { doh: Some(doh), ..pages.into() }
    }

    /// Other limits than the usual ones.
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

/// Serves until `stop`; then lets the requests under way end. Whoever can't wait for them drops the future.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Tls>,
    served: impl Into<Served>,
    stop: CancellationToken,
) {
    let served = served.into();
    let slots = Arc::new(Semaphore::new(served.limits.connections));
    let crowd = Crowd::new(served.limits.connections / 4);
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
                let Some(place) = crowd.enter(client.ip()) else { continue };
                let (tls, served, stop) = (tls.clone(), served.clone(), stop.clone());
                under_way.spawn(async move {
                    connection(stream, client, tls, served, stop).await;
                    drop((place, slot));
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
    served: Served,
    stop: CancellationToken,
) {
    let _ = stream.set_nodelay(true);
    let patience = served.limits.patience;
    match tls {
        None => speak(stream, client, served, stop, false).await,
        Some(Tls(acceptor)) => match tokio::time::timeout(patience, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => speak(stream, client, served, stop, true).await,
            Ok(Err(e)) => tracing::debug!("TLS with {client}: {e}"),
            Err(_) => tracing::debug!("TLS with {client}: no handshake in time"),
        },
    }
}

async fn speak<S>(stream: S, client: SocketAddr, served: Served, stop: CancellationToken, encrypted: bool)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Limits { patience, idle, .. } = served.limits;
    let streams = Streams::default();
    let mut builder = Builder::new(streams.clone());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(patience);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .keep_alive_interval(patience)
        .keep_alive_timeout(patience);
    let activity = Activity::default();
    let counted = activity.clone();
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let busy = counted.begin();
        match &served.doh {
            Some(doh) if doh::Site::serves(request.uri()) => {
                Either::Left(ask(doh.clone(), request, client, busy))
            }
            _ => Either::Right(Box::pin(page(served.clone(), request, client, encrypted, busy))),
        }
    });
    let connection = builder.serve_connection(TokioIo::new(Stalled::new(stream, patience)), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = streams.drive(connection.as_mut()) => ended,
        () = async { tokio::select! { () = stop.cancelled() => {} () = activity.unused(patience, idle) => {} } } => {
            connection.as_mut().graceful_shutdown();
            streams.drive(connection).await
        }
    };
    if let Err(e) = ended {
        tracing::debug!("connection of {client}: {e}");
    }
}

type Answer = hyper::Response<Body>;

async fn ask(
    doh: doh::Site,
    request: hyper::Request<Incoming>,
    client: SocketAddr,
    busy: Busy,
) -> Result<Answer, Infallible> {
    let answer = doh.answer(request, client.ip()).await;
    drop(busy);
    Ok(answer)
}

async fn page(
    served: Served,
    mut request: hyper::Request<Incoming>,
    client: SocketAddr,
    encrypted: bool,
    busy: Busy,
) -> Result<Answer, Infallible> {
    if request.version() == hyper::Version::HTTP_2 {
        // A page may take a while to make: not where all requests of the connection are looked at.
        super::streams::own_task().await;
    }
    request.extensions_mut().insert(doh::Client(client.ip()));
    say_host(&mut request);
    if encrypted {
        request.extensions_mut().insert(Encrypted);
    }
    let Served { pages, limits, .. } = served;
    let request = request.map(|body| Body::new(TimeoutBody::new(limits.patience, body)));
    let answer = pages.oneshot(request).await?;
    // Event streams go on after their headers.
    Ok(answer.map(|body| Body::new(busy.until_read(body))))
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
    use hyper_util::rt::TokioExecutor;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    const PATIENCE: Duration = Duration::from_secs(15);
    const IDLE: Duration = Duration::from_secs(120);

    #[tokio::test]
    async fn a_host_named_in_the_address_stands_in_the_header_too() {
        let said = |headers: axum::http::HeaderMap| async move { format!("{:?}", headers.get(HOST)) };
        let router = Router::new().route("/", axum::routing::get(said));
        let (near, far) = tokio::io::duplex(4096);
        let client = SocketAddr::from(([127, 0, 0, 1], 1));
        tokio::spawn(speak(far, client, router.into(), CancellationToken::new(), true));
        let shaken = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(near)).await;
        let (mut sender, connection) = shaken.unwrap();
        tokio::spawn(connection);
        let request = hyper::Request::get("https://localhost:8443/").body(Body::empty()).unwrap();
        let body = Body::new(sender.send_request(request).await.unwrap().into_body());
        let body = axum::body::to_bytes(body, 1024).await.unwrap();
        assert_eq!(body, format!("{:?}", Some(HeaderValue::from_static("localhost:8443"))));
    }

    /// One that is only kept open, by a client that answers every ping.
    #[tokio::test(start_paused = true)]
    async fn a_connection_on_which_nobody_asks_ends() {
        let router = Router::new().route("/", axum::routing::get(|| async { "a page" }));
        let (near, far) = tokio::io::duplex(4096);
        let client = SocketAddr::from(([127, 0, 0, 1], 1));
        let served = tokio::spawn(speak(far, client, router.into(), CancellationToken::new(), false));
        let shaken = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(near)).await;
        let (mut sender, connection) = shaken.unwrap();
        let ended = tokio::spawn(connection);
        for _ in 0..5 {
            let request = hyper::Request::get("http://localhost/").body(Body::empty()).unwrap();
            assert_eq!(sender.send_request(request).await.unwrap().status(), 200, "it is in use");
            tokio::time::sleep(IDLE - PATIENCE).await;
        }
        let before = tokio::time::Instant::now();
        tokio::time::timeout(IDLE * 4, ended).await.expect("it is let go").unwrap().unwrap();
        served.await.unwrap();
        assert!(before.elapsed() <= IDLE * 3, "{:?}", before.elapsed());
    }

    /// An event stream says nothing for long and is under way all the same.
    #[tokio::test(start_paused = true)]
    async fn a_quiet_event_stream_is_not_cut_off() {
        let events = || async {
            Body::from_stream(futures::stream::unfold(0, |n| async move {
                tokio::time::sleep(IDLE * 4).await;
                (n < 1).then(|| (Ok::<_, Infallible>("late"), n + 1))
            }))
        };
        let router = Router::new().route("/", axum::routing::get(events));
        let (near, far) = tokio::io::duplex(4096);
        let client = SocketAddr::from(([127, 0, 0, 1], 1));
        tokio::spawn(speak(far, client, router.into(), CancellationToken::new(), false));
        let shaken = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(near)).await;
        let (mut sender, connection) = shaken.unwrap();
        tokio::spawn(connection);
        let request = hyper::Request::get("http://localhost/").body(Body::empty()).unwrap();
        let body = Body::new(sender.send_request(request).await.unwrap().into_body());
        assert_eq!(axum::body::to_bytes(body, 1024).await.unwrap(), "late");
    }

    /// Asks on and on and reads nothing.
    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_is_not_waited_for() {
        let router = Router::new().route("/", axum::routing::get(|| async { "x".repeat(100_000) }));
        let (mut near, far) = tokio::io::duplex(4096);
        let client = SocketAddr::from(([127, 0, 0, 1], 1));
        let served = tokio::spawn(speak(far, client, router.into(), CancellationToken::new(), false));
        near.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        tokio::time::timeout(PATIENCE * 3, served).await.expect("the server gives up").unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_comes_does_not_hold_the_connection() {
        let router = Router::new().route("/", axum::routing::post(|body: String| async move { body }));
        let (mut near, far) = tokio::io::duplex(4096);
        let client = SocketAddr::from(([127, 0, 0, 1], 1));
        let served = tokio::spawn(speak(far, client, router.into(), CancellationToken::new(), false));
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
