//! The addresses at the end of the chain, and who gets which answer: the addresses, each with who sees it, and the table of vantage points.

use super::browser_side::{BrowserSide, Reach, State};
use crate::components::address_claim::address_claim;
use crate::components::time::millis;
use crate::components::{icon, icon_sm};
use leptos::prelude::*;
use model::compare::rdata_key;
use model::fqdn::{FqdnReport, TypeOutcome, VantageAnswer, VantageKind};
use model::time::human_seconds;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// The addresses a place was given, in a form that compares.
fn given(v: &VantageAnswer) -> BTreeSet<String> {
    let types = v.answers.iter().filter(|a| matches!(a.rtype.as_str(), "A" | "AAAA"));
    types.flat_map(|a| a.data.iter().map(|d| rdata_key(&a.rtype, d))).collect()
}

fn answered(v: &VantageAnswer) -> bool {
    v.error.is_none() && v.answers.iter().any(|a| a.outcome != TypeOutcome::Failed)
}

/// The final addresses; nothing where there are none.
pub(super) fn addresses(report: Memo<FqdnReport>) -> AnyView {
    let rows = Memo::new(move |_| report.with(|r| (seen_by(r), r.address_space.clone())));
    let card = move || {
        let (rows, space) = rows.get();
        if rows.is_empty() {
            return None;
        }
        let lines: Vec<_> = rows.into_iter().map(|(address, who)| {
            let rtype = if address.is_ipv4() { "A" } else { "AAAA" };
            let claim = space.iter().find(|s| s.address == address).map(address_claim);
            view! {
                <li><span class="rtype">{rtype}</span><span class="mono font-semibold wrap">{address.to_string()}</span><span class="ml-auto text-muted text-xs">{who}</span>{claim}</li>
            }
        }).collect();
        Some(view! {
            <section class="card"><div class="card-head"><h2>"Final addresses"</h2></div>
                <ul class="[&_>_li]:flex [&_>_li]:flex-wrap [&_>_li]:items-baseline [&_>_li]:gap-x-2 [&_>_li]:py-2 [&_>_li]:px-4 [&_>_li]:border-b [&_>_li:last-child]:border-b-0">{lines}</ul></section>
        })
    };
    view! { {card} }.into_any()
}

/// Each address with who is given it.
fn seen_by(r: &FqdnReport) -> Vec<(IpAddr, String)> {
    let places: Vec<_> = r.vantages.iter().filter(|v| answered(v)).collect();
    let mut out = Vec::new();
    for address in &r.addresses {
        let rtype = if address.is_ipv4() { "A" } else { "AAAA" };
        let key = rdata_key(rtype, &address.to_string());
        let who: Vec<_> = places.iter().filter(|v| given(v).contains(&key)).collect();
        let words = match (who.len(), places.len()) {
            (_, 1) => String::new(),
            (n, all) if n == all => "seen everywhere".into(),
            (1, _) => who.first().map(|v| format!("only {}", inside(&v.label))).unwrap_or_default(),
            (n, all) => format!("{n} of {all} places"),
        };
        out.push((*address, words));
    }
    out
}

/// A label inside a sentence.
fn inside(label: &str) -> String {
    label.strip_prefix("This ").map_or_else(|| label.to_string(), |rest| format!("this {rest}"))
}

