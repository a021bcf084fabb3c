//! Events and pages of the event log.

use super::words;
use model::Timestamp;
use model::event::{Event, EventPage};
use model::names::DomainName;
use serde::Serialize;
use utoipa::ToSchema;

/// A page of the event log.
#[derive(Debug, Serialize, ToSchema)]
pub struct EventList {
    events: Vec<EventV1>,
    total: u64,
    page: u32,
    per_page: u32,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Event)]
struct EventV1 {
    id: i64,
    org: i64,
    #[schema(value_type = String)]
    domain: DomainName,
    at: Timestamp,
    #[schema(schema_with = words::event_kind)]
    kind: &'static str,
    #[schema(schema_with = words::severity)]
    severity: &'static str,
    field: String,
    old: Option<String>,
    new: Option<String>,
    source: String,
    note: String,
    acknowledged: Option<AcknowledgedV1>,
    /// Identity of the installation that detected it (`id.k8s.io`); left out where it had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    cluster: Option<String>,
    /// The set that the installation was a member of (`clusterset.k8s.io`); left out where it was of none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    clusterset: Option<String>,
    /// Note of the maintenance window during which it was detected: no message about it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    maintenance: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Acknowledged)]
struct AcknowledgedV1 {
    by: String,
    at: Timestamp,
}

impl From<Event> for EventV1 {
    fn from(e: Event) -> Self {
        EventV1 {
            id: e.id.0,
            org: e.org.0,
            domain: e.domain,
            at: e.at,
            kind: e.change.kind.as_str(),
            severity: e.change.severity.as_str(),
            field: e.change.field,
            old: e.change.old,
            new: e.change.new,
            source: e.change.source,
            note: e.change.note,
            acknowledged: e.acknowledged.map(|a| AcknowledgedV1 { by: a.by, at: a.at }),
            cluster: e.cluster,
            clusterset: e.clusterset,
            maintenance: e.maintenance,
        }
    }
}

impl From<EventPage> for EventList {
    fn from(p: EventPage) -> Self {
        EventList {
            events: p.events.into_iter().map(Into::into).collect(),
            total: p.total,
            page: p.page,
            per_page: p.per_page,
        }
    }
}
