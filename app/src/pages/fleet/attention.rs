//! What needs attention in the fleet, worst first. Findings stay where people opened something in them; what they say follows
//! the fleet.

use super::agents::{online, revoke};
use super::{SLOW_MS, join};
use crate::components::icon;
use leptos::prelude::*;
use model::time::relative;
use service::{AgentState, AgentView, FleetReport, RefusedJoin};

/// What a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum About {
    /// A member that is gone without having said so.
    Offline(String),
    /// An agent that was refused: identity and network.
    Refused(String, String),
    /// A member whose way to the server is slow.
    Slow(String),
}

/// What needs attention, worst first; nothing while the feature is off, because all of it follows from that.
fn findings(f: &FleetReport) -> Vec<About> {
    if f.feature_off.is_some() {
        return Vec::new();
    }
    let offline = f.agents.iter().filter(|a| a.state == AgentState::Offline);
    let is_slow =
        |a: &&AgentView| a.state == AgentState::Online && a.latency_ms.is_some_and(|ms| ms > SLOW_MS);
    let refused = f.refused.iter().map(|r| About::Refused(r.id.clone(), r.network.clone()));
    let slow = f.agents.iter().filter(is_slow).map(|a| About::Slow(a.id.clone()));
    offline.map(|a| About::Offline(a.id.clone())).chain(refused).chain(slow).collect()
}

/// The card; nothing when all is well.
pub(super) fn card(live: RwSignal<FleetReport>) -> AnyView {
    let listed = Memo::new(move |_| live.with(findings));
    let is_shown = Memo::new(move |_| !listed.with(Vec::is_empty));
    let card = move || {
        is_shown.get().then(|| {
            view! {
                <section class="card"><div class="card-head"><h2>"Needs attention"</h2><span class="text-muted">{move || listed.with(Vec::len)}</span><div class="aside">"worst first"</div></div>
                    <For each=move || listed.get() key=Clone::clone children=move |about| finding(about, live)/>
                </section>
            }
        })
    };
    view! { {card} }.into_any()
}

fn finding(about: About, live: RwSignal<FleetReport>) -> AnyView {
    let (picture, class) = match &about {
        About::Offline(_) => ("unlink", "i text-critical"),
        About::Refused(..) => ("warning", "i text-warn"),
        About::Slow(_) => ("slow", "i text-warn"),
    };
    let act = live.with_untracked(|f| f.may_change.then(|| action(&about, f))).flatten();
    let words = Memo::new(move |_| live.with(|f| sentences(&about, f)));
    let (title, text) =
        (move || words.get().map(|(title, _)| title), move || words.get().map(|(_, text)| text));
    view! {
        <div class="finding">{icon::icon_in(picture, class)}<div><h3>{title}</h3><p>{text}</p></div>{act}</div>
    }
    .into_any()
}

fn action(about: &About, f: &FleetReport) -> Option<AnyView> {
    match about {
        About::Offline(id) => Some(revoke(id)),
        About::Refused(id, network) => of(f, id, network).map(join::make_for),
        About::Slow(_) => None,
    }
}

fn of<'a>(f: &'a FleetReport, id: &str, network: &str) -> Option<&'a RefusedJoin> {
    f.refused.iter().find(|r| r.id == id && r.network == network)
}

/// Title and text; `None` once it is over.
fn sentences(about: &About, f: &FleetReport) -> Option<(String, String)> {
    let agent = |id: &str| f.agents.iter().find(|a| a.id == id);
    Some(match about {
        About::Offline(id) => {
            let a = agent(id)?;
            let text = format!(
                "The connection ended without a drain. {} Start the agent again: it goes on with its key. If the machine is gone, revoke it.",
                moved(f)
            );
            (format!("{id} is offline, seen {}", relative(a.seen_at, f.now)), text)
        }
        About::Slow(id) => {
            let a = agent(id)?;
            let text =
                "Measured to this server, not to name servers: its results arrive later and are not wrong.";
            (slower(a, a.latency_ms?), text.to_string())
        }
        About::Refused(id, network) => {
            let r = of(f, id, network)?;
            let from = if network.is_empty() { "An unknown network" } else { network.as_str() };
            let text = format!(
                "{from} used a valid token {}. Two members never share an id. Join as {}, or revoke {id} first. This request did not use up the token.",
                relative(r.at, f.now),
                r.suggested
            );
            (format!("An agent was refused: the id {id} exists"), text)
        }
    })
}

/// Who makes the second looks of one that is gone.
fn moved(f: &FleetReport) -> String {
    match online(f)[..] {
        [] => "No other place is online, so no second look is made.".into(),
        [one] => format!("Its second looks moved to {one}."),
        [one, two] => format!("Its second looks moved to {one} and {two}."),
        [one, two, three] => format!("Its second looks moved to {one}, {two} and {three}."),
        ref all => format!("Its second looks moved to the {} places that are online.", all.len()),
    }
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
