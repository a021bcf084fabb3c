//! The page for addresses that lead nowhere.

use crate::components::{banner, icon};
use leptos::prelude::*;
use leptos_meta::Title;
use service::ApiError;

/// 404.
#[component]
pub(crate) fn NotFound() -> impl IntoView {
    banner::set_status(&ApiError::not_found(String::new()));
    view! {
        <Title text="Not found"/>
        <section class="card empty">
            {icon::icon_in("scope", "i i-lg")}
            <h1>"Page not found"</h1>
            <p>"It may have been mistyped, or the domain was removed from the inventory."</p>
            <div class="flex items-center gap-2 flex-wrap">
                <a class="btn btn-primary" href="/domains">"Go to the inventory"</a>
                <a class="btn" href="/tools/scan">"Scan a domain"</a>
            </div>
        </section>
    }
    .into_any()
}
