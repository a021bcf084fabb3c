//! Features of the installation: what is asked for, what is true, what a transition waits for.

mod attention;
mod detail;

use super::{confirmed, page, refusal};
use crate::browser;
use crate::components::banner::{Tone, banner};
use crate::components::icon;
use crate::live;
use crate::resource::{JsonResource, json_resource};
use crate::server_fns::{self, SettingsPage};
use attention::needs_attention;
use detail::detail;
use leptos::prelude::*;
use leptos_router::hooks::use_location;
use model::scan::Live;
use service::lifecycle::State;
use service::{ApiError, FeatureView, FeaturesReport};
use std::time::Duration;

const PATH: &str = "/settings/features";
/// How often the page reads where a transition stands: reports of processes are in no change log.
const EVERY: Duration = Duration::from_secs(3);

type Data = JsonResource<Result<SettingsPage<FeaturesReport>, ApiError>>;

/// The page.
#[component]
pub(crate) fn FeaturesPage() -> impl IntoView {
    let data = json_resource(|| (), |()| server_fns::settings_features());
    keep_current(data);
    let search = use_location().search;
    page(PATH, "what is on, and what remains after turning it off", data, move |p| {
        let search = search.get();
        let chosen = crate::query::value(&search, "feature").unwrap_or_default();
        let shown = Shown::read(&crate::query::value(&search, "show").unwrap_or_default());
        body(&p, &chosen, shown)
    })
}

/// Reads the page again when a feature changed, and every few seconds while one turns; not while a menu or a question is
/// open, which reading would close.
fn keep_current(data: Data) {
    let is_outdated = StoredValue::new(false);
    let read = move || {
        is_outdated.set_value(true);
        if !browser::details_are_open() {
            is_outdated.set_value(false);
            data.refetch();
        }
    };
    let calm = live::Debounce::new(400);
    live::listen(move |l| {
        if matches!(l, Live::Changed(e) if e.kind == "feature") || matches!(l, Live::Reset { .. }) {
            calm.call(read);
        }
    });
    Effect::new(move |_| {
        let tick = move || {
            let turns = data
                .get_untracked()
                .and_then(Result::ok)
                .is_some_and(|p| p.data.features.iter().any(|f| is_turning(f) || is_about_to_turn(f)));
            if turns || is_outdated.get_value() {
                read();
            }
        };
        if let Ok(handle) = set_interval_with_handle(tick, EVERY) {
            on_cleanup(move || handle.clear());
        }
    });
}

/// Which features the table shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    All,
    Turning,
    Differing,
    Leftovers,
}

impl Shown {
    const ALL: [Shown; 4] = [Shown::All, Shown::Turning, Shown::Differing, Shown::Leftovers];

    fn read(word: &str) -> Self {
        Self::ALL.into_iter().find(|s| s.word() == word).unwrap_or(Shown::All)
    }

    fn word(self) -> &'static str {
        match self {
            Shown::All => "",
            Shown::Turning => "transition",
            Shown::Differing => "differs",
            Shown::Leftovers => "leftovers",
        }
    }

    fn label(self) -> &'static str {
        match self {
            Shown::All => "All",
            Shown::Turning => "In transition",
            Shown::Differing => "Differs from default",
            Shown::Leftovers => "Leftovers",
        }
    }

    fn holds(self, f: &FeatureView) -> bool {
        match self {
            Shown::All => true,
            Shown::Turning => is_turning(f),
            Shown::Differing => f.feature.desired.is_some_and(|desired| desired != f.feature.default),
            Shown::Leftovers => !f.leftovers.is_empty(),
        }
    }
}

fn is_turning(f: &FeatureView) -> bool {
    f.feature.state.is_transition()
}

/// Asked for, and not begun yet.
fn is_about_to_turn(f: &FeatureView) -> bool {
    f.kept_until.is_none() && f.feature.state.is_used() != f.feature.is_wanted()
}

fn body(p: &SettingsPage<FeaturesReport>, chosen: &str, shown: Shown) -> AnyView {
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
    let selected = report.features.iter().find(|f| f.feature.name == chosen).or(attention.first().copied());
    let detail = selected.map(|f| detail(f, report, p.now));
    let name = selected.map(|f| f.feature.name.clone()).unwrap_or_default();
    let listed: Vec<_> = report.features.iter().filter(|f| shown.holds(f)).collect();
    let rows: Vec<_> = listed.iter().map(|f| row(f, report, shown, f.feature.name == name)).collect();
    let empty = listed.is_empty().then(|| {
        view! { <tr><td colspan="8" class="text-muted">"No feature matches this filter."</td></tr> }
    });
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
        {refusal(p.outcome.as_ref(), "reset")}
        {refusal(p.outcome.as_ref(), "clean")}
        {needs_attention(&attention, report.may_change)}
        <section class="card tbl-wrap">
            <div class="card-head"><h2>"All features"</h2><span class="text-muted">{report.features.len()}</span><div class="aside">{counts}</div></div>
            {chips(report, shown, chosen)}
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Features">
                <table class="tbl">
                    <thead><tr><th scope="col">"Feature"</th><th scope="col" class="max-sm:hidden">"Stage"</th><th scope="col" class="max-sm:hidden">"Since"</th><th scope="col" class="max-sm:hidden">"Default"</th><th scope="col" class="max-sm:hidden">"Desired"</th><th scope="col">"State"</th><th scope="col" class="max-sm:hidden">"Uses"</th><th scope="col"><span class="sr-only">"Actions"</span></th></tr></thead>
                    <tbody>{rows}{empty}</tbody>
                </table>
            </div>
            <div class="card-foot text-xs">"Desired is the setting; state is what is in effect. "{safe}</div>
        </section>
        {detail}
    }
    .into_any()
}

