//! The same answers as a table, each verdict with its sentence: what is left of a copy, when it is right, how asked.

use super::live::Live;
use super::verdict::verdict;
use crate::components::time::millis;
use leptos::prelude::*;
use model::Timestamp;
use model::compare::{Judged, Verdict};
use model::time::clock_utc;

/// Folded under the tiles.
pub(super) fn card(live: Live) -> AnyView {
    let rows = move || {
        live.seen.with(|c| {
            c.answers.iter().filter(|j| j.answer.is_some()).map(|j| row(j, c.now)).collect::<Vec<_>>()
        })
    };
    view! {
        <details class="more"><summary>"All answers as a table"</summary>
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Answers of the resolvers, table"><table class="tbl tbl-tight cmp-tbl">
                <thead><tr><th scope="col">"Resolver"</th><th scope="col">"Verdict"</th><th scope="col">"Meaning"</th><th scope="col" class="num">"TTL left"</th>
                    <th scope="col">"Up to date by"</th><th scope="col">"Transport"</th><th scope="col" class="num">"Time"</th></tr></thead>
                <tbody>{rows}</tbody></table></div></details>
    }
    .into_any()
}

/// When it will be right by itself.
pub(super) fn right_by(v: &Verdict, now: Timestamp) -> String {
    match v {
        Verdict::Same => "now".into(),
        Verdict::Different { until: Some(t), .. } => clock_utc(*t, now),
        _ => v.right_at().map_or_else(|| "–".to_string(), |t| clock_utc(t, now)),
    }
}

fn row(j: &Judged, now: Timestamp) -> AnyView {
    let dash = || "–".to_string();
    let answer = j.answer.as_ref();
    // Of a “no” the SOA's TTL is what is left (RFC 2308).
    let left = answer.and_then(|a| a.ttl.or_else(|| a.soa.as_ref().map(|s| s.ttl)));
    let over = answer.and_then(|a| a.carried).map_or("–", |c| c.label());
    let time = answer.and_then(|a| a.latency_ms).map_or_else(dash, millis);
    let tried = answer.filter(|a| a.rcode.is_some()).and_then(|a| a.error.clone());
    let tried = tried.map(|t| view! { <div class="text-muted text-xs wrap">{t}</div> });
    let place = format!("{} · {}", j.resolver.operator, j.resolver.place());
    view! {
        <tr><th scope="row">{j.resolver.name.clone()}<div class="text-muted text-xs wrap">{place}</div></th>
            <td>{verdict(j.verdict.kind())}</td>
            <td class="wrap min-w-64 whitespace-normal"><span class="mono">{j.shows.clone()}</span><div class="text-muted text-xs wrap">{j.sentence.clone()}</div>{tried}</td>
            <td class="num mono">{left.map_or_else(dash, |t| t.to_string())}</td><td>{right_by(&j.verdict, now)}</td>
            <td>{over}</td><td class="num text-muted">{time}</td></tr>
    }
    .into_any()
}
