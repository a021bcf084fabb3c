//! The interface: pages, components and server-function signatures. Runs in the server (feature `ssr`) and in the
//! browser (feature `hydrate`).

// A page is one type made of all its parts.
#![recursion_limit = "512"]

pub mod answer;
#[cfg(feature = "ssr")]
pub mod backend;
mod browser;
mod browser_dns;
mod components;
mod live;
mod pages;
mod query;
pub mod server_fns;
mod shell;

pub use browser_dns::ASKING_PAGES;
pub use shell::{App, Clock, ShellAssets, THEME_SCRIPT, shell};

/// Attaches to the page the server rendered. Trunk's script calls it once the module is loaded.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen(start)]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    browser_dns::document_loaded();
    leptos::mount::hydrate_body(App);
}
