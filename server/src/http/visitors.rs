//! Visitors without an account: which addresses the operator opened to them, the JSON API for pages of listed origins
//! (CORS), and pages that those may embed. `service::policy` decides what a visitor may do; here stands which
//! requests come as a visitor at all.

use super::{AppState, origin};
use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, REFERER,
    VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use model::ids::Caller;
use model::open_tools::OpenTool;
use model::open_tools::OpenTool::{Check, Compare, Fqdn, Scan, Trace};
use std::net::IpAddr;

/// Where the pages for other sites are.
const EMBED: &str = "/embed/";
/// The JSON API of the tools: also what CORS is for.
const API: &str = "/api/v1/";

/// Streams and server functions of the tools' pages.
const CALLS: &[(&str, &[OpenTool])] = &[
    ("/live/compare", &[Compare]),
    ("/api/fn/look_up", &[Scan]),
    ("/api/fn/check", &[Check]),
    ("/api/fn/fqdn", &[Fqdn]),
    ("/api/fn/authority", &[Compare]),
    ("/api/fn/compare", &[Compare]),
    ("/api/fn/browser-resolvers", &[Fqdn, Compare]),
    ("/api/fn/trace", &[Trace]),
];

/// A request of a page that a listed origin may read: it comes as a visitor, whatever cookies are with it.
#[derive(Debug, Clone, Copy)]
pub struct ListedOrigin;

/// The tools that an address belongs to.
fn tools_of(path: &str) -> Vec<OpenTool> {
    let bases = ["/tools/", EMBED, API];
    if let Some(word) = bases.into_iter().find_map(|base| path.strip_prefix(base)) {
        return OpenTool::from_word(word).into_iter().collect();
    }
    CALLS.iter().find(|(call, _)| *call == path).map(|(_, tools)| tools.to_vec()).unwrap_or_default()
}

/// True for a page that other sites embed. Cookies count for nothing there.
pub fn is_embedded(path: &str) -> bool {
    path.starts_with(EMBED)
}

/// True for a page that other sites embed and whose tool is open.
pub fn is_open_embed(state: &AppState, path: &str) -> bool {
    is_embedded(path) && is_open(state, path)
}

fn is_open(state: &AppState, path: &str) -> bool {
    let open = state.services.open_tools();
    !open.is_empty() && tools_of(path).into_iter().any(|tool| open.contains(tool))
}

/// What the limits of a visitor are counted by: a site has at least a /48 of IPv6 and often more than one address of
/// IPv4, so single addresses would be no limit.
pub(super) fn client_prefix(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(ip) => {
            let [a, b, c, _] = ip.octets();
            format!("{a}.{b}.{c}.0/24")
        }
        ip @ IpAddr::V6(_) => format!("{}/56", doh::Client(ip).client_prefix()),
    }
}

/// The caller of a request without an account, where its address is open.
pub fn visitor(state: &AppState, request: &Request) -> Option<Caller> {
    if !is_open(state, request.uri().path()) {
        return None;
    }
    let address = origin::peer(request);
    let client = address.map(client_prefix).unwrap_or_default();
    let address = address.map(|ip| ip.to_canonical().to_string()).unwrap_or_default();
    Some(Caller { address, ..Caller::visitor(state.services.open_tools(), &client) })
}

fn is_listed(state: &AppState, origin: &str) -> bool {
    state.open_origins.iter().any(|listed| listed == origin)
}

/// True when a listed origin embeds this page: it may run a tool at once. Browsers send the referring origin with a frame.
pub fn is_embedded_by_listed(state: &AppState, headers: &HeaderMap) -> bool {
    let referer = headers.get(REFERER).and_then(|v| v.to_str().ok());
    let referring = referer.and_then(|r| url::Url::parse(r).ok()).map(|u| u.origin().ascii_serialization());
    referring.is_some_and(|origin| is_listed(state, &origin))
}

/// `frame-ancestors` of the pages that other sites embed.
pub fn frame_ancestors(state: &AppState) -> String {
    if state.open_origins.is_empty() { "'none'".into() } else { state.open_origins.join(" ") }
}

/// Lets pages of listed origins read the JSON API of open tools (Fetch standard, CORS). No credentials, ever.
pub async fn cors(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if state.open_origins.is_empty() || !path.starts_with(API) || !is_open(&state, path) {
        return next.run(request).await;
    }
    let listed = request.headers().get(ORIGIN).cloned();
    let listed = listed.filter(|o| o.to_str().is_ok_and(|text| is_listed(&state, text)));
    let mut response = match &listed {
        Some(_) if is_preflight(&request) => preflight(),
        Some(_) => {
            request.extensions_mut().insert(ListedOrigin);
            next.run(request).await
        }
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.append(VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = listed {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("Retry-After"));
    }
    response
}

fn is_preflight(request: &Request) -> bool {
    *request.method() == Method::OPTIONS && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

fn preflight() -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_METHODS, "GET"),
        (ACCESS_CONTROL_ALLOW_HEADERS, "accept, content-type"),
        (ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_counted_by_their_network() {
        let prefix = |text: &str| client_prefix(text.parse().unwrap());
        assert_eq!(prefix("192.0.2.77"), "192.0.2.0/24");
        assert_eq!(prefix("::ffff:192.0.2.77"), "192.0.2.0/24");
        assert_eq!(prefix("2001:db8:1:2345::9"), "2001:db8:1:2300::/56");
    }

    #[test]
    fn addresses_of_tools_are_exact() {
        assert_eq!(tools_of("/tools/scan"), [Scan]);
        assert_eq!(tools_of("/embed/trace"), [Trace]);
        assert_eq!(tools_of("/api/v1/fqdn"), [Fqdn]);
        assert_eq!(tools_of("/api/fn/browser-resolvers"), [Fqdn, Compare]);
        for other in
            ["/tools/configure", "/tools/scan/x", "/api/v1/domains", "/api/fn/frame", "/live", "/domains"]
        {
            assert!(tools_of(other).is_empty(), "{other}");
        }
    }
}
