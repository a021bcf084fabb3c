//! Totals above the table; each is a link to the list filtered by it.

use super::calendar;
use super::state::InventoryState;
use crate::components::icon;
use crate::components::pager::grouped;
use leptos::prelude::*;
use model::inventory::{ExpiryFilter, ListQuery, SortKey, Summary};
use model::item::Ownership;
use model::status::StatusKind;

/// Figures and calendar.
#[component]
pub(crate) fn Strip(inv: InventoryState) -> impl IntoView {
    view! {
        <Suspense>
            {move || inv.frame.get().and_then(Result::ok).filter(|f| f.summary.total > 0).map(|f| {
                let today = jiff::tz::Offset::UTC.to_datetime(f.now).date();
                view! {
                    <section class="card strip" aria-label="Needs attention, owned domains">
                        {figures(&f.summary)}
                        <div class="strip-cal pic">{calendar::calendar(&f.summary.calendar, today)}</div>
                    </section>
                }
            })}
        </Suspense>
    }
    .into_any()
}

fn figures(s: &Summary) -> impl IntoView + use<> {
    let owned = || ListQuery { ownership: Some(Ownership::Owned), ..ListQuery::default() };
    let status = |k| ListQuery { status: vec![k], ..owned() };
    let expiring = ListQuery { expires: Some(ExpiryFilter::Within(30)), ..owned() };
    let days = u32::try_from(model::inventory::RECENT_DAYS).unwrap_or(7);
    let changed = ListQuery { changed_days: Some(days), sort: SortKey::Change, descending: true, ..owned() };
    let one = |class: &'static str, picture: &'static str, n: u64, label: &'static str, q: &ListQuery| {
        let class = if n == 0 { "i muted" } else { class };
        view! {
            <a href=q.to_url()>
                {icon::icon_in(picture, class)}<span class="fig">{grouped(n)}</span><span class="lab">{label}</span>
            </a>
        }
    };
    view! {
        {one("i t-critical", "critical", s.critical, "Critical", &status(StatusKind::Critical))}
        {one("i t-warn", "warning", s.warning, "Warning", &status(StatusKind::Warning))}
        {one("i muted", "calendar", s.expiring, "Expire in 30 days", &expiring)}
        {one("i muted", "pulse", s.changed, "Changed in 7 days", &changed)}
    }
    .into_any()
}
