//! The document around every page, and the addresses. In: the tags the bundler wrote. Out: complete HTML.

use crate::components::frame::PageFrame;
use crate::components::{icon, toast, visitor};
use crate::live;
use crate::pages;
use crate::pages::lazy;
use leptos::prelude::*;
use leptos_meta::{MetaTags, Title, provide_meta_context};
use leptos_router::components::{ParentRoute, Redirect, Route, Router, Routes};
use leptos_router::{Lazy, SsrMode, path};

/// What the caller knows about the browser bundle.
#[derive(Debug, Clone, Default)]
pub struct ShellAssets {
    /// Tags for `<head>`: module script, preloads, stylesheet, icon.
    pub head_html: String,
}

/// Sets the chosen theme before anything is painted. A constant, so that a content security policy can name its hash.
pub const THEME_SCRIPT: &str = "try{var t=localStorage.getItem(\"theme\");\
if(t===\"light\"||t===\"dark\")document.documentElement.dataset.theme=t}catch(e){}";

/// Says on the page that its program stopped: a panic is a trap of WebAssembly, after which nothing responds. Written
/// without the program, which can't be asked any more.
const STOPPED_SCRIPT: &str = r#"{const stop=e=>{
if(!((e.error||e.reason)instanceof WebAssembly.RuntimeError)||document.getElementById("stopped"))return;
(document.querySelector("main")||document.body).insertAdjacentHTML("afterbegin",
'<div class="banner banner-critical" role="alert" id="stopped"><div class="flex-1 min-w-0">'+
'<strong>The page stopped because of an error in it</strong><p>Saved data is not affected. Reload the page to continue.</p>'+
'</div><a class="btn btn-sm end" href="" rel="external">Reload</a></div>')};
addEventListener("error",stop);addEventListener("unhandledrejection",stop)}"#;

/// The address of the script that talks to the browser about passkeys.
pub const PASSKEY_SCRIPT: &str = "/passkey.js";

/// A header for the server alone: the nonce that the scripts of a rendered page carry.
pub const NONCE_HEADER: &str = "x-script-nonce";

/// Gives the page's nonce to its scripts, and tells the server which it is.
#[cfg(feature = "ssr")]
fn with_nonce(head: String) -> String {
    let Some(nonce) = leptos::nonce::use_nonce() else { return head };
    if let Some(response) = use_context::<leptos_axum::ResponseOptions>()
        && let Ok(value) = axum::http::HeaderValue::from_str(&nonce)
    {
        response.insert_header(axum::http::HeaderName::from_static(NONCE_HEADER), value);
    }
    head.replace("<script", &format!("<script nonce=\"{nonce}\""))
}

#[cfg(not(feature = "ssr"))]
fn with_nonce(head: String) -> String {
    head
}

/// The complete document.
pub fn shell(assets: ShellAssets) -> impl IntoView {
    let mut head = assets.head_html;
    let is_embedded = visitor::is_embedded();
    if is_embedded {
        // Links leave the frame: the pages behind them can't be embedded.
        head.insert_str(0, "<base target=\"_blank\">");
    } else {
        head.insert_str(0, &format!("<script src=\"{PASSKEY_SCRIPT}\" defer></script>"));
        head.insert_str(0, &format!("<script>{STOPPED_SCRIPT}</script>"));
    }
    let attribute = |name: &str| {
        visitor::document_attributes().into_iter().find(|(n, _)| *n == name).map(|(_, value)| value)
    };
    // What this browser stored is about our own pages; an embedding site says by address which theme it has.
    let theme_script = (!is_embedded).then(|| view! { <script inner_html=THEME_SCRIPT></script> });
    let head = leptos::tachys::html::InertElement::new(with_nonce(head));
    view! {
        <!DOCTYPE html>
        <html lang="en" data-visitor=attribute("data-visitor") data-embed=attribute("data-embed") data-theme=attribute("data-theme")>
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <meta name="color-scheme" content="light dark"/>
                <meta name="theme-color" content="#f8f9fa" media="(prefers-color-scheme: light)"/>
                <meta name="theme-color" content="#0b0d10" media="(prefers-color-scheme: dark)"/>
                {theme_script}
                {head}
                <MetaTags/>
            </head>
            <body>
                <App/>
            </body>
        </html>
    }
    .into_any()
}

