//! The theme switch: system, light or dark; stored in this browser.

use crate::browser;
use crate::components::icon;
use leptos::prelude::*;

const KEY: &str = "theme";

/// The button in the top bar.
#[component]
pub(crate) fn ThemeButton() -> impl IntoView {
    let theme = RwSignal::new(None::<String>);
    Effect::new(move |_| theme.set(browser::stored(KEY)));
    let switch = move |_| {
        let next = match theme.get_untracked().as_deref() {
            None => Some("light"),
            Some("light") => Some("dark"),
            Some(_) => None,
        };
        browser::store(KEY, next);
        if let Some(root) = document().document_element() {
            let _ = match next {
                Some(t) => root.set_attribute("data-theme", t),
                None => root.remove_attribute("data-theme"),
            };
        }
        theme.set(next.map(str::to_string));
    };
    let label = move || match theme.get().as_deref() {
        None => "Theme: as the system. Switch to light",
        Some("light") => "Theme: light. Switch to dark",
        Some(_) => "Theme: dark. Switch to the system’s",
    };
    let picture = move || match theme.get().as_deref() {
        None => icon("screen").into_any(),
        Some("light") => icon("sun").into_any(),
        Some(_) => icon("moon").into_any(),
    };
    view! {
        <button type="button" class="btn btn-ghost btn-icon" aria-label=label title=label on:click=switch>
            {picture}
        </button>
    }
    .into_any()
}
