//! `cargo xtask run`: from a bare clone to a page. Sets up what is missing, builds bundle and server, then
//! becomes the server.

use crate::bundle::Profile;
use crate::{budget, bundle, packages, paths, sh};
use anyhow::{Result, anyhow};
use std::process::{Command, Stdio};

const LISTEN: &str = "127.0.0.1:8080";

/// Builds everything and serves; returns only when something could not be done or the server ended.
pub fn run(demo: bool, dev: bool, extra: &[String]) -> Result<()> {
    packages::for_build().map_err(|missing| anyhow!(missing))?;
    bundle_and_libraries(dev)?;
    server(dev)?;
    let mut serve = sh::command(paths::server_binary(profile(dev)));
    serve.args(serve_arguments(demo, extra));
    replace_with(serve)
}

/// The bundle, and beside it everything of the server that does not need the bundle: much of either is one thread's
/// work, and neither waits for the other.
fn bundle_and_libraries(dev: bool) -> Result<()> {
    let mut libraries = None;
    let bundled = bundle::ensure_beside(if dev { Profile::Dev } else { Profile::Release }, || {
        sh::say("compiling the server's libraries meanwhile");
        let mut cargo = build("domainscope-server", dev);
        // What goes wrong here is said by the build of the server, which comes after.
        cargo.arg("--quiet").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        libraries = Some(cargo.spawn()?);
        Ok(())
    });
    if let Some(mut libraries) = libraries {
        if bundled.is_err() {
            let _ = libraries.kill();
        } else if libraries.try_wait()?.is_none() {
            sh::say(
                "the bundle is there; the server's libraries are still being compiled (8 minutes in all the first time)",
            );
        }
        libraries.wait()?;
    }
    if bundled? {
        budget::warn();
    }
    Ok(())
}

/// Builds the server; cargo decides whether there is anything to do.
pub fn server(dev: bool) -> Result<()> {
    if !paths::server_binary(profile(dev)).exists() {
        sh::say("building the server");
    }
    sh::run(&mut build("domainscope", dev))
}

fn build(package: &str, dev: bool) -> Command {
    let mut cargo = sh::cargo();
    cargo.args(["build", "--package", package]);
    if !dev {
        cargo.arg("--release");
    }
    cargo
}

/// The folder of the cargo profile.
fn profile(dev: bool) -> &'static str {
    if dev { "debug" } else { "release" }
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
