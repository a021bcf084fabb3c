//! The interface: pages, components and server-function signatures. Runs in the server (feature `ssr`) and in the
//! browser (feature `hydrate`).
//!
//! Modules are layers; each uses those above it in this list only, which `tests/layers.rs` checks: `clock`, `query`,
//! `browser` · `browser_dns`, `live` · `navigate` · `server_fns` · `components` · `pages` · `shell`.

// A page is one type made of all its parts.
#![recursion_limit = "512"]

mod browser;
mod browser_dns;
mod clock;
mod components;
mod live;
mod navigate;
mod pages;
mod query;
mod rule_draft;
pub mod server_fns;
mod shell;

pub use browser_dns::ASKING_PAGES;
pub use clock::Clock;
#[cfg(feature = "ssr")]
pub use pages::access::{AccessField, AccessPage, access_document};
#[cfg(feature = "ssr")]
pub use pages::connect::{connect_document, connect_failed_document};
#[cfg(feature = "ssr")]
pub use pages::reference::reference_document;
#[cfg(feature = "ssr")]
pub use query::audit_query;
pub use shell::{App, NONCE_HEADER, PASSKEY_SCRIPT, ShellAssets, THEME_SCRIPT, shell};

/// Attaches to the page the server rendered. Trunk's script calls it once the module is loaded.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen(start)]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    browser_dns::document_loaded();
    leptos::mount::hydrate_body(App);
}
