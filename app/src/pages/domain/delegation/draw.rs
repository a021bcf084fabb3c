//! The two drawings of a delegation. In: nodes and servers. Out: SVG; every text that may be cut has all of itself as
//! its title, and every server is a link with all its facts as its label.

use super::nodes::{Line, Node, mark, row_id};
use crate::components::icon::icon_at;
use crate::components::time::millis;
use leptos::prelude::*;
use model::nameserver::{Condition, Nameserver, ObservedAddress};

/// Of a card in the wide picture: its left edge, its width, the height of its head and of an address.
const CARD: (i32, i32, i32, i32) = (680, 448, 32, 20);
/// The same in the tall one.
const TALL: (i32, i32, i32, i32) = (44, 297, 30, 36);
const GAP: i32 = 8;

fn edge_class(s: &Nameserver) -> &'static str {
    match s.worst() {
        Condition::Well => "p-edge ok",
        Condition::Slow | Condition::Behind => "p-edge warn",
        Condition::NotAsked => "p-edge dash",
        Condition::Lame | Condition::Dead if s.partly() => "p-edge warn dash",
        Condition::Lame | Condition::Dead => "p-edge critical dash",
    }
}

fn box_class(s: &Nameserver) -> &'static str {
    match s.worst() {
        Condition::Well | Condition::NotAsked => "p-node",
        Condition::Slow | Condition::Behind => "f-warn-soft s-warn-line",
        Condition::Lame | Condition::Dead if s.partly() => "f-warn-soft s-warn-line",
        Condition::Lame | Condition::Dead => "f-critical-soft s-critical-line",
    }
}

fn fill_class(c: Condition) -> &'static str {
    match c {
        Condition::Well => "f-ok",
        Condition::Slow | Condition::Behind => "f-warn",
        Condition::NotAsked => "p-mute",
        Condition::Lame | Condition::Dead => "f-critical",
    }
}

/// At most `n` characters; what is left out stands for an ellipsis in the middle, because the end of a name tells it
/// from its neighbours as much as its beginning.
fn cut(s: &str, n: usize) -> String {
    let letters: Vec<char> = s.chars().collect();
    if letters.len() <= n {
        return s.into();
    }
    let (head, tail) = (n.div_ceil(2).saturating_sub(1), n / 2);
    let (head, tail): (String, String) =
        (letters[..head].iter().collect(), letters[letters.len() - tail..].iter().collect());
    format!("{head}…{tail}")
}

fn count(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX / 1000)
}

fn height(s: &Nameserver, head: i32, row: i32) -> i32 {
    head + count(s.seen.len()) * row + 8
}

fn bar(s: &ObservedAddress, slowest: f64, x: i32, y: i32, width: i32) -> AnyView {
    let part = s.latency_ms.map_or(0.0, |ms| (ms / slowest).clamp(0.02, 1.0) * f64::from(width));
    view! {
        <rect x=x y=y width=width height="4" rx="2" class="f-line"/>
        <rect x=x y=y width=format!("{part:.0}") height="4" rx="2" class=fill_class(s.condition)/>
    }
    .into_any()
}

fn address(s: &ObservedAddress) -> String {
    s.address.map_or_else(|| "–".to_string(), |a| a.to_string())
}

