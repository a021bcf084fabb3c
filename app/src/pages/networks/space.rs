//! Free and used space of a block as a picture that one can zoom into, with the same facts as a list.

use super::showing;
use crate::components::icon;
use crate::components::pager::grouped;
use crate::server_fns::{Cell, Space};
use leptos::prelude::*;

/// Widest part that has no room for its own words, per cent.
const NARROW: f64 = 7.0;

/// The card.
pub(super) fn card(s: &Space) -> AnyView {
    let crumbs: Vec<_> = s
        .parents
        .iter()
        .map(|p| view! { <a class="mono" href=showing(p)>{p.clone()}</a>{icon("right")} })
        .collect();
    let used = format!("{:.0} % used", s.block.used);
    let label = format!("Free and used space in {}", s.block.prefix);
    let cells: Vec<_> = s.cells.iter().map(cell).collect();
    let folded = (s.folded > 0).then(|| {
        let words = format!(
            "{} small parts are drawn as the prefixes that hold them. Select one to zoom in.",
            grouped(s.folded as u64)
        );
        view! { <p class="text-xs text-muted">{words}</p> }
    });
    view! {
        <section class="card">
            <div class="card-head"><h2>"Space"</h2><div class="aside">{used}</div></div>
            <div class="card-body grid grid-cols-1 gap-4 content-start">
                <nav class="crumbs" aria-label="Zoom">{crumbs}<span class="mono font-semibold" aria-current="true">{s.block.prefix.clone()}</span></nav>
                <div class="pic">
                    <svg height="74" role="group" aria-label=label>{cells}</svg>
                </div>
                <div class="flex items-center gap-2"><span class="mono text-xs text-muted">{s.ends.0.clone()}</span><span class="flex-1 min-w-0"></span><span class="mono text-xs text-muted">{s.ends.1.clone()}</span></div>
                <div class="flex items-center gap-2 flex-wrap">{parts(s)}</div>
                {folded}
            </div>
        </section>
    }
    .into_any()
}

fn cell(c: &Cell) -> AnyView {
    let (x, width) = (format!("{:.4}%", c.start), format!("{:.4}%", c.width.max(0.1)));
    let is_used = c.claim.is_some() || c.fold.is_some();
    let class = match (is_used, c.preview) {
        (_, true) => "f-accent-soft accent",
        (true, _) => "f-line",
        (false, _) => "f-surface dash",
    };
    let stroke = if is_used { "var(--line-strong)" } else { "var(--control)" };
    let words = (c.width > NARROW).then(|| {
        view! {
            <svg x=x.clone() y="1" width=width.clone() height="70" aria-hidden="true" pointer-events="none">
                <text x="6" y="20" class="p-mono">{c.prefix.clone()}</text>
                <text x="6" y="38" class="p-mute">{state(c)}</text>
            </svg>
        }
    });
    let label = format!("{}, {}", c.prefix, state(c));
    let title = label.clone();
    // As the root of a view the browser would make it an `a` of HTML, which is not drawn.
    view! {
        <g><a href=showing(&c.prefix) aria-label=label>
            <rect x=x y="1" width=width height="70" class=class stroke=stroke><title>{title}</title></rect>
        </a>{words}</g>
    }
    .into_any()
}

fn state(c: &Cell) -> String {
    if let Some(f) = &c.fold {
        let preview = if c.preview { ", with the preview of your claim" } else { "" };
        let claims = if f.claims == 1 { "claimed prefix" } else { "claimed prefixes" };
        return format!("{} used, {} {claims}{preview}", used(f.used), grouped(f.claims as u64));
    }
    match (&c.claim, c.preview) {
        (_, true) => "preview of your claim".into(),
        (Some(claim), _) => claim.clone(),
        (None, _) => "free".into(),
    }
}

/// A part of a prefix in words: a little is not nothing.
fn used(percent: f64) -> String {
    match percent {
        p if p > 0.0 && p < 1.0 => "under 1 %".into(),
        p if p > 99.0 && p < 100.0 => "over 99 %".into(),
        p => format!("{p:.0} %"),
    }
}

/// The free and the folded parts as links, for those that have no room in the picture.
fn parts(s: &Space) -> Vec<AnyView> {
    let free = s.cells.iter().filter(|c| c.claim.is_none()).take(12);
    free.map(|c| {
        let words = match (&c.fold, c.preview) {
            (Some(f), _) => format!("{} used", used(f.used)),
            (None, true) => "preview".into(),
            (None, false) => "free".into(),
        };
        view! { <a class="chip" href=showing(&c.prefix)><span class="mono">{c.prefix.clone()}</span><span class="text-muted">{words}</span></a> }.into_any()
    })
    .collect()
}
