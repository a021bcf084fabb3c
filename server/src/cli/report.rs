//! What `scan` prints for people: the status first, then registration, delegation, zone, each with its source.

use model::certificate::hosts::{Certificates, Condition, issuer};
use model::dns::{Delegation, Dnssec, ServerHealth, ServerState, ZoneSnapshot};
use model::finding::Level;
use model::names::both_forms;
use model::observation::{Observation, Part};
use model::registration::{Registration, RegistrationState};
use model::status::{Status, StatusKind};
use model::time::{StatedTime, human_date, human_day, human_seconds};
use model::verdict::{FindingGroup, finding_groups};
use owo_colors::OwoColorize;
use std::fmt::Write;

const WIDTH: usize = 16;

fn line(out: &mut String, label: &str, value: &str) {
    let _ = writeln!(out, "  {label:<WIDTH$} {value}");
}

fn heading<T>(out: &mut String, title: &str, part: &Part<T>) {
    let source = part.source.as_deref().map(|s| format!("  {}", s.dimmed())).unwrap_or_default();
    let _ = writeln!(out, "\n{}{source}", title.bold());
    if let Some(e) = &part.error {
        // Padded before it is coloured: escapes would count as letters.
        let _ = writeln!(out, "  {} {}", format!("{:<WIDTH$}", "failed").red(), e.sentence);
    }
}

/// A part that neither was read nor failed (the zone of a name that is not delegated) has nothing to say.
fn said<T>(part: &Part<T>) -> bool {
    part.value.is_some() || part.error.is_some()
}

/// The report on one domain.
pub(super) fn scan(o: &Observation, status: &Status, note: Option<&str>, now: jiff::Timestamp) -> String {
    let mut out = String::new();
    let _ = write!(out, "{}", both_forms(o.name.as_str()).bold());
    let word = status.kind.label();
    let word = match status.kind {
        StatusKind::Critical => word.red().bold().to_string(),
        StatusKind::Warning => word.yellow().bold().to_string(),
        StatusKind::Unknown => word.dimmed().to_string(),
        StatusKind::Unlocked => word.blue().to_string(),
        StatusKind::Secure | StatusKind::Normal => word.green().to_string(),
    };
    let _ = writeln!(out, "  {word}");
    for reason in &status.reasons {
        let _ = writeln!(out, "  {}", reason.sentence);
    }
    if let Some(note) = note {
        let _ = writeln!(out, "  {}", note.dimmed());
    }
    heading(&mut out, "Registration", &o.registration);
    match &o.registration.value {
        Some(RegistrationState::Registered(r)) => registration(&mut out, r, now),
        Some(RegistrationState::Available) => {
            line(&mut out, "Outcome", "available: not registered");
        }
        Some(RegistrationState::Reserved) => {
            line(&mut out, "Outcome", "reserved: the registry does not allow its registration");
        }
        None => {}
    }
    heading(&mut out, "Delegation", &o.delegation);
    if let Some(d) = &o.delegation.value {
        delegation(&mut out, d);
    }
    if said(&o.dnssec) {
        heading(&mut out, "DNSSEC", &o.dnssec);
        if let Some(d) = &o.dnssec.value {
            dnssec(&mut out, d);
        }
    }
    if said(&o.zone) {
        heading(&mut out, "Zone", &o.zone);
        if let Some(z) = &o.zone.value {
            zone(&mut out, z);
        }
    }
    if let Some(c) = o.certificates.value.as_ref().filter(|c| !c.hosts.is_empty()) {
        heading(&mut out, "Certificates", &o.certificates);
        certificates(&mut out, c, now);
    }
    let mut groups = finding_groups(&o.findings);
    groups.retain(|m| m.first().is_some_and(|f| f.level >= Level::Notice));
    if !groups.is_empty() {
        let _ = writeln!(out, "\n{}", "Findings".bold());
        for m in &groups {
            finding_group(&mut out, m);
        }
    }
    out.trim_end().to_string()
}

