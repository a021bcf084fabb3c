//! The chain of aliases as steps: owner, where it leads or what stands at its end, zone, servers, TTL, and what is
//! wrong in words.

use crate::components::icon;
use crate::components::time::millis;
use leptos::prelude::*;
use model::compare::AuthorityServer;
use model::finding::Level;
use model::fqdn::{ChainProblem, ChainStep, ProblemKind, TypeAnswer, TypeOutcome};
use model::time::human_seconds;

/// The card; nothing where no place saw a chain.
pub(super) fn card(chain: &[ChainStep], words: &str, from: &str) -> Option<AnyView> {
    if chain.is_empty() {
        return None;
    }
    let last = chain.len() - 1;
    let steps: Vec<_> = chain.iter().enumerate().map(|(i, s)| step(i, s, i == last)).collect();
    let from = from.strip_prefix("This ").map_or_else(|| from.to_string(), |rest| format!("this {rest}"));
    Some(
        view! {
            <section class="card">
                <div class="card-head"><h2>"CNAME chain"</h2><span class="min-w-0 truncate text-muted">{words.to_string()}</span>
                    <div class="aside">{format!("seen from {from}")}</div></div>
                <ol class="steps">{steps}</ol>
            </section>
        }
        .into_any(),
    )
}

fn step(i: usize, s: &ChainStep, last: bool) -> AnyView {
    let worst = s.problems.iter().map(|p| p.level).max();
    let (class, mark) = match worst {
        Some(l) if l >= Level::Error => ("dot critical", "!".to_string()),
        Some(Level::Warning) => ("dot warn", "!".to_string()),
        _ if last => ("dot ok", String::new()),
        _ => ("dot", (i + 1).to_string()),
    };
    let mark = if mark.is_empty() { icon("check").into_any() } else { mark.into_any() };
    let none = !s.answers.is_empty() && s.answers.iter().all(|a| a.outcome == TypeOutcome::NxDomain);
    // Absence is of the name, not of each type.
    let said: Vec<_> = if none { Vec::new() } else { s.answers.iter().map(answer).collect() };
    let ttl = s.ttl.map(|t| {
        let words = format!("cached for at most {}", human_seconds(t.into()));
        view! { <span class="mono text-xs" title=words>{format!("TTL {t}")}</span> }
    });
    let pills: Vec<_> = s.problems.iter().map(pill).collect();
    let notes: Vec<_> = s.problems.iter().map(note).collect();
    view! {
        <li>
            <span class=class aria-hidden="true">{mark}</span>
            <div class="flex-1 min-w-0">
                <div class="mono font-semibold wrap">{s.owner.clone()}</div>
                <div class="grid grid-cols-[auto_minmax(0,1fr)] gap-y-1 gap-x-2 items-baseline justify-items-start my-1">{said}</div>
                {held(s)}
                {notes}
            </div>
            <div class="side">{ttl}{pills}</div>
            {servers(s)}
        </li>
    }
    .into_any()
}

/// One record type with its answer.
fn answer(a: &TypeAnswer) -> AnyView {
    let said = match a.outcome {
        TypeOutcome::Records => {
            let lines: Vec<_> =
                a.data.iter().map(|d| view! { <div class="mono wrap">{shown(&a.rtype, d)}</div> }).collect();
            lines.into_any()
        }
        TypeOutcome::NoData => view! { <span class="text-muted">"none"</span> }.into_any(),
        TypeOutcome::NxDomain => {
            view! { <span class="text-critical">"the name does not exist"</span> }.into_any()
        }
        TypeOutcome::Failed => view! { <span class="text-critical">"no usable answer"</span> }.into_any(),
    };
    view! { <span class="rtype">{a.rtype.clone()}</span><div>{said}</div> }.into_any()
}

/// A host name without its final dot; other data as they are.
fn shown(rtype: &str, data: &str) -> String {
    if rtype == "CNAME" { data.trim_end_matches('.').to_string() } else { data.to_string() }
}

