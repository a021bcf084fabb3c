//! Features of the installation: what is asked for, what is true, what a transition waits for.

use super::{confirmed, page, refusal};
use crate::components::banner::{Tone, banner};
use crate::components::icon;
use crate::components::time::Ago;
use crate::resource::json_resource;
use crate::server_fns::{self, SettingsPage};
use leptos::prelude::*;
use leptos_router::hooks::use_location;
use model::Timestamp;
use service::lifecycle::State;
use service::{FeatureTask, FeatureView, FeaturesReport};

const PATH: &str = "/settings/features";

/// The page.
#[component]
pub(crate) fn FeaturesPage() -> impl IntoView {
    let data = json_resource(|| (), |()| server_fns::settings_features());
    let search = use_location().search;
    page(PATH, "what is on, and what remains after turning it off", data, move |p| {
        let chosen = crate::query::value(&search.get(), "feature").unwrap_or_default();
        body(&p, &chosen)
    })
}

fn body(p: &SettingsPage<FeaturesReport>, chosen: &str) -> AnyView {
    let report = &p.data;
    if report.features.is_empty() {
        return view! {
            <section class="card"><div class="card-body text-muted">
                "The features of this server are managed by its first organisation. Features that programs of this organisation register are listed here."
            </div></section>
        }
        .into_any();
    }
    let unsafe_to = |what: &str, why: &Option<String>| {
        why.clone().map(|why| banner(Tone::Warn, format!("Not safe to {what}"), format!("{why}.")))
    };
    let attention: Vec<_> = report.features.iter().filter(|f| f.attention().is_some()).collect();
    let shown = report.features.iter().find(|f| f.feature.name == chosen).or(attention.first().copied());
    let detail = shown.map(|f| detail(f, p.now));
    let selected = shown.map(|f| f.feature.name.clone()).unwrap_or_default();
    let rows: Vec<_> =
        report.features.iter().map(|f| row(f, report.may_change, f.feature.name == selected)).collect();
    // Another organisation sees what it registered; processes and versions are the installation's.
    let is_installation = report.processes > 0;
    let safe =
        (is_installation && report.upgrade.is_none() && report.downgrade.is_none()).then_some(match &report
            .earlier
        {
            Some(earlier) => format!("Safe to upgrade, and to go back to {earlier}."),
            None => "Safe to upgrade. There is no earlier release to go back to.".into(),
        });
    let counts = match report.processes {
        0 => String::new(),
        1 => format!("version {} · 1 process", report.version),
        n => format!("version {} · {n} processes", report.version),
    };
    view! {
        {unsafe_to("upgrade", &report.upgrade)}
        {unsafe_to("downgrade", &report.downgrade)}
        {refusal(p.outcome.as_ref(), "desire")}
        {needs_attention(&attention)}
        <section class="card tbl-wrap">
            <div class="card-head"><h2>"All features"</h2><span class="text-muted">{report.features.len()}</span><div class="aside">{counts}</div></div>
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Features">
                <table class="tbl">
                    <thead><tr><th scope="col">"Feature"</th><th scope="col" class="max-sm:hidden">"Stage"</th><th scope="col" class="max-sm:hidden">"Default"</th><th scope="col" class="max-sm:hidden">"Desired"</th><th scope="col">"State"</th><th scope="col" class="max-sm:hidden">"Uses"</th><th scope="col"><span class="sr-only">"Actions"</span></th></tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            <div class="card-foot text-xs">"Desired is the setting; state is what is in effect. "{safe}</div>
        </section>
        {detail}
    }
    .into_any()
}

fn needs_attention(list: &[&FeatureView]) -> AnyView {
    if list.is_empty() {
        return ().into_any();
    }
    let rows: Vec<_> = list
        .iter()
        .map(|f| {
            let (picture, class) =
                if f.leftovers.is_empty() { ("clock", "i text-info") } else { ("warning", "i text-warn") };
            let name = f.feature.name.clone();
            view! {
                <div class="finding">
                    {icon::icon_in(picture, class)}
                    <div><h3>{f.attention().unwrap_or_default()}</h3>
                        <p>{what_to_do(f)}</p></div>
                    <div class="flex gap-2 items-start max-sm:col-start-2 max-sm:mt-2"><a class="btn btn-sm" href=format!("{PATH}?feature={name}")>"Show"</a></div>
                </div>
            }
        })
        .collect();
    view! {
        <section class="card"><div class="card-head"><h2>"Needs attention"</h2><span class="text-muted">{list.len()}</span></div>{rows}</section>
    }
    .into_any()
}

