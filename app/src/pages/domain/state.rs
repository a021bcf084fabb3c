//! What the parts of a domain's page share: its name, its data, its scan.

use crate::components::toast::Toaster;
use crate::resource::JsonResource;
use crate::server_fns;
use leptos::prelude::*;
use leptos::task::spawn_local;
use model::Timestamp;
use model::detail::Detail;
use model::scan::ScanProgress;
use service::ApiError;

/// What the parts of the page share.
#[derive(Clone, Copy)]
pub(crate) struct DomainState {
    /// The name in the address.
    pub name: Memo<String>,
    /// All that is known.
    pub detail: JsonResource<Result<Detail, ApiError>>,
    /// Latest progress received; until then that of the page.
    pub scan: RwSignal<Option<ScanProgress>>,
    /// True from a click on Rescan until the first progress arrives.
    pub asked: RwSignal<bool>,
    /// The scan whose outcome a person closed: when it began.
    pub dismissed: RwSignal<Option<Timestamp>>,
    /// Shows notifications.
    pub toaster: Toaster,
}

impl DomainState {
    /// True when the outcome of this scan was closed by a person.
    pub(super) fn dismissed(self, p: &ScanProgress) -> bool {
        p.finished() && self.dismissed.get() == Some(p.started_at)
    }

    /// Asks for a scan.
    pub(crate) fn rescan(self) {
        let name = self.name.get_untracked();
        self.asked.set(true);
        spawn_local(async move {
            if let Err(f) = server_fns::rescan(vec![name]).await {
                self.asked.set(false);
                self.toaster.failed(&f);
            } else {
                // Reload, in case the stream is broken.
                self.detail.refetch();
            }
        });
    }

    /// Saves a change of the owner's data, then reloads the domain.
    pub(crate) fn save(self, change: impl Future<Output = Result<(), ApiError>> + 'static) {
        spawn_local(async move {
            match change.await {
                Ok(()) => {
                    self.toaster.say("check", "Saved");
                    self.detail.refetch();
                }
                Err(f) => self.toaster.failed(&f),
            }
        });
    }
}
