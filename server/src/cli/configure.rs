//! `domainscope configure`: what a service needs on a domain, and Domain Connect templates applied to a zone.

use super::output::{note, written};
use super::{Outcome, complain, print_json, usage};
use crate::settings::EngineArgs;
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

mod plan_text;
mod service;

/// Flags of `configure`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct ConfigureArgs {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    service: service::ServiceArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what a Domain Connect template would create and delete in a zone; nothing is changed
    Plan(PlanArgs),
}

#[derive(Debug, Args)]
#[command(
    after_help = "A template says which records a service needs; providers of services publish theirs as JSON files \
    (github.com/Domain-Connect/Templates).\n\n\
    Examples:\n  \
    domainscope configure plan --template mail.json\n      \
    the variables and groups of the template\n  \
    domainscope configure plan --template mail.json --domain example.com --param ip=203.0.113.7 --zone zone.json\n      \
    what it changes; --zone takes JSON records or a zone file, - is standard input\n  \
    domainscope configure plan --stdin < case.json\n      \
    the same for programs: {\"domain\", \"host\", \"params\", \"zone_records\", \"template_records\"} in,\n      \
    {\"new\", \"delete\", \"records\"} or {\"error\": {\"kind\", \"message\"}} out\n\n\
    Exit codes: 0 here is the plan · 1 the template cannot be applied · 2 wrong usage · 3 a file cannot be read"
)]
struct PlanArgs {
    /// Template file
    #[arg(long, value_name = "FILE", required_unless_present = "stdin")]
    template: Option<PathBuf>,
    /// Domain the zone is for; without it the template is described
    #[arg(long, value_name = "NAME")]
    domain: Option<String>,
    /// Host below the domain that the service is for (shop for shop.example.com)
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    host: String,
    /// Value of a variable of the template
    #[arg(long = "param", value_name = "NAME=VALUE")]
    params: Vec<String>,
    /// Group of the template to apply; all if none is named
    #[arg(long = "group", value_name = "NAME")]
    groups: Vec<String>,
    /// Records the zone has now: JSON or a zone file, - for standard input; an empty zone if not given
    #[arg(long, value_name = "FILE")]
    zone: Option<PathBuf>,
    /// Print the records in the format of another program (octoDNS: the whole zone afterwards)
    #[arg(long, value_name = "FORMAT", value_enum)]
    export: Option<Format>,
    /// Read one case as JSON from standard input, write the plan as JSON
    #[arg(long, conflicts_with_all = ["template", "domain", "host", "params", "groups", "zone", "export"])]
    stdin: bool,
    /// With --stdin: one case with an id on each line, answered in the same order
    #[arg(long, requires = "stdin")]
    batch: bool,
    /// With --stdin: folder of templates named PROVIDER.SERVICE.json, for cases that name one
    #[arg(long, value_name = "DIR", env = "DOMAINSCOPE_TEMPLATES", default_value = "templates")]
    templates: PathBuf,
}

/// Formats of other programs.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    /// Lines of a zone file, deletions as comments
    Bind,
    /// JavaScript of dnscontrol
    Dnscontrol,
    /// Zone file of octoDNS
    Octodns,
    /// Terraform for Cloudflare
    TerraformCloudflare,
    /// Terraform for Amazon Route 53
    TerraformRoute53,
    /// Terraform for Google Cloud DNS
    TerraformGoogle,
}

impl Format {
    /// The stable word of exports.
    fn word(self) -> &'static str {
        match self {
            Format::Bind => "bind",
            Format::Dnscontrol => "dnscontrol",
            Format::Octodns => "octodns",
            Format::TerraformCloudflare => "terraform-cloudflare",
            Format::TerraformRoute53 => "terraform-route53",
            Format::TerraformGoogle => "terraform-google",
        }
    }
}

