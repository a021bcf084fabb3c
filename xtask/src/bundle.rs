//! The browser bundle: stylesheet, wasm by Trunk, precompressed files, and a stamp that lets a later call
//! skip all of it while nothing changed. In: app/, browser/, crates/model/, crates/service/, style/, public/. Out: dist/.

use crate::{fingerprint, paths, sh, tools, wasm};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// Everything that the bundle is made of, relative to the root.
const INPUTS: &[&str] = &[
    "app",
    "browser",
    "crates/model",
    "crates/service",
    "style",
    "public",
    "Trunk.toml",
    "Cargo.toml",
    "Cargo.lock",
    "xtask/bindgen",
    "xtask/src/bundle.rs",
    "xtask/src/tools.rs",
    "xtask/src/wasm.rs",
];
/// What rustc's wasm uses today, as in app/index.html.
const WASM_FEATURES: &[&str] = &[
    "--enable-bulk-memory",
    "--enable-nontrapping-float-to-int",
    "--enable-sign-ext",
    "--enable-mutable-globals",
    "--enable-multivalue",
    "--enable-reference-types",
];
/// Written by the build itself.
const OUTPUTS: &[&str] = &["style/out"];

/// The cargo profile of the wasm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// What people download: small.
    Release,
    /// The edit loop and browser tests: built quickly.
    Dev,
}

impl Profile {
    /// The profile's name in Cargo.toml.
    pub fn name(self) -> &'static str {
        match self {
            Self::Release => "wasm-release",
            Self::Dev => "wasm-dev",
        }
    }

    /// The inverse of [`Profile::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Release, Self::Dev].into_iter().find(|profile| profile.name() == name)
    }

    /// A bundle of the release profile serves where a quick one is asked for, not the other way round.
    fn accepts(self) -> &'static [Self] {
        match self {
            Self::Release => &[Self::Release],
            Self::Dev => &[Self::Dev, Self::Release],
        }
    }
}

/// Writes `style/out/app.css`.
pub fn css() -> Result<()> {
    sh::run(sh::command(style_tool(Profile::Dev)?).arg("css"))
}

/// Makes sure that `dist/` holds the bundle of the present sources; true when it had to be built.
pub fn ensure(profile: Profile) -> Result<bool> {
    ensure_beside(profile, || Ok(()))
}

/// The same; when the bundle has to be built, `beside` is called once nothing here needs the folder of native builds
/// any more: what it starts may compile there meanwhile.
pub fn ensure_beside(profile: Profile, beside: impl FnOnce() -> Result<()>) -> Result<bool> {
    let inputs = fingerprint::of(paths::root(), INPUTS, OUTPUTS)?;
    let have = std::fs::read_to_string(stamp_file()).unwrap_or_default();
    let up_to_date = profile.accepts().iter().any(|accepted| have == stamp(*accepted, inputs));
    if up_to_date && paths::dist().join("index.html").exists() {
        return Ok(false);
    }
    build(profile, beside)?;
    std::fs::write(stamp_file(), stamp(profile, inputs)).context("writing the bundle's stamp")?;
    Ok(true)
}

/// The profile of the bundle in `dist/`.
pub fn built() -> Result<Profile> {
    let stamp = std::fs::read_to_string(stamp_file()).context("reading the bundle's stamp")?;
    stamp.split(' ').next().and_then(Profile::from_name).context("the bundle's stamp names no profile")
}

fn stamp(profile: Profile, inputs: u64) -> String {
    format!("{} {inputs:016x}", profile.name())
}

/// Inside dist/, so that deleting the bundle deletes the stamp too.
fn stamp_file() -> PathBuf {
    paths::dist().join(".stamp")
}

