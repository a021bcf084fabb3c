//! What is wrong with the installation itself, above every page: figures below it may be out of date.

use crate::components::banner::{Tone, banner};
use leptos::prelude::*;
use model::time::human_instant;
use service::Health;

/// One banner for each problem.
pub(crate) fn banners(h: &Health) -> Vec<AnyView> {
    let overdue = h.overdue_s.map(|s| {
        let words = format!(
            "The oldest check is {} late. Changes are detected late until the queue has been processed.",
            span(s)
        );
        banner(Tone::Warn, "Checks are overdue", words)
    });
    let faults = h.faults.iter().map(|f| {
        let words = format!("{} Since {}.", f.sentence, human_instant(f.since));
        banner(Tone::Critical, f.kind.title(), words)
    });
    faults.chain(overdue).collect()
}

fn span(seconds: u64) -> String {
    match seconds / 60 {
        minutes @ 0..120 => format!("{minutes} min"),
        minutes => format!("{} h", minutes / 60),
    }
}
