//! The sample as a backend: lists, searches and filters over a handful of domains; writes are remembered.

use super::now;
use super::world::{self, Domain};
use async_trait::async_trait;
use jiff::ToSpan;
use model::configure::{ServiceReport, ServiceSpec, StoredService, StoredTemplate};
use model::detail::{Detail, RawAnswer, Snapshot, SnapshotMeta};
use model::dns::Trace;
use model::event::{Change, Event, EventCounts, EventGroup, EventKind, EventPage, EventQuery, Severity};
use model::ids::{Caller, EventId, LogPosition, OrgId, SnapshotId};
use model::inventory::{
    AddPreview, AddResult, AddedLine, CalendarDay, Facet, Facets, ListQuery, Page, Row, Summary,
};
use model::item::{Item, ItemPatch, Ownership};
use model::names::DomainName;
use model::ownership::{ClaimBadge, ClaimView, Method};
use model::registration::{Party, Protocol, RegistrationState};
use model::resolvers::PublicResolver;
use model::scan::{ScanProgress, Stage, StageResult};
use model::status::StatusKind;
use service::{
    ApiError, ApiResult, Backend, CheckOutcome, ConnectRequest, CreatedLink, ScanReport, Session,
    TemplateDraft,
};
use std::collections::BTreeMap;
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
        s.events = events();
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

fn events() -> Vec<Event> {
    let e =
        |id, domain: &str, hours, kind, severity, field: &str, old: Option<&str>, new: Option<&str>| Event {
            id: EventId(id),
            org: OrgId::BUILT_IN,
            domain: DomainName::trusted(domain),
            at: world::ago(hours),
            change: Change {
                kind,
                severity,
                field: field.into(),
                old: old.map(Into::into),
                new: new.map(Into::into),
                source: "RDAP https://rdap.registry.example/".into(),
                note: String::new(),
            },
            acknowledged: None,
            cluster: Some("alder-main".into()),
            clusterset: Some("alder-fleet".into()),
            maintenance: None,
        };
    vec![
        e(
            3,
            "alder.example",
            77,
            EventKind::NameserversChanged,
            Severity::Warning,
            "nameservers",
            Some("ns1.quarry-dns.example"),
            Some("ns1.meridian-dns.example, ns3.meridian-dns.example"),
        ),
        e(
            2,
            "tidewater.example",
            50,
            EventKind::StatusRemoved,
            Severity::Critical,
            "statuses",
            Some("clientTransferProhibited"),
            None,
        ),
        e(
            1,
            "alder.example",
            4000,
            EventKind::RegistrarChanged,
            Severity::Warning,
            "registrar",
            Some("Harbor Names Ltd"),
            Some("Lantern Registrar"),
        ),
    ]
}

fn progress(name: &str) -> ScanProgress {
    ScanProgress {
        name: DomainName::trusted(name),
        running: vec![Stage::Zone],
        done: vec![
            StageResult { stage: Stage::Registration, ok: true, words: "RDAP answered".into(), ms: 412 },
            StageResult {
                stage: Stage::Delegation,
                ok: false,
                words: "1 of 4 servers is lame".into(),
                ms: 1510,
            },
        ],
        started_at: now(),
        result: None,
        suspended: false,
    }
}

