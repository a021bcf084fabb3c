//! A template and a plan in words, for people at a terminal.

use connect::{Plan, Record, Request, Template};
use owo_colors::OwoColorize;
use std::fmt::Write;

/// What a template is for and what it must be given.
pub(super) fn template(template: &Template) -> String {
    let mut text = format!(
        "{} by {}  ({}.{})\n",
        template.service_name.bold(),
        template.provider_name,
        template.provider_id,
        template.service_id
    );
    if let Some(description) = &template.description {
        let _ = writeln!(text, "{description}");
    }
    let variables = template.variables(&[]);
    if variables.is_empty() {
        text.push_str("\nIt has no variables.\n");
    } else {
        text.push_str("\nVariables, each to be given as --param NAME=VALUE:\n");
        for variable in variables {
            let _ = writeln!(text, "  {variable}");
        }
        if let Some(description) = &template.variable_description {
            let _ = writeln!(text, "  {description}");
        }
    }
    if !template.groups().is_empty() {
        let groups: Vec<&str> = template.groups().into_iter().collect();
        let _ = writeln!(text, "\nGroups, to apply a part with --group NAME: {}", groups.join(", "));
    }
    if template.host_required {
        text.push_str("\nIt works below a host only: give --host NAME.\n");
    }
    text.push_str(
        "\nGive --domain NAME to see what it changes, and --zone FILE for the records the zone has.",
    );
    text
}

/// What to create and delete.
pub(super) fn plan(template: &Template, plan: &Plan, request: &Request) -> String {
    let place = if request.host.is_empty() || request.host == "@" {
        request.domain.clone()
    } else {
        format!("{}.{}", request.host, request.domain)
    };
    let mut text = format!("{} by {} for {place}\n", template.service_name.bold(), template.provider_name);
    if plan.is_empty() {
        text.push_str("\nNothing to do: the zone has all of it.");
        return text;
    }
    section(&mut text, "Delete", '-', &plan.delete);
    section(&mut text, "Create", '+', &plan.new);
    for warning in &plan.warnings {
        let _ = writeln!(text, "\n{} {warning}.", "Warning:".yellow());
    }
    let unchanged = plan.records.len().saturating_sub(plan.new.len());
    let _ = write!(
        text,
        "\n{} to create, {} to delete, {unchanged} unchanged. Nothing has been changed: enter this at your DNS provider.",
        plan.new.len(),
        plan.delete.len()
    );
    text
}

fn section(text: &mut String, title: &str, sign: char, records: &[Record]) {
    if records.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{title}");
    let names: Vec<String> = records.iter().map(connect::export::owner_name).collect();
    let width = names.iter().map(String::len).max().unwrap_or_default();
    for (record, name) in records.iter().zip(names) {
        let ttl = record.ttl.map(|ttl| format!("TTL {ttl}")).unwrap_or_default();
        let line = format!("  {sign} {name:width$}  {:<8} {}", record.kind, connect::export::value(record));
        let line = format!("{line}  {}", ttl.dimmed());
        let _ =
            if sign == '-' { writeln!(text, "{}", line.red()) } else { writeln!(text, "{}", line.green()) };
    }
}
