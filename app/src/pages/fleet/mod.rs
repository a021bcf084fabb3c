//! Fleet: the identity of this installation and its points of presence. Adding and revoking are forms to the page's own
//! address.

mod day;
mod join;
mod one_server;

use crate::components::banner::{Tone, banner, page_failure};
use crate::components::icon;
use crate::components::time::Ago;
use crate::resource::json_resource;
use crate::server_fns::{self, FormResult, SettingsPage};
use leptos::prelude::*;
use leptos_meta::Title;
use model::time::relative;
use service::{AgentState, AgentView, FleetReport, RefusedJoin};

const PATH: &str = "/fleet";
/// A way to the server that takes longer is pointed out, in milliseconds.
const SLOW_MS: u32 = 300;

/// The page.
#[component]
pub(crate) fn FleetPage() -> impl IntoView {
    let data = json_resource(|| (), |()| server_fns::fleet());
    view! {
        <Title text="Fleet"/>
        <Suspense>
            {move || data.get().map(|d| match d {
                Ok(p) => page(&p),
                Err(e) => page_failure("The fleet could not be read", &e),
            })}
        </Suspense>
    }
    .into_any()
}

fn page(p: &SettingsPage<FleetReport>) -> AnyView {
    let f = &p.data;
    let online = f.agents.iter().filter(|a| a.state == AgentState::Online).count();
    let sub = match (&f.set, f.agents.len()) {
        (Some(set), 1) => format!("{set} · 1 point of presence, {online} online"),
        (Some(set), n) => format!("{set} · {n} points of presence, {online} online"),
        (None, _) => "not a member of a set".to_string(),
    };
    let outcome = p.outcome.as_ref();
    let refused = outcome.filter(|o| o.form != "invite").and_then(|o| match &o.result {
        FormResult::Refused(e) => Some(banner(Tone::Critical, "Nothing was changed", e.to_string())),
        _ => None,
    });
    view! {
        <div class="page-head"><h1>"Fleet"</h1><span class="sub">{sub}</span></div>
        <div class="grid grid-cols-1 gap-4 content-start">
            {refused}
            {join::made(f, outcome)}
            {attention(f)}
            {agents(f)}
            {(!f.agents.is_empty()).then(|| view! { <one_server::OneServer/> })}
            {third_parties(f)}
            <div class="cols">
                {identity(f)}
                {f.may_change.then(|| join::add(outcome))}
            </div>
        </div>
    }
    .into_any()
}

fn attention(f: &FleetReport) -> AnyView {
    let mut rows: Vec<_> = f.agents.iter().filter_map(|a| finding(a, f)).collect();
    rows.extend(f.refused.iter().map(|r| refused(r, f)));
    if rows.is_empty() {
        return ().into_any();
    }
    let n = rows.len();
    view! {
        <section class="card"><div class="card-head"><h2>"Needs attention"</h2><span class="text-muted">{n}</span></div>{rows}</section>
    }
    .into_any()
}

fn finding(a: &AgentView, f: &FleetReport) -> Option<AnyView> {
    let (picture, class, title, text) = match (a.state, a.latency_ms) {
        (AgentState::Offline, _) => (
            "unlink",
            "i text-critical",
            format!("{} is offline, seen {}", a.id, relative(a.seen_at, f.now)),
            "Looks are made without it. Start the agent again: it goes on with its key. If the machine is gone, revoke it.".to_string(),
        ),
        (AgentState::Online, Some(ms)) if ms > SLOW_MS => (
            "slow",
            "i text-warn",
            slower(a, ms),
            "Measured to this server, not to name servers: its results arrive later and are not wrong.".to_string(),
        ),
        _ => return None,
    };
    let act = (a.state == AgentState::Offline && f.may_change).then(|| revoke(&a.id));
    Some(
        view! {
            <div class="finding">{icon::icon_in(picture, class)}<div><h3>{title}</h3><p>{text}</p></div>{act}</div>
        }
        .into_any(),
    )
}

/// How far away it is, and how far it was a day ago where that is much less.
fn slower(a: &AgentView, ms: u32) -> String {
    match a.hours.first().map(|h| h.median) {
        Some(before) if ms > before.saturating_mul(3) / 2 => {
            format!("{} is {ms} ms away, was {before} ms in the first hour of the last day", a.id)
        }
        _ => format!("{} is {ms} ms away", a.id),
    }
}

