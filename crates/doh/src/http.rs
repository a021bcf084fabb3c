//! The HTTP side: `/dns-query` (RFC 8484) and `/resolve` (JSON). In: requests. Out: what HTTP has to say about them:
//! status, media type, freshness, who may read it. What DNS has to say is in the message.

use crate::answer::{self, NoMessage};
use crate::json::{self, Params, Refused};
use crate::message::LONGEST;
use crate::resolver::Resolver;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName,
    RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::StreamExt;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

const MESSAGE: &str = "application/dns-message";
const JSON: &str = "application/dns-json";

/// How long the body of a question may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The other end of a connection; listeners put it into each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client(pub IpAddr);

/// To whom a listener shows the resolver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// To nobody: the addresses answer 404 and say why.
    Off,
    /// To whoever connects directly, not to what a proxy brings from elsewhere: the default on loopback.
    Direct,
    /// To everybody.
    All,
}

#[derive(Clone)]
struct Site {
    resolver: Resolver,
    exposure: Exposure,
    /// The connection is encrypted: answers are padded whenever they may be.
    encrypted: bool,
}

/// The two addresses on a listener.
pub fn router(resolver: Resolver, exposure: Exposure, encrypted: bool) -> Router {
    Router::new().route("/dns-query", any(dns_query)).route("/resolve", any(resolve)).with_state(Site {
        resolver,
        exposure,
        encrypted,
    })
}

/// What is answered, before the headers that all answers share.
struct Said {
    status: StatusCode,
    media: &'static str,
    body: Vec<u8>,
    /// Seconds a cache may keep it; not at all when 0.
    lifetime: u32,
    cached: Option<bool>,
    more: Vec<(HeaderName, HeaderValue)>,
}

impl Said {
    fn words(status: StatusCode, words: impl Into<String>) -> Self {
        let mut body = words.into().into_bytes();
        body.push(b'\n');
        Said { status, media: "text/plain; charset=utf-8", body, lifetime: 0, cached: None, more: Vec::new() }
    }

    fn with(mut self, name: HeaderName, value: &str) -> Self {
        self.more.extend(HeaderValue::from_str(value).map(|value| (name, value)));
        self
    }

    fn retry(self, after: Duration) -> Self {
        let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
        self.with(RETRY_AFTER, &seconds.max(1).to_string())
    }

    fn busy() -> Self {
        Said::words(StatusCode::SERVICE_UNAVAILABLE, "Too many lookups are under way; ask again in a second.")
            .retry(Duration::from_secs(1))
    }
}

async fn dns_query(State(site): State<Site>, request: Request) -> Response {
    finish(&site, "dns-query", request, |site, request| Box::pin(query(site, request))).await
}

async fn resolve(State(site): State<Site>, request: Request) -> Response {
    finish(&site, "resolve", request, |site, request| {
        Box::pin(from_url(site, request, "application/json; charset=utf-8"))
    })
    .await
}

type Saying<'a> = futures::future::BoxFuture<'a, Said>;

/// What both addresses share: the door, the headers, the count.
async fn finish(
    site: &Site,
    path: &'static str,
    request: Request,
    say: impl for<'a> FnOnce(&'a Site, Request) -> Saying<'a>,
) -> Response {
    let start = Instant::now();
    let method = request.method().clone();
    let said = match door(site, path, &request) {
        Some(said) => said,
        None => say(site, request).await,
    };
    let cache = match said.cached {
        Some(true) => "hit",
        Some(false) => "miss",
        None => "none",
    };
    let status = said.status.as_str().to_string();
    metrics::counter!(
        "domainscope_doh_requests_total",
        "path" => path, "method" => label(&method), "cache" => cache, "status" => status
    )
    .increment(1);
    metrics::histogram!("domainscope_doh_seconds", "cache" => cache).record(start.elapsed().as_secs_f64());
    respond(said, method == Method::HEAD, site.exposure)
}

fn label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

