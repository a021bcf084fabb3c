//! Security headers of every response, and the content security policy of pages.

use super::{AppState, origin, visitors};
use axum::extract::{Request, State};
use axum::http::header::{
    CONTENT_SECURITY_POLICY, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use data_encoding::BASE64;
use std::sync::LazyLock;

const CROSS_ORIGIN_OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// The one inline script that is the same on every page, by its hash.
static THEME_HASH: LazyLock<String> = LazyLock::new(|| {
    let hash = ring::digest::digest(&ring::digest::SHA256, app::THEME_SCRIPT.as_bytes());
    format!("'sha256-{}'", BASE64.encode(hash.as_ref()))
});

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

/// The policy of a page. Inline scripts run by nonce or hash only: what someone else writes into a page does not. `asks`:
/// other origins that its scripts may reach; `ancestors`: who may embed it.
fn policy(nonce: Option<&str>, asks: Option<&str>, ancestors: &str) -> String {
    let nonce = nonce.map(|nonce| format!(" 'nonce-{nonce}'")).unwrap_or_default();
    let asks = asks.map(|origins| format!("; connect-src 'self' {origins}")).unwrap_or_default();
    format!(
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval' {}{nonce}; style-src 'self' 'unsafe-inline'; \
         img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors {ancestors}{}",
        *THEME_HASH,
        asks.trim_end()
    )
}

/// Security headers of every response.
pub async fn harden(State(state): State<AppState>, request: Request, next: Next) -> Response {
    // Those pages may reach the resolvers, and see whether the host itself can be reached from the browser.
    let asks = app::ASKING_PAGES.iter().any(|p| request.uri().path().starts_with(p)).then(|| {
        let named = request.uri().query().map(host_in_query).unwrap_or_default();
        format!("{} {named}", resolver_origins(&state))
    });
    let encrypted = origin::is_encrypted(&request);
    let ancestors =
        visitors::is_open_embed(&state, request.uri().path()).then(|| visitors::frame_ancestors(&state));
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    if encrypted {
        headers.insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
    headers.insert(CROSS_ORIGIN_OPENER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // It can't name origins: where there are any, only `frame-ancestors` says who may embed the page.
    if ancestors.as_ref().is_none_or(|a| a == "'none'") {
        headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    }
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    // The page that was rendered says which nonce its scripts carry.
    let nonce = headers.remove(app::NONCE_HEADER);
    let nonce = nonce.as_ref().and_then(|value| value.to_str().ok());
    if let Ok(policy) =
        HeaderValue::from_str(&policy(nonce, asks.as_deref(), ancestors.as_deref().unwrap_or("'none'")))
    {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_may_reach_the_host_it_is_about_and_nothing_that_is_no_name() {
        assert_eq!(host_in_query("type=A&name=www.alder.example"), "https://www.alder.example");
        for bad in ["", "type=A", "name=", "name=a%20b", "name=x%3B%20script-src%20*", "name=."] {
            assert_eq!(host_in_query(bad), "", "{bad}");
        }
    }

    #[test]
    fn inline_scripts_need_a_nonce_or_the_hash() {
        let page = policy(Some("abc"), None, "'none'");
        let scripts = page.split("; ").find(|part| part.starts_with("script-src")).unwrap();
        assert!(scripts.contains("'nonce-abc'") && scripts.contains("'sha256-"), "{scripts}");
        assert!(!scripts.contains("unsafe-inline") && !scripts.contains("'unsafe-eval'"), "{scripts}");
        assert!(!policy(None, None, "'none'").contains("nonce"));
        assert!(
            policy(None, Some("https://dns.example "), "'none'")
                .ends_with("connect-src 'self' https://dns.example")
        );
    }
}
