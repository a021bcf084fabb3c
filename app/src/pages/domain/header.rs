//! The header card: who holds the name, how it is, when it was looked at, and the scan as it runs.

use super::state::DomainState;
use super::{settings, tabs};
use crate::components::banner::{Tone, banner};
use crate::components::copy::copy_button;
use crate::components::scan::stages;
use crate::components::status::{claim_tag, provider, status_pill};
use crate::components::time::Ago;
use crate::components::toast::Toaster;
use crate::components::{icon, icon_sm};
use crate::pages::inventory::dns_badge;
use crate::server_fns;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use model::detail::Detail;
use model::item::{Item, Ownership};
use model::scan::ScanProgress;

/// The card.
pub(crate) fn header(dom: DomainState, d: &Detail) -> AnyView {
    let row = &d.row;
    let name = row.name.as_str().to_string();
    let alabel =
        (row.unicode != name).then(|| view! { <span class="text-muted mono text-xs">{name.clone()}</span> });
    let badge =
        row.changed_recently(d.now).then(|| view! { <span class="tag badge-new">"New change"</span> });
    let badge = (badge, dns_badge(row, d.now));
    let watched = (row.ownership == Ownership::Watched)
        .then(|| view! { <span class="tag">{icon("eye")}"Watched"</span> });
    let claim = row.claim.map(claim_tag);
    let why = row.status.why();
    let why = if why.is_empty() { String::new() } else { format!("{}.", why.trim_end_matches('.')) };
    view! {
        <header class="card mb-4">
            <div class="flex items-start gap-4 px-5 pt-5 pb-4 max-sm:flex-col max-sm:gap-3 max-sm:p-4">
                <div class="flex-1 min-w-0">
                    <div class="flex flex-wrap items-center gap-y-2 gap-x-3 [&_.btn-icon]:-ml-2">
                        <h1 class="text-2xl font-mono font-semibold tracking-[-.02em] wrap max-sm:text-xl">{row.unicode.clone()}</h1>
                        {copy_button(&name, name.clone())}
                        {status_pill(&row.status)}{badge}{claim}{watched}{alabel}
                    </div>
                    <p class="mt-1 text-muted" id="why">{why}</p>
                </div>
                {actions(dom, d)}
            </div>
            {scan(dom, d)}
            {facts(dom, d)}
            {tabs::tabs(d)}
        </header>
    }
    .into_any()
}

fn actions(dom: DomainState, d: &Detail) -> impl IntoView + use<> {
    let name = d.row.name.as_str().to_string();
    let busy = {
        let waiting = d.scan.as_ref().is_some_and(|s| !s.finished());
        move || dom.asked.get() || dom.scan.get().map_or(waiting, |s| !s.finished())
    };
    let rescan = move |e: leptos::ev::SubmitEvent| {
        e.prevent_default();
        dom.rescan();
    };
    let navigate = crate::navigate::use_navigator();
    let to_remove = name.clone();
    let remove = move |e: leptos::ev::SubmitEvent| {
        e.prevent_default();
        let name = to_remove.clone();
        spawn_local(async move {
            match server_fns::remove(vec![name.clone()]).await {
                Ok(removed) => {
                    let (toaster, back) = (dom.toaster, format!("/domains/{name}"));
                    let undo = Callback::new(move |()| put_back(toaster, removed.clone(), back.clone()));
                    toaster.undoable("trash", format!("{name} removed"), undo);
                    navigate.to("/domains", NavigateOptions::default());
                }
                Err(f) => dom.toaster.failed(&f),
            }
        });
    };
    let (other, words) = match d.item.ownership {
        Ownership::Owned => (Ownership::Watched, "Mark as only watched"),
        Ownership::Watched => (Ownership::Owned, "Mark as owned"),
    };
    let owned_name = name.clone();
    let own = move |e: leptos::ev::SubmitEvent| {
        e.prevent_default();
        let name = owned_name.clone();
        dom.save(async move { server_fns::ownership(vec![name], other.as_str().into()).await.map(|_| ()) });
    };
    let spinner = {
        move || {
            if busy() { view! { <span class="spin"></span> }.into_any() } else { icon("refresh").into_any() }
        }
    };
    view! {
        <div class="actions flex items-center gap-2 max-sm:w-full max-sm:[&_.btn:first-child]:flex-1 max-sm:[&_form:first-child]:grid max-sm:[&_form:first-child]:flex-1">
            <form method="post" action="/api/fn/rescan" on:submit=rescan>
                <input type="hidden" name="names[]" value=name.clone()/>
                <button class="btn btn-primary" type="submit" disabled=busy>{spinner}"Rescan"</button>
            </form>
            <details class="menu">
                <summary class="btn btn-icon" aria-label="More actions">{icon("dots")}</summary>
                <div class="menu-list menu-right">
                    <form method="post" action="/api/fn/ownership" on:submit=own>
                        <input type="hidden" name="names[]" value=name.clone()/>
                        <input type="hidden" name="ownership" value=other.as_str()/>
                        <button class="menu-item" type="submit">{icon("eye")}{words}</button>
                    </form>
                    <a class="menu-item" href=format!("/tools/trace?name={name}")>{icon("route")}"Trace from the root"</a>
                    <form method="post" action="/api/fn/remove" on:submit=remove>
                        <input type="hidden" name="names[]" value=name/>
                        <button class="menu-item text-critical [&_.i]:text-inherit" type="submit">{icon("trash")}"Remove from the inventory"</button>
                    </form>
                </div>
            </details>
        </div>
    }
    .into_any()
}

