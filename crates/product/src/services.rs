//! The trait, method by method.

use super::add::normal_tags;
use super::{BULK, Services, Work, checked, not_held, query_error, read_name, unavailable};
use async_trait::async_trait;
use model::compare::Comparison;
use model::detail::{Detail, RawAnswer, Snapshot, SnapshotMeta};
use model::dns::Trace;
use model::event::{EventPage, EventQuery};
use model::fqdn::FqdnReport;
use model::ids::{Caller, EventId, OrgId, SnapshotId, Vantage};
use model::inventory::{AddedLine, ListQuery, Page, Row, SortKey, Summary};
use model::item::{Item, ItemPatch, NOTE_MAX, Ownership};
use model::names::{DomainName, Fqdn};
use model::resolvers::PublicResolver;
use model::scan::ScanProgress;
use monitor::observer::{NoProgress, cause_at_registry};
use service::Backend;
use service::policy::{Action, authorize};
use service::{ApiError, ApiResult, CheckOutcome, ScanReport, Session};
use store::{Job, Priority};

/// Scans of one call whose progress is reported.
const MAX_PROGRESS: usize = 500;
/// Public resolvers that a visitor's browser queries: enough to see a difference, few enough to read.
const BROWSER_RESOLVERS: usize = 3;

impl Services {
    async fn queue(&self, names: &[DomainName]) -> ApiResult<u64> {
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

    async fn held(&self, org: OrgId, names: &[DomainName]) -> ApiResult<Vec<DomainName>> {
        let mut held = Vec::new();
        for name in checked(names)? {
            if self.store().item(org, &name).await.map_err(unavailable)?.is_some() {
                held.push(name);
            }
        }
        Ok(held)
    }

    /// Recomputes status and row from the stored observation, after the owner's data changed.
    async fn rejudge(&self, items: Vec<Item>) -> ApiResult<()> {
        let mut judged = Vec::with_capacity(items.len());
        for item in items {
            let stored =
                self.store().observation(&item.name, &Vantage::local()).await.map_err(unavailable)?;
            judged.push(self.scanner.judged(item, stored.as_ref().map(|s| &s.observation), self.now()));
        }
        self.store().update_judged(&judged, self.now()).await.map_err(unavailable)?;
        self.scanner.hub.recorded();
        Ok(())
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
fn validated_for_restore(item: &Item, org: OrgId, now: model::Timestamp) -> ApiResult<Item> {
    checked_note(&item.note)?;
    Ok(Item {
        org,
        name: read_name(item.name.as_str())?,
        tags: normal_tags(&item.tags)?,
        added_at: item.added_at.min(now),
        last_change_at: item.last_change_at.filter(|t| *t <= now),
        ..item.clone()
    })
}

#[async_trait]
impl Backend for Services {
    async fn session(&self, caller: &Caller) -> ApiResult<Session> {
        authorize(caller, Action::Session)?;
        let memberships = match &caller.user {
            Some(user) => self.store().memberships(user).await.map_err(unavailable)?,
            None => Vec::new(),
        };
        let here = memberships.iter().find(|m| m.org == caller.org);
        Ok(Session {
            caller: caller.clone(),
            organisation: here.map_or_else(|| "Domains".into(), |m| m.org_name.clone()),
            memberships,
            demo: self.demo,
            version: env!("CARGO_PKG_VERSION").into(),
        })
    }

    async fn list(&self, caller: &Caller, query: &ListQuery) -> ApiResult<Page> {
        authorize(caller, Action::List)?;
        self.store().list(caller.org, query, self.now()).await.map_err(unavailable)
    }

    async fn summary(&self, caller: &Caller) -> ApiResult<Summary> {
        authorize(caller, Action::Summary)?;
        self.store().summary(caller.org, self.now()).await.map_err(unavailable)
    }

    async fn suggest(&self, caller: &Caller, text: &str) -> ApiResult<Vec<Row>> {
        authorize(caller, Action::Suggest)?;
        let search: String = text.trim().chars().take(100).collect();
        let query = ListQuery { search, sort: SortKey::Name, per_page: 8, ..ListQuery::default() };
        Ok(self.list(caller, &query).await?.rows)
    }

    async fn add(
        &self,
        caller: &Caller,
        text: &str,
        ownership: Ownership,
        tags: &[String],
    ) -> ApiResult<Vec<AddedLine>> {
        authorize(caller, Action::Add)?;
        self.add_text(caller, text, ownership, tags).await
    }

    async fn remove(&self, caller: &Caller, names: &[DomainName]) -> ApiResult<Vec<Item>> {
        authorize(caller, Action::Remove)?;
        let names = checked(names)?;
        let gone = self
            .store()
            .delete_returning_by(&caller.actor(), caller.org, &names, self.now())
            .await
            .map_err(unavailable)?;
        self.scanner.hub.recorded();
        Ok(gone)
    }

    async fn restore(&self, caller: &Caller, items: &[Item]) -> ApiResult<u64> {
        authorize(caller, Action::Restore)?;
        let now = self.now();
        let items =
            items.iter().map(|i| validated_for_restore(i, caller.org, now)).collect::<ApiResult<Vec<_>>>()?;
        let back =
            self.store().restore_by(&caller.actor(), caller.org, &items, now).await.map_err(unavailable)?;
        let items: Vec<_> = items.into_iter().zip(back).filter_map(|(i, back)| back.then_some(i)).collect();
        for item in items.iter().take(MAX_PROGRESS) {
            self.scanner.hub.queued(&item.name, now);
        }
        let restored = items.len() as u64;
        self.rejudge(items).await?;
        self.worker.wake();
        Ok(restored)
    }

    async fn patch(&self, caller: &Caller, name: &DomainName, patch: &ItemPatch) -> ApiResult<()> {
        authorize(caller, Action::Patch)?;
        let name = read_name(name.as_str())?;
        patch.note.as_deref().map_or(Ok(()), checked_note)?;
        let tags = patch.tags.as_deref().map(normal_tags).transpose()?;
        let patch = ItemPatch { tags, ..patch.clone() };
        let item =
            self.store().patch_by(&caller.actor(), caller.org, &name, &patch, self.now()).await.map_err(
                |e| match e {
                    store::Error::NotFound => not_held(&name),
                    e => unavailable(e),
                },
            )?;
        self.rejudge(vec![item]).await
    }

    async fn tag(&self, caller: &Caller, names: &[DomainName], tag: &str, add: bool) -> ApiResult<u64> {
        authorize(caller, Action::Tag)?;
        let tags = normal_tags(&[tag.to_string()])?;
        let Some(tag) = tags.first() else {
            return Err(ApiError::invalid("Type a tag first."));
        };
        let mut changed = 0;
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
                self.patch(caller, &name, &patch).await?;
                changed += 1;
            }
        }
        Ok(changed)
    }

    async fn rescan(&self, caller: &Caller, names: &[DomainName]) -> ApiResult<u64> {
        authorize(caller, Action::Rescan)?;
        let held = self.held(caller.org, names).await?;
        if let ([], [name, ..]) = (held.as_slice(), names) {
            return Err(not_held(name));
        }
        self.queue(&held).await
    }

    async fn rescan_matching(&self, caller: &Caller, query: &ListQuery) -> ApiResult<u64> {
        authorize(caller, Action::RescanMatching)?;
        let names = self.store().names(caller.org, query, BULK, self.now()).await.map_err(unavailable)?;
        self.queue(&names).await
    }

    async fn scans(&self, caller: &Caller, names: &[DomainName]) -> ApiResult<Vec<ScanProgress>> {
        authorize(caller, Action::Scans)?;
        let all = if names.is_empty() {
            self.scanner.hub.running(200)
        } else {
            self.scanner.progress(&names[..names.len().min(200)]).await.map_err(unavailable)?
        };
        let names: Vec<_> = all.iter().map(|p| p.name.clone()).collect();
        let held = self.store().held(caller.org, &names).await.map_err(unavailable)?;
        Ok(all.into_iter().filter(|p| held.contains(&p.name)).collect())
    }

    async fn detail(&self, caller: &Caller, name: &DomainName) -> ApiResult<Detail> {
        authorize(caller, Action::Detail)?;
        let name = read_name(name.as_str())?;
        // Read first, so that later changes are sent to the page again.
        let rv = self.store().head().await.map_err(unavailable)?;
        let (item, row) = self
            .store()
            .item(caller.org, &name)
            .await
            .map_err(unavailable)?
            .ok_or_else(|| not_held(&name))?;
        let observation = self
            .store()
            .observation(&name, &Vantage::local())
            .await
            .map_err(unavailable)?
            .map(|v| v.observation);
        let (snapshots, events) = self.store().counts(caller.org, &name).await.map_err(unavailable)?;
        let scan = self.scanner.progress(std::slice::from_ref(&name)).await.map_err(unavailable)?.pop();
        Ok(Detail { item, row, observation, snapshots, events, scan, rv, now: self.now() })
    }

    async fn snapshots(&self, caller: &Caller, name: &DomainName) -> ApiResult<Vec<SnapshotMeta>> {
        authorize(caller, Action::Snapshots)?;
        let name = read_name(name.as_str())?;
        self.store().snapshots(caller.org, &name, 500).await.map_err(unavailable)
    }

    async fn snapshot(&self, caller: &Caller, name: &DomainName, id: SnapshotId) -> ApiResult<Snapshot> {
        authorize(caller, Action::Snapshot)?;
        let name = read_name(name.as_str())?;
        self.store().snapshot(caller.org, &name, id).await.map_err(unavailable)
    }

    async fn raw(&self, caller: &Caller, name: &DomainName, id: SnapshotId) -> ApiResult<Vec<RawAnswer>> {
        authorize(caller, Action::Raw)?;
        let name = read_name(name.as_str())?;
        self.store().raw(caller.org, &name, id).await.map_err(unavailable)
    }

    async fn events(&self, caller: &Caller, query: &EventQuery) -> ApiResult<EventPage> {
        authorize(caller, Action::Events)?;
        self.store().events(caller.org, query).await.map_err(unavailable)
    }

    async fn acknowledge(&self, caller: &Caller, ids: &[EventId]) -> ApiResult<u64> {
        authorize(caller, Action::Acknowledge)?;
        let n = self
            .store()
            .acknowledge_by(&caller.actor(), caller.org, ids, self.now())
            .await
            .map_err(unavailable)?;
        self.scanner.hub.recorded();
        Ok(n)
    }

    async fn look_up(&self, caller: &Caller, input: &str) -> ApiResult<ScanReport> {
        authorize(caller, Action::LookUp)?;
        let understood = DomainName::read(input).map_err(|e| ApiError::invalid(e.to_string()))?;
        let name = understood.name;
        let _permit = self.tools.limits.enter(caller, Work::Scan).await?;
        let (observation, raw) = self.scanner.look(&name, &NoProgress).await;
        let in_inventory = self.store().item(caller.org, &name).await.map_err(unavailable)?.is_some();
        Ok(ScanReport {
            unicode: name.unicode(),
            name,
            note: understood.note,
            observation,
            raw,
            in_inventory,
            now: self.now(),
        })
    }

    async fn trace(&self, caller: &Caller, name: &str, rtype: &str) -> ApiResult<Trace> {
        authorize(caller, Action::Trace)?;
        let name = Fqdn::read(name).map_err(|e| ApiError::invalid(e.to_string()))?.name;
        dns::known_type(rtype).map_err(|e| query_error(&e))?;
        let _permit = self.tools.limits.enter(caller, Work::Trace).await?;
        self.engine.trace(&name, rtype).await.map_err(|e| query_error(&e))
    }

    async fn check(
        &self,
        caller: &Caller,
        zone: &str,
        ns: &[String],
        ds: &[String],
    ) -> ApiResult<CheckOutcome> {
        authorize(caller, Action::Check)?;
        let zone = Fqdn::read(zone).map_err(|e| ApiError::invalid(e.to_string()))?.name;
        let now = self.now();
        let mut options = dns::checks::CheckOptions::new(now);
        crate::undelegated::read(&mut options, ns, ds).map_err(ApiError::invalid)?;
        let _permit = self.tools.limits.enter(caller, Work::Check).await?;
        let before_a_move = !options.undelegated_ns.is_empty() || !options.undelegated_ds.is_empty();
        let report = self.engine.check(zone.as_str(), &options).await.map_err(|e| query_error(&e))?;
        let cause = match report.findings.iter().any(|f| f.tag == "B02_NO_DELEGATION") {
            true => cause_at_registry(self.scanner.observer.as_ref(), &zone, now).await,
            false => None,
        };
        Ok(CheckOutcome {
            cause,
            zone: report.zone,
            before_a_move,
            findings: report.findings,
            test_cases: report.test_cases,
            queries: report.queries,
            elapsed_ms: report.elapsed_ms,
            notes: report.notes,
            now,
        })
    }

    async fn authority(&self, caller: &Caller, name: &str, rtype: &str) -> ApiResult<Comparison> {
        authorize(caller, Action::Authority)?;
        self.tool_authority(caller, name, rtype).await
    }

    async fn compare(&self, caller: &Caller, name: &str, rtype: &str, force: bool) -> ApiResult<Comparison> {
        authorize(caller, Action::Compare)?;
        self.tool_compare(caller, name, rtype, force).await
    }

    async fn browser_resolvers(&self, caller: &Caller) -> ApiResult<Vec<PublicResolver>> {
        authorize(caller, Action::BrowserResolvers)?;
        Ok(model::fqdn::askable(self.tools.comparer.resolvers(), BROWSER_RESOLVERS))
    }

    async fn fqdn(&self, caller: &Caller, name: &str) -> ApiResult<FqdnReport> {
        authorize(caller, Action::Fqdn)?;
        self.tool_fqdn(caller, name).await
    }
}
