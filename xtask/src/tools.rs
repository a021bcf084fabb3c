//! Compiled tools of the browser build, installed once per user into the cache folder: Trunk, the
//! wasm-bindgen program (same version as Cargo.lock) and wasm-opt.

use crate::{fingerprint, paths, sh};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

const TRUNK: &str = "0.21.14";
const BINARYEN: &str = "132.0.0";
const MACHETE: &str = "0.9.2";
const DENY: &str = "0.20.2";

/// Installs what is missing of Trunk and wasm-bindgen.
pub fn ensure_bundler() -> Result<()> {
    let bindgen = locked_version("wasm-bindgen")?;
    let ours = bindgen_version()?;
    if ours != bindgen {
        bail!("xtask/bindgen is for wasm-bindgen {ours}, Cargo.lock has {bindgen}: make the two equal");
    }
    let path = paths::root().join("xtask/bindgen");
    cargo_install(&bindgen_root()?, "wasm-bindgen", &bindgen, "about a minute, once", |install| {
        install.arg("--path").arg(path)
    })?;
    cargo_install(&paths::tools(), "trunk", TRUNK, "about 3 minutes, once", |install| {
        install.args(["trunk", "--version", TRUNK])
    })
}

/// Where the wasm-bindgen program of this clone is installed. It also splits the bundle, so that clones of other commits
/// may have another one of the same version.
pub fn bindgen_root() -> Result<PathBuf> {
    let source = fingerprint::of(paths::root(), &["xtask/bindgen"], &[])?;
    Ok(paths::tools().join(format!("wasm-bindgen-{source:016x}")))
}

/// Installs what tells unused dependencies (machete) and unwanted licences, crates and sources (deny).
pub fn ensure_auditors() -> Result<()> {
    cargo_install(&paths::tools(), "cargo-machete", MACHETE, "half a minute, once", |install| {
        install.args(["cargo-machete", "--version", MACHETE])
    })?;
    cargo_install(&paths::tools(), "cargo-deny", DENY, "about a minute, once", |install| {
        install.args(["cargo-deny", "--version", DENY])
    })
}

/// The version that the small wasm-bindgen program of `xtask/bindgen` is made of.
fn bindgen_version() -> Result<String> {
    let manifest = std::fs::read_to_string(paths::root().join("xtask/bindgen/Cargo.toml"))?;
    let version = manifest.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    version.map(str::to_owned).context("xtask/bindgen/Cargo.toml states no version")
}

/// wasm-opt makes the bundle about four times smaller. Without Node there is none that is new enough, and
/// the bundle is then built without it, which is said.
pub fn ensure_wasm_opt() -> Result<bool> {
    let program = paths::tools().join("bin/wasm-opt");
    let stamp = format!("binaryen {BINARYEN}");
    if program.exists() && stamped(&paths::tools(), "wasm-opt", &stamp) {
        return Ok(true);
    }
    if sh::which("npm").is_none() || sh::which("node").is_none() {
        sh::say(
            "Node.js is missing, so there is no wasm-opt: the bundle will work but be about four times larger",
        );
        sh::say("  Debian: sudo apt-get install nodejs npm     macOS: brew install node");
        return Ok(false);
    }
    sh::timed("fetching wasm-opt (npm package binaryen)", || {
        let folder = paths::tools().join("npm");
        std::fs::create_dir_all(&folder)?;
        std::fs::create_dir_all(paths::tools().join("bin"))?;
        let package = format!("binaryen@{BINARYEN}");
        let mut npm = sh::command("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"])
            .arg(&folder)
            .arg(package);
        sh::output(&mut npm)?;
        let script = folder.join("node_modules/binaryen/bin/wasm-opt");
        link_program(&script, &program)
    })?;
    stamp_it(&paths::tools(), "wasm-opt", &stamp)?;
    Ok(true)
}

