//! Instants and dates as people read them: relative in the text, exact on hover.

use leptos::prelude::*;
use model::Timestamp;
use model::time::relative;

/// How long ago, exact on hover. `now` is the server's clock; the browser's takes over once it ticks.
#[component]
pub(crate) fn Ago(
    /// When.
    at: Timestamp,
    /// The clock the page was read by.
    now: Timestamp,
) -> impl IntoView {
    let clock = crate::live::ticking();
    let words = move || relative(at, clock.get().unwrap_or(now));
    view! { <time datetime=at.to_string() title=at.to_string()>{words}</time> }.into_any()
}

/// A day, exact instant on hover.
pub(crate) fn day(at: Timestamp) -> impl IntoView {
    view! { <time datetime=at.to_string() title=at.to_string()>{model::time::human_day(at)}</time> }
        .into_any()
}

/// Day and clock time.
pub(crate) fn instant(at: Timestamp) -> impl IntoView {
    view! { <time datetime=at.to_string() title=at.to_string()>{model::time::human_instant(at)}</time> }
        .into_any()
}
