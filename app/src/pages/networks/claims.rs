//! The claims in a block with their state, refused ones first.

use crate::components::icon;
use crate::components::pager::grouped;
use crate::components::time::Ago;
use crate::server_fns::{ClaimRow, Networks};
use leptos::prelude::*;
use model::Timestamp;

/// Where the live object can be read, copied and edited.
fn object(claim: &str) -> String {
    format!("/objects/networkclaims/{claim}")
}

/// The card.
pub(super) fn card(n: &Networks, shown: &str) -> AnyView {
    if n.total == 0 {
        return view! {
            <section class="card empty">{icon::icon_in("network", "i i-lg")}
                <h2>"No address space is claimed"</h2>
                <p>"Claim a prefix for each component. Addresses in DNS are then shown with the claim that covers them."</p>
            </section>
        }
        .into_any();
    }
    let rows: Vec<_> = n.claims.iter().map(|r| row(r, n.now)).collect();
    let more = (n.more_claims > 0).then(|| {
        let words =
            format!("{} more records are not listed. Select a smaller block.", grouped(n.more_claims as u64));
        view! { <p class="card-body text-xs text-muted">{words}</p> }
    });
    view! {
        <section class="card tbl-wrap">
            <div class="card-head"><h2>"Claims in "<span class="mono">{shown.to_string()}</span></h2><span class="text-muted">{n.claims.len()}</span></div>
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Claims, table">
                <table class="tbl">
                    <thead><tr>
                        <th scope="col">"Claim and component"</th>
                        <th scope="col">"State and reason"</th><th scope="col" class="max-sm:hidden num">"Since"</th>
                        <th scope="col"><span class="sr-only">"Actions"</span></th>
                    </tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            {more}
        </section>
    }
    .into_any()
}

fn row(r: &ClaimRow, now: Timestamp) -> AnyView {
    let (class, picture, word) = if r.allocated {
        ("pill pill-normal", "ok", "Allocated")
    } else {
        ("pill pill-critical", "critical", "Unavailable")
    };
    let (label, yaml) = (format!("Release {}", r.claim), format!("{} as YAML", r.claim));
    view! {
        <tr>
            <th scope="row"><span class="two"><span class="mono">{r.prefix.clone()}</span><small>{format!("{} · {}", r.claim, r.reference)}</small></span></th>
            <td class="wrap"><span class=class>{icon(picture)}<span>{word}</span></span>" "<span class="text-xs">{r.words.clone()}</span></td>
            <td class="num max-sm:hidden"><Ago at=r.date now=now/></td>
            <td><span class="flex items-center gap-2">
                <a class="btn btn-sm" href=object(&r.claim) rel="external" aria-label=yaml>"YAML"</a>
                <form method="post" action="/api/fn/release">
                    <input type="hidden" name="name" value=r.claim.clone()/>
                    <button class="btn btn-sm" type="submit" aria-label=label>"Release"</button>
                </form>
            </span></td>
        </tr>
    }
    .into_any()
}
