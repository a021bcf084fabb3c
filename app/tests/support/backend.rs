//! The sample as a backend: lists, searches and filters over a handful of domains; writes are remembered.

use super::now;
use super::world::{self, Domain};
use async_trait::async_trait;
use model::configure::{ServiceReport, ServiceSpec, StoredService, StoredTemplate};
use model::detail::{Detail, RawAnswer, Snapshot, SnapshotMeta};
use model::dns::Trace;
use model::event::{Event, EventPage, EventQuery};
use model::ids::{Caller, EventId, SnapshotId};
use model::inventory::{AddPreview, AddResult, AddedLine, ListQuery, Page, Row, Summary};
use model::item::{Item, ItemPatch, Ownership};
use model::names::DomainName;
use model::ownership::{ClaimBadge, ClaimView, Method};
use model::resolvers::PublicResolver;
use model::scan::ScanProgress;
use service::{
    ApiError, ApiResult, Backend, CheckOutcome, ConnectRequest, CreatedLink, ScanReport, Session,
    TemplateDraft,
};
use std::sync::Mutex;

/// What the sample holds, what it was asked to do, and whether it is broken.
pub struct Sample {
    pub domains: Vec<Domain>,
    pub events: Vec<Event>,
    pub scanning: Option<String>,
    pub claims: Vec<service::resources::Claim>,
    /// Blocks that the organisation lists by itself.
    pub blocks: Vec<service::space::ListedBlock>,
    /// Prefixes that another organisation holds.
    pub foreign: Vec<service::numbers::IpNet>,
    /// Whether there are more refused claims than are read.
    pub is_partial: bool,
    pub review: service::addresses::AddressReview,
    pub pointers: Vec<service::addresses::Pointer>,
    pub broken: bool,
    /// The feature of points of presence is off.
    pub fleet_off: bool,
    pub health: service::Health,
    pub thresholds: model::judge::Thresholds,
    pub calls: std::sync::Arc<Mutex<Vec<String>>>,
}

impl Sample {
    pub fn of(domains: Vec<Domain>) -> Self {
        Sample {
            domains,
            events: Vec::new(),
            scanning: None,
            claims: Vec::new(),
            blocks: Vec::new(),
            foreign: Vec::new(),
            is_partial: false,
            review: service::addresses::AddressReview::default(),
            pointers: Vec::new(),
            broken: false,
            fleet_off: false,
            health: service::Health::default(),
            thresholds: model::judge::Thresholds::default(),
            calls: std::sync::Arc::default(),
        }
    }

    pub fn story() -> Self {
        let mut s = Sample::of(world::all());
        s.events = super::events::sample();
        s.scanning = Some("halcyon.example".into());
        s
    }

    pub(super) fn up(&self) -> ApiResult<()> {
        if self.broken { Err(ApiError::unavailable("The database does not answer.")) } else { Ok(()) }
    }

    fn find(&self, name: &DomainName) -> ApiResult<&Domain> {
        self.up()?;
        let missing = || ApiError::not_found(format!("{} is not in the inventory.", name.as_str()));
        self.domains.iter().find(|d| d.item.name == *name).ok_or_else(missing)
    }

    pub(super) fn note(&self, what: String) {
        self.calls.lock().unwrap().push(what);
    }
}

#[async_trait]
impl Backend for Sample {
    async fn session(&self, caller: &Caller) -> ApiResult<Session> {
        self.up()?;
        Ok(Session {
            caller: caller.clone(),
            organisation: "Alder Labs".into(),
            memberships: Vec::new(),
            demo: true,
            version: "0.1.0".into(),
            keep_days: 400,
        })
    }

    async fn list(&self, _: &Caller, q: &ListQuery) -> ApiResult<Page> {
        self.up()?;
        Ok(super::inventory::page(&self.domains, q))
    }

    async fn summary(&self, _: &Caller) -> ApiResult<Summary> {
        self.up()?;
        let open_events = self.events.len() as u64;
        let summary = super::inventory::summary(&self.domains);
        Ok(Summary { open_events, thresholds: self.thresholds, ..summary })
    }

    async fn suggest(&self, _: &Caller, text: &str) -> ApiResult<Vec<Row>> {
        self.up()?;
        Ok(self.domains.iter().map(Domain::row).filter(|r| r.unicode.contains(text)).take(8).collect())
    }

    async fn add(
        &self,
        _: &Caller,
        text: &str,
        ownership: Ownership,
        tags: &[String],
    ) -> ApiResult<Vec<AddedLine>> {
        self.up()?;
        self.note(format!("add {} {}", ownership.as_str(), tags.join("+")));
        let lines = text.lines().enumerate().map(|(i, input)| AddedLine {
            line: u32::try_from(i).unwrap() + 1,
            input: input.into(),
            result: match DomainName::read(input) {
                Ok(u) => AddResult::Added { name: u.name, note: u.note },
                Err(e) => AddResult::Refused { reason: e.to_string() },
            },
            set: ItemPatch::default(),
        });
        Ok(lines.collect())
    }