/// A label at the start of a line.
fn first_up(label: &str) -> String {
    let mut chars = label.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

/// The table of places.
pub(super) fn vantages(report: Memo<FqdnReport>, browser: BrowserSide) -> AnyView {
    let places = Memo::new(move |_| report.with(|r| r.vantages.clone()));
    let count = move || {
        places.with(|all| format!("{} of {} answered", all.iter().filter(|v| answered(v)).count(), all.len()))
    };
    let rows = move || {
        places.with(|all| {
            let first = all.iter().find(|v| answered(v)).map(given);
            all.iter().map(|v| row(v, first.as_ref())).collect::<Vec<_>>()
        })
    };
    let name = report.with_untracked(|r| r.name.clone());
    let asked = name.clone();
    let resolves = Memo::new(move |_| report.with(|r| !r.addresses.is_empty()));
    view! {
        <section class="card tbl-wrap">
            <div class="card-head"><h2>"Vantage points"</h2><div class="aside">{count}</div></div>
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Vantage points, table"><table class="tbl fqdn-places">
                <thead><tr><th scope="col">"From"</th><th scope="col">"Sees"</th><th scope="col" class="num">"Time"</th></tr></thead>
                <tbody>{rows}{move || coming(browser.state.get())}</tbody></table></div>
            {move || advice(browser, &asked)}
            {move || (resolves.get() && browser.state.get() != State::Still).then(|| reach(browser, name.clone()))}
            <noscript><p class="hint px-4 py-2 border-t [&_.btn]:flex-none">"With JavaScript, your browser queries public resolvers too."</p></noscript>
        </section>
    }
    .into_any()
}

fn row(v: &VantageAnswer, first: Option<&BTreeSet<String>>) -> AnyView {
    let differs = answered(v) && first.is_some_and(|f| *f != given(v));
    let mark = differs
        .then(|| view! { <span class="pill pill-warning">{icon("compare")}<span>"differs"</span></span> });
    let lines: Vec<_> =
        v.answers.iter().filter(|a| matches!(a.rtype.as_str(), "A" | "AAAA")).flat_map(|a| &a.data).collect();
    let sees = if let Some(why) = &v.error {
        view! { <span class="text-warn wrap">{why.clone()}</span> }.into_any()
    } else if lines.is_empty() {
        let gone = v.answers.iter().any(|a| a.outcome == TypeOutcome::NxDomain);
        let words = if gone { "the name does not exist" } else { "no address" };
        view! { <span class="text-warn">{words}</span> }.into_any()
    } else {
        let all: Vec<_> =
            lines.into_iter().map(|d| view! { <div class="mono wrap">{d.clone()}</div> }).collect();
        all.into_any()
    };
    let left = v.answers.iter().filter_map(|a| a.ttl).min();
    let copy = (v.kind == VantageKind::Browser)
        .then(|| left.map(|t| view! { <div class="text-muted text-xs">{format!("cached for another {}", human_seconds(t.into()))}</div> }));
    let place = match v.kind {
        VantageKind::Server => Some("uncached, from the authoritative servers".to_string()),
        _ => v.place.clone(),
    };
    let place = place.map(|p| view! { <div class="text-muted text-xs">{p}</div> });
    // The identity of an agent is lower case.
    let label = if v.kind == VantageKind::Agent { v.label.clone() } else { first_up(&v.label) };
    let time = v.latency_ms.map_or_else(|| "–".to_string(), millis);
    view! {
        <tr><th scope="row">{label}{place}</th><td>{sees}{copy}{mark}</td><td class="num text-muted">{time}</td></tr>
    }
    .into_any()
}

/// The line of those that have not answered yet.
fn coming(state: State) -> Option<AnyView> {
    let words = match state {
        State::Asking(1) => "one resolver still to answer".to_string(),
        State::Asking(n) => format!("{n} resolvers still to answer"),
        _ => return None,
    };
    Some(view! {
        <tr><th scope="row">"Your browser"</th><td colspan="2"><span class="flex items-center gap-2 text-muted"><span class="spin"></span>{words}</span></td></tr>
    }
    .into_any())
}

fn advice(browser: BrowserSide, name: &str) -> Option<AnyView> {
    let name = name.to_string();
    match browser.state.get() {
        State::Denied => Some(view! {
            <div class="px-4 py-2 border-t [&_.btn]:flex-none flex items-center gap-2"><p class="hint flex-1 min-w-0">"Your browser queried no resolver: that would put the negative answer into its cache."</p>
                <button class="btn btn-sm" type="button" on:click=move |_| browser.ask_anyway(&name)>"Query anyway"</button></div>
        }
        .into_any()),
        State::Reload => Some(view! {
            <p class="hint px-4 py-2 border-t [&_.btn]:flex-none">"Your browser can query public resolvers once this page is reloaded. "<a href="" rel="external" on:click=|e| { e.prevent_default(); let _ = window().location().reload(); }>"Reload"</a></p>
        }
        .into_any()),
        State::NoResolver => Some(view! {
            <p class="hint px-4 py-2 border-t [&_.btn]:flex-none">"No resolver is configured that a browser can query."</p>
        }
        .into_any()),
        State::Still | State::Asking(_) | State::Done => None,
    }
}

/// Whether this browser gets to the host through its own resolver: all that a page can see of it.
fn reach(browser: BrowserSide, host: String) -> AnyView {
    let words = move || match browser.reach.get() {
        Reach::Untried => {
            "A web page can’t read the answer of your system’s resolver; it can only try to reach the host."
        }
        Reach::Trying => "Trying…",
        Reach::Yes => "The host answers this browser over HTTPS: your system’s resolver resolves the name.",
        Reach::No => {
            "No answer over HTTPS within 6 s: your resolver may have an old answer cached, or the host does not serve HTTPS."
        }
    };
    let picture = move || match browser.reach.get() {
        Reach::Yes => Some(view! { <span class="text-ok">{icon_sm("ok")}</span> }),
        Reach::No => Some(view! { <span class="text-warn">{icon_sm("warning")}</span> }),
        Reach::Untried | Reach::Trying => None,
    };
    view! {
        <div class="px-4 py-2 border-t [&_.btn]:flex-none flex items-center gap-2">
            <p class="hint flex-1 min-w-0" role="status">{picture}" "{words}</p>
            <button class="btn btn-sm" type="button" disabled=move || browser.reach.get() == Reach::Trying
                on:click=move |_| browser.try_host(host.clone())>"Try from here"</button>
        </div>
    }
    .into_any()
}
