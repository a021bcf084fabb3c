//! The nameservers of a zone: every name × address as it answered, latency as a bar.

use super::delegation::nodes::row_id;
use crate::components::status::{health_pill, older_pill};
use crate::components::time::{Ago, millis};
use leptos::prelude::*;
use model::Timestamp;
use model::dns::{AnswerKind, Delegation, ServerHealth, ServerState};
use model::nameserver::{Condition, listed, newest_serial, seen};
use model::observation::Part;

/// The card; nothing while no delegation was read.
pub(crate) fn nameservers(part: &Part<Delegation>, now: Timestamp) -> Option<AnyView> {
    let d = part.value.as_ref()?;
    let asked = part
        .observed_at
        .map(|at| view! { <span>"queried "<Ago at=at now=now/>", every address, uncached"</span> });
    if !d.delegated || d.servers.is_empty() {
        let words = if d.delegated {
            "The parent delegates the name, but none of its servers could be reached.".to_string()
        } else {
            format!("The servers of {} do not delegate this name: it does not resolve.", parent(&d.parent))
        };
        return Some(
            view! {
                <section class="card">
                    <div class="card-head"><h2>"Nameservers"</h2><div class="aside">{asked}</div></div>
                    <div class="card-body"><p>{words}</p></div>
                </section>
            }
            .into_any(),
        );
    }
    let notes: Vec<_> = d.notes.iter().map(|n| view! { <p class="hint">{n.clone()}</p> }).collect();
    let notes = (!notes.is_empty()).then(|| view! { <div class="card-foot">{notes}</div> });
    Some(
        view! {
            <section class="card tbl-wrap">
                <div class="card-head"><h2>"Nameservers"</h2><div class="aside">{asked}</div></div>
                {table(d)}
                {notes}
            </section>
        }
        .into_any(),
    )
}

fn parent(zone: &str) -> String {
    if zone == "." { "the root".into() } else { zone.to_string() }
}

/// The facts of the picture, as a table.
pub(crate) fn table(d: &Delegation) -> AnyView {
    let slowest = d.servers.iter().filter_map(|s| s.latency_ms).fold(200.0_f64, f64::max);
    let mut rows = Vec::new();
    let (mut at, mut place) = (0, 0);
    while at < d.servers.len() {
        let name = &d.servers[at].name;
        let group = d.servers[at..].iter().take_while(|s| s.name == *name).count();
        for (i, s) in d.servers[at..at + group].iter().enumerate() {
            rows.push(server(d, s, (i == 0).then_some((group, place)), slowest));
        }
        (at, place) = (at + group, place + 1);
    }
    view! {
        <div class="tbl-scroll" tabindex="0" role="region" aria-label="Nameservers, table">
            <table class="tbl tbl-tight tbl-ns">
                <thead><tr>
                    <th scope="col">"Name"</th><th scope="col">"Address"</th><th scope="col">"Health"</th>
                    <th scope="col" class="num">"Serial"</th><th scope="col" class="num pr-18">"Latency"</th>
                </tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

/// One address; the first of a name carries the name, which spans the others and is where the picture's link leads.
fn server(d: &Delegation, s: &ServerState, group: Option<(usize, usize)>, slowest: f64) -> AnyView {
    let older = seen(s, newest_serial(&d.servers)).condition == Condition::Behind;
    let health = if older { older_pill() } else { health_pill(s.health) };
    let side = Some(listed(d, s)).filter(|w| !w.is_empty());
    let side = side.map(|w| view! { <small>{w}</small> });
    let head = group.map(|(n, place)| {
        let span = (n > 1).then(|| n.to_string());
        view! {
            <th scope="row" rowspan=span id=row_id(place)><span class="two"><span class="mono">{s.name.clone()}</span>{side}</span></th>
        }
    });
    let class = if group.is_none() { "cont" } else { "" };
    let address = s.address.map_or_else(|| "–".to_string(), |a| a.to_string());
    let serial = match (s.serial, s.kind) {
        (Some(n), _) => view! { <span class="mono">{n.to_string()}</span> }.into_any(),
        (None, AnswerKind::NotAsked) => view! { <span class="text-muted">"–"</span> }.into_any(),
        (None, k) => view! { <span class="text-muted">{k.words()}</span> }.into_any(),
    };
    view! {
        <tr class=class>
            {head}
            <td class="mono">{address}</td>
            <td title=details(s)>{health}</td>
            <td class="num">{serial}</td>
            <td class="num">{latency(s, slowest)}</td>
        </tr>
    }
    .into_any()
}

/// Further facts about the server, as a tooltip.
fn details(s: &ServerState) -> String {
    let mut out = vec![s.kind.words().to_string()];
    match s.tcp {
        Some(true) => out.push("answers over TCP".into()),
        Some(false) => out.push("does not answer over TCP".into()),
        None => {}
    }
    if s.recursion == Some(true) {
        out.push("offers recursion".into());
    }
    out.extend(s.nsid.as_ref().map(|n| format!("NSID {n}")));
    out.extend(s.notes.iter().cloned());
    out.join("; ")
}

fn lat_class(health: ServerHealth) -> &'static str {
    if health == ServerHealth::Slow { "lat slow" } else { "lat" }
}

/// A latency with its bar.
fn latency(s: &ServerState, slowest: f64) -> AnyView {
    match s.latency_ms {
        Some(ms) => {
            let width = format!("--v:{:.0}%", (ms / slowest * 92.0).clamp(2.0, 100.0));
            view! { <span class=lat_class(s.health) style=width><b>{millis(ms)}</b><i aria-hidden="true"></i></span> }
                .into_any()
        }
        None => view! { <span class="text-muted">"–"</span> }.into_any(),
    }
}
