//! Status flags, each explained in plain words; the locks that are not set are named too.

use crate::components::icon_sm;
use leptos::prelude::*;
use model::epp::EppStatus;
use std::collections::BTreeSet;

/// The locks a registrar can set; one that is missing is worth a word.
const LOCKS: [(&str, &str); 3] = [
    ("clientTransferProhibited", "Not set: the name can be moved to another registrar with its auth code."),
    ("clientUpdateProhibited", "Not set: nameservers can be changed by anyone in the registrar account."),
    ("clientDeleteProhibited", "Not set: the name can be deleted by anyone in the registrar account."),
];

/// The card; nothing where the source publishes no flags.
pub(crate) fn flags(statuses: Option<&BTreeSet<EppStatus>>) -> Option<AnyView> {
    let statuses = statuses?;
    let set: Vec<_> = statuses.iter().map(set).collect();
    let published = statuses.iter().any(|s| s.explained().is_some());
    let missing: Vec<_> = LOCKS
        .iter()
        .filter(|(code, _)| published && !statuses.iter().any(|s| s.as_str() == *code))
        .map(|(code, means)| {
            view! {
                <div class="wide"><dt class="flex items-center gap-2 mono text-muted">{icon_sm("unlock")}{*code}</dt><dd class="hint block pt-0.5 pl-5.5">{*means}</dd></div>
            }
        })
        .collect();
    let n = format!("{} set", statuses.len());
    Some(
        view! {
            <section class="card">
                <div class="card-head"><h2>"Status Flags"</h2><div class="aside">{n}</div></div>
                <dl class="facts">{set}{missing}</dl>
            </section>
        }
        .into_any(),
    )
}

fn is_lock(code: &str) -> bool {
    code.ends_with("Prohibited") && !code.ends_with("RenewProhibited")
}

fn set(s: &EppStatus) -> AnyView {
    let code = s.as_str().to_string();
    let (class, picture) = if is_lock(&code) {
        ("text-ok", "lock")
    } else if code == "ok" {
        ("text-muted", "unlock")
    } else {
        ("text-warn", "warning")
    };
    let words = match s.explained() {
        Some(m) if m.todo.is_empty() => m.means.clone(),
        Some(m) => format!("{} {}", m.means, m.todo),
        None => "A status specific to this registry; see its documentation.".to_string(),
    };
    view! {
        <div class="wide">
            <dt class="flex items-center gap-2 mono text-text"><span class=class>{icon_sm(picture)}</span>{code}</dt>
            <dd class="hint block pt-0.5 pl-5.5">{words}</dd>
        </div>
    }
    .into_any()
}
