//! The audit log: who changed what, when, from where; filters and export.

use super::page;
use crate::components::icon;
use crate::components::time::instant;
use crate::query::{audit_query, audit_search};
use crate::resource::json_resource;
use crate::server_fns::{self, SettingsPage};
use leptos::prelude::*;
use leptos_router::hooks::use_location;
use model::account::{AUDIT_SUBJECTS, AuditEntry, AuditPage, AuditQuery, action_label};

const PATH: &str = "/settings/audit";

/// The page.
#[component]
pub(crate) fn AuditLogPage() -> impl IntoView {
    let search = use_location().search;
    let data = json_resource(move || search.get(), server_fns::settings_audit);
    let body = move |p: SettingsPage<AuditPage>| {
        let query = audit_query(&search.get_untracked()).unwrap_or_default();
        view! { {filters(&query)}{list(&query, &p.data)} }.into_any()
    };
    page(PATH, "who changed what, when, from where", data, body)
}

fn filters(q: &AuditQuery) -> AnyView {
    let options = AUDIT_SUBJECTS.map(|(word, title)| {
        let is_chosen = q.subject == word;
        view! { <option value=word selected=is_chosen>{title}</option> }
    });
    let day = |at: Option<model::Timestamp>| {
        at.map(|at| model::time::StatedTime::utc(at).date().to_string()).unwrap_or_default()
    };
    // The last day is meant to be in the list: the query ends at the midnight after it.
    let last = q.until.map(|end| end - jiff::SignedDuration::from_hours(24));
    let export = |ending: &str| {
        format!("/settings/audit.{ending}{}", audit_search(&AuditQuery { before: None, ..q.clone() }))
    };
    view! {
        <form class="toolbar" method="get" action=PATH role="search" aria-label="Filter the audit log">
            <label class="search"><span class="sr-only">"Name, object or value"</span>{icon("search")}
                <input class="input" name="q" value=q.text.clone() placeholder="Name, object or value" autocomplete="off"/></label>
            <label class="flex items-center gap-2"><span class="sr-only">"About"</span>
                <select class="input" name="about"><option value="">"Everything"</option>{options.into_iter().collect_view()}</select></label>
            <label class="flex items-center gap-2"><span class="text-muted text-xs">"From"</span><input class="input" type="date" name="from" value=day(q.since)/></label>
            <label class="flex items-center gap-2"><span class="text-muted text-xs">"to"</span><input class="input" type="date" name="to" value=day(last)/></label>
            <button class="btn" type="submit">"Filter"</button>
            <span class="flex items-center gap-2 end">
                <a class="btn btn-sm" href=export("csv") rel="external" download>{icon("download")}"CSV"</a>
                <a class="btn btn-sm" href=export("json") rel="external" download>{icon("download")}"JSON"</a>
            </span>
        </form>
    }
    .into_any()
}

fn list(q: &AuditQuery, p: &AuditPage) -> AnyView {
    if p.entries.is_empty() {
        return view! {
            <section class="card empty">{icon::icon_in("clock", "i i-lg")}<h2>"No entry matches"</h2>
                <p>"Every change is listed here: of domains, members, tokens, accounts and the organisation."</p></section>
        }
        .into_any();
    }
    let rows: Vec<_> = p.entries.iter().map(entry).collect();
    let older = p.next.map(|before| {
        let to = format!("{PATH}{}", audit_search(&AuditQuery { before: Some(before), ..q.clone() }));
        view! { <a class="btn btn-sm" href=to rel="next">"Older"{icon("right")}</a> }
    });
    let newest = q.before.map(|_| {
        let to = format!("{PATH}{}", audit_search(&AuditQuery { before: None, ..q.clone() }));
        view! { <a class="btn btn-sm" href=to>"Newest"</a> }
    });
    let count = format!("{} entries", p.entries.len());
    view! {
        <section class="card tbl-wrap">
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Audit log, newest first">
                <table class="tbl tbl-tight tbl-rec tbl-audit">
                    <thead><tr><th scope="col">"Time, UTC"</th><th scope="col">"Who"</th><th scope="col">"From"</th><th scope="col">"Action"</th><th scope="col">"Object"</th><th scope="col">"Old → new"</th></tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            <div class="tbl-foot"><span class="text-xs">{count}</span><span class="end">{newest}{older}</span></div>
        </section>
    }
    .into_any()
}

fn entry(e: &AuditEntry) -> AnyView {
    let value = |v: &Option<String>, class: &'static str, sign: &'static str, said: &'static str| {
        v.clone().map(|v| {
            view! { <span class=class><b aria-hidden="true">{sign}</b><span class="wrap"><span class="sr-only">{said}" "</span>{v}</span></span> }
        })
    };
    let from = if e.address.is_empty() { "this server".to_string() } else { e.address.clone() };
    let mail = e.email.clone().map(|mail| view! { <small>{mail}</small> });
    view! {
        <tr>
            <th scope="row" data-l="Time"><span class="whitespace-nowrap">{instant(e.at)}</span></th>
            <td data-l="Who"><span class="two"><span>{e.who.clone()}</span>{mail}</span></td>
            <td data-l="From"><span class="mono text-muted">{from}</span></td>
            <td data-l="Action"><span>{action_label(&e.action).to_string()}</span></td>
            <td data-l="Object"><span class="wrap">{e.object.clone()}</span></td>
            <td data-l="Old → new"><span class="grid justify-items-start gap-0.5 py-1">{value(&e.old, "diff diff-del", "−", "was")}{value(&e.new, "diff diff-add", "+", "is now")}</span></td>
        </tr>
    }
    .into_any()
}