fn build(profile: Profile, beside: impl FnOnce() -> Result<()>) -> Result<()> {
    let style = style_tool(profile)?;
    beside()?;
    let toolchain = wasm::toolchain()?;
    tools::ensure_bundler()?;
    let optimise = profile == Profile::Release && tools::ensure_wasm_opt()?;
    sh::timed("generating the stylesheet", || sh::run(sh::command(&style).arg("css")))?;
    let release_std = (profile == Profile::Release).then(|| toolchain.release_std());
    let cost = match profile {
        Profile::Release => "about 6 minutes the first time",
        Profile::Dev => "about 3 minutes the first time",
    };
    sh::timed(&format!("building the browser bundle with {} ({cost})", toolchain.name()), || {
        // Trunk works offline; this is what may use the network (the standard library's crates included,
        // where that is built from source).
        sh::run(toolchain.apply(sh::command("cargo").args(["fetch", "--quiet", "--target", wasm::TARGET])))?;
        // Parts of an earlier build would fit nothing.
        let _ = std::fs::remove_dir_all(parts_folder(optimise));
        let mut trunk = sh::command("trunk");
        match release_std {
            Some(std) => toolchain.apply_release(&mut trunk, std),
            None => toolchain.apply(&mut trunk),
        };
        trunk.args(["build", "--cargo-profile", profile.name(), "--offline=true"]);
        // Trunk calls this switch release; it decides about wasm-opt alone, the profile is ours.
        if optimise {
            trunk.arg("--release");
        }
        // Trunk reads NO_COLOR as a boolean and refuses the usual "1".
        trunk.env_remove("NO_COLOR");
        sh::run(&mut trunk)
    })?;
    sh::timed("adding the parts that are loaded later", || place_parts(&toolchain, optimise))?;
    sh::timed("compressing the bundle", || {
        let mut compress = sh::command(&style);
        compress.arg("compress").arg(paths::dist());
        if profile == Profile::Dev {
            compress.arg("--fast");
        }
        sh::run(&mut compress)
    })?;
    if !paths::dist().join("index.html").exists() {
        bail!("Trunk ended well but left no dist/index.html");
    }
    Ok(())
}

/// Where our wasm-bindgen program leaves the parts.
fn parts_folder(optimise: bool) -> PathBuf {
    paths::target_dir()
        .join("browser/wasm-bindgen")
        .join(if optimise { "release" } else { "debug" })
        .join("parts")
}

/// Puts the parts that our wasm-bindgen program split off beside Trunk's output: each optimised, and the script that
/// loads them, which imports the main module by the name that Trunk gave it.
fn place_parts(toolchain: &wasm::Toolchain, optimise: bool) -> Result<()> {
    let parts = parts_folder(optimise);
    let names = |folder: &Path| -> Result<Vec<String>> {
        let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
        Ok(entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
    };
    let main = names(&paths::dist())?
        .into_iter()
        .find(|name| name.starts_with("domainscope-browser-") && name.ends_with(".js"))
        .context("Trunk left no script in dist/")?;
    for name in names(&parts)?.into_iter().filter(|name| name != "main.wasm") {
        let (from, to) = (parts.join(&name), paths::dist().join(&name));
        if name.ends_with(".js") {
            let text = std::fs::read_to_string(from)?;
            std::fs::write(to, text.replace("./domainscope-browser.js", &format!("./{main}")))?;
        } else if optimise && name.ends_with(".wasm") {
            let mut optimiser = sh::command("wasm-opt");
            toolchain.apply(&mut optimiser);
            optimiser.args(["-Oz", "--strip-debug", "--strip-producers", "--strip-target-features"]);
            sh::run(optimiser.args(WASM_FEATURES).arg(from).arg("-o").arg(to))?;
        } else {
            std::fs::copy(from, to)?;
        }
    }
    Ok(())
}

/// The style crate's program, built. Compression is slow without optimisation, so its crates have it in any profile.
fn style_tool(profile: Profile) -> Result<PathBuf> {
    let mut cargo = sh::cargo();
    cargo.args(["build", "--quiet", "--package", "domainscope-style"]);
    let folder = if profile == Profile::Release {
        cargo.arg("--release");
        "release"
    } else {
        for package in ["brotli", "miniz_oxide"] {
            cargo.arg("--config").arg(format!("profile.dev.package.{package}.opt-level=2"));
        }
        "debug"
    };
    sh::run(&mut cargo)?;
    Ok(paths::binary(folder, "domainscope-style"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_bundle_never_passes_for_the_release_one() {
        assert!(!Profile::Release.accepts().contains(&Profile::Dev));
        assert!(Profile::Dev.accepts().contains(&Profile::Release));
    }

    #[test]
    fn stamps_differ_by_profile_and_by_content() {
        assert_ne!(stamp(Profile::Dev, 1), stamp(Profile::Release, 1));
        assert_ne!(stamp(Profile::Dev, 1), stamp(Profile::Dev, 2));
    }

    #[test]
    fn the_inputs_are_there() {
        for input in [
            "app",
            "browser",
            "crates/model",
            "crates/service",
            "style",
            "Trunk.toml",
            "Cargo.lock",
            "xtask/src/tools.rs",
        ] {
            assert!(INPUTS.contains(&input) && paths::root().join(input).exists(), "{input}");
        }
    }
}