fn exported(plan: &connect::Plan, domain: &str, format: Format) -> String {
    use connect::export::{TerraformProvider, bind_plan, dnscontrol, octodns, terraform};
    let text = match format {
        Format::Bind => bind_plan(plan, domain),
        Format::Dnscontrol => dnscontrol(&plan.new, domain),
        Format::Octodns => octodns(&plan.records),
        Format::TerraformCloudflare => terraform(&plan.new, domain, TerraformProvider::Cloudflare),
        Format::TerraformRoute53 => terraform(&plan.new, domain, TerraformProvider::Route53),
        Format::TerraformGoogle => terraform(&plan.new, domain, TerraformProvider::Google),
    };
    text.trim_end().to_string()
}

/// Largest input that is read, and largest line of a batch.
const CAP: u64 = 16 << 20;

pub(super) async fn run(args: &ConfigureArgs, engine: &EngineArgs, json: bool) -> Result<Outcome> {
    let Some(Command::Plan(args)) = &args.command else {
        return service::run(&args.service, engine, json).await;
    };
    if args.batch {
        return batch(&args.templates);
    }
    if args.stdin {
        return one_case(&args.templates);
    }
    let Some(template) = &args.template else { return Ok(usage("--template FILE is needed, or --stdin")) };
    let text = read(template)?;
    let template = match serde_json::from_slice(&text) {
        Ok(value) => connect::Template::from_json(&value),
        Err(e) => return Ok(usage(&format!("{} is not JSON: {e}", template.display()))),
    };
    let template = match template {
        Ok(template) => template,
        Err(e) => return Ok(usage(&format!("the template cannot be used: {e}"))),
    };
    let Some(domain) = &args.domain else { return describe(&template, json) };
    plan(args, &template, domain, json)
}

/// What a template is for and what it must be given.
fn describe(template: &connect::Template, json: bool) -> Result<Outcome> {
    if json {
        print_json(&json!({
            "provider": template.provider_name, "provider_id": template.provider_id,
            "service": template.service_name, "service_id": template.service_id,
            "description": template.description, "variable_description": template.variable_description,
            "host_required": template.host_required, "variables": template.variables(&[]),
            "groups": template.groups(), "records": template.records.len(),
        }))?;
    } else {
        super::print(&plan_text::template(template))?;
    }
    Ok(Outcome::Done)
}

fn plan(args: &PlanArgs, template: &connect::Template, domain: &str, json: bool) -> Result<Outcome> {
    let mut request = connect::Request {
        domain: domain.to_string(),
        host: args.host.clone(),
        groups: args.groups.clone(),
        ..connect::Request::default()
    };
    for param in &args.params {
        let Some((name, value)) = param.split_once('=') else {
            return Ok(usage(&format!("--param {param} must be NAME=VALUE")));
        };
        request.params.insert(name.to_string(), value.to_string());
    }
    if let Some(unknown) = args.groups.iter().find(|group| !template.groups().contains(group.as_str())) {
        return Ok(usage(&format!("the template has no group {unknown}")));
    }
    let zone = match &args.zone {
        None => Vec::new(),
        Some(file) => match zone_records(&read(file)?, domain) {
            Ok(zone) => zone,
            Err(e) => return Ok(usage(&format!("--zone {}: {e}", file.display()))),
        },
    };
    let variables = template.variables(&args.groups);
    for name in request.params.keys().filter(|n| !variables.iter().any(|v| v.eq_ignore_ascii_case(n))) {
        note(&format!("The template has no variable {name}; it is ignored.\n"));
    }
    let missing: Vec<String> = variables
        .iter()
        .filter(|v| !request.params.keys().any(|n| v.eq_ignore_ascii_case(n)))
        .map(|v| format!("--param {v}=…"))
        .collect();
    if !missing.is_empty() {
        return Ok(usage(&format!("the template needs {}", missing.join(" "))));
    }
    let plan = match template.apply(&zone, &request) {
        Ok(plan) => plan,
        Err(e) => {
            complain(&format!("the template cannot be applied to {domain}: {e}"));
            return Ok(Outcome::Problems);
        }
    };
    if let Some(format) = args.export {
        super::print(&exported(&plan, domain, format))?;
    } else if json {
        print_json(&plan)?;
    } else {
        super::print(&plan_text::plan(template, &plan, &request))?;
    }
    Ok(Outcome::Done)
}

