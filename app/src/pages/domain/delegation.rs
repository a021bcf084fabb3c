//! The delegation as a drawn path: root, parent, zone, nameservers; lame and slow ones visible at a glance. A wide
//! picture and a tall one for phones; the same facts stand in the table of nameservers.

use super::nameservers::millis;
use crate::components::icon::icon_at;
use leptos::prelude::*;
use model::dns::{Delegation, Dnssec, DnssecStatus, ServerHealth, Trace};

/// A nameserver with all its addresses.
struct Server {
    name: String,
    addresses: String,
    health: ServerHealth,
    word: String,
    ms: Option<f64>,
    side: &'static str,
}

/// A line in a node: icon, its class, words.
type Line = (&'static str, &'static str, String);

struct Node {
    kind: &'static str,
    title: String,
    lines: Vec<Line>,
}

fn servers(d: &Delegation) -> Vec<Server> {
    let badness = |h: ServerHealth| match h {
        ServerHealth::Dead => 5,
        ServerHealth::Unresolvable => 4,
        ServerHealth::Lame => 3,
        ServerHealth::Slow => 2,
        ServerHealth::Authoritative => 1,
        ServerHealth::NotAsked => 0,
    };
    let mut out: Vec<Server> = Vec::new();
    for s in &d.servers {
        let address = s.address.map_or_else(String::new, |a| a.to_string());
        let side = match (s.in_parent, s.in_child) {
            (true, false) => "only the parent",
            (false, true) => "only the zone",
            _ => "",
        };
        let word = match s.health {
            ServerHealth::Lame => format!("Lame, {}", s.kind.words()),
            h => h.label().to_string(),
        };
        if let Some(known) = out.iter_mut().find(|k| k.name == s.name) {
            if !address.is_empty() {
                known.addresses = format!("{} · {address}", known.addresses);
            }
            if badness(s.health) > badness(known.health) {
                (known.health, known.word) = (s.health, word);
            }
            known.ms = known.ms.into_iter().chain(s.latency_ms).reduce(f64::max);
        } else {
            out.push(Server {
                name: s.name.clone(),
                addresses: address,
                health: s.health,
                word,
                ms: s.latency_ms,
                side,
            });
        }
    }
    out
}

fn absolute(zone: &str) -> String {
    if zone == "." { ".".into() } else { format!("{zone}.") }
}

fn nodes(d: &Delegation, dnssec: Option<&Dnssec>, trace: Option<&Trace>) -> Vec<Node> {
    let asked = |zone: &str| -> Option<Line> {
        let step = trace?.steps.iter().find(|s| s.zone == zone)?;
        let chosen = step.chosen.and_then(|i| step.answers.get(i))?;
        let first = chosen.server.split('.').take(2).collect::<Vec<_>>().join(".");
        let ms = chosen.latency_ms.map(|ms| format!(", {}", millis(ms))).unwrap_or_default();
        Some(("clock", "p-ic p-ic-m", format!("asked {first}{ms}")))
    };
    let mut root: Vec<Line> = vec![("globe", "p-ic p-ic-m", "start of the path".into())];
    root.extend(asked("."));
    let signed = |yes: bool| -> Line {
        if yes {
            ("shield", "p-ic ok", format!("DS for {}", absolute(&d.zone)))
        } else {
            ("unlock", "p-ic p-ic-m", "no DS: unsigned".into())
        }
    };
    let listed: Line = if d.delegated {
        ("ok", "p-ic ok", format!("lists {} nameservers", d.parent_ns.len()))
    } else {
        ("critical", "p-ic critical", "does not delegate it".into())
    };
    let mut parent = vec![listed, signed(!d.ds.is_empty())];
    parent.extend(asked(&d.parent));
    let (p, c) = (d.parent_ns.len(), d.child_ns.len());
    let same = d.parent_ns.iter().all(|n| d.child_ns.contains(&n.name)) && p == c;
    let agree: Line = if same {
        ("ok", "p-ic ok", "parent and zone agree".into())
    } else if p == c {
        ("warning", "p-ic warn", "parent and zone differ".into())
    } else {
        ("warning", "p-ic warn", format!("parent lists {p}, zone {c}"))
    };
    let mut zone = vec![agree];
    zone.extend(dnssec.map(|s| -> Line {
        match s.status {
            DnssecStatus::Secure => ("shield", "p-ic ok", "chain of trust complete".into()),
            DnssecStatus::Bogus => ("critical", "p-ic critical", "DNSSEC bogus".into()),
            DnssecStatus::Insecure => ("unlock", "p-ic p-ic-m", "unsigned".into()),
            DnssecStatus::Indeterminate => ("unknown", "p-ic p-ic-m", "DNSSEC unclear".into()),
        }
    }));
    zone.extend(
        d.soa
            .as_ref()
            .filter(|s| s.zone == d.zone)
            .map(|s| -> Line { ("edit", "p-ic p-ic-m", format!("serial {}", s.serial)) }),
    );
    let mut out = vec![Node { kind: "Root", title: ".".into(), lines: root }];
    if d.parent != "." {
        let kind = if d.parent.contains('.') { "Parent" } else { "TLD" };
        out.push(Node { kind, title: absolute(&d.parent), lines: parent });
    }
    out.push(Node { kind: "Zone", title: absolute(&d.zone), lines: zone });
    out
}

