//! `wasm-bindgen --target=web --out-dir=DIR --out-name=NAME [--no-typescript …] FILE`: the part of the official
//! program's command line that Trunk uses. In: cargo's wasm. Out: a module for the browser and its JavaScript.

use anyhow::{Context, Result, bail};
use wasm_bindgen_cli_support::Bindgen;

/// Trunk asks for the version and goes by it.
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--version" || word == "-V") {
        println!("wasm-bindgen {VERSION}");
        return Ok(());
    }
    let mut bindgen = Bindgen::new();
    // As in the official program.
    bindgen.omit_default_module_path(false);
    let mut folder = None;
    for word in &words {
        if let Some(value) = word.strip_prefix("--out-dir=") {
            folder = Some(value.to_owned());
            continue;
        }
        match word.as_str() {
            "--target=web" => bindgen.web(true)?,
            "--target=no-modules" => bindgen.no_modules(true)?,
            "--no-typescript" => bindgen.typescript(false),
            "--keep-debug" => bindgen.keep_debug(true),
            "--no-demangle" => bindgen.demangle(false),
            other => match other.strip_prefix("--out-name=") {
                Some(name) => bindgen.out_name(name),
                None if other.starts_with('-') => bail!("this wasm-bindgen does not know {other}"),
                None => bindgen.input_path(other),
            },
        };
    }
    bindgen.generate(folder.context("--out-dir is missing")?)
}