fn certificates(out: &mut String, c: &Certificates, now: jiff::Timestamp) {
    let width = c.hosts.iter().map(|h| h.host.len()).max().unwrap_or(0);
    for h in &c.hosts {
        let words = match (&h.certificate, h.condition(now)) {
            (Some(c), Some(condition)) => {
                let word = match condition {
                    Condition::Good => condition.label().green().to_string(),
                    Condition::Expired => condition.label().red().to_string(),
                    _ => condition.label().yellow().to_string(),
                };
                format!("{word} until {}  {}", human_day(c.not_after), issuer(c).dimmed())
            }
            _ => h.error.as_deref().unwrap_or("none seen").dimmed().to_string(),
        };
        let _ = writeln!(out, "  {:<width$}  {words}", h.host);
    }
}

/// Findings of one tag: level, tag and test case, then what each means, and what to do.
pub(super) fn finding_group(out: &mut String, group: &FindingGroup<'_>) {
    let Some(first) = group.first() else { return };
    let level = match first.level {
        Level::Critical | Level::Error => first.level.as_str().red().to_string(),
        Level::Warning => first.level.as_str().yellow().to_string(),
        _ => first.level.as_str().dimmed().to_string(),
    };
    let _ = writeln!(out, "  {level} {} {}", first.tag, first.test_case.dimmed());
    for finding in group {
        let _ = writeln!(out, "    {}", finding.message);
    }
    if !first.fix.is_empty() {
        let _ = writeln!(out, "    {} {}", "→".dimmed(), first.fix);
    }
}

fn stated(t: Option<StatedTime>, now: jiff::Timestamp, left: bool) -> String {
    let Some(t) = t else { return "not stated".dimmed().to_string() };
    let mut s = format!("{}  {}", human_date(t.date()), t.to_string().dimmed());
    if left {
        let days = t.days_from(now);
        let words = if days < 0 { format!("{} days ago", -days) } else { format!("in {days} days") };
        let _ = write!(s, "  {words}");
    }
    s
}

fn registration(out: &mut String, r: &Registration, now: jiff::Timestamp) {
    let id = r.registrar.iana_id.as_ref().map(|i| format!(" (IANA {i})")).unwrap_or_default();
    let name = r.registrar.name.clone().unwrap_or_else(|| "not stated".dimmed().to_string());
    line(out, "Registrar", &format!("{name}{id}"));
    line(out, "Created", &stated(r.created, now, false));
    line(out, "Modified", &stated(r.updated, now, false));
    line(out, "Expiration", &stated(r.expires, now, true));
    let by_registrar = r.differing_registrar_expires();
    if by_registrar.is_some() {
        line(out, "  at registrar", &stated(by_registrar, now, true));
    }
    let list = |items: Option<Vec<String>>| match items {
        None => "not stated".dimmed().to_string(),
        Some(v) if v.is_empty() => "none".to_string(),
        Some(v) => v.join(", "),
    };
    line(
        out,
        "Status flags",
        &list(r.statuses.as_ref().map(|s| s.iter().map(ToString::to_string).collect())),
    );
    line(out, "Nameservers", &list(r.nameservers.clone()));
    let signed = r.dnssec.as_ref().map(|d| if d.signed { "signed" } else { "unsigned" }.to_string());
    line(out, "DNSSEC", &signed.unwrap_or_else(|| "not stated".dimmed().to_string()));
    for d in &r.disagreements {
        line(out, &format!("  {}", d.field), &format!("{} says {}", d.by.server, d.value));
    }
}

