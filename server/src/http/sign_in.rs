//! The forms in front of the product: sign-in and -out, and the links that work once. Each answers with a page or with
//! a redirection and a cookie. Secrets travel in form bodies and cookies; a link's secret is in its address once.

mod forms;

use super::AppState;
use super::access::{self, Presented};
use super::origin;
use app::{AccessPage, access_document};
use axum::Form;
use axum::extract::{FromRequest as _, Query, Request, State};
use axum::http::header::{CACHE_CONTROL, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use forms::{BACK, forgot_form, link_form, no_mail, not_set_up, notice, sign_in_form};
use product::identity::{Attempt, Client, NewPerson, OidcError, SignInError};
use serde::Deserialize;

/// The page after sign-in when no other was requested.
const HOME: &str = "/domains";

/// Query of the pages.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Asked {
    key: String,
    to: String,
    problem: String,
}

/// Fields of all forms; each uses its own.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Fields {
    key: String,
    to: String,
    name: String,
    organisation: String,
    email: String,
    password: String,
    code: String,
    org: String,
}

/// `GET /sign-in`.
pub async fn sign_in_page(State(state): State<AppState>, Query(asked): Query<Asked>) -> Response {
    match state.access.identity.is_set_up().await {
        Ok(true) => {
            let form = sign_in_form(&state, &asked.to, "", false, None);
            let mut form = AccessPage { open_tools: state.services.open_tools(), ..form };
            if let Some((_, _, problem)) = &mut form.provider {
                *problem = OidcError::from_word(&asked.problem).map(|e| e.to_string());
            }
            show(&state, StatusCode::OK, &form)
        }
        Ok(false) => show(&state, StatusCode::OK, &not_set_up()),
        Err(e) => show(
            &state,
            StatusCode::SERVICE_UNAVAILABLE,
            &notice("Sign in", &SignInError::from(e).to_string()),
        ),
    }
}

/// `POST /sign-in`.
pub async fn sign_in(State(state): State<AppState>, request: Request) -> Response {
    let (client, encrypted, fields) = match read(request).await {
        Ok(read) => read,
        Err(refused) => return refused,
    };
    let attempt = Attempt { email: fields.email, password: fields.password, code: fields.code };
    match state.access.identity.sign_in(&attempt, &client).await {
        Ok(secret) => enter(secret.expose(), encrypted, &fields.to),
        Err(e) => {
            let status = StatusCode::from_u16(e.status()).unwrap_or(StatusCode::UNAUTHORIZED);
            // The password is typed again with the code: it is never sent back to the browser.
            let wants_code = matches!(e, SignInError::CodeNeeded | SignInError::WrongCode);
            let form = sign_in_form(&state, &fields.to, &attempt.email, wants_code, Some(e.to_string()));
            show(&state, status, &form)
        }
    }
}

/// `POST /sign-out`.
pub async fn sign_out(State(state): State<AppState>, request: Request) -> Response {
    if origin::is_cross_site(request.method(), request.headers()) {
        return origin::cross_site_refusal();
    }
    let (client, encrypted) = (access::client(&request), origin::is_encrypted(&request));
    if let Some(Presented::Cookie(secret)) = access::presented(request.headers(), encrypted)
        && let Err(e) = state.access.identity.sign_out(&secret, &client).await
    {
        tracing::warn!(error = %e, "a session was not ended");
        let words = "You are still signed in: the database did not respond. Try again in a moment.";
        return show(&state, StatusCode::SERVICE_UNAVAILABLE, &notice("Sign out", words));
    }
    let gone = access::cookie("", encrypted, 0);
    see_other("/sign-in", Some(gone))
}

/// `POST /switch-organisation`.
pub async fn switch_org(State(state): State<AppState>, request: Request) -> Response {
    let presented = access::presented(request.headers(), origin::is_encrypted(&request));
    let (secret, is_program) = match presented {
        Some(Presented::Cookie(secret)) => (Some(secret), false),
        presented => (None, presented.is_some()),
    };
    let visitor = state.access.demo.clone().filter(|_| !is_program && origin::is_local(&request));
    let (client, encrypted, fields) = match read(request).await {
        Ok(read) => read,
        Err(refused) => return refused,
    };
    let identity = &state.access.identity;
    let unavailable = |e: store::Error| {
        let words = SignInError::from(e).to_string();
        show(&state, StatusCode::SERVICE_UNAVAILABLE, &notice("Switch organisation", &words))
    };
    // A session that has ended counts for nothing, as on every page.
    let session = match secret {
        Some(secret) => match identity.caller(&secret).await {
            Ok(caller) => caller.map(|_| secret),
            Err(e) => return unavailable(e),
        },
        None => None,
    };
    let (secret, cookie) = match (session, visitor) {
        (Some(secret), _) => (secret, None),
        // The organisation one acts in belongs to a session, and a demo's visitor has none.
        (_, Some(email)) => match identity.demo_session(&email, &client).await {
            Ok(secret) => {
                let cookie = access::cookie(secret.expose(), encrypted, access::COOKIE_SECONDS);
                (secret.expose().to_string(), Some(cookie))
            }
            Err(e) => {
                let status = StatusCode::from_u16(e.status()).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
                return show(&state, status, &notice("Switch organisation", &e.detail));
            }
        },
        _ => return see_other("/sign-in", None),
    };
    match identity.switch_org(&secret, &fields.org).await {
        Ok(true) => see_other(HOME, cookie),
        Ok(false) => {
            let words = "You are not a member of this organisation any more.";
            show(&state, StatusCode::FORBIDDEN, &notice("Switch organisation", words))
        }
        Err(e) => unavailable(e),
    }
}

