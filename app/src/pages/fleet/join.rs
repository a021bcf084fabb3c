//! Adding a point of presence: the form that makes a token, the command to run, and whether the agent has come.

use super::PATH;
use super::agents::{compared, pill};
use crate::browser;
use crate::components::banner::{Tone, banner};
use crate::components::copy::{self, copy_button};
use crate::components::icon::{icon, icon_sm};
use crate::components::time::Ago;
use crate::components::toast::use_toaster;
use crate::server_fns::{FormOutcome, FormResult};
use leptos::prelude::*;
use model::Timestamp;
use service::{AgentState, AgentView, FleetReport, RefusedJoin};

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
        <section class="card" id="add"><div class="card-head"><h2>"Add a point of presence"</h2></div>
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

/// For an agent that was refused: its command with a free identity, and a token for that, where it is not at hand.
pub(super) fn make_for(r: &RefusedJoin) -> AnyView {
    let (id, region) = (r.suggested.clone(), r.region.clone());
    let label = format!("Copy command for {id}");
    let toaster = use_toaster();
    let copy = {
        let (id, region) = (id.clone(), region.clone());
        move |_| copy::put(toaster, "command", &command(&browser::origin(), &id, &region, "TOKEN"))
    };
    view! {
        <div class="flex items-center gap-2 flex-wrap">
            <button type="button" class="btn btn-sm noscript:hidden" title="With TOKEN in place of the token, which is still unused" on:click=copy>{icon_sm("copy")}{label}</button>
            <form method="post" action=PATH>
                <input type="hidden" name="do" value="invite"/>
                <input type="hidden" name="id" value=id.clone()/>
                <input type="hidden" name="region" value=region/>
                <button class="btn btn-sm" type="submit">{icon_sm("plus")}{format!("Make a token for {id}")}</button>
            </form>
        </div>
    }
    .into_any()
}

/// What to run where the point of presence is to be.
fn command(site: &str, id: &str, region: &str, token: &str) -> String {
    let option = |name: &str, value: &str| match value.is_empty() {
        true => String::new(),
        false => format!(" --{name} {}", quoted(value)),
    };
    format!("domainscope agent --join {site}{}{} --token {token}", option("id", id), option("region", region))
}

/// The command of a token that was made now, and a look out for the agent; nothing else has one.
pub(super) fn made(
    f: &FleetReport,
    outcome: Option<&FormOutcome>,
    live: RwSignal<FleetReport>,
) -> Option<AnyView> {
    let outcome = outcome?;
    let FormResult::AgentToken { token, site } = &outcome.result else { return None };
    let (id, region) = (outcome.value("id").trim().to_string(), outcome.value("region").trim().to_string());
    let command = command(site, &id, &region, &token.token);
    let (ends, now) = (token.expires_at, f.now);
    let known: Vec<String> = f.agents.iter().map(|a| a.id.clone()).collect();
    Some(
        view! {
            <div class="banner banner-ok">{icon("ok")}
                <div class="flex-1 min-w-0 grid grid-cols-1 gap-4 content-start">
                    <div role="status"><strong>"Run this where the point of presence is to be"</strong>
                        <p>"The token works once and ends "<Ago at=ends now=now/>"."</p></div>
                    <dl class="rec"><div><dt>"Command"</dt><dd>{command.clone()}</dd><dd>{copy_button("Command", command)}</dd></div></dl>
                    {arrival(id, known, now, live)}
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

/// Whether the agent has come, and how far it is. `id` is the identity that it was given, empty when it makes its own; `known`
/// are the members before it came; `since` is when its token was made.
fn arrival(id: String, known: Vec<String>, since: Timestamp, live: RwSignal<FleetReport>) -> AnyView {
    let name = if id.is_empty() { "the agent".to_string() } else { id.clone() };
    let come = Memo::new(move |_| {
        live.with(|f| {
            let is_new = |a: &&AgentView| if id.is_empty() { !known.contains(&a.id) } else { a.id == id };
            let agent = f.agents.iter().find(is_new).cloned();
            let refused = f.refused.iter().find(|r| r.at >= since && (id.is_empty() || r.id == id)).cloned();
            let refused = if agent.is_some() { None } else { refused };
            // Only what is shown, so that nothing is announced again when other figures change.
            (
                agent.map(|a| (a.id, a.version, a.state, a.first_answer_at.is_some())),
                refused,
                f.version.clone(),
            )
        })
    });
    let words = move || match come.get() {
        (Some((id, version, state, _)), ..) => joined(&id, &version, state),
        (None, Some(refused), _) => turned_away(&refused),
        (None, None, _) => waits(&name),
    };
    let steps = move || {
        let (agent, refused, ours) = come.get();
        refused.is_none().then(|| {
            steps(agent.as_ref().map(|(_, version, _, answered)| (version.as_str(), *answered)), &ours)
        })
    };
    view! { <div role="status">{words}</div>{steps} }.into_any()
}

/// How far joining is: version of the agent, once it is a member, and whether it has answered.
fn steps(agent: Option<(&str, bool)>, ours: &str) -> AnyView {
    let is_member = agent.is_some();
    let version = agent.map(|(version, _)| match version == ours {
        true => version.to_string(),
        false => format!("{version}, {}", compared(version, ours)),
    });
    let answered = agent.is_some_and(|(_, answered)| answered);
    let step = |name: &str, is_done: bool, is_next: bool, more: Option<String>| {
        let class = match (is_done, is_next) {
            (true, _) => "stage done",
            (false, true) => "stage now",
            (false, false) => "stage",
        };
        let word = if is_done { "done" } else { "not yet" };
        let picture = is_done.then(|| icon_sm("check"));
        view! {
            <div class=class role="listitem"><span>{picture}{name.to_string()}<span class="sr-only">{format!(": {word}")}</span></span>{more.map(|m| view! { <small>{m}</small> })}</div>
        }
    };
    let last = (is_member && !answered).then(|| "when it is asked next".to_string());
    view! {
        <div class="stages" role="list" aria-label="Joining">
            {step("Token", is_member, !is_member, None)}
            {step("Key", is_member, false, None)}
            {step("Version", is_member, false, version)}
            {step("First result", answered, is_member, last)}
        </div>
    }
    .into_any()
}

fn waits(name: &str) -> AnyView {
    view! {
        <p class="flex items-center gap-2"><span class="spin" aria-hidden="true"></span><span>{format!("Waiting for {name} to connect")}</span>
            <noscript>" (reload this page to see whether it has)"</noscript></p>
    }
    .into_any()
}

fn joined(id: &str, version: &str, state: AgentState) -> AnyView {
    let words = format!("{id} has joined, version {version}.");
    view! { <p class="flex items-center gap-2">{pill(state)}<span>{words}</span></p> }.into_any()
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
    fn a_command_keeps_the_region() {
        assert_eq!(
            super::command("https://scope.example", "sin-2", "ap-southeast", "TOKEN"),
            "domainscope agent --join https://scope.example --id sin-2 --region ap-southeast --token TOKEN"
        );
        assert_eq!(
            super::command("https://scope.example", "", "", "t"),
            "domainscope agent --join https://scope.example --token t"
        );
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_read_something_else() {
        assert_eq!(super::quoted("sa-east"), "sa-east");
        assert_eq!(super::quoted("São Paulo"), "'São Paulo'");
        assert_eq!(super::quoted("O'Hare; rm"), r"'O'\''Hare; rm'");
    }
}
