//! The trace tool: from the root down, every server of every set asked, nothing from a cache.

use crate::components::address_claim::address_claims;
use crate::components::banner::{Tone, banner, page_failure};
use crate::components::copy::copy_button;
use crate::components::negative::{negative, soa_line};
use crate::components::tool::{Again, TYPES, Tool, ask, counted, result_bar, tool_title, waiting};
use crate::components::visitor;
use crate::components::{icon, icon_sm};
use crate::query;
use crate::resource::json_resource;
use crate::server_fns;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;
use model::dns::{AnswerKind, Record, ServerAnswer, Trace, TraceOutcome, TraceStep};
use model::inventory::percent;
use model::time::human_seconds;

/// The page.
#[component]
pub(crate) fn TracePage() -> impl IntoView {
    let search = use_location().search;
    let asked = Memo::new(move |_| {
        let s = search.get();
        let name = query::value(&s, "name").unwrap_or_default().trim().to_string();
        let rtype = query::value(&s, "type").filter(|t| !t.is_empty()).unwrap_or_else(|| "A".into());
        (name, rtype.to_uppercase())
    });
    let again = RwSignal::new(0_u32);
    let data = json_resource(
        move || (asked.get(), again.get()),
        |((name, rtype), _)| async move {
            if name.is_empty() { None } else { Some(server_fns::trace(name, rtype).await) }
        },
    );
    let submit = ask("/tools/trace", again);
    let form = move || {
        let (name, rtype) = asked.get();
        let known = TYPES.contains(&rtype.as_str());
        let other = (!known).then(|| view! { <option value=rtype.clone() selected>{rtype.clone()}</option> });
        let options = TYPES.map(|t| view! { <option value=t selected=t == rtype>{t}</option> });
        view! {
            <form class="toolbar" method="get" action=visitor::form_action("/tools/trace") target=visitor::form_target() on:submit=submit.clone()>
                <label class="search search-wide"><span class="sr-only">"Name"</span>{icon("search")}
                    <input class="input mono" name="name" value=name.clone() prop:value=name required placeholder="www.alder.example" autocomplete="off" spellcheck="false" autocapitalize="off"/></label>
                <label class="type"><span class="sr-only">"Record type"</span>
                    <select class="input" name="type">{options.into_iter().collect_view()}{other}</select></label>
                {visitor::form_fields()}<button class="btn btn-primary" type="submit">"Trace"</button>
            </form>
        }
    };
    view! {
        <Title text=move || asked.with(|(name, rtype)| tool_title("Trace", format!("{name} {}", if name.is_empty() { "" } else { rtype }).trim()))/>
        <div class="page-head"><h1>"Trace"</h1><span class="sub">"from the root down, every server queried, no caches"</span></div>
        {form}
        <Suspense fallback=|| waiting("Querying every server from the root down…")>
            {move || data.get().map(|d| match d {
                Some(Ok(t)) => {
                    let zone = t.steps.last().map(|s| s.zone.clone()).filter(|z| z != ".");
                    view! { <div class="grid grid-cols-1 gap-4 content-start">{result_bar(Tool::Trace, &t.name, zone.as_deref(), (), Again::Bump(again))}{trace_view(&t)}</div> }
                        .into_any()
                }
                Some(Err(f)) => page_failure("The trace could not be made", &f),
                None => hint(),
            })}
        </Suspense>
    }
    .into_any()
}

fn hint() -> AnyView {
    view! {
        <section class="card empty">{icon::icon_in("route", "i i-lg")}
            <h2>"Follow a name from the root to its servers"</h2>
            <p>"Shows each referral with its servers, glue and DS, and the answer of every server. No resolver is queried, so no negative answer enters a cache."</p>
        </section>
    }
    .into_any()
}

/// A note of the engine as a sentence, without its full stop.
fn sentence(note: &str) -> String {
    let note = note.trim_end_matches('.');
    let mut letters = note.chars();
    // A name keeps its letters; a word begins the sentence.
    let first_word = note.split_whitespace().next().unwrap_or_default();
    match letters.next() {
        Some(first) if !first_word.contains('.') => first.to_uppercase().chain(letters).collect(),
        _ => note.to_string(),
    }
}

