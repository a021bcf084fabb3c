//! Authentication: a session's cookie, an API token as a bearer, or with `--demo` a visitor of a literal localhost
//! address.

use super::AppState;
use super::response::problem;
use super::tls::Encrypted;
use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, LOCATION, ORIGIN, REFERRER_POLICY,
    STRICT_TRANSPORT_SECURITY, USER_AGENT, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use model::ids::Caller;
use product::identity::{Client, Identity};
use service::ApiError;
use std::net::IpAddr;

/// Over TLS only the first is sent and accepted: an attacker on an unencrypted connection or at a sibling host name
/// can't set it.
const SECURE_COOKIE: &str = "__Host-domainscope";
const PLAIN_COOKIE: &str = "domainscope_session";
/// A browser keeps the cookie no longer than a session can last.
pub(super) const COOKIE_SECONDS: u32 = 14 * 24 * 3600;
const CROSS_ORIGIN_OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// The credentials that are accepted.
#[derive(Clone)]
pub struct Access {
    /// Accounts, sessions and tokens.
    pub identity: Identity,
    /// With `--demo`: the e-mail address of the account in whose name local visitors act.
    pub demo: Option<String>,
}

/// What a client presented.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Presented {
    /// A session's secret.
    Cookie(String),
    /// An API token.
    Bearer(String),
}

