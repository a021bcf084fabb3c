//! A trace as a tree one wants to read in a terminal: root, top-level domain, zone, and what every server said.

use super::Paint;
use model::dns::{AnswerKind, ServerAnswer, Trace, TraceOutcome, TraceStep};
use model::names::both_forms;
use model::time::human_seconds;
use std::collections::BTreeMap;
use std::fmt::Write;

impl Paint {
    fn kind(&self, kind: AnswerKind, text: &str) -> String {
        let code = match kind {
            AnswerKind::Answer | AnswerKind::Referral => "32",
            AnswerKind::NoData | AnswerKind::NxDomain | AnswerKind::NonAuthoritative => "33",
            AnswerKind::NotAsked => "2",
            _ => "31",
        };
        self.with(code, text)
    }
}

/// The trace as text, with a final line break. Servers that said the same are counted, not listed.
pub fn trace_tree(trace: &Trace, colour: bool) -> String {
    let paint = Paint(colour);
    let mut out = format!("{}\n", paint.with("1", &format!("{} {}", both_forms(&trace.name), trace.rtype)));
    let last = trace.steps.len().saturating_sub(1);
    for (depth, step) in trace.steps.iter().enumerate() {
        write_step(&mut out, &paint, step, depth, depth == last);
    }
    let indent = "   ".repeat(trace.steps.len());
    for record in &trace.records {
        let _ = writeln!(
            out,
            "{indent}{}",
            paint.with("1", &format!("{} {} {} {}", record.name, record.ttl, record.rtype, record.data))
        );
    }
    if let Some(soa) = &trace.soa {
        let _ = writeln!(
            out,
            "{indent}resolvers cache this for {} (SOA of {}: minimum {}, TTL {})",
            human_seconds(soa.negative_ttl().into()),
            if soa.zone == "." { "the root" } else { &soa.zone },
            soa.minimum,
            soa.ttl
        );
    }
    let outcome = match trace.outcome {
        TraceOutcome::Answer => "found",
        TraceOutcome::NoData => "the name exists, the type does not",
        TraceOutcome::NxDomain => "the name does not exist",
        TraceOutcome::Lame => "no server of the last zone gives an answer that counts",
        TraceOutcome::Loop => "the delegations lead in a circle",
        TraceOutcome::Exhausted => "given up at a bound",
    };
    if trace.steps.iter().filter_map(|s| s.referral.as_ref()).any(|r| r.nameservers.iter().any(|n| n.glue)) {
        let _ = writeln!(out, "{}", paint.with("2", "+ the referral holds its address (glue)"));
    }
    let _ = writeln!(out, "{outcome}; {} questions, {:.0} ms", trace.queries, trace.elapsed_ms);
    for note in &trace.notes {
        let _ = writeln!(out, "{}", paint.with("33", &format!("note: {note}")));
    }
    out
}

fn write_step(out: &mut String, paint: &Paint, step: &TraceStep, depth: usize, last: bool) {
    let indent = "   ".repeat(depth);
    let zone = if step.zone == "." { ". (root)" } else { &step.zone };
    let _ = writeln!(out, "{indent}└─ {}", paint.with("1;36", zone));
    let bar = if last { " " } else { "│" };
    let inner = format!("{indent}   {bar} ");
    if let Some(chosen) = step.chosen.and_then(|i| step.answers.get(i)) {
        let _ = writeln!(out, "{inner}{}", server_line(paint, chosen, "▸"));
    }
    for (index, answer) in step.answers.iter().enumerate() {
        let same = step.chosen.and_then(|i| step.answers.get(i)).is_some_and(|c| c.kind == answer.kind);
        if step.chosen != Some(index) && (!same || !answer.notes.is_empty()) {
            let _ = writeln!(out, "{inner}{}", server_line(paint, answer, "·"));
        }
    }
    let mut quiet: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, answer) in step.answers.iter().enumerate() {
        let same = step.chosen.and_then(|i| step.answers.get(i)).is_some_and(|c| c.kind == answer.kind);
        if step.chosen != Some(index) && same && answer.notes.is_empty() {
            *quiet.entry(answer.kind.words()).or_default() += 1;
        }
    }
    for (words, count) in quiet {
        let _ = writeln!(out, "{inner}{}", paint.with("2", &format!("· {count} more: {words}")));
    }
    if let Some(referral) = &step.referral {
        let names: Vec<String> = referral
            .nameservers
            .iter()
            .map(|n| if n.glue { format!("{}+", n.name) } else { n.name.clone() })
            .collect();
        let ds = match referral.ds.len() {
            0 => String::new(),
            n => format!(", DS {n}"),
        };
        let _ = writeln!(
            out,
            "{inner}→ {} (TTL {}{ds}): {}",
            referral.zone,
            referral.ttl,
            shortened(&names).join(" ")
        );
    }
    for note in &step.notes {
        let _ = writeln!(out, "{inner}{}", paint.with("33", &format!("! {note}")));
    }
}

/// Four names and a count: a root has thirteen.
fn shortened(names: &[String]) -> Vec<String> {
    let mut list: Vec<String> = names.iter().take(4).cloned().collect();
    if names.len() > list.len() {
        list.push(format!("… {} more", names.len() - list.len()));
    }
    list
}

fn server_line(paint: &Paint, answer: &ServerAnswer, mark: &str) -> String {
    let address = answer.address.map_or_else(|| "no address".to_string(), |ip| ip.to_string());
    let mut line =
        format!("{mark} {} [{address}] {}", answer.server, paint.kind(answer.kind, answer.kind.words()));
    if let Some(latency) = answer.latency_ms {
        let _ = write!(line, " {latency:.0} ms");
    }
    if answer.truncated {
        line.push_str(" over TCP");
    }
    if let Some(nsid) = &answer.nsid {
        let _ = write!(line, " nsid={nsid}");
    }
    if !answer.notes.is_empty() {
        let _ = write!(line, " ({})", answer.notes.join("; "));
    }
    line
}