/// Whether another program registered it and reports about it.
fn is_registered(f: &FeatureView) -> bool {
    f.feature.registered.is_some()
}

fn what_to_do(f: &FeatureView) -> &'static str {
    if is_registered(f) {
        return "Its own programs do this and report it. A process that does not report for 60 seconds counts as gone.";
    }
    if !f.leftovers.is_empty() {
        "Run the clean-up to delete them: the tasks of turning it off run again, and it stays off. Safe to repeat."
    } else if !f.waits_for().is_empty() {
        "A process that ended without notice counts as gone after 15 seconds. One that fixes the feature by flag has to be started without it."
    } else {
        "It continues automatically once these are removed. To keep them, turn the feature on again."
    }
}

fn word(on: bool) -> &'static str {
    if on { "On" } else { "Off" }
}

fn state_pill(f: &FeatureView) -> AnyView {
    let state = f.feature.state;
    let (class, picture) = match state {
        State::On => ("pill pill-normal", "ok"),
        State::Off if !f.leftovers.is_empty() => ("pill pill-warning", "warning"),
        State::Off => ("pill pill-plain", "x"),
        State::TurningOn | State::TurningOff => ("pill pill-busy", ""),
    };
    let mark = if picture.is_empty() {
        view! { <span class="spin"></span> }.into_any()
    } else {
        icon(picture).into_any()
    };
    let words = match (state, f.tasks.len()) {
        (State::TurningOn, _) => "Turning on".to_string(),
        (State::TurningOff, 0) => "Turning off".into(),
        (State::TurningOff, n) => format!("Turning off · {n} left"),
        (State::Off, _) if !f.leftovers.is_empty() => "Off · leftovers".into(),
        (state, _) => state.as_str().into(),
    };
    view! { <span class=class>{mark}<span>{words}</span></span> }.into_any()
}

fn row(f: &FeatureView, may_change: bool, is_selected: bool) -> AnyView {
    let name = f.feature.name.clone();
    let desired = f.feature.desired.map_or("–", word);
    let agree = f.uses.len() - f.waits_for().len();
    let class = if agree == f.uses.len() { "" } else { "text-warn" };
    let (uses, reports) = match f.uses.len() {
        0 => (String::new(), "no process reports".into()),
        n => (format!("{agree} of {n}"), format!(" report {}", word(f.feature.state.is_used()))),
    };
    let wanted = f.feature.is_wanted();
    let change = may_change.then(|| {
        let (summary, to) = if wanted { ("Turn off", "off") } else { ("Turn on", "on") };
        change(summary, to, name.clone())
    });
    let title = match (f.title.is_empty(), is_registered(f)) {
        (false, _) => f.title.clone(),
        (true, true) => "registered by another program".into(),
        (true, false) => "not known to this version".into(),
    };
    view! {
        <tr class:selected=is_selected>
            <th scope="row"><span class="two"><a class="mono" href=format!("{PATH}?feature={name}")>{name.clone()}</a><small class="wrap">{title}</small></span></th>
            <td class="max-sm:hidden"><span class="tag">{f.feature.stage.as_str()}</span></td>
            <td class="max-sm:hidden">{word(f.feature.default)}</td>
            <td class="max-sm:hidden">{desired}</td>
            <td>{state_pill(f)}</td>
            <td class="max-sm:hidden"><span class=class>{uses}</span><span class="text-muted">{reports}</span></td>
            <td class="num">{change}</td>
        </tr>
    }
    .into_any()
}