/// Who holds this step: `zone alder.example · 3 servers agree · Meridian DNS`.
fn held(s: &ChainStep) -> Option<AnyView> {
    if s.zone.is_empty() {
        return None;
    }
    let zone = if s.zone == "." { "the root".to_string() } else { s.zone.clone() };
    let asked = s.servers.len();
    let good = s.servers.iter().filter(|x| x.kind.is_authoritative()).count();
    let servers = match (good, asked, s.agree) {
        (_, 0, _) => String::new(),
        (0, a, _) => format!(" · none of {a} server addresses gives a usable answer"),
        (1, 1, true) => " · its one server address responds".into(),
        (g, a, true) if g == a => format!(" · {a} server addresses agree"),
        (g, a, true) => format!(" · {g} of {a} server addresses responding"),
        (g, a, false) => format!(" · {g} of {a} server addresses responding, answers differ"),
    };
    let provider = s.provider.as_ref().map(|p| format!(" · {}", p.name)).unwrap_or_default();
    Some(
        view! { <div class="text-muted text-xs wrap">"zone "<span class="mono">{zone}</span>{servers}{provider}</div> }
            .into_any(),
    )
}

fn look(p: &ChainProblem) -> (&'static str, &'static str) {
    let picture = match p.kind {
        ProblemKind::LongTtl | ProblemKind::ShortTtl => Some("clock"),
        ProblemKind::Disagree => Some("compare"),
        ProblemKind::OtherProvider => Some("ext"),
        _ => None,
    };
    let (class, own) = match p.level {
        Level::Critical | Level::Error => ("pill pill-critical", "critical"),
        Level::Warning => ("pill pill-warning", "warning"),
        Level::Notice => ("pill pill-unlocked", "info"),
        _ => ("pill pill-plain", "info"),
    };
    (class, picture.unwrap_or(own))
}

fn pill(p: &ChainProblem) -> AnyView {
    let (class, picture) = look(p);
    view! { <span class=class>{icon(picture)}<span>{p.label.clone()}</span></span> }.into_any()
}

fn note(p: &ChainProblem) -> AnyView {
    let class = match p.level {
        Level::Critical | Level::Error => "text-critical text-xs wrap",
        Level::Warning => "text-warn text-xs wrap",
        _ => "text-muted text-xs wrap",
    };
    let fix = (!p.fix.is_empty()).then(|| format!(" {}", p.fix));
    view! { <p class=class>{p.sentence.clone()}<span class="text-text">{fix}</span></p> }.into_any()
}

fn servers(s: &ChainStep) -> Option<AnyView> {
    if s.servers.is_empty() {
        return None;
    }
    let rows: Vec<_> = s.servers.iter().map(server).collect();
    let label = format!("Servers of {}, table", s.zone);
    Some(
        view! {
            <details class="said"><summary class="text-xs">"Answers of every server"</summary>
                <div class="tbl-scroll" tabindex="0" role="region" aria-label=label><table class="tbl tbl-tight">
                    <thead><tr><th scope="col">"Server"</th><th scope="col">"Address"</th><th scope="col">"Answer"</th><th scope="col" class="num">"Serial"</th><th scope="col" class="num">"Time"</th></tr></thead>
                    <tbody>{rows}</tbody></table></div></details>
        }
        .into_any(),
    )
}

fn server(a: &AuthorityServer) -> AnyView {
    let none = || "–".to_string();
    let address = a.address.map_or_else(none, |x| x.to_string());
    let records: Vec<_> = a.records.iter().map(|r| r.data.trim_end_matches('.').to_string()).collect();
    let said = if records.is_empty() {
        let class = if a.kind.is_authoritative() { "text-muted" } else { "text-warn" };
        view! { <span class=class>{a.kind.words()}</span> }.into_any()
    } else {
        view! { <span class="mono">{records.join(", ")}</span> }.into_any()
    };
    view! {
        <tr><th scope="row" class="mono">{a.server.clone()}</th><td class="mono">{address}</td>
            <td title=a.notes.join("; ")>{said}</td><td class="num mono">{a.serial.map_or_else(none, |n| n.to_string())}</td>
            <td class="num">{a.latency_ms.map_or_else(none, millis)}</td></tr>
    }
    .into_any()
}
