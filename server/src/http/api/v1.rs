//! Wire types of version 1, each converted from the model here and nowhere else. Their keys are a promise: a key may be
//! added, none changes its name or meaning before a version 2, whatever the model does.
//!
//! An observation, a comparison and an FQDN report are documents that the store and `--json` of the command line share;
//! they travel as they are, and `docs/cli.md` names their keys.

use jiff::civil::Date;
use model::Timestamp;
use model::detail::{Detail, Snapshot, SnapshotMeta};
use model::inventory::{AddResult, AddedLine, Facet, Facets, Page, Row, Summary};
use model::item::Item;
use model::names::DomainName;
use model::observation::Observation;
use model::scan::ScanProgress;
use model::status::Status;
use model::time::StatedTime;
use serde::Serialize;
use utoipa::ToSchema;

mod alerts;
mod claims;
mod events;
mod maintenance;
mod networks;
mod problem;
mod requests;
mod services;
pub(super) mod words;
pub use alerts::{
    ChannelRequest, ChannelV1, DropRequest, Dropped, FailedMessageV1, ResendRequest, Resent, RulePreviewV1,
    RuleV1, TestResultV1,
};
pub use claims::{ClaimDetail, ClaimEntry, ClaimRequest};
pub use events::{AcknowledgeRequest, AcknowledgedCount, EventList, Named};
pub use maintenance::{FeedRequest, FeedV1, HealthV1, MaintenanceRequest, MaintenanceV1, NewFeedV1};
pub use networks::{AddressV1, BlockRequest, BlockV1, PointersV1, SpaceV1};
pub use problem::Problem;
pub(in crate::http::api) use requests::present;
pub use requests::{
    AddRequest, CheckParameters, CompareParameters, EventParameters, ListParameters, PatchRequest,
    TraceParameters,
};
pub use services::{
    CheckReportV1, ComparisonV1, FqdnReportV1, LinkRequest, LinkV1, ScanReportV1, ServiceReportV1,
    ServiceSpecV1, ServiceV1, TemplateRequest, TemplateV1, TraceV1,
};

/// How many domains were removed.
#[derive(Debug, Serialize, ToSchema)]
pub struct Removed {
    /// The number.
    pub removed: usize,
}

/// How many scans were queued.
#[derive(Debug, Serialize, ToSchema)]
pub struct Queued {
    /// The number.
    pub queued: u64,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Status)]
struct StatusV1 {
    #[schema(schema_with = words::status)]
    kind: &'static str,
    reasons: Vec<ReasonV1>,
    judge_again_at: Option<Timestamp>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Reason)]
struct ReasonV1 {
    #[schema(schema_with = words::status)]
    kind: &'static str,
    rule: String,
    sentence: String,
}

impl From<Status> for StatusV1 {
    fn from(s: Status) -> Self {
        let reasons = s.reasons.into_iter().map(|r| ReasonV1 {
            kind: r.kind.as_str(),
            rule: r.rule.to_string(),
            sentence: r.sentence,
        });
        StatusV1 { kind: s.kind.as_str(), reasons: reasons.collect(), judge_again_at: s.judge_again_at }
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Provider)]
struct ProviderV1 {
    name: String,
    /// `known`, `self_hosted`, `operator_domain` or `mixed`.
    #[schema(value_type = String)]
    kind: model::dns::ProviderKind,
}

/// A domain of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct DomainRow {
    #[schema(value_type = String)]
    name: DomainName,
    unicode: String,
    #[schema(schema_with = words::ownership)]
    ownership: &'static str,
    tags: Vec<String>,
    #[schema(value_type = Option<String>)]
    expires: Option<StatedTime>,
    expires_by_hand: bool,
    auto_renew: Option<bool>,
    registrar: Option<String>,
    provider: Option<ProviderV1>,
    status: StatusV1,
    /// What asking the registry came to: `registered`, `available`, `reserved`, `throttled`, `refused`, `unknown`.
    outcome: Option<&'static str>,
    last_change_at: Option<Timestamp>,
    last_dns_change_at: Option<Timestamp>,
    /// How many changes wait for a second scan that confirms them; no events yet.
    confirming: u64,
    /// The end of the certificate that ends first among its host names; `null` where none was seen.
    certificate_ends: Option<Timestamp>,
    #[schema(value_type = Option<String>)]
    modified: Option<StatedTime>,
    last_scan_at: Option<Timestamp>,
    registered_read_at: Option<Timestamp>,
    error: Option<String>,
}

