//! Browser tests: installs their node packages (never a browser), then runs Playwright against the built
//! server with a Chromium that is already on the machine.

use crate::bundle::Profile;
use crate::{bundle, packages, paths, run, sh};
use anyhow::{Context, Result, anyhow, bail};
use std::path::{Path, PathBuf};

/// `cargo xtask e2e`: builds what the tests need, then runs them.
pub fn command(headed: bool, pattern: Option<&str>) -> Result<()> {
    bundle::ensure(Profile::Dev)?;
    run::server(true)?;
    playwright(headed, pattern)
}

/// Runs the tests against what is built.
pub fn playwright(headed: bool, pattern: Option<&str>) -> Result<()> {
    let browser = packages::browser().ok_or_else(|| {
        anyhow!(
            "no Chromium here. Debian: sudo apt-get install chromium fonts-liberation   \
             macOS: brew install --cask chromium   or set CHROMIUM to a browser's path"
        )
    })?;
    install()?;
    let mut node = sh::command("node");
    node.current_dir(folder()).args(["node_modules/@playwright/test/cli.js", "test"]);
    if headed {
        node.arg("--headed");
    }
    if let Some(pattern) = pattern {
        node.args(["--grep", pattern]);
    }
    node.env("CHROMIUM", browser).env("DOMAINSCOPE_BIN", paths::server_binary("debug"));
    sh::run(&mut node)
}

/// `npm ci` when the lock file is not the one installed last.
pub fn install() -> Result<()> {
    for program in ["node", "npm"] {
        if sh::which(program).is_none() {
            bail!("{program} is missing. Debian: sudo apt-get install nodejs npm   macOS: brew install node");
        }
    }
    let lock = std::fs::read_to_string(folder().join("package-lock.json"))
        .context("reading e2e/package-lock.json")?;
    let stamp = folder().join("node_modules/.installed-lock");
    if std::fs::read_to_string(&stamp).is_ok_and(|have| have == lock) {
        return Ok(());
    }
    sh::timed("installing the browser tests' node packages", || {
        let mut npm = sh::command("npm");
        npm.current_dir(folder())
            .args(["ci", "--no-audit", "--no-fund", "--loglevel=error"])
            .env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
        sh::output(&mut npm)
    })?;
    std::fs::write(stamp, lock).context("noting which node packages are installed")
}

fn folder() -> PathBuf {
    Path::new(paths::root()).join("e2e")
}
