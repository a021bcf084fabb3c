//! Free and used space of a block as a picture that one can zoom into, with the same facts as a list. Every part is a link,
//! so that it works without script; with it, the next block is loaded in place, the arrow keys walk through the parts and
//! Backspace zooms out.

use super::{grid, showing};
use crate::browser;
use crate::components::icon;
use crate::components::pager::grouped;
use crate::navigate::{Navigator, use_navigator};
use crate::server_fns::{Cell, CellState, RefusedPart, Space};
use leptos::ev::{KeyboardEvent, MouseEvent};
use leptos::prelude::*;
use leptos::svg;
use leptos::wasm_bindgen::JsCast;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_location;

/// The id of the picture, which gets the focus after a zoom: the link that had it is gone.
const PICTURE: &str = "picture";

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
                browser::focus_among(&format!("#{PICTURE} svg a"), key);
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

/// Widest part that has no room for its own words, per cent.
const NARROW: f64 = 7.0;

/// The card.
pub(super) fn card(s: &Space, first_blocks: &[String], zoom: Zoom) -> AnyView {
    let crumbs: Vec<_> = s
        .parents
        .iter()
        .map(|p| view! { <a class="mono" href=showing(p)>{p.clone()}</a>{icon("right")} })
        .collect();
    let used = format!("{:.0} % used", s.block.used);
    let label = format!("Free and used space in {}", s.block.prefix);
    let cells: Vec<_> = s.cells.iter().map(cell).collect();
    let refused: Vec<_> = s.refused.iter().zip(0..).map(|(r, row)| refused(r, row)).collect();
    let height = (74 + REFUSED_HEIGHT * s.refused.len()).to_string();
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
                    <nav class="crumbs" aria-label="Zoom">{crumbs}<span class="mono font-semibold" aria-current="true">{s.block.prefix.clone()}</span></nav>
                    <span class="ml-auto text-xs text-muted noscript:hidden max-sm:hidden">"Select a prefix to zoom in; Backspace zooms out."</span>
                </div>
                <div class="pic" id=PICTURE tabindex="-1" role="group" aria-label=label on:click=click on:keydown=key>
                    <svg height=height>{cells}{refused}</svg>
                </div>
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
fn look(c: &Cell) -> (&'static str, &'static str) {
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
/// Height of the row of a refused prefix, pixels.
const REFUSED_HEIGHT: usize = 24;

/// What the colours stand for, of those that occur.
fn legend(s: &Space) -> AnyView {
    let has = |look_of: (&str, &str)| s.cells.iter().any(|c| look(c) == look_of);
    let entries = [
        (ALLOCATED, "Allocated", has(ALLOCATED)),
        (FOREIGN, "Held by another organisation", has(FOREIGN)),
        (FREE, "Free", has(FREE)),
        (PREVIEW, "Preview of your claim", has(PREVIEW)),
        (RELEASED, "Released, still in DNS", has(RELEASED)),
        (REFUSED, "Unavailable", !s.refused.is_empty()),
    ];
    let entries: Vec<_> = entries
        .into_iter()
        .filter(|(.., occurs)| *occurs)
        .map(|((class, stroke), words, _)| {
            view! {
                <span class="flex items-center gap-2 text-xs text-muted"><span class="pic" aria-hidden="true">
                    <svg class="w-3.5" height="14"><rect x="1" y="1" width="12" height="12" class=class stroke=stroke></rect></svg></span>{words}</span>
            }
        })
        .collect();
    view! { <div class="flex items-center gap-4 flex-wrap">{entries}</div> }.into_any()
}

/// A rectangle that is a link. Made by `svg::a`: the macro makes an `a` of HTML of one that has neighbours, which browsers
/// draw and focus in a page from the server, but not in a view that they made.
fn link(href: String, label: String, rect: impl IntoView + 'static) -> AnyView {
    svg::a().attr("href", href).attr("aria-label", label).child(rect.into_any()).into_any()
}

fn cell(c: &Cell) -> AnyView {
    let (x, width) = (format!("{:.4}%", c.start), format!("{:.4}%", c.width.max(0.1)));
    let (class, stroke) = look(c);
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
    let rect = view! {
        <rect x=x y="1" width=width height="70" class=class stroke=stroke><title>{title}</title></rect>
    };
    view! { <g>{link(showing(&c.prefix), label, rect)}{words}</g> }.into_any()
}

/// A refused prefix, in a row of its own below what it overlaps.
fn refused(r: &RefusedPart, row: usize) -> AnyView {
    let y = 76 + REFUSED_HEIGHT * row;
    let (class, stroke) = REFUSED;
    let label = format!("{}, unavailable for {}", r.prefix, r.claim);
    let (words, title) = (label.clone(), label.clone());
    // Beside it, on the side with more room.
    let (at, anchor) = match r.start + r.width / 2.0 < 50.0 {
        true => (format!("{:.4}%", r.start + r.width), "start"),
        false => (format!("{:.4}%", r.start), "end"),
    };
    let (dx, is_wide) = (if anchor == "start" { "6" } else { "-6" }, r.width > 50.0);
    let (at, anchor, dx) =
        if is_wide { (format!("{:.4}%", r.start), "start", "6") } else { (at, anchor, dx) };
    let rect = view! {
        <rect x=format!("{:.4}%", r.start) y=y.to_string() width=format!("{:.4}%", r.width.max(0.3)) height="18" class=class stroke=stroke><title>{title}</title></rect>
    };
    view! {
        <g>{link(showing(&r.prefix), label, rect)}<text x=at dx=dx y=(y + 13).to_string() text-anchor=anchor aria-hidden="true" pointer-events="none">{words}</text></g>
    }
    .into_any()
}

fn state(c: &Cell) -> String {
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
fn used(percent: f64) -> String {
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
