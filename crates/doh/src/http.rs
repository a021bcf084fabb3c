//! The HTTP side of `/dns-query` (RFC 8484) and `/resolve` (JSON): access, methods, parameters, media types, status codes.

use crate::answer::{self, QueryError};
use crate::client::Client;
use crate::counts::Counts;
use crate::http_reply::HttpReply;
use crate::json::{self, Params};
use crate::message::MAX_MESSAGE;
use crate::resolver::Resolver;
use axum::Router;
use axum::body::{Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_MAX_AGE, ALLOW,
    CONTENT_LENGTH, CONTENT_TYPE, FORWARDED, HOST, HeaderName, VIA,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::Response;
use axum::routing::any;
use data_encoding::BASE64URL_NOPAD;
use http_body_util::BodyExt;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

const MESSAGE: &str = "application/dns-message";
const JSON: &str = "application/dns-json";

/// Timeout for the body of a POST request.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Headers by which a proxy states for whom it sends a request.
static PROXY_HEADERS: [HeaderName; 4] =
    [FORWARDED, VIA, HeaderName::from_static("x-forwarded-for"), HeaderName::from_static("x-real-ip")];

/// Who may use the resolver through a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// No one: both paths return 404 with the reason.
    Off,
    /// Clients that connect directly, not through a proxy: the default on loopback.
    Direct,
    /// Everybody.
    All,
}

/// The resolver as one listener offers it. Clones share everything.
#[derive(Clone)]
pub struct Site(Arc<Inner>);

struct Inner {
    resolver: Resolver,
    exposure: Exposure,
    /// Connections are encrypted: every response with EDNS is padded.
    encrypted: bool,
    message: Counts,
    json: Counts,
    /// Begins a use, unless the operator has the whole resolver turned off.
    switch: Switch,
}

/// A use of the resolver: held while a request is answered.
pub type Held = Box<dyn std::any::Any + Send>;

/// Begins a use of the resolver; `None` while it is turned off.
pub type Switch = Arc<dyn Fn() -> Option<Held> + Send + Sync>;

/// Returns a router that serves both paths.
pub fn router(resolver: Resolver, exposure: Exposure, encrypted: bool) -> Router {
    let site = Site::new(resolver, exposure, encrypted);
    Router::new().route("/dns-query", any(routed)).route("/resolve", any(routed)).with_state(site)
}

async fn routed(State(site): State<Site>, request: Request) -> Response {
    let client = request.extensions().get::<Client>().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |c| c.0);
    site.answer(request, client).await
}

impl Site {
    /// Offers a resolver through a listener; `encrypted` if its connections are.
    pub fn new(resolver: Resolver, exposure: Exposure, encrypted: bool) -> Self {
        Site::with_switch(resolver, exposure, encrypted, Arc::new(|| Some(Box::new(()))))
    }

    /// The same, offered only while the switch lets a use begin.
    pub fn with_switch(resolver: Resolver, exposure: Exposure, encrypted: bool, switch: Switch) -> Self {
        let (message, json) = (Counts::new("dns-query"), Counts::new("resolve"));
        Site(Arc::new(Inner { resolver, exposure, encrypted, message, json, switch }))
    }

    /// Returns whether the path is one of the two.
    pub fn serves(uri: &Uri) -> bool {
        matches!(uri.path(), "/dns-query" | "/resolve")
    }

    /// Answers a request for one of the two paths.
    pub async fn answer<B>(&self, request: axum::http::Request<B>, client: IpAddr) -> Response
    where
        B: HttpBody<Data = Bytes> + Unpin,
    {
        let start = Instant::now();
        let Inner { exposure, message, json, .. } = &*self.0;
        let (parts, body) = request.into_parts();
        let (is_json, counts) = match parts.uri.path() {
            "/resolve" => (true, json),
            _ => (false, message),
        };
        let held = (self.0.switch)();
        let refused = match &held {
            Some(_) => self.precheck(is_json, &parts, client),
            None => {
                let words = "DNS over HTTPS is turned off on this server (feature doh-server).";
                Some(HttpReply::text(StatusCode::NOT_FOUND, words))
            }
        };
        let reply = match refused {
            Some(reply) => reply,
            None if is_json => {
                Box::pin(self.in_json(&parts, client, counts, "application/json; charset=utf-8")).await
            }
            None => self.query(&parts, client, body, counts).await,
        };
        drop(held);
        counts.request(&parts.method, reply.source, reply.status, start.elapsed());
        reply.into_response(parts.method == Method::HEAD, *exposure == Exposure::All)
    }

