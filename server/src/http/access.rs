//! Authentication: a session's cookie, an API token as a bearer, or with `--demo` a visitor of a literal localhost
//! address.

use super::response::problem;
use super::{AppState, origin, visitors};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, COOKIE, LOCATION, USER_AGENT};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
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
/// What the answer to a passkey challenge of the sign-in page has to come with.
const SECURE_PASSKEY_COOKIE: &str = "__Host-domainscope-passkey";
const PLAIN_PASSKEY_COOKIE: &str = "domainscope_passkey";
/// A browser keeps the cookie no longer than a session can last.
pub(super) const COOKIE_SECONDS: u32 = 14 * 24 * 3600;

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
    /// The caller of a request, if it is authenticated.
    ///
    /// # Errors
    /// When the store can't be asked.
    pub async fn caller(&self, request: &Parts) -> Result<Option<Caller>, store::Error> {
        let known = match presented(&request.headers, request.is_encrypted) {
            // One is never taken for the other: a page of another site can send a cookie, but no bearer.
            Some(Presented::Cookie(secret)) if secret.starts_with("dss_") => {
                self.identity.caller(&secret).await?
            }
            Some(Presented::Bearer(secret)) if secret.starts_with("dst_") => {
                self.identity.caller(&secret).await?
            }
            _ => None,
        };
        let caller = match (&self.demo, known) {
            (_, Some(caller)) => Some(caller),
            (Some(email), None) if request.is_local => Some(self.identity.demo_caller(email).await?),
            _ => None,
        };
        let address = request.peer.map(|ip| ip.to_canonical().to_string()).unwrap_or_default();
        Ok(caller.map(|caller| Caller { address, ..caller }))
    }
}

/// What a request says about its sender.
#[derive(Debug, Clone)]
pub struct Parts {
    headers: HeaderMap,
    peer: Option<IpAddr>,
    is_encrypted: bool,
    is_local: bool,
}

impl Parts {
    /// Of a request.
    pub fn of(request: &Request) -> Self {
        Parts {
            headers: request.headers().clone(),
            peer: origin::peer(request),
            is_encrypted: origin::is_encrypted(request),
            is_local: origin::is_local(request),
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
    cookie_value(headers, name).map(Presented::Cookie)
}

fn cookie_value(headers: &HeaderMap, name: &str) -> Option<String> {
    let mut all = text(headers, COOKIE)?.split(';');
    all.find_map(|c| Some(c.trim().strip_prefix(name)?.strip_prefix('=')?.to_string()))
}

/// The secret of a passkey challenge that a request presents.
pub(super) fn presented_passkey(headers: &HeaderMap, encrypted: bool) -> Option<String> {
    cookie_value(headers, if encrypted { SECURE_PASSKEY_COOKIE } else { PLAIN_PASSKEY_COOKIE })
}

/// The `Set-Cookie` of a passkey challenge.
pub(super) fn passkey_cookie(secret: &str, encrypted: bool, seconds: u32) -> String {
    let (name, secure) =
        if encrypted { (SECURE_PASSKEY_COOKIE, "; Secure") } else { (PLAIN_PASSKEY_COOKIE, "") };
    format!("{name}={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
}

/// The `Set-Cookie` of a session; with no seconds left it removes the cookie.
pub(super) fn cookie(secret: &str, encrypted: bool, seconds: u32) -> String {
    let (name, secure) = if encrypted { (SECURE_COOKIE, "; Secure") } else { (PLAIN_COOKIE, "") };
    format!("{name}={secret}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}")
}

/// The client of a request. Behind an undeclared proxy on this machine all clients have its address: it counts no
/// attempts.
pub(super) fn client(request: &Request) -> Client {
    let peer = origin::peer(request).map(|ip| ip.to_canonical());
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

/// Authenticates a request and stores its caller, or refuses it: programs get a problem, people the sign-in page.
pub async fn caller(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    if origin::is_cross_site(request.method(), request.headers()) {
        return origin::cross_site_refusal();
    }
    let is_embedded = visitors::is_embedded(request.uri().path());
    // Another site can make a browser send these requests: they act for no account.
    let is_visit = is_embedded || request.extensions().get::<visitors::ListedOrigin>().is_some();
    let known = match is_visit {
        true => Ok(None),
        false => state.access.caller(&Parts::of(&request)).await,
    };
    let known = match known {
        Ok(known) => known,
        Err(e) => {
            tracing::error!(error = %e, label = e.label(), "a caller could not be looked up");
            return problem(&ApiError::unavailable("The database did not respond. Try again in a moment."));
        }
    };
    // A token that is not known is an error of its program, not a visit.
    let may_visit = is_visit || !request.headers().contains_key(AUTHORIZATION);
    let caller = known.or_else(|| may_visit.then(|| visitors::visitor(&state, &request)).flatten());
    if let Some(caller) = caller {
        request.extensions_mut().insert(caller);
        let mut response = next.run(request).await;
        // What a page or an answer of an organisation holds is kept by no cache on the way, nor by the browser.
        response.headers_mut().entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        return response;
    }
    let path = request.uri().path();
    if is_embedded {
        return problem(&ApiError::not_found("This tool is not open to visitors."));
    }
    if super::resources::is_resource(path) {
        return super::resources::unauthorized();
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(k, v)| (k.parse().unwrap(), HeaderValue::from_static(v))).collect()
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
}
