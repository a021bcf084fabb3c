//! The trait, method by method.

use super::holdings::{MAX_PROGRESS, validated_for_restore};
use super::{BULK, Services, checked, not_held, read_name, unavailable};
use async_trait::async_trait;
use model::compare::Comparison;
use model::configure::{ServiceReport, ServiceSpec, StoredService, StoredTemplate};
use model::detail::{Detail, RawAnswer, Snapshot, SnapshotMeta};
use model::dns::Trace;
use model::event::{EventPage, EventQuery};
use model::fqdn::FqdnReport;
use model::ids::{Caller, EventId, SnapshotId, Vantage};
use model::inventory::{AddPreview, AddedLine, ListQuery, Page, Row, SortKey, Summary};
use model::item::{Item, ItemPatch, Ownership};
use model::names::DomainName;
use model::ownership::{ClaimBadge, ClaimView, Method};
use model::resolvers::PublicResolver;
use model::scan::ScanProgress;
use service::Backend;
use service::policy::{Action, authorize};
use service::{
    ApiError, ApiResult, CheckOutcome, ConnectRequest, CreatedLink, ScanReport, Session, TemplateDraft,
};
use std::collections::HashMap;

/// Public resolvers that a visitor's browser queries: enough to see a difference, few enough to read.
const BROWSER_RESOLVERS: usize = 3;

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
            keep_days: self.scanner.policy.keep_days,
        })
    }

    async fn list(&self, caller: &Caller, query: &ListQuery) -> ApiResult<Page> {
        authorize(caller, Action::List)?;
        let mut page = self.store().list(caller.org, query, self.now()).await.map_err(unavailable)?;
        self.mark_claims(caller.org, &mut page.rows).await?;
        Ok(page)
    }

    async fn summary(&self, caller: &Caller) -> ApiResult<Summary> {
        authorize(caller, Action::Summary)?;
        let now = self.now();
        let summary = self.store().summary(caller.org, now).await.map_err(unavailable)?;
        let thresholds = self.scanner.policy.thresholds;
        // The calendar reaches as far as the thresholds may.
        let today = model::time::StatedTime::utc(now).date();
        let within = |day| model::time::days_between(today, day) <= thresholds.warning_days;
        let expiring = summary.calendar.iter().filter(|c| within(c.day)).map(|c| c.count).sum();
        Ok(Summary { expiring, thresholds, ..summary })
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

    async fn preview_add(
        &self,
        caller: &Caller,
        text: &str,
        ownership: Ownership,
        tags: &[String],
    ) -> ApiResult<AddPreview> {
        authorize(caller, Action::PreviewAdd)?;
        self.preview_text(caller.org, text, ownership, tags).await
    }

    async fn names(&self, caller: &Caller, query: &ListQuery) -> ApiResult<Vec<DomainName>> {
        authorize(caller, Action::Names)?;
        self.store().names(caller.org, query, BULK, self.now()).await.map_err(unavailable)
    }

    async fn holdings(&self, caller: &Caller, names: &[DomainName]) -> ApiResult<Vec<(Item, Row)>> {
        authorize(caller, Action::Holdings)?;
        let mut found: HashMap<_, _> = HashMap::new();
        for part in checked(names)?.chunks(500) {
            let held = self.store().holdings(caller.org, part).await.map_err(unavailable)?;
            found.extend(held.into_iter().map(|(item, row)| (item.name.clone(), (item, row))));
        }
        Ok(names.iter().filter_map(|n| found.remove(n)).collect())
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
        self.patch_item(caller, name, patch).await
    }

    async fn tag(
        &self,
        caller: &Caller,
        names: &[DomainName],
        tag: &str,
        add: bool,
    ) -> ApiResult<Vec<DomainName>> {
        authorize(caller, Action::Tag)?;
        self.tag_items(caller, names, tag, add).await
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
        let (item, mut row) = self
            .store()
            .item(caller.org, &name)
            .await
            .map_err(unavailable)?
            .ok_or_else(|| not_held(&name))?;
        self.mark_claims(caller.org, std::slice::from_mut(&mut row)).await?;
        let observation = self
            .store()
            .observation(&name, &Vantage::local())
            .await
            .map_err(unavailable)?
            .map(|v| v.observation);
        let observation = match observation {
            Some(o) => Some(self.with_address_findings(caller.org, o).await?),
            None => None,
        };
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
        self.store().events_counted(caller.org, &query.at(self.now())).await.map_err(unavailable)
    }

    async fn acknowledge_matching(
        &self,
        caller: &Caller,
        query: &EventQuery,
        up_to: Option<EventId>,
    ) -> ApiResult<u64> {
        authorize(caller, Action::AcknowledgeMatching)?;
        let now = self.now();
        let n = self
            .store()
            .acknowledge_matching(&caller.actor(), caller.org, (&query.at(now), up_to), now)
            .await
            .map_err(unavailable)?;
        self.scanner.hub.recorded();
        Ok(n)
    }

    async fn acknowledge(&self, caller: &Caller, ids: &[EventId]) -> ApiResult<u64> {
        authorize(caller, Action::Acknowledge)?;
        if ids.len() > EventQuery::MAX_PER_PAGE as usize {
            let most = EventQuery::MAX_PER_PAGE;
            return Err(ApiError::invalid(format!("At most {most} events are acknowledged at once.")));
        }
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
        self.tool_scan(caller, input).await
    }

    async fn trace(&self, caller: &Caller, name: &str, rtype: &str) -> ApiResult<Trace> {
        authorize(caller, Action::Trace)?;
        self.tool_trace(caller, name, rtype).await
    }

    async fn check(
        &self,
        caller: &Caller,
        zone: &str,
        ns: &[String],
        ds: &[String],
    ) -> ApiResult<CheckOutcome> {
        authorize(caller, Action::Check)?;
        self.tool_check(caller, zone, ns, ds).await
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

    async fn claims(&self, caller: &Caller) -> ApiResult<Vec<ClaimBadge>> {
        authorize(caller, Action::Claims)?;
        self.claim_list(caller.org).await
    }

    async fn claim(&self, caller: &Caller, name: &str) -> ApiResult<ClaimView> {
        authorize(caller, Action::Claim)?;
        self.claim_view(caller.org, name).await
    }

    async fn start_claim(&self, caller: &Caller, name: &str, method: Method) -> ApiResult<ClaimView> {
        authorize(caller, Action::StartClaim)?;
        self.claim_start(caller.org, name, method).await
    }

    async fn check_claim(&self, caller: &Caller, name: &str) -> ApiResult<ClaimView> {
        authorize(caller, Action::CheckClaim)?;
        self.claim_check(caller, name).await
    }

    async fn withdraw_claim(&self, caller: &Caller, name: &str) -> ApiResult<()> {
        authorize(caller, Action::WithdrawClaim)?;
        self.claim_withdraw(caller.org, name).await
    }

    async fn configure(&self, caller: &Caller, domain: &str, spec: &ServiceSpec) -> ApiResult<ServiceReport> {
        authorize(caller, Action::Configure)?;
        self.tool_configure(caller, domain, spec).await
    }

    async fn services(&self, caller: &Caller, name: &DomainName) -> ApiResult<Vec<StoredService>> {
        authorize(caller, Action::Services)?;
        self.services_of(caller, name).await
    }

    async fn add_service(
        &self,
        caller: &Caller,
        domain: &str,
        spec: &ServiceSpec,
    ) -> ApiResult<StoredService> {
        authorize(caller, Action::AddService)?;
        self.keep_service(caller, domain, spec).await
    }

    async fn remove_service(&self, caller: &Caller, name: &DomainName, id: &str) -> ApiResult<()> {
        authorize(caller, Action::RemoveService)?;
        self.drop_service(caller, name, id).await
    }

    async fn check_service(&self, caller: &Caller, name: &DomainName, id: &str) -> ApiResult<ServiceReport> {
        authorize(caller, Action::CheckService)?;
        self.look_at_service(caller, name, id).await
    }

    async fn connect_link(
        &self,
        caller: &Caller,
        name: &DomainName,
        request: &ConnectRequest,
    ) -> ApiResult<CreatedLink> {
        authorize(caller, Action::ConnectLink)?;
        self.make_link(caller, name, request).await
    }

    async fn templates(&self, caller: &Caller) -> ApiResult<Vec<StoredTemplate>> {
        authorize(caller, Action::Templates)?;
        self.kept_templates(caller).await
    }

    async fn save_template(&self, caller: &Caller, draft: &TemplateDraft) -> ApiResult<StoredTemplate> {
        authorize(caller, Action::SaveTemplate)?;
        self.keep_template(caller, draft).await
    }

    async fn remove_template(&self, caller: &Caller, key: &str) -> ApiResult<()> {
        authorize(caller, Action::RemoveTemplate)?;
        self.drop_template(caller, key).await
    }
}
