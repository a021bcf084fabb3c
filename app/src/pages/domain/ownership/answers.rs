//! What each authoritative server returned in the last round.

use crate::components::icon_sm;
use crate::components::time::instant;
use leptos::prelude::*;
use model::ownership::{ClaimRecord, Method, Reply, ServerAnswer, ServerVerdict};

/// Values of one answer that are shown.
const SHOWN: usize = 4;

/// The card; nothing before the first check.
pub(super) fn answers(r: &ClaimRecord) -> Option<AnyView> {
    let round = r.round.as_ref()?;
    let is_file = r.claim.method == Method::Http;
    let title = if is_file { "What the web server returns" } else { "What each name server returns" };
    let rows: Vec<_> = round.servers.iter().map(|(server, verdict)| row(server, verdict, is_file)).collect();
    let serial = (!is_file).then(|| view! { <th scope="col" class="num">"Serial"</th> });
    Some(
        view! {
            <section class="card tbl-wrap">
                <div class="card-head"><h2>{title}</h2><div class="aside text-muted">{instant(round.at)}</div></div>
                <div class="tbl-scroll" tabindex="0" role="region" aria-label=title>
                    <table class="tbl tbl-tight">
                        <thead><tr>
                            <th scope="col">"Server"</th><th scope="col">"Meaning"</th><th scope="col">"Address"</th>
                            {serial}<th scope="col">"Answer"</th>
                        </tr></thead>
                        <tbody>{rows}</tbody>
                    </table>
                </div>
            </section>
        }
        .into_any(),
    )
}

fn row(server: &ServerAnswer, verdict: &ServerVerdict, is_file: bool) -> AnyView {
    let (class, picture, words) = match verdict {
        ServerVerdict::Holds => ("flex items-center gap-2 text-ok", "ok", "Holds the value"),
        ServerVerdict::Lacks if is_file => {
            ("flex items-center gap-2 text-warn", "unknown", "Not the expected file")
        }
        ServerVerdict::Lacks => ("flex items-center gap-2 text-warn", "unknown", "Value missing"),
        ServerVerdict::Unusable { .. } => ("flex items-center gap-2 text-critical", "x", "Does not count"),
    };
    let answer = match &server.reply {
        Reply::NoSuchName if is_file => "No such file".to_string(),
        Reply::NoSuchName => "NXDOMAIN".to_string(),
        Reply::Unusable { reason } => reason.clone(),
        Reply::Records { values } if values.is_empty() && is_file => "Another page".to_string(),
        Reply::Records { values } if values.is_empty() => "No record".to_string(),
        Reply::Records { values } => {
            let more = values.len().saturating_sub(SHOWN);
            let mut all: Vec<String> =
                values.iter().take(SHOWN).map(|v| format!("{} {}", v.rtype, v.text)).collect();
            if more > 0 {
                all.push(format!("and {more} more"));
            }
            all.join(", ")
        }
    };
    let address = server.address.map_or_else(|| "–".to_string(), |ip| ip.to_string());
    let serial = server.serial.map_or_else(|| "–".to_string(), |n| n.to_string());
    let serial = (!is_file).then(|| view! { <td class="num mono">{serial}</td> });
    view! {
        <tr>
            <th scope="row" class="mono">{server.nameserver.clone()}</th>
            <td><span class=class>{icon_sm(picture)}{words}</span></td>
            <td class="mono text-muted">{address}</td>
            {serial}
            <td class="mono wrap">{answer}</td>
        </tr>
    }
    .into_any()
}