/// A request to join with an identity that a member has.
fn refused(r: &RefusedJoin, f: &FleetReport) -> AnyView {
    let from = if r.network.is_empty() { "An unknown network".to_string() } else { r.network.clone() };
    let text = format!(
        "{from} used a valid token {}. Two members never share an id. Join as {}, or revoke {} first. This request did not use up the token.",
        relative(r.at, f.now),
        r.suggested,
        r.id
    );
    let act = f.may_change.then(|| join::make_for(&r.suggested));
    view! {
        <div class="finding">{icon::icon_in("warning", "i text-warn")}<div><h3>{format!("An agent was refused: the id {} exists", r.id)}</h3><p>{text}</p></div>{act}</div>
    }
    .into_any()
}

fn pill(state: AgentState) -> AnyView {
    let (class, picture, word) = match state {
        AgentState::Online => ("pill pill-normal", "ok", "Online"),
        AgentState::Draining => ("pill pill-busy", "clock", "Draining"),
        AgentState::Stopped => ("pill pill-unknown", "minus", "Stopped"),
        AgentState::Offline => ("pill pill-critical", "unlink", "Offline"),
    };
    view! { <span class=class>{icon(picture)}<span>{word}</span></span> }.into_any()
}

fn agents(f: &FleetReport) -> AnyView {
    if f.agents.is_empty() {
        return view! {
            <section class="card empty">{icon::icon_in("fleet", "i i-lg")}
                <h2>"See DNS from more than one place"</h2>
                <p>"A point of presence is the same program on another machine. It opens the connection to this server, and the FQDN analyzer and the comparison then show what the authoritative servers say from there."</p>
            </section>
        }
        .into_any();
    }
    // Neighbours stand together; those without a region come last.
    let mut agents: Vec<_> = f.agents.iter().collect();
    agents.sort_by_key(|a| (a.region.is_empty(), a.region.clone(), a.id.clone()));
    let rows: Vec<_> = agents.into_iter().map(|a| row(a, f)).collect();
    view! {
        <section class="card tbl-wrap">
            <div class="card-head"><h2>"Points of presence"</h2><span class="text-muted">{f.agents.len()}</span><div class="aside">"by region · latency to this server"</div></div>
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Points of presence">
                <table class="tbl">
                    <thead><tr><th scope="col"><span class="mono">"id.k8s.io"</span></th><th scope="col" class="max-sm:hidden">"Version"</th><th scope="col">"State"</th><th scope="col" class="num max-sm:hidden">"Latency, 24 h"</th><th scope="col" class="num max-sm:hidden">"Queue"</th><th scope="col" class="num">"Last seen"</th><th scope="col"><span class="sr-only">"Actions"</span></th></tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            <div class="card-foot text-xs">"A point of presence gets names and record types to look up, nothing else of your organisation. One that stops ends its questions first."</div>
        </section>
    }
    .into_any()
}

/// Revoking, in two steps.
fn revoke(id: &str) -> AnyView {
    let label = format!("Revoke {id}");
    view! {
        <details class="confirm">
            <summary class="btn btn-sm btn-ghost btn-danger" aria-label=label.clone()>"Revoke"</summary>
            <form method="post" action=PATH>
                <input type="hidden" name="do" value="revoke"/>
                <input type="hidden" name="id" value=id.to_string()/>
                <button class="btn btn-sm btn-danger" type="submit">{label.clone()}</button>
            </form>
        </details>
    }
    .into_any()
}

/// How the version of an agent stands to the server's.
fn compared(agent: &str, server: &str) -> &'static str {
    let parts = |v: &str| -> Option<Vec<u32>> { v.split('.').map(|n| n.parse().ok()).collect() };
    match (parts(agent), parts(server)) {
        (Some(a), Some(b)) if a < b => "older than this server",
        (Some(a), Some(b)) if a > b => "newer than this server",
        _ => "another version",
    }
}

