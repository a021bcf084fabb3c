//! What pages ask for.

use super::add::normal_tags;
use super::{ASKED, BULK, Product, Work, checked, may_write, not_asked, not_held, read_name, unavailable};
use app::answer::{Answer, CheckOutcome, Failure, ScanReport, Session};
use app::backend::Backend;
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
use monitor::observer::Silent;

/// Scans of one call whose progress is told.
const SHOWN: usize = 500;
/// Public resolvers a visitor's browser is sent to: enough to see a difference, few enough to read.
const BROWSER_ASKS: usize = 3;

impl Product {
    async fn queue(&self, names: &[DomainName]) -> Answer<u64> {
        let now = self.now();
        let keys: Vec<_> = names.iter().map(|n| (n.as_str().to_string(), now)).collect();
        for chunk in keys.chunks(1000) {
            self.store().enqueue_many("scan", chunk, ASKED).await.map_err(unavailable)?;
        }
        // Progress is shown for what a person can look at; a bulk of thousands is told by rows as they change.
        for name in names.iter().take(SHOWN) {
            self.scanner.hub.queued(name, now);
        }
        self.worker.wake();
        Ok(names.len() as u64)
    }

    async fn held(&self, org: OrgId, names: &[DomainName]) -> Answer<Vec<DomainName>> {
        let mut held = Vec::new();
        for name in checked(names)? {
            if self.store().item(org, &name).await.map_err(unavailable)?.is_some() {
                held.push(name);
            }
        }
        Ok(held)
    }

