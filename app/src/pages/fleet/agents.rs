//! The table of points of presence: worst first, then by region. Each row stays where people opened something in it; what it
//! says follows the fleet.

use super::{PATH, SLOW_MS, day};
use crate::components::icon;
use crate::components::time::Ago;
use leptos::prelude::*;
use service::{AgentState, AgentView, FleetReport, RefusedJoin};

/// A row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Row {
    /// A member.
    Agent(String),
    /// An agent that was refused: identity and network.
    Refused(String, String),
}

/// How urgent a row is; the least first.
fn urgency(a: &AgentView) -> u8 {
    match (a.state, a.latency_ms) {
        (AgentState::Offline, _) => 0,
        (AgentState::Online, Some(ms)) if ms > SLOW_MS => 2,
        (AgentState::Draining, _) => 3,
        (AgentState::Stopped, _) => 4,
        (AgentState::Online, _) => 5,
    }
}

/// The rows: worst first; neighbours stand together, and those without a region come last.
fn rows(f: &FleetReport) -> Vec<Row> {
    let mut agents: Vec<_> = f.agents.iter().collect();
    agents.sort_by_key(|a| (urgency(a), a.region.is_empty(), a.region.clone(), a.id.clone()));
    let (worst, others): (Vec<_>, Vec<_>) = agents.into_iter().partition(|a| urgency(a) == 0);
    let agent = |a: &AgentView| Row::Agent(a.id.clone());
    let refused = f.refused.iter().map(|r| Row::Refused(r.id.clone(), r.network.clone()));
    worst.into_iter().map(agent).chain(refused).chain(others.into_iter().map(agent)).collect()
}

/// The table, or what points of presence are for.
pub(super) fn card(live: RwSignal<FleetReport>) -> AnyView {
    let is_empty = Memo::new(move |_| live.with(|f| f.agents.is_empty() && f.refused.is_empty()));
    let card = move || if is_empty.get() { introduction() } else { table(live) };
    view! { {card} }.into_any()
}

fn introduction() -> AnyView {
    view! {
        <section class="card empty">{icon::icon_in("fleet", "i i-lg")}
            <h2>"See DNS from more than one place"</h2>
            <p>"A point of presence is the same program on another machine. It opens the connection to this server, and the FQDN analyzer and the comparison then show what the authoritative servers say from there."</p>
        </section>
    }
    .into_any()
}

fn table(live: RwSignal<FleetReport>) -> AnyView {
    let listed = Memo::new(move |_| live.with(rows));
    let count = move || live.with(|f| f.agents.len());
    view! {
        <section class="card tbl-wrap">
            <div class="card-head"><h2>"Points of presence"</h2><span class="text-muted">{count}</span><div class="aside">"worst first · latency to this server"</div></div>
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Points of presence">
                <table class="tbl">
                    <thead><tr><th scope="col"><span class="mono">"id.k8s.io"</span></th><th scope="col" class="max-sm:hidden">"Region"</th><th scope="col" class="max-sm:hidden">"Version"</th><th scope="col">"State"</th><th scope="col" class="num max-sm:hidden">"Latency, 24 h"</th><th scope="col" class="num max-sm:hidden">"Queue"</th><th scope="col" class="num">"Last seen"</th><th scope="col"><span class="sr-only">"Actions"</span></th></tr></thead>
                    <tbody><For each=move || listed.get() key=Clone::clone children=move |row| match row {
                        Row::Agent(id) => agent(&id, live),
                        Row::Refused(id, network) => refused(&id, &network, live),
                    }/></tbody>
                </table>
            </div>
            <div class="card-foot text-xs">"A point of presence gets names and record types to look up, nothing else of your organisation. One that stops ends its questions first."</div>
        </section>
    }
    .into_any()
}

/// A cell of a member.
fn cell(
    live: RwSignal<FleetReport>,
    id: &str,
    render: fn(&AgentView, &FleetReport) -> AnyView,
) -> impl Fn() -> Option<AnyView> + Send + use<> {
    let id = id.to_string();
    move || live.with(|f| f.agents.iter().find(|a| a.id == id).map(|a| render(a, f)))
}

fn agent(id: &str, live: RwSignal<FleetReport>) -> AnyView {
    let is_bad = {
        let id = id.to_string();
        move || {
            let is_offline = |f: &FleetReport| f.agents.iter().any(|a| a.id == id && urgency(a) == 0);
            if live.with(|f| f.feature_off.is_none() && is_offline(f)) { "bad" } else { "" }
        }
    };
    let act = live.with_untracked(|f| f.may_change).then(|| revoke(id));
    view! {
        <tr class=is_bad>
            <th scope="row"><span class="two"><span class="mono">{id.to_string()}</span>{cell(live, id, covers)}</span></th>
            <td class="max-sm:hidden">{cell(live, id, |a, _| region(&a.region))}</td>
            <td class="max-sm:hidden">{cell(live, id, |a, f| version(&a.version, &f.version))}</td>
            <td>{cell(live, id, |a, f| if f.feature_off.is_some() { pill_off() } else { pill(a.state) })}</td>
            <td class="num max-sm:hidden">{cell(live, id, latency)}</td>
            <td class="num max-sm:hidden">{cell(live, id, queue)}</td>
            <td class="num">{cell(live, id, |a, f| view! { <Ago at=a.seen_at now=f.now/> }.into_any())}</td>
            <td class="num">{act}</td>
        </tr>
    }
    .into_any()
}