/// A form that asks for a value, in two steps where something is deleted.
fn change(summary: &'static str, to: &'static str, name: String) -> AnyView {
    if to == "off" {
        return confirmed(PATH, "desire", "name", name.clone(), (summary, format!("Turn {name} off")))
            .into_any();
    }
    view! {
        <form method="post" action=PATH>
            <input type="hidden" name="do" value="desire"/>
            <input type="hidden" name="name" value=name/>
            <input type="hidden" name="desired" value=to/>
            <button class="btn btn-sm" type="submit">{summary}</button>
        </form>
    }
    .into_any()
}

fn tasks(list: &[FeatureTask]) -> AnyView {
    let rows: Vec<_> = list
        .iter()
        .enumerate()
        .map(|(n, t)| {
            let done = t.left.count == 0;
            let mark = if done { icon("ok").into_any() } else { icon("clock").into_any() };
            view! { <div><dt class="flex items-center gap-2">{mark}{format!("{}", n + 1)}</dt><dd>{t.sentence()}</dd></div> }
        })
        .collect();
    view! { <dl class="facts">{rows}</dl> }.into_any()
}

fn detail(f: &FeatureView, now: Timestamp) -> AnyView {
    let list = if f.leftovers.is_empty() { &f.tasks } else { &f.leftovers };
    let heading = if f.leftovers.is_empty() { "Tasks left" } else { "Leftovers" };
    let todo = (!list.is_empty()).then(|| {
        view! { <section class="card"><div class="card-head"><h2>{heading}</h2><span class="text-muted">{list.len()}</span></div>{tasks(list)}</section> }
    });
    let (first, second, foot) = if is_registered(f) {
        let by =
            view! { <div><dt>"Registered by"</dt><dd>"another program, through the resource API"</dd></div> };
        (
            by.into_any(),
            ().into_any(),
            "Its own processes report these values. One that does not report for 60 seconds counts as gone.",
        )
    } else {
        let leader = f.leader.clone().unwrap_or_else(|| "none: no process runs".into());
        (
            view! { <div><dt>"While off"</dt><dd>{format!("No {}.", f.guards)}</dd></div> }.into_any(),
            view! { <div><dt>"Leader"</dt><dd class="mono">{leader}</dd></div> }.into_any(),
            "The leader is chosen from the live processes. If it stops, another continues at the same step.",
        )
    };
    let uses: Vec<_> = f
        .uses
        .iter()
        .map(|u| {
            let value = u.used.map_or("not known", word);
            let is_leader = f.leader.as_ref() == Some(&u.process);
            let badge = is_leader.then(|| view! { <span class="tag">"leader"</span> });
            view! {
                <tr><th scope="row"><span class="two"><span class="flex items-center gap-2"><span class="mono">{u.process.clone()}</span>{badge}</span><small>{u.version.clone()}</small></span></th>
                    <td class="num"><Ago at=u.seen_at now=now/></td><td><span class="mono">{value}</span></td></tr>
            }
        })
        .collect();
    let changed = f.feature.changed_at;
    view! {
        <div class="grid grid-cols-2 items-start gap-4 max-xl:grid-cols-1">
            <div class="grid grid-cols-1 gap-4 content-start">
                <section class="card"><div class="card-head"><h2 class="mono">{f.feature.name.clone()}</h2><div class="aside">{f.title.clone()}</div></div>
                    <dl class="facts">
                        <div><dt>"State"</dt><dd>{state_pill(f)}</dd></div>
                        <div><dt>"Changed"</dt><dd><Ago at=changed now=now/></dd></div>
                        {first}
                        <div><dt>"Since"</dt><dd>{f.feature.since.clone()}</dd></div>
                        {second}
                    </dl>
                </section>
                {todo}
            </div>
            <section class="card tbl-wrap"><div class="card-head"><h2>"Uses"</h2><span class="text-muted">{f.uses.len()}</span></div>
                <div class="tbl-scroll"><table class="tbl tbl-tight" aria-label="What each process reports">
                    <thead><tr><th scope="col">"Process"</th><th scope="col" class="num">"Seen"</th><th scope="col">"Reports"</th></tr></thead>
                    <tbody>{uses}</tbody>
                </table></div>
                <div class="card-foot text-xs">{foot}</div>
            </section>
        </div>
    }
    .into_any()
}
