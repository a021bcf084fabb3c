//! The HTTP side: `/dns-query` (RFC 8484) and `/resolve` (JSON). In: requests. Out: what HTTP has to say about them:
//! status, media type, freshness, who may read it. What DNS has to say is in the message.

use crate::answer::{self, NoMessage};
use crate::counts::Counts;
use crate::json::{self, Params};
use crate::message::LONGEST;
use crate::resolver::Resolver;
use crate::said::Said;
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
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http_body_util::BodyExt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

const MESSAGE: &str = "application/dns-message";
const JSON: &str = "application/dns-json";

/// How long the body of a question may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a proxy says for whom it asks.
static PROXIED: [HeaderName; 4] =
    [FORWARDED, VIA, HeaderName::from_static("x-forwarded-for"), HeaderName::from_static("x-real-ip")];

/// The other end of a connection; listeners put it into each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client(pub IpAddr);

impl Client {
    /// Addresses of which one household or one attacker can have many count as one: those of an IPv6 /56.
    pub fn household(self) -> IpAddr {
        match self.0.to_canonical() {
            IpAddr::V6(v6) => {
                let [a, b, c, d, ..] = v6.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, d & 0xFF00, 0, 0, 0, 0))
            }
            v4 @ IpAddr::V4(_) => v4,
        }
    }
}

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

/// The two addresses as one listener has them. Clones share everything.
#[derive(Clone)]
pub struct Site(Arc<Inner>);

struct Inner {
    resolver: Resolver,
    exposure: Exposure,
    /// The connection is encrypted: answers are padded whenever they may be.
    encrypted: bool,
    message: Counts,
    json: Counts,
}

/// The two addresses as a router of their own.
pub fn router(resolver: Resolver, exposure: Exposure, encrypted: bool) -> Router {
    let site = Site::new(resolver, exposure, encrypted);
    Router::new().route("/dns-query", any(routed)).route("/resolve", any(routed)).with_state(site)
}

async fn routed(State(site): State<Site>, request: Request) -> Response {
    let client = request.extensions().get::<Client>().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |c| c.0);
    site.answer(request, client).await
}

impl Site {
    /// What a listener shows of this resolver; `encrypted` when its connections are.
    pub fn new(resolver: Resolver, exposure: Exposure, encrypted: bool) -> Self {
        let (message, json) = (Counts::new("dns-query"), Counts::new("resolve"));
        Site(Arc::new(Inner { resolver, exposure, encrypted, message, json }))
    }

    /// True for the addresses that are answered here.
    pub fn serves(uri: &Uri) -> bool {
        matches!(uri.path(), "/dns-query" | "/resolve")
    }

