//! HTTP GET with a cap, a deadline and guarded redirects (RFC 9110). One connection an exchange: what we fetch is
//! rare and from many hosts.

use crate::{Dialer, Error};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::header::{ACCEPT, HOST, LOCATION, USER_AGENT};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use url::Url;

const REDIRECTS: usize = 5;

/// An HTTP answer, read whole.
#[derive(Debug, Clone)]
pub struct HttpAnswer {
    /// Status code.
    pub status: u16,
    /// Header fields, names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
    /// The URL that answered, after redirects.
    pub final_url: Url,
}

impl HttpAnswer {
    /// The first header of this (lower-case) name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

impl Dialer {
    /// Fetches a URL (http or https), following at most five redirects, each through the guard; https never
    /// falls back to http.
    ///
    /// # Errors
    /// Any [`Error`]; [`Error::TooLarge`] when the body exceeds `cap` bytes.
    pub async fn http_get(&self, url: &Url, accept: &str, cap: usize) -> Result<HttpAnswer, Error> {
        self.http_get_with(url, accept, &[], cap).await
    }

    /// The same with further header fields: `if-none-match`, `if-modified-since`.
    ///
    /// # Errors
    /// As [`Dialer::http_get`]; [`Error::Protocol`] when a field can't be sent.
    pub async fn http_get_with(
        &self,
        url: &Url,
        accept: &str,
        fields: &[(&str, &str)],
        cap: usize,
    ) -> Result<HttpAnswer, Error> {
        let host = url.host_str().unwrap_or_default().to_string();
        let limit = self.settings().total_timeout;
        tokio::time::timeout(limit, self.follow(url, accept, fields, cap))
            .await
            .map_err(|_| Error::Timeout { host, after: limit })?
    }

    async fn follow(
        &self,
        url: &Url,
        accept: &str,
        fields: &[(&str, &str)],
        cap: usize,
    ) -> Result<HttpAnswer, Error> {
        let mut url = url.clone();
        for _ in 0..=REDIRECTS {
            let answer = self.get_once(&url, accept, fields, cap).await?;
            let next = match (answer.status, answer.header("location")) {
                (301 | 302 | 303 | 307 | 308, Some(to)) => to.to_string(),
                _ => return Ok(answer),
            };
            let bad = |reason: String| Error::Protocol { host: host_of(&url), reason };
            let to = url.join(&next).map_err(|e| bad(format!("redirect to “{next}”: {e}")))?;
            if url.scheme() == "https" && to.scheme() != "https" {
                return Err(bad(format!("redirect from https to {}", to.scheme())));
            }
            url = to;
        }
        Err(Error::Protocol { host: host_of(&url), reason: format!("more than {REDIRECTS} redirects") })
    }

    async fn get_once(
        &self,
        url: &Url,
        accept: &str,
        fields: &[(&str, &str)],
        cap: usize,
    ) -> Result<HttpAnswer, Error> {
        let host = host_of(url);
        let refuse = |reason: &str| Error::Protocol { host: host.clone(), reason: reason.to_string() };
        let port = url.port_or_known_default().ok_or_else(|| refuse("the URL has no port"))?;
        match url.scheme() {
            "https" => exchange(self.tls(&host, port).await?, url, &host, accept, fields, cap).await,
            "http" => exchange(self.tcp(&host, port).await?, url, &host, accept, fields, cap).await,
            other => Err(refuse(&format!("{other} is not a scheme that is fetched"))),
        }
    }
}

fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_string()
}

async fn exchange<S>(
    stream: S,
    url: &Url,
    host: &str,
    accept: &str,
    fields: &[(&str, &str)],
    cap: usize,
) -> Result<HttpAnswer, Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let bad = |reason: String| Error::Protocol { host: host.to_string(), reason };
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|e| bad(e.to_string()))?;
    let driver = tokio::spawn(connection);
    let authority = match url.port() {
        Some(p) => format!("{host}:{p}"),
        None => host.to_string(),
    };
    let path = match url.query() {
        Some(q) => format!("{}?{q}", url.path()),
        None => url.path().to_string(),
    };
    let mut request = hyper::Request::get(path)
        .header(HOST, authority)
        .header(USER_AGENT, concat!("domainscope/", env!("CARGO_PKG_VERSION")))
        .header(ACCEPT, accept);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    let request = request.body(Empty::<Bytes>::new()).map_err(|e| bad(e.to_string()))?;
    let result = async {
        let answer = sender.send_request(request).await.map_err(|e| bad(e.to_string()))?;
        let (head, mut body) = answer.into_parts();
        let headers = head
            .headers
            .iter()
            .map(|(n, v)| (n.as_str().to_string(), String::from_utf8_lossy(v.as_bytes()).into_owned()))
            .collect();
        let redirect = head.headers.contains_key(LOCATION) && head.status.is_redirection();
        let mut read = Vec::new();
        // The body of a redirect is of no use; not reading it spares a hostile one.
        while !redirect && let Some(frame) = body.frame().await {
            let frame = frame.map_err(|e| bad(format!("the answer broke off: {e}")))?;
            if let Some(data) = frame.data_ref() {
                if read.len() + data.len() > cap {
                    return Err(Error::TooLarge { host: host.to_string(), cap });
                }
                read.extend_from_slice(data);
            }
        }
        Ok(HttpAnswer { status: head.status.as_u16(), headers, body: read, final_url: url.clone() })
    }
    .await;
    driver.abort();
    result
}
