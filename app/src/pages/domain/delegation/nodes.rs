//! What the pictures of a delegation show: the zones on the path, and the marks of the nameservers.

use model::dns::{Delegation, Dnssec, DnssecStatus};
use model::nameserver::Condition;

/// A line in a node: icon, its class, words.
pub(super) type Line = (&'static str, &'static str, String);

/// A zone on the way.
pub(super) struct Node {
    pub(super) kind: &'static str,
    pub(super) title: String,
    pub(super) lines: Vec<Line>,
}

pub(super) fn absolute(zone: &str) -> String {
    if zone == "." { ".".into() } else { format!("{zone}.") }
}

pub(super) fn nodes(d: &Delegation, dnssec: Option<&Dnssec>) -> Vec<Node> {
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
    let agree: Line = if !d.delegated {
        ("critical", "p-ic critical", "not delegated: no zone".into())
    } else if same {
        ("ok", "p-ic ok", "parent and zone agree".into())
    } else if c == 0 {
        ("critical", "p-ic critical", "No NS set returned".into())
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
            DnssecStatus::Indeterminate => ("unknown", "p-ic p-ic-m", "DNSSEC indeterminate".into()),
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
pub(super) fn mark(c: Condition) -> (&'static str, &'static str) {
    match c {
        Condition::Well => ("ok", "p-ic ok"),
        Condition::NotAsked => ("unknown", "p-ic p-ic-m"),
        Condition::Slow => ("slow", "p-ic warn"),
        Condition::Behind => ("clock", "p-ic warn"),
        Condition::Lame => ("unlink", "p-ic critical"),
        Condition::Dead => ("critical", "p-ic critical"),
    }
}

/// The id of a nameserver's row in the table of nameservers.
pub(crate) fn row_id(place: usize) -> String {
    format!("nameserver-{}", place + 1)
}
