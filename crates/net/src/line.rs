//! A line to one server that is asked all the time: a single HTTP/2 connection over which any number ask at once
//! (RFC 9113 section 5); kept HTTP/1.1 connections where the server knows no better. In: the server's URL; out: answers.
//! The name is resolved, and its addresses pass the guard, whenever the connection is opened, not for every question.

use crate::dial::Offer;
use crate::exchange::{Connection, Question, host_of};
use crate::{Dialer, Error, HttpAnswer};
use hyper::Method;
use hyper::body::Bytes;
use hyper::header::ACCEPT;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

/// How long a connection takes new questions: servers move.
const LASTS: Duration = Duration::from_secs(300);

struct Open {
    /// `None`: the server offers HTTP/1.1 only.
    connection: Option<Connection>,
    since: Instant,
}

impl Open {
    fn serves(&self) -> bool {
        self.since.elapsed() < LASTS && self.connection.as_ref().is_none_or(|c| !c.is_closed())
    }
}

/// The line.
pub struct Line {
    dialer: Dialer,
    base: Url,
    open: Mutex<Option<Open>>,
}

impl Line {
    /// A line to the server of this URL; nothing is opened yet.
    pub fn new(dialer: Dialer, base: Url) -> Self {
        Line { dialer, base, open: Mutex::default() }
    }

    /// The URL it was made for.
    pub fn base(&self) -> &Url {
        &self.base
    }

    /// Fetches the URL with a parameter added to its query. A question that found its connection closed is asked again
    /// over a new one, once; one that got no answer in time leaves the connection to those who wait on it already.
    ///
    /// # Errors
    /// Any [`Error`]; [`Error::Timeout`] after `patience`, [`Error::TooLarge`] when the answer exceeds `cap` bytes.
    pub async fn get(
        &self,
        parameter: (&str, &str),
        accept: &str,
        cap: usize,
        patience: Duration,
    ) -> Result<HttpAnswer, Error> {
        let mut url = self.base.clone();
        url.query_pairs_mut().append_pair(parameter.0, parameter.1);
        let mut used = None;
        match tokio::time::timeout(patience, self.ask(&url, accept, cap, &mut used)).await {
            Ok(answer) => answer,
            Err(_) => {
                if let Some(connection) = used {
                    self.hang_up(&connection).await;
                }
                Err(Error::Timeout { host: host_of(&self.base), after: patience })
            }
        }
    }

    async fn ask(
        &self,
        url: &Url,
        accept: &str,
        cap: usize,
        used: &mut Option<Connection>,
    ) -> Result<HttpAnswer, Error> {
        loop {
            let (connection, fresh) = self.connection().await?;
            let Some(mut connection) = connection else {
                return self.dialer.http_get(url, accept, cap).await;
            };
            *used = connection.another();
            let fields = vec![(ACCEPT.as_str(), accept)];
            let question =
                Question { method: Method::GET, url, fields, body: Bytes::new(), cap, truncate: false };
            match connection.ask(&question).await.map_err(Error::from) {
                Ok((answer, _)) if answer.redirect()?.is_some() => {
                    return self.dialer.http_get(url, accept, cap).await;
                }
                Ok((answer, _)) => return Ok(answer),
                Err(e @ Error::TooLarge { .. }) => return Err(e),
                Err(e) => {
                    self.hang_up(&connection).await;
                    if fresh {
                        return Err(e);
                    }
                }
            }
        }
    }

    /// The connection, opened by one while the others wait; the flag says whether it is new.
    async fn connection(&self) -> Result<(Option<Connection>, bool), Error> {
        let mut open = self.open.lock().await;
        if let Some(known) = open.as_ref().filter(|known| known.serves()) {
            return Ok((known.connection.as_ref().and_then(Connection::another), false));
        }
        *open = None;
        let (host, port) = (host_of(&self.base), self.base.port_or_known_default());
        let (connection, shared) = match port.filter(|_| self.base.scheme() == "https") {
            Some(port) => {
                let stream = self.dialer.tcp(&host, port).await?;
                let stream = self.dialer.secured(Offer::Both, &host, stream).await?;
                if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                    let connection = Connection::over(stream, true, &host).await?;
                    (connection.another(), Some(connection))
                } else {
                    (None, None)
                }
            }
            None => (None, None),
        };
        *open = Some(Open { connection, since: Instant::now() });
        Ok((shared, true))
    }

    /// No one asks over this connection any more, unless it has been replaced already.
    async fn hang_up(&self, connection: &Connection) {
        let mut open = self.open.lock().await;
        if open.as_ref().and_then(|o| o.connection.as_ref()).is_some_and(|known| known.is_same(connection)) {
            *open = None;
        }
    }
}
