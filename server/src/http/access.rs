//! Who may come in. Until there are accounts there is one operator: `--demo` signs in visitors of a literal localhost
//! address by itself; otherwise a link with a secret, printed at the first start, sets a cookie.

use super::Web;
use super::answer::failed;
use super::tls::Encrypted;
use app::answer::Failure;
use axum::extract::{Query, Request, State};
use axum::http::header::{
    AUTHORIZATION, CONTENT_SECURITY_POLICY, COOKIE, HOST, LOCATION, ORIGIN, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use model::ids::{Caller, OrgId, Role};
use std::collections::HashMap;
use std::net::IpAddr;

const COOKIE_NAME: &str = "domainscope_key";

/// What opens the door.
#[derive(Debug, Clone)]
pub struct Access {
    /// The operator's secret, at least 128 bits, hexadecimal.
    pub key: String,
    /// True with `--demo`.
    pub demo: bool,
}

impl Access {
    /// The caller of a request, if it may come in; `peer` is the other end of its connection.
    pub fn caller(&self, headers: &HeaderMap, peer: Option<IpAddr>) -> Option<Caller> {
        let by_key = self.has_key(headers);
        (by_key || (self.demo && is_from_here(headers, peer))).then(|| Caller {
            org: OrgId::BUILT_IN,
            who: if by_key { "Operator" } else { "Demo visitor" }.into(),
            role: Role::Owner,
        })
    }

    /// True for whoever shows the key.
    pub fn has_key(&self, headers: &HeaderMap) -> bool {
        bearer(headers).or_else(|| cookie(headers)).is_some_and(|k| self.is_key(&k))
    }

    /// Compares without telling by time how much was right.
    fn is_key(&self, given: &str) -> bool {
        let (a, b) = (self.key.as_bytes(), given.as_bytes());
        a.len() == b.len() && !a.is_empty() && a.iter().zip(b).fold(0, |d, (x, y)| d | (x ^ y)) == 0
    }
}

fn text(headers: &HeaderMap, name: impl axum::http::header::AsHeaderName) -> Option<&str> {
    headers.get(name).and_then(|v| v.to_str().ok())
}

fn bearer(headers: &HeaderMap) -> Option<String> {
    text(headers, AUTHORIZATION)?.strip_prefix("Bearer ").map(|k| k.trim().to_string())
}

fn cookie(headers: &HeaderMap) -> Option<String> {
    let all = text(headers, COOKIE)?;
    all.split(';').find_map(|c| c.trim().strip_prefix(COOKIE_NAME)?.strip_prefix('=').map(str::to_string))
}

/// The other end of a request's connection. Every listener of ours says it.
pub(super) fn peer(request: &Request) -> Option<IpAddr> {
    request.extensions().get::<doh::Client>().map(|c| c.0)
}

/// From this machine, to a literal localhost address and without a proxy in between: a name that resolves to loopback
/// may be anybody's, and a `Host` can be written by anybody.
pub(super) fn is_from_here(headers: &HeaderMap, peer: Option<IpAddr>) -> bool {
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

/// A request that changes something must come from our own pages or from a program, never from another site.
fn crosses_sites(method: &Method, headers: &HeaderMap) -> bool {
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

/// Lets a request in with its caller, or answers why not.
pub async fn caller(State(web): State<Web>, mut request: Request, next: Next) -> Response {
    if crosses_sites(request.method(), request.headers()) {
        let words = "This request came from another site and was not carried out.";
        return failed(&Failure::Forbidden(words.into()));
    }
    match web.access.caller(request.headers(), peer(&request)) {
        Some(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        None => {
            let path = request.uri().path();
            let program = path.starts_with("/api/") || path.starts_with("/live");
            let words = "Sign in first: open the set-up link that the server printed when it started.";
            if program {
                failed(&Failure::SignIn(words.into()))
            } else {
                (StatusCode::UNAUTHORIZED, Html(closed_page(words))).into_response()
            }
        }
    }
}

fn closed_page(words: &str) -> String {
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>\
         <title>Sign in · Domainscope</title><body style='font:15px/1.5 system-ui;max-width:32rem;margin:15vh auto;\
         padding:0 1rem;color-scheme:light dark'><h1 style='font-size:1.25rem'>Domainscope</h1><p>{words}</p>\
         <p>The link ends in <code>/setup?key=…</code>; <code>domainscope admin link</code> prints it again.</p>"
    )
}

/// True when nobody on the way could read the request: over TLS of our own, or of a proxy before us.
fn is_encrypted(request: &Request) -> bool {
    let proxied =
        text(request.headers(), "x-forwarded-proto").is_some_and(|p| p.eq_ignore_ascii_case("https"));
    proxied || request.extensions().get::<Encrypted>().is_some()
}

/// The one-time link: a right key becomes a cookie. One that was given over TLS is never sent without it.
pub async fn setup(
    State(web): State<Web>,
    Query(query): Query<HashMap<String, String>>,
    request: Request,
) -> Response {
    let given = query.get("key").map_or("", String::as_str);
    if !web.access.is_key(given) {
        let words = "This set-up link is not valid. Use the newest one that the server printed.";
        return (StatusCode::FORBIDDEN, Html(closed_page(words))).into_response();
    }
    let secure = if is_encrypted(&request) { "; Secure" } else { "" };
    let cookie = format!("{COOKIE_NAME}={given}; HttpOnly; SameSite=Lax; Path=/; Max-Age=7776000{secure}");
    match HeaderValue::from_str(&cookie) {
        Ok(value) => {
            let to = HeaderValue::from_static("/domains");
            (StatusCode::SEE_OTHER, [(SET_COOKIE, value), (LOCATION, to)]).into_response()
        }
        Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}

/// Origins of the resolvers that browsers may ask, for the policy of those pages.
fn resolver_origins(web: &Web) -> String {
    let urls = web.product.tools.comparer.resolvers().iter().filter_map(|r| r.json.as_deref());
    let origins = urls.filter_map(|u| url::Url::parse(u).ok()).map(|u| u.origin().ascii_serialization());
    let unique: std::collections::BTreeSet<String> = origins.filter(|o| o.contains("://")).collect();
    unique.into_iter().collect::<Vec<_>>().join(" ")
}

/// The host a page is about, so that the browser may try whether it can be reached.
fn host_asked_about(query: &str) -> String {
    let name =
        url::form_urlencoded::parse(query.as_bytes()).find(|(k, _)| k == "name").map(|(_, v)| v.into_owned());
    let host = name.and_then(|n| model::names::Fqdn::read(&n).ok()).map(|u| u.name);
    host.filter(|h| !h.as_str().is_empty()).map(|h| format!("https://{h}")).unwrap_or_default()
}

/// Headers every answer carries.
pub async fn harden(State(web): State<Web>, request: Request, next: Next) -> Response {
    let asks = app::ASKING_PAGES.iter().any(|p| request.uri().path().starts_with(p)).then(|| {
        let named = request.uri().query().map(host_asked_about).unwrap_or_default();
        format!("{} {named}", resolver_origins(&web))
    });
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
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
    fn the_demo_signs_in_plain_localhost_only() {
        let demo = Access { key: "k".repeat(32), demo: true };
        for host in ["localhost:8080", "127.0.0.1", "[::1]:8080"] {
            for peer in [None, Some("127.0.0.1"), Some("::1"), Some("::ffff:127.0.0.1")] {
                let peer = peer.map(|p| p.parse().unwrap());
                assert!(demo.caller(&headers(&[("host", host)]), peer).is_some(), "{host} {peer:?}");
            }
            let elsewhere = Some("192.0.2.1".parse().unwrap());
            assert!(demo.caller(&headers(&[("host", host)]), elsewhere).is_none(), "a forged {host}");
        }
        for bad in [
            &[("host", "evil.example")][..],
            &[("host", "localhost.evil.example:8080")],
            &[("host", "127.0.0.1.evil.example")],
            &[("host", "localhost"), ("x-forwarded-for", "1.2.3.4")],
            &[("host", "localhost"), ("forwarded", "for=1.2.3.4")],
            &[],
        ] {
            assert!(demo.caller(&headers(bad), None).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn without_the_demo_a_key_is_needed() {
        let access = Access { key: "secret".into(), demo: false };
        assert!(access.caller(&headers(&[("host", "localhost")]), None).is_none());
        assert!(access.caller(&headers(&[("cookie", "a=b; domainscope_key=secret")]), None).is_some());
        assert!(access.caller(&headers(&[("authorization", "Bearer secret")]), None).is_some());
        assert!(access.caller(&headers(&[("authorization", "Bearer secreT")]), None).is_none());
        let unset = Access { key: String::new(), demo: false };
        assert!(unset.caller(&headers(&[("authorization", "Bearer ")]), None).is_none());
    }

    #[test]
    fn a_page_may_reach_the_host_it_is_about_and_nothing_that_is_no_name() {
        assert_eq!(host_asked_about("type=A&name=www.alder.example"), "https://www.alder.example");
        for bad in ["", "type=A", "name=", "name=a%20b", "name=x%3B%20script-src%20*", "name=."] {
            assert_eq!(host_asked_about(bad), "", "{bad}");
        }
    }

    #[test]
    fn other_sites_change_nothing() {
        let post = Method::POST;
        assert!(crosses_sites(&post, &headers(&[("sec-fetch-site", "cross-site")])));
        assert!(crosses_sites(
            &post,
            &headers(&[("origin", "http://evil.example"), ("host", "localhost:8080")])
        ));
        assert!(!crosses_sites(
            &post,
            &headers(&[("origin", "http://localhost:8080"), ("host", "localhost:8080")])
        ));
        assert!(!crosses_sites(&post, &headers(&[("host", "localhost:8080")])));
        assert!(!crosses_sites(&Method::GET, &headers(&[("sec-fetch-site", "cross-site")])));
    }
}
