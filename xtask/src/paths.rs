//! Where things are: the clone, the cache outside it, the target folder.

use std::path::{Path, PathBuf};

/// The repository's root.
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The browser bundle.
pub fn dist() -> PathBuf {
    root().join("dist")
}

/// Compiled tools and, in CI, compiled dependencies: survives a fresh clone.
pub fn cache() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| ".".into())).join(".cache");
    std::env::var_os("XDG_CACHE_HOME")
        .filter(|value| !value.is_empty())
        .map_or_else(home, PathBuf::from)
        .join("domainscope")
}

/// Programs that xtask installs.
pub fn tools() -> PathBuf {
    cache().join("tools")
}

/// Whether this is a machine that starts every time from a fresh clone.
pub fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}

/// In CI the target folder lives in the cache, so that only a new machine compiles the dependencies.
pub fn ci_target_dir() -> Option<PathBuf> {
    (is_ci() && std::env::var_os("CARGO_TARGET_DIR").is_none()).then(|| cache().join("target"))
}

/// Where cargo puts what it builds.
pub fn target_dir() -> PathBuf {
    ci_target_dir()
        .or_else(|| std::env::var_os("CARGO_TARGET_DIR").map(|dir| root().join(dir)))
        .unwrap_or_else(|| root().join("target"))
}

/// A program of this workspace in a profile's folder.
pub fn binary(profile: &str, name: &str) -> PathBuf {
    target_dir().join(profile).join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// The built server.
pub fn server_binary(profile: &str) -> PathBuf {
    binary(profile, "domainscope")
}
