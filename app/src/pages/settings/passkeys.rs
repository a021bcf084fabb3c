//! Passkeys of one's own account. The script `/passkey.js` carries out the form that adds one: browsers make passkeys for
//! scripts only.

use super::{confirmed, refusal};
use crate::components::time::{Ago, day};
use crate::server_fns::FormOutcome;
use leptos::prelude::*;
use model::Timestamp;
use model::account::PasskeyInfo;
use service::Profile;

const PATH: &str = "/settings/account";

/// The card of the account page.
pub(super) fn passkeys(d: &Profile, outcome: Option<&FormOutcome>, now: Timestamp) -> AnyView {
    let rows: Vec<_> = d.passkeys.iter().map(|p| row(p, now)).collect();
    let list = if rows.is_empty() {
        view! { <div class="card-body text-muted">"No passkeys yet. A passkey signs you in with the lock of your device, without a password."</div> }
            .into_any()
    } else {
        view! {
            <div class="tbl-scroll" tabindex="0" role="region" aria-label="Passkeys">
                <table class="tbl">
                    <thead><tr><th scope="col">"Passkey"</th><th scope="col" class="num">"Last used"</th><th scope="col"><span class="sr-only">"Actions"</span></th></tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        }
        .into_any()
    };
    let form = if d.has_password {
        add(outcome)
    } else {
        view! { <p class="text-muted">"Set a password first: adding a passkey requires it."</p> }.into_any()
    };
    view! {
        <section class="card tbl-wrap">
            <div class="card-head"><h2>"Passkeys"</h2></div>
            {refusal(outcome, "remove_passkey")}
            {list}
            <div class="card-body">{form}</div>
        </section>
    }
    .into_any()
}

fn row(p: &PasskeyInfo, now: Timestamp) -> AnyView {
    let used = p.last_used_at.map_or_else(
        || view! { <span class="text-muted">"Never"</span> }.into_any(),
        |at| view! { <Ago at=at now=now/> }.into_any(),
    );
    view! {
        <tr>
            <th scope="row"><span class="two"><span>{p.name.clone()}</span><small>"added "{day(p.created_at)}</small></span></th>
            <td class="num">{used}</td>
            <td class="num">{confirmed(PATH, "remove_passkey", "id", p.id.clone(), ("Remove", format!("Remove {}", p.name)))}</td>
        </tr>
    }
    .into_any()
}

fn add(outcome: Option<&FormOutcome>) -> AnyView {
    let refused = refusal(outcome, "add_passkey");
    let is_open = refused.is_some();
    view! {
        <details class="confirm" open=is_open>
            <summary class="btn btn-sm">"Add a passkey"</summary>
            <form class="grid grid-cols-1 gap-4 content-start" method="post" action=PATH data-passkey="add">
                {refused}
                <input type="hidden" name="do" value="add_passkey"/>
                <div class="field"><label class="label" for="passkey-name">"Name of the passkey"</label>
                    <input class="input" id="passkey-name" name="name" required maxlength="60" autocomplete="off" placeholder="Work laptop"/></div>
                <div class="field"><label class="label" for="passkey-password">"Password to confirm"</label>
                    <input class="input" id="passkey-password" name="password" type="password" required autocomplete="current-password"/></div>
                <p class="hint text-critical" role="alert" data-passkey-error="" hidden></p>
                <div><button class="btn btn-primary" type="submit">"Create passkey"</button></div>
            </form>
        </details>
    }
    .into_any()
}