impl From<Row> for DomainRow {
    fn from(r: Row) -> Self {
        DomainRow {
            name: r.name,
            unicode: r.unicode,
            ownership: r.ownership.as_str(),
            tags: r.tags,
            expires: r.expires,
            expires_by_hand: r.expires_by_hand,
            auto_renew: r.auto_renew,
            registrar: r.registrar,
            provider: r.provider.map(|p| ProviderV1 { name: p.name, kind: p.kind }),
            status: r.status.into(),
            outcome: r.outcome.map(model::registration::Outcome::as_str),
            last_change_at: r.last_change_at,
            last_dns_change_at: r.last_dns_change_at,
            confirming: r.confirming as u64,
            certificate_ends: r.certificate_ends,
            modified: r.modified,
            last_scan_at: r.last_scan_at,
            registered_read_at: r.registered_read_at,
            error: r.error,
        }
    }
}

/// A page of the inventory.
#[derive(Debug, Serialize, ToSchema)]
pub struct DomainPage {
    rows: Vec<DomainRow>,
    total: u64,
    page: u32,
    per_page: u32,
    facets: FacetsV1,
    rv: i64,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Facets)]
struct FacetsV1 {
    status: Vec<FacetV1>,
    registrar: Vec<FacetV1>,
    provider: Vec<FacetV1>,
    tag: Vec<FacetV1>,
    ownership: Vec<FacetV1>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Facet)]
struct FacetV1 {
    value: String,
    count: u64,
}

impl From<Facets> for FacetsV1 {
    fn from(f: Facets) -> Self {
        let list = |facets: Vec<Facet>| {
            facets.into_iter().map(|f| FacetV1 { value: f.value, count: f.count }).collect()
        };
        FacetsV1 {
            status: list(f.status),
            registrar: list(f.registrar),
            provider: list(f.provider),
            tag: list(f.tag),
            ownership: list(f.ownership),
        }
    }
}

