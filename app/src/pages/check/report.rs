//! What a check found: a sentence, counts that filter, findings by severity then test case with what to do, and the
//! list of all that was tested.

use super::form::{CheckForm, Shown};
use crate::components::banner::banner;
use crate::components::copy::{copy_button, put};
use crate::components::time::Ago;
use crate::components::toast::use_toaster;
use crate::components::tool::{Again, Tool, counted, elapsed, result_bar};
use crate::components::{icon, icon_sm};
use leptos::prelude::*;
use model::culprit::command;
use model::event::Severity;
use model::finding::{Finding, Level};
use model::time::human_clock;
use model::verdict::{CheckVerdict, FindingGroup, as_text, finding_groups};
use service::CheckOutcome;
use std::collections::BTreeMap;

/// The levels people see, worst first.
const LEVELS: [Level; 5] = [Level::Critical, Level::Error, Level::Warning, Level::Notice, Level::Info];

pub(super) fn report(
    o: &CheckOutcome,
    asked: &CheckForm,
    shown: Memo<Shown>,
    again: RwSignal<u32>,
) -> AnyView {
    let counts: BTreeMap<Level, usize> =
        LEVELS.into_iter().map(|l| (l, o.findings.iter().filter(|f| f.level == l).count())).collect();
    let figures = format!(
        "{}, {} in {} · {} UTC, ",
        counted(o.test_cases.len(), "test case"),
        counted(o.queries as usize, "question"),
        elapsed(o.elapsed_ms),
        human_clock(o.now)
    );
    let figures = view! { {figures}<Ago at=o.now now=o.now/> };
    let bar = result_bar(Tool::Check, &o.zone, None, figures, Again::Bump(again));
    let notes: Vec<_> = o.notes.iter().map(|n| view! { <p class="hint">{n.clone()}</p> }).collect();
    let (findings, counted) = (o.findings.clone(), counts.clone());
    let (asked, outcome) = (asked.clone(), o.clone());
    view! {
        <div class="grid grid-cols-1 gap-4 content-start" role="region" aria-label=format!("Check of {}", o.zone)>
            {bar}
            <div class="empty:hidden [&_>_.banner:last-child]:mb-0">{verdict(o)}</div>
            <div class="flex items-center gap-2 flex-wrap justify-between">
                {move || chips(&asked, &counted, shown.get())}
                {copy_report(&outcome)}
            </div>
            {move || groups(&findings, shown.get())}
            {tested(&outcome)}
            <div class="empty:hidden">{notes}</div>
        </div>
    }
    .into_any()
}

/// The whole in a sentence.
fn verdict(o: &CheckOutcome) -> AnyView {
    let verdict =
        CheckVerdict::of(&o.zone, &o.findings, o.test_cases.len(), o.before_a_move).because(o.cause.as_ref());
    banner(verdict.tone.into(), verdict.title, verdict.text)
}

/// The report as a text, for a ticket or a mail.
fn copy_report(o: &CheckOutcome) -> AnyView {
    let toaster = use_toaster();
    let o = o.clone();
    let copy = move |_| {
        let verdict = CheckVerdict::of(&o.zone, &o.findings, o.test_cases.len(), o.before_a_move)
            .because(o.cause.as_ref());
        put(toaster, "the report as text", &as_text(&verdict, &o.findings));
    };
    view! { <button type="button" class="btn btn-sm noscript:hidden" on:click=copy>{icon_sm("copy")}"Copy as text"</button> }
        .into_any()
}

/// Counts by level; each is a filter and an address.
fn chips(asked: &CheckForm, counts: &BTreeMap<Level, usize>, shown: Shown) -> AnyView {
    let sum = |from: Level| counts.iter().filter(|(l, _)| **l >= from).map(|(_, n)| n).sum::<usize>();
    let chip = |to: Shown, label: &'static str, n: usize, mark: Option<Level>| {
        let mark = mark.map(|l| view! { <span class=level_class(l)>{icon_sm(level_icon(l))}</span> });
        let current = (shown == to).then_some("true");
        view! {
            <a class="chip" href=asked.url(to) aria-current=current data-noscroll="true">{mark}{label}" "<span class="n">{n.to_string()}</span></a>
        }
        .into_any()
    };
    let levels: Vec<_> = LEVELS
        .into_iter()
        .filter(|l| counts.get(l).is_some_and(|n| *n > 0))
        .map(|l| chip(Shown::Only(l), l.label(), counts.get(&l).copied().unwrap_or(0), Some(l)))
        .collect();
    view! {
        <nav class="flex flex-wrap gap-1.5 [&_.chip_>_span_>_.i]:text-inherit" aria-label="Findings by level">
            {chip(Shown::FromNotice, "Notice and above", sum(Level::Notice), None)}
            {levels}
            {chip(Shown::All, "All", sum(Level::Info), None)}
        </nav>
    }
    .into_any()
}

/// Findings by severity, worst first, each level by test case.
fn groups(findings: &[Finding], shown: Shown) -> AnyView {
    let groups = finding_groups(findings);
    let level = |m: &FindingGroup<'_>| m.first().map(|f| f.level);
    let cards: Vec<_> = groups
        .chunk_by(|a, b| level(a) == level(b))
        .filter_map(|of_level| {
            let level = level(of_level.first()?).filter(|l| shown.takes(*l))?;
            let n = findings.iter().filter(|f| f.level == level).count();
            let cases: Vec<_> = of_level.chunk_by(|a, b| test_case(a) == test_case(b)).map(case).collect();
            Some(view! {
                <section class="card">
                    <div class="card-head"><span class=level_class(level)>{icon(level_icon(level))}</span><h2>{level.label()}</h2><span class="min-w-0 truncate text-muted">{n.to_string()}</span></div>
                    {cases}
                </section>
            }
            .into_any())
        })
        .collect();
    if cards.is_empty() {
        return view! { <section class="card card-body flex items-center gap-2"><span class="text-ok">{icon("ok")}</span>"No finding of this level."</section> }.into_any();
    }
    cards.into_any()
}

