//! Which compiler builds the browser part. Two cases: the normal toolchain with its wasm target (rustup),
//! or Debian's `rustc-web` with the standard library built from source, for machines that cannot reach
//! a rustup server. The choice and its environment are made here and nowhere else.

use crate::sh;
use crate::{packages, paths, tools};
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the browser runs.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// The way this machine can compile to wasm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Toolchain {
    /// The toolchain that builds everything else has the target.
    Native,
    /// Debian's compiler in `/usr/bin`, with its own standard library source and this linker.
    Debian {
        /// `wasm-ld-NN`.
        linker: String,
    },
}

impl Toolchain {
    /// Sets the variables of this case on one child; nothing leaks into other builds.
    pub fn apply<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        // A folder of its own: no lock shared with native builds, no thrash between two compilers.
        command.env("CARGO_TARGET_DIR", paths::target_dir().join("browser"));
        let bindgen = tools::bindgen_root().map(|root| root.join("bin"));
        let mut path: Vec<PathBuf> = bindgen.into_iter().chain([paths::tools().join("bin")]).collect();
        if let Self::Debian { linker } = self {
            path.push(PathBuf::from("/usr/bin"));
            command
                .env("RUSTC", "/usr/bin/rustc")
                .env("RUSTC_BOOTSTRAP", "1")
                .env("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort")
                .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker)
                .env_remove("RUSTUP_TOOLCHAIN")
                .env_remove("RUSTFLAGS");
        }
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        path.extend(std::env::split_paths(&inherited));
        if let Ok(joined) = std::env::join_paths(path) {
            command.env("PATH", joined);
        }
        command
    }

    /// For stamps and messages.
    pub fn name(&self) -> &str {
        match self {
            Self::Native => "the toolchain's wasm target",
            Self::Debian { .. } => "Debian's rustc-web",
        }
    }
}

/// Finds a way, installing what is missing where that is possible.
/// `DOMAINSCOPE_WASM=debian` skips the first two attempts.
pub fn toolchain() -> Result<Toolchain> {
    let forced_debian = std::env::var("DOMAINSCOPE_WASM").is_ok_and(|value| value == "debian");
    if !forced_debian {
        if native_has_target() {
            return Ok(Toolchain::Native);
        }
        if sh::which("rustup").is_some() {
            sh::say("adding the wasm target to the Rust toolchain");
            let added = sh::output(sh::command("rustup").args(["target", "add", TARGET]));
            match added {
                Ok(_) if native_has_target() => return Ok(Toolchain::Native),
                Ok(_) => {}
                Err(error) => sh::say(&format!("  not possible here ({error}); trying Debian's compiler")),
            }
        }
    }
    if let Some(found) = debian() {
        return Ok(found);
    }
    packages::install(&["rustc-web", "cargo-web", "rust-web-src", "lld-22"]);
    match debian() {
        Some(found) => Ok(found),
        None => bail!(
            "the compiler for the browser part is missing. Either of these gets it:\n  \
             rustup target add {TARGET}\n  \
             sudo apt-get install --no-install-recommends rustc-web cargo-web rust-web-src lld-22   (Debian)"
        ),
    }
}

fn native_has_target() -> bool {
    let asked = sh::output(sh::command("rustc").args(["--print", "target-libdir", "--target", TARGET]));
    asked.is_ok_and(|folder| {
        std::fs::read_dir(folder.trim()).is_ok_and(|entries| {
            entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-"))
        })
    })
}

fn debian() -> Option<Toolchain> {
    if !Path::new("/usr/bin/rustc").exists() || !Path::new("/usr/bin/cargo").exists() {
        return None;
    }
    let sysroot = sh::output(sh::command("/usr/bin/rustc").args(["--print", "sysroot"])).ok()?;
    let source = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/std/Cargo.toml");
    if !source.exists() {
        return None;
    }
    let linker = std::fs::read_dir("/usr/bin")
        .ok()?
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let version: u32 = name.strip_prefix("wasm-ld-")?.parse().ok()?;
            Some((version, name))
        })
        .max()?
        .1;
    Some(Toolchain::Debian { linker })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(toolchain: &Toolchain) -> Vec<String> {
        let mut command = Command::new("cargo");
        toolchain.apply(&mut command);
        command
            .get_envs()
            .filter(|(_, value)| value.is_some())
            .map(|(name, _)| name.to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn the_normal_toolchain_is_not_given_nightly_switches() {
        let set = variables(&Toolchain::Native);
        assert!(!set.iter().any(|name| name.contains("BOOTSTRAP") || name.contains("BUILD_STD")));
    }

    #[test]
    fn debian_gets_all_four_and_its_own_target_folder() {
        let linker = "wasm-ld-22".to_owned();
        let set = variables(&Toolchain::Debian { linker });
        for name in [
            "RUSTC",
            "RUSTC_BOOTSTRAP",
            "CARGO_UNSTABLE_BUILD_STD",
            "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER",
            "CARGO_TARGET_DIR",
        ] {
            assert!(set.iter().any(|have| have == name), "{name} is not set");
        }
    }
}
