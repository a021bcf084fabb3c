//! HTTP POST with a cap and a deadline (RFC 9110): HTTP/2 where the server takes it (RFC 9113), else HTTP/1.1.
//! Redirects are not followed: what is posted goes to the host that was named.

use crate::{Dialer, Error, HttpAnswer};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes};
use hyper::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use url::Url;

impl Dialer {
    /// Posts a body (http or https); the answer's type is asked to be the body's.
    ///
    /// # Errors
    /// Any [`Error`]; [`Error::TooLarge`] when the answer exceeds `cap` bytes.
    pub async fn http_post(
        &self,
        url: &str,
        kind: &str,
        body: Vec<u8>,
        cap: usize,
    ) -> Result<HttpAnswer, Error> {
        let refuse = |reason: String| Error::Protocol { host: url.to_string(), reason };
        let parsed = Url::parse(url).map_err(|e| refuse(e.to_string()))?;
        let host = parsed.host_str().unwrap_or_default().to_string();
        let limit = self.settings().total_timeout;
        tokio::time::timeout(limit, self.post(parsed, &host, kind, body, cap))
            .await
            .map_err(|_| Error::Timeout { host: host.clone(), after: limit })?
    }

    async fn post(
        &self,
        url: Url,
        host: &str,
        kind: &str,
        body: Vec<u8>,
        cap: usize,
    ) -> Result<HttpAnswer, Error> {
        let refuse = |reason: &str| Error::Protocol { host: host.to_string(), reason: reason.to_string() };
        let port = url.port_or_known_default().ok_or_else(|| refuse("the URL has no port"))?;
        match url.scheme() {
            "https" => {
                let stream = self.tls_for_http(host, port).await?;
                let two = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                if two {
                    http2(stream, &url, host, kind, body, cap).await
                } else {
                    http1(stream, &url, host, kind, body, cap).await
                }
            }
            "http" => http1(self.tcp(host, port).await?, &url, host, kind, body, cap).await,
            other => Err(refuse(&format!("{other} is not a scheme that is posted to"))),
        }
    }
}

fn bad(host: &str, reason: &dyn std::fmt::Display) -> Error {
    Error::Protocol { host: host.to_string(), reason: reason.to_string() }
}

fn request(uri: &str, kind: &str, length: usize) -> hyper::http::request::Builder {
    Request::post(uri)
        .header(CONTENT_TYPE, kind)
        .header(ACCEPT, kind)
        .header(CONTENT_LENGTH, length)
        .header(USER_AGENT, concat!("domainscope/", env!("CARGO_PKG_VERSION")))
}

async fn http2<S>(
    stream: S,
    url: &Url,
    host: &str,
    kind: &str,
    body: Vec<u8>,
    cap: usize,
) -> Result<HttpAnswer, Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .map_err(|e| bad(host, &e))?;
    let driver = tokio::spawn(connection);
    let request = request(url.as_str(), kind, body.len()).body(Full::new(Bytes::from(body)));
    let result = async {
        let request = request.map_err(|e| bad(host, &e))?;
        let answer = sender.send_request(request).await.map_err(|e| bad(host, &e))?;
        read(answer, url, host, cap).await
    }
    .await;
    driver.abort();
    result
}

async fn http1<S>(
    stream: S,
    url: &Url,
    host: &str,
    kind: &str,
    body: Vec<u8>,
    cap: usize,
) -> Result<HttpAnswer, Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|e| bad(host, &e))?;
    let driver = tokio::spawn(connection);
    let authority = match url.port() {
        Some(p) => format!("{host}:{p}"),
        None => host.to_string(),
    };
    let path = match url.query() {
        Some(q) => format!("{}?{q}", url.path()),
        None => url.path().to_string(),
    };
    let request = request(&path, kind, body.len()).header(HOST, authority).body(Full::new(Bytes::from(body)));
    let result = async {
        let request = request.map_err(|e| bad(host, &e))?;
        let answer = sender.send_request(request).await.map_err(|e| bad(host, &e))?;
        read(answer, url, host, cap).await
    }
    .await;
    driver.abort();
    result
}

async fn read<B>(answer: Response<B>, url: &Url, host: &str, cap: usize) -> Result<HttpAnswer, Error>
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
    let mut read = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|e| bad(host, &format!("the answer broke off: {e}")))?;
        if let Some(data) = frame.data_ref() {
            if read.len() + data.len() > cap {
                return Err(Error::TooLarge { host: host.to_string(), cap });
            }
            read.extend_from_slice(data);
        }
    }
    Ok(HttpAnswer { status: head.status.as_u16(), headers, body: read, final_url: url.clone() })
}
