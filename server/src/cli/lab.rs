//! `domainscope lab`: an Internet in a box, started or changed.

use super::stops::Stops;
use super::{Outcome, print, print_json, usage};
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Flags of `lab`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  domainscope lab start --state lab-state\n  domainscope scan q7.io --config lab-state/engine.toml\n  \
    domainscope lab ctl --state lab-state ns q7.io ns1.meridian-dns.example ns2.meridian-dns.example"
)]
pub(super) struct LabArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Start a lab and keep it running
    Start {
        /// Built-in scenario (demo, small) or a scenario file
        #[arg(default_value = "demo")]
        scenario: String,
        /// Folder for root hints, CA, bootstrap and engine.toml
        #[arg(long, default_value = "lab-state", value_name = "DIR")]
        state: PathBuf,
        /// Port of all DNS servers [default: a free one]
        #[arg(long = "port", value_name = "PORT")]
        dns_port: Option<u16>,
        /// Serve recorded WHOIS answers from this folder (raw files named in --replay-index)
        #[arg(long, value_name = "DIR", requires = "replay_index")]
        replay: Option<PathBuf>,
        /// JSON lines {domain, tld, raw} of the recorded answers
        #[arg(long, value_name = "FILE", requires = "replay")]
        replay_index: Option<PathBuf>,
    },
    /// Change a lab that runs: `renew q7.io 1`, `ns q7.io HOST HOST`, `fault HOST dead`, …
    Ctl {
        /// Folder the lab was started with
        #[arg(long, default_value = "lab-state", value_name = "DIR")]
        state: PathBuf,
        /// The command; `help` lists all
        #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
}

pub(super) async fn run(args: LabArgs, json: bool) -> Result<Outcome> {
    match args.action {
        Action::Start { scenario, state, dns_port, replay, replay_index } => {
            let mut wanted = if std::path::Path::new(&scenario).exists() {
                lab::Scenario::load(std::path::Path::new(&scenario))?
            } else {
                lab::Scenario::named(&scenario)?
            };
            if let (Some(folder), Some(index)) = (replay, replay_index) {
                wanted = wanted.with_replay(folder, index);
            }
            let options =
                lab::Options { dns_port, ..lab::Options::new(wanted, &state, jiff::Timestamp::now()) };
            // Installed before the lab announces itself.
            let mut stops = Stops::catch()?;
            let lab = lab::Lab::start(options).await?;
            let at = lab.endpoints();
            if json {
                print_json(at)?;
            } else {
                print(&format!(
                    "A lab runs with {} domains. Point commands at it with\n  --config {}\nand change it with\n  \
                     domainscope lab ctl --state {} help\nStop with Ctrl-C.",
                    at.domains.len(),
                    at.engine.display(),
                    state.display()
                ))?;
            }
            stops.asked().await;
            lab.shutdown().await;
            Ok(Outcome::Done)
        }
        Action::Ctl { command, .. } if command == ["help"] => {
            let lines: Vec<_> =
                lab::HELP.iter().map(|(form, words)| format!("  {form:<48} {words}")).collect();
            print(&lines.join("\n"))?;
            Ok(Outcome::Done)
        }
        Action::Ctl { state, command } => {
            let file = state.join("endpoints.json");
            let text = std::fs::read_to_string(&file)
                .with_context(|| format!("no lab was started with {}", state.display()))?;
            let at: lab::Endpoints =
                serde_json::from_str(&text).with_context(|| file.display().to_string())?;
            let line = command.join(" ");
            let (status, said) = post(at.control, &line).await.context("the lab does not answer")?;
            if status != 200 {
                return Ok(usage(&format!("{} (domainscope lab ctl help)", said.trim())));
            }
            print(said.trim())?;
            Ok(Outcome::Done)
        }
    }
}

/// The lab's control endpoint is plain HTTP on loopback.
async fn post(at: std::net::SocketAddr, line: &str) -> Result<(u16, String)> {
    let mut stream = tokio::net::TcpStream::connect(at).await?;
    let request = format!(
        "POST /commands HTTP/1.1\r\nHost: {at}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{line}",
        line.len()
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(1 << 20).read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, b)| b).to_string();
    Ok((status, body))
}
