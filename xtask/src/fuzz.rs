//! Coverage-guided fuzzing with the stable toolchain: builds the workspace in `fuzz/` with LLVM's coverage counters and
//! runs its targets on the saved corpus, two at a time. In: targets and seconds. Out: a line per target, or the input
//! that broke a promise.

use crate::{paths, sh};
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

/// Targets, as the programs of `fuzz/` are called.
pub const TARGETS: &[&str] = &["whois", "rdap", "encodings", "dns_wire", "names", "session"];

/// What cargo-fuzz passes, without a sanitizer (those need nightly; there is no unsafe code of ours to watch) and without
/// traced comparisons (the Public Suffix List would compile for four minutes).
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table";

/// Seconds one input may take; what takes longer is a fault.
const SLOWEST: u32 = 10;

/// How to fuzz.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// One target, or all.
    pub target: Option<String>,
    /// How long each runs.
    pub seconds: u32,
    /// Take discoveries into the saved corpus, smallest set first. Recorded answers are not read then, so that none of
    /// their text gets into the repository.
    pub keep: bool,
    /// The same inputs each time, as far as libFuzzer allows: this seed, and the saved corpus alone, without what earlier
    /// runs found. So a change is judged by itself, not by luck; luck is for manual runs.
    pub seed: Option<u32>,
}

/// Why fuzzing cannot be done on this machine.
pub fn missing() -> Option<String> {
    let compiler = ["c++", "g++", "clang++"].iter().any(|name| sh::which(name).is_some());
    (!compiler)
        .then(|| "there is no C++ compiler, which libFuzzer needs (Debian: apt-get install g++)".to_owned())
}

/// Builds and runs.
pub fn run(plan: &Plan) -> Result<()> {
    if let Some(why) = missing() {
        bail!("{why}");
    }
    let targets: Vec<&str> = TARGETS
        .iter()
        .copied()
        .filter(|t| plan.target.as_deref().is_none_or(|wanted| wanted == *t))
        .collect();
    if targets.is_empty() {
        bail!(
            "there is no fuzz target `{}`; there are: {}",
            plan.target.as_deref().unwrap_or_default(),
            TARGETS.join(", ")
        );
    }
    let programs =
        sh::timed("building the fuzz targets (minutes when nothing is cached)", || build(&targets))?;
    let mut failures = Vec::new();
    for pair in targets.chunks(2) {
        let mut running = Vec::new();
        for target in pair {
            running.push(Run::start(&programs, target, plan)?);
        }
        for run in running {
            if let Err(error) = run.finish() {
                sh::say(&format!("{error:#}"));
                failures.push(error.to_string());
            }
        }
    }
    if plan.keep && failures.is_empty() {
        for target in &targets {
            keep(&programs, target)?;
        }
    }
    if failures.is_empty() { Ok(()) } else { bail!("{}", failures.join("; ")) }
}

fn build(targets: &[&str]) -> Result<PathBuf> {
    let host = sh::output(sh::command("rustc").args(["--print", "host-tuple"]))?.trim().to_owned();
    let folder = paths::target_dir().join("fuzz");
    let mut cargo = sh::command("cargo");
    cargo
        .args(["build", "--release", "--locked", "--quiet", "--manifest-path", "fuzz/Cargo.toml"])
        // With a target named, build scripts and macros are spared the flags.
        .args(["--target", &host, "--target-dir"])
        .arg(&folder)
        .env("RUSTFLAGS", FLAGS);
    for target in targets {
        cargo.args(["--bin", target]);
    }
    sh::run(&mut cargo)?;
    Ok(folder.join(host).join("release"))
}

/// A target at work.
struct Run {
    target: String,
    child: Child,
    log: PathBuf,
}

