//! The document around every page, and the addresses. In: the tags the bundler wrote. Out: complete HTML.

use crate::components::frame::PageFrame;
use crate::components::{icon, toast};
use crate::live;
use crate::pages;
use leptos::prelude::*;
use leptos_meta::{MetaTags, Title, provide_meta_context};
use leptos_router::components::{ParentRoute, Redirect, Route, Router, Routes};
use leptos_router::{SsrMode, path};

/// What the caller knows about the browser bundle.
#[derive(Debug, Clone, Default)]
pub struct ShellAssets {
    /// Tags for `<head>`: module script, preloads, stylesheet, icon.
    pub head_html: String,
}

/// Sets the chosen theme before anything is painted. A constant, so that a content security policy can name its hash.
pub const THEME_SCRIPT: &str = "try{var t=localStorage.getItem(\"theme\");\
if(t===\"light\"||t===\"dark\")document.documentElement.dataset.theme=t}catch(e){}";

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
    head.insert_str(0, &format!("<script src=\"{PASSKEY_SCRIPT}\" defer></script>"));
    let head = leptos::tachys::html::InertElement::new(with_nonce(head));
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <meta name="color-scheme" content="light dark"/>
                <meta name="theme-color" content="#f8f9fa" media="(prefers-color-scheme: light)"/>
                <meta name="theme-color" content="#0b0d10" media="(prefers-color-scheme: dark)"/>
                <script inner_html=THEME_SCRIPT></script>
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
    live::provide();
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
                    <Route path=path!("/domains") view=pages::inventory::InventoryPage ssr=SsrMode::Async/>
                    <Route path=path!("/domains/add") view=pages::inventory::add::AddPage ssr=SsrMode::Async/>
                    <ParentRoute path=path!("/domains/:name") view=pages::domain::DomainPage ssr=SsrMode::Async>
                        <Route path=path!("") view=pages::domain::overview::OverviewTab ssr=SsrMode::Async/>
                        <Route path=path!("history") view=pages::domain::history::HistoryTab ssr=SsrMode::Async/>
                        <Route path=path!("events") view=pages::domain::events::EventsTab ssr=SsrMode::Async/>
                        <Route path=path!("dns") view=pages::domain::dns::DnsTab ssr=SsrMode::Async/>
                        <Route path=path!("ownership") view=pages::domain::ownership::OwnershipTab ssr=SsrMode::Async/>
                        <Route path=path!("configuration") view=pages::domain::configuration::ConfigurationTab ssr=SsrMode::Async/>
                    </ParentRoute>
                    <Route path=path!("/events") view=pages::events::EventsPage ssr=SsrMode::Async/>
                    <Route path=path!("/settings") view=|| view! { <Redirect path="/settings/members"/> } ssr=SsrMode::Async/>
                    <Route path=path!("/settings/members") view=pages::settings::members::MembersPage ssr=SsrMode::Async/>
                    <Route path=path!("/settings/tokens") view=pages::settings::tokens::TokensPage ssr=SsrMode::Async/>
                    <Route path=path!("/settings/audit") view=pages::settings::audit::AuditLogPage ssr=SsrMode::Async/>
                    <Route path=path!("/settings/organisation") view=pages::settings::organisation::OrganisationPage ssr=SsrMode::Async/>
                    <Route path=path!("/settings/features") view=pages::settings::features::FeaturesPage ssr=SsrMode::Async/>
                    <Route path=path!("/settings/account") view=pages::settings::account::AccountPage ssr=SsrMode::Async/>
                    <Route path=path!("/fleet") view=pages::fleet::FleetPage ssr=SsrMode::Async/>
                    <Route path=path!("/networks") view=pages::networks::NetworksPage ssr=SsrMode::Async/>
                    <Route path=path!("/settings/notifications") view=pages::notifications::NotificationsPage ssr=SsrMode::Async/>
                    <Route path=path!("/tools/scan") view=pages::scan::ScanPage ssr=SsrMode::Async/>
                    <Route path=path!("/tools/check") view=pages::check::CheckPage ssr=SsrMode::Async/>
                    <Route path=path!("/tools/compare") view=pages::compare::ComparePage ssr=SsrMode::Async/>
                    <Route path=path!("/tools/configure") view=pages::configure::ConfigurePage ssr=SsrMode::Async/>
                    <Route path=path!("/tools/fqdn") view=pages::fqdn::FqdnPage ssr=SsrMode::Async/>
                    <Route path=path!("/tools/trace") view=pages::trace::TracePage ssr=ssr/>
                </Routes>
            </PageFrame>
        </Router>
        <toast::Toasts/>
    }
    .into_any()
}