fn edge_class(h: ServerHealth) -> &'static str {
    match h {
        ServerHealth::Authoritative => "p-edge ok",
        ServerHealth::Slow => "p-edge warn",
        ServerHealth::Lame | ServerHealth::Dead | ServerHealth::Unresolvable => "p-edge critical dash",
        ServerHealth::NotAsked => "p-edge dash",
    }
}

fn box_class(h: ServerHealth) -> &'static str {
    match h {
        ServerHealth::Authoritative | ServerHealth::NotAsked => "p-node",
        ServerHealth::Slow => "f-warn-soft s-warn-line",
        _ => "f-critical-soft s-critical-line",
    }
}

fn fill_class(h: ServerHealth) -> &'static str {
    match h {
        ServerHealth::Authoritative => "f-ok",
        ServerHealth::Slow => "f-warn",
        ServerHealth::NotAsked => "p-mute",
        _ => "f-critical",
    }
}

fn mark(h: ServerHealth) -> (&'static str, &'static str) {
    match h {
        ServerHealth::Authoritative => ("ok", "p-ic ok"),
        ServerHealth::Slow => ("slow", "p-ic warn"),
        ServerHealth::Lame => ("unlink", "p-ic critical"),
        ServerHealth::Dead | ServerHealth::Unresolvable => ("critical", "p-ic critical"),
        ServerHealth::NotAsked => ("unknown", "p-ic p-ic-m"),
    }
}

fn cut(s: &str, n: usize) -> String {
    if s.chars().count() <= n {
        s.into()
    } else {
        format!("{}…", s.chars().take(n - 1).collect::<String>())
    }
}

/// The picture.
pub(crate) fn picture(d: &Delegation, dnssec: Option<&Dnssec>, trace: Option<&Trace>) -> AnyView {
    let (nodes, servers) = (nodes(d, dnssec, trace), servers(d));
    let told: Vec<_> = servers
        .iter()
        .map(|s| {
            format!(
                "{} {}{}",
                s.name,
                s.word.to_lowercase(),
                s.ms.map(|m| format!(", {}", millis(m))).unwrap_or_default()
            )
        })
        .collect();
    let path: Vec<_> =
        nodes.iter().map(|n| if n.title == "." { "root".to_string() } else { n.title.clone() }).collect();
    let label = format!("Delegation of {}: {}; nameservers: {}", d.zone, path.join(" to "), told.join("; "));
    let slowest = servers.iter().filter_map(|s| s.ms).fold(200.0_f64, f64::max);
    view! {
        <div class="pic" tabindex="0" role="group" aria-label="Delegation, picture">
            <div class="pic-wide">{wide(&nodes, &servers, slowest, label.clone())}</div>
            <div class="pic-tall">{tall(&nodes, &servers, slowest, label)}</div>
        </div>
    }
    .into_any()
}

fn bar(s: &Server, slowest: f64, x: i32, y: i32, width: i32) -> AnyView {
    let part = s.ms.map_or(0.0, |ms| (ms / slowest).clamp(0.02, 1.0) * f64::from(width) * 0.92);
    view! {
        <rect x=x y=y width=width height="4" rx="2" class="f-line"/>
        <rect x=x y=y width=format!("{part:.0}") height="4" rx="2" class=fill_class(s.health)/>
    }
    .into_any()
}