impl Run {
    fn start(programs: &Path, target: &str, plan: &Plan) -> Result<Self> {
        let scratch = paths::target_dir().join("fuzz-runs");
        let kind = match plan {
            Plan { keep: true, .. } => "kept",
            Plan { seed: Some(_), .. } => "seeded",
            _ => "found",
        };
        let found = scratch.join(kind).join(target);
        if plan.seed.is_some() && found.exists() {
            std::fs::remove_dir_all(&found)?;
        }
        let artifacts = scratch.join("failures");
        std::fs::create_dir_all(&found)?;
        std::fs::create_dir_all(&artifacts)?;
        let log = scratch.join(format!("{target}.log"));
        let seeds = paths::root().join("fuzz/corpus").join(target);
        let words = paths::root().join("fuzz/words").join(format!("{target}.dict"));
        let mut program = sh::command(programs.join(target));
        program
            .arg(format!("-max_total_time={}", plan.seconds))
            .arg(format!("-timeout={SLOWEST}"))
            .args(["-rss_limit_mb=1024", "-max_len=32768", "-print_final_stats=1"])
            .arg(format!("-artifact_prefix={}/{target}-", artifacts.display()))
            .arg("-close_fd_mask=1");
        program.args(plan.seed.map(|seed| format!("-seed={seed}")));
        if words.is_file() {
            program.arg(format!("-dict={}", words.display()));
        }
        program.arg(&found).arg(&seeds);
        if !plan.keep && matches!(target, "whois" | "encodings") {
            program.args(recorded(&scratch)?);
        }
        let out = File::create(&log).with_context(|| format!("writing {}", log.display()))?;
        let child = program
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(out)
            .env("RUST_BACKTRACE", "0")
            .spawn()
            .with_context(|| format!("starting the fuzz target {target}"))?;
        Ok(Self { target: target.to_owned(), child, log })
    }

    fn finish(mut self) -> Result<()> {
        let status = self.child.wait()?;
        let text = String::from_utf8_lossy(&std::fs::read(&self.log)?).into_owned();
        let target = &self.target;
        if !status.success() {
            bail!("fuzz target {target}: {}\n{}", broken(&text), self.log.display());
        }
        let told = Told::read(&text)
            .with_context(|| format!("{target} reports no coverage: {}", self.log.display()))?;
        sh::say(&format!("{target}: {told}"));
        Ok(())
    }
}

/// What a run says of itself.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    before: u64,
    after: u64,
    inputs: u64,
    per_second: u64,
    slowest: Duration,
}

impl Told {
    /// `None` when there were no coverage counters: then it was no fuzzing.
    fn read(log: &str) -> Option<Self> {
        let stat = |name: &str| {
            let line = log.lines().find_map(|l| l.strip_prefix("stat::")?.strip_prefix(name))?;
            line.trim_start_matches(':').trim().parse::<u64>().ok()
        };
        let mut seen = log.lines().filter_map(|l| l.split_once(" cov: ")?.1.split(' ').next()?.parse().ok());
        let before: u64 = seen.next().filter(|cov| *cov > 1)?;
        Some(Self {
            before,
            after: seen.next_back().unwrap_or(before),
            inputs: stat("number_of_executed_units")?,
            per_second: stat("average_exec_per_sec")?,
            slowest: Duration::from_secs(stat("slowest_unit_time_sec")?),
        })
    }
}

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Told { before, after, inputs, per_second, slowest } = self;
        write!(
            f,
            "{inputs} inputs ({per_second}/s), coverage {before} → {after}, slowest {} s",
            slowest.as_secs()
        )
    }
}

/// The sentence that matters in the log of a failed run, and where the input is.
fn broken(log: &str) -> String {
    let mut lines = log.lines();
    let said = lines
        .find(|l| l.contains("panicked at"))
        .map(|at| format!("{at} {}", lines.next().unwrap_or_default()));
    let said = said.or_else(|| log.lines().find(|l| l.starts_with("SUMMARY:")).map(str::to_owned));
    let input = log.lines().find_map(|l| l.split_once("Test unit written to ")).map_or("", |(_, path)| path);
    format!("{} input: {input}", said.unwrap_or_else(|| "ended without a word".to_owned()))
}