fn delegation(out: &mut String, d: &Delegation) {
    if !d.delegated {
        line(
            out,
            "Delegated",
            &format!(
                "no: {}",
                match d.parent.as_str() {
                    "" | "." => "the root zone does not delegate this top-level domain".to_string(),
                    parent => format!("{parent} does not delegate this name"),
                }
            ),
        );
    }
    if let Some(p) = &d.provider {
        line(out, "DNS provider", &p.name);
    }
    let width = d.servers.iter().map(|s| s.name.len()).max().unwrap_or(0);
    let address = |s: &ServerState| s.address.map_or_else(|| "no address".to_string(), |a| a.to_string());
    let places = d.servers.iter().map(|s| address(s).len()).max().unwrap_or(0);
    let words = d.servers.iter().map(|s| s.health.label().len()).max().unwrap_or(0);
    for s in &d.servers {
        let word = s.health.label();
        // Beside the escapes, so that a line that ends here ends here.
        let fill = " ".repeat(words - word.len());
        let word = match s.health {
            ServerHealth::Authoritative => word.green().to_string(),
            ServerHealth::Slow | ServerHealth::NotAsked => word.yellow().to_string(),
            _ => word.red().to_string(),
        };
        let address = address(s);
        let ms = s.latency_ms.map(|l| format!("{l:.0} ms")).unwrap_or_default();
        let serial = s.serial.map(|n| format!("serial {n}")).unwrap_or_default();
        let line = format!("  {:<width$}  {address:<places$}  {word}{fill}  {ms:>7}  {serial}", s.name);
        let _ = writeln!(out, "{}", line.trim_end());
        for note in &s.notes {
            let _ = writeln!(out, "  {:<width$}  {}", "", note.dimmed());
        }
    }
    if let Some(soa) = d.negative_soa.as_ref().or(d.soa.as_ref()) {
        let n = soa.negative_ttl();
        line(
            out,
            "Negative TTL",
            &format!(
                "{} (the smaller of SOA minimum {} and SOA TTL {})",
                human_seconds(n.into()),
                soa.minimum,
                soa.ttl
            ),
        );
        line(
            out,
            "",
            &format!(
                "a name queried before it existed may stay missing for {}; allow {}",
                human_seconds(n.into()),
                human_seconds(u64::from(n) * 2)
            )
            .dimmed()
            .to_string(),
        );
    }
}

fn dnssec(out: &mut String, d: &Dnssec) {
    line(out, "State", d.status.label());
    line(out, "Because", &d.reason);
    if let Some(t) = d.signatures_expire {
        line(out, "Signatures end", &t.to_string());
    }
}

fn zone(out: &mut String, z: &ZoneSnapshot) {
    let name_width = z.rrsets.iter().map(|r| r.name.len()).max().unwrap_or(0);
    for set in &z.rrsets {
        for data in &set.data {
            let _ = writeln!(out, "  {:<name_width$}  {:>6}  {:<5}  {data}", set.name, set.ttl, set.rtype);
        }
    }
    if z.wildcard == Some(true) {
        line(out, "Wildcard", "names that do not exist are answered (wildcard record)");
    }
    if z.rrsets.is_empty() && !z.unanswered.is_empty() {
        line(out, "unanswered", &format!("all {} questions", z.unanswered.len()));
        return;
    }
    for u in &z.unanswered {
        line(out, "unanswered", u);
    }
}

/// A flat object as `key  value` lines.
pub(super) fn fields(value: &serde_json::Value) -> String {
    let mut out = String::new();
    flatten(&mut out, "", value);
    out.trim_end().to_string()
}

fn flatten(out: &mut String, path: &str, value: &serde_json::Value) {
    use serde_json::Value;
    match value {
        Value::Object(map) => {
            for (k, v) in map {
                let path = if path.is_empty() { k.clone() } else { format!("{path}.{k}") };
                flatten(out, &path, v);
            }
        }
        Value::Null => {}
        Value::Array(items) if items.is_empty() => {}
        Value::Array(items) => {
            let words: Vec<_> =
                items.iter().map(|i| i.as_str().map_or_else(|| i.to_string(), str::to_string)).collect();
            let _ = writeln!(out, "{path:<24} {}", words.join(", "));
        }
        Value::String(s) => {
            let _ = writeln!(out, "{path:<24} {s}");
        }
        other => {
            let _ = writeln!(out, "{path:<24} {other}");
        }
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