fn wide(nodes: &[Node], servers: &[Server], slowest: f64, label: String) -> AnyView {
    let n = i32::try_from(servers.len().max(2)).unwrap_or(2);
    let height = (n * 84).max(168) - 4;
    let (mid, widths) = (height / 2, [176, 200, 220]);
    let mut x = 0;
    let mut drawn = Vec::new();
    for (i, node) in nodes.iter().enumerate() {
        let w = if node.kind == "Zone" { widths[2] } else { widths[i.min(1)] };
        drawn.push(node_box(node, x, mid - 74, w));
        x += w;
        if i + 1 < nodes.len() {
            drawn.push(
                view! {
                    <path d=format!("M{x} {mid}h48") class="p-edge"/>
                    <path d=format!("m{} {} 5 4-5 4", x + 42, mid - 4) class="p-edge"/>
                }
                .into_any(),
            );
            x += 48;
        }
    }
    let (from, to) = (x, 772);
    let cards: Vec<_> = servers
        .iter()
        .zip(0_i32..)
        .map(|(s, i)| {
            let top = i * 84 + (height - (i32::try_from(servers.len()).unwrap_or(1) * 84 - 4)) / 2;
            let y = top + 38;
            let bend = (to - from) / 2;
            let d = format!("M{from} {mid}C{} {mid} {} {y} {to} {y}", from + bend, to - bend);
            let (picture, class) = mark(s.health);
            let side = if s.side.is_empty() { String::new() } else { format!(" · {}", s.side) };
            let ms = s.ms.map(millis).unwrap_or_default();
            let muted = if s.health == ServerHealth::Slow { "f-warn" } else { "p-mute" };
            view! {
                <path d=d class=edge_class(s.health)/>
                <rect x="772.5" y=format!("{top}.5") width="355" height="75" rx="8" class=box_class(s.health)/>
                <text x="786" y=top + 25 class="p-title p-light">{cut(&s.name, 28)}<title>{s.name.clone()}</title></text>
                {icon_at(picture, class, 1006, top + 13)}
                <text x="1026" y=top + 25 class=fill_class(s.health)>{cut(&s.word, 17)}<title>{s.word.clone()}</title></text>
                <text x="786" y=top + 45 class="p-mono p-mute p-small">{cut(&format!("{}{side}", s.addresses), 34)}<title>{s.addresses.clone()}</title></text>
                <text x="1026" y=top + 45 class=muted>{ms}</text>
                {bar(s, slowest, 786, top + 58, 328)}
            }
        })
        .collect();
    let dot = (!servers.is_empty()).then(|| view! { <circle cx=from cy=mid r="3" class="f-faint"/> });
    view! {
        <svg class="pic-68" viewBox=format!("0 0 1128 {height}") role="img" aria-label=label>{drawn}{cards}{dot}</svg>
    }
    .into_any()
}

fn node_box(node: &Node, x: i32, y: i32, w: i32) -> AnyView {
    let lines: Vec<_> = node
        .lines
        .iter()
        .zip(0_i32..)
        .map(|((picture, class, words), i)| {
            let at = y + 82 + i * 23;
            view! { {icon_at(picture, class, x + 14, at - 11)}<text x=x + 34 y=at>{cut(words, 28)}</text> }
        })
        .collect();
    view! {
        <rect x=format!("{x}.5") y=format!("{y}.5") width=w - 1 height="147" rx="8" class="p-node"/>
        <text x=x + 14 y=y + 24 class="p-mute">{node.kind}</text>
        <text x=x + 14 y=y + 46 class="p-title">{cut(&node.title, 24)}<title>{node.title.clone()}</title></text>
        <line x1=x + 14 x2=x + w - 14 y1=format!("{}.5", y + 60) y2=format!("{}.5", y + 60) class="p-line"/>
        {lines}
    }
    .into_any()
}

fn tall(nodes: &[Node], servers: &[Server], slowest: f64, label: String) -> AnyView {
    let mut y = 0;
    let mut drawn = Vec::new();
    for node in nodes {
        let (picture, class, words) = node
            .lines
            .iter()
            .find(|l| l.1.contains("warn") || l.1.contains("critical"))
            .unwrap_or(&node.lines[0]);
        drawn.push(
            view! {
                <rect x="0.5" y=format!("{y}.5") width="341" height="56" rx="8" class="p-node"/>
                <text x="14" y=y + 22 class="p-mute">{node.kind}</text>
                <text x="58" y=y + 22 class="p-title">{cut(&node.title, 32)}</text>
                {icon_at(picture, class, 56, y + 32)}<text x="78" y=y + 43>{words.clone()}</text>
            }
            .into_any(),
        );
        y += 72;
    }
    let mut spine = format!("M24 56v{}", (y - 72 - 56).max(0));
    let first = y;
    let cards: Vec<_> = servers
        .iter()
        .map(|s| {
            let top = y;
            y += 88;
            let (picture, class) = mark(s.health);
            let ms = s.ms.map(millis).unwrap_or_default();
            view! {
                <path d=format!("M24 {}h20", top + 38) class=edge_class(s.health)/>
                <rect x="44.5" y=format!("{top}.5") width="297" height="76" rx="8" class=box_class(s.health)/>
                <text x="58" y=top + 23 class="p-title p-light">{cut(&s.name, 34)}</text>
                {icon_at(picture, class, 58, top + 35)}
                <text x="79" y=top + 47 class=fill_class(s.health)>{s.word.clone()}</text>
                <text x="328" y=top + 47 text-anchor="end" class="p-mute">{ms}</text>
                {bar(s, slowest, 58, top + 60, 270)}
            }
        })
        .collect();
    if y > first {
        spine = format!("{spine}M24 {}v{}", first - 16, (y - 88 + 38) - (first - 16));
    }
    view! {
        <svg viewBox=format!("0 0 342 {}", y.max(first)) role="img" aria-label=label><path d=spine class="p-edge"/>{drawn}{cards}</svg>
    }
    .into_any()
}