fn test_case<'a>(matter: &FindingGroup<'a>) -> &'a str {
    matter.first().map_or("", |f| f.test_case.as_str())
}

fn case(groups: &[FindingGroup<'_>]) -> AnyView {
    let id = groups.first().map_or("", test_case).to_string();
    let title = model::test_case::title(&id).unwrap_or_default();
    let rows: Vec<_> = groups.iter().map(matter).collect();
    let head = match model::test_case::specification(&id) {
        Some(url) => {
            let words = format!("{id}: Zonemaster’s specification, in a new window");
            view! { <a class="mono" href=url rel="external noopener" target="_blank" title=words>{id}</a> }
                .into_any()
        }
        None => view! { <span class="mono">{id}</span> }.into_any(),
    };
    view! {
        <h3 class="case-head">{head}<span class="font-normal text-muted">{title}</span></h3>
        {rows}
    }
    .into_any()
}

/// One matter: what was seen, each with its evidence, and once what to do.
fn matter(matter: &FindingGroup<'_>) -> Option<AnyView> {
    let first = matter.first()?;
    let level = first.level;
    let fix = (!first.fix.is_empty()).then(|| view! { <p class="text-text">{first.fix.clone()}</p> });
    let seen: Vec<_> = matter
        .iter()
        .map(|f| {
            let words = if f.message.is_empty() { f.tag.clone() } else { f.message.clone() };
            view! { <div class="font-semibold wrap">{words}</div> }
        })
        .collect();
    let evidence: Vec<_> = matter
        .iter()
        .map(|f| {
            let args: Vec<_> = f
                .args
                .iter()
                .map(|(k, v)| (k, v.as_str().map_or_else(|| v.to_string(), |s| s.replace(';', "; "))))
                .filter(|(_, value)| !value.is_empty())
                .map(|(k, value)| view! { <span class="wrap">{k.clone()}" = "{value}</span> })
                .collect();
            view! {
                <div class="ev"><span class=level_class(level)>{level.as_str()}</span><span class="text-text">{f.tag.clone()}</span>{args}</div>
            }
        })
        .collect();
    let command = command(first).map(|line| {
        view! {
            <div class="flex flex-wrap items-center gap-y-0 gap-x-2 mt-1 [&_code]:text-text max-sm:grid max-sm:grid-cols-[minmax(0,1fr)_auto]"><span class="text-muted text-xs max-sm:col-span-full">"Reproduce"</span><code class="text-xs wrap">{line.clone()}</code>{copy_button("the command", line)}</div>
        }
    });
    Some(
        view! {
            <div class="finding">
                {icon::icon_in(level_icon(level), icon_class(level))}
                <div>{seen}{fix}{evidence}{command}</div>
            </div>
        }
        .into_any(),
    )
}

/// Everything that was tested, with how it came out.
fn tested(o: &CheckOutcome) -> AnyView {
    let worst = |case: &str| o.findings.iter().filter(|f| f.test_case == case).map(|f| f.level).max();
    let fine = o.test_cases.iter().filter(|c| worst(c).is_none_or(|l| l <= Level::Notice)).count();
    let rows: Vec<_> = o
        .test_cases
        .iter()
        .map(|id| {
            let level = worst(id).filter(|l| *l > Level::Info);
            let (mark, class, word) = match level {
                Some(l) => (level_icon(l), level_class(l), l.label()),
                None => ("ok", "text-ok", "Passed"),
            };
            let title = model::test_case::title(id).unwrap_or_default();
            view! {
                <li class="flex items-center gap-2 max-sm:flex-wrap"><span class=class title=word>{icon_sm(mark)}</span><span class="sr-only">{format!("{word}: ")}</span>
                    <span class="mono text-xs">{id.clone()}</span><span class="text-xs text-muted min-w-0 truncate" title=title>{title}</span></li>
            }
        })
        .collect();
    let head = format!("{fine} of {} test cases without a warning", o.test_cases.len());
    view! {
        <details class="card fold"><summary><b>"All test cases"</b><span class="text-muted">{head}</span></summary>
            <ul class="card-body grid grid-cols-[repeat(auto-fill,minmax(min(24rem,100%),1fr))] gap-y-1.5 gap-x-5 [&_.mono]:flex-none [&_.mono]:w-27">{rows}</ul></details>
    }
    .into_any()
}

/// The colour of a level.
pub(crate) fn level_class(level: Level) -> &'static str {
    match level.severity() {
        Severity::Critical => "text-critical",
        Severity::Warning => "text-warn",
        Severity::Notice => "text-info",
        Severity::Info => "text-muted",
    }
}

fn icon_class(level: Level) -> &'static str {
    match level.severity() {
        Severity::Critical => "i text-critical",
        Severity::Warning => "i text-warn",
        Severity::Notice => "i text-info",
        Severity::Info => "i text-muted",
    }
}

/// Its icon.
pub(crate) fn level_icon(level: Level) -> &'static str {
    match level.severity() {
        Severity::Critical => "critical",
        Severity::Warning => "warning",
        Severity::Notice | Severity::Info => "info",
    }
}
