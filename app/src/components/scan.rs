//! A scan as it runs: a pill for rows, stages for the domain's page. In: `ScanProgress`.

use crate::components::icon_sm;
use leptos::prelude::*;
use model::scan::{ScanProgress, Stage};

/// Where a scan is, in words: `Registration, 1 of 5`.
pub(crate) fn stage_words(p: &ScanProgress) -> String {
    let first = p.running.iter().min();
    let total = Stage::WORK.len();
    match first {
        Some(Stage::Queued) => "queued".into(),
        // Another server runs it: its stages are known there.
        None => "in progress".into(),
        Some(s) => {
            let at = Stage::WORK.iter().position(|w| w == s).map_or(total, |i| i + 1);
            format!("{}, {at} of {total}", lower(s.label()))
        }
    }
}

fn lower(word: &str) -> String {
    if word.chars().nth(1).is_some_and(char::is_uppercase) { word.into() } else { word.to_lowercase() }
}

/// The pill shown in place of a status while a scan runs.
pub(crate) fn busy_pill(p: &ScanProgress) -> AnyView {
    let queued = matches!(p.running.first(), Some(Stage::Queued));
    let word = if queued { "Scan" } else { "Scanning" };
    let sub = format!("· {}", stage_words(p));
    view! {
        <span class="pill pill-busy">
            <span class="spin"></span><span>{word}" "<span class="sub">{sub}</span></span>
        </span>
    }
    .into_any()
}

fn stage_class(done: bool, failed: bool, now: bool) -> &'static str {
    match (failed, done, now) {
        (true, ..) => "stage fail",
        (_, true, _) => "stage done",
        (_, _, true) => "stage now",
        _ => "stage",
    }
}

/// Progress by stage.
pub(crate) fn stages(p: &ScanProgress) -> AnyView {
    let each = Stage::WORK.map(|stage| {
        let result = p.done.iter().find(|d| d.stage == stage);
        let running = p.running.contains(&stage);
        let failed = result.is_some_and(|r| !r.ok);
        let words = match (result, running) {
            (Some(r), _) => format!("{}, {}", r.words, span(r.ms)),
            (None, true) => "running".into(),
            (None, false) => "Queued".into(),
        };
        let mark = result.map(|r| if r.ok { icon_sm("check").into_any() } else { icon_sm("x").into_any() });
        view! {
            <div class=stage_class(result.is_some(), failed, running)>
                <span>{mark}{stage.label()}</span><small class="min-w-0 truncate" title=words.clone()>{words.clone()}</small>
            </div>
        }
    });
    let done = p.done.len().to_string();
    view! {
        <div
            class="stages" role="progressbar" aria-valuemin="0" aria-valuemax=Stage::WORK.len().to_string()
            aria-valuenow=done aria-label=format!("Scan of {}", p.name.as_str())
        >
            {each.into_iter().collect_view()}
        </div>
    }
    .into_any()
}

/// Milliseconds as people read them.
pub(crate) fn span(ms: u64) -> String {
    if ms < 1000 { format!("{ms} ms") } else { format!("{}.{} s", ms / 1000, ms % 1000 / 100) }
}