    async fn preview_add(
        &self,
        caller: &Caller,
        text: &str,
        ownership: Ownership,
        tags: &[String],
    ) -> ApiResult<AddPreview> {
        let lines = self.add(caller, text, ownership, tags).await?;
        Ok(AddPreview { lines, ignored_columns: Vec::new() })
    }

    async fn names(&self, _: &Caller, q: &ListQuery) -> ApiResult<Vec<DomainName>> {
        self.up()?;
        let rows = self.domains.iter().map(Domain::row).filter(|r| r.unicode.contains(&q.search));
        Ok(rows.map(|r| r.name).collect())
    }

    async fn holdings(&self, _: &Caller, names: &[DomainName]) -> ApiResult<Vec<(Item, Row)>> {
        self.up()?;
        let held = self.domains.iter().filter(|d| names.contains(&d.item.name));
        Ok(held.map(|d| (d.item.clone(), d.row())).collect())
    }

    async fn remove(&self, _: &Caller, names: &[DomainName]) -> ApiResult<Vec<Item>> {
        self.up()?;
        self.note(format!("remove {}", names.len()));
        let gone = self.domains.iter().map(|d| &d.item).filter(|i| names.contains(&i.name));
        Ok(gone.cloned().collect())
    }

    async fn restore(&self, _: &Caller, items: &[Item]) -> ApiResult<u64> {
        self.up()?;
        let said: Vec<_> = items.iter().map(|i| format!("{} {}", i.name, i.note)).collect();
        self.note(format!("restore {}", said.join(", ")));
        Ok(items.len() as u64)
    }

    async fn patch(&self, _: &Caller, name: &DomainName, patch: &ItemPatch) -> ApiResult<()> {
        self.find(name)?;
        self.note(format!("patch {} {patch:?}", name.as_str()));
        Ok(())
    }

    async fn tag(
        &self,
        _: &Caller,
        names: &[DomainName],
        tag: &str,
        add: bool,
    ) -> ApiResult<Vec<DomainName>> {
        self.up()?;
        self.note(format!("tag {} {tag} {add}", names.len()));
        Ok(names.to_vec())
    }

    async fn rescan(&self, _: &Caller, names: &[DomainName]) -> ApiResult<u64> {
        self.up()?;
        let names: Vec<_> = names.iter().map(DomainName::as_str).collect();
        self.note(format!("rescan {}", names.join(" ")));
        Ok(names.len() as u64)
    }

    async fn rescan_matching(&self, _: &Caller, q: &ListQuery) -> ApiResult<u64> {
        self.up()?;
        self.note(format!("rescan_matching {}", q.to_url()));
        Ok(self.domains.len() as u64)
    }

    async fn scans(&self, _: &Caller, _: &[DomainName]) -> ApiResult<Vec<ScanProgress>> {
        Ok(self.scanning.iter().map(|n| super::world::progress(n)).collect())
    }

    async fn detail(&self, _: &Caller, name: &DomainName) -> ApiResult<Detail> {
        let mut d = self.find(name)?.detail();
        d.scan = self.scanning.as_deref().filter(|n| *n == name.as_str()).map(super::world::progress);
        d.events = self.events.iter().filter(|e| e.domain == *name).count() as u64;
        d.snapshots = if d.observation.is_some() { 3 } else { 0 };
        Ok(d)
    }

    async fn snapshots(&self, _: &Caller, name: &DomainName) -> ApiResult<Vec<SnapshotMeta>> {
        let is_known = self.find(name)?.observation.is_some();
        Ok(if is_known { super::history::states() } else { Vec::new() })
    }

    async fn snapshot(&self, c: &Caller, name: &DomainName, id: SnapshotId) -> ApiResult<Snapshot> {
        let all = self.snapshots(c, name).await?;
        let missing = || ApiError::not_found("Not found in this organisation.");
        let meta = all.into_iter().find(|m| m.id == id).ok_or_else(missing)?;
        let mut o = self.find(name)?.observation.clone().ok_or_else(missing)?;
        super::history::set_back(&mut o, id);
        Ok(Snapshot { meta, observation: o })
    }

    async fn raw(&self, _: &Caller, _: &DomainName, id: SnapshotId) -> ApiResult<Vec<RawAnswer>> {
        Ok(super::history::raw(id))
    }

    async fn events(&self, _: &Caller, q: &EventQuery) -> ApiResult<EventPage> {
        self.up()?;
        Ok(super::events::page(&self.events, q))
    }

    async fn acknowledge_matching(
        &self,
        _: &Caller,
        q: &EventQuery,
        up_to: Option<EventId>,
    ) -> ApiResult<u64> {
        self.note(format!("acknowledge_matching {} up to {}", q.to_search(), up_to.map_or(0, |id| id.0)));
        Ok(2)
    }

    async fn acknowledge(&self, _: &Caller, ids: &[EventId]) -> ApiResult<u64> {
        self.note(format!("acknowledge {}", ids.len()));
        Ok(ids.len() as u64)
    }