/// Recorded answers of registries, where the folder beside the clone has them, with the line that says which name was
/// asked for. They stay outside the repository.
fn recorded(scratch: &Path) -> Result<Option<PathBuf>> {
    let raw = paths::root().join("../shared/corpus/whois/raw");
    let Ok(entries) = std::fs::read_dir(&raw) else {
        sh::say("no recorded WHOIS answers beside the clone: fuzzing from our own seeds alone");
        return Ok(None);
    };
    let folder = scratch.join("recorded");
    std::fs::create_dir_all(&folder)?;
    for path in entries.flatten().map(|entry| entry.path()) {
        let (Some(stem), Ok(answer)) = (path.file_stem().and_then(|s| s.to_str()), std::fs::read(&path))
        else {
            continue;
        };
        let domain = stem.rsplit('_').next().unwrap_or(stem);
        let suffix = domain.rsplit('.').next().unwrap_or(domain);
        let seed = [format!("?{domain} {suffix}\n").as_bytes(), &answer].concat();
        std::fs::write(folder.join(stem), seed)?;
    }
    Ok(Some(folder))
}

/// Takes what a run found into the saved corpus, as far as it adds coverage.
fn keep(programs: &Path, target: &str) -> Result<()> {
    let saved = paths::root().join("fuzz/corpus").join(target);
    let found = paths::target_dir().join("fuzz-runs/kept").join(target);
    let mut program = sh::command(programs.join(target));
    program.args(["-merge=1", "-use_counters=0", "-max_len=512", "-close_fd_mask=1"]).arg(&saved).arg(&found);
    sh::output(&mut program)?;
    let (count, size) = std::fs::read_dir(&saved)?
        .flatten()
        .filter_map(|entry| entry.metadata().ok())
        .fold((0, 0), |(count, size), meta| (count + 1, size + meta.len()));
    sh::say(&format!("{target}: the saved corpus has {count} inputs, {size} bytes"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_counters_is_no_fuzzing() {
        let log = "INFO: seed corpus: files: 3\n#4\tINITED cov: 10 ft: 11 corp: 1/1b exec/s: 0 rss: 30Mb\n\
                   #9\tNEW    cov: 15 ft: 20 corp: 2/3b lim: 4\n#99\tDONE   cov: 15 ft: 20\n\
                   stat::number_of_executed_units: 99\nstat::average_exec_per_sec:     33\n\
                   stat::slowest_unit_time_sec:    0\n";
        let told = Told::read(log).expect("has counters");
        assert_eq!((told.before, told.after, told.inputs, told.per_second), (10, 15, 99, 33));
        assert_eq!(Told::read(&log.replace("cov: ", "cov ")), None);
    }

    #[test]
    fn a_broken_promise_is_named_with_its_input() {
        let log = "thread '<unnamed>' panicked at src/names.rs:29:9:\nEntry { line: 1 }\nSUMMARY: libFuzzer: deadly signal\n\
                   artifact_prefix='x'; Test unit written to x/names-crash-1\n";
        let said = broken(log);
        assert!(
            said.contains("names.rs:29:9: Entry { line: 1 }") && said.ends_with("x/names-crash-1"),
            "{said}"
        );
        assert!(broken("SUMMARY: libFuzzer: timeout\n").contains("timeout"));
    }

    #[test]
    fn every_target_has_a_program_and_seeds() {
        for target in TARGETS {
            let fuzz = paths::root().join("fuzz");
            assert!(fuzz.join(format!("fuzz_targets/{target}.rs")).is_file(), "{target}");
            let seeds = std::fs::read_dir(fuzz.join("corpus").join(target)).expect(target);
            assert!(seeds.count() > 0, "{target}");
        }
    }
}
