//! One feature: the steps of its transition, what each process reports, and its setting.

use super::attention::back_on;
use super::{PATH, change, confirmed, is_registered, state_pill, word};
use crate::components::icon::icon;
use crate::components::time::Ago;
use leptos::prelude::*;
use model::Timestamp;
use model::time::human_clock;
use service::lifecycle::{Progress, State};
use service::{FeatureStep, FeatureTask, FeatureView, FeaturesReport};

pub(super) fn detail(f: &FeatureView, report: &FeaturesReport, now: Timestamp) -> AnyView {
    let leftovers = (!f.leftovers.is_empty()).then(|| {
        view! { <section class="card"><div class="card-head"><h2>"Leftovers"</h2><span class="text-muted">{f.leftovers.len()}</span></div>{tasks(&f.leftovers)}</section> }
    });
    view! {
        <div class="grid grid-cols-2 items-start gap-4 max-xl:grid-cols-1">
            <div class="grid grid-cols-1 gap-4 content-start">
                {transition(f, report.may_change)}
                {state(f, now)}
                {leftovers}
            </div>
            <div class="grid grid-cols-1 gap-4 content-start">
                {uses(f, now)}
                {setting(f, report, now)}
            </div>
        </div>
    }
    .into_any()
}

fn transition(f: &FeatureView, may_change: bool) -> Option<AnyView> {
    let steps = f.steps();
    let at = steps.iter().position(|s| s.progress == Progress::Running)?;
    let (before, words, back) = match f.feature.state {
        State::TurningOn => ("", " is turning on", ("Turn it off again", "off")),
        _ if f.feature.is_clean_up => ("Cleaning up ", "", (back_on(f), "on")),
        _ => ("", " is turning off", (back_on(f), "on")),
    };
    let name = f.feature.name.clone();
    let may_go_back = may_change && f.dynamic && f.kept_until.is_none();
    let back = may_go_back.then(|| change(back.0, back.1, name.clone()));
    let count = format!("step {} of {}", at + 1, steps.len());
    let rows: Vec<_> = steps.iter().enumerate().map(|(n, s)| step(n + 1, s)).collect();
    Some(
        view! {
            <section class="card"><div class="card-head"><h2>{before}<span class="mono">{name}</span>{words}</h2><span class="text-muted">{count}</span><div class="aside">{back}</div></div>
                <ol class="steps">{rows}</ol>
            </section>
        }
        .into_any(),
    )
}

fn step(n: usize, s: &FeatureStep) -> AnyView {
    let (class, mark) = match s.progress {
        Progress::Done => ("dot ok", icon("check").into_any()),
        Progress::Running => ("dot warn", n.to_string().into_any()),
        Progress::Queued => ("dot", n.to_string().into_any()),
    };
    let side = match (s.progress, s.since, s.done_at) {
        (Progress::Running, Some(since), _) => {
            let words = if s.is_wait { "Waiting" } else { "Running" };
            let since = format!(" since {}", human_clock(since));
            view! { <span class="pill pill-busy"><span class="spin"></span><span>{words}{since}</span></span> }.into_any()
        }
        (Progress::Done, _, Some(at)) => {
            let took = s.took_seconds.filter(|t| *t > 0).map(|t| format!(", took {}", length(t)));
            view! { <span class="text-muted text-xs">{human_clock(at)}{took}</span> }.into_any()
        }
        _ => view! { <span class="text-muted text-xs">"Queued"</span> }.into_any(),
    };
    view! {
        <li><span class=class>{mark}</span><div><h3>{s.title.clone()}</h3><p class="text-muted wrap">{s.detail.clone()}</p></div><div class="side">{side}</div></li>
    }
    .into_any()
}

