//! `domainscope-style css | check | compress DIR [--fast]`: called by `cargo xtask`.

use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["css"] => css(root),
        ["check"] => check(root),
        ["compress", folder] => compress(folder, style::compress::Effort::Most),
        ["compress", folder, "--fast"] => compress(folder, style::compress::Effort::Little),
        _ => bail!("usage: domainscope-style css | check | compress DIR [--fast]"),
    }
}

fn css(root: &Path) -> Result<()> {
    let sheet = style::build(root)?;
    let folder = root.join("style/out");
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("app.css");
    std::fs::write(&file, &sheet.css).with_context(|| format!("writing {}", file.display()))?;
    println!("style/out/app.css: {} bytes, {} utilities", sheet.css.len(), sheet.utilities);
    Ok(())
}

fn check(root: &Path) -> Result<()> {
    let sheet = style::build(root)?;
    for one in &sheet.unknown {
        println!("{one}");
    }
    if !sheet.unknown.is_empty() {
        bail!(
            "{} uses of classes that have no CSS: define them in style/components.css, or spell the utility as encre-css knows it",
            sheet.unknown.len()
        );
    }
    println!("{} classes used, {} of them utilities, every one has CSS", sheet.used, sheet.utilities);
    Ok(())
}

fn compress(folder: &str, effort: style::compress::Effort) -> Result<()> {
    for file in style::compress::folder(Path::new(folder), effort)? {
        println!("{file}");
    }
    Ok(())
}
