//! Feeds of the organisation: a calendar of expirations, a news feed of events. Part of the page of notifications.

use super::{confirmed, refusal, shown_once};
use crate::components::time::Ago;
use crate::server_fns::{FormOutcome, FormResult};
use leptos::prelude::*;
use model::Timestamp;
use model::feed::{Feed, FeedKind};

/// The address of a feed that was just created, to be copied.
pub(crate) fn created(outcome: Option<&FormOutcome>) -> Option<AnyView> {
    let Some(FormResult::Feed { name, url }) = outcome.map(|o| &o.result) else { return None };
    Some(shown_once(
        format!("Feed {name} created. Copy its address now: it is shown only once."),
        "Anyone with the address can read the feed. The server stores a hash only; revoke the feed to close it.",
        "Address",
        url.clone(),
    ))
}

/// The card.
pub(crate) fn feeds(
    path: &'static str,
    feeds: &[Feed],
    outcome: Option<&FormOutcome>,
    now: Timestamp,
) -> AnyView {
    let rows: Vec<_> = feeds.iter().map(|f| row(path, f, now)).collect();
    let list = if rows.is_empty() {
        view! { <div class="card-body text-muted">"No feeds yet. Calendars and feed readers can show expirations and events without an account."</div> }.into_any()
    } else {
        view! {
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Feeds">
                <table class="tbl">
                    <thead><tr><th scope="col">"Feed"</th><th scope="col" class="num max-sm:hidden">"Last read"</th><th scope="col"><span class="sr-only">"Actions"</span></th></tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        }
        .into_any()
    };
    let kinds = FeedKind::ALL.map(|k| view! { <option value=k.as_str()>{k.label()}</option> });
    let typed = outcome.filter(|o| o.form == "create_feed").map(|o| o.value("name")).unwrap_or_default();
    view! {
        {refusal(outcome, "revoke_feed")}
        <div class="cols" id="feeds">
            <section class="card tbl-wrap">
                <div class="card-head"><h2>"Feeds"</h2><span class="text-muted">{feeds.len()}</span></div>
                {list}
                <div class="card-foot text-xs">"Anyone with the address of a feed can read it; revoke the feed to close it."</div>
            </section>
            <section class="card">
                <div class="card-head"><h2>"New feed"</h2></div>
                <form class="card-body grid grid-cols-1 gap-4 content-start" method="post" action=path>
                    {refusal(outcome, "create_feed")}
                    <input type="hidden" name="do" value="create_feed"/>
                    <div class="field"><label class="label" for="feed-name">"Name"</label>
                        <input class="input" id="feed-name" name="name" required maxlength="80" autocomplete="off" placeholder="Who reads it" value=typed/></div>
                    <div class="field"><label class="label" for="feed-kind">"Content"</label>
                        <select class="input" id="feed-kind" name="kind">{kinds.into_iter().collect_view()}</select></div>
                    <div><button class="btn btn-primary" type="submit">"Create feed"</button></div>
                </form>
            </section>
        </div>
    }
    .into_any()
}

fn row(path: &'static str, f: &Feed, now: Timestamp) -> AnyView {
    let used = f.used_at.map_or_else(
        || view! { <span class="text-muted">"Never"</span> }.into_any(),
        |at| view! { <Ago at=at now=now/> }.into_any(),
    );
    view! {
        <tr>
            <th scope="row"><span class="two"><span>{f.name.clone()}</span><small>{f.kind.label()}" · "{f.created_by.clone()}</small></span></th>
            <td class="num max-sm:hidden">{used}</td>
            <td class="num">{confirmed(path, "revoke_feed", "id", f.id.clone(), ("Revoke", format!("Revoke {}", f.name)))}</td>
        </tr>
    }
    .into_any()
}