/// The address of the page with a feature and a filter.
fn address(feature: &str, shown: Shown) -> String {
    let feature = (!feature.is_empty()).then(|| format!("feature={feature}"));
    let shown = (shown != Shown::All).then(|| format!("show={}", shown.word()));
    let query: Vec<_> = feature.into_iter().chain(shown).collect();
    if query.is_empty() { PATH.into() } else { format!("{PATH}?{}", query.join("&")) }
}

fn chips(report: &FeaturesReport, shown: Shown, chosen: &str) -> AnyView {
    let chips = Shown::ALL.map(|s| {
        let on = s == shown;
        let n = report.features.iter().filter(|f| s.holds(f)).count();
        let mark = (s == Shown::Leftovers && n > 0).then(|| icon::icon_in("warning", "i text-warn"));
        view! {
            <a class="chip" class:on=on href=address(chosen, s) aria-current=on.then_some("true") data-noscroll="true">
                {mark}{s.label()}" "<span class="n">{n.to_string()}</span></a>
        }
    });
    view! {
        <div class="toolbar px-4 py-3"><div class="chips-scroll" role="group" aria-label="State">{chips.into_iter().collect_view()}</div></div>
    }
    .into_any()
}

/// Whether another program registered it and reports about it.
fn is_registered(f: &FeatureView) -> bool {
    f.feature.registered.is_some()
}

fn word(on: bool) -> &'static str {
    if on { "On" } else { "Off" }
}

fn state_pill(f: &FeatureView) -> AnyView {
    let state = f.feature.state;
    if f.kept_until.is_some() {
        return view! { <span class="pill pill-unknown">{icon::icon("unknown")}<span>"Unknown"</span></span> }
            .into_any();
    }
    let (class, picture) = match state {
        State::On => ("pill pill-normal", "ok"),
        State::Off if !f.leftovers.is_empty() => ("pill pill-warning", "warning"),
        State::Off => ("pill pill-plain", "x"),
        State::TurningOn | State::TurningOff => ("pill pill-busy", ""),
    };
    let mark = if picture.is_empty() {
        view! { <span class="spin"></span> }.into_any()
    } else {
        icon::icon(picture).into_any()
    };
    let agree = f.uses.len() - f.waits_for().len();
    let words = match (state, f.tasks.len()) {
        (State::TurningOn, _) => format!("Turning on · {agree} of {}", f.uses.len()),
        (State::TurningOff, n) => {
            let words = if f.feature.is_clean_up { "Cleaning up" } else { "Turning off" };
            if n == 0 { words.into() } else { format!("{words} · {n} left") }
        }
        (State::Off, _) if !f.leftovers.is_empty() => "Off · leftovers".into(),
        (state, _) => state.as_str().into(),
    };
    view! { <span class=class>{mark}<span>{words}</span></span> }.into_any()
}

fn row(f: &FeatureView, report: &FeaturesReport, shown: Shown, is_selected: bool) -> AnyView {
    let name = f.feature.name.clone();
    let desired = f.feature.desired.map_or("–", word);
    let agree = f.uses.len() - f.waits_for().len();
    let class = if agree == f.uses.len() { "" } else { "text-warn" };
    let is_known = f.kept_until.is_none();
    let (uses, reports) = match f.uses.len() {
        _ if !is_known => (String::new(), "none".into()),
        0 => (String::new(), "no process reports".into()),
        n => (format!("{agree} of {n}"), format!(" report {}", word(f.feature.state.is_used()))),
    };
    let wanted = f.feature.is_wanted();
    let change = (report.may_change && f.dynamic && is_known).then(|| {
        let (summary, to) = if wanted { ("Turn off", "off") } else { ("Turn on", "on") };
        change(summary, to, name.clone())
    });
    let title = match (&f.kept_until, f.title.is_empty() && is_registered(f)) {
        (Some(until), _) => format!("unknown to {}; kept until {until}", report.version),
        (None, true) => "registered by another program".into(),
        (None, false) => f.title.clone(),
    };
    let third_party = is_registered(f).then(|| view! { <span class="tag">"third party"</span> });
    let by_flag = (!f.dynamic).then(|| view! { <span class="tag">"by flag"</span> });
    let (stage, default) = match is_known {
        true => (
            view! { <span class="tag">{f.feature.stage.as_str()}</span> }.into_any(),
            word(f.feature.default),
        ),
        false => (view! { <span class="text-muted">"–"</span> }.into_any(), "–"),
    };
    view! {
        <tr class:selected=is_selected>
            <th scope="row"><span class="two"><span class="flex items-center gap-2"><a class="mono" href=address(&name, shown) data-noscroll="true">{name.clone()}</a>{third_party}{by_flag}</span><small class="wrap">{title}</small></span></th>
            <td class="max-sm:hidden">{stage}</td>
            <td class="max-sm:hidden">{f.feature.since.clone()}</td>
            <td class="max-sm:hidden">{default}</td>
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
