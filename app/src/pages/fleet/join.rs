//! Adding a point of presence: the form that makes a token, the command to run, and whether the agent has come.

use super::{PATH, pill};
use crate::components::banner::{Tone, banner};
use crate::components::copy::copy_button;
use crate::components::icon::{icon, icon_sm};
use crate::resource::json_resource;
use crate::server_fns::{self, FormOutcome, FormResult};
use leptos::prelude::*;
use model::Timestamp;
use model::time::relative;
use service::{AgentView, FleetReport, RefusedJoin};
use std::time::Duration;

/// How often the page asks whether the agent has joined.
const EVERY: Duration = Duration::from_secs(3);
/// Looks at most: the token has ended by then.
const MOST: u32 = 300;

/// The form that makes a token, with what was typed into it.
pub(super) fn add(outcome: Option<&FormOutcome>) -> AnyView {
    let typed = |field| outcome.filter(|o| o.form == "invite").map(|o| o.value(field)).unwrap_or_default();
    let refused = outcome.filter(|o| o.form == "invite").and_then(|o| match &o.result {
        FormResult::Refused(e) => Some(
            view! { <div role="alert">{banner(Tone::Critical, "No token was made", e.to_string())}</div> },
        ),
        _ => None,
    });
    view! {
        <section class="card"><div class="card-head"><h2>"Add a point of presence"</h2></div>
            <form class="card-body grid grid-cols-1 gap-4 content-start" method="post" action=PATH>
                {refused}
                <input type="hidden" name="do" value="invite"/>
                <div class="grid grid-cols-2 gap-3 max-sm:grid-cols-1">
                    <div class="field"><label class="label" for="agent-id">"Id"</label>
                        <input class="input mono" id="agent-id" name="id" maxlength="63" autocomplete="off" autocapitalize="none" spellcheck="false" placeholder="gru-2" aria-describedby="agent-hint" value=typed("id")/></div>
                    <div class="field"><label class="label" for="agent-region">"Region"</label>
                        <input class="input" id="agent-region" name="region" maxlength="80" autocomplete="off" placeholder="sa-east" aria-describedby="agent-hint" value=typed("region")/></div>
                </div>
                <p class="hint" id="agent-hint">"Id: lower-case letters, digits, hyphens; at most 63. It can’t change while the agent is a member. Empty: a UUID. Region: where it is, in your words."</p>
                <p class="hint">"Makes a token with which one agent can join, once, within 15 minutes. The agent makes its own key pair and opens outgoing connections only."</p>
                <div><button class="btn btn-primary" type="submit">{icon("plus")}"Make a token"</button></div>
            </form>
        </section>
    }
    .into_any()
}

/// A button that makes a token for this identity.
pub(super) fn make_for(id: &str) -> AnyView {
    view! {
        <form method="post" action=PATH>
            <input type="hidden" name="do" value="invite"/>
            <input type="hidden" name="id" value=id.to_string()/>
            <button class="btn btn-sm" type="submit">{icon_sm("plus")}{format!("Make a token for {id}")}</button>
        </form>
    }
    .into_any()
}

/// The command of a token that was made now, and a look out for the agent; nothing else has one.
pub(super) fn made(f: &FleetReport, outcome: Option<&FormOutcome>) -> Option<AnyView> {
    let outcome = outcome?;
    let FormResult::AgentToken { token, site } = &outcome.result else { return None };
    let (id, region) = (outcome.value("id").trim().to_string(), outcome.value("region").trim().to_string());
    let option = |name: &str, value: &str| match value.is_empty() {
        true => String::new(),
        false => format!(" --{name} {}", quoted(value)),
    };
    let command = format!(
        "domainscope agent --join {site}{}{} --token {}",
        option("id", &id),
        option("region", &region),
        token.token
    );
    let ends = relative(token.expires_at, f.now);
    let known: Vec<String> = f.agents.iter().map(|a| a.id.clone()).collect();
    Some(
        view! {
            <div class="banner banner-ok">{icon("ok")}
                <div class="flex-1 min-w-0 grid grid-cols-1 gap-4 content-start">
                    <div role="status"><strong>"Run this where the point of presence is to be"</strong>
                        <p>{format!("The token works once and ends {ends}.")}</p></div>
                    <dl class="rec"><div><dt>"Command"</dt><dd>{command.clone()}</dd><dd>{copy_button("Command", command)}</dd></div></dl>
                    <Arrival id known since=f.now/>
                </div>
            </div>
        }
        .into_any(),
    )
}

/// A word of a command line as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ',' | ':' | '/');
    match word.chars().all(is_plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Whether the agent has come: asked again every few seconds, in the browser.
#[component]
fn Arrival(
    /// The identity that it was given; empty when it makes its own.
    id: String,
    /// The members before it came.
    known: Vec<String>,
    /// When its token was made.
    since: Timestamp,
) -> impl IntoView {
    let looks = RwSignal::new(0_u32);
    let data = json_resource(move || looks.get(), |_| server_fns::fleet());
    let wanted = id.clone();
    let come = move |f: &FleetReport| -> Option<AgentView> {
        let is_new = |a: &&AgentView| if wanted.is_empty() { !known.contains(&a.id) } else { a.id == wanted };
        f.agents.iter().find(is_new).cloned()
    };
    let has_come = {
        let come = come.clone();
        Memo::new(move |_| data.get().and_then(Result::ok).is_some_and(|p| come(&p.data).is_some()))
    };
    Effect::new(move |_| {
        let tick = move || {
            if !has_come.get_untracked() && looks.get_untracked() < MOST {
                looks.update(|n| *n += 1);
            }
        };
        if let Ok(handle) = set_interval_with_handle(tick, EVERY) {
            on_cleanup(move || handle.clear());
        }
    });
    let name = if id.is_empty() { "the agent".to_string() } else { id.clone() };
    let words = move || {
        let report = data.get().and_then(Result::ok)?.data;
        Some(match come(&report) {
            Some(agent) => joined(&agent),
            None => match report.refused.iter().find(|r| r.at >= since && (id.is_empty() || r.id == id)) {
                Some(refused) => turned_away(refused),
                None => waits(&name),
            },
        })
    };
    view! { <div role="status"><Transition fallback=|| ()>{words}</Transition></div> }
}

fn waits(name: &str) -> AnyView {
    view! {
        <p class="flex items-center gap-2"><span class="spin" aria-hidden="true"></span><span>{format!("Waiting for {name} to connect")}</span>
            <noscript>" (reload this page to see whether it has)"</noscript></p>
    }
    .into_any()
}

fn joined(agent: &AgentView) -> AnyView {
    let words = format!("{} has joined, version {}.", agent.id, agent.version);
    view! { <p class="flex items-center gap-2">{pill(agent.state)}<span>{words}" "<a href=PATH rel="external">"Show it in the list"</a></span></p> }
        .into_any()
}

fn turned_away(r: &RefusedJoin) -> AnyView {
    let words = format!(
        "An agent came and was refused: the id {} exists. Run the command with --id {}.",
        r.id, r.suggested
    );
    view! { <p class="flex items-center gap-2"><span class="text-warn">{icon_sm("warning")}</span><span>{words}</span></p> }
        .into_any()
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_quoted_where_a_shell_would_read_something_else() {
        assert_eq!(super::quoted("sa-east"), "sa-east");
        assert_eq!(super::quoted("São Paulo"), "'São Paulo'");
        assert_eq!(super::quoted("O'Hare; rm"), r"'O'\''Hare; rm'");
    }
}
