//! The Event Log tab of one domain.

use super::confirming::confirming;
use super::state::DomainState;
use super::with_detail;
use crate::components::event_list::EventLogView;
use leptos::prelude::*;

/// The tab.
#[component]
pub(crate) fn EventsTab() -> impl IntoView {
    let dom = expect_context::<DomainState>();
    let waiting = with_detail(|_, d| confirming(d).into_any());
    view! { {waiting}<EventLogView domain=Some(dom.name)/> }.into_any()
}
