//! `wasm-bindgen --target=web --out-dir=DIR --out-name=NAME [--no-typescript …] FILE`: the part of the official
//! program's command line that Trunk uses. In: cargo's wasm. Out: a module for the browser and its JavaScript, and in
//! `DIR/parts` what is loaded later (`pages/lazy.rs` of the app says what that is).

use anyhow::{Context, Result, anyhow, bail};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
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
    let mut input = None;
    let mut name = "";
    for word in &words {
        if let Some(value) = word.strip_prefix("--out-dir=") {
            folder = Some(Path::new(value));
            continue;
        }
        match word.as_str() {
            "--target=web" => {
                bindgen.web(true)?;
            }
            "--no-typescript" => {
                bindgen.typescript(false);
            }
            "--debug" => {
                bindgen.debug(true);
            }
            "--keep-debug" => {
                bindgen.keep_debug(true);
            }
            "--no-demangle" => {
                bindgen.demangle(false);
            }
            other => match other.strip_prefix("--out-name=") {
                Some(given) => {
                    name = given;
                    bindgen.out_name(given);
                }
                None if other.starts_with('-') => bail!("this wasm-bindgen does not know {other}"),
                None => input = Some(other),
            },
        }
    }
    let folder = folder.context("--out-dir is missing")?;
    let input = input.context("no file was named")?;
    let main = split(input, &folder.join("parts"), name)?;
    // The parts refer to names and exports of the main module.
    bindgen.input_path(main).keep_lld_exports(true).demangle(false).remove_name_section(true);
    bindgen.generate(folder)
}

/// Splits the program into `parts`. Out: the main module, for wasm-bindgen. Names carry a hash of the whole program,
/// because parts of two builds do not fit each other. `parts.txt` lists them: the script that loads them, then a line
/// for each part, `NAME: FILE FILE …`.
fn split(input: &str, parts: &Path, name: &str) -> Result<PathBuf> {
    let program = std::fs::read(input).with_context(|| input.to_owned())?;
    if !program.windows(10).any(|window| window == b"reloc.CODE") {
        bail!("{input} has no relocations (--emit-relocs), without which it can't be split");
    }
    if parts.exists() {
        std::fs::remove_dir_all(parts)?;
    }
    let mut hasher = DefaultHasher::new();
    hasher.write(&program);
    let hash = format!("{:016x}", hasher.finish());
    let main = parts.join("main.wasm");
    let script = format!("./parts-{hash}.js");
    // xtask writes Trunk's name of it into the script.
    let module = format!("./{name}.js");
    let mut options = wasm_split_cli_support::Options::new(&program);
    options.output_dir = parts;
    options.main_out_path = &main;
    options.link_name = &script;
    options.main_module = &module;
    let made = wasm_split_cli_support::transform(options).map_err(|error| anyhow!("{error:?}"))?;
    let mut text = std::fs::read_to_string(parts.join(&script))?;
    for part in &made.split_modules {
        let stem = part.file_stem().and_then(|stem| stem.to_str()).context("a part without a name")?;
        text = text.replace(&format!("\"./{stem}.wasm\""), &format!("\"./{stem}-{hash}.wasm\""));
        std::fs::rename(part, parts.join(format!("{stem}-{hash}.wasm")))?;
    }
    std::fs::write(parts.join(&script), text)?;
    let mut list = format!("{}\n", &script[2..]);
    for (part, files) in made.prefetch_map.into_iter().collect::<BTreeMap<_, _>>() {
        let files: Vec<_> = files.iter().map(|file| format!("{file}-{hash}.wasm")).collect();
        writeln!(list, "{part}: {}", files.join(" "))?;
    }
    std::fs::write(parts.join("parts.txt"), list)?;
    Ok(main)
}
