//! Free and used space of a block as a picture that one can zoom into, with the same facts as a list. Every part is a link,
//! so that it works without script; with it, the next block is loaded in place, the arrow keys walk through the parts and
//! Backspace zooms out.

use super::{grid, picture, showing};
use crate::browser;
use crate::components::icon;
use crate::components::pager::grouped;
use crate::navigate::{Navigator, use_navigator};
use crate::server_fns::{Cell, CellState, Space};
use leptos::ev::{KeyboardEvent, MouseEvent};
use leptos::prelude::*;
use leptos::wasm_bindgen::JsCast;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_location;

/// The id of the picture, which gets the focus after a zoom: the link that had it is gone.
const PICTURE: &str = "picture";
/// That of its wide form, through whose parts the arrow keys go.
const WIDE: &str = "picture-wide";

/// How the picture opens the block that was selected.
#[derive(Clone, Copy)]
pub(super) struct Zoom {
    navigator: Navigator,
    /// True from a zoom until its picture is drawn.
    is_moving: StoredValue<bool>,
    /// The query of the page's address.
    search: Memo<String>,
}

impl Zoom {
    /// Called while the page is made, inside the router.
    pub(super) fn new() -> Self {
        Zoom { navigator: use_navigator(), is_moving: StoredValue::new(false), search: use_location().search }
    }

    fn to(self, address: &str) {
        // A block that is one free part leads to itself: nothing is drawn anew that could get the focus.
        let query = address.split_once('?').map_or("", |(_, query)| query);
        let shown = self.search.get_untracked();
        self.is_moving.set_value(query != shown.trim_start_matches('?'));
        self.navigator.to(address, NavigateOptions { scroll: false, ..NavigateOptions::default() });
    }

    /// A click on a part, or Enter. The router follows links of HTML alone, so that one in a picture would load the whole page.
    fn clicked(self, e: &MouseEvent) {
        let is_plain = e.button() == 0 && !e.meta_key() && !e.ctrl_key() && !e.shift_key() && !e.alt_key();
        let target = e.target().and_then(|t| t.dyn_into::<web_sys::Element>().ok());
        let link = target.and_then(|t| t.closest("a").ok().flatten());
        if let Some(address) = link.filter(|_| is_plain).and_then(|a| a.get_attribute("href")) {
            e.prevent_default();
            self.to(&address);
        }
    }

    fn pressed(self, e: &KeyboardEvent, out: Option<&str>) {
        if e.meta_key() || e.ctrl_key() || e.shift_key() || e.alt_key() {
            return;
        }
        match (e.key().as_str(), out) {
            ("Backspace", Some(out)) => self.to(out),
            (key @ ("ArrowRight" | "ArrowLeft" | "Home" | "End"), _) => {
                browser::focus_among(&format!("#{WIDE} svg a"), key);
            }
            _ => return,
        }
        e.prevent_default();
    }

    /// Gives the focus to a picture that is drawn after a zoom.
    fn drawn(self) {
        if cfg!(feature = "hydrate") && self.is_moving.get_value() {
            self.is_moving.set_value(false);
            request_animation_frame(|| browser::focus(PICTURE));
        }
    }
}

/// The card.
pub(super) fn card(s: &Space, first_blocks: &[String], zoom: Zoom) -> AnyView {
    let crumbs: Vec<_> = s
        .parents
        .iter()
        .map(|p| view! { <a class="mono" href=showing(p)>{p.clone()}</a>{icon("right")} })
        .collect();
    let used = format!("{:.0} % used", s.block.used);
    let label = format!("Free and used space in {}", s.block.prefix);
    let (tall, left_out) = picture::tall(s);
    let left_out = (left_out > 0).then(|| {
        let words = format!("{} more parts: select a prefix to see them.", grouped(left_out as u64));
        view! { <p class="text-xs text-muted sm:hidden">{words}</p> }
    });
    let folded = (s.folded > 0).then(|| {
        let words = format!(
            "{} small parts are drawn as the prefixes that hold them. Select one to zoom in.",
            grouped(s.folded as u64)
        );
        view! { <p class="text-xs text-muted">{words}</p> }
    });
    let more_refused = (s.more_refused > 0).then(|| {
        let words = format!(
            "{} more unavailable prefixes are not drawn; the list of claims has all.",
            grouped(s.more_refused as u64)
        );
        view! { <p class="text-xs text-muted">{words}</p> }
    });
    let out = s.parents.last().map(|p| showing(p));
    zoom.drawn();
    let click = move |e: MouseEvent| zoom.clicked(&e);
    let key = move |e: KeyboardEvent| zoom.pressed(&e, out.as_deref());
    view! {
        <section class="card">
            <div class="card-head"><h2>"Space"</h2><div class="aside"><span>{used}</span>{families(s, first_blocks)}</div></div>
            <div class="card-body grid grid-cols-1 gap-4 content-start">
                <div class="flex items-center gap-2 flex-wrap">
                    <nav class="crumbs" aria-label="Zoom"><a class="mono" href="#blocks" rel="external">"All blocks"</a>{icon("right")}{crumbs}<span class="mono font-semibold" aria-current="true">{s.block.prefix.clone()}</span></nav>
                    <span class="ml-auto text-xs text-muted noscript:hidden max-sm:hidden">"Select a prefix to zoom in; Backspace zooms out."</span>
                </div>
                <div id=PICTURE tabindex="-1" role="group" aria-label=label on:click=click on:keydown=key>
                    <div class="pic max-sm:hidden" id=WIDE>{picture::wide(s)}</div>
                    <div class="pic sm:hidden">{tall}</div>
                </div>
                {left_out}
                <div class="flex items-center gap-2"><span class="mono text-xs text-muted">{s.ends.0.clone()}</span><span class="flex-1 min-w-0"></span><span class="mono text-xs text-muted">{s.ends.1.clone()}</span></div>
                {legend(s)}
                <div class="flex items-center gap-2 flex-wrap">{parts(s)}</div>
                {folded}{more_refused}
                {s.grid.as_ref().map(grid::picture)}
            </div>
        </section>
    }
    .into_any()
}

