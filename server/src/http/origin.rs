//! Where a request comes from: the client behind declared proxies, whether it is this machine's own browser, and whether
//! another site caused it.
//!
//! Forwarding headers are believed only from `--trusted-proxy` networks; all others can be sent by anyone.

use super::local_peer::Peer;
use super::response::problem;
use super::tls::Encrypted;
use super::{AppState, visitors};
use app::{AccessPage, access_document};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONNECTION, HOST, ORIGIN, REFERER};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Version};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use service::ApiError;
use std::net::IpAddr;
use std::str::FromStr;

/// A network of proxies whose forwarding headers are believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyNetwork {
    block: IpAddr,
    length: u8,
}

impl FromStr for ProxyNetwork {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("“{text}” is not an address or ADDRESS/LENGTH, as in 127.0.0.1 or 10.0.0.0/8");
        let (block, length) = match text.trim().split_once('/') {
            Some((block, length)) => (block, Some(length.parse::<u8>().map_err(|_| wrong())?)),
            None => (text.trim(), None),
        };
        let block: IpAddr = block.parse().map_err(|_| wrong())?;
        let most = if block.is_ipv4() { 32 } else { 128 };
        let length = length.unwrap_or(most);
        if length > most { Err(wrong()) } else { Ok(ProxyNetwork { block, length }) }
    }
}

impl ProxyNetwork {
    /// True for an address of the network. IPv4 addresses mapped to IPv6 count as IPv4.
    pub fn contains(&self, ip: IpAddr) -> bool {
        match (self.block, ip.to_canonical()) {
            (IpAddr::V4(block), IpAddr::V4(ip)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.length)).unwrap_or(0);
                block.to_bits() & mask == ip.to_bits() & mask
            }
            (IpAddr::V6(block), IpAddr::V6(ip)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.length)).unwrap_or(0);
                block.to_bits() & mask == ip.to_bits() & mask
            }
            _ => false,
        }
    }
}

/// Marks a request that a declared proxy handed over.
#[derive(Debug, Clone, Copy)]
struct Proxied;

fn text(headers: &HeaderMap, name: impl axum::http::header::AsHeaderName) -> Option<&str> {
    headers.get(name).and_then(|v| v.to_str().ok())
}

/// The remote address of a request: of its connection, or what declared proxies say. Every listener of this server sets
/// it.
pub fn peer(request: &Request) -> Option<IpAddr> {
    request.extensions().get::<doh::Client>().map(|c| c.0)
}

/// The client in `X-Forwarded-For` as seen by a proxy: from the right, the first address that is no declared proxy.
/// What stands further left was sent by that client and is not believed.
fn client_behind(headers: &HeaderMap, proxies: &[ProxyNetwork]) -> Option<IpAddr> {
    let lines: Vec<&str> =
        headers.get_all("x-forwarded-for").iter().filter_map(|v| v.to_str().ok()).collect();
    let mut found = None;
    for part in lines.iter().flat_map(|line| line.split(',')).rev() {
        let Ok(ip) = part.trim().trim_matches(['[', ']']).parse::<IpAddr>() else { break };
        found = Some(ip);
        if !proxies.iter().any(|p| p.contains(ip)) {
            break;
        }
    }
    found
}

/// Replaces address, scheme and host by what a declared proxy says of its client.
pub async fn resolve(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let is_proxy = peer(&request).is_some_and(|ip| state.proxies.iter().any(|p| p.contains(ip)));
    if is_proxy {
        if let Some(client) = client_behind(request.headers(), &state.proxies) {
            request.extensions_mut().insert(doh::Client(client));
        }
        let proto = text(request.headers(), "x-forwarded-proto").unwrap_or_default();
        if proto.rsplit(',').next().is_some_and(|last| last.trim().eq_ignore_ascii_case("https")) {
            request.extensions_mut().insert(Encrypted);
        }
        if let Some(host) = request.headers().get("x-forwarded-host").cloned() {
            request.headers_mut().insert(HOST, host);
        }
        request.extensions_mut().insert(Proxied);
    }
    next.run(request).await
}

/// True when the request came over TLS, of this server or of a declared proxy in front of it.
pub fn is_encrypted(request: &Request) -> bool {
    request.extensions().get::<Encrypted>().is_some()
}

/// Scheme and host by which the client reached this server.
pub fn site(request: &Request) -> String {
    let scheme = if is_encrypted(request) { "https" } else { "http" };
    format!("{scheme}://{}", text(request.headers(), HOST).unwrap_or("localhost"))
}

