//! The foot of a list: which rows these are, and the way to the others.

use crate::components::icon;
use leptos::prelude::*;
pub(crate) use model::words::grouped;

/// The position in a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// 1-based page.
    pub page: u32,
    /// Rows a page.
    pub per_page: u32,
    /// Rows in all.
    pub total: u64,
}

impl Place {
    /// `51–100 of 312`.
    pub(crate) fn words(self) -> String {
        if self.total == 0 {
            return "none".into();
        }
        let first = u64::from(self.page.saturating_sub(1)) * u64::from(self.per_page) + 1;
        let last = (first + u64::from(self.per_page) - 1).min(self.total);
        format!("{}–{} of {}", grouped(first), grouped(last), grouped(self.total))
    }

    fn pages(self) -> u64 {
        self.total.div_ceil(u64::from(self.per_page.max(1))).max(1)
    }
}

/// Previous and next, as links; nothing when there is one page.
pub(crate) fn pager(place: Place, what: &'static str, url: impl Fn(u32) -> String) -> Option<AnyView> {
    if place.pages() <= 1 {
        return None;
    }
    let previous = (place.page > 1).then(|| {
        view! { <a class="btn btn-sm" rel="prev" href=url(place.page - 1)>{icon("left")}"Previous"</a> }
    });
    let next = (u64::from(place.page) < place.pages()).then(|| {
        view! { <a class="btn btn-sm" rel="next" href=url(place.page + 1)>"Next"{icon("right")}</a> }
    });
    let words = format!("Page {} of {}", grouped(u64::from(place.page)), grouped(place.pages()));
    Some(
        view! { <nav class="flex items-center gap-2" aria-label=what><span class="text-xs">{words}</span>{previous}{next}</nav> }
            .into_any(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_words() {
        assert_eq!(Place { page: 2, per_page: 50, total: 100_000 }.words(), "51–100 of 100,000");
        assert_eq!(Place { page: 1, per_page: 50, total: 14 }.words(), "1–14 of 14");
        assert_eq!(Place { page: 1, per_page: 50, total: 0 }.words(), "none");
        assert_eq!([grouped(0), grouped(999), grouped(1000)], ["0", "999", "1,000"]);
    }
}
