//! Starting other programs: one place that cleans the environment, prints progress and turns a failure
//! into a sentence.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A command that runs in the repository's root, without the variables that `cargo run` sets for us: they
/// would pin the toolchain of nested cargo calls and put its libraries before those of another compiler.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(crate::paths::root());
    for (name, _) in std::env::vars_os() {
        let Some(text) = name.to_str() else { continue };
        let ours = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"]
            .iter()
            .any(|prefix| text.starts_with(prefix));
        let toolchain = ["CARGO", "CARGO_PRIMARY_PACKAGE", "LD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"];
        if ours || toolchain.contains(&text) {
            command.env_remove(&name);
        }
    }
    command
}

/// A cargo call of the normal (native) toolchain.
pub fn cargo() -> Command {
    let mut command = command("cargo");
    if let Some(target) = crate::paths::ci_target_dir() {
        command.env("CARGO_TARGET_DIR", target);
    }
    if crate::paths::is_ci() {
        // A fresh clone never continues an earlier compilation; its notes would only fill the cache.
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

/// Says what is happening, so that a silent minute is an expected one.
pub fn say(line: &str) {
    eprintln!("\x1b[1m»\x1b[0m {line}");
}

/// Runs to the end with its output shown.
pub fn run(command: &mut Command) -> Result<()> {
    let shown = display(command);
    let status = command.status().with_context(|| format!("could not start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

/// Runs to the end quietly and returns what it wrote to standard output; its complaint is in the error.
pub fn output(command: &mut Command) -> Result<String> {
    let shown = display(command);
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("could not start `{shown}`"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{shown}` failed ({}): {}", output.status, said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs `work`, printing what it is before and how long it took after.
pub fn timed<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    say(what);
    let start = Instant::now();
    let done = work()?;
    say(&format!("  done in {}", duration(start.elapsed())));
    Ok(done)
}

/// `3 s`, `2 min 5 s`.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 60, seconds % 60) {
        (0, _) => format!("{:.1} s", time.as_secs_f32()),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, rest) => format!("{minutes} min {rest} s"),
    }
}

/// Finds a program on PATH or in the folders where system daemons live.
pub fn which(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/usr/local/sbin", "/sbin", "/opt/homebrew/bin"].map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|candidate| is_program(candidate))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

fn display(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_does_not_exist_is_named() {
        let error = run(&mut command("no-such-program-here")).expect_err("cannot start");
        assert!(format!("{error:#}").contains("no-such-program-here"));
    }

    #[test]
    fn durations_read_like_speech() {
        assert_eq!(duration(Duration::from_millis(3_400)), "3.4 s");
        assert_eq!(duration(Duration::from_secs(125)), "2 min 5 s");
        assert_eq!(duration(Duration::from_secs(180)), "3 min");
    }
}
