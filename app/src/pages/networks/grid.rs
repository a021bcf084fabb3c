//! A block as a grid of sub-prefixes of one length. It shows at a glance where space is taken; the picture above it is the one
//! to zoom into.

use super::space::{ALLOCATED, FOREIGN, FREE, REFUSED};
use crate::server_fns::{Grid, GridPart, GridState};
use leptos::prelude::*;

/// Height of a row, pixels.
const ROW: u16 = 12;

/// Height of the row of labels, pixels.
const LABELS: u16 = 18;

/// The grid with its words.
pub(super) fn picture(g: &Grid) -> AnyView {
    let parts: Vec<_> = g.parts.iter().map(|p| part(p, g)).collect();
    let bottom = g.rows * ROW;
    let width = 100.0 / f64::from(g.columns);
    let labels: Vec<_> = (0..g.columns)
        .map(|column| {
            let x = format!("{:.3}%", width * (f64::from(column) + 0.47));
            view! { <text x=x y=(bottom + 14).to_string() text-anchor="middle" class="p-mono p-mute" aria-hidden="true">{format!("{column:x}")}</text> }
        })
        .collect();
    let (class, stroke) = FREE;
    view! {
        <div class="pic"><svg height=(bottom + LABELS).to_string() role="img" aria-label=g.words.clone()>
            <rect x="0" y="0" width="100%" height=bottom.to_string() class=class stroke=stroke></rect>{parts}{labels}
        </svg></div>
        <p class="text-xs text-muted">{g.words.clone()}</p>
    }
    .into_any()
}

fn part(p: &GridPart, g: &Grid) -> AnyView {
    let width = 100.0 / f64::from(g.columns);
    let (look, words) = match p.state {
        GridState::Allocated => (ALLOCATED, "allocated"),
        GridState::Partly => (ALLOCATED, "allocated in part"),
        GridState::Foreign => (FOREIGN, "held by another organisation"),
        GridState::Refused => (REFUSED, "unavailable for a claim"),
    };
    // A cell that is taken in part is half as high.
    let (inset, less) = if p.state == GridState::Partly { (ROW / 2, ROW / 2) } else { (0, 0) };
    let title = format!("{}, {words}", p.prefix);
    let (x, y) = (format!("{:.2}%", width * f64::from(p.column)), (p.row * ROW + 1 + inset).to_string());
    let (class, stroke) = look;
    view! {
        <rect x=x y=y width=format!("{:.2}%", width * 0.94) height=(ROW - 2 - less).to_string() class=class stroke=stroke><title>{title}</title></rect>
    }
    .into_any()
}