    /// Checks access, method and rate before anything is parsed; returns the response if the request ends here.
    fn precheck(&self, is_json: bool, parts: &Parts, client: IpAddr) -> Option<HttpReply> {
        let closed = match self.0.exposure {
            Exposure::Off => true,
            Exposure::Direct => {
                PROXY_HEADERS.iter().any(|h| parts.headers.contains_key(h))
                    || !is_addressed_to_loopback(parts)
            }
            Exposure::All => false,
        };
        if closed {
            let words =
                "DNS over HTTPS is not enabled for remote clients; the operator enables it with --doh.";
            return Some(HttpReply::text(StatusCode::NOT_FOUND, words));
        }
        let allowed = if is_json { "GET, HEAD, OPTIONS" } else { "GET, HEAD, POST, OPTIONS" };
        match parts.method {
            Method::OPTIONS => {
                return Some(
                    HttpReply::text(StatusCode::NO_CONTENT, "")
                        .with(ALLOW, allowed)
                        .with(ACCESS_CONTROL_ALLOW_METHODS, allowed)
                        .with(ACCESS_CONTROL_ALLOW_HEADERS, "accept, content-type")
                        .with(ACCESS_CONTROL_MAX_AGE, "86400"),
                );
            }
            Method::GET | Method::HEAD => {}
            Method::POST if !is_json => {}
            _ => {
                let words = format!("Use {}.", if is_json { "GET" } else { "GET or POST" });
                return Some(HttpReply::text(StatusCode::METHOD_NOT_ALLOWED, words).with(ALLOW, allowed));
            }
        }
        let wait = self.0.resolver.admit(client).err()?;
        let words = "Rate limit exceeded. Retry later.";
        Some(HttpReply::text(StatusCode::TOO_MANY_REQUESTS, words).retry_after(wait))
    }

    /// `/dns-query`: the wire form, or the JSON form if the URL has a name instead of a message.
    async fn query<B>(&self, parts: &Parts, client: IpAddr, sent: B, counts: &Counts) -> HttpReply
    where
        B: HttpBody<Data = Bytes> + Unpin,
    {
        if parts.method == Method::POST {
            return match request_body(&parts.headers, sent).await {
                Ok(octets) => self.message(&octets, client, counts).await,
                Err(reply) => reply,
            };
        }
        let Some(encoded) = parameter(&parts.uri, "dns") else {
            if parameter(&parts.uri, "name").is_some() {
                return Box::pin(self.in_json(parts, client, counts, JSON)).await;
            }
            let words = "The parameter dns is missing: a DNS message in base64url (RFC 8484 section 4.1).";
            return HttpReply::text(StatusCode::BAD_REQUEST, words);
        };
        if !accepts(&parts.headers) {
            return HttpReply::text(StatusCode::NOT_ACCEPTABLE, format!("Responses are {MESSAGE}."));
        }
        match BASE64URL_NOPAD.decode(encoded.as_bytes()) {
            Ok(octets) if octets.len() > MAX_MESSAGE => too_large(),
            Ok(octets) => self.message(&octets, client, counts).await,
            Err(_) => {
                let words = "The parameter dns is not base64url without padding (RFC 8484 section 6).";
                HttpReply::text(StatusCode::BAD_REQUEST, words)
            }
        }
    }

    async fn message(&self, octets: &[u8], client: IpAddr, counts: &Counts) -> HttpReply {
        match answer::answer(&self.0.resolver, client, octets, self.0.encrypted).await {
            Ok(message) => {
                counts.answer(message.rcode);
                HttpReply {
                    status: StatusCode::OK,
                    media: MESSAGE,
                    body: message.octets,
                    lifetime: message.lifetime,
                    source: message.source,
                    headers: Vec::new(),
                }
            }
            Err(QueryError::Malformed(why)) => {
                HttpReply::text(StatusCode::BAD_REQUEST, format!("Not a DNS query: {why}."))
            }
            Err(QueryError::Busy) => HttpReply::busy(),
            Err(QueryError::ClientBusy) => HttpReply::client_busy(),
        }
    }