impl From<Page> for DomainPage {
    fn from(p: Page) -> Self {
        DomainPage {
            rows: p.rows.into_iter().map(Into::into).collect(),
            total: p.total,
            page: p.page,
            per_page: p.per_page,
            facets: p.facets.into(),
            rv: p.rv.0,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Item)]
struct ItemV1 {
    org: i64,
    #[schema(value_type = String)]
    name: DomainName,
    #[schema(schema_with = words::ownership)]
    ownership: &'static str,
    tags: Vec<String>,
    note: String,
    manual_expires: Option<Date>,
    auto_renew: Option<bool>,
    muted_until: Option<Timestamp>,
    /// Seconds between two scheduled scans; `null` where the organisation's count.
    scan_interval: Option<i64>,
    /// Days of reminders; `null` where the organisation's count.
    expiry_days: Option<Vec<i64>>,
    was_delegated: bool,
    added_at: Timestamp,
    status: StatusV1,
    last_change_at: Option<Timestamp>,
    last_dns_change_at: Option<Timestamp>,
    next_scan_at: Option<Timestamp>,
}

impl From<Item> for ItemV1 {
    fn from(i: Item) -> Self {
        ItemV1 {
            org: i.org.0,
            name: i.name,
            ownership: i.ownership.as_str(),
            tags: i.tags,
            note: i.note,
            manual_expires: i.manual_expires,
            auto_renew: i.auto_renew,
            muted_until: i.muted_until,
            scan_interval: i.checks.interval_s,
            expiry_days: i.checks.expiry_days,
            was_delegated: i.was_delegated,
            added_at: i.added_at,
            status: i.status.into(),
            last_change_at: i.last_change_at,
            last_dns_change_at: i.last_dns_change_at,
            next_scan_at: i.next_scan_at,
        }
    }
}

/// One domain with all that is known.
#[derive(Debug, Serialize, ToSchema)]
pub struct DomainDetail {
    item: ItemV1,
    row: DomainRow,
    /// The document that `scan --json` prints.
    #[schema(value_type = Option<Object>)]
    observation: Option<Observation>,
    snapshots: u64,
    events: u64,
    /// A scan that waits or runs.
    #[schema(value_type = Option<Object>)]
    scan: Option<ScanProgress>,
    rv: i64,
    now: Timestamp,
}

impl From<Detail> for DomainDetail {
    fn from(d: Detail) -> Self {
        DomainDetail {
            item: d.item.into(),
            row: d.row.into(),
            observation: d.observation,
            snapshots: d.snapshots,
            events: d.events,
            scan: d.scan,
            rv: d.rv.0,
            now: d.now,
        }
    }
}

/// A kept state, without the state itself.
#[derive(Debug, Serialize, ToSchema)]
pub struct SnapshotEntry {
    id: i64,
    at: Timestamp,
    summary: Vec<String>,
}

impl From<SnapshotMeta> for SnapshotEntry {
    fn from(m: SnapshotMeta) -> Self {
        SnapshotEntry { id: m.id.0, at: m.at, summary: m.summary }
    }
}

/// A kept state.
#[derive(Debug, Serialize, ToSchema)]
pub struct SnapshotDetail {
    meta: SnapshotEntry,
    /// The document that `scan --json` prints.
    #[schema(value_type = Object)]
    observation: Observation,
}

impl From<Snapshot> for SnapshotDetail {
    fn from(s: Snapshot) -> Self {
        SnapshotDetail { meta: s.meta.into(), observation: s.observation }
    }
}

/// Totals of the organisation; watched domains count in `total` and `watched` only.
#[derive(Debug, Serialize, ToSchema)]
pub struct Totals {
    total: u64,
    owned: u64,
    watched: u64,
    critical: u64,
    warning: u64,
    expired: u64,
    expiring: u64,
    changed: u64,
    dns_changed: u64,
    calendar: Vec<CalendarDayV1>,
    open_events: u64,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CalendarDay)]
struct CalendarDayV1 {
    day: Date,
    count: u64,
}

impl From<Summary> for Totals {
    fn from(s: Summary) -> Self {
        let calendar = s.calendar.into_iter().map(|d| CalendarDayV1 { day: d.day, count: d.count });
        Totals {
            total: s.total,
            owned: s.owned,
            watched: s.watched,
            critical: s.critical,
            warning: s.warning,
            expired: s.expired,
            expiring: s.expiring,
            changed: s.changed,
            dns_changed: s.dns_changed,
            calendar: calendar.collect(),
            open_events: s.open_events,
        }
    }
}

/// What became of one name to add.
#[derive(Debug, Serialize, ToSchema)]
pub struct AddedEntry {
    line: u32,
    input: String,
    result: AddResultV1,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AddResult)]
#[serde(tag = "result", rename_all = "snake_case")]
enum AddResultV1 {
    Added {
        #[schema(value_type = String)]
        name: DomainName,
        note: Option<String>,
    },
    Duplicate {
        #[schema(value_type = String)]
        name: DomainName,
        note: Option<String>,
    },
    Refused {
        reason: String,
    },
}

impl From<AddedLine> for AddedEntry {
    fn from(l: AddedLine) -> Self {
        let result = match l.result {
            AddResult::Added { name, note } => AddResultV1::Added { name, note },
            AddResult::Duplicate { name, note } => AddResultV1::Duplicate { name, note },
            AddResult::Refused { reason } => AddResultV1::Refused { reason },
        };
        AddedEntry { line: l.line, input: l.input, result }
    }
}

#[cfg(test)]
#[path = "v1_tests.rs"]
mod tests;