/// What it took.
fn figures(t: &Trace) -> String {
    format!(
        "{} in {}",
        counted(t.queries as usize, "question"),
        crate::components::time::millis(t.elapsed_ms)
    )
}

/// A trace: its outcome in words, its steps, its records.
pub(crate) fn trace_view(t: &Trace) -> AnyView {
    let what = format!("{} {}", t.name, t.rtype);
    let (tone, title) = match t.outcome {
        TraceOutcome::Answer if t.circle().is_some() => (Tone::Critical, format!("{what}: CNAME loop")),
        TraceOutcome::Answer => (Tone::Ok, format!("{what} is answered")),
        TraceOutcome::NoData => (Tone::Info, format!("{} exists, but has no {} record", t.name, t.rtype)),
        TraceOutcome::NxDomain => (Tone::Warn, format!("{} does not exist", t.name)),
        TraceOutcome::Lame => (Tone::Critical, format!("No server of the last zone answers {what}")),
        TraceOutcome::Loop => (Tone::Critical, "Delegation loop".to_string()),
        TraceOutcome::Exhausted => {
            (Tone::Warn, "The trace reached its query limit before an answer".to_string())
        }
    };
    let figures = figures(t);
    let notes: String = t.notes.iter().map(|n| format!(" {}.", sentence(n))).collect();
    let steps: Vec<_> = t.steps.iter().enumerate().map(|(i, s)| step(i, s)).collect();
    let advice = t.soa.clone().map(|soa| {
        let a = model::advice::of_soa(soa, &t.name, now());
        view! {
            <section class="card"><div class="card-head"><h2>"Negative caching"</h2></div>
                <div class="card-body grid grid-cols-1 gap-4 content-start">{soa_line(&a.soa)}{negative(&a)}</div></section>
        }
    });
    view! {
        <div class="grid grid-cols-1 gap-4 content-start">
            <div class="empty:hidden [&_>_.banner:last-child]:mb-0">{banner(tone, title, format!("{figures}.{notes}"))}</div>
            {answer(&t.records, &t.rtype)}
            {address_claims(&t.address_space)}
            {advice}
            <section class="card"><div class="card-head"><h2>"Path"</h2><span class="min-w-0 truncate text-muted">{format!("{} steps", t.steps.len())}</span></div>
                <ol class="steps">{steps}</ol></section>
        </div>
    }
    .into_any()
}

/// The clock for a worked example: a trace is made now.
fn now() -> model::Timestamp {
    #[cfg(feature = "ssr")]
    return use_context::<crate::clock::Clock>().map_or_else(model::Timestamp::now, |c| (c.0)());
    #[cfg(not(feature = "ssr"))]
    crate::browser::now()
}

/// The records at the end. An alias leads on: its target is one click away. Signatures are shown below what they sign.
fn answer(records: &[Record], rtype: &str) -> Option<AnyView> {
    if records.is_empty() {
        return None;
    }
    let mut sorted: Vec<&Record> = records.iter().collect();
    sorted.sort_by_key(|r| r.rtype == "RRSIG");
    let rows: Vec<_> = sorted
        .into_iter()
        .map(|r| {
            let on = (r.rtype == "CNAME" && rtype != "CNAME").then(|| {
                let target = r.data.trim_end_matches('.').to_string();
                let url = format!("/tools/trace?name={}&type={}", percent(&target), percent(rtype));
                view! { <a class="btn btn-sm" href=url aria-label=format!("Trace {target}")>{icon_sm("route")}"Trace it"</a> }
            });
            let signature = r.rtype == "RRSIG";
            view! {
                <tr><th scope="row" class="mono">{r.name.clone()}</th><td><span class="rtype">{r.rtype.clone()}</span></td>
                    <td class="num mono" title=human_seconds(u64::from(r.ttl))>{r.ttl.to_string()}</td>
                    <td class="mono rdata"><div class="rline"><span class="flex-initial wrap" class:text-muted=signature class:text-xs=signature>{r.data.clone()}</span>{copy_button("the data", r.data.clone())}{on}</div></td></tr>
            }
        })
        .collect();
    Some(view! {
        <section class="card tbl-wrap"><div class="card-head"><h2>"Answer"</h2></div>
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Answer, table"><table class="tbl tbl-tight tbl-rec">
                <thead><tr><th scope="col">"Name"</th><th scope="col">"Type"</th><th scope="col" class="num">"TTL"</th><th scope="col">"Data"</th></tr></thead>
                <tbody>{rows}</tbody></table></div></section>
    }
    .into_any())
}

