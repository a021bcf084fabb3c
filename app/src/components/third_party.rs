//! What places of measurement networks (Globalping, RIPE Atlas) get for a name. Loads after the page,
//! as their answers take up to a minute; nothing while their feature is off.

use crate::components::tool::waiting;
use crate::resource::late;
use crate::server_fns;
use leptos::prelude::*;
use model::third_party::{ThirdPartyAnswer, ThirdPartyLook};
use std::time::Duration;

/// How long an answer that comes at once, as without the feature, may take before the page says that it waits.
const AT_ONCE: Duration = Duration::from_millis(800);

/// The card; `server` is the name server to ask, empty for the resolver of each place.
#[component]
pub(crate) fn ThirdPartyCard(name: String, rtype: String, server: String) -> impl IntoView {
    let data = late(move || server_fns::ask_third_parties(name.clone(), rtype.clone(), server.clone()));
    let is_slow = RwSignal::new(false);
    Effect::new(move |_| {
        let tick = move || {
            is_slow.try_set(true);
        };
        if let Ok(handle) = set_timeout_with_handle(tick, AT_ONCE) {
            on_cleanup(move || handle.clear());
        }
    });
    move || {
        data.with(|d| match d {
            Some(Ok(look)) if !look.answers.is_empty() || !look.problems.is_empty() => card(look),
            // Roles and limits: the rest of the page is complete without it.
            Some(_) => ().into_any(),
            None if is_slow.get() => waiting("Waiting for the places of measurement networks…"),
            None => ().into_any(),
        })
    }
}

fn card(look: &ThirdPartyLook) -> AnyView {
    let rows: Vec<_> = look.answers.iter().map(|a| row(a, &look.rtype)).collect();
    let aside = match look.server.as_str() {
        "" => "through the resolver of each place; may be cached copies".to_string(),
        server => format!("asked of {server}, uncached"),
    };
    view! {
        <section class="card tbl-wrap">
            <div class="card-head"><h2>"From measurement networks"</h2><span class="text-muted">{look.answers.len()}</span><div class="aside">{aside}</div></div>
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Answers from measurement networks">
                <table class="tbl tbl-tight">
                    <thead><tr><th scope="col">"Source"</th><th scope="col">"Place"</th><th scope="col">"Server"</th><th scope="col" class="num">"Answer time"</th><th scope="col">"Answer"</th></tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            <div class="card-foot text-xs">{look.sentence()}</div>
        </section>
    }
    .into_any()
}

fn row(a: &ThirdPartyAnswer, rtype: &str) -> AnyView {
    let time = a.latency_ms.map_or_else(|| "–".to_string(), |ms| format!("{ms:.0} ms"));
    let (class, words) = match (&a.error, a.rcode.as_deref(), a.data(rtype)) {
        (Some(error), ..) => ("text-critical", error.clone()),
        (None, Some("NOERROR"), data) if !data.is_empty() => ("mono wrap", data.join(", ")),
        (None, Some("NOERROR"), _) => ("text-warn", format!("no {rtype} record")),
        (None, Some("NXDOMAIN"), _) => ("text-warn", "the name does not exist".to_string()),
        (None, rcode, _) => ("text-critical", rcode.unwrap_or("no answer").to_string()),
    };
    let server = match &a.nsid {
        Some(id) => format!("{} ({id})", a.server),
        None => a.server.clone(),
    };
    view! {
        <tr><th scope="row">{a.source.clone()}</th><td>{a.place.clone()}<div class="text-muted text-xs">{a.network.clone()}</div></td><td class="mono text-muted">{server}</td><td class="num">{time}</td><td class=class>{words}</td></tr>
    }
    .into_any()
}
