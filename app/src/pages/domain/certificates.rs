//! Certificates of a domain's host names: until when, from whom, and what is wrong with them.

use crate::components::icon_sm;
use crate::components::time::Ago;
use leptos::prelude::*;
use model::Timestamp;
use model::certificate::hosts::{Certificates, Condition, HostCertificate, issuer};
use model::observation::Part;
use model::time::{human_day, human_instant};

/// The card; nothing where no host name has an address.
pub(crate) fn certificates(part: &Part<Certificates>, now: Timestamp) -> Option<AnyView> {
    let seen = part.value.as_ref().filter(|c| !c.hosts.is_empty())?;
    let read = part.observed_at.map(|at| view! { <span>"read over TLS "<Ago at=at now=now/></span> });
    let hosts: Vec<_> = seen.hosts.iter().map(|h| host(h, now)).collect();
    Some(
        view! {
            <section class="card">
                <div class="card-head"><h2>"Certificates"</h2><div class="aside">{read}</div></div>
                <dl class="facts">{hosts}</dl>
            </section>
        }
        .into_any(),
    )
}

fn host(h: &HostCertificate, now: Timestamp) -> AnyView {
    let (Some(c), Some(condition)) = (&h.certificate, h.condition(now)) else {
        let why = h.error.clone().unwrap_or_else(|| "No certificate was seen".into());
        return view! {
            <div class="wide"><dt class="mono">{h.host.clone()}</dt><dd class="hint wrap">{why}</dd></div>
        }
        .into_any();
    };
    let days = (c.not_after.as_second() - now.as_second()).div_euclid(86_400);
    let left = match days {
        0 => "within a day".to_string(),
        1 => "in 1 day".to_string(),
        n if n > 1 => format!("in {n} days"),
        -1 => "yesterday".to_string(),
        n => format!("{} days ago", -n),
    };
    let class = condition_class(condition);
    let picture = if condition == Condition::Good { "lock" } else { "warning" };
    let from = format!("{} · {} {} bits", issuer(c), c.key_type, c.key_bits);
    let problem = h.problem(now).map(|p| view! { <dd class="hint wrap">{format!("{p}.")}</dd> });
    let several = (h.different > 1).then(|| {
        let words =
            format!("Its addresses present {} different certificates; this one ends first.", h.different);
        view! { <dd class="hint">{words}</dd> }
    });
    view! {
        <div class="wide">
            <dt class="flex items-center gap-2 mono">{h.host.clone()}</dt>
            <dd>
                <span class="flex items-center gap-2"><span class=class>{icon_sm(picture)}</span>{condition.label()}</span>
                <span title=human_instant(c.not_after)>{format!("until {}, {left}", human_day(c.not_after))}</span>
            </dd>
            <dd class="hint wrap">{from}</dd>
            {problem}{several}
        </div>
    }
    .into_any()
}

fn condition_class(condition: Condition) -> &'static str {
    match condition {
        Condition::Good => "text-ok",
        Condition::EndsSoon | Condition::Untrusted | Condition::WrongName => "text-warn",
        Condition::Expired => "text-critical",
    }
}
