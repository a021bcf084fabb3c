//! `domainscope configure NAME --service …`: what a service needs on a domain, and what every authoritative server has.

use super::{Format, read};
use crate::cli::{Outcome, print, print_json, usage};
use crate::settings::EngineArgs;
use crate::wiring;
use anyhow::Result;
use clap::Args;
use model::configure::{ChangeAction, RecordState, ServiceKind, ServiceReport, ServiceSpec, ServiceState};
use model::names::DomainName;
use owo_colors::OwoColorize;
use std::fmt::Write;
use std::path::PathBuf;

/// Flags of `configure NAME`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    domainscope configure example.com --service web --set target=edge.example.net\n  \
    domainscope configure example.com --service mail --set 'servers=10 mx1.example.net' --set spf=include:_spf.example.net\n  \
    domainscope configure example.com --service template --file mail.json --set values=ip=203.0.113.7\n  \
    domainscope configure example.com --service web --set target=edge.example.net --export bind\n  \
    domainscope configure plan --template mail.json\n      \
    a template applied to a zone that is given, without the network\n\n\
    Exit codes: 0 every record is there · 1 something is missing or wrong · 2 wrong usage · 3 the servers cannot be reached")]
pub(super) struct ServiceArgs {
    /// Domain to set the service up on
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Service: web, mail, proof, acme, caa, template, gateway
    #[arg(long, value_name = "SERVICE", value_parser = kind)]
    service: Option<ServiceKind>,
    /// Value of the service; without any, its values are listed
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// File with the template, or with the objects of the gateway; - is standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Host below the domain that the service is for (shop for shop.example.com)
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    host: String,
    /// Print the changes in the format of another program
    #[arg(long, value_name = "FORMAT", value_enum)]
    export: Option<Format>,
}

fn kind(word: &str) -> Result<ServiceKind, String> {
    let words: Vec<_> = ServiceKind::ALL.iter().map(|k| k.as_str()).collect();
    ServiceKind::from_word(word).ok_or_else(|| format!("the services are {}", words.join(", ")))
}

pub(super) async fn run(args: &ServiceArgs, engine: &EngineArgs, json: bool) -> Result<Outcome> {
    let Some(name) = &args.name else { return Ok(usage("name a domain, or the command `plan`")) };
    let Some(kind) = args.service else { return Ok(usage(&kinds())) };
    if args.set.is_empty() && args.file.is_none() {
        return Ok(usage(&fields(kind)));
    }
    let mut pairs: Vec<(String, String)> = Vec::new();
    for pair in &args.set {
        let Some((key, value)) = pair.split_once('=') else {
            return Ok(usage(&format!("--set {pair} must be KEY=VALUE")));
        };
        pairs.push((key.trim().to_string(), value.to_string()));
    }
    if let Some(file) = &args.file {
        let key = match kind {
            ServiceKind::Template => "template",
            ServiceKind::Gateway => "yaml",
            _ => return Ok(usage("--file is for the services template and gateway")),
        };
        match String::from_utf8(read(file)?) {
            Ok(text) => pairs.push((key.into(), text)),
            Err(_) => return Ok(usage(&format!("{} is not UTF-8 text", file.display()))),
        }
    }
    let domain = match DomainName::read(name) {
        Ok(understood) => understood.name,
        Err(e) => return Ok(usage(&e.to_string())),
    };
    let spec = match ServiceSpec::new(kind, &args.host, pairs) {
        Ok(spec) => spec,
        Err(e) => return Ok(usage(&e)),
    };
    let internet = wiring::internet(engine)?;
    let inspector = wiring::inspector(engine, &internet.engine)?;
    let report = inspector.inspect(&domain, &spec, jiff::Timestamp::now()).await;
    let report = match report {
        Ok(report) => report,
        Err(e) if e.kind == service::ErrorKind::Invalid => return Ok(usage(&e.detail)),
        Err(e) => anyhow::bail!("{}", e.detail),
    };
    if let Some(format) = args.export {
        let found = report.exports.iter().find(|e| e.format == format.word());
        print(found.map_or("", |e| e.text.trim_end()))?;
    } else if json {
        print_json(&report)?;
    } else {
        print(text(&report).trim_end())?;
    }
    Ok(if report.state == ServiceState::Working { Outcome::Done } else { Outcome::Problems })
}

