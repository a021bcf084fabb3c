//! Holdings: changed, queued, judged again; rules of what is stored about them.

use super::add::normal_tags;
use super::{Services, checked, not_held, read_name, unavailable};
use model::checks::{Checks, checked_days, checked_interval};
use model::ids::{Caller, OrgId, Vantage};
use model::item::{Item, ItemPatch, NOTE_MAX};
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

    /// Changes what an organisation says of a domain, and judges it again.
    pub(super) async fn patch_item(
        &self,
        caller: &Caller,
        name: &DomainName,
        patch: &ItemPatch,
    ) -> ApiResult<()> {
        let name = read_name(name.as_str())?;
        patch.note.as_deref().map_or(Ok(()), checked_note)?;
        let tags = patch.tags.as_deref().map(normal_tags).transpose()?;
        let checks = checked_checks(&Checks {
            interval_s: patch.scan_interval.flatten(),
            expiry_days: patch.expiry_days.clone().flatten(),
        })?;
        let expiry_days = patch.expiry_days.as_ref().map(|_| checks.expiry_days);
        let patch = ItemPatch { tags, expiry_days, ..patch.clone() };
        let item =
            self.store().patch_by(&caller.actor(), caller.org, &name, &patch, self.now()).await.map_err(
                |e| match e {
                    store::Error::NotFound => not_held(&name),
                    e => unavailable(e),
                },
            )?;
        self.rejudge(vec![item]).await?;
        if patch.scan_interval.is_some() {
            let interval_s = self.scanner.interval_of(&name).await.map_err(unavailable)?;
            self.reschedule(std::slice::from_ref(&name), interval_s).await?;
        }
        Ok(())
    }

    /// Adds a tag to domains or takes it away. Returns those that changed.
    pub(super) async fn tag_items(
        &self,
        caller: &Caller,
        names: &[DomainName],
        tag: &str,
        add: bool,
    ) -> ApiResult<Vec<DomainName>> {
        let tags = normal_tags(&[tag.to_string()])?;
        let Some(tag) = tags.first() else {
            return Err(ApiError::invalid("Enter a tag."));
        };
        let mut changed = Vec::new();
        for name in checked(names)? {
            let Some((item, _)) = self.store().item(caller.org, &name).await.map_err(unavailable)? else {
                continue;
            };
            let mut tags = item.tags.clone();
            tags.retain(|t| t != tag);
            if add {
                tags.push(tag.clone());
                tags.sort();
            }
            if tags != item.tags {
                let patch = ItemPatch { tags: Some(tags), ..ItemPatch::default() };
                self.patch_item(caller, &name, &patch).await?;
                changed.push(name);
            }
        }
        Ok(changed)
    }
}

fn checked_note(note: &str) -> ApiResult<()> {
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