#[cfg(unix)]
fn link_program(from: &Path, to: &Path) -> Result<()> {
    let _ = std::fs::remove_file(to);
    std::os::unix::fs::symlink(from, to).with_context(|| format!("linking {}", to.display()))
}

#[cfg(not(unix))]
fn link_program(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to).map(drop).with_context(|| format!("copying {}", to.display()))
}

/// The version of a package in Cargo.lock.
pub fn locked_version(package: &str) -> Result<String> {
    let lock = std::fs::read_to_string(paths::root().join("Cargo.lock")).context("reading Cargo.lock")?;
    version_in_lock(&lock, package).with_context(|| format!("{package} is not in Cargo.lock"))
}

fn version_in_lock(lock: &str, package: &str) -> Option<String> {
    let mut lines = lock.lines().skip_while(|line| *line != format!("name = \"{package}\""));
    lines.next()?;
    let version = lines.next()?.strip_prefix("version = \"")?.strip_suffix('"')?;
    Some(version.to_owned())
}

/// A tool as a debug build: a fifth of the compile time of a release build, and these run for seconds.
fn cargo_install(
    root: &Path,
    program: &str,
    version: &str,
    cost: &str,
    what: impl FnOnce(&mut Command) -> &mut Command,
) -> Result<()> {
    let stamp = format!("{program} {version}");
    let installed = program_in(root, program);
    if installed.exists() && stamped(root, program, &stamp) {
        return Ok(());
    }
    let scratch = paths::cache().join("tools-target");
    sh::timed(&format!("installing {stamp} ({cost})"), || {
        let mut install: Command = sh::command("cargo");
        install.args(["install", "--debug", "--locked", "--quiet", "--force", "--root"]).arg(root);
        what(&mut install)
            .env("CARGO_TARGET_DIR", &scratch)
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_PROFILE_DEV_INCREMENTAL", "false")
            // Elsewhere than the workspace: its settings are not the tool's.
            .current_dir(std::env::temp_dir());
        sh::run(&mut install)
    })?;
    if !installed.exists() {
        bail!("cargo install ended well but left no {program}");
    }
    // What was compiled on the way is of no further use and takes a gigabyte.
    let _ = std::fs::remove_dir_all(scratch);
    stamp_it(root, program, &stamp)
}

/// Where an installed tool stands.
pub fn installed(program: &str) -> PathBuf {
    program_in(&paths::tools(), program)
}

fn program_in(root: &Path, program: &str) -> PathBuf {
    root.join("bin").join(format!("{program}{}", std::env::consts::EXE_SUFFIX))
}

fn stamp_file(root: &Path, program: &str) -> PathBuf {
    root.join(format!("{program}.version"))
}

fn stamped(root: &Path, program: &str, stamp: &str) -> bool {
    std::fs::read_to_string(stamp_file(root, program)).is_ok_and(|have| have.trim() == stamp)
}

fn stamp_it(root: &Path, program: &str, stamp: &str) -> Result<()> {
    std::fs::write(stamp_file(root, program), stamp).context("writing a tool's version stamp")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "[[package]]\nname = \"wasm-bindgen-macro\"\nversion = \"9.9.9\"\n\n[[package]]\nname = \"wasm-bindgen\"\nversion = \"0.2.130\"\n";

    #[test]
    fn the_version_is_that_of_the_exact_package() {
        assert_eq!(version_in_lock(LOCK, "wasm-bindgen").as_deref(), Some("0.2.130"));
        assert_eq!(version_in_lock(LOCK, "wasm"), None);
    }

    #[test]
    fn our_wasm_bindgen_program_is_of_the_locked_version() {
        let locked = locked_version("wasm-bindgen").expect("in Cargo.lock");
        assert_eq!(bindgen_version().expect("in its manifest"), locked);
        let lock =
            std::fs::read_to_string(paths::root().join("xtask/bindgen/Cargo.lock")).expect("is committed");
        assert_eq!(version_in_lock(&lock, "wasm-bindgen-cli-support"), Some(locked));
    }
}
