//! The interface: pages, components and server-function signatures. Runs in the server (feature `ssr`) and in the
//! browser (feature `hydrate`).
//!
//! Modules are layers; each uses those above it in this list only, which `tests/layers.rs` checks: `clock`, `query`,
//! `resource`, `stream`, `browser` · `browser_dns`, `live`, `rule_draft`, `check_draft`, `mute_draft` · `navigate` · `server_fns` · `components` · `pages` · `shell`.

// A page is one type made of all its parts.
#![recursion_limit = "512"]

mod browser;
mod browser_dns;
mod check_draft;
mod clock;
mod components;
mod live;
#[cfg(feature = "ssr")]
mod mute_draft;
mod navigate;
mod pages;
mod query;
mod resource;
mod rule_draft;
pub mod server_fns;
mod shell;
mod stream;

pub use browser_dns::ASKING_PAGES;
pub use check_draft::read_checks;
pub use clock::Clock;
#[cfg(feature = "ssr")]
pub use pages::access::{AccessField, AccessPage, access_document};
#[cfg(feature = "ssr")]
pub use pages::connect::{connect_document, connect_failed_document};
pub use pages::lazy::parts_of;
#[cfg(feature = "ssr")]
pub use pages::object::{NewerObject, OBJECT_SCRIPT, ObjectPage, object_document};
#[cfg(feature = "ssr")]
pub use pages::reference::reference_document;
#[cfg(feature = "ssr")]
pub use query::audit_query;
pub use shell::{App, NONCE_HEADER, PASSKEY_SCRIPT, ShellAssets, THEME_SCRIPT, shell};

/// Attaches to the page the server rendered. Called once the module is loaded.
#[cfg(feature = "hydrate")]
pub fn hydrate() {
    // The bundle that people download has no messages of panics (xtask/src/wasm.rs).
    #[cfg(debug_assertions)]
    console_error_panic_hook::set_once();
    browser_dns::document_loaded();
    wasm_bindgen_futures::spawn_local(async {
        leptos::mount::hydrate_from_async(leptos::tachys::dom::body(), App).await.forget();
        pages::lazy::hydration_complete();
    });
}