fn facet(values: impl Iterator<Item = String>) -> Vec<Facet> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for v in values {
        *counts.entry(v).or_default() += 1;
    }
    let mut out: Vec<_> = counts.into_iter().map(|(value, count)| Facet { value, count }).collect();
    out.sort_by_key(|f| std::cmp::Reverse(f.count));
    out
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
        let mut rows: Vec<Row> = self.domains.iter().map(Domain::row).collect();
        let facets = Facets {
            status: facet(rows.iter().map(|r| r.status.kind.as_str().to_string())),
            registrar: facet(rows.iter().map(|r| r.registrar.clone().unwrap_or_default())),
            provider: facet(
                rows.iter().map(|r| r.provider.as_ref().map(|p| p.name.clone()).unwrap_or_default()),
            ),
            tag: facet(rows.iter().flat_map(|r| r.tags.clone())),
            ownership: facet(rows.iter().map(|r| r.ownership.as_str().to_string())),
        };
        rows.retain(|r| {
            r.unicode.contains(&q.search)
                && (q.status.is_empty() || q.status.contains(&r.status.kind))
                && (q.tag.is_empty() || q.tag.iter().any(|t| r.tags.contains(t)))
        });
        let total = rows.len() as u64;
        let skip = (q.page.saturating_sub(1) * q.per_page) as usize;
        let rows = rows.into_iter().skip(skip).take(q.per_page as usize).collect();
        Ok(Page { rows, total, page: q.page, per_page: q.per_page, facets, rv: LogPosition(7) })
    }

    async fn summary(&self, _: &Caller) -> ApiResult<Summary> {
        self.up()?;
        let rows: Vec<Row> = self.domains.iter().map(Domain::row).collect();
        let owned = rows.iter().filter(|r| r.ownership == Ownership::Owned).count() as u64;
        let of =
            |k| rows.iter().filter(|r| r.ownership == Ownership::Owned && r.status.kind == k).count() as u64;
        let today: jiff::civil::Date = "2026-11-20".parse().unwrap();
        let day = |d: i32, count| CalendarDay { day: today.checked_add(d.days()).unwrap(), count };
        Ok(Summary {
            total: rows.len() as u64,
            owned,
            watched: rows.len() as u64 - owned,
            critical: of(StatusKind::Critical),
            warning: of(StatusKind::Warning),
            expired: 1,
            expiring: 3,
            changed: 2,
            dns_changed: 1,
            calendar: vec![day(3, 1), day(14, 1), day(23, 2), day(48, 1), day(62, 4), day(85, 2)],
            open_events: self.events.len() as u64,
            thresholds: self.thresholds,
        })
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
        Ok(self.scanning.iter().map(|n| progress(n)).collect())
    }

    async fn detail(&self, _: &Caller, name: &DomainName) -> ApiResult<Detail> {
        let mut d = self.find(name)?.detail();
        d.scan = self.scanning.as_deref().filter(|n| *n == name.as_str()).map(progress);
        d.events = self.events.iter().filter(|e| e.domain == *name).count() as u64;
        d.snapshots = if d.observation.is_some() { 3 } else { 0 };
        Ok(d)
    }

    async fn snapshots(&self, _: &Caller, name: &DomainName) -> ApiResult<Vec<SnapshotMeta>> {
        if self.find(name)?.observation.is_none() {
            return Ok(vec![]);
        }
        let meta = |id, hours, summary: &[&str]| SnapshotMeta {
            id: SnapshotId(id),
            at: world::ago(hours),
            summary: summary.iter().map(|s| (*s).to_string()).collect(),
        };
        Ok(vec![
            meta(
                3,
                77,
                &[
                    "Nameservers went from ns1.quarry-dns.example to ns1.meridian-dns.example",
                    "Modified went from May 12, 2026 to Nov 17, 2026",
                ],
            ),
            meta(2, 4400, &["Registrar went from Harbor Names Ltd to Lantern Registrar"]),
            meta(1, 8000, &[]),
        ])
    }

    async fn snapshot(&self, c: &Caller, name: &DomainName, id: SnapshotId) -> ApiResult<Snapshot> {
        let all = self.snapshots(c, name).await?;
        let missing = || ApiError::not_found("Not found in this organisation.");
        let meta = all.into_iter().find(|m| m.id == id).ok_or_else(missing)?;
        let mut o = self.find(name)?.observation.clone().ok_or_else(missing)?;
        if let Some(RegistrationState::Registered(r)) = &mut o.registration.value {
            if id.0 < 3 {
                r.nameservers = Some(vec!["ns1.quarry-dns.example".into(), "old-ns.alder.example".into()]);
                r.updated = Some("2026-05-12".parse().unwrap());
            }
            if id.0 < 2 {
                r.registrar.name = Some("Harbor Names Ltd".into());
                r.statuses = Some(["clientDeleteProhibited".into()].into());
                r.dnssec = None;
            }
        }
        Ok(Snapshot { meta, observation: o })
    }

    async fn raw(&self, _: &Caller, _: &DomainName, id: SnapshotId) -> ApiResult<Vec<RawAnswer>> {
        let handle = if id.0 < 2 { "D1-EXAMPLE" } else { "D2-EXAMPLE" };
        Ok(vec![RawAnswer {
            protocol: Protocol::Rdap,
            party: Party::Registry,
            server: "https://rdap.registry.example/".into(),
            at: world::ago(77),
            body: format!(r#"{{"objectClassName":"domain","ldhName":"alder.example","handle":"{handle}"}}"#),
        }])
    }

    async fn events(&self, _: &Caller, q: &EventQuery) -> ApiResult<EventPage> {
        self.up()?;
        let events: Vec<_> = self
            .events
            .iter()
            .filter(|e| q.domain.as_ref().is_none_or(|d| *d == e.domain))
            .filter(|e| q.at_least.is_none_or(|s| e.change.severity >= s))
            .filter(|e| e.domain.as_str().contains(&q.search))
            .cloned()
            .collect();
        let group = |e: &Event| EventGroup {
            kind: e.change.kind,
            severity: e.change.severity,
            open: e.acknowledged.is_none(),
            count: 1,
        };
        Ok(EventPage {
            total: events.len() as u64,
            newest: events.first().map(|e| e.id),
            counts: Some(EventCounts(self.events.iter().map(group).collect())),
            events,
            page: q.page,
            per_page: q.per_page,
        })
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
