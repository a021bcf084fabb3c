//! What a check found: a sentence, counts that filter, findings by severity then test case with what to do, and the
//! list of all that was tested.

use super::asked::{Asked, Shown};
use crate::answer::CheckOutcome;
use crate::components::banner::{Tone, banner};
use crate::components::tool::{counted, elapsed};
use crate::components::{icon, icon_sm};
use leptos::prelude::*;
use model::finding::{Finding, Level};
use model::time::human_clock;
use std::collections::BTreeMap;

/// The levels people see, worst first.
const LEVELS: [Level; 5] = [Level::Critical, Level::Error, Level::Warning, Level::Notice, Level::Info];

pub(super) fn report(o: &CheckOutcome, asked: &Asked, shown: Memo<Shown>) -> AnyView {
    let counts: BTreeMap<Level, usize> =
        LEVELS.into_iter().map(|l| (l, o.findings.iter().filter(|f| f.level == l).count())).collect();
    let figures = format!(
        "{}, {} in {} · {} UTC",
        counted(o.test_cases.len(), "test case"),
        counted(o.queries as usize, "question"),
        elapsed(o.elapsed_ms),
        human_clock(o.now)
    );
    let notes: Vec<_> = o.notes.iter().map(|n| view! { <p class="hint">{n.clone()}</p> }).collect();
    let (findings, counted) = (o.findings.clone(), counts.clone());
    let (asked, outcome) = (asked.clone(), o.clone());
    view! {
        <div class="stack" role="region" aria-label=format!("Check of {}", o.zone)>
            <div class="tight">{verdict(o, &counts)}</div>
            <div class="row row-wrap spread">
                {move || chips(&asked, &counted, shown.get())}
                <span class="muted xs">{figures}</span>
            </div>
            {move || groups(&findings, shown.get())}
            {tested(&outcome)}
            <div class="notes">{notes}</div>
        </div>
    }
    .into_any()
}

/// The whole in a sentence.
fn verdict(o: &CheckOutcome, counts: &BTreeMap<Level, usize>) -> AnyView {
    let n = |l| counts.get(&l).copied().unwrap_or(0);
    let bad: Vec<_> =
        [(Level::Critical, "critical finding"), (Level::Error, "error"), (Level::Warning, "warning")]
            .into_iter()
            .filter(|(l, _)| n(*l) > 0)
            .map(|(l, word)| counted(n(l), word))
            .collect();
    let bad = bad.join(", ");
    let broken = n(Level::Critical) + n(Level::Error) > 0;
    let zone = &o.zone;
    let (tone, title, text) = match (o.before_a_move, broken, bad.is_empty()) {
        (true, true, _) => (
            Tone::Critical,
            format!("Don’t switch yet: {bad}"),
            format!("With the delegation of {zone} pointing at these servers, some people would not reach it. Mend what stands first below, then check again."),
        ),
        (true, false, false) => (
            Tone::Warn,
            format!("These servers can take over {zone}, with {bad}"),
            "Nothing here breaks the zone; better mend it while nobody depends on it.".to_string(),
        ),
        (true, false, true) => (
            Tone::Ok,
            format!("These servers are ready to take over {zone}"),
            "They answer as if the parent pointed at them already. Lower the TTLs of the old zone before you switch, and keep the old servers running for two days after.".to_string(),
        ),
        (false, true, _) => (
            if n(Level::Critical) > 0 { Tone::Critical } else { Tone::Warn },
            format!("{zone}: {bad}"),
            "Errors break the zone for some people, critical ones for everyone. The worst stand first.".to_string(),
        ),
        (false, false, false) => (
            Tone::Warn,
            format!("{zone} works, with {bad}"),
            "Nothing is broken now; warnings are what breaks next or makes the zone slow.".to_string(),
        ),
        (false, false, true) => (
            Tone::Ok,
            format!("{zone} is in order"),
            format!("{} found nothing to complain about.", if o.test_cases.len() == 1 { "The test case".to_string() } else { format!("All {} test cases", o.test_cases.len()) }),
        ),
    };
    banner(tone, title, text)
}

