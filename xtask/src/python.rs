//! What tests run in Python, the API validators and octoDNS: an environment of their own in the cache folder, with the versions of
//! `xtask/python/requirements.txt`.

use crate::{paths, sh};
use anyhow::{Context, Result};
use std::path::PathBuf;

/// Where the programs are.
pub fn programs() -> PathBuf {
    folder().join("bin")
}

/// Installs them when another list was installed last, or by another Python.
pub fn ensure() -> Result<()> {
    let list = paths::root().join("xtask/python/requirements.txt");
    let wanted = std::fs::read_to_string(&list).context("reading xtask/python/requirements.txt")?;
    let python = sh::output(sh::command("python3").arg("--version")).context(
        "python3 is missing. Debian: sudo apt-get install python3-venv   macOS: brew install python",
    )?;
    let wanted = format!("# {}\n{wanted}", python.trim());
    let stamp = folder().join("installed.txt");
    if std::fs::read_to_string(&stamp).is_ok_and(|have| have == wanted) {
        return Ok(());
    }
    sh::timed(
        "installing API validators, clients and octoDNS (Python packages, half a minute, once)",
        || {
            sh::output(sh::command("python3").args(["-m", "venv", "--clear"]).arg(folder()))?;
            let mut pip = sh::command(programs().join("pip"));
            pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--requirement"])
                .arg(&list);
            sh::output(&mut pip)
        },
    )?;
    std::fs::write(stamp, wanted).context("noting which Python packages are installed")
}

fn folder() -> PathBuf {
    paths::tools().join("python")
}
