//! The plan as a table, and what to enter at the provider: the changes with copy buttons, and as files for other
//! programs.

use crate::components::copy::copy_button;
use crate::components::{icon, icon_sm};
use leptos::prelude::*;
use model::configure::{
    ChangeAction, Export, PlannedChange, ProviderForm, RecordCheck, RecordState, ServiceReport,
};
use model::inventory::percent;

/// The changes, each with its reason.
pub(crate) fn changes_card(r: &ServiceReport, aside: String) -> AnyView {
    if r.changes.is_empty() {
        return ().into_any();
    }
    let rows: Vec<_> = r.changes.iter().map(row).collect();
    view! {
        <section class="card tbl-wrap" aria-labelledby="pl">
            <div class="card-head"><h2 id="pl">"Plan"</h2><span class="text-muted">{counted(r.changes.len())}</span><div class="aside">{aside}</div></div>
            <table class="tbl tbl-flow tbl-top" role="table"><thead><tr role="row">
                <th scope="col">"Action"</th><th scope="col">"Record"</th><th scope="col">"Value"</th><th scope="col">"Why"</th>
            </tr></thead><tbody>{rows}</tbody></table>
        </section>
    }
    .into_any()
}

fn counted(n: usize) -> String {
    if n == 1 { "1 change".into() } else { format!("{n} changes") }
}

fn row(c: &PlannedChange) -> AnyView {
    let (class, picture) = match c.action {
        ChangeAction::Create => {
            ("inline-flex items-center gap-1.5 font-medium whitespace-nowrap text-ok", "plus")
        }
        ChangeAction::Change => {
            ("inline-flex items-center gap-1.5 font-medium whitespace-nowrap text-info", "edit")
        }
        ChangeAction::Delete => {
            ("inline-flex items-center gap-1.5 font-medium whitespace-nowrap text-critical", "trash")
        }
    };
    let value = |values: &[String], class: &'static str, sign: &'static str, spoken: &'static str| {
        values
            .iter()
            .map(|v| view! { <span class=class><b aria-label=spoken>{sign}</b><span class="wrap">{v.clone()}</span></span> })
            .collect::<Vec<_>>()
    };
    view! {
        <tr role="row">
            <th scope="row" role="rowheader"><span class=class>{icon_sm(picture)}{c.action.label()}</span></th>
            <td role="cell" data-l="Record"><span class="flex items-center gap-2"><span class="rtype">{c.rtype.clone()}</span><span class="mono wrap">{host_shown(&c.host)}</span></span></td>
            <td role="cell" data-l="Value"><span class="grid justify-items-start gap-0.5 py-1">{value(&c.old, "diff diff-del", "−", "removed")}{value(&c.new, "diff diff-add", "+", "added")}</span></td>
            <td role="cell" data-l="Why" class="text-muted">{c.why.clone()}</td>
        </tr>
    }
    .into_any()
}

/// The host as it is typed, or a word where the field stays empty.
pub(crate) fn host_shown(typed: &str) -> String {
    if typed.is_empty() { "(empty)".into() } else { typed.to_string() }
}

/// What to do at the provider: one click, the fields of its form, or a file. `repeats`: the page checks by itself.
pub(crate) fn to_do_card(r: &ServiceReport, repeats: bool) -> AnyView {
    if r.changes.is_empty() {
        return ().into_any();
    }
    let at =
        if r.provider.name.is_empty() { "the DNS provider".to_string() } else { r.provider.name.clone() };
    let apply = r.apply.as_ref().map(|link| {
        let signed = if link.signed { "Signed by Domainscope. " } else { "" };
        let then = if repeats { "come back; this page checks automatically" } else { "reload this page" };
        let words = format!("Opens {} in a new tab with these changes. {signed}Confirm there, then {then}.", link.provider);
        view! {
            <div class="flex items-center gap-3 flex-wrap">
                <a class="btn btn-primary" href=link.url.clone() target="_blank" rel="external noopener noreferrer">{icon("ext")}{format!("Apply at {}", link.provider)}</a>
                <span class="hint flex-1 min-w-0">{words}</span>
            </div>
            <div class="or">"or enter the records yourself"</div>
        }
    });
    let no_apply = (r.apply.is_none() && !r.no_apply.is_empty())
        .then(|| view! { <p class="hint">{r.no_apply.clone()}</p> });
    let place = (!r.provider.place.is_empty()).then(
        || view! { <p class="text-muted">{format!("At {at}, open ")}<b>{r.provider.place.clone()}</b>"."</p> },
    );
    let deletions: Vec<_> =
        r.changes.iter().filter(|c| c.action == ChangeAction::Delete).map(deletion).collect();
    let wanted = r.records.iter().filter(|c| is_to_enter(c, r));
    let records: Vec<_> = wanted.enumerate().map(|(i, c)| entry(i + 1, c, &r.provider)).collect();
    let notes: Vec<_> = r.provider.notes.iter().map(|n| view! { <p class="hint">{n.clone()}</p> }).collect();
    let exports: Vec<_> = r.exports.iter().map(export).collect();
    view! {
        <section class="card" aria-labelledby="td">
            <div class="card-head"><h2 id="td">{format!("What to do at {at}")}</h2></div>
            <div class="card-body grid grid-cols-1 gap-4 content-start">
                {apply}{no_apply}{place}
                {deletions}{records}{notes}
                <div class="[&_summary]:cursor-pointer [&_summary]:py-1.5 [&_.well]:mb-2"><h3>"Or as a file for"</h3>{exports}</div>
            </div>
        </section>
    }
    .into_any()
}

