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
        self.data.get_untracked().and_then(Result::ok).map(|d| d.page.rows).unwrap_or_default()
    }

    /// Queues scans of these names and shows a notification.
    pub(crate) fn rescan(self, names: Vec<String>) {
        spawn_local(async move {
            match server_fns::rescan(names).await {
                Ok(n) => {
                    let words =
                        if n == 1 { "Rescan queued".into() } else { format!("Rescan of {n} domains queued") };
                    self.toaster.say("refresh", words);
                }
                Err(f) => self.toaster.failed(&f),
            }
        });
    }
}
