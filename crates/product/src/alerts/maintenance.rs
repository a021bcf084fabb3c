//! From a draft of a maintenance window to the window.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use model::ids::Caller;
use model::item::normal_tag;
use model::maintenance::{DAYS_MAX, Maintenance, NOTE_MAX, Scope};
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
pub(super) fn window(
    caller: &Caller,
    d: &MaintenanceDraft,
    id: String,
    now: Timestamp,
) -> ApiResult<Maintenance> {
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
