//! The command line. Every command has `--json` (stable keys), human output by default, and exit codes 0 done,
//! 1 problems found, 2 wrong usage, 3 operation failed, 130 stopped by Ctrl-C.

mod admin;
mod agent;
mod backup;
mod check;
mod compare;
mod configure;
mod demo;
mod doh;
mod exposition;
mod features;
mod fqdn;
mod gauges;
mod lab;
mod mail;
mod networks;
mod open;
mod output;
mod parse_whois;
mod place;
mod probe;
mod report;
mod scan;
mod serve;
mod stops;
pub mod text;
mod trace;
mod wrap;

pub(crate) use features::{feature_json, report_json as features_json};

use crate::http::BuiltIn;
use crate::settings::{EngineArgs, Wrong};
use anyhow::Result;
use clap::{Parser, Subcommand};
use output::sentence;
pub(crate) use output::{complain, print, print_json, usage};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

/// Domain monitoring: inventory, registration, DNS and DNSSEC checks.
#[derive(Debug, Parser)]
#[command(
    name = "domainscope",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "Start with:\n  domainscope serve --demo        the whole product on http://127.0.0.1:8080, no internet needed\n  domainscope scan example.com    look one domain up, uncached\n\nExit codes: 0 done · 1 problems found · 2 wrong usage · 3 operation failed"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Print JSON instead of text
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    engine: EngineArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the product: pages, API, schedule
    Serve(Box<serve::ServeArgs>),
    /// Scan a domain, uncached: registration, delegation, zone, DNSSEC
    Scan(scan::ScanArgs),
    /// Trace a name from the root to its authoritative servers, uncached
    Trace(trace::TraceArgs),
    /// Compare authoritative servers with public resolvers: same, stale, negative answer, filtered
    Compare(compare::CompareArgs),
    /// Analyze a host name: CNAME chain, problems, and when it is safe to change
    Fqdn(fqdn::FqdnArgs),
    /// Probe a host: certificates, HTTP(S) responses, dangling records
    Probe(probe::ProbeArgs),
    /// Check the health of a zone, as delegated or as it would be after a move
    Check(check::CheckArgs),
    /// Say which records a service needs on a domain, and check them at every authoritative server
    Configure(configure::ConfigureArgs),
    /// Show who holds a prefix or address in the registry of address space, what is free, and which names point into it
    Networks(networks::NetworksArgs),
    /// Parse WHOIS texts from standard input into fields
    ParseWhois(parse_whois::ParseWhoisArgs),
    /// Run a simulated Internet on loopback, or change a running one
    Lab(lab::LabArgs),
    /// Run a point of presence: look at DNS from this machine for a server
    Agent(agent::AgentArgs),
    /// List features and where each stands, or turn one on or off
    Features(features::FeaturesArgs),
    /// Administer an installation: set-up link, passwords, tokens, failed jobs
    Admin(admin::AdminArgs),
}

/// What a command came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done, nothing wrong.
    Done,
    /// Done, and problems were found.
    Problems,
    /// The input was wrong.
    Usage,
    /// Ctrl-C; what there was so far has been printed.
    Stopped,
}

/// Longest wait at exit for background work.
const LEFTOVERS: Duration = Duration::from_millis(300);

/// Reads the command line, runs it, answers the exit code. `files` is the browser bundle that `serve` serves.
pub fn main(files: BuiltIn) -> ExitCode {
    let cli = Cli::parse();
    let quiet = !matches!(cli.command, Command::Serve(_) | Command::Lab(_) | Command::Agent(_));
    init_logs(quiet);
    // A page is one deeply nested type; rendering it without optimisation needs more than the usual 2 MiB of stack.
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = match builder.enable_all().thread_stack_size(16 << 20).build() {
        Ok(runtime) => runtime,
        Err(e) => {
            complain(&format!("no runtime: {e}"));
            return ExitCode::from(3);
        }
    };
    let ended = runtime.block_on(run(cli, files));
    // Background work is of no use now; a blocking system look-up could take half a minute, without signal handling.
    runtime.shutdown_timeout(LEFTOVERS);
    match ended {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Problems) => ExitCode::from(1),
        Ok(Outcome::Usage) => ExitCode::from(2),
        Ok(Outcome::Stopped) => ExitCode::from(130),
        Err(e) => {
            complain(&sentence(&e));
            ExitCode::from(if e.is::<Wrong>() { 2 } else { 3 })
        }
    }
}