    /// The JSON form of a GET request.
    async fn in_json(
        &self,
        parts: &Parts,
        client: IpAddr,
        counts: &Counts,
        media: &'static str,
    ) -> HttpReply {
        let params = Params {
            name: parameter(&parts.uri, "name").unwrap_or_default(),
            rtype: parameter(&parts.uri, "type"),
            unchecked: parameter(&parts.uri, "cd"),
            dnssec_ok: parameter(&parts.uri, "do"),
            subnet: parameter(&parts.uri, "edns_client_subnet"),
        };
        // `ct` selects the form; unknown values are ignored, as public resolvers do.
        if parameter(&parts.uri, "ct").is_some_and(|ct| ct.eq_ignore_ascii_case(MESSAGE)) {
            return match params.query() {
                Ok(query) => self.message(&query.encode(), client, counts).await,
                Err(error) => HttpReply::json_error(error, media),
            };
        }
        match json::answer(&self.0.resolver, client, &params).await {
            Ok(reply) => {
                counts.answer(reply.rcode);
                HttpReply {
                    status: StatusCode::OK,
                    media,
                    body: serde_json::to_vec(&reply.document).unwrap_or_default(),
                    lifetime: reply.lifetime,
                    source: reply.source,
                    headers: Vec::new(),
                }
            }
            Err(error) => HttpReply::json_error(error, media),
        }
    }
}

/// Returns whether the request names a loopback address or `localhost` as its host. Any other name may be a DNS rebinding
/// attack by another site's page.
fn is_addressed_to_loopback(parts: &Parts) -> bool {
    let header = parts.headers.get(HOST).and_then(|v| v.to_str().ok());
    let Some(host) = parts.uri.authority().map(axum::http::uri::Authority::as_str).or(header) else {
        return true;
    };
    let host = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or(""),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
}

fn parameter(uri: &Uri, name: &str) -> Option<String> {
    let query = uri.query().unwrap_or_default();
    url::form_urlencoded::parse(query.as_bytes()).find(|(k, _)| k == name).map(|(_, v)| v.into_owned())
}

fn too_large() -> HttpReply {
    HttpReply::text(StatusCode::PAYLOAD_TOO_LARGE, format!("A DNS message has {MAX_MESSAGE} octets at most."))
}

/// Returns whether `Accept` is absent or includes DNS messages.
fn accepts(headers: &HeaderMap) -> bool {
    let mut ranges = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .peekable();
    ranges.peek().is_none()
        || ranges.any(|range| {
            let mut parts = range.split(';').map(str::trim);
            let named = parts.next().is_some_and(|name| {
                ["*/*", "application/*", MESSAGE].iter().any(|known| known.eq_ignore_ascii_case(name))
            });
            // Weight 0 means not acceptable (RFC 9110 section 12.4.2).
            let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
            named && weight.is_none_or(|q| q.trim().parse::<f32>().is_ok_and(|q| q > 0.0))
        })
}

async fn request_body<B>(headers: &HeaderMap, sent: B) -> Result<Bytes, HttpReply>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    let media = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("");
    if !media.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case(MESSAGE) {
        let words = format!("The content type must be {MESSAGE}.");
        return Err(HttpReply::text(StatusCode::UNSUPPORTED_MEDIA_TYPE, words).with(ACCEPT, MESSAGE));
    }
    if !accepts(headers) {
        return Err(HttpReply::text(StatusCode::NOT_ACCEPTABLE, format!("Responses are {MESSAGE}.")));
    }
    let length =
        headers.get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()).and_then(|v| v.parse::<usize>().ok());
    if length.is_some_and(|n| n > MAX_MESSAGE) {
        return Err(too_large());
    }
    let timed_out = || HttpReply::text(StatusCode::REQUEST_TIMEOUT, "The request body timed out.");
    tokio::time::timeout(BODY_TIMEOUT, read_all(sent)).await.unwrap_or_else(|_| Err(timed_out()))
}

async fn read_all<B>(mut sent: B) -> Result<Bytes, HttpReply>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    // A single chunk, the common case, is not copied.
    let (mut first, mut all) = (Bytes::new(), Vec::new());
    while let Some(frame) = sent.frame().await {
        let incomplete = |_| HttpReply::text(StatusCode::BAD_REQUEST, "The request body is incomplete.");
        let Ok(chunk) = frame.map_err(incomplete)?.into_data() else { continue };
        if first.is_empty() {
            first = chunk;
        } else {
            if all.is_empty() {
                all.extend_from_slice(&first);
            }
            all.extend_from_slice(&chunk);
        }
        if first.len().max(all.len()) > MAX_MESSAGE {
            return Err(too_large());
        }
    }
    Ok(if all.is_empty() { first } else { all.into() })
}
