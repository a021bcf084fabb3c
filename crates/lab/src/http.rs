//! HTTP/1.1 and 2 connections, plain or TLS, for RDAP, the web servers, resolvers and the control endpoint.
//! In: a listener and a handler. Out: answers; bodies may stream, stop short or never end, when a fault wants it.

use std::{convert::Infallible, future::Future, io, sync::Arc, time::Duration};

use futures::{StreamExt, stream};
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::{
    Request, Response, StatusCode,
    body::{Bytes, Frame, Incoming},
    header,
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    time::{sleep, timeout},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// The size of the answer that a reader must not swallow.
pub(crate) const HUGE: usize = 100 << 20;
const TLS_WAIT: Duration = Duration::from_secs(10);

/// A body of any kind.
pub(crate) type Body = BoxBody<Bytes, io::Error>;

/// A body that is there at once.
pub(crate) fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never: Infallible| match never {}).boxed()
}

/// The text, then a broken connection instead of the rest.
pub(crate) fn broken_off(text: &str) -> Body {
    let half = Bytes::copy_from_slice(&text.as_bytes()[..text.len() / 2]);
    let parts = [Ok(Frame::data(half)), Err(io::Error::other("the lab breaks off here"))];
    BodyExt::boxed(StreamBody::new(stream::iter(parts)))
}

/// 100 MB of blanks, well-formed as the beginning of a JSON text.
pub(crate) fn huge() -> Body {
    let piece = Bytes::from(vec![b' '; 64 << 10]);
    let pieces = stream::repeat(piece).take(HUGE / (64 << 10)).map(|p| Ok(Frame::data(p)));
    BodyExt::boxed(StreamBody::new(pieces))
}

/// One byte a second.
pub(crate) fn drip(text: String) -> Body {
    let bytes = stream::iter(text.into_bytes()).then(|byte| async move {
        sleep(Duration::from_secs(1)).await;
        Ok(Frame::data(Bytes::from(vec![byte])))
    });
    BodyExt::boxed(SyncStream::body(bytes.boxed()))
}

/// `BoxBody` wants `Sync`; a boxed stream is only `Send`.
struct SyncStream;

impl SyncStream {
    fn body(
        stream: futures::stream::BoxStream<'static, io::Result<Frame<Bytes>>>,
    ) -> StreamBody<impl futures::Stream<Item = io::Result<Frame<Bytes>>> + Send + Sync> {
        let (sender, receiver) = tokio::sync::mpsc::channel(1);
        tokio::spawn(async move {
            let mut stream = stream;
            while let Some(item) = stream.next().await {
                if sender.send(item).await.is_err() {
                    return;
                }
            }
        });
        StreamBody::new(stream::unfold(receiver, |mut r| async move { r.recv().await.map(|i| (i, r)) }))
    }
}

/// An answer with a type.
pub(crate) fn response(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    response
}

/// Marks requests that came over TLS.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Secure;

/// Says whether a new connection is closed at once.
pub(crate) type Door = Arc<dyn Fn() -> bool + Send + Sync>;

/// Accepts until stopped.
pub(crate) async fn serve<H, F>(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    stop: CancellationToken,
    handler: H,
) where
    H: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    serve_behind(listener, tls, stop, Arc::new(|| false), handler).await;
}

/// The same, with a door that may be shut.
pub(crate) async fn serve_behind<H, F>(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    stop: CancellationToken,
    shut: Door,
    handler: H,
) where
    H: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let handler = Arc::new(handler);
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else { continue };
        if shut() {
            continue;
        }
        let (tls, handler, stop) = (tls.clone(), handler.clone(), stop.clone());
        tokio::spawn(async move {
            let talk = async {
                match tls {
                    Some(tls) => {
                        if let Ok(Ok(stream)) = timeout(TLS_WAIT, tls.accept(stream)).await {
                            let h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                            talk(stream, handler, true, h2).await;
                        }
                    }
                    None => talk(stream, handler, false, false).await,
                }
            };
            tokio::select! {
                () = stop.cancelled() => {}
                () = talk => {}
            }
        });
    }
}

async fn talk<S, H, F>(stream: S, handler: Arc<H>, secure: bool, h2: bool)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let service = service_fn(move |mut request: Request<Incoming>| {
        let handler = handler.clone();
        if secure {
            request.extensions_mut().insert(Secure);
        }
        async move { Ok::<_, Infallible>(handler(request).await) }
    });
    if h2 {
        let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(stream), service)
            .await;
        return;
    }
    // A client that goes away in the middle is no failure of the lab.
    let _ = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(TLS_WAIT)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