async fn run(cli: Cli, files: BuiltIn) -> Result<Outcome> {
    let engine = cli.engine.resolved()?;
    match cli.command {
        Command::Serve(args) => serve::run(*args, engine, files).await,
        Command::Scan(args) => scan::run(&args, &engine, cli.json).await,
        Command::Trace(args) => trace::run(&args, &engine, cli.json).await,
        Command::Compare(args) => compare::run(&args, &engine, cli.json).await,
        Command::Fqdn(args) => fqdn::run(&args, &engine, cli.json).await,
        Command::Probe(args) => probe::run(&args, &engine, cli.json).await,
        Command::Check(args) => check::run(&args, &engine, cli.json).await,
        Command::Configure(args) => configure::run(&args, &engine, cli.json).await,
        Command::Networks(args) => networks::run(args, engine, cli.json).await,
        Command::ParseWhois(args) => parse_whois::run(&args, cli.json),
        Command::Lab(args) => lab::run(args, cli.json).await,
        Command::Agent(args) => agent::run(args, &engine).await,
        Command::Features(args) => features::run(args, cli.json).await,
        Command::Admin(args) => admin::run(args, cli.json).await,
    }
}

/// The identity that every line of the log carries, once it is known, and the set; both empty before.
static CLUSTER: std::sync::RwLock<(String, String)> = std::sync::RwLock::new((String::new(), String::new()));

/// From here on, every line of the log carries this identity, and the set if there is one.
pub(crate) fn log_cluster(id: &str, set: &str) {
    *CLUSTER.write().unwrap_or_else(std::sync::PoisonError::into_inner) = (id.to_string(), set.to_string());
}

/// A line of the log with identity and set. Both are labels of RFC 1123, which need no escapes.
fn identified(line: &[u8], id: &str, set: &str) -> Vec<u8> {
    let Some(bare) = line.strip_suffix(b"\n").filter(|_| !id.is_empty()) else { return line.to_vec() };
    let mut out = Vec::with_capacity(line.len() + 160);
    if let Some(rest) = bare.strip_prefix(b"{") {
        out.extend_from_slice(format!("{{\"cluster\":\"{id}\",").as_bytes());
        if !set.is_empty() {
            out.extend_from_slice(format!("\"clusterset\":\"{set}\",").as_bytes());
        }
        out.extend_from_slice(rest);
    } else {
        out.extend_from_slice(bare);
        out.extend_from_slice(format!(" cluster={id}").as_bytes());
        if !set.is_empty() {
            out.extend_from_slice(format!(" clusterset={set}").as_bytes());
        }
    }
    out.push(b'\n');
    out
}

/// Standard error, with the identity in each line. The formatter writes a line at once.
struct LogWriter;

impl std::io::Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let line_of = {
            let cluster = CLUSTER.read().unwrap_or_else(std::sync::PoisonError::into_inner);
            identified(line, &cluster.0, &cluster.1)
        };
        std::io::stderr().lock().write_all(&line_of)?;
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}

fn init_logs(quiet: bool) {
    use tracing_subscriber::EnvFilter;
    let default = if quiet { "error" } else { "info,sqlx=warn" };
    let filter = EnvFilter::try_from_env("DOMAINSCOPE_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    // Escapes are for a terminal that shows colours; a log file is read by programs.
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colour).with_writer(|| LogWriter);
    // A closed log must not stop the process.
    let logs = logs.log_internal_errors(false);
    if std::env::var("DOMAINSCOPE_LOG_FORMAT").as_deref() == Ok("json") {
        logs.json().init();
    } else {
        logs.with_target(false).init();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn a_line_of_the_log_carries_identity_and_set() {
        let of = |line: &str, id: &str, set: &str| {
            String::from_utf8(identified(line.as_bytes(), id, set)).unwrap()
        };
        assert_eq!(of("INFO x\n", "fra-1", "alder-fleet"), "INFO x cluster=fra-1 clusterset=alder-fleet\n");
        assert_eq!(of("INFO x\n", "fra-1", ""), "INFO x cluster=fra-1\n");
        assert_eq!(of("INFO x\n", "", ""), "INFO x\n", "before it is known");
        let json = of("{\"level\":\"INFO\"}\n", "fra-1", "alder-fleet");
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(
            (json["cluster"].as_str(), json["clusterset"].as_str()),
            (Some("fra-1"), Some("alder-fleet"))
        );
        assert_eq!(json["level"], "INFO");
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
