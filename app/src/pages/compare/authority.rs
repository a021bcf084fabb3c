//! The first panel: the answer of every authoritative server × address, whether they agree, since when.

use crate::components::icon_sm;
use crate::components::time::millis;
use leptos::prelude::*;
use model::compare::{Authority, AuthorityServer};
use model::dns::AnswerKind;
use model::time::human_seconds;

/// The panel.
pub(super) fn card(a: &Authority) -> AnyView {
    let asked = a.servers.iter().filter(|s| s.address.is_some() && s.kind != AnswerKind::NotAsked).count();
    let good = a.servers.iter().filter(|s| s.kind.is_authoritative()).count();
    let (class, picture, words) = match (good, a.agree) {
        (0, _) => {
            ("flex items-center gap-2 text-critical text-xs", "critical", "no usable answer".to_string())
        }
        (_, false) => ("flex items-center gap-2 text-warn text-xs", "warning", "they disagree".to_string()),
        (n, true) if n < asked => {
            ("flex items-center gap-2 text-warn text-xs", "warning", format!("{n} of {asked} responding"))
        }
        (n, true) => ("flex items-center gap-2 text-ok text-xs", "ok", format!("{n} of {asked} agree")),
    };
    let at = jiff::tz::Offset::UTC.to_datetime(a.asked_at);
    let at = format!("queried first, {:02}:{:02}:{:02} UTC", at.hour(), at.minute(), at.second());
    // With aliases, servers of several zones were asked about several names.
    let several = a.servers.iter().any(|s| s.owner != a.name);
    let rows: Vec<_> = a.servers.iter().map(|s| row(s, several)).collect();
    let notes: Vec<_> = a.notes.iter().map(|n| view! { <p class="hint">{n.clone()}</p> }).collect();
    let negative = a.negative_ttl.map(|t| {
        let words = format!(
            "Negative answers from {} are cached for up to {} (negative TTL {t}).",
            a.zone,
            human_seconds(t.into())
        );
        view! { <p class="hint">{words}</p> }
    });
    view! {
        <section class="card tbl-wrap">
            <div class="card-head"><h2>"Authoritative"</h2><span class=class>{icon_sm(picture)}{words}</span><div class="aside">{at}</div></div>
            <div class="card-body grid gap-1 py-2.5 px-4 border-b"><p class="wrap">{a.sentence.clone()}</p>{negative}{notes}</div>
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Authoritative servers, table"><table class="tbl tbl-tight cmp-tbl cmp-auth" role="table">
                <thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">"Server"</th><th scope="col" role="columnheader">{a.rtype.clone()}</th>
                    <th scope="col" role="columnheader" class="num">"TTL"</th><th scope="col" role="columnheader" class="num">"Serial"</th>
                    <th scope="col" role="columnheader" class="num">"Time"</th></tr></thead>
                <tbody role="rowgroup">{rows}</tbody></table></div>
        </section>
    }
    .into_any()
}

fn row(s: &AuthorityServer, several: bool) -> AnyView {
    let dash = || "–".to_string();
    let said = if s.records.is_empty() {
        let class = if s.kind.is_authoritative() || s.kind == AnswerKind::NotAsked {
            "text-muted"
        } else {
            "text-critical"
        };
        view! { <span class=class>{s.kind.words()}</span> }.into_any()
    } else {
        let lines: Vec<_> = s
            .records
            .iter()
            .map(|r| {
                let alias = (r.rtype == "CNAME").then_some("CNAME ");
                view! { <div class="mono wrap min-w-32">{alias}{r.data.clone()}</div> }
            })
            .collect();
        lines.into_any()
    };
    // With aliases every server is asked about the name of its own zone.
    let about = several.then(|| view! { <div class="text-muted text-xs mono wrap">{s.owner.clone()}</div> });
    let address = s.address.map_or_else(|| "no address".to_string(), |a| a.to_string());
    let nsid = s.nsid.clone().map(|n| format!(" · {n}"));
    let notes: Vec<_> =
        s.notes.iter().map(|n| view! { <div class="text-warn text-xs wrap">{n.clone()}</div> }).collect();
    let ttl = s.ttl.map_or_else(dash, |t| t.to_string());
    let serial = s.serial.map_or_else(dash, |n| n.to_string());
    let time = s.latency_ms.map_or_else(dash, millis);
    view! {
        <tr role="row"><th scope="row" role="rowheader"><span class="mono wrap">{s.server.clone()}</span><div class="text-muted text-xs mono wrap">{address}{nsid}</div></th>
            <td role="cell">{about}{said}{notes}</td><td role="cell" class="num mono">{ttl}</td><td role="cell" class="num mono">{serial}</td>
            <td role="cell" class="num text-muted">{time}</td></tr>
    }
    .into_any()
}
