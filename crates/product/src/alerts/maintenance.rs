//! Maintenance windows: from a draft to the window, planned and ended.

use super::missing;
use crate::{Services, unavailable};
use accounts::random_id;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use model::ids::Caller;
use model::item::normal_tag;
use model::maintenance::{DAYS_MAX, Maintenance, NOTE_MAX, Scope, WINDOWS_MAX};
use model::names::DomainName;
use service::{ApiError, ApiResult, MaintenanceDraft};

/// Windows that ended before so many days are no longer shown.
pub(super) const SHOWN_DAYS: i64 = 31;

fn instant(text: &str, what: &str) -> ApiResult<Timestamp> {
    let text = text.trim();
    let utc = || text.parse::<DateTime>().ok().and_then(|d| TimeZone::UTC.to_timestamp(d).ok());
    text.parse::<Timestamp>().ok().or_else(utc).ok_or_else(|| {
        ApiError::invalid(format!(
            "{what}: “{text}” is not a date and time, as in 2026-11-22T20:00 (UTC) or 2026-11-22T20:00:00Z."
        ))
    })
}

/// The window that a draft describes.
fn window(caller: &Caller, d: &MaintenanceDraft, id: String, now: Timestamp) -> ApiResult<Maintenance> {
    let (from, to) = (instant(&d.from, "Beginning")?, instant(&d.to, "End")?);
    let longest = from.checked_add((DAYS_MAX * 24).hours()).unwrap_or(Timestamp::MAX);
    if to <= from || to > longest || to <= now {
        return Err(ApiError::invalid(format!(
            "A maintenance window ends after it begins, in the future, and lasts at most {DAYS_MAX} days."
        )));
    }
    let note = d.note.split_whitespace().collect::<Vec<_>>().join(" ");
    if note.is_empty() || note.chars().count() > NOTE_MAX {
        return Err(ApiError::invalid(format!("Enter what is done, in 1 to {NOTE_MAX} characters.")));
    }
    let scope = match (d.tag.trim(), d.domain.trim()) {
        ("", "") => Scope::All,
        (tag, "") => Scope::Tag {
            tag: normal_tag(tag)
                .ok_or_else(|| ApiError::invalid(format!("“{tag}” is not a tag that a domain can have.")))?,
        },
        ("", domain) => Scope::Domain {
            domain: DomainName::read(domain)
                .map_err(|e| ApiError::invalid(format!("“{domain}”: {e}.")))?
                .name,
        },
        _ => return Err(ApiError::invalid("Choose a tag or a domain, not both.")),
    };
    Ok(Maintenance { id, from, to, scope, note, by: caller.who.clone() })
}

impl Services {
    /// Plans a maintenance window; one that has ended makes room.
    pub(super) async fn plan_maintenance(
        &self,
        caller: &Caller,
        draft: &MaintenanceDraft,
    ) -> ApiResult<Maintenance> {
        let window = window(caller, draft, random_id(), self.now())?;
        let windows = self.store().maintenance(caller.org).await.map_err(unavailable)?;
        let ended = windows.iter().filter(|w| w.to <= self.now());
        if windows.len() >= WINDOWS_MAX {
            // The window that ended first makes room.
            let oldest = ended.min_by_key(|w| w.to).ok_or_else(|| {
                ApiError::invalid(format!("An organisation has at most {WINDOWS_MAX} maintenance windows."))
            })?;
            self.store()
                .delete_maintenance(&caller.actor(), caller.org, &oldest.id, self.now())
                .await
                .map_err(unavailable)?;
        }
        self.store()
            .save_maintenance_by(&caller.actor(), caller.org, &window, self.now())
            .await
            .map_err(unavailable)?;
        Ok(window)
    }

    /// Ends a window that lasts, and removes one that does not.
    pub(super) async fn stop_maintenance(&self, caller: &Caller, id: &str) -> ApiResult<()> {
        let windows = self.store().maintenance(caller.org).await.map_err(unavailable)?;
        let window = windows.into_iter().find(|w| w.id == id).ok_or_else(|| missing("maintenance window"))?;
        let now = self.now();
        if window.is_active(now) {
            let ended = Maintenance { to: now, ..window };
            self.store()
                .save_maintenance_by(&caller.actor(), caller.org, &ended, now)
                .await
                .map_err(unavailable)
        } else {
            self.store()
                .delete_maintenance(&caller.actor(), caller.org, id, self.now())
                .await
                .map(drop)
                .map_err(unavailable)
        }
    }
}
