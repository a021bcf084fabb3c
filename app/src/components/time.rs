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

/// Milliseconds as people read them: `< 0.1 ms`, `0.4 ms`, `12 ms`.
pub(crate) fn millis(ms: f64) -> String {
    if ms < 0.05 {
        // On loopback, or in the same rack: quick, and yet an answer that took its way.
        "< 0.1 ms".into()
    } else if ms < 0.95 {
        format!("{ms:.1} ms")
    } else {
        format!("{ms:.0} ms")
    }
}
