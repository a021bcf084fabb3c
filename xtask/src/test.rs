//! `cargo xtask test`: everything CI runs, in stages. A stage that fails does not stop those that do not
//! depend on it, so that one run tells all.

use crate::bundle::Profile;
use crate::stages::Stages;
use crate::{budget, bundle, e2e, fuzz, packages, paths, python, run, sh, tools, wasm};
use anyhow::{Result, anyhow};
use std::path::Path;
use std::process::{Command, ExitCode};

/// In CI the cached target folder collects the leftovers of many clones; past this it is emptied.
const CACHE_LIMIT: u64 = 40 << 30;

/// Installs every tool that `run` and `test` need.
pub fn setup() -> Result<()> {
    packages::for_tests().map_err(|missing| anyhow!(missing))?;
    wasm::toolchain()?;
    tools::ensure_bundler()?;
    tools::ensure_wasm_opt()?;
    tools::ensure_auditors()?;
    e2e::install()?;
    python::ensure()?;
    sh::say(&format!("all tools are there; compiled ones in {}", paths::tools().display()));
    Ok(())
}

/// Runs all stages and prints the table; failure when any stage failed.
pub fn test() -> ExitCode {
    let mut stages = Stages::default();
    prune_cache();
    stages.run("packages", || {
        // Tests that need one of these say so themselves; the others are worth running.
        if let Err(missing) = packages::for_tests() {
            sh::say(&missing);
        }
        packages::for_build().map_err(|missing| anyhow!(missing))
    });
    // The tests that need them say so when they are missing.
    stages.run("Python packages", python::ensure);
    stages.run("node packages", e2e::install);
    stages.run("format", || sh::run(sh::cargo().args(["fmt", "--all", "--check"])));
    stages.run("styles", || {
        sh::run(sh::cargo().args(["run", "--quiet", "--package", "domainscope-style", "--", "check"]))
    });
    // Before anything that compiles the server, which carries the bundle inside.
    let bundled = stages.run("browser bundle", || bundle::ensure(Profile::Dev).map(drop));
    if bundled {
        stages.run("bundle size", budget::check);
    } else {
        stages.skip("bundle size", "the bundle did not build");
    }
    stages.run("lints", || {
        sh::run(sh::cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
    });
    stages.run("tests", unit_tests);
    stages.run("documentation tests", || sh::run(sh::cargo().args(["test", "--workspace", "--doc"])));
    match fuzz::missing() {
        Some(why) => stages.skip("fuzz targets", &why),
        None => drop(stages.run("fuzz targets", || {
            fuzz::run(&fuzz::Plan { target: None, seconds: 30, keep: false, seed: Some(1) })
        })),
    }
    let served = stages.run("server", || run::server(true));
    if bundled && served {
        stages.run("browser tests", || e2e::playwright(false, None));
    } else {
        stages.skip("browser tests", "the bundle or the server did not build");
    }
    // An audit whose tool is missing fails the run: installing the tools is a stage.
    if stages.run("dependency tools", tools::ensure_auditors) {
        stages.run("unused dependencies", || sh::run(&mut audit("cargo-machete", &["."])));
        stages.run("licences and sources", || {
            sh::run(&mut audit("cargo-deny", &["check", "licenses", "bans", "sources"]))
        });
        if has_advisories() {
            stages.run("advisories", || {
                sh::run(&mut audit("cargo-deny", &["--offline", "check", "advisories"]))
            });
        } else {
            stages.skip("advisories", "no copy of the advisory database (docs/testing.md)");
        }
    } else {
        stages.skip("unused dependencies", "cargo-machete could not be installed");
        stages.skip("licences and sources", "cargo-deny could not be installed");
    }
    eprintln!("\n{}", stages.table());
    if stages.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// An installed tool that looks at the workspace, asking the network nothing.
fn audit(program: &str, arguments: &[&str]) -> Command {
    let mut command = sh::command(tools::installed(program));
    command.args(arguments);
    command
}

/// Whether this machine has a clone of RustSec's database where cargo-deny looks for it. It is not fetched here: CI has
/// no way to it, and what a database of another day says should not decide a run. The folder alone says nothing:
/// cargo-deny makes it with a lock file in it on every run.
fn has_advisories() -> bool {
    let home = std::env::var_os("CARGO_HOME").map(std::path::PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    home.is_some_and(|home| {
        std::fs::read_dir(home.join("advisory-dbs"))
            .is_ok_and(|folder| folder.flatten().any(|entry| entry.path().join(".git").exists()))
    })
}

fn unit_tests() -> Result<()> {
    if sh::which("cargo-nextest").is_some() {
        let profile = if std::env::var_os("CI").is_some() { "ci" } else { "default" };
        sh::run(sh::cargo().args(["nextest", "run", "--workspace", "--no-fail-fast", "--profile", profile]))
    } else {
        sh::say("cargo-nextest is not installed; using cargo test");
        // Benchmarks are compiled by the lints; running them here would take minutes and measure nothing.
        sh::run(sh::cargo().args(["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"]))
    }
}

fn prune_cache() {
    let Some(target) = paths::ci_target_dir() else { return };
    if size(&target) > CACHE_LIMIT {
        sh::say(&format!("{} has grown past its limit; emptying it", target.display()));
        let _ = std::fs::remove_dir_all(&target);
    }
}

fn size(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)))
        .map(|(path, meta)| if meta.is_dir() { size(&path) } else { meta.len() })
        .sum()
}