/// Counts by level; each is a filter and an address.
fn chips(asked: &Asked, counts: &BTreeMap<Level, usize>, shown: Shown) -> AnyView {
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
        <nav class="chips" aria-label="Findings by level">
            {chip(Shown::FromNotice, "Notice and above", sum(Level::Notice), None)}
            {levels}
            {chip(Shown::All, "All", sum(Level::Info), None)}
        </nav>
    }
    .into_any()
}

/// Findings by severity, worst first, each level by test case.
fn groups(findings: &[Finding], shown: Shown) -> AnyView {
    let cards: Vec<_> = LEVELS
        .into_iter()
        .filter(|l| shown.takes(*l))
        .filter_map(|level| {
            let mut of_level: Vec<&Finding> = findings.iter().filter(|f| f.level == level).collect();
            if of_level.is_empty() {
                return None;
            }
            of_level.sort_by(|a, b| a.test_case.cmp(&b.test_case));
            let n = of_level.len().to_string();
            let cases: Vec<_> =
                of_level.chunk_by(|a, b| a.test_case == b.test_case).map(|c| case(level, c)).collect();
            Some(view! {
                <section class="card">
                    <div class="card-head"><span class=level_class(level)>{icon(level_icon(level))}</span><h2>{level.label()}</h2><span class="muted">{n}</span></div>
                    {cases}
                </section>
            }
            .into_any())
        })
        .collect();
    if cards.is_empty() {
        return view! { <section class="card card-body row"><span class="t-ok">{icon("ok")}</span>"No finding of this level."</section> }.into_any();
    }
    cards.into_any()
}

fn case(level: Level, findings: &[&Finding]) -> AnyView {
    let id = findings.first().map(|f| f.test_case.clone()).unwrap_or_default();
    let title = model::test_case::title(&id).unwrap_or_default();
    let rows: Vec<_> = findings.iter().map(|f| finding(level, f)).collect();
    view! {
        <h3 class="case-head"><span class="mono">{id}</span><span class="muted">{title}</span></h3>
        {rows}
    }
    .into_any()
}

fn finding(level: Level, f: &Finding) -> AnyView {
    let words = if f.message.is_empty() { f.tag.clone() } else { f.message.clone() };
    let fix = (!f.fix.is_empty()).then(|| view! { <p class="strong-text">{f.fix.clone()}</p> });
    let args: Vec<_> = f
        .args
        .iter()
        .map(|(k, v)| {
            let value = v.as_str().map_or_else(|| v.to_string(), |s| s.replace(';', "; "));
            view! { <span class="wrap">{k.clone()}" = "{value}</span> }
        })
        .collect();
    view! {
        <div class="finding">
            {icon::icon_in(level_icon(level), icon_class(level))}
            <div>
                <div class="strong wrap">{words}</div>{fix}
                <div class="ev"><span class=level_class(level)>{level.as_str()}</span><span class="strong-text">{f.tag.clone()}</span>{args}</div>
            </div>
        </div>
    }
    .into_any()
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
                None => ("ok", "t-ok", "Passed"),
            };
            let title = model::test_case::title(id).unwrap_or_default();
            view! {
                <li class="row"><span class=class title=word>{icon_sm(mark)}</span><span class="vh">{format!("{word}: ")}</span>
                    <span class="mono xs">{id.clone()}</span><span class="xs muted clip" title=title>{title}</span></li>
            }
        })
        .collect();
    let head = format!("{fine} of {} test cases without a warning", o.test_cases.len());
    view! {
        <details class="card fold"><summary><b>"All that was tested"</b><span class="muted">{head}</span></summary>
            <ul class="card-body tests">{rows}</ul></details>
    }
    .into_any()
}

/// The colour of a level.
pub(crate) fn level_class(level: Level) -> &'static str {
    match level {
        Level::Critical | Level::Error => "t-critical",
        Level::Warning => "t-warn",
        Level::Notice => "t-info",
        Level::Info | Level::Debug => "muted",
    }
}

fn icon_class(level: Level) -> &'static str {
    match level {
        Level::Critical | Level::Error => "i t-critical",
        Level::Warning => "i t-warn",
        Level::Notice => "i t-info",
        Level::Info | Level::Debug => "i muted",
    }
}

/// Its icon.
pub(crate) fn level_icon(level: Level) -> &'static str {
    match level {
        Level::Critical | Level::Error => "critical",
        Level::Warning => "warning",
        _ => "info",
    }
}