fn kinds() -> String {
    let mut out = String::from("name a service with --service:");
    for kind in ServiceKind::ALL {
        let _ = write!(out, "\n  {:<9} {}: {}", kind.as_str(), kind.label(), kind.about());
    }
    out
}

fn fields(kind: ServiceKind) -> String {
    let mut out = format!("give the values of the service {} with --set KEY=VALUE:", kind.as_str());
    for field in kind.fields() {
        let required = if field.required { " (required)" } else { "" };
        let _ = write!(out, "\n  {:<12} {}{required}. {}", field.key, field.label, field.hint);
    }
    out
}

fn text(r: &ServiceReport) -> String {
    let at = if r.provider.name.is_empty() { String::new() } else { format!(" at {}", r.provider.name) };
    let mut out = format!("{} for {}{at}: {}\n{}\n", r.title.bold(), r.unicode, r.state.label(), r.sentence);
    let (answered, all) = r.answered();
    let _ = writeln!(out, "{answered} of {all} authoritative servers answered.\n");
    for c in &r.records {
        let state = match c.state {
            RecordState::Present => c.state.label().green().to_string(),
            _ => c.state.label().yellow().to_string(),
        };
        let _ = writeln!(
            out,
            "{state}  {} {} {}  (on {} of {} servers)",
            shown(&c.host),
            c.rtype,
            c.value,
            c.present_on,
            c.answered
        );
        for fault in &c.faults {
            let _ = writeln!(
                out,
                "    {}: {} {} {}",
                fault.label, fault.live.name, fault.live.rtype, fault.live.value
            );
            let _ = writeln!(
                out,
                "    {} Enter: {} {} {}",
                fault.sentence,
                shown(&fault.host),
                fault.rtype,
                fault.value
            );
        }
        if c.faults.is_empty() {
            for live in &c.live {
                let _ = writeln!(out, "    live: {} {} {}", live.name, live.rtype, live.value);
            }
        }
    }
    if !r.changes.is_empty() {
        let place =
            if r.provider.place.is_empty() { String::new() } else { format!(" ({})", r.provider.place) };
        let _ = writeln!(out, "\n{}", format!("To do{at}{place}").bold());
        for c in &r.changes {
            let values = if c.action == ChangeAction::Delete { &c.old } else { &c.new };
            let ttl = c.ttl.map(|t| format!("  TTL {t}")).unwrap_or_default();
            let _ = writeln!(
                out,
                "  {:<6}  {} {} {}{ttl}",
                c.action.label(),
                shown(&c.host),
                c.rtype,
                values.join(", ")
            );
            let _ = writeln!(out, "          {}", c.why);
        }
    }
    for note in r.provider.notes.iter().filter(|_| !r.changes.is_empty()) {
        let _ = writeln!(out, "  {note}");
    }
    for warning in &r.warnings {
        let _ = writeln!(out, "\n{} {warning}", "Warning:".yellow());
    }
    if let Some(link) = &r.apply {
        let _ = writeln!(out, "\nOr apply it at {} in one click:\n  {}", link.provider, link.url);
    }
    if !r.caches.is_empty() {
        let _ = writeln!(out, "\n{}", "When caches agree".bold());
        for step in &r.caches {
            let _ = writeln!(out, "  {}  {}\n    {}", step.when, step.title, step.detail);
        }
    }
    out
}

fn shown(host: &str) -> &str {
    if host.is_empty() { "(empty)" } else { host }
}
