//! Events and pages of the event log.

use super::words;
use model::Timestamp;
use model::event::{Event, EventPage};
use model::ids::EventId;
use model::names::DomainName;
use model::notify::DeliveryState;
use serde::{Deserialize, Serialize};
use service::{ApiError, ApiResult, DeliveryView};
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
    /// What became of the messages about it.
    deliveries: Vec<EventDeliveryV1>,
}

/// How a message about an event stands, or why there is none.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EventDelivery)]
struct EventDeliveryV1 {
    /// Name of the channel; `null` where no message was made, or none is made yet.
    channel: Option<String>,
    /// `waiting`, `delivered`, `skipped` (not sent, and not to be sent) or `failed` (given up).
    #[schema(schema_with = words::delivery_state)]
    state: &'static str,
    /// When it was delivered, closed or given up; of a message that waits when it is due.
    at: Timestamp,
    /// Why it waits, was not sent or failed; of a message that was delivered what the channel answered.
    reason: Option<String>,
}

impl From<&DeliveryView> for EventDeliveryV1 {
    fn from(d: &DeliveryView) -> Self {
        let (at, reason) = match &d.state {
            DeliveryState::Waiting { due_at, error, .. } => (*due_at, error.clone()),
            DeliveryState::Delivered { at, answer } => (*at, Some(answer.clone())),
            DeliveryState::Skipped { at, reason } => (*at, Some(reason.clone())),
            DeliveryState::Failed { at, error, .. } => (*at, Some(error.clone())),
        };
        let channel = (!d.channel.is_empty()).then(|| d.channel.clone());
        EventDeliveryV1 { channel, state: d.state.as_str(), at, reason }
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Acknowledged)]
struct AcknowledgedV1 {
    by: String,
    at: Timestamp,
}

impl EventV1 {
    fn new(e: Event, deliveries: &[DeliveryView]) -> Self {
        let about = deliveries.iter().filter(|d| d.events.contains(&e.id));
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
            deliveries: about.map(EventDeliveryV1::from).collect(),
        }
    }
}

impl EventList {
    /// A page of events with what became of the messages about them.
    pub fn new(p: EventPage, deliveries: &[DeliveryView]) -> Self {
        EventList {
            events: p.events.into_iter().map(|e| EventV1::new(e, deliveries)).collect(),
            total: p.total,
            page: p.page,
            per_page: p.per_page,
        }
    }
}

/// Events to acknowledge: those that are named, or all that match the filters of the address.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AcknowledgeRequest {
    /// Identifiers of events, at most 200.
    #[schema(max_items = 200)]
    ids: Vec<i64>,
    /// True to acknowledge the events that match the filters of the address, the newest 10,000 at most.
    all: bool,
    /// With `all`: none that is newer than this event.
    up_to: Option<i64>,
}

/// What an [`AcknowledgeRequest`] names.
pub enum Named {
    /// These events.
    Ids(Vec<EventId>),
    /// All that match, up to one of them.
    Matching(Option<EventId>),
}

impl AcknowledgeRequest {
    /// What is meant.
    pub fn named(self) -> ApiResult<Named> {
        match (self.ids.is_empty(), self.all, self.up_to) {
            (false, false, None) => Ok(Named::Ids(self.ids.into_iter().map(EventId).collect())),
            (true, true, up_to) => Ok(Named::Matching(up_to.map(EventId))),
            _ => Err(ApiError::invalid("Name events by `ids`, or set `all`.")),
        }
    }
}

/// How many events were acknowledged that were not before.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AcknowledgedEvents)]
pub struct AcknowledgedCount {
    /// The number.
    pub acknowledged: u64,
}
