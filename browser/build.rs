//! The linker keeps its relocations: what takes the program apart (xtask/bindgen) goes by them.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm") {
        println!("cargo::rustc-link-arg-cdylib=--emit-relocs");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