pub(super) fn wide(nodes: &[Node], servers: &[Nameserver], slowest: f64, label: String) -> AnyView {
    let (left, _, head, row) = CARD;
    let all: i32 = servers.iter().map(|s| height(s, head, row) + GAP).sum::<i32>() - GAP;
    let total = all.max(148);
    // With many servers the path stays at the top, where one begins to look.
    let mid = (total / 2).min(180);
    let mut x = 0;
    let mut drawn = Vec::new();
    for (i, node) in nodes.iter().enumerate() {
        let w = match (node.kind, i) {
            ("Root", _) => 140,
            ("Zone", _) => 212,
            _ => 180,
        };
        drawn.push(node_box(node, x, mid - 74, w));
        x += w;
        if i + 1 < nodes.len() {
            drawn.push(
                view! {
                    <path d=format!("M{x} {mid}h36") class="p-edge"/>
                    <path d=format!("m{} {} 5 4-5 4", x + 31, mid - 4) class="p-edge"/>
                }
                .into_any(),
            );
            x += 36;
        }
    }
    let mut top = (total - all) / 2;
    let mut edges = Vec::new();
    let mut cards = Vec::new();
    for (place, s) in servers.iter().enumerate() {
        let tall = height(s, head, row);
        let y = top + tall / 2;
        let bend = (left - x) / 2;
        let path = format!("M{x} {mid}C{} {mid} {} {y} {left} {y}", x + bend, left - bend);
        edges.push(view! { <path d=path class=edge_class(s)/> });
        cards.push(wide_card(s, place, slowest, top));
        top += tall + GAP;
    }
    let dot = (!servers.is_empty()).then(|| view! { <circle cx=x cy=mid r="3" class="f-faint"/> });
    view! {
        <svg viewBox=format!("0 0 1128 {}", total + 1) role="group" aria-label=label>{drawn}{edges}{dot}{cards}</svg>
    }
    .into_any()
}

/// The link over a drawn server: its label has all facts, its target is the row in the table.
fn link(s: &Nameserver, place: usize, (x, y, width, height): (i32, i32, i32, i32)) -> AnyView {
    let (x, y) = (format!("{x}.5"), format!("{y}.5"));
    view! {
        <g><a href=format!("#{}", row_id(place)) aria-label=s.spoken() class="p-link">
            <rect x=x y=y width=width - 1 height=height rx="8" class="p-hit"><title>{s.spoken()}</title></rect>
        </a></g>
    }
    .into_any()
}

fn wide_card(s: &Nameserver, place: usize, slowest: f64, top: i32) -> AnyView {
    let (left, width, head, row) = CARD;
    let x = left + 14;
    let room = if s.listed.is_empty() { 52 } else { 34 };
    let rows: Vec<_> = s
        .seen
        .iter()
        .zip(0_i32..)
        .map(|(seen, i)| {
            let y = top + head + i * row + 10;
            let (picture, class) = mark(seen.condition);
            let ms = seen.latency_ms.map(millis).unwrap_or_default();
            view! {
                {icon_at(picture, class, x, y - 11)}
                <text x=x + 21 y=y class="p-mono p-small">{cut(&address(seen), 29)}</text>
                <text x=x + 226 y=y class=fill_class(seen.condition)>{cut(&seen.words, 18)}</text>
                <text x=x + 376 y=y text-anchor="end" class="p-mute p-small">{ms}</text>
                {bar(seen, slowest, x + 384, y - 6, 36)}
            }
        })
        .collect();
    let (edge, tall) = (format!("{left}.5"), height(s, head, row) - 1);
    view! {
        <g aria-hidden="true">
            <rect x=edge y=format!("{top}.5") width=width - 1 height=tall rx="8" class=box_class(s)/>
            <text x=x y=top + 21 class="p-title p-light">{cut(&s.name, room)}</text>
            <text x=left + width - 14 y=top + 21 text-anchor="end" class="p-mute p-small">{s.listed}</text>
            {rows}
        </g>
        {link(s, place, (left, top, width, tall))}
    }
    .into_any()
}

fn line(x: i32, y: i32, (picture, class, words): &Line) -> AnyView {
    view! { {icon_at(picture, class, x, y - 11)}<text x=x + 20 y=y>{cut(words, 28)}</text> }.into_any()
}

fn node_box(node: &Node, x: i32, y: i32, w: i32) -> AnyView {
    let lines: Vec<_> =
        node.lines.iter().zip(0_i32..).map(|(l, i)| line(x + 14, y + 82 + i * 23, l)).collect();
    let room = usize::try_from((w - 28) / 8).unwrap_or(12);
    view! {
        <rect x=format!("{x}.5") y=format!("{y}.5") width=w - 1 height="147" rx="8" class="p-node"/>
        <text x=x + 14 y=y + 24 class="p-mute">{node.kind}</text>
        <text x=x + 14 y=y + 46 class="p-title">{cut(&node.title, room)}<title>{node.title.clone()}</title></text>
        <line x1=x + 14 x2=x + w - 14 y1=format!("{}.5", y + 60) y2=format!("{}.5", y + 60) class="p-line"/>
        {lines}
    }
    .into_any()
}

