//! Beside the plan: when caches agree, and what to mind before applying it.

use crate::components::icon::icon_in;
use leptos::prelude::*;
use model::configure::ServiceReport;
use model::time::human_clock;

/// The dated steps.
pub(crate) fn caches_card(r: &ServiceReport) -> AnyView {
    if r.caches.is_empty() {
        return ().into_any();
    }
    let steps: Vec<_> = r
        .caches
        .iter()
        .enumerate()
        .map(|(i, s)| {
            let dot = match (i, s.waits) {
                (0, _) => "dot ok",
                (_, true) => "dot warn",
                _ => "dot",
            };
            view! {
                <li><span class=dot>{(i + 1).to_string()}</span><div><time class="font-semibold" datetime=s.at.to_string()>{s.when.clone()}</time>" "{s.title.clone()}
                    <p class="hint">{s.detail.clone()}</p></div></li>
            }
        })
        .collect();
    view! {
        <section class="card" aria-labelledby="tp"><div class="card-head"><h2 id="tp">"When caches agree"</h2><div class="aside">{format!("if you save at {} UTC", human_clock(r.checked_at))}</div></div>
            <div class="card-body"><ol class="when">{steps}</ol></div></section>
    }
    .into_any()
}

/// What to mind.
pub(crate) fn warnings_card(r: &ServiceReport) -> AnyView {
    if r.warnings.is_empty() {
        return ().into_any();
    }
    let each: Vec<_> = r
        .warnings
        .iter()
        .map(|w| view! { <div class="grid grid-cols-[1.25rem_minmax(0,1fr)] gap-x-3 py-2.5 px-4 border-t [&_>_.i]:mt-0.5">{icon_in("warning", "i text-warn")}<div>{w.clone()}</div></div> })
        .collect();
    view! { <section class="card"><div class="card-head"><h2>"Before you apply"</h2></div>{each}</section> }
        .into_any()
}
