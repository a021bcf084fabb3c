//! The parts of a block as pictures: side by side, with the whole block and its four quarters above them; and, where the page
//! is narrow, one below the other.

use super::showing;
use super::space::{REFUSED, look, state, used};
use crate::server_fns::{Cell, RefusedPart, Space, SubPrefix};
use leptos::prelude::*;
use leptos::svg;

/// Widest part that has no room for its own words, per cent.
const NARROW: f64 = 7.0;
/// Where the parts begin, and their height, pixels.
const TOP: usize = 65;
const HEIGHT: usize = 70;
/// Height of the row of a refused prefix, pixels.
const REFUSED_HEIGHT: usize = 50;
/// Parts that the narrow picture shows: a phone scrolls far enough with these.
const TALL_MAX: usize = 40;

/// The wide picture.
pub(super) fn wide(s: &Space) -> AnyView {
    let whole = format!("{} used", used(s.block.used));
    let subs: Vec<_> = s.subs.iter().map(sub).collect();
    let cells: Vec<_> = s.cells.iter().map(cell).collect();
    let refused: Vec<_> = s.refused.iter().zip(0..).map(|(r, row)| refused(r, row)).collect();
    let height = (TOP + HEIGHT + 4 + REFUSED_HEIGHT * s.refused.len()).to_string();
    view! {
        <svg height=height>
            <g aria-hidden="true">
                <rect x="0" y="1" width="100%" height="26" class="f-line" stroke="var(--line-strong)"></rect>
                <text x="50%" y="18" text-anchor="middle"><tspan class="p-mono">{s.block.prefix.clone()}</tspan><tspan class="p-mute" dx="8">{whole}</tspan></text>
            </g>
            {subs}{cells}{refused}
        </svg>
    }
    .into_any()
}

/// A quarter of the block, filled as far as it is used.
fn sub(p: &SubPrefix) -> AnyView {
    let (x, width) = (format!("{:.4}%", p.start), format!("{:.4}%", p.width));
    let filled = format!("{:.4}%", p.width * p.used / 100.0);
    let part = used(p.used);
    let label = format!("{}, {part} used", p.prefix);
    let title = label.clone();
    let rect = view! {
        <rect x=x.clone() y="33" width=width.clone() height="26" class="f-surface" stroke="var(--line-strong)"><title>{title}</title></rect>
        <rect x=x.clone() y="33" width=filled height="26" class="f-line" opacity=".55" pointer-events="none"></rect>
    };
    view! {
        <g>{link(showing(&p.prefix), label, rect)}
            <svg x=x y="33" width=width height="26" aria-hidden="true" pointer-events="none">
                <text x="10" y="17"><tspan class="p-mono">{p.prefix.clone()}</tspan><tspan class="p-mute" dx="8">{part}</tspan></text></svg></g>
    }
    .into_any()
}

/// A rectangle that is a link. Made by `svg::a`: the macro makes an `a` of HTML of one that has neighbours, which browsers
/// draw and focus in a page from the server, but not in a view that they made.
fn link(href: String, label: String, rect: impl IntoView + 'static) -> AnyView {
    svg::a().attr("href", href).attr("aria-label", label).child(rect.into_any()).into_any()
}

fn cell(c: &Cell) -> AnyView {
    let (x, width) = (format!("{:.4}%", c.start), format!("{:.4}%", c.width.max(0.1)));
    let (class, stroke) = look(c);
    let words = (c.width > NARROW || (c.width > NARROW / 2.0 && c.short.len() < 10)).then(|| {
        view! {
            <svg x=x.clone() y=TOP.to_string() width=width.clone() height=HEIGHT.to_string() aria-hidden="true" pointer-events="none">
                <text x="6" y="20" class="p-mono">{c.short.clone()}</text>
                <text x="6" y="38" class="p-mute">{state(c)}</text>
                <text x="6" y="56" class="p-mute">{c.size.clone()}</text>
            </svg>
        }
    });
    let label = format!("{}, {}", c.prefix, state(c));
    let title = format!("{label}, {}", c.size);
    let rect = view! {
        <rect x=x y=TOP.to_string() width=width height=HEIGHT.to_string() class=class stroke=stroke><title>{title}</title></rect>
    };
    view! { <g>{link(showing(&c.prefix), label, rect)}{words}</g> }.into_any()
}

