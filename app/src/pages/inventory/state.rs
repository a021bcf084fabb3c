//! What the parts of the inventory page share: the query, its rows, the selection, running scans.

use crate::components::frame::FrameResource;
use crate::components::toast::Toaster;
use crate::resource::JsonResource;
use crate::server_fns;
use crate::server_fns::Inventory;
use leptos::prelude::*;
use leptos::task::spawn_local;
use model::inventory::{ListQuery, Row};
use model::scan::ScanProgress;
use service::ApiError;
use std::collections::{BTreeMap, BTreeSet};

/// What the parts of the page share.
#[derive(Clone, Copy)]
pub(crate) struct InventoryState {
    /// The list the address asks for.
    pub query: Memo<ListQuery>,
    /// Its rows.
    pub data: JsonResource<Result<Inventory, ApiError>>,
    /// Names of the selected rows.
    pub selected: RwSignal<BTreeSet<String>>,
    /// The row that was selected last: where a range begins.
    pub anchor: StoredValue<Option<String>>,
    /// The list as read last without an error.
    pub last: StoredValue<Option<(ListQuery, Inventory)>>,
    /// How many domains match the list.
    pub total: RwSignal<u64>,
    /// Progress of scans since the page was loaded.
    pub scans: RwSignal<BTreeMap<String, ScanProgress>>,
    /// Shows notifications.
    pub toaster: Toaster,
    /// The figures around the page.
    pub frame: FrameResource,
}

impl InventoryState {
    /// Rows of the page that is shown.
    pub(crate) fn rows(self) -> Vec<Row> {
        let read = self.data.get_untracked().and_then(Result::ok).or_else(|| self.last_read());
        read.map(|d| d.page.rows).unwrap_or_default()
    }

    /// What was read last of the list that the address asks for.
    pub(crate) fn last_read(self) -> Option<Inventory> {
        let query = self.query.get_untracked();
        self.last.get_value().filter(|(of, _)| *of == query).map(|(_, d)| d)
    }

    /// Selects or deselects a row; with `range` all rows from the one before to this one.
    pub(crate) fn toggle(self, name: &str, range: bool) {
        let on = !self.selected.with_untracked(|s| s.contains(name));
        let rows: Vec<_> = self.rows().into_iter().map(|r| r.name.as_str().to_string()).collect();
        let anchor = self.anchor.get_value().filter(|_| range);
        self.selected.update(|s| {
            for name in between(&rows, anchor.as_deref(), name) {
                if on {
                    s.insert(name.to_string());
                } else {
                    s.remove(name);
                }
            }
        });
        self.anchor.set_value(Some(name.to_string()));
    }

    /// Queues scans of these names and shows a notification.
    pub(crate) fn rescan(self, names: Vec<String>) {
        spawn_local(async move {
            match super::bulk::in_parts(&names, server_fns::rescan).await {
                Ok(queued) => {
                    let n: u64 = queued.iter().sum();
                    let words =
                        if n == 1 { "Rescan queued".into() } else { format!("Rescan of {n} domains queued") };
                    self.toaster.say("refresh", words);
                }
                Err(f) => self.toaster.failed(&f),
            }
        });
    }
}

/// The rows from one to another in either direction, both included; only the second where the first is not shown.
fn between<'a>(rows: &'a [String], from: Option<&str>, to: &'a str) -> Vec<&'a str> {
    let place = |name: &str| rows.iter().position(|r| r == name);
    match (from.and_then(place), place(to)) {
        (Some(a), Some(b)) => rows[a.min(b)..=a.max(b)].iter().map(String::as_str).collect(),
        _ => vec![to],
    }
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn a_range_is_the_rows_between_in_either_direction() {
        let rows = ["a", "b", "c", "d"].map(String::from);
        assert_eq!(between(&rows, Some("b"), "d"), ["b", "c", "d"]);
        assert_eq!(between(&rows, Some("c"), "a"), ["a", "b", "c"]);
        assert_eq!(between(&rows, Some("x"), "c"), ["c"], "the first is on another page");
        assert_eq!(between(&rows, None, "x"), ["x"]);
    }
}