/// Puts a removed domain back and opens its page again; this page is gone by then.
fn put_back(toaster: Toaster, removed: Vec<Item>, address: String) {
    spawn_local(async move {
        match server_fns::restore(removed).await {
            Ok(_) => drop(window().location().set_href(&address)),
            Err(f) => toaster.failed(&f),
        }
    });
}

/// The scan that runs, or the one that ended while the page was open; announced as it goes.
fn scan(dom: DomainState, d: &Detail) -> impl IntoView + use<> {
    // A result of ten minutes ago is old; that scans are suspended stays until it is started again.
    let recent = |p: &ScanProgress| d.now.duration_since(p.started_at).as_secs() < 600;
    let news = |p: &ScanProgress| !p.finished() || p.suspended || recent(p);
    let own = d.scan.clone().filter(news);
    let current = move || dom.scan.get().or_else(|| own.clone()).filter(|p| !dom.dismissed(p));
    view! {
        <div id="scan-result" class="relative px-5 pb-4 empty:hidden [&_.banner]:mb-0 [&_.banner]:pr-12" role="status">
            {move || match current() {
                Some(p) => match &p.result {
                    None => stages(&p),
                    Some(_) => outcome(dom, &p),
                },
                None if dom.asked.get() => view! { <p class="text-muted">"Requesting a scan…"</p> }.into_any(),
                None => ().into_any(),
            }}
        </div>
    }
    .into_any()
}

fn outcome(dom: DomainState, p: &ScanProgress) -> AnyView {
    let Some(r) = &p.result else { return ().into_any() };
    let tone = if r.failed {
        Tone::Warn
    } else if r.changes.is_empty() {
        Tone::Ok
    } else {
        Tone::Info
    };
    let changes: Vec<_> = r.changes.iter().map(|c| view! { <li>{c.sentence()}</li> }).collect();
    let changes = (!changes.is_empty())
        .then(|| view! { <ul class="pt-2 pl-5 list-disc [&_li]:[overflow-wrap:anywhere]">{changes}</ul> });
    let steps = r.failed.then(|| stages(p));
    let started = p.started_at;
    let close = move |_| dom.dismissed.set(Some(started));
    view! {
        {banner(tone, r.headline(), "")}
        {changes}{steps}
        <button type="button" class="btn btn-ghost btn-icon btn-sm absolute top-2 right-7" aria-label="Dismiss" on:click=close>{icon("x")}</button>
    }
    .into_any()
}

fn facts(dom: DomainState, d: &Detail) -> impl IntoView + use<> {
    let (registered, registrar) = match d.row.registrar.clone() {
        Some(name) => ("Registered with", name),
        None => ("Registrar", "unknown".into()),
    };
    let dns = d.row.provider.as_ref().map_or_else(|| "Unknown".into_any(), provider);
    let last = d
        .row
        .last_scan_at
        .map_or_else(|| "Never".into_any(), |at| view! { <Ago at=at now=d.now/> }.into_any());
    let ownership = match d.item.ownership {
        Ownership::Owned => view! { {icon_sm("key")}"Owned" }.into_any(),
        Ownership::Watched => view! { {icon_sm("eye")}"Only watched" }.into_any(),
    };
    view! {
        <dl class="flex flex-wrap gap-y-3 gap-x-8 pb-4 px-5 [&_dt]:text-xs [&_dt]:text-muted [&_dt]:mb-0.5 [&_dd]:flex [&_dd]:items-center [&_dd]:gap-1.5 [&_dd]:min-h-5 [&_>_div]:min-w-0 [&_dd]:min-w-0 [&_dd]:[overflow-wrap:anywhere] max-sm:grid max-sm:grid-cols-[minmax(0,1fr)_minmax(0,1fr)] max-sm:pt-0 max-sm:pb-4 max-sm:px-4 max-sm:gap-3">
            <div><dt>{registered}</dt><dd>{registrar}</dd></div>
            <div><dt>"DNS Provider"</dt><dd>{dns}</dd></div>
            <div><dt>"Last Scan"</dt><dd>{last}</dd></div>
            <div><dt>"Ownership"</dt><dd>{ownership}</dd></div>
            <div><dt>"Tags"</dt><dd>{settings::tags(dom, &d.item)}</dd></div>
        </dl>
    }
    .into_any()
}