impl Access {
    /// The caller of a request, if it is authenticated; `peer` is the remote address of its connection.
    ///
    /// # Errors
    /// When the store can't be asked.
    pub async fn caller(
        &self,
        headers: &HeaderMap,
        peer: Option<IpAddr>,
        encrypted: bool,
    ) -> Result<Option<Caller>, store::Error> {
        let known = match presented(headers, encrypted) {
            // One is never taken for the other: a page of another site can send a cookie, but no bearer.
            Some(Presented::Cookie(secret)) if secret.starts_with("dss_") => {
                self.identity.caller(&secret).await?
            }
            Some(Presented::Bearer(secret)) if secret.starts_with("dst_") => {
                self.identity.caller(&secret).await?
            }
            _ => None,
        };
        match (&self.demo, known) {
            (_, Some(caller)) => Ok(Some(caller)),
            (Some(email), None) if is_local(headers, peer) => {
                self.identity.demo_caller(email).await.map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// What a request presents: a bearer goes before a cookie.
pub(super) fn presented(headers: &HeaderMap, encrypted: bool) -> Option<Presented> {
    let bearer = text(headers, AUTHORIZATION).and_then(|v| v.strip_prefix("Bearer "));
    if let Some(token) = bearer {
        return Some(Presented::Bearer(token.trim().to_string()));
    }
    let name = if encrypted { SECURE_COOKIE } else { PLAIN_COOKIE };
    let found =
        text(headers, COOKIE)?.split(';').find_map(|c| c.trim().strip_prefix(name)?.strip_prefix('='))?;
    Some(Presented::Cookie(found.to_string()))
}

/// The `Set-Cookie` of a session; with no seconds left it removes the cookie.
pub(super) fn cookie(secret: &str, encrypted: bool, seconds: u32) -> String {
    let (name, secure) = if encrypted { (SECURE_COOKIE, "; Secure") } else { (PLAIN_COOKIE, "") };
    format!("{name}={secret}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}")
}

/// The client of a request. Behind a proxy on this machine all clients have its address: it counts no attempts.
pub(super) fn client(_: &AppState, request: &Request) -> Client {
    let peer = peer(request).map(|ip| ip.to_canonical());
    let countable = peer.filter(|ip| !ip.is_loopback());
    Client {
        prefix: countable.map(|ip| doh::Client(ip).client_prefix().to_string()),
        address: peer.map(|ip| ip.to_string()).unwrap_or_default(),
        agent: text(request.headers(), USER_AGENT).unwrap_or("unknown program").chars().take(200).collect(),
    }
}

fn text(headers: &HeaderMap, name: impl axum::http::header::AsHeaderName) -> Option<&str> {
    headers.get(name).and_then(|v| v.to_str().ok())
}

/// The remote address of a request's connection. Every listener of this server sets it.
pub(super) fn peer(request: &Request) -> Option<IpAddr> {
    request.extensions().get::<doh::Client>().map(|c| c.0)
}

/// True for a request from this machine, to a literal localhost address and without a proxy in between: any name may
/// resolve to loopback, and any client can send any `Host`.
pub(super) fn is_local(headers: &HeaderMap, peer: Option<IpAddr>) -> bool {
    if peer.is_some_and(|p| !p.to_canonical().is_loopback()) {
        return false;
    }
    let forwarded = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"];
    if forwarded.iter().any(|h| headers.contains_key(*h)) {
        return false;
    }
    let Some(host) = text(headers, HOST) else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => host.split(':').next().unwrap_or(""),
    };
    matches!(name, "localhost" | "127.0.0.1" | "::1")
}

/// True for a request that changes something and comes from another site (CSRF). Programs send no such headers.
pub(super) fn is_cross_site(method: &Method, headers: &HeaderMap) -> bool {
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
pub(super) fn cross_site_refusal() -> Response {
    problem(&ApiError::forbidden("This request came from another site and was refused."))
}

/// Authenticates a request and stores its caller, or refuses it: programs get a problem, people the sign-in page.
pub async fn caller(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    if is_cross_site(request.method(), request.headers()) {
        return cross_site_refusal();
    }
    let encrypted = is_encrypted(&request);
    let caller = match state.access.caller(request.headers(), peer(&request), encrypted).await {
        Ok(caller) => caller,
        Err(e) => {
            tracing::error!(error = %e, label = e.label(), "a caller could not be looked up");
            return problem(&ApiError::unavailable("The database did not respond. Try again in a moment."));
        }
    };
    if let Some(caller) = caller {
        request.extensions_mut().insert(caller);
        let mut response = next.run(request).await;
        // What a page or an answer of an organisation holds is kept by no cache on the way, nor by the browser.
        response.headers_mut().entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        return response;
    }
    let path = request.uri().path();
    let is_program = path.starts_with("/api/") || path.starts_with("/live");
    if is_program || *request.method() != Method::GET {
        let words = "Sign in first, or send an API token: Authorization: Bearer dst_…";
        return problem(&ApiError::sign_in_required(words));
    }
    let to = request.uri().path_and_query().map_or("/domains", |p| p.as_str());
    let query: String = url::form_urlencoded::Serializer::new(String::new()).append_pair("to", to).finish();
    match HeaderValue::from_str(&format!("/sign-in?{query}")) {
        Ok(location) => (StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response(),
        Err(_) => StatusCode::UNAUTHORIZED.into_response(),
    }
}

/// True when the request came over TLS, of this server or of a proxy in front of it.
pub(super) fn is_encrypted(request: &Request) -> bool {
    let proxied =
        text(request.headers(), "x-forwarded-proto").is_some_and(|p| p.eq_ignore_ascii_case("https"));
    proxied || request.extensions().get::<Encrypted>().is_some()
}

/// Origins of the resolvers that browsers may ask, for the policy of those pages.
fn resolver_origins(state: &AppState) -> String {
    let urls = state.services.tools.comparer.resolvers().iter().filter_map(|r| r.json.as_deref());
    let origins = urls.filter_map(|u| url::Url::parse(u).ok()).map(|u| u.origin().ascii_serialization());
    let unique: std::collections::BTreeSet<String> = origins.filter(|o| o.contains("://")).collect();
    unique.into_iter().collect::<Vec<_>>().join(" ")
}

/// The host that a page is about: the browser may test whether it can be reached.
fn host_in_query(query: &str) -> String {
    let name =
        url::form_urlencoded::parse(query.as_bytes()).find(|(k, _)| k == "name").map(|(_, v)| v.into_owned());
    let host = name.and_then(|n| model::names::Fqdn::read(&n).ok()).map(|u| u.name);
    host.filter(|h| !h.as_str().is_empty()).map(|h| format!("https://{h}")).unwrap_or_default()
}

/// Security headers of every response.
pub async fn harden(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let asks = app::ASKING_PAGES.iter().any(|p| request.uri().path().starts_with(p)).then(|| {
        let named = request.uri().query().map(host_in_query).unwrap_or_default();
        format!("{} {named}", resolver_origins(&state))
    });
    let encrypted = is_encrypted(&request);
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    if encrypted {
        headers.insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
    headers.insert(CROSS_ORIGIN_OPENER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    // Leptos writes inline scripts that carry the server's answers into the page.
    let policy = HeaderValue::from_static(
        "default-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; \
         style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; \
         form-action 'self'; frame-ancestors 'none'",
    );
    // Those pages may reach the resolvers, and see whether the host itself can be reached from the browser.
    let wider = asks.zip(policy.to_str().ok()).and_then(|(origins, p)| {
        HeaderValue::from_str(format!("{p}; connect-src 'self' {origins}").trim_end()).ok()
    });
    headers.insert(CONTENT_SECURITY_POLICY, wider.unwrap_or(policy));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(k, v)| (k.parse().unwrap(), HeaderValue::from_static(v))).collect()
    }

    #[test]
    fn the_demo_knows_its_own_machine() {
        for host in ["localhost:8080", "127.0.0.1", "[::1]:8080"] {
            for peer in [None, Some("127.0.0.1"), Some("::1"), Some("::ffff:127.0.0.1")] {
                let peer = peer.map(|p| p.parse().unwrap());
                assert!(is_local(&headers(&[("host", host)]), peer), "{host} {peer:?}");
            }
            let elsewhere = Some("192.0.2.1".parse().unwrap());
            assert!(!is_local(&headers(&[("host", host)]), elsewhere), "a forged {host}");
        }
        for bad in [
            &[("host", "evil.example")][..],
            &[("host", "localhost.evil.example:8080")],
            &[("host", "127.0.0.1.evil.example")],
            &[("host", "localhost"), ("x-forwarded-for", "1.2.3.4")],
            &[("host", "localhost"), ("forwarded", "for=1.2.3.4")],
            &[],
        ] {
            assert!(!is_local(&headers(bad), None), "{bad:?}");
        }
    }

    #[test]
    fn over_tls_only_a_cookie_that_nobody_else_can_set_is_believed() {
        let both = headers(&[("cookie", "a=b; domainscope_session=plain; __Host-domainscope=safe")]);
        assert_eq!(presented(&both, true), Some(Presented::Cookie("safe".into())));
        assert_eq!(presented(&both, false), Some(Presented::Cookie("plain".into())));
        let planted = headers(&[("cookie", "domainscope_session=plain")]);
        assert_eq!(presented(&planted, true), None);
        let bearer = headers(&[("authorization", "Bearer dst_x"), ("cookie", "domainscope_session=plain")]);
        assert_eq!(presented(&bearer, false), Some(Presented::Bearer("dst_x".into())));
        assert!(cookie("s", true, 9).starts_with("__Host-domainscope=s; Path=/; HttpOnly; SameSite=Lax"));
        assert!(cookie("s", true, 9).ends_with("; Secure") && !cookie("s", false, 9).contains("Secure"));
    }

    #[test]
    fn a_page_may_reach_the_host_it_is_about_and_nothing_that_is_no_name() {
        assert_eq!(host_in_query("type=A&name=www.alder.example"), "https://www.alder.example");
        for bad in ["", "type=A", "name=", "name=a%20b", "name=x%3B%20script-src%20*", "name=."] {
            assert_eq!(host_in_query(bad), "", "{bad}");
        }
    }

    #[test]
    fn other_sites_change_nothing() {
        let post = Method::POST;
        assert!(is_cross_site(&post, &headers(&[("sec-fetch-site", "cross-site")])));
        assert!(is_cross_site(
            &post,
            &headers(&[("origin", "http://evil.example"), ("host", "localhost:8080")])
        ));
        assert!(!is_cross_site(
            &post,
            &headers(&[("origin", "http://localhost:8080"), ("host", "localhost:8080")])
        ));
        assert!(!is_cross_site(&post, &headers(&[("host", "localhost:8080")])));
        assert!(!is_cross_site(&Method::GET, &headers(&[("sec-fetch-site", "cross-site")])));
    }
}
