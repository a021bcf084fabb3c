//! The delegation as a drawn path: root, parent, zone, nameservers with every address; lame, slow and older ones are
//! told by icon, word and line, not by colour alone. A wide picture and a tall one for narrow places; each server is a
//! link to its row in the table of the same facts, so keyboard and screen reader go through them one by one.

mod draw;

use crate::components::icon;
use leptos::prelude::*;
use model::dns::{Delegation, Dnssec, DnssecStatus};
use model::nameserver::{Condition, nameservers, tally};

/// A line in a node: icon, its class, words.
type Line = (&'static str, &'static str, String);

/// A zone on the way.
struct Node {
    kind: &'static str,
    title: String,
    lines: Vec<Line>,
}

fn absolute(zone: &str) -> String {
    if zone == "." { ".".into() } else { format!("{zone}.") }
}

fn nodes(d: &Delegation, dnssec: Option<&Dnssec>) -> Vec<Node> {
    let signed: Line = if d.ds.is_empty() {
        ("unlock", "p-ic p-ic-m", "no DS: unsigned".into())
    } else {
        ("shield", "p-ic ok", "DS published".into())
    };
    let listed: Line = if d.delegated {
        ("ok", "p-ic ok", format!("lists {} nameservers", d.parent_ns.len()))
    } else {
        ("critical", "p-ic critical", "does not delegate it".into())
    };
    let parent = vec![listed, signed];
    let (p, c) = (d.parent_ns.len(), d.child_ns.len());
    let same = d.parent_ns.iter().all(|n| d.child_ns.contains(&n.name)) && p == c;
    let agree: Line = if same {
        ("ok", "p-ic ok", "parent and zone agree".into())
    } else if c == 0 {
        ("critical", "p-ic critical", "no nameserver tells its set".into())
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
    let start: Vec<Line> = vec![("globe", "p-ic p-ic-m", "start of the path".into())];
    let mut out = vec![Node { kind: "Root", title: ".".into(), lines: start }];
    if d.parent != "." {
        let kind = if d.parent.contains('.') { "Parent" } else { "TLD" };
        out.push(Node { kind, title: absolute(&d.parent), lines: parent });
    }
    out.push(Node { kind: "Zone", title: absolute(&d.zone), lines: zone });
    out
}

/// The icon of a condition, and its class in a picture.
fn mark(c: Condition) -> (&'static str, &'static str) {
    match c {
        Condition::Well => ("ok", "p-ic ok"),
        Condition::NotAsked => ("unknown", "p-ic p-ic-m"),
        Condition::Slow => ("slow", "p-ic warn"),
        Condition::Behind => ("clock", "p-ic warn"),
        Condition::Lame => ("unlink", "p-ic critical"),
        Condition::Dead => ("critical", "p-ic critical"),
    }
}

/// The colour of the line above the picture, with its icon.
fn sum_class(worst: Condition) -> &'static str {
    match worst {
        Condition::Well => "t-ok",
        Condition::NotAsked => "muted",
        Condition::Slow | Condition::Behind => "t-warn",
        Condition::Lame | Condition::Dead => "t-critical",
    }
}

/// Where the row of a nameserver stands in the table of nameservers: its place among them.
pub(crate) fn row_id(place: usize) -> String {
    format!("nameserver-{}", place + 1)
}

/// The picture, under a line that says it all.
pub(crate) fn picture(d: &Delegation, dnssec: Option<&Dnssec>) -> AnyView {
    let (nodes, servers) = (nodes(d, dnssec), nameservers(d));
    let path: Vec<_> =
        nodes.iter().map(|n| if n.title == "." { "root".to_string() } else { n.title.clone() }).collect();
    let label = format!("Delegation of {}: {}", d.zone, path.join(" to "));
    let ms = servers.iter().flat_map(|s| &s.seen).filter_map(|s| s.latency_ms);
    let slowest = ms.fold(200.0_f64, f64::max);
    let worst = servers.iter().map(model::nameserver::Nameserver::worst).max();
    let sum = worst.map(|w| {
        view! { <p class="row pic-sum"><span class=sum_class(w)>{icon(mark(w).0)}</span>{tally(&servers)}</p> }
    });
    view! {
        {sum}
        <div class="pic deleg">
            <div class="deleg-wide">{draw::wide(&nodes, &servers, slowest, label.clone())}</div>
            <div class="deleg-tall">{draw::tall(&nodes, &servers, slowest, label)}</div>
        </div>
    }
    .into_any()
}
