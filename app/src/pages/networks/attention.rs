//! What needs attention: refused claims, and names that point into space that was released or that no claim covers.

use super::claims::object;
use crate::components::icon;
use crate::components::pager::grouped;
use crate::server_fns::{Attention, AttentionKind, Networks};
use leptos::prelude::*;

/// The card; nothing while all is well.
pub(super) fn card(n: &Networks) -> Option<AnyView> {
    let (more, is_partial) = n.more_attention;
    if n.attention.is_empty() && !is_partial {
        return None;
    }
    let total = n.attention.len() + more;
    let total = (total > 0).then(|| view! { <span class="text-muted">{grouped(total as u64)}</span> });
    let entries: Vec<_> = n.attention.iter().map(|a| entry(a, n.rights.claim)).collect();
    let more = (more > 0).then(|| {
        view! { <p class="card-body text-xs text-muted">{format!("{} more.", grouped(more as u64))}</p> }
    });
    let partial = is_partial.then(|| {
        view! { <p class="card-body text-xs text-muted">"There are more blocks, released prefixes or addresses in DNS than are compared here: some may be missing."</p> }
    });
    Some(
        view! {
            <section class="card">
                <div class="card-head"><h2>"Needs attention"</h2>{total}
                    <div class="aside max-sm:hidden">"refused claims, and addresses in DNS without a claim"</div></div>
                {entries}{more}{partial}
            </section>
        }
        .into_any(),
    )
}

fn entry(a: &Attention, may_claim: bool) -> AnyView {
    let (picture, class) = match a.kind {
        AttentionKind::Refused => ("critical", "i text-critical"),
        AttentionKind::Released | AttentionKind::Unclaimed => ("warning", "i text-warn"),
    };
    let record = a.domain.as_ref().map(|d| {
        let label = format!("Show the record of {}", a.subject);
        view! { <a class="btn btn-sm" href=format!("/domains/{d}/dns") aria-label=label>"Show the record"</a> }
    });
    let claim = a.form.clone().filter(|_| may_claim).map(|href| {
        let words = if a.kind == AttentionKind::Released { "Claim again" } else { "Claim a prefix" };
        let label = format!("{words} for {}", a.subject);
        view! { <a class="btn btn-sm" href=href aria-label=label>{words}</a> }
    });
    let yaml = (a.kind == AttentionKind::Refused).then(|| {
        let label = format!("Show the claim {}", a.subject);
        view! { <a class="btn btn-sm" href=object(&a.subject) rel="external" aria-label=label>"Show the claim"</a> }
    });
    view! {
        <div class="finding">
            {icon::icon_in(picture, class)}
            <div><h3><span class="mono">{a.subject.clone()}</span>" "{a.title.clone()}</h3><p class="wrap">{a.words.clone()}</p></div>
            <div class="flex items-start gap-2 flex-wrap max-sm:col-start-2 max-sm:mt-2">{record}{claim}{yaml}</div>
        </div>
    }
    .into_any()
}