fn respond(said: Said, head: bool, exposure: Exposure) -> Response {
    let length = said.body.len();
    let body =
        if head || said.status == StatusCode::NO_CONTENT { Body::empty() } else { Body::from(said.body) };
    let mut response = (said.status, body).into_response();
    let headers = response.headers_mut();
    // Where everybody may ask, any page's script may. On loopback a page from elsewhere would read the names of the
    // visitor's own network through it.
    if exposure == Exposure::All {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if said.status != StatusCode::NO_CONTENT {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(said.media));
        headers.insert(CONTENT_LENGTH, length.into());
    }
    let freshness = match said.lifetime {
        0 => HeaderValue::from_static("no-store"),
        n => HeaderValue::try_from(format!("max-age={n}")).unwrap_or(HeaderValue::from_static("no-store")),
    };
    headers.insert(CACHE_CONTROL, freshness);
    for (name, value) in said.more {
        headers.insert(name, value);
    }
    response
}

/// What is refused before anything is read.
fn door(site: &Site, path: &str, request: &Request) -> Option<Said> {
    let headers = request.headers();
    let closed = match site.exposure {
        Exposure::Off => true,
        Exposure::Direct => {
            ["forwarded", "x-forwarded-for", "x-real-ip", "via"].iter().any(|h| headers.contains_key(*h))
                || !asked_as_loopback(request)
        }
        Exposure::All => false,
    };
    if closed {
        let words = "DNS over HTTPS is off for requests from elsewhere; the operator opens it with --doh.";
        return Some(Said::words(StatusCode::NOT_FOUND, words));
    }
    let allowed = if path == "resolve" { "GET, HEAD, OPTIONS" } else { "GET, HEAD, POST, OPTIONS" };
    match *request.method() {
        Method::OPTIONS => {
            return Some(
                Said::words(StatusCode::NO_CONTENT, "")
                    .with(ALLOW, allowed)
                    .with(ACCESS_CONTROL_ALLOW_METHODS, allowed)
                    .with(ACCESS_CONTROL_ALLOW_HEADERS, "accept, content-type")
                    .with(ACCESS_CONTROL_MAX_AGE, "86400"),
            );
        }
        Method::GET | Method::HEAD => {}
        Method::POST if path != "resolve" => {}
        _ => {
            let words = format!("Ask with {}.", if path == "resolve" { "GET" } else { "GET or POST" });
            return Some(Said::words(StatusCode::METHOD_NOT_ALLOWED, words).with(ALLOW, allowed));
        }
    }
    let client = request.extensions().get::<Client>().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |c| c.0);
    let wait = site.resolver.admit(client).err()?;
    let words = "You have asked more often than one client may; ask again later.";
    Some(Said::words(StatusCode::TOO_MANY_REQUESTS, words).retry(wait))
}

/// True when the client calls this server by a loopback address or `localhost`: a name that somebody points here (DNS
/// rebinding) would make another site's page one of ours.
fn asked_as_loopback(request: &Request) -> bool {
    let header = request.headers().get(HOST).and_then(|v| v.to_str().ok());
    let Some(host) = request.uri().authority().map(axum::http::uri::Authority::as_str).or(header) else {
        return true;
    };
    let host = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or(""),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
}

fn parameter(request: &Request, name: &str) -> Option<String> {
    let query = request.uri().query().unwrap_or_default();
    url::form_urlencoded::parse(query.as_bytes()).find(|(k, _)| k == name).map(|(_, v)| v.into_owned())
}

/// `/dns-query`: the wire form, or the JSON form when a name is given instead of a message.
async fn query(site: &Site, request: Request) -> Said {
    if request.method() == Method::POST {
        return match body(request).await {
            Ok(octets) => message(site, &octets).await,
            Err(said) => said,
        };
    }
    let Some(encoded) = parameter(&request, "dns") else {
        if parameter(&request, "name").is_some() {
            return from_url(site, request, JSON).await;
        }
        let words = "The parameter dns is missing: a DNS message in base64url (RFC 8484 section 4.1).";
        return Said::words(StatusCode::BAD_REQUEST, words);
    };
    if !accepts(request.headers()) {
        return Said::words(StatusCode::NOT_ACCEPTABLE, format!("Answers are {MESSAGE}."));
    }
    match URL_SAFE_NO_PAD.decode(encoded.as_bytes()) {
        Ok(octets) if octets.len() > LONGEST => too_large(),
        Ok(octets) => message(site, &octets).await,
        Err(_) => {
            let words = "The parameter dns is not base64url without padding (RFC 8484 section 6).";
            Said::words(StatusCode::BAD_REQUEST, words)
        }
    }
}

