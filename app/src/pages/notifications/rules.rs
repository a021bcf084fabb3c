//! The rules of an organisation as a table: what each sends, to whom, when, and what it would have sent lately.

use crate::components::icon;
use crate::components::pager::grouped;
use crate::rule_draft;
use leptos::prelude::*;
use model::time::human_date;
use service::{NotificationSettings, RuleView};

/// The table. The rule in the editor is marked.
pub(super) fn rules(s: &NotificationSettings, editing: Option<&str>) -> AnyView {
    let rows: Vec<_> = s.rules.iter().map(|r| rule(r, s, editing == Some(r.rule.id.as_str()))).collect();
    view! {
        <section class="card tbl-wrap">
            <div class="card-head"><h2>"Rules"</h2><span class="text-muted">{s.rules.len()}</span>
                <span class="text-muted text-xs">"Every matching rule sends; a channel gets a message once."</span></div>
            <table class="tbl tbl-flow">
                <thead><tr><th scope="col">"Name"</th><th scope="col">"When"</th><th scope="col">"Who"</th><th scope="col">"How"</th><th scope="col" class="num">"Last 7 days"</th><th scope="col">"State"</th></tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </section>
    }
    .into_any()
}

fn rule(r: &RuleView, s: &NotificationSettings, is_edited: bool) -> AnyView {
    let to: Vec<_> =
        s.channels.iter().filter(|c| r.rule.channels.contains(&c.id)).map(|c| c.name.clone()).collect();
    let to = if to.is_empty() { "no channel".to_string() } else { to.join(", ") };
    let muted = rule_draft::muted_day(&r.rule).filter(|_| r.rule.is_muted(s.now));
    let (class, picture, state) = match (r.rule.enabled, muted) {
        (false, _) => ("text-muted", "clock", "Off".to_string()),
        (true, Some(day)) => ("text-muted", "clock", format!("Muted until {}", human_date(day))),
        (true, None) => ("text-ok", "ok", "On".to_string()),
    };
    let name = r.rule.name.clone();
    let name = if s.may_change {
        let href = format!("/settings/notifications?rule={}#rule", r.rule.id);
        let label = format!("Edit {name}");
        view! { <a class="text-text font-semibold" href=href aria-label=label>{name}</a> }.into_any()
    } else {
        view! { <span class="font-semibold">{name}</span> }.into_any()
    };
    view! {
        <tr class:selected=is_edited aria-current=is_edited.then_some("true")>
            <th scope="row">{name}</th>
            <td data-l="When">{rule_draft::what(&r.rule)}</td>
            <td data-l="Who">{to}</td>
            <td data-l="How">{rule_draft::when(&r.rule)}</td>
            <td data-l="Last 7 days" class="num">{grouped(r.preview.messages)}</td>
            <td data-l="State"><span class=format!("flex items-center gap-2 {class}")>{icon::icon_sm(picture)}{state}</span></td>
        </tr>
    }
    .into_any()
}
