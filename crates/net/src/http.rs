//! HTTP with a cap, a deadline and guarded redirects (RFC 9110): GET over connections that are kept for a while, POST
//! over one of its own. In: a URL; out: the answer, read whole.

use crate::dial::Offer;
use crate::exchange::{Connection, Failed, Question, host_of};
use crate::pool::Key;
use crate::{Dialer, Error};
use hyper::Method;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, CONTENT_TYPE};
use std::net::IpAddr;
use url::Url;

/// Redirects that are followed at most.
pub const REDIRECTS: usize = 5;

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

    /// Where a redirect leads, if this is one. https never leads to http.
    ///
    /// # Errors
    /// [`Error::Protocol`] when it can't be followed.
    pub fn redirect(&self) -> Result<Option<Url>, Error> {
        let (301 | 302 | 303 | 307 | 308, Some(next)) = (self.status, self.header("location")) else {
            return Ok(None);
        };
        let url = &self.final_url;
        let bad = |reason: String| Error::Protocol { host: host_of(url), reason };
        let to = url.join(next).map_err(|e| bad(format!("redirect to “{next}”: {e}")))?;
        if url.scheme() == "https" && to.scheme() != "https" {
            return Err(bad(format!("redirect from https to {}", to.scheme())));
        }
        Ok(Some(to))
    }
}

