//! The Event Log tab of one domain.

use super::state::DomainState;
use crate::components::event_list::EventLogView;
use leptos::prelude::*;

/// The tab.
#[component]
pub(crate) fn EventsTab() -> impl IntoView {
    let dom = expect_context::<DomainState>();
    view! { <EventLogView domain=Some(dom.name)/> }.into_any()
}
