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
use service::{ApiError, ErrorKind};

/// An error: problem details (RFC 9457), and the keys that this version had before them.
#[derive(Debug, Serialize)]
pub struct Problem {
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    status: u16,
    detail: String,
    /// Deprecated: the kind in the words of before.
    failure: &'static str,
    /// Deprecated: equals `detail`.
    sentence: String,
}

impl Problem {
    /// The problem details of an error, under the status of the response that carries them.
    pub fn new(error: &ApiError, status: u16) -> Self {
        Problem {
            kind: error.kind.type_uri(),
            title: error.kind.title(),
            status,
            detail: error.detail.clone(),
            failure: match error.kind {
                ErrorKind::NotFound => "not_found",
                ErrorKind::SignInRequired => "sign_in",
                ErrorKind::Forbidden => "forbidden",
                ErrorKind::Invalid | ErrorKind::Conflict | ErrorKind::Changed => "invalid",
                ErrorKind::TooManyRequests => "too_many",
                ErrorKind::Unavailable | ErrorKind::Internal => "unavailable",
            },
            sentence: error.detail.clone(),
        }
    }
}

mod claims;
mod events;
mod requests;
pub use claims::{ClaimDetail, ClaimEntry, ClaimRequest};
pub use events::EventList;
pub use requests::{AddRequest, PatchRequest};

/// How many domains were removed.
#[derive(Debug, Serialize)]
pub struct Removed {
    /// The number.
    pub removed: usize,
}

/// How many scans were queued.
#[derive(Debug, Serialize)]
pub struct Queued {
    /// The number.
    pub queued: u64,
}

#[derive(Debug, Serialize)]
struct StatusV1 {
    kind: &'static str,
    reasons: Vec<ReasonV1>,
    judge_again_at: Option<Timestamp>,
}

#[derive(Debug, Serialize)]
struct ReasonV1 {
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

#[derive(Debug, Serialize)]
struct ProviderV1 {
    name: String,
    kind: model::dns::ProviderKind,
}

/// A domain of a list.
#[derive(Debug, Serialize)]
pub struct DomainRow {
    name: DomainName,
    unicode: String,
    ownership: &'static str,
    tags: Vec<String>,
    expires: Option<StatedTime>,
    expires_by_hand: bool,
    auto_renew: Option<bool>,
    registrar: Option<String>,
    provider: Option<ProviderV1>,
    status: StatusV1,
    outcome: Option<&'static str>,
    last_change_at: Option<Timestamp>,
    last_dns_change_at: Option<Timestamp>,
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
            modified: r.modified,
            last_scan_at: r.last_scan_at,
            registered_read_at: r.registered_read_at,
            error: r.error,
        }
    }
}

/// A page of the inventory.
#[derive(Debug, Serialize)]
pub struct DomainPage {
    rows: Vec<DomainRow>,
    total: u64,
    page: u32,
    per_page: u32,
    facets: FacetsV1,
    rv: i64,
}

#[derive(Debug, Serialize)]
struct FacetsV1 {
    status: Vec<FacetV1>,
    registrar: Vec<FacetV1>,
    provider: Vec<FacetV1>,
    tag: Vec<FacetV1>,
    ownership: Vec<FacetV1>,
}

#[derive(Debug, Serialize)]
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

#[derive(Debug, Serialize)]
struct ItemV1 {
    org: i64,
    name: DomainName,
    ownership: &'static str,
    tags: Vec<String>,
    note: String,
    manual_expires: Option<Date>,
    auto_renew: Option<bool>,
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
#[derive(Debug, Serialize)]
pub struct DomainDetail {
    item: ItemV1,
    row: DomainRow,
    observation: Option<Observation>,
    snapshots: u64,
    events: u64,
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
#[derive(Debug, Serialize)]
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
#[derive(Debug, Serialize)]
pub struct SnapshotDetail {
    meta: SnapshotEntry,
    observation: Observation,
}

impl From<Snapshot> for SnapshotDetail {
    fn from(s: Snapshot) -> Self {
        SnapshotDetail { meta: s.meta.into(), observation: s.observation }
    }
}

/// Totals of the organisation; watched domains count in `total` and `watched` only.
#[derive(Debug, Serialize)]
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

#[derive(Debug, Serialize)]
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
#[derive(Debug, Serialize)]
pub struct AddedEntry {
    line: u32,
    input: String,
    result: AddResultV1,
}

#[derive(Debug, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
enum AddResultV1 {
    Added { name: DomainName, note: Option<String> },
    Duplicate { name: DomainName, note: Option<String> },
    Refused { reason: String },
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
