//! One HTTP question and its answer over one connection (RFC 9112, RFC 9113). In: a stream and a [`Question`]; out:
//! the answer, capped, and whether the connection may carry another one.

use crate::{Error, HttpAnswer};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes};
use hyper::client::conn::{http1, http2};
use hyper::header::{HOST, LOCATION, USER_AGENT};
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use url::Url;

/// How long a connection that has just answered may take until it carries the next question.
const READY: Duration = Duration::from_millis(100);

/// What is asked.
pub(crate) struct Question<'a> {
    pub method: Method,
    pub url: &'a Url,
    /// Header fields beside `Host` and `User-Agent`.
    pub fields: Vec<(&'a str, &'a str)>,
    pub body: Bytes,
    /// The largest answer that is read.
    pub cap: usize,
    /// Cut a larger answer off instead of failing.
    pub truncate: bool,
}

impl Question<'_> {
    pub fn host(&self) -> String {
        host_of(self.url)
    }

    fn bad(&self, reason: impl std::fmt::Display) -> Error {
        Error::Protocol { host: self.host(), reason: reason.to_string() }
    }

    /// HTTP/2 has the whole URL in its pseudo-header fields; HTTP/1.1 has path and host apart.
    fn request(&self, two: bool) -> Result<Request<Full<Bytes>>, Error> {
        let url = self.url;
        let mut request = Request::builder()
            .method(self.method.clone())
            .header(USER_AGENT, concat!("domainscope/", env!("CARGO_PKG_VERSION")));
        if two {
            request = request.uri(url.as_str());
        } else {
            let host = self.host();
            let authority = url.port().map_or_else(|| host.clone(), |p| format!("{host}:{p}"));
            let path = match url.query() {
                Some(q) => format!("{}?{q}", url.path()),
                None => url.path().to_string(),
            };
            request = request.uri(path).header(HOST, authority);
        }
        for (name, value) in &self.fields {
            request = request.header(*name, *value);
        }
        request.body(Full::new(self.body.clone())).map_err(|e| self.bad(e))
    }
}

/// The host of a URL, as it stands there.
pub(crate) fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_string()
}

/// Why a connection did not answer.
pub(crate) enum Failed {
    /// It was closed before a word of the answer came: as it happens to one that was idle.
    Closed(Error),
    /// Anything else.
    For(Error),
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Closed(e) | Failed::For(e) => e,
        }
    }
}

enum Sender {
    One(http1::SendRequest<Full<Bytes>>),
    Two(http2::SendRequest<Full<Bytes>>),
}

/// A connection that speaks HTTP, and the task that drives it; the task ends with the last who asks over it.
pub(crate) struct Connection {
    sender: Sender,
    driver: Arc<Driver>,
    /// Nothing was asked over it yet.
    fresh: bool,
}

struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Connection {
    /// Speaks HTTP over a stream: HTTP/2 when `two`.
    pub async fn over<S>(stream: S, two: bool, host: &str) -> Result<Self, Error>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let bad = |e: hyper::Error| Error::Protocol { host: host.to_string(), reason: e.to_string() };
        let io = TokioIo::new(stream);
        if two {
            let (sender, driver) = http2::handshake(TokioExecutor::new(), io).await.map_err(bad)?;
            let driver = tokio::spawn(async move {
                let _ = driver.await;
            });
            let driver = Arc::new(Driver(driver));
            return Ok(Connection { sender: Sender::Two(sender), driver, fresh: true });
        }
        let (sender, driver) = http1::handshake(io).await.map_err(bad)?;
        let driver = tokio::spawn(async move {
            let _ = driver.await;
        });
        Ok(Connection { sender: Sender::One(sender), driver: Arc::new(Driver(driver)), fresh: true })
    }

    /// The same connection for one more who asks at the same time; `None` where one has to wait for the other.
    pub fn another(&self) -> Option<Self> {
        match &self.sender {
            Sender::One(_) => None,
            Sender::Two(s) => {
                let driver = self.driver.clone();
                Some(Connection { sender: Sender::Two(s.clone()), driver, fresh: self.fresh })
            }
        }
    }

    /// True when both lead over the same wire.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.driver, &other.driver)
    }

    /// True when the other end has closed it.
    pub fn is_closed(&self) -> bool {
        match &self.sender {
            Sender::One(s) => s.is_closed(),
            Sender::Two(s) => s.is_closed(),
        }
    }

    /// Asks, and reads the answer whole. The flag: whether it may be asked again.
    pub async fn ask(&mut self, question: &Question<'_>) -> Result<(HttpAnswer, bool), Failed> {
        let request = question.request(matches!(self.sender, Sender::Two(_))).map_err(Failed::For)?;
        // A new one takes its first question at once, however busy the machine is.
        let fresh = std::mem::replace(&mut self.fresh, false);
        if let Sender::One(s) = &mut self.sender
            && !fresh
            && !matches!(tokio::time::timeout(READY, s.ready()).await, Ok(Ok(())))
        {
            return Err(Failed::Closed(question.bad("the connection was closed")));
        }
        let answered = match &mut self.sender {
            Sender::One(s) => s.send_request(request).await,
            Sender::Two(s) => s.send_request(request).await,
        };
        let answer = answered.map_err(|e| {
            let error = question.bad(&e);
            if was_closed(&e) { Failed::Closed(error) } else { Failed::For(error) }
        })?;
        read(answer, question).await.map_err(Failed::For)
    }
}

/// True when the connection ended before any of the answer came.
fn was_closed(e: &hyper::Error) -> bool {
    use std::error::Error as _;
    use std::io::ErrorKind;
    let broken = e.source().and_then(|s| s.downcast_ref::<std::io::Error>()).is_some_and(|io| {
        matches!(
            io.kind(),
            ErrorKind::ConnectionReset
                | ErrorKind::ConnectionAborted
                | ErrorKind::BrokenPipe
                | ErrorKind::NotConnected
                | ErrorKind::UnexpectedEof
        )
    });
    broken || e.is_canceled() || e.is_closed() || e.is_incomplete_message()
}

async fn read<B>(answer: Response<B>, question: &Question<'_>) -> Result<(HttpAnswer, bool), Error>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let (head, mut body) = answer.into_parts();
    let headers = head
        .headers
        .iter()
        .map(|(n, v)| (n.as_str().to_string(), String::from_utf8_lossy(v.as_bytes()).into_owned()))
        .collect();
    let (mut read, mut cut) = (Vec::new(), false);
    let cap = question.cap;
    // The body of a redirect is of no use; not reading it spares a hostile one.
    let skipped =
        head.headers.contains_key(LOCATION) && head.status.is_redirection() && !body.is_end_stream();
    while !skipped && let Some(frame) = body.frame().await {
        let frame = frame.map_err(|e| question.bad(format!("the answer broke off: {e}")))?;
        if let Some(data) = frame.data_ref() {
            if read.len() + data.len() > cap {
                if question.truncate {
                    read.extend_from_slice(&data[..cap - read.len()]);
                    cut = true;
                    break;
                }
                return Err(Error::TooLarge { host: question.host(), cap });
            }
            read.extend_from_slice(data);
        }
    }
    let answer =
        HttpAnswer { status: head.status.as_u16(), headers, body: read, final_url: question.url.clone() };
    Ok((answer, !skipped && !cut))
}
