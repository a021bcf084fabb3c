//! What asks for attention, with what to do about it.

use super::{PATH, change, is_registered};
use crate::components::icon;
use leptos::prelude::*;
use service::FeatureView;
use service::lifecycle::State;

pub(super) fn needs_attention(list: &[&FeatureView], may_change: bool) -> AnyView {
    if list.is_empty() {
        return ().into_any();
    }
    let rows: Vec<_> = list.iter().map(|f| row(f, may_change)).collect();
    view! {
        <section class="card"><div class="card-head"><h2>"Needs attention"</h2><span class="text-muted">{list.len()}</span></div>{rows}</section>
    }
    .into_any()
}

fn row(f: &FeatureView, may_change: bool) -> AnyView {
    let has_leftovers = !f.leftovers.is_empty();
    let (picture, class) = if has_leftovers { ("warning", "i text-warn") } else { ("clock", "i text-info") };
    let name = f.feature.name.clone();
    let condition = has_leftovers.then(|| {
        view! { <p class="mono text-xs">{format!("Feature/{name} condition LeftoversExist=True")}</p> }
    });
    let act = may_change.then(|| act(f)).flatten();
    view! {
        <div class="finding">
            {icon::icon_in(picture, class)}
            <div><h3>{f.attention().unwrap_or_default()}</h3>
                <p>{what_to_do(f)}</p>{condition}</div>
            <div class="flex gap-2 items-start max-sm:col-start-2 max-sm:mt-2">{act}<a class="btn btn-sm" href=format!("{PATH}?feature={name}")>"Show"</a></div>
        </div>
    }
    .into_any()
}

/// The button that ends what asks for attention.
fn act(f: &FeatureView) -> Option<AnyView> {
    let name = f.feature.name.clone();
    match f.feature.state {
        State::Off if !f.leftovers.is_empty() && !is_registered(f) => Some(clean(name)),
        State::TurningOn if f.dynamic => Some(change("Turn it off again", "off", name)),
        State::TurningOff if f.dynamic => Some(change(back_on(f), "on", name)),
        _ => None,
    }
}

/// The way back from turning off. A feature that is cleaned up was off before: only a use of it stops the deletion.
pub(super) fn back_on(f: &FeatureView) -> &'static str {
    if f.feature.is_clean_up { "Stop the clean-up and turn it on" } else { "Keep it on" }
}

fn clean(name: String) -> AnyView {
    view! {
        <form method="post" action=PATH>
            <input type="hidden" name="do" value="clean"/>
            <input type="hidden" name="name" value=name/>
            <button class="btn btn-sm" type="submit">"Run clean-up"</button>
        </form>
    }
    .into_any()
}

fn what_to_do(f: &FeatureView) -> &'static str {
    if is_registered(f) {
        return "Its own programs do this and report it. A process that does not report for 60 s is considered stopped.";
    }
    let behind = f.waits_for();
    if !f.leftovers.is_empty() {
        "Run the clean-up to delete them: the tasks of turning it off run again, and it stays off. Safe to repeat."
    } else if behind.iter().any(|u| u.is_fixed) {
        "Restart it without the flag, or set the feature back."
    } else if !behind.is_empty() {
        "A process that does not report is considered stopped after 15 s."
    } else if f.feature.is_clean_up {
        "The leftovers are deleted in small batches, and the feature stays off. It ends when none are left. Turning the feature on stops it; what was deleted by then is gone."
    } else {
        "It continues automatically once these are removed. To keep them, turn the feature on again."
    }
}
