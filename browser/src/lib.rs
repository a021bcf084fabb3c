//! The program of the browser: the interface, attached to the page the server rendered.

/// Trunk's script calls it once the module is loaded.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen(start)]
pub fn start() {
    app::hydrate();
}