/// An agent that was refused although its token was valid.
fn refused(id: &str, network: &str, live: RwSignal<FleetReport>) -> AnyView {
    let is_it = |r: &&RefusedJoin| r.id == id && r.network == network;
    let Some(r) = live.with_untracked(|f| f.refused.iter().find(is_it).cloned()) else {
        return ().into_any();
    };
    let from = if network.is_empty() { "unknown network".to_string() } else { network.to_string() };
    let key = (r.id.clone(), r.network.clone());
    let ago = move || {
        live.with(|f| {
            let found = f.refused.iter().find(|r| (&r.id, &r.network) == (&key.0, &key.1));
            found.map(
                |r| view! { <span class="two"><Ago at=r.at now=f.now/><small>"tried to join"</small></span> },
            )
        })
    };
    let ours = live.with_untracked(|f| f.version.clone());
    view! {
        <tr>
            <th scope="row"><span class="two"><span class="mono">{r.id.clone()}</span><small>{format!("{from}, id taken")}</small></span></th>
            <td class="max-sm:hidden">{region(&r.region)}</td>
            <td class="max-sm:hidden">{version(&r.version, &ours)}</td>
            <td><span class="pill pill-warning">{icon::icon("warning")}<span>"Refused"</span></span></td>
            <td class="num max-sm:hidden"><span class="text-muted">"–"</span></td>
            <td class="num max-sm:hidden"><span class="text-muted">"–"</span></td>
            <td class="num">{ago}</td>
            <td></td>
        </tr>
    }
    .into_any()
}

/// Identities of those that are asked for a second look in place of one that is gone.
pub(super) fn online(f: &FleetReport) -> Vec<&str> {
    let is_online = |a: &&AgentView| a.state == AgentState::Online;
    f.agents.iter().filter(is_online).map(|a| a.id.as_str()).collect()
}

/// Whose second looks a member makes too.
fn covers(a: &AgentView, f: &FleetReport) -> AnyView {
    const NAMED: usize = 3;
    let is_gone = |a: &&AgentView| matches!(a.state, AgentState::Offline | AgentState::Stopped);
    let gone: Vec<_> = f.agents.iter().filter(is_gone).map(|a| a.id.as_str()).collect();
    if a.state != AgentState::Online || gone.is_empty() || f.feature_off.is_some() {
        return ().into_any();
    }
    let whom = match gone.len() {
        n if n > NAMED => format!("{n} places"),
        _ => gone.join(", "),
    };
    let words =
        if online(f).len() == 1 { format!("covers {whom}") } else { format!("covers {whom} with others") };
    view! { <small>{words}</small> }.into_any()
}

fn region(region: &str) -> AnyView {
    if region.is_empty() {
        return view! { <span class="text-muted">"not named"</span> }.into_any();
    }
    view! { <span class="mono">{region.to_string()}</span> }.into_any()
}

fn version(theirs: &str, ours: &str) -> AnyView {
    if theirs.is_empty() || theirs == ours {
        let words = if theirs.is_empty() { "–" } else { theirs };
        return view! { <span>{words.to_string()}</span> }.into_any();
    }
    view! { <span class="two"><span>{theirs.to_string()}</span><small class="text-warn">{compared(theirs, ours)}</small></span> }
        .into_any()
}

fn latency(a: &AgentView, f: &FleetReport) -> AnyView {
    let words = match a.latency_ms {
        Some(ms) if a.state == AgentState::Online => format!("{ms} ms"),
        _ => "–".to_string(),
    };
    view! { <span class="flex items-center justify-end gap-2">{day::line(&a.hours, f.now, SLOW_MS)}{words}</span> }
        .into_any()
}

fn queue(a: &AgentView, f: &FleetReport) -> AnyView {
    let is_gone = matches!(a.state, AgentState::Offline | AgentState::Stopped);
    if is_gone && !online(f).is_empty() && f.feature_off.is_none() {
        return view! { <span class="text-muted">"moved"</span> }.into_any();
    }
    view! { {a.queue} }.into_any()
}

pub(super) fn pill(state: AgentState) -> AnyView {
    let (class, picture, word) = match state {
        AgentState::Online => ("pill pill-normal", "ok", "Online"),
        AgentState::Draining => ("pill pill-busy", "clock", "Draining"),
        AgentState::Stopped => ("pill pill-unknown", "moon", "Stopped"),
        AgentState::Offline => ("pill pill-critical", "unlink", "Offline"),
    };
    view! { <span class=class>{icon::icon(picture)}<span>{word}</span></span> }.into_any()
}

/// While the feature is off, what it was seen to do last says nothing.
fn pill_off() -> AnyView {
    view! { <span class="pill pill-unknown">{icon::icon("moon")}<span>"Turned off"</span></span> }.into_any()
}

/// Revoking, in two steps.
pub(super) fn revoke(id: &str) -> AnyView {
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
pub(super) fn compared(agent: &str, server: &str) -> &'static str {
    let parts = |v: &str| -> Option<Vec<u32>> { v.split('.').map(|n| n.parse().ok()).collect() };
    match (parts(agent), parts(server)) {
        (Some(a), Some(b)) if a < b => "older than this server",
        (Some(a), Some(b)) if a > b => "newer than this server",
        _ => "another version",
    }
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
