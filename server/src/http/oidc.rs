//! Sign-in with the provider over HTTP: off to it, and back from it. What goes wrong is shown on the sign-in page.

use super::AppState;
use super::access::{self, Presented};
use super::origin;
use super::passkeys::site;
use super::sign_in::own_path;
use axum::Router;
use axum::extract::{Query, Request, State};
use axum::http::header::{CACHE_CONTROL, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use product::identity::{OIDC_CALLBACK, OidcDone, OidcError, OidcReturn};
use serde::Deserialize;

/// How long the browser keeps what it has to come back with, seconds.
pub(super) const COOKIE_SECONDS: u32 = 600;

/// What the sign-in page calls, and where the provider sends people back to.
pub fn router() -> Router<AppState> {
    Router::new().route("/sign-in/oidc", get(begin)).route(OIDC_CALLBACK, get(finish))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Destination {
    to: String,
}

/// Sends the browser to the provider. By GET, because the content security policy lets no form lead to another site.
async fn begin(State(state): State<AppState>, Query(to): Query<Destination>, request: Request) -> Response {
    let encrypted = origin::is_encrypted(&request);
    match state.access.identity.begin_oidc(&site(&state, &request), own_path(&to.to)).await {
        Ok((secret, url)) => {
            see_other(&url, &[access::oidc_cookie(secret.expose(), encrypted, COOKIE_SECONDS)])
        }
        Err(e) => back((e, "/sign-in"), &[]),
    }
}

async fn finish(
    State(state): State<AppState>,
    Query(answer): Query<OidcReturn>,
    request: Request,
) -> Response {
    let (client, encrypted) = (access::client(&request), origin::is_encrypted(&request));
    let secret = access::presented_oidc(request.headers(), encrypted).unwrap_or_default();
    let used_up = access::oidc_cookie("", encrypted, 0);
    let session = match access::presented(request.headers(), encrypted) {
        Some(Presented::Cookie(session)) => Some(session),
        _ => None,
    };
    match state.access.identity.finish_oidc(&secret, &answer, session.as_deref(), &client).await {
        Ok(OidcDone::SignedIn(session, to)) => {
            let session = access::cookie(session.expose(), encrypted, access::COOKIE_SECONDS);
            see_other(own_path(&to), &[session, used_up])
        }
        Ok(OidcDone::Linked(page)) => see_other(&format!("{page}?done=provider_linked.1"), &[used_up]),
        Err(e) => back(e, &[used_up]),
    }
}

/// The page that says what went wrong: a word in the address, so that the code does not stay there.
fn back((e, page): (OidcError, &str), cookies: &[String]) -> Response {
    let key = if page == "/sign-in" { "problem" } else { "link_problem" };
    see_other(&format!("{page}?{key}={}", e.word()), cookies)
}

fn see_other(to: &str, cookies: &[String]) -> Response {
    let Ok(to) = HeaderValue::from_str(to) else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let mut headers = HeaderMap::from_iter([(LOCATION, to)]);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for cookie in cookies.iter().filter_map(|cookie| HeaderValue::from_str(cookie).ok()) {
        headers.append(SET_COOKIE, cookie);
    }
    (StatusCode::SEE_OTHER, headers).into_response()
}
