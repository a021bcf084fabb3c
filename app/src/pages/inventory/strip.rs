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
                        <div class="strip-cal pic">{calendar::calendar(&f.summary.calendar, today, f.summary.thresholds)}</div>
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
    let expires = |e| ListQuery { expires: Some(e), ..owned() };
    let days = u32::try_from(model::inventory::RECENT_DAYS).unwrap_or(7);
    let soon = u32::try_from(s.thresholds.warning_days).unwrap_or(30);
    let dns = ListQuery { dns_changed_days: Some(days), ..owned() };
    let changed = ListQuery { changed_days: Some(days), sort: SortKey::Change, descending: true, ..owned() };
    let one = |class: &'static str, picture: &'static str, n: u64, label: String, q: &ListQuery| {
        let title = q.changed_days.or(q.dns_changed_days).map(|d| format!("Detected in the last {d} days"));
        let class = if n == 0 { "i text-muted" } else { class };
        view! {
            <a href=q.to_url() title=title>
                {icon::icon_in(picture, class)}<span class="text-[1.25rem] leading-6 font-semibold tracking-[-.01em]">{grouped(n)}</span><span class="text-xs text-muted whitespace-nowrap max-xl:whitespace-normal">{label}</span>
            </a>
        }
    };
    view! {
        {one("i text-critical", "critical", s.critical, "Critical".into(), &status(StatusKind::Critical))}
        {one("i text-warn", "warning", s.warning, "Warning".into(), &status(StatusKind::Warning))}
        {(s.expired > 0).then(|| one("i text-critical", "clock", s.expired, "Expired".into(), &expires(ExpiryFilter::Expired)))}
        {one("i text-muted", "calendar", s.expiring, format!("Expire in {soon} days"), &expires(ExpiryFilter::Next(soon)))}
        {one("i text-muted", "pulse", s.changed, "Registration changes, 7\u{a0}d".into(), &changed)}
        {one("i text-muted", "network", s.dns_changed, "DNS changes, 7\u{a0}d".into(), &dns)}
    }
    .into_any()
}