/// A refused prefix, in a row of its own below what it overlaps, with the claim and the reason beside it.
fn refused(r: &RefusedPart, row: usize) -> AnyView {
    let y = TOP + HEIGHT + 10 + REFUSED_HEIGHT * row;
    let (class, stroke) = REFUSED;
    let label = format!("{}, unavailable for {}", r.prefix, r.claim);
    let title = format!("{label}: {}", r.reason);
    // Beside it, on the side with more room.
    let (at, anchor) = match r.start + r.width / 2.0 < 50.0 {
        true => (format!("{:.4}%", r.start + r.width), "start"),
        false => (format!("{:.4}%", r.start), "end"),
    };
    let (dx, is_wide) = (if anchor == "start" { "8" } else { "-8" }, r.width > 50.0);
    let (at, anchor, dx) =
        if is_wide { (format!("{:.4}%", r.start), "start", "8") } else { (at, anchor, dx) };
    let (above, below) = (format!("{} {}", r.prefix, r.claim), r.reason.clone());
    let (x, width) = (format!("{:.4}%", r.start), format!("{:.4}%", r.width.max(0.3)));
    let middle = format!("{:.4}%", r.start + r.width / 2.0);
    let rect = view! {
        <rect x=x y=y.to_string() width=width height="40" class=class stroke=stroke><title>{title}</title></rect>
    };
    view! {
        <g>
            <line x1=middle.clone() x2=middle y1=(y - 9).to_string() y2=y.to_string() class="critical"></line>
            {link(showing(&r.prefix), label, rect)}
            <g aria-hidden="true" pointer-events="none">
                <text x=at.clone() dx=dx y=(y + 17).to_string() text-anchor=anchor class="p-st">{above}</text>
                <text x=at dx=dx y=(y + 33).to_string() text-anchor=anchor class="p-mute">{below}</text>
            </g>
        </g>
    }
    .into_any()
}

/// The narrow picture: a row for each part from the lowest address down, higher for larger ones; and how many are left out.
pub(super) fn tall(s: &Space) -> (AnyView, usize) {
    let mut y = 0;
    let mut rows = Vec::new();
    for c in s.cells.iter().take(TALL_MAX) {
        let height = match c.width {
            w if w > 20.0 => 60,
            w if w > 10.0 => 40,
            _ => 26,
        };
        rows.push(tall_row(c, y + 1, height));
        y += height + 4;
    }
    for r in &s.refused {
        let (class, stroke) = REFUSED;
        let label = format!("{}, unavailable for {}", r.prefix, r.claim);
        let rect = view! { <rect x="0" y=(y + 1).to_string() width="100%" height="42" class=class stroke=stroke></rect> };
        rows.push(
            view! {
                <g>{link(showing(&r.prefix), label, rect)}<g aria-hidden="true" pointer-events="none">
                    <text x="10" y=(y + 18).to_string()><tspan class="p-mono">{r.prefix.clone()}</tspan><tspan dx="8">{r.claim.clone()}</tspan></text>
                    <text x="10" y=(y + 35).to_string() class="p-mute p-xs">{r.reason.clone()}</text></g></g>
            }
            .into_any(),
        );
        y += 46;
    }
    (
        view! { <svg height=(y + 2).to_string()>{rows}</svg> }.into_any(),
        s.cells.len().saturating_sub(TALL_MAX),
    )
}

fn tall_row(c: &Cell, y: usize, height: usize) -> AnyView {
    let (class, stroke) = look(c);
    let middle = (y + height / 2 + 4).to_string();
    let rect = view! { <rect x="0" y=y.to_string() width="100%" height=height.to_string() class=class stroke=stroke></rect> };
    // Long prefixes and names have no room beside each other.
    let words = if c.prefix.len() > 18 { String::new() } else { state(c) };
    view! {
        <g>{link(showing(&c.prefix), format!("{}, {}", c.prefix, state(c)), rect)}<g aria-hidden="true" pointer-events="none">
            <text x="10" y=middle.clone() class="p-mono">{c.prefix.clone()}</text>
            <text x="40%" y=middle.clone() class="p-mute">{words}</text>
            <text x="100%" dx="-10" y=middle text-anchor="end" class="p-mute">{c.size.clone()}</text></g></g>
    }
    .into_any()
}
