//! Placeholders in the shape of what is being loaded.

use leptos::prelude::*;

/// Grey bars in the shape of a list; they appear after 150 ms.
pub(crate) fn list() -> impl IntoView {
    let line = |w: &'static str| {
        view! {
            <div class="flex gap-8 items-center h-[var(--row)] px-4 border-b last:border-b-0"><span class="skel" style=w></span><span class="skel"></span><span class="skel"></span></div>
        }
    };
    view! {
        <div class="card [animation:appear_.01s_linear_.15s_both]" role="status" aria-label="Loading">
            {["--w:12rem", "--w:9rem", "--w:14rem", "--w:10rem", "--w:8rem", "--w:13rem", "--w:11rem", "--w:9rem"]
                .map(line).into_iter().collect_view()}
        </div>
    }
    .into_any()
}