pub(super) fn tall(nodes: &[Node], servers: &[Nameserver], slowest: f64, label: String) -> AnyView {
    let mut y = 0;
    let mut drawn = Vec::new();
    for node in nodes {
        // The line that matters most: what is wrong, else the first.
        let worst = |l: &&Line| l.1.contains("warn") || l.1.contains("critical");
        let told = node.lines.iter().find(worst).or(node.lines.first());
        let told = told.map(|l| line(58, y + 43, l));
        drawn.push(
            view! {
                <rect x="0.5" y=format!("{y}.5") width="341" height="56" rx="8" class="p-node"/>
                <text x="14" y=y + 22 class="p-mute">{node.kind}</text>
                <text x="58" y=y + 22 class="p-title">{cut(&node.title, 34)}<title>{node.title.clone()}</title></text>
                {told}
            }
            .into_any(),
        );
        y += 72;
    }
    let mut spine = format!("M24 56v{}", (y - 72 - 56).max(0));
    let first = y;
    let (left, _, head, row) = TALL;
    let mut last = y;
    let cards: Vec<_> = servers
        .iter()
        .enumerate()
        .map(|(place, s)| {
            let top = y;
            y += height(s, head, row) + GAP;
            last = top + 18;
            view! {
                <path d=format!("M24 {}h{}", top + 18, left - 24) class=edge_class(s)/>
                {tall_card(s, place, slowest, top)}
            }
        })
        .collect();
    if y > first {
        spine = format!("{spine}M24 {}v{}", first - 16, last - (first - 16));
    }
    view! {
        <svg viewBox=format!("0 0 342 {}", y.max(first)) role="group" aria-label=label><path d=spine class="p-edge"/>{drawn}{cards}</svg>
    }
    .into_any()
}

fn tall_card(s: &Nameserver, place: usize, slowest: f64, top: i32) -> AnyView {
    let (left, width, head, row) = TALL;
    let x = left + 14;
    let listed = s.listed.split(' ').take(3).collect::<Vec<_>>().join(" ");
    let rows: Vec<_> = s
        .seen
        .iter()
        .zip(0_i32..)
        .map(|(seen, i)| {
            let y = top + head + i * row + 12;
            let (picture, class) = mark(seen.condition);
            let ms = seen.latency_ms.map(millis).unwrap_or_default();
            view! {
                {icon_at(picture, class, x, y - 11)}
                <text x=x + 21 y=y class=fill_class(seen.condition)>{cut(&seen.words, 22)}</text>
                <text x=left + width - 60 y=y text-anchor="end" class="p-mute p-small">{ms}</text>
                {bar(seen, slowest, left + width - 52, y - 6, 38)}
                <text x=x + 21 y=y + 15 class="p-mono p-mute p-small">{cut(&address(seen), 34)}</text>
            }
        })
        .collect();
    let room = if listed.is_empty() { 34 } else { 20 };
    let (edge, tall) = (format!("{left}.5"), height(s, head, row) - 1);
    view! {
        <g aria-hidden="true">
            <rect x=edge y=format!("{top}.5") width=width - 1 height=tall rx="8" class=box_class(s)/>
            <text x=x y=top + 22 class="p-title p-light">{cut(&s.name, room)}</text>
            <text x=left + width - 14 y=top + 22 text-anchor="end" class="p-mute p-small">{listed}</text>
            {rows}
        </g>
        {link(s, place, (left, top, width, tall))}
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn a_long_name_keeps_both_its_ends() {
        assert_eq!(cut("ns1.example", 11), "ns1.example");
        assert_eq!(cut("ns1.a-very-long-name.example", 11), "ns1.a…ample");
        assert_eq!(cut("ns1.a-very-long-name.example", 11).chars().count(), 11);
        assert_eq!(cut("bücherei-demo-lang", 6), "bü…ang");
    }
}