/// True for a request of a browser on this machine to a literal localhost address, without a proxy in between: any name
/// may resolve to loopback, and any client can send any `Host`. A proxy gives itself away by forwarding headers, or, as
/// nginx without further settings, by HTTP/1.0 and `Connection: close`, or by running as a user of its own.
pub fn is_local(request: &Request) -> bool {
    if request.extensions().get::<Proxied>().is_some() {
        return false;
    }
    if peer(request).is_some_and(|p| !p.to_canonical().is_loopback()) {
        return false;
    }
    let headers = request.headers();
    let forwarded =
        ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"];
    if forwarded.iter().any(|h| headers.contains_key(*h)) {
        return false;
    }
    let closes = text(headers, CONNECTION).is_some_and(|c| c.eq_ignore_ascii_case("close"));
    if closes || request.version() < Version::HTTP_11 {
        return false;
    }
    let Some(host) = text(headers, HOST) else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => host.split(':').next().unwrap_or(""),
    };
    matches!(name, "localhost" | "127.0.0.1" | "::1")
        && request.extensions().get::<Peer>().is_none_or(Peer::is_of_this_user)
}

/// True for a request that changes something and comes from another site (CSRF). Programs send no such headers.
pub fn is_cross_site(method: &Method, headers: &HeaderMap) -> bool {
    if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
        return false;
    }
    if let Some(site) = text(headers, "sec-fetch-site") {
        return !matches!(site, "same-origin" | "none");
    }
    match (text(headers, ORIGIN), text(headers, HOST)) {
        (Some(origin), Some(host)) => origin.split_once("://").is_none_or(|(_, o)| o != host),
        _ => false,
    }
}

/// The response to such a request.
pub fn cross_site_refusal() -> Response {
    problem(&ApiError::forbidden("This request came from another site and was refused."))
}

/// True for a request that a link or page of another site caused. Browsers say so (Fetch Metadata); over an unencrypted
/// connection only `Referer` does.
fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    if let Some(site) = text(headers, "sec-fetch-site") {
        return site == "cross-site";
    }
    match (text(headers, REFERER), text(headers, HOST)) {
        (Some(referer), Some(host)) => {
            referer.split_once("://").is_none_or(|(_, rest)| rest.split('/').next() != Some(host))
        }
        _ => false,
    }
}

/// True for the page of a tool, our own or that for other sites.
fn is_tool_page(path: &str) -> bool {
    path.starts_with("/tools/") || visitors::is_embedded(path)
}

/// True for a page that asks servers of other parties when its address names what to ask about.
fn is_asking_page(path: &str, query: &str) -> bool {
    let names =
        |key: &str| url::form_urlencoded::parse(query.as_bytes()).any(|(k, v)| k == key && !v.is_empty());
    match path {
        "/fleet" => names("name"),
        // Names that point into a prefix are shown with their reverse look-ups, also those of the first prefix.
        "/networks" => !query.is_empty(),
        _ => is_tool_page(path) && !query.is_empty(),
    }
}

/// True for an address that sends questions to servers of other parties when it is opened.
fn is_query_address(path: &str, query: &str) -> bool {
    let calls = [
        "/live/compare",
        "/api/v1/scan",
        "/api/v1/check",
        "/api/v1/fqdn",
        "/api/v1/places",
        "/api/v1/readiness",
        "/api/v1/third-parties",
        "/api/v1/compare",
        "/api/v1/trace",
        "/api/v1/networks/names",
    ];
    is_asking_page(path, query) || calls.contains(&path)
}

/// A link on another site spends none of the caller's look-ups: the person confirms first, programs are refused.
pub async fn confirm_queries(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
    let has_bearer = request.headers().contains_key(AUTHORIZATION);
    // A listed origin spends the visitor's look-ups, never an account's.
    let is_listed = request.extensions().get::<visitors::ListedOrigin>().is_some()
        || (visitors::is_embedded(path) && visitors::is_embedded_by_listed(&state, request.headers()));
    if has_bearer || is_listed || !is_query_address(path, query) || !is_from_elsewhere(request.headers()) {
        return next.run(request).await;
    }
    if !is_asking_page(path, query) {
        return cross_site_refusal();
    }
    let pairs: Vec<(String, String)> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let value = |keys: &[&str]| pairs.iter().find(|(key, _)| keys.contains(&key.as_str())).map(|(_, v)| v);
    let about = value(&["name", "zone", "domain"]).map_or("this address", String::as_str);
    let about: String = about.chars().take(100).collect();
    // Domain Connect leads back to the page of the set-up.
    let from = match path {
        "/tools/configure" => {
            "A link on another site opened this page, or your DNS provider led you back to it."
        }
        _ => "A link on another site opened this page.",
    };
    let page = AccessPage {
        title: "Run this tool?".into(),
        text: format!("{from} It sends questions about {about} to other servers."),
        action: path.to_string().into(),
        is_get: true,
        hidden: pairs.into_iter().map(|(key, value)| (key.into(), value)).collect(),
        button: "Run",
        ..AccessPage::default()
    };
    let html = access_document(state.bundle.style_tags(), &page);
    (StatusCode::OK, [("cache-control", HeaderValue::from_static("no-store"))], Html(html)).into_response()
}

#[cfg(test)]
#[path = "origin_tests.rs"]
mod tests;
