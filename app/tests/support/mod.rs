//! A small backend for rendering pages in tests and pictures: model values in, pages out.

#![allow(dead_code, missing_docs, clippy::unwrap_used)]

pub mod accounts;
pub mod alerts;
pub mod backend;
pub mod check;
pub mod claims;
pub mod compare;
pub mod configure;
pub mod events;
pub mod features;
pub mod fleet;
pub mod fqdn;
pub mod history;
pub mod inventory;
pub mod legion;
pub mod numbers;
pub mod trace;
pub mod world;

use app::{App, Clock, ShellAssets, shell};
use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use backend::Sample;
use leptos::prelude::{LeptosOptions, provide_context};
use leptos_axum::{AxumRouteListing, LeptosRoutes, generate_route_list};
use model::Timestamp;
use model::ids::{Caller, OrgId, Role};
use service::SharedBackend;
use std::sync::{Arc, LazyLock};
use tower::ServiceExt;

/// The moment every picture shows.
pub fn now() -> Timestamp {
    "2026-11-20T14:05:00Z".parse().unwrap()
}

pub fn caller() -> Caller {
    let user = Some(model::ids::UserId("mira".into()));
    Caller { user, ..Caller::new(OrgId::BUILT_IN, "Mira Holt", Role::Owner) }
}

/// The application as a server mounts it: pages, and server functions under /api/fn/.
pub fn router(sample: Sample, head_html: &str) -> Router {
    router_as(caller(), sample, head_html)
}

/// The same for someone else.
pub fn router_as(caller: Caller, sample: Sample, head_html: &str) -> Router {
    let backend: SharedBackend = Arc::new(sample);
    let context = move || {
        provide_context(backend.clone());
        provide_context(caller.clone());
        provide_context(Clock(now));
    };
    let assets = ShellAssets { head_html: head_html.to_string() };
    let functions = {
        let context = context.clone();
        move |request: Request<Body>| leptos_axum::handle_server_fns_with_context(context.clone(), request)
    };
    let options = LeptosOptions::builder().output_name("app").build();
    // While addresses are listed no resource loads, in the whole process: once, before any page is rendered.
    static ROUTES: LazyLock<Vec<AxumRouteListing>> = LazyLock::new(|| generate_route_list(App));
    let routes = ROUTES.clone();
    assert!(routes.len() >= 10, "{} addresses", routes.len());
    let pages = {
        let assets = assets.clone();
        move || shell(assets.clone())
    };
    Router::new()
        .route("/api/fn/{*name}", axum::routing::any(functions))
        .leptos_routes_with_context(&options, routes, context.clone(), pages)
        .fallback(leptos_axum::render_app_async_with_context(context, move || shell(assets.clone())))
        .with_state(options)
}

pub async fn send(router: &Router, request: Request<Body>) -> Response<Body> {
    router.clone().oneshot(request).await.unwrap()
}

pub async fn body(response: Response<Body>) -> String {
    let bytes = axum::body::to_bytes(response.into_body(), 16 << 20).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A page as a browser without JavaScript gets it.
pub async fn page(router: &Router, url: &str) -> (u16, String) {
    let request = Request::get(url).header("accept", "text/html").body(Body::empty()).unwrap();
    let response = send(router, request).await;
    (response.status().as_u16(), body(response).await)
}

/// What a person reads of a page: tags and scripts left out, white space folded.
pub fn text(html: &str) -> String {
    let mut out = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(close) = ["script", "style", "symbol"]
            .iter()
            .find(|t| rest[1..].starts_with(**t))
            .and_then(|t| rest.find(&format!("</{t}>")))
        {
            rest = &rest[close..];
        } else if rest.starts_with("<!--") {
            rest = rest.find("-->").map_or("", |i| &rest[i + 3..]);
            continue;
        }
        out.push(' ');
        rest = rest.find('>').map_or("", |i| &rest[i + 1..]);
    }
    out.push_str(rest);
    let out = out.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The sample installation.
pub fn story() -> Router {
    router(Sample::story(), "<meta name=\"bundle\" content=\"tags\">")
}

/// Posts a form as a browser without JavaScript does; the address it is led to.
pub async fn post(r: &Router, function: &str, form: &str, from: &str) -> String {
    let request = Request::post(format!("/api/fn/{function}"))
        .header("accept", "text/html,application/xhtml+xml")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("referer", from)
        .body(Body::from(form.to_string()))
        .expect("a request");
    let response = send(r, request).await;
    assert_eq!(response.status().as_u16(), 302);
    response.headers()["location"].to_str().expect("text").to_string()
}

/// The words of a page that must be there.
pub async fn read(router: &Router, url: &str) -> String {
    let (status, html) = page(router, url).await;
    assert_eq!(status, 200, "{url}");
    text(&html)
}

/// Fails, with the text, when a word is missing.
#[track_caller]
pub fn says(text: &str, words: &[&str]) {
    for w in words {
        assert!(text.contains(w), "“{w}” is not in: {text}");
    }
}
