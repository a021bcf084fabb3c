//! `cargo xtask run`: from a bare clone to a page. Sets up what is missing, builds bundle and server, then
//! becomes the server.

use crate::bundle::Profile;
use crate::{bundle, packages, paths, sh};
use anyhow::{Result, anyhow};
use std::process::Command;

const LISTEN: &str = "127.0.0.1:8080";

/// Builds everything and serves; returns only when something could not be done or the server ended.
pub fn run(demo: bool, dev: bool, extra: &[String]) -> Result<()> {
    packages::for_build().map_err(|missing| anyhow!(missing))?;
    bundle::ensure(if dev { Profile::Dev } else { Profile::Release })?;
    server(dev)?;
    let mut serve = sh::command(paths::server_binary(if dev { "debug" } else { "release" }));
    serve.args(serve_arguments(demo, extra));
    replace_with(serve)
}

/// Builds the server; cargo decides whether there is anything to do.
pub fn server(dev: bool) -> Result<()> {
    let profile = if dev { "debug" } else { "release" };
    if !paths::server_binary(profile).exists() {
        sh::say("building the server (about 8 minutes the first time)");
    }
    let mut cargo = sh::cargo();
    cargo.args(["build", "--package", "domainscope-server"]);
    if !dev {
        cargo.arg("--release");
    }
    sh::run(&mut cargo)
}

fn serve_arguments(demo: bool, extra: &[String]) -> Vec<String> {
    let mut arguments = vec!["serve".to_owned()];
    if demo {
        arguments.push("--demo".to_owned());
    }
    if !extra.iter().any(|word| word == "--listen" || word.starts_with("--listen=")) {
        arguments.extend(["--listen".to_owned(), LISTEN.to_owned()]);
    }
    arguments.extend_from_slice(extra);
    arguments
}

/// Signals and the exit status are then the server's own.
#[cfg(unix)]
fn replace_with(mut command: Command) -> Result<()> {
    use std::os::unix::process::CommandExt;
    Err(anyhow!(command.exec()).context("starting the server"))
}

#[cfg(not(unix))]
fn replace_with(mut command: Command) -> Result<()> {
    sh::run(&mut command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_given_by_hand_replaces_ours() {
        for extra in [vec!["--listen", "[::1]:9"], vec!["--listen=[::1]:9"]] {
            let extra: Vec<String> = extra.into_iter().map(str::to_owned).collect();
            let arguments = serve_arguments(true, &extra).join(" ");
            assert!(!arguments.contains(LISTEN), "{arguments}");
            assert!(arguments.starts_with("serve --demo --listen"), "{arguments}");
        }
        assert_eq!(serve_arguments(false, &[]).join(" "), format!("serve --listen {LISTEN}"));
    }
}