fn row(a: &AgentView, f: &FleetReport) -> AnyView {
    let latency = a.latency_ms.map_or_else(|| "–".to_string(), |ms| format!("{ms} ms"));
    let version = if a.version == f.version {
        view! { <span>{a.version.clone()}</span> }.into_any()
    } else {
        view! { <span class="two"><span>{a.version.clone()}</span><small class="text-warn">{compared(&a.version, &f.version)}</small></span> }.into_any()
    };
    let region = if a.region.is_empty() { "no region".to_string() } else { a.region.clone() };
    let class = if a.state == AgentState::Offline { "bad" } else { "" };
    view! {
        <tr class=class>
            <th scope="row"><span class="two"><span class="mono">{a.id.clone()}</span><small>{region}</small></span></th>
            <td class="max-sm:hidden">{version}</td>
            <td>{pill(a.state)}</td>
            <td class="num max-sm:hidden"><span class="flex items-center justify-end gap-2">{day::line(&a.hours, f.now, SLOW_MS)}{latency}</span></td>
            <td class="num max-sm:hidden">{a.queue}</td>
            <td class="num"><Ago at=a.seen_at now=f.now/></td>
            <td class="num">{f.may_change.then(|| revoke(&a.id))}</td>
        </tr>
    }
    .into_any()
}

fn identity(f: &FleetReport) -> AnyView {
    let set = f.set.clone().unwrap_or_else(|| "none".into());
    let (n, octets) = f.claims;
    let tenths = octets * 10 / 1024;
    let others = format!("{n}, {}.{} of 128 KB used", tenths / 10, tenths % 10);
    view! {
        <section class="card"><div class="card-head"><h2>"Identity of this installation"</h2><span class="text-muted">"ClusterClaim"</span><div class="aside"><a href="/apis/datumapis.com/v1alpha/clusterclaims/id.k8s.io" rel="external">"YAML"</a></div></div>
            <dl class="facts">
                <div><dt>"Identity"</dt><dd><span class="mono">{f.id.clone()}</span>" "<small class="mono">"id.k8s.io"</small></dd></div>
                <div><dt>"Set"</dt><dd><span class="mono">{set}</span>" "<small class="mono">"clusterset.k8s.io"</small></dd></div>
                <div><dt>"Other claims"</dt><dd>{others}</dd></div>
                <div><dt>"Version"</dt><dd>{f.version.clone()}" "<small>{format!("accepts agents that speak protocol {} to {}", f.protocols.0, f.protocols.1)}</small></dd></div>
            </dl>
            <div class="card-foot text-xs">"To rename: leave the set, rename, join. Names that end in k8s.io, kubernetes.io or sigs.k8s.io are reserved, except these two."</div>
        </section>
    }
    .into_any()
}

/// Measurement networks of third parties; nothing while their feature is off.
fn third_parties(f: &FleetReport) -> AnyView {
    if f.third_parties.is_empty() {
        return ().into_any();
    }
    let rows: Vec<_> = f.third_parties.iter().map(|t| {
        let key = if t.has_key { "key set" } else { "no key" };
        let credits = match (t.credits, t.credits_at) {
            (Some(n), Some(at)) => view! { <span>{n}</span>" "<small class="text-muted"><Ago at=at now=f.now/></small> }.into_any(),
            _ => view! { <span class="text-muted">"not known yet"</span> }.into_any(),
        };
        let used = format!("{} of {}", t.used_today, t.daily);
        let class = if t.used_today >= t.daily { "num text-warn" } else { "num" };
        view! {
            <tr><th scope="row"><span class="two"><span>{t.name.clone()}</span><small>{t.address.clone()}</small></span></th><td>{key}</td><td class=class>{used}</td><td class="num">{credits}</td></tr>
        }
    }).collect();
    view! {
        <section class="card tbl-wrap">
            <div class="card-head"><h2>"Measurement networks"</h2><span class="text-muted">{f.third_parties.len()}</span><div class="aside">"feature third-party-vantages"</div></div>
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Measurement networks">
                <table class="tbl">
                    <thead><tr><th scope="col">"Network"</th><th scope="col">"Key"</th><th scope="col" class="num">"Measurements today"</th><th scope="col" class="num">"Credits left"</th></tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            <div class="card-foot text-xs">"Run by others: they learn the names that are looked at in the FQDN analyzer and the comparison, and RIPE Atlas publishes its results."</div>
        </section>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(super::compared("0.9.0", "0.10.0"), "older than this server");
        assert_eq!(super::compared("1.0.0", "0.10.0"), "newer than this server");
        assert_eq!(super::compared("0.1.0-rc1", "0.1.0"), "another version");
    }
}
