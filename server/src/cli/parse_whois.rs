//! `domainscope parse-whois`: WHOIS texts into fields, one from standard input or a batch.

use super::output::{note, usage, written};
use super::{Outcome, print_json};
use anyhow::{Context, Result};
use clap::Args;
use serde::Deserialize;
use std::io::{BufRead, IsTerminal, Read, Write};
use std::path::PathBuf;

/// Flags of `parse-whois`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  whois example.com | domainscope parse-whois --domain example.com\n  \
    domainscope parse-whois --batch < cases.jsonl     (lines {\"id\", \"domain\", \"tld\", \"raw_path\"})")]
pub(super) struct ParseWhoisArgs {
    /// Domain of the WHOIS text
    #[arg(long, value_name = "NAME", required_unless_present = "batch")]
    domain: Option<String>,
    /// TLD, when it can't be derived from the domain
    #[arg(long, value_name = "TLD")]
    tld: Option<String>,
    /// Server that answered
    #[arg(long, value_name = "HOST")]
    server: Option<String>,
    /// Read JSON lines from standard input, write JSON lines in the same order
    #[arg(long, conflicts_with = "domain")]
    batch: bool,
}

/// Largest text that is read.
const CAP: u64 = 16 << 20;

#[derive(Deserialize)]
struct Case {
    id: serde_json::Value,
    domain: String,
    tld: Option<String>,
    server: Option<String>,
    raw_path: PathBuf,
}

pub(super) fn run(args: &ParseWhoisArgs, json: bool) -> Result<Outcome> {
    if args.batch {
        return batch();
    }
    let mut text = Vec::new();
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        note("Paste a WHOIS text; Ctrl-D on a line of its own ends it.\n");
    }
    stdin.lock().take(CAP).read_to_end(&mut text).context("standard input")?;
    if text.iter().all(u8::is_ascii_whitespace) {
        return Ok(usage(
            "standard input is empty: pipe a WHOIS text into it, as in: whois NAME | domainscope parse-whois --domain NAME",
        ));
    }
    let domain = args.domain.as_deref().unwrap_or_default();
    let reading = registration::parse_whois(domain, args.tld.as_deref(), args.server.as_deref(), &text);
    let value = registration::reading_to_json(&reading);
    if json {
        print_json(&value)?;
    } else {
        super::print(&super::report::fields(&value))?;
    }
    Ok(Outcome::Done)
}

fn batch() -> Result<Outcome> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let (mut cases, mut gone) = (0_u64, false);
    for (number, line) in std::io::stdin().lock().lines().enumerate() {
        let line = line.context("standard input")?;
        if line.trim().is_empty() {
            continue;
        }
        let value = match serde_json::from_str::<Case>(&line) {
            Ok(case) => one(&case),
            Err(e) => serde_json::json!({ "line": number + 1, "error": format!("not a case: {e}") }),
        };
        cases += 1;
        let mut line = serde_json::to_vec(&value)?;
        line.push(b'\n');
        if let Err(e) = out.write_all(&line) {
            gone = e.kind() == std::io::ErrorKind::BrokenPipe;
            written(Err(e))?;
            break;
        }
    }
    if !gone {
        written(out.flush())?;
    }
    if cases == 0 {
        return Ok(usage(
            "standard input is empty: each line must be a JSON object with the keys id, domain and raw_path",
        ));
    }
    Ok(Outcome::Done)
}

fn one(case: &Case) -> serde_json::Value {
    let mut text = Vec::new();
    let read = std::fs::File::open(&case.raw_path).and_then(|f| f.take(CAP).read_to_end(&mut text));
    if let Err(e) = read {
        return serde_json::json!({ "id": case.id, "error": format!("{}: {e}", case.raw_path.display()) });
    }
    let reading = registration::parse_whois(&case.domain, case.tld.as_deref(), case.server.as_deref(), &text);
    let mut value = registration::reading_to_json(&reading);
    if let Some(object) = value.as_object_mut() {
        object.insert("id".into(), case.id.clone());
    }
    value
}