    async fn look_up(&self, _: &Caller, input: &str) -> ApiResult<ScanReport> {
        self.up()?;
        let u = DomainName::read(input).map_err(|e| ApiError::invalid(e.to_string()))?;
        let d = self.domains.iter().find(|d| d.item.name == u.name).cloned().unwrap_or_else(world::available);
        Ok(ScanReport {
            unicode: u.name.unicode(),
            name: u.name,
            note: u.note,
            observation: d.observation.ok_or_else(|| ApiError::unavailable("No answer."))?,
            raw: vec![],
            address_space: vec![],
            in_inventory: true,
            now: now(),
        })
    }

    async fn trace(&self, _: &Caller, name: &str, rtype: &str) -> ApiResult<Trace> {
        self.up()?;
        Ok(super::trace::sample(name, rtype))
    }

    async fn check(&self, _: &Caller, zone: &str, ns: &[String], ds: &[String]) -> ApiResult<CheckOutcome> {
        self.up()?;
        self.note(format!("check {zone} [{}] [{}]", ns.join(" "), ds.join(" ")));
        super::check::outcome(zone, !ns.is_empty() || !ds.is_empty())
    }

    async fn authority(&self, _: &Caller, name: &str, _: &str) -> ApiResult<model::compare::Comparison> {
        self.up()?;
        super::compare::first(name)
    }

    async fn compare(
        &self,
        _: &Caller,
        name: &str,
        _: &str,
        force: bool,
    ) -> ApiResult<model::compare::Comparison> {
        self.up()?;
        super::compare::whole(name, force)
    }

    async fn browser_resolvers(&self, _: &Caller) -> ApiResult<Vec<PublicResolver>> {
        self.up()?;
        Ok(model::fqdn::askable(&super::compare::table(), 3))
    }

    async fn fqdn(&self, _: &Caller, name: &str) -> ApiResult<model::fqdn::FqdnReport> {
        self.up()?;
        super::fqdn::sample(name)
    }

    async fn claims(&self, _: &Caller) -> ApiResult<Vec<ClaimBadge>> {
        self.up()?;
        Ok(Vec::new())
    }

    async fn claim(&self, _: &Caller, name: &str) -> ApiResult<ClaimView> {
        self.find(&DomainName::trusted(name))?;
        super::claims::sample(name)
    }

    async fn start_claim(&self, _: &Caller, name: &str, method: Method) -> ApiResult<ClaimView> {
        self.note(format!("claim {name} by {}", method.as_str()));
        super::claims::sample(name)
    }

    async fn check_claim(&self, _: &Caller, name: &str) -> ApiResult<ClaimView> {
        self.note(format!("check the claim to {name}"));
        super::claims::sample(name)
    }

    async fn withdraw_claim(&self, _: &Caller, name: &str) -> ApiResult<()> {
        self.note(format!("withdraw the claim to {name}"));
        Ok(())
    }
    async fn configure(&self, _: &Caller, domain: &str, spec: &ServiceSpec) -> ApiResult<ServiceReport> {
        self.up()?;
        self.note(format!("configure {domain} {}", spec.service.as_str()));
        super::configure::report(domain, spec)
    }

    async fn services(&self, _: &Caller, name: &DomainName) -> ApiResult<Vec<StoredService>> {
        self.up()?;
        Ok(super::configure::services(name.as_str()))
    }

    async fn add_service(&self, _: &Caller, domain: &str, spec: &ServiceSpec) -> ApiResult<StoredService> {
        self.note(format!("add_service {domain} {}", spec.service.as_str()));
        Ok(StoredService::new("new".into(), domain, spec.clone(), now()))
    }

    async fn remove_service(&self, _: &Caller, name: &DomainName, id: &str) -> ApiResult<()> {
        self.note(format!("remove_service {name} {id}"));
        Ok(())
    }

    async fn check_service(&self, _: &Caller, name: &DomainName, id: &str) -> ApiResult<ServiceReport> {
        let found = super::configure::services(name.as_str()).into_iter().find(|s| s.id == id);
        let missing = || ApiError::not_found("no such service");
        super::configure::report(name.as_str(), &found.ok_or_else(missing)?.spec)
    }

    async fn templates(&self, _: &Caller) -> ApiResult<Vec<StoredTemplate>> {
        Ok(super::configure::templates())
    }

    async fn save_template(&self, _: &Caller, _: &TemplateDraft) -> ApiResult<StoredTemplate> {
        Err(ApiError::unavailable("not in this story"))
    }

    async fn remove_template(&self, _: &Caller, _: &str) -> ApiResult<()> {
        Err(ApiError::unavailable("not in this story"))
    }

    async fn connect_link(&self, _: &Caller, _: &DomainName, _: &ConnectRequest) -> ApiResult<CreatedLink> {
        Ok(CreatedLink { path: "/connect/dsc_x".into(), expires_at: now() })
    }
}
