//! `/tools/configure`: setting up a service on a domain: service → domain → plan → apply or copy → live check. A plain
//! GET form, so the whole plan is in the address; with script the check repeats until everything is there.

mod changes;
mod check;
mod expected;
mod form;
mod side;
mod templates;

use crate::components::banner::page_failure;
use crate::components::frame::trail;
use crate::components::icon_sm;
use crate::components::tool::{ask, waiting};
use crate::resource::json_resource;
use crate::server_fns;
use form::Wizard;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;
use model::configure::{ServiceKind, ServiceReport, ServiceState};
use model::time::human_clock;
use std::time::Duration;

pub(crate) use changes::{changes_card, to_do_card};
#[cfg(feature = "ssr")]
pub(crate) use changes::{deletion, host_shown};
pub(crate) use check::servers_card;
pub(crate) use expected::expected_card;
pub(crate) use form::{kind_icon, kinds};
pub(crate) use side::{caches_card, warnings_card};

/// Between checks of a plan that is open in a browser.
const EVERY: Duration = Duration::from_secs(15);
/// Checks after which an open page stops by itself: an hour.
const MOST: u32 = 240;

/// The page.
#[component]
pub(crate) fn ConfigurePage() -> impl IntoView {
    let search = use_location().search;
    let wizard = Memo::new(move |_| Wizard::read(&search.get()));
    let again = RwSignal::new(0_u32);
    let checks = RwSignal::new(0_u32);
    let data = json_resource(
        move || (wizard.get(), again.get(), checks.get()),
        |(wizard, ..)| async move {
            match wizard.query() {
                Some(query) => Some(server_fns::configure(query).await),
                None => None,
            }
        },
    );
    let settled = Memo::new(move |_| match data.get() {
        Some(Some(Ok(r))) => r.state == ServiceState::Working,
        _ => true,
    });
    Effect::new(move |_| {
        let tick = move || {
            if !settled.get_untracked() && checks.get_untracked() < MOST {
                checks.update(|n| *n += 1);
            }
        };
        if let Ok(handle) = set_interval_with_handle(tick, EVERY) {
            on_cleanup(move || handle.clear());
        }
    });
    let submit = ask("/tools/configure", again);
    let title =
        move || wizard.get().kind.map_or("Set up a service".to_string(), |k| format!("Set up {}", k.label()));
    view! {
        <Title text="Configure"/>
        {move || {
            let w = wizard.get();
            (!w.domain.is_empty()).then(|| trail(vec![
                ("/domains".into(), "Domains".into()),
                (format!("/domains/{}/configuration", w.domain), w.domain.clone()),
            ], "Set up a service".into()))
        }}
        <div class="page-head"><h1>{title}</h1><span class="sub max-sm:hidden">"says what to enter at this provider, and checks it uncached"</span></div>
        {move || form::view(&wizard.get(), submit.clone())}
        {move || wizard.with(|w| (w.kind == Some(ServiceKind::Template) && w.query().is_none()).then(|| {
            view! { <templates::Templates domain=w.domain.clone()/> }
        }))}
        <Transition fallback=|| waiting("Querying every authoritative server of the zone…")>
            {move || data.get().flatten().map(|d| match d {
                Ok(r) => plan(&r, again, wizard.get().query()),
                Err(f) => page_failure("The service could not be checked", &f),
            })}
        </Transition>
    }
    .into_any()
}

fn plan(r: &ServiceReport, again: RwSignal<u32>, query: Option<String>) -> AnyView {
    let now = r.checked_at;
    let read = format!("zone read at {} UTC{}", human_clock(now), serial(r));
    view! {
        <div class="grid grid-cols-1 gap-4 content-start">
            {stages(r)}
            {state_banner(r)}
            <div class="cols"><div class="grid grid-cols-1 gap-4 content-start">
                {changes_card(r, read)}
                {to_do_card(r, true)}
            </div><div class="grid grid-cols-1 gap-4 content-start">
                {caches_card(r)}
                {warnings_card(r)}
                {servers_card(r)}
            </div></div>
            {check::live_card(r, again)}
            {query.map(keep)}
        </div>
    }
    .into_any()
}

/// Keeps the service for the schedule. A plain form: works without script.
fn keep(query: String) -> AnyView {
    view! {
        <form class="card card-body flex items-center gap-2 flex-wrap justify-between" method="post" action="/api/fn/add_service">
            <input type="hidden" name="query" value=query/>
            <span class="max-w-[88ch]">"Keep this service: Domainscope checks it every hour and records an event when it is ready, when it drifts and when it recovers."</span>
            <button class="btn" type="submit">{icon_sm("bell")}"Keep checking"</button>
        </form>
    }
    .into_any()
}

fn serial(r: &ServiceReport) -> String {
    r.servers.iter().filter_map(|s| s.serial).max().map(|s| format!(", serial {s}")).unwrap_or_default()
}

/// The verdict in a sentence.
pub(crate) fn state_banner(r: &ServiceReport) -> AnyView {
    use crate::components::banner::{Tone, banner};
    let tone = match r.state {
        ServiceState::Working => Tone::Ok,
        ServiceState::NotSetUp => Tone::Info,
        ServiceState::Partial | ServiceState::Drifted => Tone::Warn,
        ServiceState::Unknown => Tone::Critical,
    };
    banner(tone, format!("{}: {}", r.title, r.state.label()), r.sentence.clone())
}

/// Where one is on the way.
fn stages(r: &ServiceReport) -> AnyView {
    let changes = match r.changes.len() {
        0 => "nothing to change".to_string(),
        1 => "1 change".to_string(),
        n => format!("{n} changes"),
    };
    let at = if r.provider.name.is_empty() {
        "at your provider".into()
    } else {
        format!("at {}", r.provider.name)
    };
    let works = r.state == ServiceState::Working;
    let steps = [
        ("Service", r.title.clone(), true, false),
        ("Domain", r.unicode.clone(), true, false),
        ("Plan", changes, works, !works),
        ("Apply or copy", at, works, false),
        ("Live check", r.state.label().to_string(), works, false),
    ];
    let each: Vec<_> = steps
        .into_iter()
        .map(|(name, what, done, current)| {
            let class = if done {
                "stage done"
            } else if current {
                "stage now"
            } else {
                "stage"
            };
            view! {
                <div role="listitem" class=class aria-current=current.then_some("step")>
                    <span>{done.then(|| icon_sm("check"))}{name}</span><small>{what}</small>
                </div>
            }
        })
        .collect();
    view! { <div class="card"><div class="card-body"><div class="stages" role="list" aria-label="Steps">{each}</div></div></div> }
        .into_any()
}
