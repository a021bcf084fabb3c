//! The event log in the REST API: reading it with what became of its messages, and acknowledging.

use super::{AppState, respond, v1};
use axum::extract::{RawQuery, State};
use axum::response::Response;
use axum::{Extension, Json};
use model::event::EventQuery;
use model::ids::Caller;
use product::read_name;
use service::{AlertBackend, ApiError, ApiResult, Backend};
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
        let page = state.services.events(&caller, &Filters::of(raw.as_deref()).read()?).await?;
        let ids: Vec<_> = page.events.iter().map(|e| e.id).collect();
        let deliveries = state.services.deliveries(&caller, &ids).await?;
        Ok(v1::EventList::new(page, &deliveries))
    };
    respond(read.await)
}

/// Acknowledges the events that the body names, or with `all` those that match the filters of the address, which then must
/// all be understood. What was acknowledged before keeps who did it first.
#[utoipa::path(post, path = "/events/acknowledge", tag = "events", operation_id = "acknowledge_events", params(v1::EventParameters), request_body = v1::AcknowledgeRequest, responses((status = 200, body = v1::AcknowledgedCount)))]
async fn acknowledge(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    RawQuery(raw): RawQuery,
    Json(body): Json<v1::AcknowledgeRequest>,
) -> Response {
    let acknowledge = async {
        let acknowledged = match body.named()? {
            v1::Named::Ids(ids) => state.services.acknowledge(&caller, &ids).await?,
            v1::Named::Matching(up_to) => {
                let query = Filters::of(raw.as_deref()).exactly()?;
                state.services.acknowledge_matching(&caller, &query, up_to).await?
            }
        };
        Ok(v1::AcknowledgedCount { acknowledged })
    };
    respond(acknowledge.await)
}

/// The filters of an address: those of the page Events, and the name of a domain.
struct Filters {
    pairs: Vec<(String, String)>,
    domain: Option<String>,
}

impl Filters {
    fn of(raw: Option<&str>) -> Filters {
        let (mut domain, mut pairs) = (None, Vec::new());
        for (key, value) in url::form_urlencoded::parse(raw.unwrap_or("").as_bytes()).into_owned() {
            match key.as_str() {
                "domain" => domain = Some(value),
                _ => pairs.push((key, value)),
            }
        }
        Filters { pairs, domain }
    }

    fn pairs(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        self.pairs.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }

    fn about(&self, query: EventQuery) -> ApiResult<EventQuery> {
        let domain = self.domain.as_deref().map(read_name).transpose()?;
        Ok(EventQuery { domain, ..query })
    }

    /// What is not understood is left out.
    fn read(&self) -> ApiResult<EventQuery> {
        self.about(EventQuery::from_pairs(self.pairs()))
    }

    /// What is not understood is refused.
    fn exactly(&self) -> ApiResult<EventQuery> {
        self.about(EventQuery::from_pairs_exactly(self.pairs()).map_err(ApiError::invalid)?)
    }
}