fn step(i: usize, s: &TraceStep) -> AnyView {
    let zone = if s.zone == "." { "the root".to_string() } else { s.zone.clone() };
    let chosen = s.chosen.and_then(|i| s.answers.get(i));
    let led = match (&s.referral, chosen) {
        (Some(r), _) => {
            let ns: Vec<_> = r.nameservers.iter().map(|n| n.name.clone()).collect();
            let ds = if r.ds.is_empty() { "no DS" } else { "with DS" };
            format!("refers to {}, {ds}, TTL {}: {}", r.zone, r.ttl, ns.join(", "))
        }
        (None, Some(c)) => c.kind.words().to_string(),
        (None, None) => "no usable referral or answer".to_string(),
    };
    let good = s.answers.iter().filter(|a| a.kind.responded()).count();
    let agree = format!("{good} of {} answered", counted(s.answers.len(), "server"));
    let (dot, mark) = if s.chosen.is_none() { ("dot warn", "!") } else { ("dot", "") };
    let mark = if mark.is_empty() { (i + 1).to_string() } else { mark.to_string() };
    let notes: Vec<_> =
        s.notes.iter().map(|n| view! { <div class="text-warn text-xs wrap">{n.clone()}</div> }).collect();
    let asked = chosen.map(|c| {
        let ms = c.latency_ms.map(crate::components::time::millis).unwrap_or_default();
        view! { <span class="mono text-xs">{c.server.clone()}</span><span class="text-muted text-xs">{ms}</span> }
    });
    let rows: Vec<_> = s.answers.iter().enumerate().map(|(j, a)| said(a, s.chosen == Some(j))).collect();
    view! {
        <li>
            <span class=dot>{mark}</span>
            <div class="flex-1 min-w-0">
                <div class="mono font-semibold">{zone}</div>
                <div class="wrap">{led}</div>
                <div class="text-muted text-xs">{agree}</div>{notes}
            </div>
            <div class="side">{asked}</div>
            <details class="said"><summary class="text-xs">"Answers of every server"</summary>
                <div class="tbl-scroll" tabindex="0" role="region" aria-label="Answers, table"><table class="tbl tbl-tight tbl-ns">
                    <thead><tr><th scope="col">"Server"</th><th scope="col">"Address"</th><th scope="col">"Answer"</th><th scope="col" class="num">"Time"</th></tr></thead>
                    <tbody>{rows}</tbody></table></div></details>
        </li>
    }
    .into_any()
}

fn said_class(kind: AnswerKind) -> &'static str {
    match kind {
        AnswerKind::Answer | AnswerKind::Referral | AnswerKind::NoData => "text-inherit",
        AnswerKind::NxDomain | AnswerKind::NonAuthoritative => "text-warn",
        AnswerKind::NotAsked => "text-muted",
        _ => "text-critical",
    }
}

fn said(a: &ServerAnswer, followed: bool) -> AnyView {
    let address = a.address.map_or_else(|| "–".to_string(), |a| a.to_string());
    let ms = a.latency_ms.map_or_else(|| "–".to_string(), crate::components::time::millis);
    let tag = followed.then(|| view! { <span class="tag">"followed"</span> });
    let notes = a.notes.join("; ");
    view! {
        <tr><th scope="row" class="mono">{a.server.clone()}" "{tag}</th><td class="mono">{address}</td>
            <td title=notes><span class=said_class(a.kind)>{a.kind.words()}</span></td><td class="num">{ms}</td></tr>
    }
    .into_any()
}