/// Records as JSON: an array, or an object with `records` or `zone_records` (the output of another plan).
fn zone_records(text: &[u8], domain: &str) -> Result<Vec<connect::Record>, String> {
    let Ok(text) = std::str::from_utf8(text) else { return Err("it is not UTF-8 text".into()) };
    let first = text.trim_start().chars().next();
    if !matches!(first, Some('[' | '{')) {
        return connect::zonefile::parse(text, domain).map_err(|e| e.to_string());
    }
    let value: Value = serde_json::from_str(text).map_err(|e| format!("it is not JSON: {e}"))?;
    let list = ["records", "zone_records"].iter().find_map(|member| value.get(member)).unwrap_or(&value);
    let Value::Array(records) = list else { return Err("an array of records is expected".into()) };
    records.iter().map(|r| connect::Record::from_json(r, domain).map_err(|e| e.to_string())).collect()
}

fn one_case(templates: &Path) -> Result<Outcome> {
    if std::io::stdin().is_terminal() {
        note("Type a case as JSON; Ctrl-D on a line of its own ends it.\n");
    }
    let mut text = Vec::new();
    std::io::stdin().lock().take(CAP).read_to_end(&mut text).context("standard input")?;
    let value: Value = match serde_json::from_slice(&text) {
        Ok(value) => value,
        Err(e) => return Ok(usage(&format!("standard input is not JSON: {e}"))),
    };
    let answer = answer(&value, templates);
    let failed = answer.get("error").is_some();
    print_json(&answer)?;
    Ok(if failed { Outcome::Problems } else { Outcome::Done })
}

fn batch(templates: &Path) -> Result<Outcome> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut input = BufReader::new(std::io::stdin().lock());
    for number in 1_u64.. {
        let mut line = Vec::new();
        if (&mut input).take(CAP).read_until(b'\n', &mut line).context("standard input")? == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let answer = match serde_json::from_slice::<Value>(&line) {
            Ok(case) => {
                // A case may be the input itself with an `id`, or carry it as `input`.
                let input = case.get("input").filter(|input| input.is_object()).unwrap_or(&case);
                let mut answer = answer(input, templates);
                if let (Some(object), Some(id)) = (answer.as_object_mut(), case.get("id")) {
                    object.insert("id".into(), id.clone());
                }
                answer
            }
            Err(e) => {
                json!({ "line": number, "error": { "kind": "TypeError", "message": format!("not JSON: {e}") } })
            }
        };
        let mut line = serde_json::to_vec(&answer)?;
        line.push(b'\n');
        if let Err(e) = out.write_all(&line) {
            written(Err(e))?;
            return Ok(Outcome::Done);
        }
    }
    written(out.flush())?;
    Ok(Outcome::Done)
}

fn answer(input: &Value, templates: &Path) -> Value {
    let find = |provider: &str, service: &str| find_template(templates, provider, service);
    connect::case::output(&connect::case::plan(input, &find, &|| format!("{:032x}", rand::random::<u128>())))
}

/// The template of the folder whose file name is `PROVIDER.SERVICE.json`, without regard to case.
fn find_template(folder: &Path, provider: &str, service: &str) -> connect::Result<Option<connect::Template>> {
    let invalid = |message: String| connect::Error::new(connect::ErrorKind::InvalidTemplate, message);
    let wanted = format!("{provider}.{service}.json");
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(None) };
    let found = entries.flatten().find(|e| e.file_name().to_string_lossy().eq_ignore_ascii_case(&wanted));
    let Some(found) = found else { return Ok(None) };
    let text = read(&found.path()).map_err(|e| invalid(format!("{e:#}")))?;
    let value = serde_json::from_slice(&text).map_err(|e| invalid(format!("{wanted} is not JSON: {e}")))?;
    connect::Template::from_json(&value).map(Some)
}

fn read(file: &Path) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    if file == Path::new("-") {
        std::io::stdin().lock().take(CAP).read_to_end(&mut text).context("standard input")?;
    } else {
        let opened = std::fs::File::open(file).with_context(|| file.display().to_string())?;
        opened.take(CAP).read_to_end(&mut text).with_context(|| file.display().to_string())?;
    }
    Ok(text)
}
