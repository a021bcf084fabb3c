//! A button that copies a text one pastes elsewhere, and says so. Where no script runs it is not shown: there would be
//! nothing behind it.

use crate::browser;
use crate::components::icon;
use crate::components::toast::{Toaster, use_toaster};
use leptos::prelude::*;

/// Copies `text`, which messages call `what`.
pub(crate) fn copy_button(what: &str, text: String) -> AnyView {
    let toaster = use_toaster();
    let (label, what) = (format!("Copy {what}"), what.to_string());
    let title = label.clone();
    let copy = move |_| put(toaster, &what, &text);
    view! {
        <button type="button" class="btn btn-ghost btn-icon btn-xs noscript:hidden copy" aria-label=label title=title on:click=copy>{icon::icon_in("copy", "i i-sm")}</button>
    }
    .into_any()
}

/// Copies, and shows whether that succeeded.
pub(crate) fn put(toaster: Toaster, what: &str, text: &str) {
    let (what, text) = (first_up(what), text.to_string());
    leptos::task::spawn_local(async move {
        if browser::copy(&text).await {
            toaster.say("copy", format!("{what} copied"));
        } else {
            toaster.say("warning", format!("This browser blocked copying. The text is: {text}"));
        }
    });
}

/// The message begins like a sentence, unless it begins with a name.
fn first_up(what: &str) -> String {
    let name = what.split_whitespace().next().is_some_and(|w| w.contains('.'));
    let mut letters = what.chars();
    match letters.next() {
        Some(first) if !name => first.to_uppercase().chain(letters).collect(),
        _ => what.to_string(),
    }
}
