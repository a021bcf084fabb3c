//! All events of the organisation.

use crate::components::event_list::EventLogView;
use leptos::prelude::*;
use leptos_meta::Title;

/// The page.
#[component]
pub(crate) fn EventsPage() -> impl IntoView {
    view! {
        <Title text="Events"/>
        <div class="page-head"><h1>"Events"</h1><span class="sub">"what changed, newest first"</span></div>
        <EventLogView domain=None/>
    }
    .into_any()
}
