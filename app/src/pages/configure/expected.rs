//! Expected beside live: one row for each record, with the fault's name where a copy went wrong.

use crate::components::icon::icon_in;
use leptos::prelude::*;
use model::configure::{CopyFault, LiveRecord, RecordCheck, RecordState, ServiceReport, excess};
use model::time::human_clock;

/// The table.
pub(crate) fn expected_card(r: &ServiceReport) -> AnyView {
    let (answered, all) = r.answered();
    let aside =
        format!("{} UTC, {answered} of {all} authoritative servers answered", human_clock(r.checked_at));
    let mut records: Vec<&RecordCheck> = r.records.iter().collect();
    records.sort_by_key(|c| c.state == RecordState::Present);
    let rows: Vec<_> = records.into_iter().map(row).collect();
    view! {
        <section class="card tbl-wrap" aria-labelledby="ex">
            <div class="card-head"><h2 id="ex">{r.title.clone()}</h2><span class="text-muted">"expected and live"</span><div class="aside">{aside}</div></div>
            <table class="tbl tbl-flow tbl-top" role="table"><thead><tr role="row">
                <th scope="col">"Record"</th><th scope="col">"Expected"</th><th scope="col">"Live"</th><th scope="col">"State"</th>
            </tr></thead><tbody>{rows}</tbody></table>
        </section>
    }
    .into_any()
}

fn row(c: &RecordCheck) -> AnyView {
    let host = if c.host.is_empty() { "(empty)".to_string() } else { c.host.clone() };
    view! {
        <tr role="row">
            <th scope="row" role="rowheader"><span class="flex items-start gap-2"><span class="rtype">{c.rtype.clone()}</span><span class="mono wrap">{host}</span></span></th>
            <td role="cell" data-l="Expected"><div class="mono text-xs wrap">{c.value.clone()}</div></td>
            <td role="cell" data-l="Live"><div class="mono text-xs wrap">{live(c)}</div></td>
            <td role="cell" data-l="State"><span class="two">{state(c)}{small(c)}</span></td>
        </tr>
    }
    .into_any()
}

fn live(c: &RecordCheck) -> AnyView {
    if c.state == RecordState::Present {
        return view! { <span class="text-muted">"as expected"</span> }.into_any();
    }
    if let Some(fault) = c.faults.first() {
        return faulty(c, fault);
    }
    if c.live.is_empty() {
        let words = if c.state == RecordState::Unknown { "no answer" } else { "nothing" };
        return view! { <span class="text-muted">{words}</span> }.into_any();
    }
    let each: Vec<_> = c.live.iter().map(|l| view! { <div>{shown(l, c)}</div> }).collect();
    each.into_any()
}

fn shown(l: &LiveRecord, c: &RecordCheck) -> String {
    if l.rtype == c.rtype && l.name == c.name {
        l.value.clone()
    } else {
        format!("{} {} {}", l.name, l.rtype, l.value)
    }
}

/// The faulty copy with what is wrong in it marked.
fn faulty(c: &RecordCheck, fault: &CopyFault) -> AnyView {
    let marked = |text: &str, right: &str| {
        let parts = excess(text, right).into_iter();
        let parts = parts.map(|(text, wrong)| {
            if wrong { view! { <span class="hl">{text}</span> }.into_any() } else { text.into_any() }
        });
        parts.collect::<Vec<_>>()
    };
    if fault.live.name == c.name {
        let kind = (fault.live.rtype != c.rtype)
            .then(|| view! { <span class="hl">{fault.live.rtype.clone()}</span>" " });
        return view! { {kind}{marked(&fault.live.value, &c.value)} }.into_any();
    }
    view! { <span class="text-muted">"found instead: "</span>{marked(&fault.live.name, &c.name)} }.into_any()
}

fn state(c: &RecordCheck) -> AnyView {
    let (class, picture) = match c.state {
        RecordState::Present => ("i i-sm text-ok", "ok"),
        RecordState::Unknown => ("i i-sm text-muted", "unknown"),
        RecordState::Missing => ("i i-sm text-warn", "unknown"),
        RecordState::Different | RecordState::Conflicting | RecordState::Shadowed => {
            ("i i-sm text-warn", "warning")
        }
    };
    view! { <span class="flex items-center gap-1.5" title=c.state.sentence()>{icon_in(picture, class)}{c.state.label()}</span> }.into_any()
}

fn small(c: &RecordCheck) -> AnyView {
    let servers = (c.present_on > 0 && c.present_on < c.answered)
        .then(|| view! { <small>{format!("on {} of {} servers", c.present_on, c.answered)}</small> });
    let fault = c.faults.first().map(|f| view! { <small title=f.sentence.clone()>{f.label.clone()}</small> });
    view! { {fault}{servers} }.into_any()
}
