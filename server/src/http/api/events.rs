//! The event log in the REST API: reading it with what became of its messages, and acknowledging.

use super::{AppState, respond, v1};
use axum::extract::{RawQuery, State};
use axum::response::Response;
use axum::{Extension, Json};
use model::event::EventQuery;
use model::ids::Caller;
use product::read_name;
use service::{AlertBackend, ApiResult, Backend};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// `/events`.
pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(events)).routes(routes!(acknowledge))
}

/// The event log, newest first, each event with what became of the messages about it.
#[utoipa::path(get, path = "/events", tag = "events", params(v1::EventParameters), responses((status = 200, body = v1::EventList)))]
async fn events(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    RawQuery(raw): RawQuery,
) -> Response {
    let read = async {
        let page = state.services.events(&caller, &event_query(raw.as_deref())?).await?;
        let ids: Vec<_> = page.events.iter().map(|e| e.id).collect();
        let deliveries = state.services.deliveries(&caller, &ids).await?;
        Ok(v1::EventList::new(page, &deliveries))
    };
    respond(read.await)
}

/// Acknowledges events: their messages are no longer repeated. Those that were acknowledged before keep who did it first.
#[utoipa::path(post, path = "/events/acknowledge", tag = "events", operation_id = "acknowledge_events", request_body = v1::AcknowledgeRequest, responses((status = 200, body = v1::AcknowledgedCount)))]
async fn acknowledge(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<v1::AcknowledgeRequest>,
) -> Response {
    let acknowledged = state.services.acknowledge(&caller, &body.ids()).await;
    respond(acknowledged.map(|acknowledged| v1::AcknowledgedCount { acknowledged }))
}

/// The filters of an address: those of the page Events, and the name of a domain.
fn event_query(raw: Option<&str>) -> ApiResult<EventQuery> {
    let pairs: Vec<(String, String)> =
        url::form_urlencoded::parse(raw.unwrap_or("").as_bytes()).into_owned().collect();
    let domain =
        pairs.iter().find(|(key, _)| key == "domain").map(|(_, name)| read_name(name)).transpose()?;
    let query = EventQuery::from_pairs(pairs.iter().map(|(k, v)| (k.as_str(), v.as_str())));
    Ok(EventQuery { domain, ..query })
}
