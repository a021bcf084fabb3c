//! A comparison as one reads it in a terminal: the sentence first, then the servers, then a line for each resolver.

use super::Paint;
use model::compare::{Comparison, Judged, VerdictKind};
use model::names::both_forms;
use std::fmt::Write;

fn code(kind: VerdictKind) -> &'static str {
    match kind {
        VerdictKind::Same => "32",
        VerdictKind::Stale | VerdictKind::NegativeCached => "33",
        VerdictKind::Different => "36",
        VerdictKind::Failing => "31",
        VerdictKind::Filtered | VerdictKind::Pending => "2",
    }
}

fn mark(kind: VerdictKind) -> &'static str {
    match kind {
        VerdictKind::Same => "✓",
        VerdictKind::Stale | VerdictKind::NegativeCached => "…",
        VerdictKind::Different => "≠",
        VerdictKind::Failing => "✗",
        VerdictKind::Filtered => "–",
        VerdictKind::Pending => " ",
    }
}

/// The whole comparison, with a final line break.
pub fn comparison(c: &Comparison, colour: bool) -> String {
    let paint = Paint(colour);
    let a = &c.authority;
    let mut out = format!("{}\n", paint.with("1", &format!("{} {}", both_forms(&a.name), a.rtype)));
    let _ = writeln!(out, "{}\n", c.summary.sentence);
    let _ = writeln!(out, "{}", paint.with("1", "Authoritative"));
    let _ = writeln!(out, "  {}", a.sentence);
    for alias in &a.aliases {
        let _ = writeln!(out, "  {} {} CNAME {}", alias.name, alias.ttl, alias.data);
    }
    servers(&mut out, c, &paint);
    for note in a.notes.iter().filter(|n| !a.sentence.contains(n.as_str())) {
        let _ = writeln!(out, "  {}", paint.with("33", &format!("note: {note}")));
    }
    if let Some(stopped) = &c.stopped {
        let _ = writeln!(out, "\n{}", paint.with("33", &stopped.consequence));
        return out;
    }
    let width = columns(c.answers.iter().chain(&c.own));
    let _ = writeln!(out, "\n{}", paint.with("1", "Public resolvers"));
    for j in &c.answers {
        let _ = writeln!(out, "{}", line(j, width, &paint));
    }
    let odd = |j: &&Judged| !matches!(j.verdict.kind(), VerdictKind::Same | VerdictKind::Pending);
    for (first, others) in alike(c.answers.iter().filter(odd)) {
        let _ = write!(out, "\n  {}", first.sentence);
        if !others.is_empty() {
            let _ = write!(out, "\n    {}", paint.with("2", &format!("the same: {}", others.join(", "))));
        }
    }
    if c.answers.iter().any(|j| odd(&j)) {
        out.push('\n');
    }
    if !c.own.is_empty() {
        let _ = writeln!(out, "\n{}", paint.with("1", "This machine’s resolvers"));
        for j in &c.own {
            let _ = writeln!(out, "{}", line(j, width, &paint));
            let _ = writeln!(out, "  {}", paint.with("2", &j.sentence));
        }
    }
    out
}

/// Resolvers of which the same is said, but for the name: the first, and the names of the others.
fn alike<'a>(odd: impl Iterator<Item = &'a Judged>) -> Vec<(&'a Judged, Vec<&'a str>)> {
    let said = |j: &'a Judged| j.sentence.strip_prefix(j.resolver.name.as_str());
    let mut groups: Vec<(&Judged, Vec<&str>)> = Vec::new();
    for j in odd {
        match groups.iter_mut().find(|(first, _)| said(j).is_some() && said(first) == said(j)) {
            Some((_, others)) => others.push(&j.resolver.name),
            None => groups.push((j, Vec::new())),
        }
    }
    groups
}

fn servers(out: &mut String, c: &Comparison, paint: &Paint) {
    let width = c.authority.servers.iter().map(|s| s.server.chars().count()).max().unwrap_or(0);
    let addresses: Vec<String> = c
        .authority
        .servers
        .iter()
        .map(|s| s.address.map_or_else(|| "no address".into(), |a| a.to_string()))
        .collect();
    let address_width = addresses.iter().map(String::len).max().unwrap_or(0);
    for (s, address) in c.authority.servers.iter().zip(&addresses) {
        let said = if s.records.is_empty() {
            let code = if s.kind.is_authoritative() { "33" } else { "31" };
            paint.with(code, s.kind.words())
        } else {
            let data: Vec<&str> = s.records.iter().map(|r| r.data.as_str()).collect();
            let ttl = s.ttl.map(|t| format!("  TTL {t}")).unwrap_or_default();
            format!("{}{ttl}", data.join(", "))
        };
        let serial = s.serial.map(|n| format!("  serial {n}")).unwrap_or_default();
        let time = s.latency_ms.map(|l| format!("  {l:.0} ms")).unwrap_or_default();
        let tail = paint.with("2", &format!("{serial}{time}"));
        let _ = writeln!(out, "  {:<width$}  {address:<address_width$}  {said}{tail}", s.server);
    }
}

#[derive(Clone, Copy)]
struct Columns {
    name: usize,
    shows: usize,
    short: usize,
}

fn columns<'a>(all: impl Iterator<Item = &'a Judged>) -> Columns {
    let mut c = Columns { name: 0, shows: 0, short: 0 };
    for j in all {
        c.name = c.name.max(j.resolver.name.chars().count());
        c.shows = c.shows.max(j.shows.chars().count().min(44));
        c.short = c.short.max(j.short.chars().count());
    }
    c
}

/// One resolver: mark and word, name, what it gives, what goes with that, where it is.
fn line(j: &Judged, c: Columns, paint: &Paint) -> String {
    let kind = j.verdict.kind();
    let shows: String = if j.shows.chars().count() > 44 {
        j.shows.chars().take(43).chain(['…']).collect()
    } else {
        j.shows.clone()
    };
    let word = format!("{} {:<11}", mark(kind), kind.label());
    let place = j.resolver.place();
    let carried =
        j.answer.as_ref().and_then(|a| a.carried).map(model::compare::Carried::label).unwrap_or_default();
    let tail =
        [place.as_str(), carried].iter().filter(|t| !t.is_empty()).copied().collect::<Vec<_>>().join(" · ");
    let text = format!(
        "  {} {:<name$}  {shows:<shows_width$}  {:<short$}  {}",
        paint.with(code(kind), &word),
        j.resolver.name,
        j.short,
        paint.with("2", &tail),
        name = c.name,
        shows_width = c.shows,
        short = c.short,
    );
    text.trim_end().to_string()
}

/// One resolver as it answers, for progress: no columns are known yet.
pub fn answer_line(j: &Judged, colour: bool) -> String {
    line(j, Columns { name: 24, shows: 20, short: 10 }, &Paint(colour))
}

/// How to make a machine forget what it remembers, for those of its resolvers that are not right.
pub fn flush_advice(own: &[Judged], colour: bool) -> String {
    let wrong = |j: &&Judged| {
        matches!(j.verdict.kind(), VerdictKind::Stale | VerdictKind::NegativeCached | VerdictKind::Different)
    };
    if !own.iter().any(|j| wrong(&j)) {
        return String::new();
    }
    let paint = Paint(colour);
    let mut out = format!("\n{}\n", paint.with("1", "How to make this machine forget it"));
    let guides = model::flush::guides();
    let width = guides.iter().map(|g| g.system.chars().count()).max().unwrap_or(0);
    for g in guides {
        let _ = writeln!(out, "  {:<width$}  {}", g.system, g.step);
    }
    out
}