/// Records that some change creates: others are there already, or wait for the servers to agree.
fn is_to_enter(c: &RecordCheck, r: &ServiceReport) -> bool {
    c.state != RecordState::Present
        && r.changes.iter().any(|change| {
            change.name == c.name && change.rtype == c.rtype && change.action != ChangeAction::Delete
        })
}

/// What has to be deleted, in a line.
pub(crate) fn deletion(c: &PlannedChange) -> AnyView {
    let values = c.old.join(", ");
    view! {
        <p class="flex items-center gap-2 flex-wrap"><span class="inline-flex items-center gap-1.5 font-medium whitespace-nowrap text-critical">{icon_sm("trash")}"Delete"</span>
            <span class="rtype">{c.rtype.clone()}</span><span class="mono wrap">{host_shown(&c.host)}</span><span class="mono text-xs wrap text-muted">{values}</span></p>
    }
    .into_any()
}

/// The fields of one record as they are typed, each with a copy button.
fn entry(number: usize, c: &RecordCheck, form: &ProviderForm) -> AnyView {
    let verb = if c.state == RecordState::Different { "Change" } else { "Create" };
    let title = format!("{number}. {verb} the {} record of {}", c.rtype, c.name);
    let usual = match c.rtype.as_str() {
        "CNAME" | "ALIAS" | "ANAME" | "NS" => "Target",
        _ => "Value",
    };
    let label =
        |known: &str, usual: &str| if known.is_empty() { usual.to_string() } else { known.to_string() };
    let line = |label: String, value: String, hint: &str| {
        let hint = (!hint.is_empty()).then(|| view! { " "<small>{hint.to_string()}</small> });
        let what = format!("{} of record {number}", label.to_lowercase());
        let shown = if value.is_empty() { "(empty)".to_string() } else { value.clone() };
        view! {
            <div><dt>{label}</dt><dd>{shown}{hint}</dd><dd>{copy_button(&what, value)}</dd></div>
        }
    };
    view! {
        <div class="grid grid-cols-1 gap-2 content-start"><h3>{title}</h3>
            <dl class="rec">
                {line("Type".into(), c.rtype.clone(), "")}
                {line(label(&form.host_label, "Host"), c.host.clone(), &c.hints.host)}
                {line(label(&form.value_label, usual), c.value.clone(), &c.hints.value)}
                {line("TTL".into(), c.ttl.to_string(), &c.hints.ttl)}
            </dl>
        </div>
    }
    .into_any()
}

fn export(e: &Export) -> AnyView {
    let file = format!("data:text/plain;charset=utf-8,{}", percent(&e.text));
    view! {
        <details>
            <summary>{e.label.clone()}</summary>
            <div class="well"><pre class="m-0 overflow-x-auto font-mono text-[.75rem] leading-5 whitespace-pre" tabindex="0" aria-label=format!("{} lines", e.label)>{e.text.clone()}</pre></div>
            <div class="flex items-center gap-2"><a class="btn btn-sm" href=file download=e.file.clone()>{icon_sm("download")}"Download"</a>{copy_button(&format!("{} lines", e.label), e.text.clone())}</div>
        </details>
    }
    .into_any()
}
