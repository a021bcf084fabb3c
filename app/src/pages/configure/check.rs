//! The live check: each expected record, whether it is there yet, and the servers that were asked.

use crate::components::icon::icon_in;
use crate::components::icon_sm;
use leptos::prelude::*;
use model::configure::{RecordCheck, RecordState, ServerCheck, ServiceReport, ServiceState};
use model::time::human_clock;

/// The check with its button. With script the page repeats it by itself.
pub(super) fn live_card(r: &ServiceReport, again: RwSignal<u32>) -> AnyView {
    let (ready, all) = (r.present(), r.records.len());
    let works = r.state == ServiceState::Working;
    let class = if works { "pill pill-normal" } else { "pill pill-busy" };
    let mark = if works {
        icon_sm("ok").into_any()
    } else {
        view! { <span class="spin" aria-hidden="true"></span> }.into_any()
    };
    let steps: Vec<_> = r.records.iter().map(|c| step(c, r)).collect();
    let location = leptos_router::hooks::use_location();
    let here =
        move || format!("{}?{}", location.pathname.get(), location.search.get().trim_start_matches('?'));
    let check = move |e: leptos::ev::MouseEvent| {
        e.prevent_default();
        again.update(|n| *n += 1);
    };
    let rest = all - ready;
    view! {
        <section class="card" aria-labelledby="lc">
            <div class="card-head"><h2 id="lc">"Live check"</h2>
                <span class=class role="status">{mark}<span>{format!("{ready} of {all} ready")}</span></span>
                <div class="aside">"authoritative servers, no cache"<span class="noscript:hidden">" · every 15 s until everything is there"</span></div></div>
            <div class="card-body"><div class="meter" role="progressbar" aria-valuemin="0" aria-valuemax=all.to_string() aria-valuenow=ready.to_string() aria-label="Live check">
                {(ready > 0).then(|| view! { <i class="bg-ok" style=format!("--n:{ready}")></i> })}
                {(rest > 0).then(|| view! { <i class="bg-line-strong" style=format!("--n:{rest}")></i> })}
            </div></div>
            <ol class="steps" aria-live="polite">{steps}</ol>
            <div class="card-foot flex items-center gap-2 flex-wrap justify-between"><span>{r.sentence.clone()}</span><a class="btn btn-sm" rel="external" href=here on:click=check>{icon_sm("refresh")}"Check now"</a></div>
        </section>
    }
    .into_any()
}

fn step(c: &RecordCheck, r: &ServiceReport) -> AnyView {
    let (dot, mark, word, tone) = match c.state {
        RecordState::Present => {
            ("dot ok", icon_in("check", "i i-sm").into_any(), "Live", "text-ok font-semibold")
        }
        RecordState::Missing | RecordState::Unknown => (
            "dot",
            view! { <span class="spin" aria-hidden="true"></span> }.into_any(),
            c.state.label(),
            "text-muted font-semibold",
        ),
        _ => {
            ("dot warn", icon_in("warning", "i i-sm").into_any(), c.state.label(), "text-warn font-semibold")
        }
    };
    let host = if c.host.is_empty() { c.name.clone() } else { c.host.clone() };
    let fault = c
        .faults
        .first()
        .map(|f| view! { <p class="text-xs text-warn">{format!("{}: {}", f.label, f.sentence)}</p> });
    let on = format!("{} of {} servers, {}", c.present_on, c.answered, human_clock(r.checked_at));
    view! {
        <li><span class=dot>{mark}</span>
            <div><div class="flex items-center gap-2 flex-wrap"><span class="rtype">{c.rtype.clone()}</span><span class="mono wrap">{host}</span></div>
                <p class="text-muted text-xs wrap">{format!("{} · TTL {}", c.value, c.ttl)}</p>{fault}</div>
            <div class="side"><span class=tone>{word}</span><span class="text-muted text-xs">{on}</span></div></li>
    }
    .into_any()
}

/// The authoritative servers and what each has.
pub(crate) fn servers_card(r: &ServiceReport) -> AnyView {
    let all = r.records.len();
    let rows: Vec<_> = r.servers.iter().map(|s| server(s, all)).collect();
    view! {
        <section class="card" aria-labelledby="as"><div class="card-head"><h2 id="as">"Authoritative servers"</h2></div>
            <dl class="facts">{rows}</dl></section>
    }
    .into_any()
}

fn server(s: &ServerCheck, all: usize) -> AnyView {
    let address = s.address.map(|a| a.to_string()).unwrap_or_default();
    let has = match s.present {
        Some(n) => format!("{n} of {all}"),
        None => s.problem.clone(),
    };
    let serial = s.serial.map(|n| view! { " "<small>{format!("· serial {n}")}</small> });
    view! { <div><dt class="wrap">{s.server.clone()}<br/><small class="text-muted">{address}</small></dt><dd>{has}{serial}</dd></div> }.into_any()
}