/// The answer for a host that redirects without end.
fn too_many(url: &Url) -> Error {
    Error::Protocol { host: host_of(url), reason: format!("more than {REDIRECTS} redirects") }
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
        let follow = async {
            let mut url = url.clone();
            for _ in 0..=REDIRECTS {
                let answer = self.get_once(&url, accept, fields, cap, false).await?;
                match answer.redirect()? {
                    Some(to) => url = to,
                    None => return Ok(answer),
                }
            }
            Err(too_many(&url))
        };
        self.in_time(url, follow).await
    }

    /// The same, but a redirect is an answer like any other: for those who first ask the other host's leave
    /// ([`HttpAnswer::redirect`]).
    ///
    /// # Errors
    /// As [`Dialer::http_get`].
    pub async fn http_get_once(&self, url: &Url, accept: &str, cap: usize) -> Result<HttpAnswer, Error> {
        self.in_time(url, self.get_once(url, accept, &[], cap, false)).await
    }

    /// The same with further header fields: secrets among them (`authorization`) go to the host that was named and to no other.
    ///
    /// # Errors
    /// As [`Dialer::http_get_with`].
    pub async fn http_get_once_with(
        &self,
        url: &Url,
        accept: &str,
        fields: &[(&str, &str)],
        cap: usize,
    ) -> Result<HttpAnswer, Error> {
        self.in_time(url, self.get_once(url, accept, fields, cap, false)).await
    }

    /// The same, reading at most `cap` bytes of the body: a longer one is cut off there.
    ///
    /// # Errors
    /// As [`Dialer::http_get`], without [`Error::TooLarge`].
    pub async fn http_get_start(&self, url: &Url, accept: &str, cap: usize) -> Result<HttpAnswer, Error> {
        self.in_time(url, self.get_once(url, accept, &[], cap, true)).await
    }

    /// The same from one address of the host, over a connection of its own: to compare what several addresses return. The
    /// name is not resolved; the address passes the guard.
    ///
    /// # Errors
    /// As [`Dialer::http_get_start`].
    pub async fn http_get_start_at(
        &self,
        url: &Url,
        address: IpAddr,
        accept: &str,
        cap: usize,
    ) -> Result<HttpAnswer, Error> {
        let fields = vec![(ACCEPT.as_str(), accept)];
        let question = Question { method: Method::GET, url, fields, body: Bytes::new(), cap, truncate: true };
        self.in_time(url, self.exchange(&question, Offer::One, false, Some(address))).await
    }

    /// Posts a body (http or https): HTTP/2 where the server takes it, else HTTP/1.1; the answer's type is asked to be
    /// the body's. Redirects are not followed: what is posted goes to the host that was named. The connection is not
    /// kept: of servers that share an address the next one is verified again.
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
        let url =
            Url::parse(url).map_err(|e| Error::Protocol { host: url.to_string(), reason: e.to_string() })?;
        let fields = vec![(CONTENT_TYPE.as_str(), kind), (ACCEPT.as_str(), kind)];
        self.post(&url, fields, body, cap, false).await
    }

    /// Posts a body with these header fields, of which `Content-Type` is one; otherwise as [`Dialer::http_post`], but at
    /// most `cap` bytes of the answer are read and a longer one is cut off there.
    ///
    /// # Errors
    /// Any [`Error`] but [`Error::TooLarge`].
    pub async fn http_post_with(
        &self,
        url: &Url,
        fields: &[(&str, &str)],
        body: Vec<u8>,
        cap: usize,
    ) -> Result<HttpAnswer, Error> {
        self.post(url, fields.to_vec(), body, cap, true).await
    }

    async fn post(
        &self,
        url: &Url,
        fields: Vec<(&str, &str)>,
        body: Vec<u8>,
        cap: usize,
        truncate: bool,
    ) -> Result<HttpAnswer, Error> {
        let question = Question { method: Method::POST, url, fields, body: Bytes::from(body), cap, truncate };
        self.in_time(url, self.exchange(&question, Offer::Both, false, None)).await
    }

    async fn get_once(
        &self,
        url: &Url,
        accept: &str,
        fields: &[(&str, &str)],
        cap: usize,
        truncate: bool,
    ) -> Result<HttpAnswer, Error> {
        let mut all = vec![(ACCEPT.as_str(), accept)];
        all.extend_from_slice(fields);
        let question = Question { method: Method::GET, url, fields: all, body: Bytes::new(), cap, truncate };
        self.exchange(&question, Offer::One, true, None).await
    }

    /// One HTTP exchange. With `keep`, over a connection that is still open from an earlier one where there is one,
    /// and what is open afterwards is kept for the next; only for questions that may be asked twice (RFC 9110 section
    /// 9.2.2): one that found its connection closed is asked again over a new one, once.
    /// With `at`, that address is asked rather than those that the host's name has.
    async fn exchange(
        &self,
        question: &Question<'_>,
        offer: Offer,
        keep: bool,
        at: Option<IpAddr>,
    ) -> Result<HttpAnswer, Error> {
        let host = question.host();
        let refuse = |reason: &str| Error::Protocol { host: host.clone(), reason: reason.to_string() };
        let port = question.url.port_or_known_default().ok_or_else(|| refuse("the URL has no port"))?;
        let tls = match question.url.scheme() {
            "https" => Some(offer),
            "http" => None,
            other => return Err(refuse(&format!("{other} is not a scheme that is asked"))),
        };
        let vetted = match at {
            Some(address) => vec![self.admit(&host, address)?],
            None => self.addresses(&host).await?,
        };
        if !self.is_web_port(port) {
            return Err(refuse(&format!("port {port} is not one of a web server (80, 443, 8080, 8443)")));
        }
        if keep && let Some((key, mut open)) = self.pool().take(&host, port, tls, &vetted) {
            match open.ask(question).await {
                // What some servers say to an idle connection before they close it.
                Ok((answer, _)) if answer.status == 408 => {}
                Ok((answer, again)) => {
                    if again {
                        self.pool().keep(key, open);
                    }
                    return Ok(answer);
                }
                Err(Failed::Closed(_)) => {}
                Err(Failed::For(e)) => return Err(e),
            }
        }
        let (address, stream) = self.connect(&host, port, &vetted).await?;
        let mut open = if let Some(offer) = tls {
            let stream = self.secured(offer, &host, stream).await?;
            let two = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            Connection::over(stream, two, &host).await?
        } else {
            Connection::over(stream, false, &host).await?
        };
        let (answer, again) = open.ask(question).await?;
        if keep && again {
            self.pool().keep(Key { host, tls, address }, open);
        }
        Ok(answer)
    }

    async fn in_time<T>(&self, url: &Url, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let limit = self.settings().total_timeout;
        tokio::time::timeout(limit, work)
            .await
            .map_err(|_| Error::Timeout { host: host_of(url), after: limit })?
    }
}