/// A switch between the first blocks of both address families, where there are both.
fn families(s: &Space, first_blocks: &[String]) -> Option<AnyView> {
    let [v4, v6] = first_blocks else { return None };
    let (v4, v6) = (showing(v4), showing(v6));
    let shows_v6 = s.block.prefix.contains(':');
    let link = |label: &'static str, href: String, on: bool| {
        view! { <a href=href class:on=on aria-current=on.then_some("true") data-noscroll="true">{label}</a> }
    };
    Some(
        view! {
            <span class="seg" role="group" aria-label="Address family">{link("IPv4", v4, !shows_v6)}{link("IPv6", v6, shows_v6)}</span>
        }
        .into_any(),
    )
}

/// Class and stroke of a rectangle by what it stands for.
pub(super) fn look(c: &Cell) -> (&'static str, &'static str) {
    match c.state {
        CellState::Allocated => ALLOCATED,
        CellState::Foreign => FOREIGN,
        CellState::Preview => PREVIEW,
        CellState::Released => RELEASED,
        CellState::Free => FREE,
    }
}

const PREVIEW: (&str, &str) = ("f-accent-soft accent", "var(--control)");
const RELEASED: (&str, &str) = ("f-warn-soft warn", "var(--warn)");
pub(super) const ALLOCATED: (&str, &str) = ("f-line", "var(--line-strong)");
pub(super) const FOREIGN: (&str, &str) = ("f-line dash", "var(--control)");
pub(super) const FREE: (&str, &str) = ("f-surface dash", "var(--control)");
pub(super) const REFUSED: (&str, &str) = ("f-critical-soft critical", "var(--critical)");

/// What the colours stand for, of those that occur.
fn legend(s: &Space) -> AnyView {
    let has = |look_of: (&str, &str)| s.cells.iter().any(|c| look(c) == look_of);
    let a = &s.amounts;
    let entries = [
        (ALLOCATED, "Allocated", a.allocated.clone(), has(ALLOCATED)),
        (FOREIGN, "Held by another organisation", a.foreign.clone(), has(FOREIGN)),
        (FREE, "Free", a.free.clone(), has(FREE)),
        (PREVIEW, "Preview of your claim", String::new(), has(PREVIEW)),
        (RELEASED, "Released, still in DNS", a.released.clone(), has(RELEASED)),
        (REFUSED, "Unavailable", String::new(), !s.refused.is_empty()),
    ];
    let entries: Vec<_> = entries
        .into_iter()
        .filter(|(.., occurs)| *occurs)
        .map(|((class, stroke), words, amount, _)| {
            let amount = (!amount.is_empty()).then(|| view! { " "<b>{amount}</b> });
            view! {
                <span class="flex items-center gap-2 text-xs text-muted"><span class="pic" aria-hidden="true">
                    <svg class="w-3.5" height="14"><rect x="1" y="1" width="12" height="12" class=class stroke=stroke></rect></svg></span><span>{words}{amount}</span></span>
            }
        })
        .collect();
    view! { <div class="flex items-center gap-4 flex-wrap">{entries}</div> }.into_any()
}

pub(super) fn state(c: &Cell) -> String {
    if let Some(f) = &c.fold {
        let preview = if c.state == CellState::Preview { ", with the preview of your claim" } else { "" };
        let claims = if f.claims == 1 { "claimed prefix" } else { "claimed prefixes" };
        return format!("{} used, {} {claims}{preview}", used(f.used), grouped(f.claims as u64));
    }
    let claim = c.claim.as_deref().unwrap_or_default();
    match c.state {
        CellState::Allocated => claim.to_string(),
        CellState::Foreign => "held by another organisation".into(),
        CellState::Preview => "preview of your claim".into(),
        CellState::Released => format!("released by {claim}, still in DNS"),
        CellState::Free => "free".into(),
    }
}

/// A part of a prefix in words: a little is not nothing.
pub(super) fn used(percent: f64) -> String {
    match percent {
        p if p > 0.0 && p < 1.0 => "under 1 %".into(),
        p if p > 99.0 && p < 100.0 => "over 99 %".into(),
        p => format!("{p:.0} %"),
    }
}

/// The free and the folded parts as links, for those that have no room in the picture.
fn parts(s: &Space) -> Vec<AnyView> {
    let is_listed =
        |c: &&Cell| c.fold.is_some() || !matches!(c.state, CellState::Allocated | CellState::Foreign);
    let free = s.cells.iter().filter(is_listed).take(12);
    free.map(|c| {
        let words = match (&c.fold, c.state) {
            (Some(f), _) => format!("{} used", used(f.used)),
            (None, CellState::Preview) => "preview".into(),
            (None, CellState::Released) => "released".into(),
            (None, _) => "free".into(),
        };
        view! { <a class="chip" href=showing(&c.prefix)><span class="mono">{c.prefix.clone()}</span><span class="text-muted">{words}</span></a> }.into_any()
    })
    .collect()
}
