//! What calls about holdings share: queueing, judging again, rules of stored data.

use super::add::normal_tags;
use super::{Services, checked, read_name, unavailable};
use model::checks::{Checks, checked_days, checked_interval};
use model::ids::{OrgId, Vantage};
use model::item::{Item, NOTE_MAX};
use model::names::DomainName;
use service::{ApiError, ApiResult};
use std::collections::HashSet;
use store::{Job, JobKind, JobPhase, Priority};

/// Scans of one call whose progress is reported.
pub(super) const MAX_PROGRESS: usize = 500;

impl Services {
    pub(super) async fn queue(&self, names: &[DomainName]) -> ApiResult<u64> {
        let now = self.now();
        let scans: Vec<_> = names.iter().map(|n| (Job::Scan(n.clone()), now)).collect();
        for chunk in scans.chunks(1000) {
            self.store().enqueue(chunk, Priority::Requested).await.map_err(unavailable)?;
        }
        // Progress is shown for as many as a person can follow; the rows of a larger bulk update as they change.
        for name in names.iter().take(MAX_PROGRESS) {
            self.scanner.hub.queued(name, now);
        }
        self.worker.wake();
        Ok(names.len() as u64)
    }

    /// Moves scheduled scans forward to where an interval puts them. Suspended ones stay so: a person asks for them.
    pub(super) async fn reschedule(&self, names: &[DomainName], interval_s: i64) -> ApiResult<()> {
        let now = self.now();
        let place = |n: &DomainName| monitor::schedule::next_scan(n, interval_s, now);
        let scans: Vec<_> = names.iter().map(|n| (Job::Scan(n.clone()), place(n))).collect();
        for chunk in scans.chunks(1000) {
            let keys = chunk.iter().map(|(job, _)| job.key().to_string()).collect();
            let states = self.store().job_states(JobKind::Scan, keys).await.map_err(unavailable)?;
            let suspended = states.into_iter().filter(|s| matches!(s.phase, JobPhase::Parked { .. }));
            let suspended: HashSet<Job> = suspended.map(|s| s.job).collect();
            let moved: Vec<_> = chunk.iter().filter(|(job, _)| !suspended.contains(job)).cloned().collect();
            self.store().enqueue(&moved, Priority::Scheduled).await.map_err(unavailable)?;
        }
        Ok(())
    }

    /// Those of some names that the organisation holds.
    pub(super) async fn held(&self, org: OrgId, names: &[DomainName]) -> ApiResult<Vec<DomainName>> {
        let names = checked(names)?;
        let mut held = HashSet::new();
        for part in names.chunks(1000) {
            held.extend(self.store().held(org, part).await.map_err(unavailable)?);
        }
        Ok(names.into_iter().filter(|name| held.contains(name)).collect())
    }

    /// Recomputes status and row from the stored observation, after the owner's data changed.
    pub(super) async fn rejudge(&self, items: Vec<Item>) -> ApiResult<()> {
        let mut judged = Vec::with_capacity(items.len());
        for item in items {
            let stored =
                self.store().observation(&item.name, &Vantage::local()).await.map_err(unavailable)?;
            let observation = stored.as_ref().map(|s| &s.observation);
            judged.push(self.scanner.judged_now(item, observation, self.now()).await.map_err(unavailable)?);
        }
        self.store().update_judged(&judged, self.now()).await.map_err(unavailable)?;
        self.scanner.hub.recorded();
        Ok(())
    }
}

pub(super) fn checked_note(note: &str) -> ApiResult<()> {
    if note.chars().count() > NOTE_MAX {
        return Err(ApiError::invalid(format!("A note has at most {NOTE_MAX} characters.")));
    }
    Ok(())
}

/// An item that a client sends back for restoring, held to the same rules as new input; its times are not in the
/// future.
pub(super) fn validated_for_restore(item: &Item, org: OrgId, now: model::Timestamp) -> ApiResult<Item> {
    checked_note(&item.note)?;
    Ok(Item {
        org,
        name: read_name(item.name.as_str())?,
        tags: normal_tags(&item.tags)?,
        checks: checked_checks(&item.checks)?,
        added_at: item.added_at.min(now),
        last_change_at: item.last_change_at.filter(|t| *t <= now),
        last_dns_change_at: item.last_dns_change_at.filter(|t| *t <= now),
        reminded: item.reminded.iter().take(20).copied().collect(),
        ..item.clone()
    })
}

/// Settings of checks, within their bounds.
pub(super) fn checked_checks(checks: &Checks) -> ApiResult<Checks> {
    let refused = |e: String| ApiError::invalid(format!("{}.", e.trim_end_matches('.')));
    Ok(Checks {
        interval_s: checks.interval_s.map(checked_interval).transpose().map_err(refused)?,
        expiry_days: checks.expiry_days.as_deref().map(checked_days).transpose().map_err(refused)?,
    })
}