/// The application: what is inside `<body>`.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    toast::provide();
    if visitor::open_tools().is_none() {
        live::provide();
    }
    lazy::prefetch_on_intent();
    // Pages are sent whole: what a browser without JavaScript gets is all there is.
    let ssr = SsrMode::Async;
    view! {
        <icon::Sprite/>
        <Title formatter=|page: String| {
            if page.is_empty() { "Domainscope".to_string() } else { format!("{page} · Domainscope") }
        }/>
        <Router>
            <PageFrame>
                <Routes fallback=pages::not_found::NotFound>
                    <Route path=path!("/") view=|| view! { <Redirect path="/domains"/> } ssr=SsrMode::Async/>
                    <Route path=path!("/domains") view={Lazy::<lazy::Inventory>::new()} ssr=SsrMode::Async/>
                    <Route path=path!("/domains/add") view={Lazy::<lazy::Add>::new()} ssr=SsrMode::Async/>
                    <ParentRoute path=path!("/domains/:name") view={Lazy::<lazy::Domain>::new()} ssr=SsrMode::Async>
                        <Route path=path!("") view={Lazy::<lazy::Overview>::new()} ssr=SsrMode::Async/>
                        <Route path=path!("history") view={Lazy::<lazy::History>::new()} ssr=SsrMode::Async/>
                        <Route path=path!("events") view={Lazy::<lazy::DomainEvents>::new()} ssr=SsrMode::Async/>
                        <Route path=path!("dns") view={Lazy::<lazy::Dns>::new()} ssr=SsrMode::Async/>
                        <Route path=path!("ownership") view={Lazy::<lazy::Ownership>::new()} ssr=SsrMode::Async/>
                        <Route path=path!("configuration") view={Lazy::<lazy::Configuration>::new()} ssr=SsrMode::Async/>
                    </ParentRoute>
                    <Route path=path!("/events") view={Lazy::<lazy::Events>::new()} ssr=SsrMode::Async/>
                    <Route path=path!("/settings") view=|| view! { <Redirect path="/settings/members"/> } ssr=SsrMode::Async/>
                    <Route path=path!("/settings/members") view={Lazy::<lazy::Members>::new()} ssr=SsrMode::Async/>
                    <Route path=path!("/settings/tokens") view={Lazy::<lazy::Tokens>::new()} ssr=SsrMode::Async/>
                    <Route path=path!("/settings/audit") view={Lazy::<lazy::AuditLog>::new()} ssr=SsrMode::Async/>
                    <Route path=path!("/settings/features") view={Lazy::<lazy::Features>::new()} ssr=SsrMode::Async/>
                    <Route path=path!("/settings/organisation") view={Lazy::<lazy::Organisation>::new()} ssr=SsrMode::Async/>
                    <Route path=path!("/settings/account") view={Lazy::<lazy::Account>::new()} ssr=SsrMode::Async/>
                    <Route path=path!("/fleet") view={Lazy::<lazy::Fleet>::new()} ssr=SsrMode::Async/>
                    <Route path=path!("/networks") view={Lazy::<lazy::Networks>::new()} ssr=SsrMode::Async/>
                    <Route path=path!("/settings/notifications") view={Lazy::<lazy::Notifications>::new()} ssr=SsrMode::Async/>
                    <Route path=path!("/tools/scan") view={Lazy::<lazy::Scan>::new()} ssr=SsrMode::Async/>
                    <Route path=path!("/tools/check") view={Lazy::<lazy::Check>::new()} ssr=SsrMode::Async/>
                    <Route path=path!("/tools/compare") view={Lazy::<lazy::Compare>::new()} ssr=SsrMode::Async/>
                    <Route path=path!("/tools/configure") view={Lazy::<lazy::Configure>::new()} ssr=SsrMode::Async/>
                    <Route path=path!("/tools/fqdn") view={Lazy::<lazy::Fqdn>::new()} ssr=SsrMode::Async/>
                    <Route path=path!("/tools/trace") view={Lazy::<lazy::Trace>::new()} ssr=SsrMode::Async/>
                    <Route path=path!("/embed/scan") view={Lazy::<lazy::Scan>::new()} ssr=SsrMode::Async/>
                    <Route path=path!("/embed/check") view={Lazy::<lazy::Check>::new()} ssr=SsrMode::Async/>
                    <Route path=path!("/embed/compare") view={Lazy::<lazy::Compare>::new()} ssr=SsrMode::Async/>
                    <Route path=path!("/embed/fqdn") view={Lazy::<lazy::Fqdn>::new()} ssr=SsrMode::Async/>
                    <Route path=path!("/embed/trace") view={Lazy::<lazy::Trace>::new()} ssr=ssr/>
                </Routes>
            </PageFrame>
        </Router>
        <toast::Toasts/>
    }
    .into_any()
}
