//! What can be done to a channel: test it, change where it leads, remove it. Plain forms.

use super::count;
use crate::components::icon;
use leptos::prelude::*;
use service::ChannelView;

/// The buttons of a channel. `failed` messages to it wait for *Send again*; removing it ends that, and says so first.
pub(super) fn actions(c: &ChannelView, failed: usize) -> AnyView {
    let label = format!("Send test to {}", c.name);
    let gone = format!("Remove {}", c.name);
    let remove = if failed == 0 {
        view! {
            <form method="post" action="/api/fn/remove_channel"><input type="hidden" name="id" value=c.id.clone()/>
                <button class="btn btn-sm btn-ghost btn-icon" type="submit" aria-label=gone.clone() title=gone>{icon("trash")}</button></form>
        }
        .into_any()
    } else {
        let what = count(failed, "failed message");
        view! {
            <details class="menu">
                <summary class="btn btn-sm btn-ghost btn-icon" aria-label=gone.clone() title=gone>{icon("trash")}</summary>
                <form class="menu-list menu-right menu-form" method="post" action="/api/fn/remove_channel">
                    <input type="hidden" name="id" value=c.id.clone()/>
                    <p class="hint">{format!("{what} to it will not be sent any more. To send them, edit the channel and use Send again.")}</p>
                    <button class="btn btn-sm" type="submit">{format!("Remove it and drop {what}")}</button>
                </form>
            </details>
        }
        .into_any()
    };
    view! {
        <div class="flex items-center gap-2 flex-wrap">
        <form method="post" action="/api/fn/test_channel"><input type="hidden" name="id" value=c.id.clone()/>
            <button class="btn btn-sm" type="submit" aria-label=label>{icon("bell")}"Send test"</button></form>
        {remove}
        </div>
    }
    .into_any()
}

/// The form that changes a channel. Addresses and keys are secrets: they are not shown, and stay where nothing is entered.
pub(super) fn edit(c: &ChannelView) -> AnyView {
    let field = |name: &'static str, label: &'static str, value: String| {
        let kind = if matches!(name, "token" | "key") { "password" } else { "text" };
        let hint = if value.is_empty() { "Leave empty to keep it" } else { "" };
        view! {
            <label class="field"><span class="label">{label}</span>
                <input class="input" type=kind name=name value=value autocomplete="off" placeholder=hint/></label>
        }
        .into_any()
    };
    let fields: Vec<AnyView> = match c.kind.as_str() {
        "email" => vec![field("to", "E-mail addresses", c.address.clone())],
        "telegram" => vec![field("token", "Token", String::new()), field("chat", "Chat", String::new())],
        "pagerduty" => vec![field("key", "Integration key", String::new())],
        "ntfy" => vec![field("url", "Address", String::new()), field("token", "Token", String::new())],
        _ => vec![field("url", "Address", String::new())],
    };
    let label = format!("Edit {}", c.name);
    view! {
        <details class="more">
            <summary class="text-xs" aria-label=label>"Edit"</summary>
            <form class="grid grid-cols-1 gap-3 content-start" method="post" action="/api/fn/save_channel">
                <input type="hidden" name="id" value=c.id.clone()/>
                <input type="hidden" name="kind" value=c.kind.clone()/>
                <label class="field"><span class="label">"Name"</span>
                    <input class="input" name="name" value=c.name.clone() autocomplete="off" required maxlength="80"/></label>
                {fields}
                <div><button class="btn btn-sm" type="submit">"Save channel"</button></div>
            </form>
        </details>
    }
    .into_any()
}
