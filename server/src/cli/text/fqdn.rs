//! A report on a host name as one reads it in a terminal: headline, chain as steps, places, the dated plan.

use super::Paint;
use model::finding::Level;
use model::fqdn::{ChainStep, FqdnReport, StageKind, TtlPlan, TypeOutcome, VantageAnswer};
use model::names::both_forms;
use std::fmt::Write;

/// The whole report, with a final line break.
pub fn report(r: &FqdnReport, colour: bool) -> String {
    let paint = Paint(colour);
    let mut out = format!("{}\n", paint.with("1", &both_forms(&r.name)));
    let _ = writeln!(out, "{}", paint.severity(r.tone.severity(), &r.headline));
    let _ = writeln!(out, "{}", r.differences);
    if !r.chain.is_empty() {
        let _ = writeln!(
            out,
            "\n{}  {}",
            paint.with("1", "Chain"),
            paint.with("2", &format!("{}, seen from {}", r.chain_words, inside(&r.chain_from)))
        );
        for (i, step) in r.chain.iter().enumerate() {
            write_step(&mut out, &paint, i + 1, step);
        }
    }
    let _ = writeln!(out, "\n{}", paint.with("1", "Seen from"));
    let width = r.vantages.iter().map(|v| place(v).chars().count()).max().unwrap_or(0);
    for v in &r.vantages {
        let time = v.latency_ms.map(|l| format!("  {l:.0} ms")).unwrap_or_default();
        let _ = writeln!(out, "  {:<width$}  {}{}", place(v), seen(v), paint.with("2", &time));
    }
    if !r.address_space.is_empty() {
        let _ = writeln!(out, "\n{}", paint.with("1", "Address space"));
    }
    for a in &r.address_space {
        let code = if a.place.is_problem() { "33" } else { "0" };
        let _ = writeln!(out, "  {}", paint.with(code, &a.sentence));
    }
    if let Some(plan) = &r.ttl_plan {
        write_plan(&mut out, &paint, plan);
    }
    out
}

/// A label inside a sentence.
fn inside(label: &str) -> String {
    label.strip_prefix("This ").map_or_else(|| label.to_string(), |rest| format!("this {rest}"))
}

fn place(v: &VantageAnswer) -> String {
    v.place.as_ref().map_or_else(|| v.label.clone(), |p| format!("{} · {p}", v.label))
}

fn seen(v: &VantageAnswer) -> String {
    if let Some(e) = &v.error {
        return e.clone();
    }
    let addresses = v.answers.iter().filter(|a| a.rtype == "A" || a.rtype == "AAAA").flat_map(|a| &a.data);
    let list: Vec<&str> = addresses.map(String::as_str).collect();
    if list.is_empty() { "no address".into() } else { list.join(", ") }
}

fn write_step(out: &mut String, paint: &Paint, number: usize, step: &ChainStep) {
    let _ = writeln!(out, "  {} {}", paint.with("1;36", &format!("{number}")), paint.with("1", &step.owner));
    for a in &step.answers {
        let ttl = a.ttl.map(|t| t.to_string()).unwrap_or_default();
        let said = match a.outcome {
            TypeOutcome::Records => a.data.join(", "),
            TypeOutcome::NoData => paint.with("2", "none"),
            TypeOutcome::NxDomain => paint.with("31", "the name does not exist"),
            TypeOutcome::Failed => paint.with("31", "no answer that counts"),
        };
        let _ = writeln!(out, "      {ttl:>6} {:<5} {said}", a.rtype);
    }
    let good = step.servers.iter().filter(|s| s.kind.is_authoritative()).count();
    let all = step.servers.len();
    let servers = match (good, all) {
        (g, a) if g == a && step.agree => format!("{a} of {a} servers agree"),
        (g, a) if step.agree => format!("{g} of {a} servers answer and agree"),
        (g, a) => format!("{g} of {a} servers answer and differ"),
    };
    let provider = step.provider.as_ref().map(|p| format!(" · {}", p.name)).unwrap_or_default();
    if all > 0 {
        let _ =
            writeln!(out, "      {}", paint.with("2", &format!("zone {} · {servers}{provider}", step.zone)));
    }
    for p in &step.problems {
        let code = match p.level {
            Level::Critical | Level::Error => "31",
            Level::Warning => "33",
            _ => "36",
        };
        let _ = writeln!(out, "      {} {}", paint.with(code, &format!("{}:", p.label)), p.sentence);
        if !p.fix.is_empty() {
            let _ = writeln!(out, "        {}", p.fix);
        }
    }
}

fn write_plan(out: &mut String, paint: &Paint, plan: &TtlPlan) {
    let _ = writeln!(
        out,
        "\n{}  {}",
        paint.with("1", "Planning a change?"),
        paint.with("2", &format!("with the TTL of {} s", plan.ttl))
    );
    let _ = writeln!(out, "  {}", plan.sentence);
    let width = plan.stages.iter().map(|s| s.when.chars().count()).max().unwrap_or(0);
    let title = plan.stages.iter().map(|s| s.title.chars().count()).max().unwrap_or(0);
    for (i, s) in plan.stages.iter().enumerate() {
        let code = match s.kind {
            StageKind::Lower => "33",
            StageKind::Change => "36",
            StageKind::Raise => "32",
        };
        let last = i + 1 == plan.stages.len();
        let bar = if last { "└" } else { "├" };
        let _ = writeln!(
            out,
            "  {bar} {} {:<width$}  {:<title$}  {}",
            paint.with(code, "●"),
            s.when,
            s.title,
            s.record
        );
        let bar = if last { " " } else { "│" };
        let _ = writeln!(out, "  {bar}   {:<width$}  {}", "", paint.with("2", &s.detail));
    }
    for note in &plan.notes {
        let _ = writeln!(out, "  {}", paint.with("33", note));
    }
}