/// `GET /setup`, `/invite`, `/reset`: what a link is for.
pub async fn link_page(State(state): State<AppState>, Query(asked): Query<Asked>) -> Response {
    match state.access.identity.open_link(&asked.key).await {
        Ok(view) => show(&state, StatusCode::OK, &link_form(&view, &asked.key, &NewPerson::default(), None)),
        Err(e) => {
            let status = StatusCode::from_u16(e.status()).unwrap_or(StatusCode::FORBIDDEN);
            show(&state, status, &notice("This link does not work", &e.detail))
        }
    }
}

/// `POST /accept`: carries out what a link is for.
pub async fn accept(State(state): State<AppState>, request: Request) -> Response {
    let (client, encrypted, fields) = match read(request).await {
        Ok(read) => read,
        Err(refused) => return refused,
    };
    let person = NewPerson {
        name: fields.name,
        email: fields.email,
        password: fields.password,
        code: fields.code,
        organisation: fields.organisation,
    };
    match state.access.identity.accept(&fields.key, &person, &client).await {
        Ok(secret) => enter(secret.expose(), encrypted, HOME),
        Err(e) => {
            let status = StatusCode::from_u16(e.status()).unwrap_or(StatusCode::BAD_REQUEST);
            match state.access.identity.open_link(&fields.key).await {
                Ok(view) => show(&state, status, &link_form(&view, &fields.key, &person, Some(e.detail))),
                Err(gone) => show(&state, status, &notice("This link does not work", &gone.detail)),
            }
        }
    }
}

/// `GET /forgot-password`.
pub async fn forgot_page(State(state): State<AppState>) -> Response {
    if state.services.sends_resets() {
        return show(&state, StatusCode::OK, &forgot_form("", None));
    }
    show(&state, StatusCode::OK, &no_mail())
}

/// `POST /forgot-password`: says the same whether the account exists or not.
pub async fn forgot(State(state): State<AppState>, request: Request) -> Response {
    let (client, _, fields) = match read(request).await {
        Ok(read) => read,
        Err(refused) => return refused,
    };
    if !state.services.sends_resets() {
        return show(&state, StatusCode::OK, &no_mail());
    }
    match state.services.request_reset(&fields.email, &client).await {
        Ok(()) => {
            let words = "If this address has an account with a password, a link to set a new one is on its way. \
                         It works once, for one hour.";
            let page = AccessPage { link: Some(BACK), ..notice("Check your mail", words) };
            show(&state, StatusCode::OK, &page)
        }
        Err(e) => {
            let status = StatusCode::from_u16(e.status()).unwrap_or(StatusCode::TOO_MANY_REQUESTS);
            show(&state, status, &forgot_form(&fields.email, Some(e.to_string())))
        }
    }
}

/// The client, whether the request came encrypted, and the form.
async fn read(request: Request) -> Result<(Client, bool, Fields), Response> {
    if origin::is_cross_site(request.method(), request.headers()) {
        return Err(origin::cross_site_refusal());
    }
    let (client, encrypted) = (access::client(&request), origin::is_encrypted(&request));
    let Form(fields) =
        Form::<Fields>::from_request(request, &()).await.map_err(IntoResponse::into_response)?;
    Ok((client, encrypted, fields))
}

fn show(state: &AppState, status: StatusCode, page: &AccessPage) -> Response {
    let html = access_document(state.bundle.style_tags(), page);
    (status, [(CACHE_CONTROL, HeaderValue::from_static("no-store"))], Html(html)).into_response()
}

fn enter(secret: &str, encrypted: bool, to: &str) -> Response {
    see_other(own_path(to), Some(access::cookie(secret, encrypted, access::COOKIE_SECONDS)))
}

fn see_other(to: &str, cookie: Option<String>) -> Response {
    let mut headers = HeaderMap::new();
    headers.insert(LOCATION, HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static(HOME)));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(value) = cookie.and_then(|cookie| HeaderValue::from_str(&cookie).ok()) {
        headers.insert(SET_COOKIE, value);
    }
    (StatusCode::SEE_OTHER, headers).into_response()
}

/// A path of this server; never another site's address, which `//host`, `/\host` or a tab in it would be to a browser.
pub(super) fn own_path(to: &str) -> &str {
    let is_own = to.starts_with('/')
        && !to.starts_with("//")
        && !to.chars().any(|c| c == '\\' || c.is_control())
        && !["/sign-", "/accept", "/api/"].iter().any(|taken| to.starts_with(taken));
    if is_own { to } else { HOME }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_to_another_site() {
        for own in ["/domains?q=a", "/domains/q7.io/dns"] {
            assert_eq!(own_path(own), own);
        }
        for foreign in
            ["", "https://evil.example", "//evil.example", "/\\evil.example", "/\t/evil.example", "/sign-in"]
        {
            assert_eq!(own_path(foreign), HOME, "{foreign:?}");
        }
    }
}