    /// Answers a request for one of the two addresses.
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
        let said = match self.door(is_json, &parts, client) {
            Some(said) => said,
            None if is_json => {
                Box::pin(self.in_json(&parts, counts, "application/json; charset=utf-8")).await
            }
            None => self.query(&parts, body, counts).await,
        };
        counts.request(&parts.method, said.source, said.status, start.elapsed());
        said.response(parts.method == Method::HEAD, *exposure == Exposure::All)
    }

    /// What is refused before anything is read.
    fn door(&self, is_json: bool, parts: &Parts, client: IpAddr) -> Option<Said> {
        let closed = match self.0.exposure {
            Exposure::Off => true,
            Exposure::Direct => {
                PROXIED.iter().any(|h| parts.headers.contains_key(h)) || !asked_as_loopback(parts)
            }
            Exposure::All => false,
        };
        if closed {
            let words =
                "DNS over HTTPS is off for requests from elsewhere; the operator opens it with --doh.";
            return Some(Said::words(StatusCode::NOT_FOUND, words));
        }
        let allowed = if is_json { "GET, HEAD, OPTIONS" } else { "GET, HEAD, POST, OPTIONS" };
        match parts.method {
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
            Method::POST if !is_json => {}
            _ => {
                let words = format!("Ask with {}.", if is_json { "GET" } else { "GET or POST" });
                return Some(Said::words(StatusCode::METHOD_NOT_ALLOWED, words).with(ALLOW, allowed));
            }
        }
        let wait = self.0.resolver.admit(client).err()?;
        let words = "You have asked more often than one client may; ask again later.";
        Some(Said::words(StatusCode::TOO_MANY_REQUESTS, words).retry(wait))
    }

    /// `/dns-query`: the wire form, or the JSON form when a name is given instead of a message.
    async fn query<B>(&self, parts: &Parts, sent: B, counts: &Counts) -> Said
    where
        B: HttpBody<Data = Bytes> + Unpin,
    {
        if parts.method == Method::POST {
            return match body(&parts.headers, sent).await {
                Ok(octets) => self.message(&octets, counts).await,
                Err(said) => said,
            };
        }
        let Some(encoded) = parameter(&parts.uri, "dns") else {
            if parameter(&parts.uri, "name").is_some() {
                return Box::pin(self.in_json(parts, counts, JSON)).await;
            }
            let words = "The parameter dns is missing: a DNS message in base64url (RFC 8484 section 4.1).";
            return Said::words(StatusCode::BAD_REQUEST, words);
        };
        if !accepts(&parts.headers) {
            return Said::words(StatusCode::NOT_ACCEPTABLE, format!("Answers are {MESSAGE}."));
        }
        match URL_SAFE_NO_PAD.decode(encoded.as_bytes()) {
            Ok(octets) if octets.len() > LONGEST => too_large(),
            Ok(octets) => self.message(&octets, counts).await,
            Err(_) => {
                let words = "The parameter dns is not base64url without padding (RFC 8484 section 6).";
                Said::words(StatusCode::BAD_REQUEST, words)
            }
        }
    }

    async fn message(&self, octets: &[u8], counts: &Counts) -> Said {
        match answer::answer(&self.0.resolver, octets, self.0.encrypted).await {
            Ok(message) => {
                counts.answer(message.rcode);
                Said {
                    status: StatusCode::OK,
                    media: MESSAGE,
                    body: message.octets,
                    lifetime: message.lifetime,
                    source: message.source,
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
    async fn in_json(&self, parts: &Parts, counts: &Counts, media: &'static str) -> Said {
        let params = Params {
            name: parameter(&parts.uri, "name").unwrap_or_default(),
            rtype: parameter(&parts.uri, "type"),
            unchecked: parameter(&parts.uri, "cd"),
            dnssec_ok: parameter(&parts.uri, "do"),
            subnet: parameter(&parts.uri, "edns_client_subnet"),
        };
        // `ct` asks for another form; what is no form we have is the usual one, as elsewhere.
        if parameter(&parts.uri, "ct").is_some_and(|ct| ct.eq_ignore_ascii_case(MESSAGE)) {
            return match params.query() {
                Ok(query) => self.message(&query.write(), counts).await,
                Err(refused) => Said::refused(refused, media),
            };
        }
        match json::answer(&self.0.resolver, &params).await {
            Ok(reply) => {
                counts.answer(reply.rcode);
                Said {
                    status: StatusCode::OK,
                    media,
                    body: serde_json::to_vec(&reply.document).unwrap_or_default(),
                    lifetime: reply.lifetime,
                    source: reply.source,
                    more: Vec::new(),
                }
            }
            Err(refused) => Said::refused(refused, media),
        }
    }
}

/// True when the client calls this server by a loopback address or `localhost`: a name that somebody points here (DNS
/// rebinding) would make another site's page one of ours.
fn asked_as_loopback(parts: &Parts) -> bool {
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
        .peekable();
    ranges.peek().is_none()
        || ranges.any(|range| {
            let mut parts = range.split(';').map(str::trim);
            let named = parts.next().is_some_and(|name| {
                ["*/*", "application/*", MESSAGE].iter().any(|known| known.eq_ignore_ascii_case(name))
            });
            // A weight of nothing is a no (RFC 9110 section 12.4.2).
            let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
            named && weight.is_none_or(|q| q.trim().parse::<f32>().is_ok_and(|q| q > 0.0))
        })
}

async fn body<B>(headers: &HeaderMap, sent: B) -> Result<Bytes, Said>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
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
    tokio::time::timeout(PATIENCE, whole(sent)).await.unwrap_or_else(|_| Err(late()))
}

async fn whole<B>(mut sent: B) -> Result<Bytes, Said>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    // Nearly always one piece is all, and needs no copy.
    let (mut first, mut all) = (Bytes::new(), Vec::new());
    while let Some(frame) = sent.frame().await {
        let broken = |_| Said::words(StatusCode::BAD_REQUEST, "The question broke off.");
        let Ok(chunk) = frame.map_err(broken)?.into_data() else { continue };
        if first.is_empty() {
            first = chunk;
        } else {
            if all.is_empty() {
                all.extend_from_slice(&first);
            }
            all.extend_from_slice(&chunk);
        }
        if first.len().max(all.len()) > LONGEST {
            return Err(too_large());
        }
    }
    Ok(if all.is_empty() { first } else { all.into() })
}