fn too_large() -> Said {
    Said::words(StatusCode::PAYLOAD_TOO_LARGE, format!("A DNS message has {LONGEST} octets at most."))
}

/// True when the client takes DNS messages, or does not say.
fn accepts(headers: &HeaderMap) -> bool {
    let mut ranges = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|range| range.split(';').next().unwrap_or("").trim().to_ascii_lowercase())
        .peekable();
    ranges.peek().is_none()
        || ranges.any(|range| matches!(range.as_str(), "*/*" | "application/*") || range == MESSAGE)
}

async fn body(request: Request) -> Result<Vec<u8>, Said> {
    let headers = request.headers();
    let media = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("");
    if !media.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case(MESSAGE) {
        let words = format!("A question is posted as {MESSAGE}.");
        return Err(Said::words(StatusCode::UNSUPPORTED_MEDIA_TYPE, words).with(ACCEPT, MESSAGE));
    }
    if !accepts(headers) {
        return Err(Said::words(StatusCode::NOT_ACCEPTABLE, format!("Answers are {MESSAGE}.")));
    }
    let length =
        headers.get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()).and_then(|v| v.parse::<usize>().ok());
    if length.is_some_and(|n| n > LONGEST) {
        return Err(too_large());
    }
    let late = || Said::words(StatusCode::REQUEST_TIMEOUT, "The question did not arrive in time.");
    tokio::time::timeout(PATIENCE, whole(request.into_body())).await.unwrap_or_else(|_| Err(late()))
}

async fn whole(body: Body) -> Result<Vec<u8>, Said> {
    let mut octets = Vec::new();
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let broken = |_| Said::words(StatusCode::BAD_REQUEST, "The question broke off.");
        octets.extend_from_slice(&chunk.map_err(broken)?);
        if octets.len() > LONGEST {
            return Err(too_large());
        }
    }
    Ok(octets)
}

async fn message(site: &Site, octets: &[u8]) -> Said {
    match answer::answer(&site.resolver, octets, site.encrypted).await {
        Ok(message) => {
            count(message.rcode);
            Said {
                status: StatusCode::OK,
                media: MESSAGE,
                body: message.octets,
                lifetime: message.lifetime,
                cached: message.cached,
                more: Vec::new(),
            }
        }
        Err(NoMessage::Garbage(why)) => {
            Said::words(StatusCode::BAD_REQUEST, format!("This is no DNS question: {why}."))
        }
        Err(NoMessage::Busy) => Said::busy(),
    }
}

/// The JSON form.
async fn from_url(site: &Site, request: Request, media: &'static str) -> Said {
    let params = Params {
        name: parameter(&request, "name").unwrap_or_default(),
        rtype: parameter(&request, "type"),
        unchecked: parameter(&request, "cd"),
        dnssec_ok: parameter(&request, "do"),
    };
    match json::answer(&site.resolver, &params).await {
        Ok(reply) => {
            count(reply.rcode);
            Said {
                status: StatusCode::OK,
                media,
                body: serde_json::to_vec(&reply.document).unwrap_or_default(),
                lifetime: reply.lifetime,
                cached: reply.cached,
                more: Vec::new(),
            }
        }
        Err(Refused::Bad(words)) => {
            let body = serde_json::json!({ "error": words }).to_string().into_bytes();
            Said { media, body, ..Said::words(StatusCode::BAD_REQUEST, "") }
        }
        Err(Refused::Busy) => Said::busy(),
    }
}

fn count(rcode: u16) {
    metrics::counter!("domainscope_doh_answers_total", "rcode" => dns::wire::rcode_text(rcode)).increment(1);
}