    /// After something an owner says has changed, status and row are made anew from what is stored.
    async fn rejudge(&self, items: Vec<Item>) -> Answer<()> {
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

fn checked_note(note: &str) -> Answer<()> {
    if note.chars().count() > NOTE_MAX {
        return Err(Failure::Invalid(format!("A note has at most {NOTE_MAX} characters.")));
    }
    Ok(())
}

/// A holding as somebody hands it back: what was said of it is held to the rules for saying it, and nothing of it lies
/// in the future.
fn handed_back(item: &Item, org: OrgId, now: model::Timestamp) -> Answer<Item> {
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
impl Backend for Product {
    async fn session(&self, caller: &Caller) -> Answer<Session> {
        Ok(Session {
            caller: caller.clone(),
            organisation: if self.demo { "Alder Labs".into() } else { "Domains".into() },
            demo: self.demo,
            version: env!("CARGO_PKG_VERSION").into(),
        })
    }

    async fn list(&self, caller: &Caller, query: &ListQuery) -> Answer<Page> {
        self.store().list(caller.org, query, self.now()).await.map_err(unavailable)
    }

    async fn summary(&self, caller: &Caller) -> Answer<Summary> {
        self.store().summary(caller.org, self.now()).await.map_err(unavailable)
    }

    async fn suggest(&self, caller: &Caller, text: &str) -> Answer<Vec<Row>> {
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
    ) -> Answer<Vec<AddedLine>> {
        may_write(caller)?;
        self.add_text(caller.org, text, ownership, tags).await
    }

    async fn remove(&self, caller: &Caller, names: &[DomainName]) -> Answer<Vec<Item>> {
        may_write(caller)?;
        let names = checked(names)?;
        let gone = self.store().take(caller.org, &names, self.now()).await.map_err(unavailable)?;
        self.scanner.hub.recorded();
        Ok(gone)
    }

    async fn restore(&self, caller: &Caller, items: &[Item]) -> Answer<u64> {
        may_write(caller)?;
        let now = self.now();
        let items = items.iter().map(|i| handed_back(i, caller.org, now)).collect::<Answer<Vec<_>>>()?;
        let back = self.store().restore(caller.org, &items, now).await.map_err(unavailable)?;
        let items: Vec<_> = items.into_iter().zip(back).filter_map(|(i, back)| back.then_some(i)).collect();
        for item in items.iter().take(SHOWN) {
            self.scanner.hub.queued(&item.name, now);
        }
        let restored = items.len() as u64;
        self.rejudge(items).await?;
        self.worker.wake();
        Ok(restored)
    }

    async fn patch(&self, caller: &Caller, name: &DomainName, patch: &ItemPatch) -> Answer<()> {
        may_write(caller)?;
        let name = read_name(name.as_str())?;
        patch.note.as_deref().map_or(Ok(()), checked_note)?;
        let tags = patch.tags.as_deref().map(normal_tags).transpose()?;
        let patch = ItemPatch { tags, ..patch.clone() };
        let item = self.store().patch(caller.org, &name, &patch, self.now()).await.map_err(|e| match e {
            store::Error::NotFound => not_held(&name),
            e => unavailable(e),
        })?;
        self.rejudge(vec![item]).await
    }

    async fn tag(&self, caller: &Caller, names: &[DomainName], tag: &str, add: bool) -> Answer<u64> {
        may_write(caller)?;
        let tags = normal_tags(&[tag.to_string()])?;
        let Some(tag) = tags.first() else {
            return Err(Failure::Invalid("Type a tag first.".into()));
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

    async fn rescan(&self, caller: &Caller, names: &[DomainName]) -> Answer<u64> {
        may_write(caller)?;
        let held = self.held(caller.org, names).await?;
        if let ([], [name, ..]) = (held.as_slice(), names) {
            return Err(not_held(name));
        }
        self.queue(&held).await
    }

    async fn rescan_matching(&self, caller: &Caller, query: &ListQuery) -> Answer<u64> {
        may_write(caller)?;
        let names = self.store().names(caller.org, query, BULK, self.now()).await.map_err(unavailable)?;
        self.queue(&names).await
    }

    async fn scans(&self, caller: &Caller, names: &[DomainName]) -> Answer<Vec<ScanProgress>> {
        let all = if names.is_empty() {
            self.scanner.hub.running(200)
        } else {
            names.iter().take(200).filter_map(|n| self.scanner.hub.progress(n)).collect()
        };
        let mut own = Vec::with_capacity(all.len());
        for p in all {
            if self.store().item(caller.org, &p.name).await.map_err(unavailable)?.is_some() {
                own.push(p);
            }
        }
        Ok(own)
    }

    async fn detail(&self, caller: &Caller, name: &DomainName) -> Answer<Detail> {
        let name = read_name(name.as_str())?;
        // First, so that what changes meanwhile is told to the page again.
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
        let scan = self.scanner.hub.progress(&name);
        Ok(Detail { item, row, observation, snapshots, events, scan, rv, now: self.now() })
    }

    async fn snapshots(&self, caller: &Caller, name: &DomainName) -> Answer<Vec<SnapshotMeta>> {
        let name = read_name(name.as_str())?;
        self.store().snapshots(caller.org, &name, 500).await.map_err(unavailable)
    }

    async fn snapshot(&self, caller: &Caller, name: &DomainName, id: SnapshotId) -> Answer<Snapshot> {
        let name = read_name(name.as_str())?;
        self.store().snapshot(caller.org, &name, id).await.map_err(unavailable)
    }

    async fn raw(&self, caller: &Caller, name: &DomainName, id: SnapshotId) -> Answer<Vec<RawAnswer>> {
        let name = read_name(name.as_str())?;
        self.store().raw(caller.org, &name, id).await.map_err(unavailable)
    }

    async fn events(&self, caller: &Caller, query: &EventQuery) -> Answer<EventPage> {
        self.store().events(caller.org, query).await.map_err(unavailable)
    }

    async fn acknowledge(&self, caller: &Caller, ids: &[EventId]) -> Answer<u64> {
        may_write(caller)?;
        let n =
            self.store().acknowledge(caller.org, ids, &caller.who, self.now()).await.map_err(unavailable)?;
        self.scanner.hub.recorded();
        Ok(n)
    }

    async fn look_up(&self, caller: &Caller, input: &str) -> Answer<ScanReport> {
        may_write(caller)?;
        let understood = DomainName::read(input).map_err(|e| Failure::Invalid(e.to_string()))?;
        let name = understood.name;
        let _leave = self.tools.limits.enter(caller, Work::Scan).await?;
        let (observation, raw) = self.scanner.look(&name, &Silent).await;
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

    async fn trace(&self, caller: &Caller, name: &str, rtype: &str) -> Answer<Trace> {
        may_write(caller)?;
        let name = Fqdn::read(name).map_err(|e| Failure::Invalid(e.to_string()))?.name;
        dns::known_type(rtype).map_err(|e| not_asked(&e))?;
        let _leave = self.tools.limits.enter(caller, Work::Trace).await?;
        self.engine.trace(&name, rtype).await.map_err(|e| not_asked(&e))
    }

    async fn check(&self, caller: &Caller, zone: &str, ns: &[String], ds: &[String]) -> Answer<CheckOutcome> {
        may_write(caller)?;
        let zone = Fqdn::read(zone).map_err(|e| Failure::Invalid(e.to_string()))?.name;
        let now = self.now();
        let mut options = dns::checks::CheckOptions::new(now);
        crate::input::undelegated(&mut options, ns, ds).map_err(Failure::Invalid)?;
        let _leave = self.tools.limits.enter(caller, Work::Check).await?;
        let before_a_move = !options.undelegated_ns.is_empty() || !options.undelegated_ds.is_empty();
        let report = self.engine.check(zone.as_str(), &options).await.map_err(|e| not_asked(&e))?;
        Ok(CheckOutcome {
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

    async fn authority(&self, caller: &Caller, name: &str, rtype: &str) -> Answer<Comparison> {
        self.tool_authority(caller, name, rtype).await
    }

    async fn compare(&self, caller: &Caller, name: &str, rtype: &str, force: bool) -> Answer<Comparison> {
        self.tool_compare(caller, name, rtype, force).await
    }

    async fn browser_resolvers(&self, _: &Caller) -> Answer<Vec<PublicResolver>> {
        Ok(model::fqdn::askable(self.tools.comparer.resolvers(), BROWSER_ASKS))
    }

    async fn fqdn(&self, caller: &Caller, name: &str) -> Answer<FqdnReport> {
        self.tool_fqdn(caller, name).await
    }
}
