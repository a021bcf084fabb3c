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
/// `{:?}` writes nothing, and a panic names no line, in the bundle that people download. These flags replace those of
/// .cargo/config.toml.
const RELEASE_FLAGS: &str = "--cfg erase_components -Zfmt-debug=none -Zlocation-detail=none";
/// A panic is a trap at once, without the code that formats its message. It needs a standard library of the same kind.
const NO_PANIC_MESSAGES: &str = "-Zunstable-options -Cpanic=immediate-abort";
/// A small package of Cargo.lock: building it builds the standard library.
const PROBE: &str = "itoa";

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

    /// The same for the bundle that people download, with the standard library built for size where `std` says so.
    pub fn apply_release<'a>(&self, command: &'a mut Command, std: Std) -> &'a mut Command {
        // The switches are unstable, hence the first variable.
        self.apply(command).env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", RELEASE_FLAGS);
        if std == Std::FromSource {
            command
                .env("RUSTFLAGS", format!("{RELEASE_FLAGS} {NO_PANIC_MESSAGES}"))
                .env("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort")
                .env("CARGO_UNSTABLE_BUILD_STD_FEATURES", "optimize_for_size");
        }
        command
    }

    /// Builds the standard library for the release bundle, which the bundle's build then finds. The switches change from
    /// one compiler to the next, so whatever fails here is said, and the bundle gets the library that came with the compiler.
    pub fn release_std(&self) -> Std {
        sh::timed("building the standard library for size", || self.build_std()).map_or_else(
            |error| {
                sh::say(&format!("  not possible here ({error:#})"));
                sh::say("  the bundle will work but be about a tenth larger");
                Std::Prebuilt
            },
            |()| Std::FromSource,
        )
    }

    fn build_std(&self) -> Result<()> {
        if *self == Self::Native && !has_source("rustc") {
            sh::output(sh::command("rustup").args(["component", "add", "rust-src"]))?;
        }
        let run = |words: &[&str]| {
            sh::output(self.apply_release(sh::command("cargo").args(words), Std::FromSource)).map(drop)
        };
        run(&["fetch", "--quiet", "--target", TARGET])?;
        run(&[
            "build",
            "--quiet",
            "--offline",
            "--target",
            TARGET,
            "--profile",
            "wasm-release",
            "--package",
            PROBE,
        ])
    }

    /// For stamps and messages.
    pub fn name(&self) -> &str {
        match self {
            Self::Native => "the toolchain's wasm target",
            Self::Debian { .. } => "Debian's rustc-web",
        }
    }
}

/// Where the standard library of the release bundle comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Std {
    /// It came with the compiler: built for speed, with the texts of its panics.
    Prebuilt,
    /// Built for size with the bundle.
    FromSource,
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

/// Whether the source of the standard library lies beside this compiler.
fn has_source(rustc: &str) -> bool {
    let sysroot = sh::output(sh::command(rustc).args(["--print", "sysroot"]));
    sysroot.is_ok_and(|folder| {
        Path::new(folder.trim()).join("lib/rustlib/src/rust/library/std/Cargo.toml").exists()
    })
}

fn debian() -> Option<Toolchain> {
    if !Path::new("/usr/bin/cargo").exists() || !has_source("/usr/bin/rustc") {
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
    fn a_prebuilt_library_is_never_mixed_with_panics_of_another_kind() {
        let of = |std| {
            let mut command = Command::new("cargo");
            Toolchain::Native.apply_release(&mut command, std);
            let set: Vec<_> = command
                .get_envs()
                .map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)))
                .collect();
            let value =
                |name: &str| set.iter().find(|(have, _)| have == name).and_then(|(_, value)| value.clone());
            (value("RUSTFLAGS").expect("flags"), value("CARGO_UNSTABLE_BUILD_STD"))
        };
        let (flags, std) = of(Std::Prebuilt);
        assert!(flags == RELEASE_FLAGS && std.is_none());
        let (flags, std) = of(Std::FromSource);
        assert!(flags.to_string_lossy().ends_with(NO_PANIC_MESSAGES) && std.is_some());
    }

    #[test]
    fn the_package_that_brings_the_library_is_in_the_lock_file_once() {
        let lock = std::fs::read_to_string(paths::root().join("Cargo.lock")).expect("is committed");
        assert_eq!(lock.matches(&format!("\nname = \"{PROBE}\"\n")).count(), 1);
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
