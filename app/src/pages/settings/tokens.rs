//! API tokens of the organisation.

use super::{confirmed, page, refusal, shown_once, usage};
use crate::components::time::{Ago, day};
use crate::resource::json_resource;
use crate::server_fns::{self, FormResult, SettingsPage, TokensData};
use leptos::prelude::*;
use model::account::{TokenInfo, TokenScope};
use model::time::relative;
use service::TokenRequest;

const PATH: &str = "/settings/tokens";
/// Days until a new token ends, to choose from.
const LIVES: [u32; 5] = [7, 30, TokenRequest::DEFAULT_DAYS, 180, 365];
/// An end so near is pointed out, in hours.
const SOON_HOURS: i64 = 14 * 24;

/// The page.
#[component]
pub(crate) fn TokensPage() -> impl IntoView {
    let data = json_resource(|| (), |()| server_fns::settings_tokens());
    page(PATH, "for programs that use the API, calendars and feed readers", data, body)
}

fn body(p: SettingsPage<TokensData>) -> AnyView {
    let (now, outcome) = (p.now, p.outcome);
    let new = match outcome.as_ref().map(|o| &o.result) {
        Some(FormResult::Token(new)) => Some(new.clone()),
        _ => None,
    };
    let banner = new.as_ref().map(|new| {
        shown_once(
            format!("Token {} created. Copy it now: it is shown only once.", new.token.name),
            "The server stores a hash only. If you lose the token, revoke it and create another.",
            "Token",
            new.secret.clone(),
        )
    });
    let fresh = new.map(|new| new.token.id);
    let typed =
        |field| outcome.as_ref().filter(|o| o.form == "create").map(|o| o.value(field)).unwrap_or_default();
    let (name, scope, days) = (typed("name"), typed("scope"), typed("days"));
    let scope = TokenScope::from_word(&scope).unwrap_or(TokenScope::Read);
    let days = days.parse().unwrap_or(TokenRequest::DEFAULT_DAYS);
    let scopes = TokenScope::ALL.map(|s| {
        let is_chosen = s == scope;
        view! {
            <label class="flex items-center gap-2"><input type="radio" name="scope" value=s.as_str() checked=is_chosen/>
                <span><span class="mono">{s.as_str()}</span>" "<span class="text-muted text-xs">{s.sentence()}</span></span></label>
        }
    });
    let lives = LIVES.map(|n| {
        let is_chosen = n == days;
        view! { <option value=n.to_string() selected=is_chosen>{format!("in {n} days")}</option> }
    });
    let rows: Vec<_> = p.data.tokens.iter().map(|t| token(t, fresh.as_deref() == Some(&t.id), now)).collect();
    let list = if rows.is_empty() {
        view! { <div class="card-body text-muted">"No tokens yet. Create one for each program, so that each can be revoked separately."</div> }.into_any()
    } else {
        view! {
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="API tokens">
                <table class="tbl">
                    <thead><tr><th scope="col">"Token"</th><th scope="col" class="max-sm:hidden">"Scope"</th><th scope="col" class="num">"Expires"</th><th scope="col" class="num max-sm:hidden">"Last used"</th><th scope="col"><span class="sr-only">"Actions"</span></th></tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        }
        .into_any()
    };
    view! {
        {banner}
        {refusal(outcome.as_ref(), "revoke")}
        <div class="cols">
            <section class="card tbl-wrap">
                <div class="card-head"><h2>"API tokens"</h2><div class="aside">{usage("tokens", p.data.organisation.tokens)}</div></div>
                {list}
                <div class="card-foot text-xs">"Send a token as "<code>"Authorization: Bearer dst_…"</code>". "<a class="underline" href="/api/docs" rel="external">"API reference"</a>". Calendars and feed readers need no token: "<a class="underline" href="/settings/notifications#feeds">"Feeds"</a>"."</div>
            </section>
            <section class="card">
                <div class="card-head"><h2>"New token"</h2></div>
                <form class="card-body grid grid-cols-1 gap-4 content-start" method="post" action=PATH>
                    {refusal(outcome.as_ref(), "create")}
                    <input type="hidden" name="do" value="create"/>
                    <div class="field"><label class="label" for="token-name">"Name"</label>
                        <input class="input" id="token-name" name="name" required maxlength="100" autocomplete="off" placeholder="What uses this token" value=name/></div>
                    <fieldset class="field"><legend class="label">"Scope"</legend>{scopes.into_iter().collect_view()}</fieldset>
                    <div class="field"><label class="label" for="token-days">"Expires"</label>
                        <select class="input" id="token-days" name="days">{lives.into_iter().collect_view()}</select></div>
                    <div><button class="btn btn-primary" type="submit">"Create token"</button></div>
                </form>
            </section>
        </div>
    }
    .into_any()
}

fn token(t: &TokenInfo, is_new: bool, now: model::Timestamp) -> AnyView {
    let ends = t.expires_at.map_or_else(
        || view! { <span class="text-warn">"Never"</span> }.into_any(),
        |at| {
            let left = at.duration_since(now).as_hours();
            let (class, words) = match left {
                ..=0 if at <= now => ("text-critical", "expired".to_string()),
                ..=SOON_HOURS => ("text-warn", relative(at, now)),
                _ => ("text-muted", relative(at, now)),
            };
            view! { <span class="two"><span>{day(at)}</span><small class=class>{words}</small></span> }
                .into_any()
        },
    );
    let used = t.last_used_at.map_or_else(
        || view! { <span class="text-muted">"Never"</span> }.into_any(),
        |at| view! { <Ago at=at now=now/> }.into_any(),
    );
    let hint = (!t.hint.is_empty()).then(|| format!("{}… · ", t.hint));
    let badge = is_new.then(|| view! { <span class="tag badge-new">"New"</span> });
    view! {
        <tr>
            <th scope="row"><span class="two"><span class="flex items-center gap-2">{t.name.clone()}{badge}</span><small><span class="mono">{hint}</span>{t.created_by.clone()}</small></span></th>
            <td class="max-sm:hidden"><span class="tag mono">{t.scope.as_str()}</span></td>
            <td class="num">{ends}</td>
            <td class="num max-sm:hidden">{used}</td>
            <td class="num">{confirmed(PATH, "revoke", "id", t.id.clone(), ("Revoke", format!("Revoke {}", t.name)))}</td>
        </tr>
    }
    .into_any()
}
