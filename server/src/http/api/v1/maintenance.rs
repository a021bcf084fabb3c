//! Maintenance windows, feeds, and the state of the installation.

use model::Timestamp;
use model::feed::Feed;
use model::health::OwnFault;
use model::maintenance::{Maintenance, Scope};
use serde::{Deserialize, Serialize};
use service::{Health, MaintenanceDraft, NewFeed};
use utoipa::ToSchema;

/// A maintenance window to plan. A tag or a domain limits it; neither means all domains.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MaintenanceRequest {
    /// Beginning: `2026-11-22T20:00:00Z`, or `2026-11-22T20:00` in UTC.
    from: String,
    /// End, in the same forms.
    to: String,
    /// Only domains with this tag.
    tag: String,
    /// Only this domain.
    domain: String,
    /// What is done.
    note: String,
}

impl From<MaintenanceRequest> for MaintenanceDraft {
    fn from(r: MaintenanceRequest) -> Self {
        MaintenanceDraft { from: r.from, to: r.to, tag: r.tag, domain: r.domain, note: r.note }
    }
}

/// A span in which events are recorded, and no message about them is sent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Maintenance)]
pub struct MaintenanceV1 {
    id: String,
    from: Timestamp,
    to: Timestamp,
    /// Only domains with this tag.
    tag: Option<String>,
    /// Only this domain.
    domain: Option<String>,
    note: String,
    /// Who entered it.
    by: String,
}

impl From<Maintenance> for MaintenanceV1 {
    fn from(m: Maintenance) -> Self {
        let (tag, domain) = match m.scope {
            Scope::All => (None, None),
            Scope::Tag { tag } => (Some(tag), None),
            Scope::Domain { domain } => (None, Some(domain.to_string())),
        };
        MaintenanceV1 { id: m.id, from: m.from, to: m.to, tag, domain, note: m.note, by: m.by }
    }
}

/// A feed to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FeedRequest {
    /// As people call it.
    pub name: String,
    /// `calendar` (expirations, iCalendar) or `events` (Atom).
    pub kind: String,
}

/// A feed, without its address.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Feed)]
pub struct FeedV1 {
    id: String,
    name: String,
    /// `calendar` or `events`.
    kind: String,
    created_by: String,
    created_at: Timestamp,
    /// When it was read last, to the hour.
    used_at: Option<Timestamp>,
}

impl From<Feed> for FeedV1 {
    fn from(f: Feed) -> Self {
        FeedV1 {
            id: f.id,
            name: f.name,
            kind: f.kind.as_str().into(),
            created_by: f.created_by,
            created_at: f.created_at,
            used_at: f.used_at,
        }
    }
}

/// A feed that was just created.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NewFeed)]
pub struct NewFeedV1 {
    feed: FeedV1,
    /// Path of its address, which is a secret and is shown once.
    path: String,
}

impl From<NewFeed> for NewFeedV1 {
    fn from(n: NewFeed) -> Self {
        NewFeedV1 { feed: n.feed.into(), path: n.path }
    }
}

/// What is wrong with the installation itself.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Health)]
pub struct HealthV1 {
    /// Seconds by which the oldest check is late, when that is more than a few minutes.
    overdue_s: Option<u64>,
    /// Faults that last.
    faults: Vec<OwnFaultV1>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OwnFault)]
struct OwnFaultV1 {
    /// `root_invalid`, `network_down`, `registry_down`, `clock_wrong` or `part_of_network_down`.
    kind: String,
    since: Timestamp,
    sentence: String,
}

impl From<Health> for HealthV1 {
    fn from(h: Health) -> Self {
        let fault =
            |f: OwnFault| OwnFaultV1 { kind: f.kind.as_str().into(), since: f.since, sentence: f.sentence };
        HealthV1 { overdue_s: h.overdue_s, faults: h.faults.into_iter().map(fault).collect() }
    }
}
