//! `domainscope check ZONE`: the health checks, as delegated or, with `--ns`, as if the parent already pointed there.

use super::{Outcome, print, print_json, usage};
use crate::settings::EngineArgs;
use crate::wiring;
use anyhow::Result;
use clap::Args;
use dns::checks::{CheckOptions, CheckReport};
use model::cause::Cause;
use model::finding::{Finding, Level};
use model::fqdn::Tone;
use model::names::{Fqdn, both_forms};
use model::verdict::{CheckVerdict, finding_groups};
use monitor::observer::cause_at_registry;
use owo_colors::OwoColorize;
use std::fmt::Write;

/// Flags of `check`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  domainscope check example.com\n  domainscope check example.com --test-case delegation01 --json\n  \
    domainscope check example.com --ns ns1.new.example/192.0.2.1 --ns ns2.new.example    before a move\n\n\
    Tags and levels are Zonemaster's. Exit code 1 when a finding is of level ERROR or CRITICAL, or a WARNING about\n\
    something that is broken now or will break by itself."
)]
pub(super) struct CheckArgs {
    /// Zone to check
    #[arg(value_name = "ZONE")]
    zone: String,
    /// Only this test case; repeatable
    #[arg(long = "test-case", value_name = "CASE")]
    test_case: Vec<String>,
    /// Name server to check as if the parent already delegated to it
    #[arg(long = "ns", value_name = "NAME[/ADDR]")]
    ns: Vec<String>,
    /// DS record to check as if the parent already published it
    #[arg(long = "ds", value_name = "KEYTAG,ALG,TYPE,DIGEST")]
    ds: Vec<String>,
    /// Show findings of every level [default: NOTICE and above]
    #[arg(long)]
    all: bool,
    /// Print the name server sets (parent, delegation, zone) instead
    #[arg(long)]
    methods_json: bool,
}

pub(super) async fn run(args: &CheckArgs, engine: &EngineArgs, json: bool) -> Result<Outcome> {
    let name = match Fqdn::read(&args.zone) {
        Ok(u) => u.name,
        Err(e) => return Ok(usage(&e.to_string())),
    };
    let zone = name.to_string();
    let options = match options(args) {
        Ok(o) => o,
        Err(words) => return Ok(usage(&words)),
    };
    let moving = !args.ns.is_empty() || !args.ds.is_empty();
    let internet = wiring::internet(engine)?;
    let engine = &internet.engine;
    if args.methods_json {
        let sets = engine.methods_v2(&zone, &options).await?;
        print_json(&serde_json::json!({ "zone": zone, "methodsv2": sets }))?;
        return Ok(Outcome::Done);
    }
    let report = engine.check(&zone, &options).await?;
    if json {
        print_json(&report)?;
    } else {
        let absent = report.findings.iter().any(|f| f.tag == "B02_NO_DELEGATION");
        let cause = match absent {
            true => cause_at_registry(&internet, &name, options.now).await,
            false => None,
        };
        print(&words(&report, moving, args.all, cause.as_ref()))?;
    }
    let bad = report.findings.iter().any(Finding::is_urgent);
    Ok(if bad { Outcome::Problems } else { Outcome::Done })
}

fn options(args: &CheckArgs) -> Result<CheckOptions, String> {
    let mut options = CheckOptions::new(jiff::Timestamp::now());
    if !args.test_case.is_empty() {
        let known = dns::checks::test_cases();
        if let Some(bad) = args.test_case.iter().find(|c| !known.iter().any(|k| k.eq_ignore_ascii_case(c))) {
            return Err(format!("“{bad}” is not a test case; known: {}", known.join(", ")));
        }
        options.test_cases = Some(args.test_case.clone());
    }
    product::undelegated::read(&mut options, &args.ns, &args.ds)?;
    Ok(options)
}

fn words(report: &CheckReport, moving: bool, all: bool, cause: Option<&Cause>) -> String {
    let mut out = String::new();
    let verdict =
        CheckVerdict::of(&both_forms(&report.zone), &report.findings, report.test_cases.len(), moving)
            .because(cause);
    let title = match verdict.tone {
        Tone::Ok => verdict.title.green().to_string(),
        Tone::Notice => verdict.title.cyan().to_string(),
        Tone::Warning => verdict.title.yellow().to_string(),
        Tone::Critical => verdict.title.red().to_string(),
    };
    let _ = writeln!(out, "{}\n{}", title.bold(), verdict.text);
    let asked = format!(
        "{} test cases, {} queries, {:.0} ms",
        report.test_cases.len(),
        report.queries,
        report.elapsed_ms
    );
    let _ = writeln!(out, "{}", asked.dimmed());
    let least = if all { Level::Debug } else { Level::Notice };
    for matter in
        finding_groups(&report.findings).iter().filter(|m| m.first().is_some_and(|f| f.level >= least))
    {
        out.push('\n');
        super::report::matter(&mut out, matter);
    }
    for note in &report.notes {
        let _ = writeln!(out, "\n{}", note.dimmed());
    }
    out.trim_end().to_string()
}
