//! The delegation as a drawn path: root, parent, zone, nameservers with every address; lame, slow and older ones are
//! told by icon, word and line, not by colour alone. A wide picture and a tall one for narrow places; each server is a
//! link to its row in the table of the same facts, so keyboard and screen reader go through them one by one.

mod draw;
pub(super) mod nodes;

use crate::components::icon;
use leptos::prelude::*;
use model::dns::{Delegation, Dnssec};
use model::nameserver::{Condition, nameservers, tally};
use nodes::{mark, nodes};

/// The colour of the line above the picture, with its icon.
fn sum_class(worst: Condition) -> &'static str {
    match worst {
        Condition::Well => "text-ok",
        Condition::NotAsked => "text-muted",
        Condition::Slow | Condition::Behind => "text-warn",
        Condition::Lame | Condition::Dead => "text-critical",
    }
}

/// The picture, below a line that summarizes it.
pub(crate) fn picture(d: &Delegation, dnssec: Option<&Dnssec>) -> AnyView {
    let (nodes, servers) = (nodes(d, dnssec), nameservers(d));
    let path: Vec<_> =
        nodes.iter().map(|n| if n.title == "." { "root".to_string() } else { n.title.clone() }).collect();
    let label = format!("Delegation of {}: {}", d.zone, path.join(" to "));
    let ms = servers.iter().flat_map(|s| &s.seen).filter_map(|s| s.latency_ms);
    let slowest = ms.fold(200.0_f64, f64::max);
    let worst = servers.iter().map(model::nameserver::Nameserver::worst).max();
    let sum = worst.map(|w| {
        view! { <p class="flex items-center gap-2 mb-3 flex-nowrap"><span class=sum_class(w)>{icon(mark(w).0)}</span>{tally(&servers)}</p> }
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