/// `38 s`, `12 min`, `3 h 5 min`.
fn length(seconds: i64) -> String {
    match seconds {
        ..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

fn tasks(list: &[FeatureTask]) -> AnyView {
    let rows: Vec<_> = list
        .iter()
        .enumerate()
        .map(|(n, t)| {
            view! { <div><dt class="flex items-center gap-2">{icon("clock")}{format!("{}", n + 1)}</dt><dd>{t.sentence()}</dd></div> }
        })
        .collect();
    view! { <dl class="facts">{rows}</dl> }.into_any()
}

fn fact(name: &'static str, value: impl IntoView + 'static) -> AnyView {
    view! { <div><dt>{name}</dt><dd>{value}</dd></div> }.into_any()
}

fn state(f: &FeatureView, now: Timestamp) -> AnyView {
    let registered = f.feature.registered.as_ref().map(|r| {
        let by = if r.by.is_empty() { "another program" } else { r.by.as_str() };
        fact("Registered by", format!("{by}, through the resource API"))
    });
    let guards = (!f.guards.is_empty()).then(|| fact("While off", format!("No {}.", f.guards)));
    let uncounted = f.uncounted.as_ref().map(|why| fact("Leftovers", format!("unknown: {why}")));
    let leader = (!is_registered(f)).then(|| {
        let leader =
            f.leader.clone().unwrap_or_else(|| "none (no running process knows its next task)".into());
        fact("Leader", view! { <span class="mono">{leader}</span> })
    });
    let changed = f.feature.changed_at;
    view! {
        <section class="card"><div class="card-head"><h2 class="mono">{f.feature.name.clone()}</h2><div class="aside">{f.title.clone()}</div></div>
            <dl class="facts">
                {fact("State", state_pill(f))}
                {fact("Changed", view! { <Ago at=changed now=now/> })}
                {registered}{guards}
                {fact("Since", f.feature.since.clone())}
                {leader}{uncounted}
            </dl>
        </section>
    }
    .into_any()
}

/// What is asked for, by whom, and where a flag decides instead.
fn setting(f: &FeatureView, report: &FeaturesReport, now: Timestamp) -> AnyView {
    let name = f.feature.name.clone();
    let value = f.feature.desired.map_or("Default", word);
    let asked = f.feature.desired_by.as_ref().map(|a| {
        view! { <small class="text-muted">" · set by "{a.by.clone()}", "<Ago at=a.at now=now/></small> }
    });
    let fixed: Vec<_> = f
        .uses
        .iter()
        .filter(|u| u.is_fixed)
        .map(|u| format!("{} ({})", u.process, u.used.map_or("not known", word)))
        .collect();
    let by_flag = (!fixed.is_empty())
        .then(|| fact("Set by flag in", view! { <span class="mono">{fixed.join(", ")}</span> }));
    let how = if f.dynamic {
        "page, command or API, at run time"
    } else {
        "flags of each process; not at run time"
    };
    let leave = (report.may_change && f.dynamic && f.feature.desired.is_some() && f.kept_until.is_none())
        .then(|| {
            // As turning it off does, this may delete what is stored.
            if f.feature.state.is_used() && !f.feature.default {
                let words = ("Reset to default", format!("Turn {name} off"));
                return confirmed(PATH, "reset", "name", name.clone(), words);
            }
            view! {
                <form method="post" action=PATH>
                    <input type="hidden" name="do" value="desire"/>
                    <input type="hidden" name="name" value=name.clone()/>
                    <input type="hidden" name="desired" value="default"/>
                    <button class="btn btn-sm" type="submit">"Reset to default"</button>
                </form>
            }
            .into_any()
        });
    let default = if f.kept_until.is_some() { "–" } else { word(f.feature.default) };
    let yaml = format!("/apis/datumapis.com/v1alpha/features/{name}");
    view! {
        <section class="card"><div class="card-head"><h2>"Setting"</h2><div class="aside flex items-center gap-2">{leave}<a href=yaml rel="external">"YAML"</a></div></div>
            <dl class="facts">
                {fact("Desired", view! { {value}{asked} })}
                {fact("Default", default)}
                {fact("Set by", how)}
                {by_flag}
            </dl>
        </section>
    }
    .into_any()
}

fn uses(f: &FeatureView, now: Timestamp) -> AnyView {
    let rows: Vec<_> = f
        .uses
        .iter()
        .map(|u| {
            let value = u.used.map_or("not known", word);
            let is_leader = f.leader.as_ref() == Some(&u.process);
            let leader = is_leader.then(|| view! { <span class="tag">"leader"</span> });
            let flag = u.is_fixed.then(|| view! { <span class="tag">"flag"</span> });
            view! {
                <tr><th scope="row"><span class="two"><span class="flex items-center gap-2"><span class="mono">{u.process.clone()}</span>{leader}{flag}</span><small>{u.version.clone()}</small></span></th>
                    <td class="num"><Ago at=u.seen_at now=now/></td><td><span class="mono">{value}</span></td></tr>
            }
        })
        .collect();
    let foot = if is_registered(f) {
        "Its own processes report these values. One that does not report for 60 s is considered stopped."
    } else {
        "The leader is chosen from the live processes. If it stops, another continues at the same step."
    };
    view! {
        <section class="card tbl-wrap"><div class="card-head"><h2>"Uses"</h2><span class="text-muted">{f.uses.len()}</span><div class="aside">"reported by each process"</div></div>
            <div class="tbl-scroll"><table class="tbl tbl-tight" aria-label="What each process reports">
                <thead><tr><th scope="col">"Process"</th><th scope="col" class="num">"Seen"</th><th scope="col">"Reports"</th></tr></thead>
                <tbody>{rows}</tbody>
            </table></div>
            <div class="card-foot text-xs">{foot}</div>
        </section>
    }
    .into_any()
}
